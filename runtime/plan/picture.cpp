// Draws a plan: the kernels one below another with their nodes inside, the tensors that they read at the left, those they write at the
// right.
//
// A tensor between two successive kernels is an arrow from one to the next; a tensor that skips kernels runs along their right side.
// Kernels that repeat earlier ones are one box. Its colour shows its share of the estimated time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backend/compile.h"
#include "passes/fusion/amount_text.h"
#include "runtime/plan/node_names.h"
#include "runtime/plan/plan_state.h"
#include "runtime/plan/repetition.h"
#include "runtime/plan/svg_canvas.h"
#include "tileir/graph/shapes.h"
#include "tileir/target/machine_facts.h"
#include "tileir/text/plural.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;
using fusion::BufferKind;
using fusion::bytes_text;
using Box = SvgCanvas::Box;

namespace {

constexpr double kTop = 64, kLeft = 20, kGap = 46, kPort = 22, kPadding = 10, kChip = 22;
constexpr std::size_t kMostCharacters = 64, kMostNodes = 16;

// A colour between that of a kernel that takes no time and that of a kernel that takes all of the time.
std::string colour_of(double share) {
  const auto mixed = [&](int none, int all) { return static_cast<int>(none + share * (all - none)); };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0xee, 0xf2), mixed(0xf3, 0xa6), mixed(0xfb, 0x6b));
}

std::string share_text(double share) { return fmt::format("; {:.0f} % of the time", 100 * share); }

class Picture {
 public:
  Picture(const graph::Graph& g, const fusion::KernelSequence& p, const Sizes& s, const ir::TargetDesc& target)
      : graph_(g), sequence_(p), sizes_(s), facts_(ir::machine_facts(target)), processors_(target.processors) {}

  std::string draw(const std::string& title) {
    describe();
    lay_out();
    canvas_.text(kLeft, 28, title, "title");
    for (std::size_t k = 0; k < rows_.size(); ++k) draw_row(k);
    return canvas_.finish();
  }

 private:
  struct Row {
    std::string title, subtitle;
    std::vector<std::string> nodes;
    std::vector<int> left, next, right;  // buffers: read from outside; read by the next kernel; other results
    std::vector<int> arriving;           // intermediates that have skipped kernels
    std::vector<int> first_use;          // tensors whose box is in this row
    double seconds = 0;
    Box box;
  };

  std::string tensor_name(int b) const {
    const fusion::SequenceBuffer& buffer = sequence_.buffers[static_cast<std::size_t>(b)];
    return SvgCanvas::shortened(buffer.name + " " + graph::shape_text(buffer.shape), 36);
  }
  std::string tensor_facts(int b) const {
    const fusion::SequenceBuffer& buffer = sequence_.buffers[static_cast<std::size_t>(b)];
    const char* kind = buffer.is_parameter                   ? ", parameter"
                       : buffer.kind == BufferKind::constant ? ", constant"
                       : buffer.kind == BufferKind::derived  ? ", of parameters"
                                                             : "";
    return fmt::format("{}{}", ir::text(buffer.element), kind);
  }
  std::string moved(int b) const { return bytes_text(static_cast<double>(sizes_.buffers[static_cast<std::size_t>(b)].bytes)); }
  std::string between(int b) const {
    return SvgCanvas::shortened(sequence_.buffers[static_cast<std::size_t>(b)].name, 24) + " " + moved(b);
  }

  bool is_output(int b) const { return sequence_.buffers[static_cast<std::size_t>(b)].kind == BufferKind::output; }
  double seconds_of(std::size_t kernel) const;
  static std::vector<int> limited(const std::set<int>&);
  std::vector<int> reads_of(const KernelGroup&) const;
  std::vector<int> writes_of(const KernelGroup&) const;
  Row describe(const KernelGroup&) const;
  void describe();
  void lay_out();
  void draw_row(std::size_t k);
  void draw_tensor(int b, const Box&);
  static double stack_height(std::size_t tensors) { return static_cast<double>(tensors) * (2 * SvgCanvas::kLine + 22); }
  Box tensor_box(double x, double y, double width) const { return {x, y, width, 2 * SvgCanvas::kLine + 10}; }

  const graph::Graph& graph_;
  const fusion::KernelSequence& sequence_;
  const Sizes& sizes_;
  const ir::MachineFacts facts_;
  const int processors_;
  SvgCanvas canvas_;
  std::vector<Row> rows_;
  std::map<int, Box> tensors_;                      // boxes of the tensors that come from outside
  std::map<int, std::pair<double, double>> ports_;  // where the lines of tensors that skip kernels start
  std::map<int, std::size_t> last_read_;            // by tensor: the number of the last kernel that reads it
  double seconds_ = 0;
  double left_width_ = 0, right_width_ = 0, kernel_width_ = 0, left_gutter_ = 0, right_gutter_ = 0;
  int lanes_ = 0;
};

Picture::Row Picture::describe(const KernelGroup& g) const {
  const std::vector<fusion::SequenceKernel>& kernels = sequence_.kernels;
  const fusion::SequenceKernel& first = kernels[g.first];
  Row row;
  for (std::size_t k = g.first; k < g.end(); ++k) row.seconds += seconds_of(k);
  if (g.repeats()) {
    row.title = g.end() - g.first == 1 ? fmt::format("{}. {}", g.first + 1, first.name)
                                       : fmt::format("{} to {}. {} to {}", g.first + 1, g.end(), first.name, kernels[g.end() - 1].name);
    row.subtitle = repetition_text(g);
  } else {
    row.title = fmt::format("{}. {}", g.first + 1, first.name);
    row.subtitle = fmt::format("grid {}, {} pass{}", grid_text(sizes_.kernels[g.first].grid), first.passes, first.passes == 1 ? "" : "es");
    if (!first.loop.axis.empty()) row.subtitle += fmt::format(" over {}, {} elements", first.loop.axis, first.loop.extent);
    const std::vector<std::string> covered = covered_texts(graph_, first.covers);
    for (const std::string& text : covered) {
      if (row.nodes.size() == kMostNodes) {
        row.nodes.push_back(fmt::format("and {} more", covered.size() - kMostNodes));
        break;
      }
      row.nodes.push_back(SvgCanvas::shortened(text, kMostCharacters));
    }
  }
  row.title = SvgCanvas::shortened(row.title, kMostCharacters);
  row.subtitle = SvgCanvas::shortened(row.subtitle, kMostCharacters);
  return row;
}

// The tensors that a group reads from others. Tensors within a group are not drawn, nor in writes_of().
std::vector<int> Picture::reads_of(const KernelGroup& g) const {
  std::set<int> written, read;
  for (std::size_t k = g.first; k < g.end(); ++k) {
    for (int b : sequence_.kernels[k].reads)
      if (!written.contains(b)) read.insert(b);
    written.insert(sequence_.kernels[k].writes.begin(), sequence_.kernels[k].writes.end());
  }
  return limited(read);
}

std::vector<int> Picture::writes_of(const KernelGroup& g) const {
  std::set<int> written;
  for (std::size_t k = g.first; k < g.end(); ++k)
    for (int b : sequence_.kernels[k].writes)
      if (!g.repeats() || is_output(b) || last_read_.at(b) >= g.end()) written.insert(b);
  return limited(written);
}

// If one box stands for many layers, only a few of their weights are drawn.
std::vector<int> Picture::limited(const std::set<int>& buffers) {
  constexpr std::size_t kMost = 12;
  std::vector<int> all(buffers.begin(), buffers.end());
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

void Picture::describe() {
  const std::vector<fusion::SequenceKernel>& kernels = sequence_.kernels;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    for (int b : kernels[k].writes) last_read_.emplace(b, 0);
    for (int b : kernels[k].reads) last_read_[b] = k + 1;
  }
  const std::vector<KernelGroup> groups = group_kernels(kernels);
  std::vector<std::vector<int>> reads, writes;
  for (const KernelGroup& g : groups) reads.push_back(reads_of(g)), writes.push_back(writes_of(g));
  std::map<int, std::size_t> box_order;
  std::set<int> made;  // written by the kernels so far: an output that is read again is not an input
  for (std::size_t k = 0; k < groups.size(); ++k) {
    Row& row = rows_.emplace_back(describe(groups[k]));
    for (int b : reads[k]) {
      if (made.contains(b)) {
        const bool is_next = k > 0 && std::count(rows_[k - 1].next.begin(), rows_[k - 1].next.end(), b) > 0;
        if (!is_next) row.arriving.push_back(b);
        continue;
      }
      row.left.push_back(b);
      if (box_order.emplace(b, box_order.size()).second) row.first_use.push_back(b);
    }
    // Arrows from boxes further up arrive further up, so that fewer arrows cross.
    std::sort(row.left.begin(), row.left.end(), [&](int a, int b) { return box_order.at(a) < box_order.at(b); });
    for (int b : writes[k]) {
      made.insert(b);
      const auto is_read_by = [&](std::size_t other) { return std::count(reads[other].begin(), reads[other].end(), b) > 0; };
      const bool is_read_next = k + 1 < groups.size() && is_read_by(k + 1);
      bool is_read_later = false;
      for (std::size_t other = k + 2; other < groups.size(); ++other) is_read_later = is_read_later || is_read_by(other);
      if (is_read_next) row.next.push_back(b);
      if (is_output(b) || is_read_later || !is_read_next) row.right.push_back(b);
    }
    seconds_ += row.seconds;
  }
}

// The launch plus the longer of moving the bytes and computing, on the whole machine. Only the shares of these times are meaningful.
double Picture::seconds_of(std::size_t kernel) const {
  const fusion::SequenceKernel& k = sequence_.kernels[kernel];
  const auto bytes = static_cast<double>(bytes_of(k.reads, sizes_) + sizes_.kernels[kernel].written_bytes);
  const double arithmetic = sizes_.kernels[kernel].flops / (facts_.matrix_flops_32 * std::max(processors_, 1));
  return facts_.launch_seconds + std::max(bytes / facts_.memory_bytes, arithmetic);
}

void Picture::lay_out() {
  const auto widen = [](double& width, const std::string& text) { width = std::max(width, SvgCanvas::width(text) + 2 * kPadding); };
  std::size_t skipping = 0;
  for (const Row& row : rows_) {
    widen(kernel_width_, row.title);
    widen(kernel_width_, row.subtitle + share_text(1));
    for (const std::string& n : row.nodes) kernel_width_ = std::max(kernel_width_, SvgCanvas::width(n) + 4 * kPadding);
    double arrows = kPadding;
    for (int b : row.next) arrows += SvgCanvas::width(between(b)) + 30;
    kernel_width_ = std::max(kernel_width_, arrows);
    for (int b : row.first_use) widen(left_width_, tensor_name(b)), widen(left_width_, tensor_facts(b));
    for (int b : row.left) left_gutter_ = std::max(left_gutter_, SvgCanvas::width(moved(b)) + 90);
    for (int b : row.right) {
      if (is_output(b)) widen(right_width_, tensor_name(b)), widen(right_width_, tensor_facts(b));
      if (!is_output(b)) ++skipping;
      right_gutter_ = std::max(right_gutter_, SvgCanvas::width(is_output(b) ? moved(b) : between(b)) + 80);
    }
  }
  right_gutter_ += static_cast<double>(skipping) * 12;
  double y = kTop;
  for (Row& row : rows_) {
    const double nodes = 2 * SvgCanvas::kLine + static_cast<double>(row.nodes.size()) * kChip + 2 * kPadding;
    const double ports = static_cast<double>(std::max(row.left.size(), row.right.size() + row.arriving.size()) + 1) * kPort;
    row.box = {kLeft + left_width_ + left_gutter_, y, kernel_width_, std::max(nodes, ports)};
    const auto outputs = static_cast<std::size_t>(std::count_if(row.right.begin(), row.right.end(), [&](int b) { return is_output(b); }));
    y += std::max({row.box.height, stack_height(row.first_use.size()), stack_height(outputs)}) + kGap;
  }
}

void Picture::draw_tensor(int b, const Box& box) {
  canvas_.box(box, "tensor");
  canvas_.text(box.x + kPadding, box.y + SvgCanvas::kLine, tensor_name(b), "");
  canvas_.text(box.x + kPadding, box.y + 2 * SvgCanvas::kLine, tensor_facts(b), "small");
}

void Picture::draw_row(std::size_t k) {
  const Row& row = rows_[k];
  const Box& box = row.box;
  const double share = seconds_ > 0 ? row.seconds / seconds_ : 0;
  canvas_.box(box, "kernel", colour_of(share));
  canvas_.text(box.x + kPadding, box.y + SvgCanvas::kLine, row.title, "title");
  canvas_.text(box.x + kPadding, box.y + 2 * SvgCanvas::kLine, row.subtitle + share_text(share), "small");
  double y = box.y + 2 * SvgCanvas::kLine + kPadding;
  for (const std::string& n : row.nodes) {
    canvas_.box({box.x + kPadding, y, box.width - 2 * kPadding, kChip - 4}, "node");
    canvas_.text(box.x + 2 * kPadding, y + 13, n, "");
    y += kChip;
  }

  for (std::size_t i = 0; i < row.first_use.size(); ++i) {
    const Box at = tensor_box(kLeft, box.y + stack_height(i), left_width_);
    draw_tensor(row.first_use[i], at);
    tensors_[row.first_use[i]] = at;
  }
  double port = box.y + kPort;
  for (int b : row.left) {
    const Box& from = tensors_.at(b);
    const double start = from.y + from.height / 2, straight = box.x - SvgCanvas::width(moved(b)) - 24,
                 middle = (from.right() + straight) / 2;
    canvas_.arrow({from.right(), start}, {from.right(), start}, {middle, start}, {middle, port}, {straight, port}, {box.x, port});
    canvas_.text(box.x - 12, port - 4, moved(b), "bytes", SvgCanvas::Anchor::end);
    port += kPort;
  }
  port = box.y + kPort;
  for (int b : row.arriving) {
    if (!ports_.contains(b)) continue;
    const auto [x, start] = ports_.at(b);
    const double lane = x + right_gutter_ + 10 - 12 * static_cast<double>(lanes_++);
    canvas_.arrow({x, start}, {x + SvgCanvas::width(between(b)) + 12, start}, {lane, start}, {lane, port}, {box.right() + 20, port},
                  {box.right(), port});
    port += kPort;
  }
  double output_y = box.y;
  for (int b : row.right) {
    if (is_output(b)) {
      const Box to = tensor_box(box.right() + right_gutter_, output_y, right_width_);
      draw_tensor(b, to);
      const double end = to.y + to.height / 2, straight = box.right() + SvgCanvas::width(moved(b)) + 12, middle = (straight + to.x) / 2;
      canvas_.arrow({box.right(), port}, {straight, port}, {middle, port}, {middle, end}, {to.x - 4, end}, {to.x, end});
      canvas_.text(box.right() + 8, port - 4, moved(b), "bytes");
      ports_[b] = {box.right(), port};
      output_y += stack_height(1);
    } else {
      ports_[b] = {box.right(), port};
      canvas_.text(box.right() + 8, port - 4, between(b), "bytes");
    }
    port += kPort;
  }
  double x = box.x + 2 * kPadding;
  for (int b : row.next) {
    const double end = rows_[k + 1].box.y;
    canvas_.arrow({x, box.bottom()}, {x, box.bottom()}, {x, box.bottom()}, {x, end}, {x, end}, {x, end});
    canvas_.text(x + 8, end - 16, between(b), "bytes");
    x += SvgCanvas::width(between(b)) + 30;
  }
}

}  // namespace

std::string PlanState::explain_svg() const {
  std::lock_guard lock(mutex_);
  const Sizes sizes = sizes_of_report();
  const auto moved = static_cast<double>(moved_bytes(parts_.sequence, sizes));
  return Picture(*parts_.graph, parts_.sequence, sizes, backend::describe_target(parts_.target))
      .draw(fmt::format("{} for {}, {} moved{}", ir::plural(parts_.sequence.kernels.size(), "kernel"),
                        parts_.device ? parts_.device->name() : parts_.target, bytes_text(moved), symbols_text(sizes)));
}

}  // namespace tilewright::detail
