// Evaluates the extents of a sequence of kernels.
#include "runtime/plan/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "passes/fusion/expr/integer_range.h"
#include "runtime/device.h"
#include "runtime/plan/workspace.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shape_rules.h"
#include "tileir/graph/symbols.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;
using fusion::BufferKind;
using fusion::KernelArgument;
using fusion::KernelSequence;
using fusion::SequenceKernel;

/// The values of expressions: for a run, where a missing value is the user's error, or for a report.
class SequenceSizes::Evaluation {
 public:
  Evaluation(const SequenceSizes& sizes, const std::vector<std::int64_t>& symbols, const RunCall* call)
      : symbols(symbols), call(call), sizes_(sizes) {}

  std::int64_t operator()(const Dim& d) const {
    if (d.is_constant()) return d.value();
    if (const auto v = sizes_.table_->evaluate(d.expression()->polynomial, symbols)) return *v;
    if (call == nullptr) return std::max<std::int64_t>(1, d.least());
    call->fail(fmt::format("extent '{}' is not an integer of 64 bits for {}: a quotient leaves a remainder, or the number is too large",
                           d.text(), sizes_.values_text(d, symbols)));
  }
  std::int64_t product(std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    if (!__builtin_mul_overflow(a, b, &result)) return result;
    if (call == nullptr) return INT64_MAX;
    call->fail("a tensor of this run has more than 2^63 elements or bytes");
  }

  const std::vector<std::int64_t>& symbols;
  const RunCall* const call;  // null for a report

 private:
  const SequenceSizes& sizes_;
};

namespace {

void add_symbols(const Dim& d, std::set<std::uint32_t>& to) {
  for (std::uint32_t s : d.symbols()) to.insert(s);
}

void add_symbols(const SequenceKernel& k, std::set<std::uint32_t>& to) {
  for (const KernelArgument& a : k.arguments) add_symbols(a.extent, to);
  for (const auto& axis : k.grid)
    for (const fusion::GridFactor& f : axis) add_symbols(f.extent, to);
}

std::vector<std::uint32_t> sorted(const std::set<std::uint32_t>& s) { return {s.begin(), s.end()}; }

}  // namespace

SequenceSizes::SequenceSizes(const graph::Graph& g, const KernelSequence& sequence)
    : sequence_(sequence), table_(std::make_shared<SymbolTable>(*g.symbols())) {
  add_checks(g);
  std::set<std::uint32_t> used, of_parameters;
  for (const fusion::SequenceBuffer& b : sequence.buffers) {
    if (b.kind == BufferKind::input && !b.is_used) continue;
    for (const auto* extents : {&b.shape, &b.strides})
      for (const Dim& d : *extents) add_symbols(d, b.kind == BufferKind::derived ? of_parameters : used);
  }
  for (const SequenceKernel& k : sequence.kernels) add_symbols(k, used);
  for (const SequenceKernel& k : sequence.parameter_kernels) add_symbols(k, of_parameters);
  parameter_symbols_ = sorted(of_parameters);
  used.merge(of_parameters);
  for (const ExtentCheck& c : checks_) add_symbols(c.extent, used);
  used_symbols_ = sorted(used);
}

/// Adds the checks that only a run can make, for the nodes that outputs need.
void SequenceSizes::add_checks(const graph::Graph& g) {
  const std::vector<bool> needed = g.needed_nodes();
  const auto add = [&](const Dim& extent, std::int64_t least, const graph::Node& n, bool is_of_result) {
    const bool is_known =
        std::any_of(checks_.begin(), checks_.end(), [&](const ExtentCheck& c) { return c.least == least && c.extent == extent; });
    if (!extent.is_constant() && !is_known) checks_.push_back({extent, least, n.where, n.op, is_of_result});
  };
  for (std::size_t i = g.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const graph::Node& n = g.node({static_cast<std::uint32_t>(i)});
    for (const Dim& d : n.shape) add(d, 0, n, true);
    for (const graph::Requirement& r : graph::infer(g, n).requirements) add(r.value, r.least, n, false);
  }
}

std::string SequenceSizes::values_text(const Dim& d, const std::vector<std::int64_t>& symbols) const {
  std::string text;
  for (std::uint32_t s : d.symbols()) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", (*table_)[s].name, symbols[s]);
  return text;
}

std::int64_t SequenceSizes::value(const Dim& d, const std::vector<std::int64_t>& symbols, const RunCall& call) const {
  return Evaluation(*this, symbols, &call)(d);
}

Sizes SequenceSizes::of_run(const std::vector<std::int64_t>& symbols, const RunCall& call) const {
  for (const ExtentCheck& c : checks_) {
    const auto value = table_->evaluate(c.extent.expression()->polynomial, symbols);
    if (value && *value >= c.least) continue;
    const bool is_number = c.op == graph::Op::extent;
    const std::string seen = value ? fmt::format("is {}", *value) : "is not an integer of 64 bits";
    std::string needed;
    if (value)
      needed = fmt::format("; it must be at least {}", c.least);
    else if (is_number)
      needed = "; a quotient of extents is an integer: a tensor divided by an extent is a fraction";
    const std::string use = is_number        ? "a formula uses this number here"
                            : c.is_of_result ? "a tensor with this extent is made here"
                                             : fmt::format("'{}' requires this here", graph::info(c.op).name);
    const char* const kind = is_number ? "number " : c.is_of_result ? "extent " : "";
    call.fail(fmt::format("{}'{}' {} for {}{}", kind, c.extent.text(), seen, values_text(c.extent, symbols), needed), {{c.where, use}});
  }
  return compute({*this, symbols, &call});
}

Sizes SequenceSizes::of_report(const std::vector<std::int64_t>& symbols) const { return compute({*this, symbols, nullptr}); }

namespace {

template <class Evaluation>
BufferSize size_of(const fusion::SequenceBuffer& b, const Evaluation& value) {
  BufferSize s{1, 1, 0, 0};
  std::int64_t last = 0;
  for (std::size_t i = 0; i < b.shape.size(); ++i) {
    const std::int64_t extent = value(b.shape[i]);
    s.elements = value.product(s.elements, extent);
    if (!b.strides.empty()) last += value.product(extent - 1, value(b.strides[i]));
  }
  s.span = b.strides.empty() || s.elements == 0 ? s.elements : last + 1;
  s.bytes = static_cast<std::uint64_t>(value.product(s.elements, ir::bytes(b.element)));
  return s;
}

// Kernels compute positions in 32 bits along axes whose greatest extent is not declared (fusion::kMostUnboundedExtent).
template <class Evaluation>
std::int64_t extent_of_kernel(const SequenceKernel& k, const Dim& d, const Evaluation& value) {
  const std::int64_t extent = value(d);
  if (extent > fusion::kMostUnboundedExtent && d.greatest() == INT64_MAX && value.call != nullptr)
    value.call->fail(
        fmt::format("extent '{}' is {}; kernel '{}' was compiled for at most {}: declare greater extents, as in "
                    "graph.dim(\"n\", {{.max = 1ll << 40}})",
                    d.text(), extent, k.name, fusion::kMostUnboundedExtent));
  return extent;
}

template <class Evaluation>
std::uint64_t extent_word(const SequenceKernel& k, std::size_t parameter, const Evaluation& value) {
  const std::int64_t extent = value(k.arguments[parameter].extent);
  const ir::Type type = k.function.type(k.function.arg(k.function.body(), static_cast<int>(parameter)));
  if (type.element_bits() == 32 && (extent > INT32_MAX || extent < INT32_MIN) && value.call != nullptr)
    value.call->fail(fmt::format("extent '{}' is {}, which does not fit the 32 bits that kernel '{}' has for it",
                                 k.arguments[parameter].extent.text(), extent, k.name));
  return static_cast<std::uint64_t>(extent_of_kernel(k, k.arguments[parameter].extent, value));
}

template <class Evaluation>
std::uint64_t written_bytes(const SequenceKernel& k, const std::vector<fusion::SequenceBuffer>& buffers, const Sizes& sizes,
                            const Evaluation& value) {
  std::uint64_t bytes = bytes_of(k.writes, sizes);
  for (const auto& [b, elements] : k.parts) {
    const auto i = static_cast<std::size_t>(b);
    bytes += static_cast<std::uint64_t>(value.product(value(elements), ir::bytes(buffers[i].element))) - sizes.buffers[i].bytes;
  }
  return bytes;
}

template <class Evaluation>
KernelSize size_of(const SequenceKernel& k, const std::vector<fusion::SequenceBuffer>& buffers, const Sizes& sizes,
                   const Evaluation& value) {
  KernelSize s;
  s.written_bytes = written_bytes(k, buffers, sizes, value);
  s.words.resize(k.arguments.size());
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    if (k.arguments[i].kind == KernelArgument::Kind::extent) s.words[i] = extent_word(k, i, value);
    if (k.arguments[i].kind == KernelArgument::Kind::number) s.words[i] = k.arguments[i].bits;
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const fusion::GridFactor& f : k.grid[axis])
      s.grid[axis] = value.product(s.grid[axis], f.programs(extent_of_kernel(k, f.extent, value)));
    if (value.call != nullptr && (s.grid[axis] < 0 || s.grid[axis] > rt::kMostPrograms[axis]))
      value.call->fail(fmt::format("kernel '{}' needs {} programs along axis {} of its grid; devices have at most {}", k.name, s.grid[axis],
                                   axis, rt::kMostPrograms[axis]));
  }
  for (const fusion::FlopCount& c : k.flops) {
    double count = c.each;
    for (const Dim& d : c.space) count *= static_cast<double>(value(d));
    s.flops += count;
  }
  return s;
}

}  // namespace

Sizes SequenceSizes::compute(const Evaluation& value) const {
  Sizes sizes;
  sizes.symbols = value.symbols;
  for (const fusion::SequenceBuffer& b : sequence_.buffers)
    sizes.buffers.push_back(b.kind == BufferKind::input && !b.is_used ? BufferSize() : size_of(b, value));
  for (const SequenceKernel& k : sequence_.kernels) sizes.kernels.push_back(size_of(k, sequence_.buffers, sizes, value));
  for (const SequenceKernel& k : sequence_.parameter_kernels)
    sizes.parameter_kernels.push_back(size_of(k, sequence_.buffers, sizes, value));
  lay_out_memory(sizes);
  return sizes;
}

/// Assigns memory to intermediates and derived tensors. For liveness, time counts the parameter kernels first, then the kernels of the run.
void SequenceSizes::lay_out_memory(Sizes& sizes) const {
  struct Life {
    int first = -1, last = -1;
  };
  std::vector<Life> lives(sequence_.buffers.size());
  int time = 0;
  for (const auto* kernels : {&sequence_.parameter_kernels, &sequence_.kernels})
    for (const SequenceKernel& k : *kernels) {
      for (const KernelArgument& a : k.arguments) {
        if (a.kind != KernelArgument::Kind::buffer) continue;
        Life& life = lives[static_cast<std::size_t>(a.buffer)];
        life = {life.first < 0 ? time : life.first, time};
      }
      ++time;
    }
  std::vector<LiveTensor> tensors;
  std::vector<std::size_t> buffers;
  for (std::size_t i = 0; i < sequence_.buffers.size(); ++i) {
    BufferSize& size = sizes.buffers[i];
    if (sequence_.buffers[i].kind == BufferKind::derived) {
      size.offset = sizes.derived_bytes;
      sizes.derived_bytes += (size.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    }
    if (sequence_.buffers[i].kind != BufferKind::intermediate || lives[i].first < 0) continue;
    tensors.push_back({size.bytes, lives[i].first, lives[i].last});
    buffers.push_back(i);
    if (lives[i].last >= static_cast<int>(sequence_.parameter_kernels.size())) sizes.intermediate_bytes += size.bytes;
  }
  const WorkspaceLayout layout = place_tensors(tensors);
  for (std::size_t i = 0; i < buffers.size(); ++i) sizes.buffers[buffers[i]].offset = layout.offsets[i];
  sizes.workspace_bytes = layout.bytes;
}

std::uint64_t bytes_of(const std::vector<int>& buffers, const Sizes& sizes) {
  std::uint64_t bytes = 0;
  for (int b : buffers) bytes += sizes.buffers[static_cast<std::size_t>(b)].bytes;
  return bytes;
}

std::uint64_t moved_bytes(const KernelSequence& sequence, const Sizes& sizes) {
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < sequence.kernels.size(); ++k)
    bytes += bytes_of(sequence.kernels[k].reads, sizes) + sizes.kernels[k].written_bytes;
  return bytes;
}

std::uint64_t compulsory_bytes(const KernelSequence& sequence, const Sizes& sizes) {
  std::set<int> once;
  for (const SequenceKernel& k : sequence.kernels) {
    once.insert(k.reads.begin(), k.reads.end());
    once.insert(k.writes.begin(), k.writes.end());
  }
  std::erase_if(once, [&](int b) {
    const BufferKind kind = sequence.buffers[static_cast<std::size_t>(b)].kind;
    return kind == BufferKind::intermediate || kind == BufferKind::constant;
  });
  return bytes_of({once.begin(), once.end()}, sizes);
}

}  // namespace tilewright::detail
