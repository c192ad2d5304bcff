// Compares structures without their numbers.
#include "passes/fusion/segments/alike_segments.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "passes/fusion/graph/replaced_symbols.h"
#include "passes/fusion/tensor_names.h"
#include "passes/fusion/thresholds.h"
#include "tileir/builder.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/symbols.h"

namespace tilewright::passes::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

// Whether rules use a constant only as they use any other moderate number (magnitude.h), and not for its value.
bool is_ordinary(const Node& n) {
  if (!n.shape.empty() || !ir::is_float(n.element)) return false;
  const double value = ir::float_value(n.element, n.data->bits[0]);
  return std::isfinite(value) && value != 0 && std::fabs(value) != 1 && std::abs(std::ilogb(value)) <= kSpareBits;
}

// Whether a map uses an operand as a term, a factor or a numerator.
bool is_plain_use(const Node& user, std::size_t operand) {
  if (user.op != Op::map || !ir::is_float(user.element)) return false;
  switch (user.function) {
    case ir::OpKind::add_:
    case ir::OpKind::sub_:
    case ir::OpKind::mul_: return true;
    case ir::OpKind::div_: return operand == 0;
    default: return false;
  }
}

// Whether the symbols of the graph may be copied: kernels of the user refer to their own.
bool may_copy_symbols(const Graph& g) {
  if (g.symbols()->size() == 0) return true;
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g.node({i}).op == Op::call) return false;
  return true;
}

// The numbers of a segment that may be arguments.
std::vector<StructureNumber> possible_arguments(const Graph& g, const Segment& s, bool are_slices_possible) {
  struct Use {
    bool is_plain = true, is_in_combiner = false;
  };
  std::unordered_map<std::uint32_t, Use> uses;
  for (NodeId n : s.results) uses[n.index].is_plain = false;
  for (std::size_t i = s.nodes.size(); i-- > 0;) {
    const NodeId n = s.nodes[i];
    if (s.memory.contains(n)) continue;
    const Node& node = g.node(n);
    const Use own = uses[n.index];
    if (node.combiner.valid()) uses[node.combiner.index].is_in_combiner = true;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      Use& use = uses[node.operands[k].index];
      use.is_in_combiner = use.is_in_combiner || own.is_in_combiner;
      use.is_plain = use.is_plain && (graph::is_view(node.op) ? own.is_plain : is_plain_use(node, k));
    }
  }
  std::vector<StructureNumber> all;
  for (const StructureNumber& number : s.numbers) {
    const Node& node = g.node(number.node);
    const Use& use = uses[number.node.index];
    const bool is_possible = node.op == Op::slice ? are_slices_possible : is_ordinary(node) && use.is_plain && !use.is_in_combiner;
    if (is_possible) all.push_back(number);
  }
  return all;
}

class Finder {
 public:
  Finder(const Graph& g, const std::vector<Segment>& segments) : segments_(segments), possible_(segments.size()) {
    const bool are_slices_possible = may_copy_symbols(g);
    std::map<NodeId, std::size_t> uses, possible_uses;  // the number of segments with a number
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const Segment& s = segments[i];
      for (const StructureNumber& number : s.numbers) ++uses[number.node];
      // What is computed before a run must not depend on arguments of the run.
      if (!s.numbers.empty() && s.ahead.empty() && !(s.joined && s.joined->is_ahead))
        possible_[i] = possible_arguments(g, s, are_slices_possible);
      for (const StructureNumber& number : possible_[i]) ++possible_uses[number.node];
    }
    std::map<std::string, std::vector<std::size_t>> like;  // by the structure without these numbers
    for (std::size_t i = 0; i < segments.size(); ++i) {
      // Several segments may use one number, which is an argument for all of them or for none.
      std::erase_if(possible_[i], [&](const StructureNumber& number) { return uses.at(number.node) != possible_uses.at(number.node); });
      if (possible_[i].empty()) continue;
      std::string structure = segments[i].structure;
      for (const StructureNumber& number : possible_[i]) structure.replace(number.at, kDigitsOfNumber, kDigitsOfNumber, '?');
      like[structure].push_back(i);
    }
    for (auto& [structure, alike] : like)
      if (alike.size() >= kFewestAlike) add(std::move(alike));
    std::sort(all_.begin(), all_.end(), [](const AlikeSegments& a, const AlikeSegments& b) { return a.segments < b.segments; });
  }

  std::vector<AlikeSegments> all() && { return std::move(all_); }

 private:
  std::string_view digits(std::size_t segment, std::size_t number) const {
    return std::string_view(segments_[segment].structure).substr(possible_[segment][number].at, kDigitsOfNumber);
  }

  void add(std::vector<std::size_t> segments) {
    std::set<std::string_view> structures;
    for (std::size_t i : segments) structures.insert(segments_[i].structure);
    if (structures.size() < kFewestAlike) return;
    AlikeSegments found{std::move(segments), {}};
    const std::size_t first = found.segments[0];
    for (std::size_t k = 0; k < possible_[first].size(); ++k) {
      const auto is_other = [&](std::size_t i) { return digits(i, k) != digits(first, k); };
      if (std::none_of(found.segments.begin(), found.segments.end(), is_other)) continue;
      std::vector<NodeId>& nodes = found.arguments.emplace_back();
      for (std::size_t i : found.segments) nodes.push_back(possible_[i][k].node);
    }
    if (found.arguments.size() <= kMostArgumentNumbers) all_.push_back(std::move(found));
  }

  const std::vector<Segment>& segments_;
  std::vector<std::vector<StructureNumber>> possible_;  // by segment
  std::vector<AlikeSegments> all_;
};

// Bounds that contain all begins of these slices, and what divides them.
DimBounds bounds_of_begins(const Graph& g, const std::vector<NodeId>& slices) {
  DimBounds all{INT64_MAX, 0, 0};
  for (NodeId n : slices) {
    const std::int64_t begin = g.node(n).lengths[0].value();
    all = {std::min(all.min, begin), std::max(all.max, begin), std::gcd(all.multiple_of, begin)};
  }
  return all;
}

DimBounds both(const DimBounds& a, const DimBounds& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max), std::gcd(a.multiple_of, b.multiple_of)};
}

}  // namespace

std::vector<AlikeSegments> alike_segments(const Graph& g, const std::vector<Segment>& segments) { return Finder(g, segments).all(); }

ArgumentGraph with_arguments(const Graph& g, const std::vector<Segment>& segments, const std::vector<AlikeSegments>& alike) {
  TensorNames names(g);
  std::set<NodeId> scalars;
  std::map<NodeId, DimBounds> slices;
  for (const AlikeSegments& a : alike)
    for (const std::vector<NodeId>& nodes : a.arguments) {
      if (g.node(nodes[0]).op == Op::constant) {
        scalars.insert(nodes.begin(), nodes.end());
        continue;
      }
      const DimBounds bounds = bounds_of_begins(g, nodes);
      for (NodeId n : nodes)
        if (const auto [known, is_new] = slices.emplace(n, bounds); !is_new) known->second = both(known->second, bounds);
    }
  const std::shared_ptr<SymbolTable> symbols = slices.empty() ? g.symbols() : std::make_shared<SymbolTable>(*g.symbols());
  const auto moved = [&](Dim& d) {
    if (symbols != g.symbols()) d = with_symbols(d, [&](std::uint32_t symbol) { return symbols->dim(symbol); });
  };
  ArgumentGraph changed{Graph(symbols), segments};
  for (std::uint32_t i = 0; i < g.composites(); ++i) changed.graph.add_composite(g.composite(i));
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    Node n = g.node({i});
    for (Dim& d : n.shape) moved(d);
    for (Dim& d : n.lengths) moved(d);
    if (scalars.contains({i})) n.op = Op::scalar, n.text = names.of({i}), n.data = nullptr;
    if (const auto slice = slices.find({i}); slice != slices.end()) {
      const Dim begin = symbols->add(names.add("begin"), slice->second, n.where);
      n.lengths = {begin, begin + (n.lengths[1] - n.lengths[0]), n.lengths[2]};
    }
    changed.graph.append(std::move(n));
  }
  for (const graph::Output& o : g.outputs()) changed.graph.add_output(o);
  for (Segment& s : changed.segments)
    for (const StructureNumber& number : s.numbers)
      if (scalars.contains(number.node) || slices.contains(number.node))
        s.structure.replace(number.at, kDigitsOfNumber, kDigitsOfNumber, '?');
  return changed;
}

}  // namespace tilewright::passes::fusion
