// Numbers the nodes of a segment and prints what each one computes.
#include "passes/fusion/segments/segment_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph_walk.h"
#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

std::string dims_text(const std::vector<Dim>& dims) {
  std::string text = " [";
  for (const Dim& d : dims) text += d.text() + ",";
  return text + "]";
}

// Whether the begin of a slice may be an argument (alike_segments.h): a slice of memory by constants.
bool has_constant_begin(const Node& n) {
  return n.op == Op::slice && std::all_of(n.lengths.begin(), n.lengths.end(), [](const Dim& d) { return d.is_constant(); });
}

// The lengths of such a slice: how many elements, by which step, how the begin is aligned, and last the begin.
std::string slice_text(const Node& slice, const Node& memory) {
  const auto axis = static_cast<std::size_t>(slice.axes[0]);
  std::int64_t stride = 1;
  const auto scale = [&](const Dim& d) { stride = std::gcd(stride * std::gcd(d.known_divisor(), kAlignedElements), kAlignedElements); };
  if (memory.op == Op::input && !memory.lengths.empty())
    scale(memory.lengths[axis]);
  else
    for (std::size_t inner = axis + 1; inner < memory.shape.size(); ++inner) scale(memory.shape[inner]);
  const std::int64_t begin = slice.lengths[0].value();
  return fmt::format(" {} by {}, aligned to {}, from {:0{}x}", slice.lengths[1].value() - begin, slice.lengths[2].value(),
                     std::gcd(begin, kAlignedElements / stride), begin, kDigitsOfNumber);
}

// Everything that determines what a node computes from its operands. It names all fields of a node, so that a new one stops the build here: what
// is left out of the text does not tell segments apart (docs/extending.md, Adding a tensor op, step 1).
std::string node_text(const Node& node, const std::string& lengths_text) {
  const auto& [op, element, shape, operands, function, kind, keep_dims, reverse, is_parameter, precision, position, axes, lengths, words,
               seed, data, identity, combiner, kernel, where, name, composite] = node;
  std::string text =
      fmt::format("{} {} {} {} {}{} {} {} {} {}", static_cast<int>(op), static_cast<int>(element), static_cast<int>(function),
                  static_cast<int>(kind), keep_dims, reverse, static_cast<int>(precision), position, words, seed);
  for (int a : axes) text += fmt::format(" {}", a);
  text += dims_text(shape) + lengths_text;
  if (data) text += fmt::format(" {:0{}x}", data->bits[0], kDigitsOfNumber);  // a constant of several elements is in memory
  if (identity) text += fmt::format(" {:x}", *identity);
  if (kernel) text += fmt::format(" {}", static_cast<const void*>(kernel.get()));
  return text;
}

}  // namespace

std::string joined_text(const Node& whole) { return fmt::format("joined {}{}\n", whole.axes[0], dims_text(whole.shape)); }

SegmentStructure::SegmentStructure(const graph::Graph& g, const KnownNodes& known) : g_(g), known_(known), outputs_(g.size()) {
  for (const graph::Output& o : g.outputs()) ++outputs_[o.node.index];
}

void SegmentStructure::describe(Segment& s, const std::function<bool(NodeId)>& is_stored) const {
  std::map<NodeId, std::size_t> numbers;
  const auto is_read = [&](NodeId n) { return is_stored(n) || is_in_memory(g_.node(n)); };
  const auto parts = [&](NodeId n) {
    if (is_read(n)) return std::vector<NodeId>();
    std::vector<NodeId> all = g_.node(n).operands;
    if (g_.node(n).combiner.valid()) all.push_back(g_.node(n).combiner);
    return all;
  };
  const auto number = [&](NodeId n) {
    const Node& node = g_.node(n);
    std::string line;
    if (is_read(n)) {
      line = fmt::format("memory {} {} {}", node.op == Op::scalar, known_.is_known(n), static_cast<int>(node.element));
      line += dims_text(node.shape) + (node.op == Op::input && !node.lengths.empty() ? dims_text(node.lengths) : "");
      if (is_stored(n)) s.memory.insert(n);
    } else {
      const bool is_slice_of_memory = has_constant_begin(node) && is_read(node.operands[0]);
      line = node_text(node, is_slice_of_memory ? slice_text(node, g_.node(node.operands[0])) : dims_text(node.lengths));
      if (is_slice_of_memory || node.op == Op::constant) s.numbers.push_back({s.structure.size() + line.size() - kDigitsOfNumber, n});
      for (NodeId x : node.operands) line += fmt::format(" {}", numbers.at(x));
      if (node.combiner.valid()) line += fmt::format(" by {}", numbers.at(node.combiner));
    }
    s.structure += line + "\n";
    numbers[n] = s.nodes.size();
    s.nodes.push_back(n);
  };
  s.nodes.clear(), s.memory.clear(), s.structure.clear(), s.numbers.clear();
  for (NodeId n : s.results) {
    visit_operands_first(n, parts, [&](NodeId x) { return !numbers.contains(x); }, number);
    s.structure += fmt::format("result {}\n", numbers.at(n));
  }
  for (NodeId n : s.results)
    if (outputs_[n.index] > 1) s.structure += fmt::format("result {} is {} outputs\n", numbers.at(n), outputs_[n.index]);
}

Segment SegmentStructure::without_ahead(const Segment& s) const {
  if (s.ahead.empty()) return s;
  const std::set<NodeId> ahead(s.ahead.begin(), s.ahead.end());
  Segment rest;
  for (NodeId n : s.results)
    if (!ahead.contains(n) || outputs_[n.index] > 0) rest.results.push_back(n);
  describe(rest, [&](NodeId n) { return s.memory.contains(n) || ahead.contains(n); });
  return rest;
}

namespace {

// If the segment writes an operand of a concatenation, that is done by the part which computes the operand.
void pass_on_joined(const Segment& whole, Segment& part) {
  if (whole.joined && std::binary_search(part.results.begin(), part.results.end(), whole.results[0])) part.joined = whole.joined;
}

}  // namespace

std::vector<Segment> SegmentStructure::divided(Segment whole, std::size_t most) const {
  std::vector<std::vector<NodeId>> results = results_of_parts(g_, whole, most);
  std::vector<Segment> parts;
  if (results.size() == 1) {
    parts.push_back(std::move(whole));
    return parts;
  }
  std::set<NodeId> stored = whole.memory;
  for (std::vector<NodeId>& own : results) {
    Segment s;
    s.results = std::move(own);
    describe(s, [&](NodeId n) { return stored.contains(n); });
    if (parts.empty()) s.cut = {operations_of(g_, whole), results.size(), whole.results.back()};
    pass_on_joined(whole, s);
    stored.insert(s.results.begin(), s.results.end());
    parts.push_back(std::move(s));
  }
  return parts;
}

std::vector<Segment> SegmentStructure::divided_at(const Segment& whole, const std::set<NodeId>& cuts) const {
  std::map<NodeId, std::size_t> level;  // the level of each value that the segment computes
  std::map<NodeId, bool> is_reduced;    // whether the value contains a reduction after the last stored values
  std::vector<std::set<NodeId>> results(1);
  const auto add_result = [&](NodeId n) {
    results.resize(std::max(results.size(), level.at(n) + 1));
    results[level.at(n)].insert(n);
  };
  for (NodeId n : whole.nodes) {
    if (whole.memory.contains(n)) continue;
    const Node& node = g_.node(n);
    level[n] = 0;
    is_reduced[n] = graph::combines_elements(node.op);
    for (NodeId x : node.operands) {
      if (!level.contains(x)) continue;
      level[n] = std::max(level[n], level[x] + (cuts.contains(x) ? 1 : 0));
      is_reduced[n] = is_reduced[n] || (is_reduced[x] && !cuts.contains(x));
    }
    for (NodeId x : node.operands) {
      while (graph::is_view(g_.node(x).op) && level.contains(x)) x = g_.node(x).operands[0];
      if (level.contains(x) && level[x] < level[n] && is_reduced[x]) add_result(x);
    }
    if (cuts.contains(n)) add_result(n);
  }
  for (NodeId n : whole.results)
    if (level.contains(n))
      add_result(n);
    else
      results[0].insert(n);
  std::vector<Segment> parts;
  std::set<NodeId> stored = whole.memory;
  for (const std::set<NodeId>& own : results) {
    Segment s;
    s.results.assign(own.begin(), own.end());
    describe(s, [&](NodeId n) { return stored.contains(n); });
    pass_on_joined(whole, s);
    stored.insert(own.begin(), own.end());
    parts.push_back(std::move(s));
  }
  return parts;
}

}  // namespace tilewright::passes::fusion
