// Passes positions from users to operands, starting at the results.
#include "passes/fusion/graph/shifted_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/pads_in_place.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/transcendental.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

// The positions read along an axis: step * (position of an origin) + begin.
struct ShiftedAxis {
  // An origin from 0 on is an axis of the result.
  static constexpr int kNone = -1;     // an extent of 1
  static constexpr int kReduced = -2;  // the axis is visited by a reduction or a scan
  static constexpr int kData = -3;  // this number and those below it stand for values of an index, and parts of positions before a reshape
  int origin = kNone;
  Dim step = 0, begin = 0;
  friend bool operator==(const ShiftedAxis&, const ShiftedAxis&) = default;
};
using ReadPosition = std::vector<ShiftedAxis>;

const ShiftedAxis kAllPositions{ShiftedAxis::kReduced, 1, 0};

bool is_one(const Dim& d) { return d == Dim(1); }

ReadPosition own_position(const graph::TensorShape& shape) {
  ReadPosition own;
  for (std::size_t i = 0; i < shape.size(); ++i) own.push_back(is_one(shape[i]) ? ShiftedAxis() : ShiftedAxis{static_cast<int>(i), 1, 0});
  return own;
}

ReadPosition all_positions(const graph::TensorShape& shape) {
  ReadPosition all;
  for (const Dim& d : shape) all.push_back(is_one(d) ? ShiftedAxis() : kAllPositions);
  return all;
}

ShiftedAxis moved(const ShiftedAxis& at, const Dim& step, const Dim& begin) {
  return at.origin == ShiftedAxis::kNone ? at : ShiftedAxis{at.origin, step * at.step, step * at.begin + begin};
}

class ShiftedReads {
 public:
  ShiftedReads(const Graph& g, const KnownNodes& known, const std::vector<bool>& is_needed, const std::vector<bool>& is_stored,
               bool is_host)
      : g_(g),
        known_(known),
        is_needed_(is_needed),
        is_stored_(is_stored),
        is_host_(is_host),
        positions_(g.size()),
        choices_(g.size()),
        reads_memory_(g.size()),
        reduces_(g.size()),
        reduces_along_(g.size()),
        is_costly_(g.size()),
        is_padded_(g.size()),
        in_place_(pads_read_in_place(g, is_needed)),
        users_(g.size()) {
    for (std::uint32_t i = 0; i < g.size(); ++i) {
      const Node& n = g.node({i});
      reads_memory_[i] = n.op == Op::input || n.op == Op::scalar || n.op == Op::constant;
      if (n.op == Op::constant) reads_memory_[i] = has_own_memory(n);
      reduces_[i] = graph::combines_elements(n.op);
      is_costly_[i] = n.op == Op::map && is_transcendental(n.function);
      for (NodeId x : n.operands) {
        reduces_[i] = reduces_[i] || (reduces_[x.index] && !is_stored[x.index]);
        is_costly_[i] = is_costly_[i] || (is_costly_[x.index] && !is_stored[x.index]);
        reads_memory_[i] = reads_memory_[i] || reads_memory_[x.index];
        users_[x.index] += is_needed[i] ? 1 : 0;
      }
      reduces_along_[i] = reduced_axes(n, i);
    }
  }

  std::vector<NodeId> run() {
    std::vector<NodeId> found;
    for (const graph::Output& o : g_.outputs()) add(o.node, own_position(g_.node(o.node).shape));
    for (std::uint32_t i = static_cast<std::uint32_t>(g_.size()); i-- > 0;) {
      const NodeId n{i};
      if (!is_needed_[i] || positions_[i].empty()) continue;
      if (g_.node(n).op == Op::concat) choices_[i] += positions_[i].size();
      const bool has_many_choices = positions_[i].size() > 1 && choices_[i] > kMostChoices;
      const bool is_repeated = may_be_stored(n) && (is_padded_[i] || positions_[i].size() > most_positions(n) ||
                                                    (g_.node(n).op == Op::concat && has_many_choices));
      if (is_repeated) found.push_back(n);
      if (is_repeated && g_.node(n).op == Op::pad) note_padded(g_.node(n).operands[0]);
      if (is_repeated || is_stored_[i]) {
        positions_[i] = {own_position(g_.node(n).shape)};
        choices_[i] = g_.node(n).op == Op::concat ? 1 : 0;
      }
      hand_on(n, std::exchange(positions_[i], {}));
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  void hand_on(NodeId id, const std::vector<ReadPosition>& positions) {
    const Node& n = g_.node(id);
    for (NodeId x : n.operands) choices_[x.index] = std::max(choices_[x.index], choices_[id.index]);
    Dim begin = 0;  // the position of an operand in its concatenation
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      for (const ReadPosition& p : positions) {
        if (n.op == Op::window)
          read_windows(n, p);
        else if (k == 0 && reads_again_by_index(n))
          add_many(n.operands[0], operand_position(n, 0, begin, p), static_cast<std::size_t>(n.axes[0]));
        else
          add(n.operands[k], operand_position(n, k, begin, p));
      }
      if (n.op == Op::concat) begin += g_.node(n.operands[k]).shape[static_cast<std::size_t>(n.axes[0])];
    }
  }

  void add(NodeId n, ReadPosition p) {
    std::vector<ReadPosition>& all = positions_[n.index];
    if (all.size() < kMostKeptPositions && std::find(all.begin(), all.end(), p) == all.end()) all.push_back(std::move(p));
  }

  // An index that names more positions than there are reads some of them again. What it reads of a reduction is stored, as in the steps of
  // PageRank, where each node reads the rank of its neighbours, which is a sum itself.
  bool reads_again_by_index(const Node& n) const {
    if (n.op != Op::gather && n.op != Op::take_along) return false;
    const auto axis = static_cast<std::size_t>(n.axes[0]);
    if (!reduces_along_[n.operands[0].index][axis]) return false;
    const Dim& extent = g_.node(n.operands[0]).shape[axis];
    const graph::TensorShape& index = g_.node(n.operands[1]).shape;
    const Dim read = n.op == Op::take_along ? index[axis] : std::accumulate(index.begin(), index.end(), Dim(1), std::multiplies<>());
    return (read - extent).least() > 0;
  }

  // As many positions along an axis as are remembered.
  void add_many(NodeId n, ReadPosition p, std::size_t axis) {
    for (std::size_t i = 0; i < kMostKeptPositions; ++i) {
      p[axis].begin = Dim(static_cast<std::int64_t>(i));
      add(n, p);
    }
  }

  // Along which axes of a node reductions vary that are computed after the last stored values. Views and indices may move them to any axis.
  std::vector<bool> reduced_axes(const Node& n, std::uint32_t i) const {
    std::vector<bool> axes(n.shape.size());
    if (!reduces_[i]) return axes;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const auto varies = [&](NodeId x) {
        if (!reduces_[x.index] || is_stored_[x.index]) return false;
        const std::vector<bool>& own = reduces_along_[x.index];
        const std::size_t missing = axes.size() - std::min(own.size(), axes.size());
        return a >= missing && own[a - missing];
      };
      const bool is_same = n.op == Op::map || n.op == Op::broadcast || n.op == Op::slice || n.op == Op::pad || n.op == Op::concat;
      axes[a] = !is_one(n.shape[a]) && (!is_same || std::ranges::any_of(n.operands, varies));
    }
    return axes;
  }

  // If windows overlap, they read an element once for each position that it has in a window. If they read a reduction, it is stored even if
  // these positions are few. If windows do not overlap, each element is in at most one.
  void read_windows(const Node& n, const ReadPosition& p) {
    const auto axis = static_cast<std::size_t>(n.axes[0]);
    const Dim &size = n.lengths[0], &step = n.lengths[1], &dilation = n.lengths[2];
    ReadPosition there(p.begin(), p.end() - 1);
    if ((step - dilation * (size - 1)).least() > 0) {
      there[axis] = positions_of_data({n.operands[0], n.shape, {p[axis], p.back()}});
      return add(n.operands[0], std::move(there));
    }
    const auto most = static_cast<std::int64_t>(kMostKeptPositions);
    const bool has_few = size.is_constant() && !reduces_[n.operands[0].index];
    for (std::int64_t i = 0; i < (has_few ? std::min(size.value(), most) : most); ++i) {
      there[axis] = moved(p[axis], step, dilation * i);
      add(n.operands[0], there);
    }
  }

  // Other users of the operand of a stored pad would compute it, and everything before it, again. A reduction or a product takes longer
  // under the masks of a pad than without them and a copy.
  void note_padded(NodeId operand) {
    while (users_[operand.index] == 1 && g_.node(operand).op == Op::pad) operand = g_.node(operand).operands[0];
    if (users_[operand.index] > 1 || reduces_[operand.index]) is_padded_[operand.index] = is_computed(operand);
  }

  bool may_be_stored(NodeId id) const { return is_computed(id) || (g_.node(id).op == Op::concat && is_of_data(id)); }
  // The lower limits of hosts apply only to neighbours that are computed element by element, as in a chain of stencils, or that are pieces
  // of a concatenation which are reduced one by one.
  std::size_t most_positions(NodeId id) const {
    if (g_.node(id).op == Op::concat) return kMostJoined;
    if (has_costly_shifts(id)) return 1;
    if (!is_host_ || reduces_[id.index] || !are_neighbours(positions_[id.index])) return kMostPositions;
    return is_costly_[id.index] ? kMostCostlyPositionsOnHost : kMostPositionsOnHost;
  }
  // Whether two positions differ by less than half of an axis along which reductions vary, or on a host functions that take longer than reading
  // their results: nearly all of these would be computed again. The halves of a rotated
  // head differ by half of it, and one program computes both.
  bool has_costly_shifts(NodeId id) const {
    const std::vector<ReadPosition>& positions = positions_[id.index];
    const bool is_function = is_host_ && is_costly_[id.index] && !reduces_[id.index];
    if (!is_function && !reduces_[id.index]) return false;
    const graph::TensorShape& shape = g_.node(id).shape;
    const auto is_near = [&](std::size_t axis, const ShiftedAxis& a, const ShiftedAxis& b) {
      const Dim distance = a.begin - b.begin;
      return a.origin == b.origin && a.step == b.step && distance.is_constant() &&
             2 * std::abs(static_cast<double>(distance.value())) < estimated_extent(shape[axis]);
    };
    return std::any_of(positions.begin(), positions.end(), [&](const ReadPosition& p) {
      bool is_costly = false;
      for (std::size_t i = 0; i < p.size(); ++i) {
        if (p[i] == positions.front()[i]) continue;
        if (!is_near(i, p[i], positions.front()[i])) return false;
        is_costly = is_costly || is_function || reduces_along_[id.index][i];
      }
      return is_costly;
    });
  }
  static bool are_neighbours(const std::vector<ReadPosition>& positions) {
    const auto is_neighbour = [](const ShiftedAxis& a, const ShiftedAxis& b) {
      return a.origin == b.origin && a.origin >= ShiftedAxis::kReduced;
    };
    return std::ranges::all_of(positions, [&](const ReadPosition& p) { return std::ranges::equal(p, positions.front(), is_neighbour); });
  }
  bool is_of_data(NodeId id) const { return reads_memory_[id.index] && !known_.is_known(id); }

  bool is_computed(NodeId id) const {
    const Node& n = g_.node(id);
    const bool is_cast = n.op == Op::map && n.function == ir::OpKind::cast_;
    return !graph::is_leaf(n.op) && !graph::is_view(n.op) && (n.op != Op::pad || (is_host_ && !in_place_[id.index])) &&
           n.op != Op::concat && !is_cast && is_of_data(id);
  }

  ReadPosition operand_position(const Node& n, std::size_t k, const Dim& begin, const ReadPosition& p) {
    const graph::TensorShape& shape = g_.node(n.operands[k]).shape;
    const auto axis = n.axes.empty() ? std::size_t{0} : static_cast<std::size_t>(n.axes[0]);
    ReadPosition there = p;
    switch (n.op) {
      case Op::materialize: return there;
      case Op::map:
      case Op::broadcast:
        there.erase(there.begin(), there.end() - static_cast<std::ptrdiff_t>(shape.size()));
        for (std::size_t i = 0; i < shape.size(); ++i)
          if (is_one(shape[i])) there[i] = {};
        return there;
      case Op::permute:
        for (std::size_t i = 0; i < p.size(); ++i) there[static_cast<std::size_t>(n.axes[i])] = p[i];
        return there;
      case Op::slice: there[axis] = moved(p[axis], n.lengths[2], n.lengths[0]); return there;
      case Op::flip: there[axis] = moved(p[axis], -1, n.shape[axis] - Dim(1)); return there;
      case Op::rotate: there[axis] = moved(p[axis], 1, Dim(0) - n.lengths[0]); return there;
      case Op::pad:
        if (k == 1) return {};
        there[axis] = moved(p[axis], 1, Dim(0) - n.lengths[0]);
        return there;
      case Op::concat: there[axis] = moved(p[axis], 1, Dim(0) - begin); return there;
      case Op::window: break;  // many positions: read_windows
      case Op::reshape: return reshaped(n, shape, p);
      case Op::gather: return of_gather(n, k, p);
      case Op::take_along:
        if (k == 0) there[axis] = read_by_index(n, p, n.shape[axis], shape[axis]);
        return there;
      case Op::reduce: return of_reduction(n, shape, p);
      case Op::einsum: return of_product(n, k, p);
      case Op::scan: there[axis] = kAllPositions; return there;
      case Op::scatter_add:
      case Op::call: return all_positions(shape);
      // Without operands:
      case Op::input:
      case Op::scalar:
      case Op::constant:
      case Op::iota:
      case Op::extent:
      case Op::rand:
      case Op::argument: break;
    }
    TW_UNREACHABLE("one position of an operand");
  }

  // The positions that data, or a position in other axes, determine: equal sources give equal positions.
  struct Source {
    NodeId from;               // the index, or the operand of a reshape
    graph::TensorShape shape;  // the shape of the reshape's result
    ReadPosition at;
  };
  ShiftedAxis positions_of_data(Source source) {
    const auto is_equal = [&](const Source& s) { return s.from == source.from && s.shape == source.shape && s.at == source.at; };
    const auto known = std::find_if(sources_.begin(), sources_.end(), is_equal);
    const auto number = static_cast<int>(known - sources_.begin());
    if (known == sources_.end()) sources_.push_back(std::move(source));
    return {ShiftedAxis::kData - number, 1, 0};
  }

  // If an index names fewer positions than the axis has, storing the whole axis may take longer than computing each element that is read.
  ShiftedAxis read_by_index(const Node& n, const ReadPosition& of_index, const Dim& read, const Dim& extent) {
    return positions_of_data((read - extent).least() >= 0 ? Source{n.operands[1], {}, of_index} : Source{});
  }

  // The axes of the index replace the table's axis.
  ReadPosition of_gather(const Node& n, std::size_t k, const ReadPosition& p) {
    const auto axis = n.axes[0];
    const graph::TensorShape& index = g_.node(n.operands[1]).shape;
    const auto rank = static_cast<std::ptrdiff_t>(index.size());
    ReadPosition of_index(p.begin() + axis, p.begin() + axis + rank);
    if (k == 1) return of_index;
    ReadPosition there(p.begin(), p.begin() + axis);
    const Dim read = std::accumulate(index.begin(), index.end(), Dim(1), std::multiplies<>());
    there.push_back(read_by_index(n, of_index, read, g_.node(n.operands[0]).shape[static_cast<std::size_t>(axis)]));
    there.insert(there.end(), p.begin() + axis + rank, p.end());
    return there;
  }

  // Axes of extent 1 may be added or removed; after other reshapes, a position depends on all axes.
  ReadPosition reshaped(const Node& n, const graph::TensorShape& shape, const ReadPosition& p) {
    ReadPosition there(shape.size());
    std::size_t own = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (is_one(shape[i])) continue;
      while (own < n.shape.size() && is_one(n.shape[own])) ++own;
      if (own == n.shape.size() || !(n.shape[own] == shape[i])) return regrouped(n, shape, p);
      there[i] = p[own++];
    }
    return std::all_of(n.shape.begin() + static_cast<std::ptrdiff_t>(own), n.shape.end(), is_one) ? there : regrouped(n, shape, p);
  }

  ReadPosition regrouped(const Node& n, const graph::TensorShape& shape, const ReadPosition& p) {
    const ShiftedAxis all = positions_of_data({n.operands[0], n.shape, p});
    ReadPosition there;
    for (const Dim& d : shape) there.push_back(is_one(d) ? ShiftedAxis() : all);
    return there;
  }

  static ReadPosition of_reduction(const Node& n, const graph::TensorShape& shape, const ReadPosition& p) {
    ReadPosition there = all_positions(shape);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool is_reduced = std::find(n.axes.begin(), n.axes.end(), static_cast<int>(i)) != n.axes.end();
      if (!is_reduced) there[i] = p[kept];
      if (!is_reduced || n.keep_dims) ++kept;
    }
    return there;
  }

  ReadPosition of_product(const Node& n, std::size_t k, const ReadPosition& p) const {
    const std::string_view equation = n.text;
    const std::size_t arrow = equation.find("->");
    const std::string_view result = equation.substr(arrow + 2);
    std::size_t label = 0;
    for (std::size_t i = 0; i < k; ++i) label = equation.find(',', label) + 1;
    ReadPosition there = all_positions(g_.node(n.operands[k]).shape);
    for (std::size_t i = 0; i < there.size(); ++i)
      if (const std::size_t at = result.find(equation[label + i]); at != result.npos && there[i].origin == ShiftedAxis::kReduced)
        there[i] = p[at];
    return there;
  }

  const Graph& g_;
  const KnownNodes& known_;
  const std::vector<bool>&is_needed_, &is_stored_;
  const bool is_host_;
  std::vector<std::vector<ReadPosition>> positions_;  // for each node: the positions at which results read it
  std::vector<std::size_t> choices_;                  // for each node: positions of concatenations on a path to it from results
  std::vector<bool> reads_memory_;
  std::vector<bool> reduces_;                     // a reduction or a product is computed after the last stored values
  std::vector<std::vector<bool>> reduces_along_;  // the axes along which these vary
  std::vector<bool> is_costly_;                   // a transcendental function is computed after the last stored values
  std::vector<bool> is_padded_;                   // a pad of the value is stored, and the value itself, too
  std::vector<bool> in_place_;                    // pads that hosts read in place and do not store
  std::vector<int> users_;
  std::vector<Source> sources_;
};

// Whether elements of the result are elements of an operand at other positions.
bool is_shift(Op op) {
  const graph::Family family = graph::info(op).family;
  return family == graph::Family::index || (family == graph::Family::shape && op != Op::permute && op != Op::broadcast);
}

}  // namespace

std::vector<NodeId> values_at_many_positions(const Graph& g, const KnownNodes& known, const std::vector<bool>& is_needed,
                                             const std::vector<bool>& is_stored, bool is_host) {
  std::size_t shifts = 0;
  for (std::uint32_t i = 0; i < g.size(); ++i) shifts += is_needed[i] && is_shift(g.node({i}).op) ? 1 : 0;
  if (shifts == 0) return {};
  return ShiftedReads(g, known, is_needed, is_stored, is_host).run();
}

std::string repeated_text(const Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format("not fused: {} ({}:{}) is stored, because one element of what follows reads it at many positions",
                     graph::display_name(g, n), where.file, where.line);
}

}  // namespace tilewright::passes::fusion
