// Evaluates indices that no data determines.
#include "passes/fusion/check/named_positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "passes/fusion/check/number.h"
#include "passes/fusion/graph/moved_ones.h"
#include "passes/fusion/thresholds.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::OpKind;

namespace {

constexpr int kMostOps = 8;
constexpr std::size_t kMostValues = 16;

bool is_rearranged(const Node& n) {
  return n.op == Op::broadcast || n.op == Op::permute || n.op == Op::reshape || n.op == Op::materialize || n.op == Op::slice ||
         n.op == Op::flip || n.op == Op::rotate;
}

bool tests_equality(const Node& n) { return n.op == Op::map && (n.function == OpKind::eq_ || n.function == OpKind::ne_); }

// Indexed by node: whether it reads elements of a value that contains a reduction, by a sum with one term.
std::vector<bool> selecting_nodes(const graph::Graph& g) {
  std::vector<bool> holds(g.size()), selects(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    const auto holds_one = [&](NodeId x) { return holds[x.index]; };
    holds[i] = n.op == Op::reduce || n.op == Op::einsum || n.op == Op::scan || std::ranges::any_of(n.operands, holds_one);
    selects[i] = (n.op == Op::gather || n.op == Op::take_along) && holds[n.operands[0].index];
  }
  return selects;
}

// The iota that this value is, of any integer type and with any further axes: cast() says which types hold all indices. Null: it is none.
const Node* index_of(const graph::Graph& g, NodeId id) {
  for (int i = 0; i < kMostOps; ++i) {
    const Node& n = g.node(id);
    if (n.op == Op::iota) return ir::is_integer(n.element) ? &n : nullptr;
    const bool is_cast = n.op == Op::map && n.function == OpKind::cast_;
    const bool is_moved = n.op == Op::broadcast || n.op == Op::permute || n.op == Op::materialize || moves_ones(g, n);
    if (!is_cast && !is_moved) return nullptr;
    id = n.operands[0];
  }
  return nullptr;
}

// An index of one axis less that of another one, and a number. Null: there is none.
struct IndexSum {
  const Node *added = nullptr, *subtracted = nullptr;
  std::int64_t number = 0;
};
class IndexSums {
 public:
  IndexSums(const graph::Graph& g, const std::function<std::int64_t(const Dim&)>& value) : g_(g), value_(value) {}

  /// Adds a value, or subtracts it. False: it is no sum of indices and numbers.
  bool add(NodeId id, bool is_subtracted, int depth = 0) {
    const Node& n = g_.node(id);
    if (depth == kMostOps || !ir::is_integer(n.element)) return false;
    if (const Node* index = index_of(g_, id)) {
      const Node*& own = is_subtracted ? sum_.subtracted : sum_.added;
      return std::exchange(own, index) == nullptr;
    }
    // Sums of greater numbers may wrap, and no index is so far from another one.
    const auto add_number = [&](std::int64_t v) {
      constexpr std::int64_t kMost = std::int64_t{1} << 40;
      if (v < -kMost || v > kMost) return false;
      sum_.number += is_subtracted ? -v : v;
      return true;
    };
    if (n.op == Op::constant && n.data->bits.size() == 1) return add_number(ir::integer_value(n.element, n.data->bits[0]));
    if (n.op == Op::extent) return add_number(value_(n.lengths[0]));
    if (n.op == Op::broadcast || n.op == Op::permute || n.op == Op::materialize || moves_ones(g_, n))
      return add(n.operands[0], is_subtracted, depth + 1);
    if (n.op != Op::map) return false;
    switch (n.function) {
      case OpKind::cast_: return add(n.operands[0], is_subtracted, depth + 1);
      case OpKind::neg_: return add(n.operands[0], !is_subtracted, depth + 1);
      case OpKind::add_: return add(n.operands[0], is_subtracted, depth + 1) && add(n.operands[1], is_subtracted, depth + 1);
      case OpKind::sub_: return add(n.operands[0], is_subtracted, depth + 1) && add(n.operands[1], !is_subtracted, depth + 1);
      default: return false;
    }
  }
  const IndexSum& sum() const { return sum_; }

 private:
  const graph::Graph& g_;
  const std::function<std::int64_t(const Dim&)>& value_;
  IndexSum sum_;
};

std::optional<IndexSum> difference_of(const graph::Graph& g, const std::function<std::int64_t(const Dim&)>& value, NodeId a, NodeId b) {
  IndexSums sums(g, value);
  return sums.add(a, false) && sums.add(b, true) ? std::optional(sums.sum()) : std::nullopt;
}

// Values of integers: those that an index has at visited positions.
class IndexValues {
 public:
  IndexValues(const graph::Graph& g, std::span<const std::vector<std::int64_t>> shapes,
              const std::function<std::int64_t(const Dim&)>& value, int most)
      : g_(g), shapes_(shapes), value_(value), most_(most) {}

  // No values: they are not known, or there are more than kMostValues.
  std::set<std::int64_t> of(NodeId id, int depth = 0) const {
    const Node& n = g_.node(id);
    if (depth == kMostOps || !ir::is_integer(n.element)) return {};
    if (is_rearranged(n)) return of(n.operands[0], depth + 1);
    switch (n.op) {
      case Op::iota: {
        const std::int64_t last = shapes_[id.index][static_cast<std::size_t>(n.axes[0])] - 1;
        std::set<std::int64_t> all{last};
        // A short axis is visited position by position.
        const std::int64_t first = last <= static_cast<std::int64_t>(kMostNamedPositions) ? last : most_ - 1;
        for (std::int64_t i = 0; i < first; ++i) all.insert(i);
        return all;
      }
      case Op::constant: {
        std::set<std::int64_t> all;
        for (std::uint64_t bits : n.data->bits)
          if (all.size() <= kMostValues) all.insert(ir::integer_value(n.element, bits));
        return limited(std::move(all));
      }
      case Op::input:
      case Op::scalar: {
        std::set<std::int64_t> all;
        for (std::int64_t i = 0; i < most_ - 1; ++i) all.insert(i);
        return all;
      }
      case Op::extent: return {value_(n.lengths[0])};
      case Op::concat: {
        std::set<std::int64_t> all;
        for (NodeId x : n.operands) all.merge(of(x, depth + 1));
        return limited(std::move(all));
      }
      case Op::map: return mapped(n, depth);
      default: return {};
    }
  }

 private:
  static std::set<std::int64_t> limited(std::set<std::int64_t> all) {
    if (all.size() > kMostValues) all.clear();
    return all;
  }

  std::set<std::int64_t> mapped(const Node& n, int depth) const {
    const std::set<std::int64_t> last = of(n.operands.back(), depth + 1);
    if (n.function == OpKind::select_) {
      std::set<std::int64_t> all = of(n.operands[1], depth + 1);
      all.insert(last.begin(), last.end());
      return limited(std::move(all));
    }
    if (n.operands.size() > 2) return {};
    const ir::Element from = g_.node(n.operands.back()).element;
    std::set<std::int64_t> all;
    const auto add = [&](const Number& x) {
      if (x.is_known() && std::fabs(x.value) < 0x1p62L) all.insert(static_cast<std::int64_t>(x.value));
    };
    const std::set<std::int64_t> first = n.operands.size() == 2 ? of(n.operands[0], depth + 1) : std::set<std::int64_t>{0};
    for (std::int64_t a : first)
      for (std::int64_t b : last) {
        const std::array both{exact_number(a), exact_number(b)};
        if (n.operands.size() == 2)
          add(apply_integer(n.function, both, from, n.element));
        else
          add(n.function == OpKind::cast_ ? cast(both[1], from, n.element)
                                          : apply_integer(n.function, std::span(both).last(1), from, n.element));
      }
    return limited(std::move(all));
  }

  const graph::Graph& g_;
  std::span<const std::vector<std::int64_t>> shapes_;
  const std::function<std::int64_t(const Dim&)>& value_;
  int most_;
};

}  // namespace

std::optional<RelatedIndices> related_indices(const graph::Graph& g, const std::function<std::int64_t(const Dim&)>& value) {
  const std::vector<bool> needed = g.needed_nodes(), selects = selecting_nodes(g);
  RelatedIndices all;
  bool are_related = false;
  const auto add_extent = [&](const Node& iota) { all.extents.push_back(value(iota.shape[static_cast<std::size_t>(iota.axes[0])])); };
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    if (!needed[i]) continue;
    if (tests_equality(n)) {
      const std::optional<IndexSum> sum = difference_of(g, value, n.operands[0], n.operands[1]);
      if (!sum || sum->added == nullptr || sum->subtracted == nullptr) continue;
      are_related = true;
      all.distances.push_back(sum->number);
      add_extent(*sum->added), add_extent(*sum->subtracted);
    } else if (const Node* index = selects[i] ? index_of(g, n.operands[1]) : nullptr) {
      are_related = true;
      const Dim& of_table = g.node(n.operands[0]).shape[static_cast<std::size_t>(n.axes[0])];
      if (value(of_table) == value(index->shape[static_cast<std::size_t>(index->axes[0])])) add_extent(*index);
    }
  }
  return are_related ? std::optional(std::move(all)) : std::nullopt;
}

std::vector<std::int64_t> named_positions(const graph::Graph& g, std::span<const std::vector<std::int64_t>> shapes,
                                          const std::function<std::int64_t(const Dim&)>& value, int most) {
  const std::vector<bool> needed = g.needed_nodes(), selects = selecting_nodes(g);
  const IndexValues values(g, shapes, value, most);
  std::set<std::int64_t> all;
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    if (!needed[i]) continue;
    const auto add = [&](NodeId index, std::int64_t extent) {
      for (std::int64_t v : values.of(index))
        if (v >= most - 1 && v < extent) all.insert(v);
    };
    // The last position of an axis of the same extent is visited in any case.
    const auto extent_of = [&](const Node& iota) { return value(iota.shape[static_cast<std::size_t>(iota.axes[0])]); };
    if (tests_equality(n)) {
      for (const std::size_t k : {0u, 1u}) {
        const Node *own = index_of(g, n.operands[k]), *other = index_of(g, n.operands[1 - k]);
        if (own != nullptr && (other == nullptr || extent_of(*own) != extent_of(*other))) add(n.operands[1 - k], extent_of(*own));
      }
    } else if (selects[i]) {
      const std::int64_t extent = shapes[n.operands[0].index][static_cast<std::size_t>(n.axes[0])];
      const Node* other = index_of(g, n.operands[1]);
      if (other == nullptr || extent_of(*other) != extent) add(n.operands[1], extent);
    }
  }
  std::vector<std::int64_t> first(all.begin(), all.end());
  if (first.size() > kMostNamedPositions) first.resize(kMostNamedPositions);
  return first;
}

}  // namespace tilewright::passes::fusion
