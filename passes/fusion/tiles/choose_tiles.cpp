// Chooses tile sizes for products, for rows and for element-wise kernels.
#include "passes/fusion/tiles/choose_tiles.h"

#include <algorithm>
#include <bit>
#include <map>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "passes/fusion/tiles/plan_rows.h"
#include "passes/fusion/transcendental.h"

namespace tilewright::passes::fusion {

namespace {

std::int64_t power_of_two(std::int64_t at_least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(at_least, 1))));
}

// The least tile that covers an axis: a power of two; INT64_MAX / 2 if that is unknown.
std::int64_t covering_tile(Axis a) {
  const std::int64_t most = a->extent.greatest();
  return most > (std::int64_t{1} << 30) ? INT64_MAX / 2 : power_of_two(most);
}

struct Load {
  Tensor tensor;
  AxisSet axes;
  Axis contiguous = nullptr;  // neighbouring positions are neighbours in memory
};

// The axis along which an output is contiguous; null if there is none.
Axis contiguous_axis(const KernelOutput& o, const ExprBuilder& b) {
  const std::vector<Axis> contiguous = contiguous_axes(b, o.tensor, o.index);
  return contiguous.empty() ? nullptr : contiguous.front();
}

class TileChooser {
 public:
  TileChooser(const LoopPlan& plan, const ExprBuilder& b, const ir::TargetDesc& target, bool is_batch_invariant)
      : plan_(plan), b_(b), target_(target), is_batch_invariant_(is_batch_invariant) {
    if (is_batch_invariant) rows_ = rows_of(plan);
    for (Expr e : loads_of(plan.outputs)) {
      if (e->operands.empty()) continue;
      const std::vector<Axis> contiguous = contiguous_axes(b, e->tensor, e->operands);
      loads_.push_back({e->tensor, e->axes, contiguous.empty() ? nullptr : contiguous.back()});
    }
    if (!target.is_gpu()) note_windows();
    for (Expr r : reductions_over(nullptr, plan.outputs))
      if (is_product(r, b)) note_computed_operands(r);
  }

  TileSizes run() {
    sizes_.has_exp2 = target_.is_gpu();
    if (!target_.is_gpu()) sizes_.lanes = target_.lanes();
    AxisSet free;
    for (const KernelOutput& o : plan_.outputs) free.insert(o.value->axes);
    for (const KernelOutput& o : plan_.outputs)
      for (Expr i : o.index) free.insert(i->axes);
    if (plan_.loop) free = free.without({plan_.loop});
    AxisSet grid = plan_.programs.grid;
    for (Axis a : free)
      if (!plan_.loop) grid.insert(a);
    AxisSet payload = free.without(grid);
    payload.insert(plan_.programs.payload);
    // If an output has a long axis that the reductions lack, programs along it repeat the reductions.
    for (Axis a : payload.without(plan_.programs.payload))
      if (covering_tile(a) > kMostWholeExtent) grid.insert(a);
    payload = payload.without(grid);
    for (Axis a : payload) sizes_.payload[a] = covering_tile(a);
    for (Axis a : grid) sizes_.grid[a] = 1;
    if (plan_.loop && has_product()) {
      choose_for_product(grid);
      choose_inner(INT64_MAX, target_.is_gpu() ? kContracted : INT64_MAX);
    } else if (plan_.loop) {
      choose_for_rows(grid);
    } else {
      choose_for_elements(grid);
    }
    return sizes_;
  }

 private:
  // The least tile that covers an axis, for kernels with sums: a number of rows on which they must not depend counts as unknown.
  std::int64_t tile_for_sums(Axis a) const { return rows_.contains(a) ? INT64_MAX / 2 : covering_tile(a); }

  // The estimated number of positions, by which tiles of sums are chosen: a number of rows on which they must not depend counts as a typical one.
  double positions(Axis a) const { return rows_.contains(a) ? kTypicalExtent : estimated_extent(a->extent); }
  double positions(const AxisSet& axes) const {
    double product = 1;
    for (Axis a : axes) product *= positions(a);
    return product;
  }

  // Whether tensors that lack different axes of the result are multiplied along a common axis.
  bool has_product() const {
    for (Expr r : reductions_over(nullptr, plan_.outputs))
      if (is_product(r, b_)) return true;
    return false;
  }

  // Whether each position of the loop is a column of a product, as in scores and logits.
  bool has_product_along_loop() const {
    for (Expr r : reductions_over(nullptr, plan_.outputs))
      if (r->axes.contains(plan_.loop) && is_product(r, b_)) return true;
    return false;
  }

  // Short axes that are added to a position of the result, as the positions in a window. On a host a row of memory is a row of a tile if they are
  // walked one by one; beside others in one tile, a tile of them reads rows of several positions under masks.
  void note_windows() {
    AxisSet bound;
    for (Axis a : bound_axes(plan_.outputs)) bound.insert(a);
    for (Expr e : loads_of(plan_.outputs))
      for (Expr i : e->operands)
        for (Axis a : i->axes.common(bound))
          if (!bound.contains(i->axes) && a->extent.greatest() <= kLongestWindow && !is_contiguous(a)) windows_.insert(a);
  }

  // Operands of a product with more axes than what they read, such as a mask that compares positions.
  void note_computed_operands(Expr product) {
    const std::vector<Factor> factors = b_.factors(product->operands[0]);
    for (const Operand& operand : operands_of(factors, product->bound, nullptr, batch_axes(factors, product->bound)).operands) {
      AxisSet axes = operand.axes;
      for (const Factor& f : operand.factors) axes.insert(f.base->axes.common(product->bound));
      const auto reads_all = [&](Expr e) { return e->is(ExprKind::load) && e->axes == axes; };
      if (std::none_of(operand.factors.begin(), operand.factors.end(), [&](const Factor& f) { return any_of(f.base, reads_all); }))
        computed_.push_back(std::move(axes));
    }
  }

  // The elements of tensors and of computed operands of products that lack this axis: all positions of a tile along the axis use them.
  double reused_along(Axis a, const AxisSet& grid) const {
    double elements = 0;
    for (const Load& l : loads_)
      if (!l.axes.contains(a)) elements += positions(l.axes.without(grid));
    for (const AxisSet& axes : computed_)
      if (!axes.contains(a)) elements += positions(axes.without(grid));
    return elements;
  }

  bool is_contiguous(Axis a) const {
    return std::any_of(loads_.begin(), loads_.end(), [&](const Load& l) { return l.contiguous == a; });
  }

  // The axis along which most of the bytes that are read are contiguous: that of a table's rows, and not that of the indices into it. If
  // each step of the loop writes more than all loads read, as a running sum of outer products does, the axis along which outputs are contiguous.
  Axis contiguous_of(const AxisSet& grid) const {
    Axis found = nullptr;
    double most = 0, all = 0;
    for (const Load& l : loads_) all += positions(l.axes);
    for (Axis a : grid) {
      double elements = 0;
      for (const Load& l : loads_)
        if (l.contiguous == a) elements += positions(l.axes);
      if (elements > most) found = a, most = elements;
    }
    for (const KernelOutput& o : plan_.outputs)
      if (const Axis a = contiguous_axis(o, b_); a && grid.contains(a) && o.value->axes.contains(plan_.loop))
        if (const double elements = positions(o.value->axes); elements > all) found = a, all = elements;
    return found;
  }

  // The longest axis whose positions all read the same along the loop: in pairs of points, the point that is not summed over. Null if the
  // loop reads rows that fill vectors.
  Axis beside_loop(const AxisSet& grid) const {
    AxisSet beside = grid;
    for (const Load& l : loads_) {
      if (!l.axes.contains(plan_.loop)) continue;
      beside = beside.without(l.axes);
      if (l.contiguous && l.contiguous != plan_.loop && !sizes_.is_short(tile_for_sums(l.contiguous), sizes_.lanes)) return nullptr;
    }
    AxisSet of_sums;
    for (const Reduction& r : plan_.reductions) of_sums.insert(r.value->axes);
    Axis longest = nullptr;
    for (Axis a : beside.common(of_sums))
      if (!longest || positions(a) > positions(longest)) longest = a;
    return longest;
  }

  // Matrix instructions on narrow elements need tiles of 128 x 128 to be fully used; small results need more programs instead.
  bool is_narrow_and_large(const std::vector<Axis>& tiled) const {
    if (is_batch_invariant_ || !target_.is_gpu() || !sizes_.payload.empty() || tiled.size() < 2) return false;
    if (positions(tiled[0]) < kLargeResult || positions(tiled[1]) < kLargeResult) return false;
    for (const Reduction& r : plan_.reductions)
      if (ir::bits(r.value->operand_element.element) < 32) return plan_.accumulators.size() <= kMostLargeAccumulators;
    return false;
  }

  void choose_for_product(const AxisSet& grid) {
    AxisMap<double> reused;
    double most_reused = 0;
    for (Axis a : grid) most_reused = std::max(most_reused, reused[a] = reused_along(a, grid));
    std::vector<Axis> tiled;
    for (Axis a : grid)
      if (reused[a] > 0 && (is_batch_invariant_ || reused[a] >= kWorthATile * most_reused)) tiled.push_back(a);
    if (!is_batch_invariant_) std::stable_sort(tiled.begin(), tiled.end(), [&](Axis a, Axis b) { return positions(a) > positions(b); });
    const std::int64_t side = is_narrow_and_large(tiled) ? kLargeProductSide : kProductSide;
    const std::size_t most = sizes_.payload.empty() ? 2 : 1;
    for (std::size_t i = 0; i < std::min(most, tiled.size()); ++i) sizes_.grid[tiled[i]] = std::min(side, tile_for_sums(tiled[i]));
    if (!target_.is_gpu() && !is_batch_invariant_) widen_sides(tiled, side);
    std::int64_t cells = 0;  // elements of all accumulators of a row
    for (const Accumulator& a : plan_.accumulators) {
      std::int64_t own = 1;
      for (const auto& [axis, size] : sizes_.payload)
        if (a.axes.contains(axis)) own = std::min(own * std::min(size, kManyPositions), kManyPositions);
      if (own > 1) cells = std::min(cells + own, kManyPositions);
    }
    cells = std::max<std::int64_t>(cells, 1);
    // If rows have long payloads, use fewer of them.
    for (auto& [axis, size] : sizes_.grid)
      while (size > kLeastOfMatrix && size * cells > kMostProductCells) size /= 2;
    use_processors();
    const bool is_contracted = sizes_.payload.empty() && !has_product_along_loop();
    sizes_.loop = std::min(is_contracted ? kContracted : kLoopOfProducts, tile_for_sums(plan_.loop));
    sizes_.loop = std::max(sizes_.loop, kLeastOfMatrix);
    while (sizes_.loop > kLeastLoopOfProducts && cells * sizes_.loop > kMostLoopCells) sizes_.loop /= 2;
    // A product over several axes contracts all the others at each position of the loop.
    if (windows_.contains(plan_.loop)) sizes_.loop = 1;
    for (const Reduction& r : plan_.reductions)
      if (r.value->bound.size() > 1 && is_product(r.value, b_)) sizes_.loop = 1;
  }

  // Axes that the same tensors have, such as the heads and the positions of a head, are columns, or rows, together.
  void widen_sides(const std::vector<Axis>& tiled, std::int64_t side) {
    for (Axis a : tiled) {
      std::int64_t positions = 1;
      for (Axis other : tiled)
        if (is_read_with(a, other)) positions *= sizes_.grid[other];
      for (; positions < side && sizes_.grid[a] < tile_for_sums(a); positions *= 2) sizes_.grid[a] *= 2;
    }
  }

  // Whether every tensor has both axes or none of them.
  bool is_read_with(Axis a, Axis other) const {
    return std::all_of(loads_.begin(), loads_.end(), [&](const Load& l) { return l.axes.contains(a) == l.axes.contains(other); });
  }

  // Makes tiles smaller if more than half of a host's threads would have no program, or if smaller tiles spare the busiest thread much of
  // its work, as with 90 rows in tiles of 64: data that several tiles read are in its caches. Extents that are not known may be large.
  void use_processors() {
    if (is_batch_invariant_ || target_.is_gpu()) return;
    const auto programs = [&] { return Footprint(plan_, sizes_).most_programs(); };
    halve_until(sizes_, {.least = kLeastHostSide}, [&] { return 2 * programs() > target_.processors; });
    if (programs() >= target_.processors) return;
    TileSizes larger = sizes_;
    const auto share = [&] { return Footprint(plan_, sizes_).largest_share(); };
    const double before = share();
    if (halve_largest(sizes_, {.least = kLeastHostSide}) && (programs() > target_.processors || share() > kOfSmallerTiles * before))
      sizes_ = std::move(larger);
  }

  // Whether a host computes functions again in each of many passes: with one tile for the whole loop it computes them once.
  bool recomputes_in_passes() const {
    if (target_.is_gpu() || plan_.passes < kLeastPassesOfOneTile || !plan_.loop->extent.is_constant() || !sizes_.payload.empty())
      return false;
    return std::ranges::any_of(plan_.outputs, [](const KernelOutput& o) {
      return any_of(o.value, [](Expr e) {
        return e->is(ExprKind::exp) || e->is(ExprKind::log) || (e->is(ExprKind::function) && is_transcendental(e->function));
      });
    });
  }

  void choose_for_rows(const AxisSet& grid) {
    Axis contiguous = contiguous_of(grid);
    const bool is_beside_loop = !target_.is_gpu() && !contiguous && (contiguous = beside_loop(grid));
    const std::int64_t lanes = target_.is_gpu() ? 1 : sizes_.lanes;
    const bool is_one_tile = recomputes_in_passes() && tile_for_sums(plan_.loop) * (contiguous ? lanes : 1) <= kMostElementsOfOneTile;
    const std::int64_t line = target_.is_gpu() ? kLineOfRows : is_one_tile ? lanes : contiguous ? host_piece(contiguous, grid) : 1;
    // A host keeps the accumulators of only a few rows.
    std::int64_t most = target_.is_gpu() ? kMostRowElements : contiguous ? kHostRows * line : kMostHostRowElements;
    if (is_one_tile) most = std::max(most, tile_for_sums(plan_.loop) * (contiguous ? lanes : 1));
    std::int64_t cells = 1;
    for (const auto& [axis, size] : sizes_.payload) cells = std::min(cells * std::min(size, most), most);
    // An axis along which memory is contiguous gets a tile, so that whole cache lines are read, and beside axes that a program holds whole a
    // vector of a host.
    if (contiguous) {
      sizes_.grid[contiguous] = std::min({tile_for_sums(contiguous), line, std::max(most / cells, lanes)});
      cells *= sizes_.grid[contiguous];
    }
    cells *= choose_inner(most / cells, INT64_MAX, most);
    if (!target_.is_gpu()) cells = elements_beside(plan_.loop);
    // Data that a program reads for all its rows are read several positions at a time, however large the rows are.
    const bool is_unknown_row = !target_.is_gpu() && !contiguous && cells == 1 && tile_for_sums(plan_.loop) == INT64_MAX / 2;
    const std::int64_t at_once = is_unknown_row ? kHostRowElementsOfSymbol : most / cells;
    sizes_.loop = std::min(tile_for_sums(plan_.loop), std::max(at_once, is_beside_loop ? kLeastHostLoop : 1));
    if (windows_.contains(plan_.loop)) sizes_.loop = 1;
    if (is_beside_loop) use_processors();
    if (contiguous && !windows_.contains(plan_.loop)) return;
    // If rows are short, handle several at once. The order of their sums depends on how many, and not on the axis along which they are.
    Axis longest = nullptr;
    const bool has_rows = std::any_of(grid.begin(), grid.end(), [&](Axis a) { return a != contiguous && rows_.contains(a); });
    for (Axis a : grid)
      if (a != contiguous && (!has_rows || rows_.contains(a)) && (!longest || positions(a) > positions(longest))) longest = a;
    if (longest)
      while (sizes_.grid[longest] < tile_for_sums(longest) && sizes_.grid[longest] * sizes_.loop * cells < kElementsOfShortRows)
        sizes_.grid[longest] *= 2;
  }

  // The greatest number of elements that a value has at one position of an axis, with the tiles so far: the keys of attention and its values
  // share the loop's axis only.
  std::int64_t elements_beside(Axis axis) const {
    std::vector<Expr> values;
    for (const KernelOutput& o : plan_.outputs) values.push_back(o.value);
    for (const Accumulator& a : plan_.accumulators) values.push_back(a.body);
    std::int64_t most = 1;
    ExprSet seen;
    for (Expr v : values)
      walk_inwards(v, seen, [&](Expr e) {
        if (!e->axes.contains(axis)) return true;
        std::int64_t elements = 1;
        for (Axis a : e->axes)
          if (a != axis && a != plan_.loop)
            elements = std::min(elements * std::min(tile_of(a, plan_, sizes_), kManyPositions), kManyPositions);
        most = std::max(most, elements);
        return true;
      });
    return most;
  }

  // How many positions of a row a program of a host handles.
  std::int64_t host_piece(Axis contiguous, const AxisSet& grid) const {
    const std::int64_t piece = std::min(tile_for_sums(contiguous), kHostPieceOfMemory);
    double bytes = 0;
    for (const Load& l : loads_)
      if (l.contiguous == contiguous) bytes += positions(l.axes.without(grid)) * static_cast<double>(piece) * ir::bytes(l.tensor->element);
    return std::min(piece, bytes < kLeastBytesOfMemory ? kHostPieceOfRegisters : kHostPieceOfMemory);
  }

  void choose_for_elements(const AxisSet& grid) {
    std::vector<Axis> order;
    for (const KernelOutput& o : plan_.outputs)
      if (const Axis a = contiguous_axis(o, b_); a && grid.contains(a) && std::find(order.begin(), order.end(), a) == order.end())
        order.push_back(a);
    const bool is_transposed = order.size() > 1;
    std::int64_t left = is_transposed ? kTransposedElements : kElementwiseElements;
    for (Axis a : grid)
      if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
    for (std::size_t i = 0; i < order.size() && left > 1 && i < 3; ++i) {
      const std::int64_t size = std::min(covering_tile(order[i]), i == 0 && is_transposed ? kTransposedSide : left);
      sizes_.grid[order[i]] = size;
      left /= size;
    }
  }

  // Chooses tiles of the axes that reductions bind besides the loop's, with at most `most` positions together; `most_with_loop`: the limit
  // for axes that a reduction over the loop's axis also binds; `most_elements`: of a host's tiles, no limit if 0. Returns the number of
  // positions.
  std::int64_t choose_inner(std::int64_t most, std::int64_t most_with_loop, std::int64_t most_elements = 0) {
    AxisSet bound, with_loop;
    for (Expr r : computed_reductions(plan_)) {
      bound.insert(r->bound);
      if (r->bound.contains(plan_.loop)) with_loop.insert(r->bound);
    }
    std::vector<Axis> order;
    for (Axis a : bound) {
      if (const auto payload = sizes_.payload.find(a); payload != sizes_.payload.end())
        sizes_.inner[a] = {payload->second, false};
      else if (a != plan_.loop)
        order.push_back(a);
    }
    std::stable_partition(order.begin(), order.end(), [&](Axis a) { return is_contiguous(a); });
    std::int64_t all = 1, beside_loop = 1;
    // A product contracts the axis of the loop or another one.
    const bool walks_windows = !has_product() || sizes_.loop > 1 ||
                               std::any_of(bound.begin(), bound.end(), [&](Axis a) { return a != plan_.loop && !windows_.contains(a); });
    for (Axis a : order) {
      if (walks_windows && windows_.contains(a)) {
        sizes_.inner[a] = {1, tile_for_sums(a) > 1};
        continue;
      }
      const bool is_with_loop = with_loop.contains(a);
      const std::int64_t own = most_elements && !target_.is_gpu() ? most_elements / elements_beside(a) : most / all;
      const std::int64_t size = tile_for_sums(a),
                         left = std::max<std::int64_t>(std::min(own, is_with_loop ? most_with_loop / beside_loop : INT64_MAX), 1);
      const bool is_whole = size <= std::min(kMostWholeExtent, left);
      sizes_.inner[a] = is_whole ? TileSizes::Inner{size, false} : TileSizes::Inner{std::min(kWalkedAtOnce, left), true};
      all *= sizes_.inner[a].size;
      if (is_with_loop) beside_loop *= sizes_.inner[a].size;
    }
    return all;
  }

  const LoopPlan& plan_;
  const ExprBuilder& b_;
  const ir::TargetDesc& target_;
  bool is_batch_invariant_;
  AxisSet rows_;  // with batch_invariant
  std::vector<Load> loads_;
  std::vector<AxisSet> computed_;  // the axes of operands that no tensor has
  AxisSet windows_;
  TileSizes sizes_;
};

}  // namespace

TileSizes choose_tiles(const LoopPlan& plan, const ExprBuilder& b, const ir::TargetDesc& target, bool is_batch_invariant) {
  return TileChooser(plan, b, target, is_batch_invariant).run();
}

std::vector<Expr> computed_reductions(const LoopPlan& plan) {
  std::vector<KernelOutput> all = plan.outputs;
  for (const Accumulator& a : plan.accumulators) {
    all.push_back({{}, a.body, nullptr, {}});
    all.push_back({{}, a.exponent, nullptr, {}});
    for (const AccumulatorTerm& t : a.move) all.push_back({{}, t.factor, nullptr, {}});
  }
  for (const Reduction& r : plan.reductions)
    for (const AccumulatorTerm& t : r.terms) all.push_back({{}, t.factor, nullptr, {}});
  return reductions_over(nullptr, all);
}

}  // namespace tilewright::passes::fusion
