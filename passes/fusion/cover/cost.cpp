// Counts the work of programs, and divides it by the rates of a processor.
#include "passes/fusion/cover/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "passes/fusion/amount_text.h"
#include "passes/fusion/expr/exponentials.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "tileir/target/machine_facts.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using ir::OpKind;

namespace {

// Whether an extent of the plan's outputs or reductions has symbols.
bool has_symbols(const LoopPlan& plan) {
  const auto has = [](Axis a) { return !a->extent.is_constant(); };
  const std::vector<Axis> bound = bound_axes(plan.outputs);
  return std::any_of(bound.begin(), bound.end(), has) || std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const KernelOutput& o) {
           return std::any_of(o.value->axes.begin(), o.value->axes.end(), has);
         });
}

class Estimator {
 public:
  // of_symbols: the value that symbols have, within their bounds.
  Estimator(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target, const FusionOptions& options,
            double of_symbols)
      : plan_(plan),
        b_(b),
        target_(target),
        facts_(ir::machine_facts(target)),
        tiling_(tiling),
        tiles_(tiling.sizes),
        rows_(options.batch_invariant ? rows_of(plan) : AxisSet()),
        footprint_(plan, tiling.sizes, rows_, of_symbols) {}

  KernelCost run() {
    cost_.programs = footprint_.programs();
    cost_.accumulator_bytes = 4 * footprint_.accumulator_words();
    cost_.parts = static_cast<double>(tiling_.split.parts);
    for (const Reduction& r : plan_.reductions) stop_.insert(r.value);
    for (Expr r : reductions_over(nullptr, plan_.outputs))
      if (is_product(r, b_)) products_.push_back(r);
    // What one pass has computed is not computed again in the outputs of a later pass: the outputs belong to the last pass. If one tile is
    // the whole loop, there is a single pass.
    Counted counted;
    for (int pass = 1; pass <= plan_.passes; ++pass) {
      if (!footprint_.has_one_tile()) counted.clear();
      add_pass(pass, counted);
    }
    for (const KernelOutput& o : plan_.outputs) {
      add_parts({{o.value}, {}}, counted);
      const double bytes = footprint_.extent(o.value->axes) * ir::bytes(o.tensor->element);
      cost_.written_bytes += bytes;
      // A host's caches complete the lines that several tiles write.
      if (!target_.is_gpu()) cost_.reread_bytes += (lines_per_run(o.tensor, o.index) - 1) * bytes;
    }
    for (const auto& [tensor, bytes] : read_) {
      const double once = std::min(bytes, tensor_bytes(tensor));
      cost_.read_bytes += once;
      cost_.reread_bytes += bytes - once;
      if (once <= kBytesNearby) nearby_bytes_ += bytes - once;
    }
    if (plan_.loop) {
      const double tiles = std::ceil(footprint_.tiles_of_loop());
      cost_.spilled_bytes = 2 * 4 * static_cast<double>(tiling_.spilled_words) * tiles * plan_.passes * cost_.programs;
    }
    cost_.fits = fits();
    cost_.seconds = seconds();
    return cost_;
  }

 private:
  // Values that are computed inside of reductions over these axes of the grid: others than those with the same formulas outside.
  struct Inside {
    std::vector<Expr> values;
    AxisSet walked;
    Expr own_loop = {};  // on hosts: the reduction inside of the plan's loop that walks these values in a loop of its own
  };
  // The values that were counted, for each set of walked axes and each loop: a value is counted once for each of them, and not once for a
  // whole walk.
  class Counted {
   public:
    ExprSet& inside(const Inside& in) {
      for (Scope& s : all_)
        if (s.walked == in.walked && s.own_loop == in.own_loop) return s.seen;
      return all_.emplace_back(in.walked, in.own_loop, ExprSet{}).seen;
    }
    void clear() { all_.clear(); }

   private:
    struct Scope {
      Scope(AxisSet walked, Expr own_loop, ExprSet seen) : walked(std::move(walked)), own_loop(own_loop), seen(std::move(seen)) {}
      AxisSet walked;
      Expr own_loop;
      ExprSet seen;
    };
    std::deque<Scope> all_;
  };

  // The rows of outputs whose bits must not depend on the number of rows: a typical number of rows is used instead of the actual one.
  static AxisSet rows_of(const LoopPlan& plan) {
    AxisSet rows;
    for (const KernelOutput& o : plan.outputs) rows.insert(o.value->axes);
    for (Axis a : bound_axes(plan.outputs)) rows = rows.without({a});
    return rows;
  }

  double evaluations(const AxisSet& axes, const AxisSet& walked = {}) const { return footprint_.evaluations(axes, walked); }

  // The bytes of the elements that are read, each counted once.
  double tensor_bytes(Tensor t) const {
    double elements = 1;
    for (const Dim& d : t->shape) elements *= footprint_.extent(d);
    if (!rows_.empty()) elements = footprint_.extent(axes_.at(t));
    return elements * ir::bytes(t->element);
  }

  // Memory moves whole lines: if the neighbours in a tile take less than a line, each tile moves the line again.
  double lines_per_run(Tensor tensor, const std::vector<Expr>& index) const {
    const std::vector<Axis> contiguous = contiguous_axes(b_, tensor, index);
    if (contiguous.empty()) return 1;
    const double run = std::min(static_cast<double>(tile_of(contiguous[0], plan_, tiles_)), footprint_.extent(contiguous[0]));
    return std::max(1.0, facts_.line_bytes / (run * ir::bytes(tensor->element)));
  }

  // A host fetches the line after each run, too, which is of no use if the next run is in another row: where the loop's axis is contiguous
  // and another axis of a reduction inside of it walks rows.
  double wasted_per_byte(Expr load) const {
    const std::vector<Axis> contiguous = contiguous_axes(b_, load->tensor, load->operands);
    if (target_.is_gpu() || contiguous.empty() || contiguous[0] != plan_.loop) return 0;
    const bool walks_rows =
        std::any_of(tiles_.inner.begin(), tiles_.inner.end(), [&](const auto& inner) { return load->axes.contains(inner.first); });
    return walks_rows ? facts_.line_bytes / (static_cast<double>(tiles_.loop) * ir::bytes(load->tensor->element)) : 0;
  }

  static AxisSet both(AxisSet a, const AxisSet& b) {
    a.insert(b);
    return a;
  }

  void add_pass(int pass, Counted& counted) {
    for (std::size_t i = 0; i < plan_.accumulators.size(); ++i) {
      const Accumulator& a = plan_.accumulators[i];
      if (a.pass != pass || !is_read(plan_.reductions, static_cast<int>(i))) continue;
      const Expr body = footprint_.has_one_tile() ? body_at_values(b_, a) : a.body;
      const AxisSet walked = footprint_.walked_in(a.reduce->bound, {});
      add_parts({add_reduction(a.combine, body, {plan_.loop}, a.reduce->operand_element, a.axes, walked), walked}, counted);
      if (!a.exponent->is_number(0)) {
        const double steps = std::ceil(footprint_.tiles_of_loop());
        cost_.flops += steps * evaluations(a.axes);
        cost_.exponentials += steps * evaluations(a.exponent->axes);
      }
    }
  }

  // Counts the operations that combine the body, and returns what is combined: the factors of a product, which one instruction multiplies.
  std::vector<Expr> add_reduction(Combine c, Expr body, const AxisSet& along, const ProductElement& operands, const AxisSet& axes,
                                  const AxisSet& walked) {
    const double count = evaluations(both(axes, along), walked);
    if (c == Combine::sum && is_product(b_.factors(body), along)) {
      cost_.matrix_flops += 2 * count;
      const auto [sides, common] = operands_of(b_.factors(body), along, nullptr, batch_axes(b_.factors(body), along));
      if (!target_.is_gpu() && !has_part(b_.factors(body), along))
        idle_flops_ += 2 * count * (kRowsOfHostProduct / std::min(rows_at_once(b_.factors(body), along), kRowsOfHostProduct) - 1);
      if (!target_.is_gpu() && plan_.loop && !along.contains(plan_.loop)) add_copied_operands(b_.factors(body), along, walked);
      const bool is_exact = is_exact_in_tf32(common) &&
                            std::all_of(sides.begin(), sides.end(), [](const Operand& side) { return is_exact_in_tf32(side.factors); });
      if (!is_exact) precision_seconds_ += 2 * count * seconds_of_precision(operands.precision);
      bits_ = std::min(bits_, ir::bits(operands.element));
      add_computed_operand(b_.factors(body), along, operands.element, walked);
      std::vector<Expr> multiplied;
      for (const Factor& f : b_.factors(body)) multiplied.push_back(b_.multiply(1, {f}));
      return multiplied;
    }
    cost_.flops += count;
    cost_.repeated_operations += count - footprint_.extent(both(axes, along));
    return {body};
  }

  // Whether the kernel has a product along some of these axes, whose elements the sum along all of them adds up.
  bool has_part(const std::vector<Factor>& factors, const AxisSet& along) const {
    return std::any_of(products_.begin(), products_.end(), [&](Expr product) {
      const std::vector<Factor> own = b_.factors(product->operands[0]);
      return product->bound.size() < along.size() && along.contains(product->bound) &&
             std::all_of(
                 own.begin(), own.end(), [&](const Factor& f) { return std::find(factors.begin(), factors.end(), f) != factors.end(); });
    });
  }

  // The positions of a tile along the axes of one operand that the other one lacks: the lesser number of the two operands.
  double rows_at_once(const std::vector<Factor>& factors, const AxisSet& along) const {
    const auto is_tiled = [&](Axis a) { return footprint_.tile(a) > 1; };
    const std::vector<Operand> sides = operands_of(factors, along, is_tiled).operands;
    if (sides.size() != 2) return 1;
    return static_cast<double>(std::min(footprint_.positions(sides[0].axes), footprint_.positions(sides[1].axes)));
  }

  // A host reads a left operand in memory in place, also under masks of its rows. One that is computed is computed again, to scratch memory, for each tile of columns. The
  // right one is kept for the next tile of rows. What is narrower than f32 is converted to scratch memory in any case. An operand with sums
  // of its own loop in it is not counted: to store it, another loop over the data has to come first.
  void add_computed_operand(const std::vector<Factor>& factors, const AxisSet& along, ir::Element element, const AxisSet& walked) {
    if (target_.is_gpu() || ir::bits(element) < 32) return;
    const auto [sides, common] = operands_of(factors, along, nullptr, batch_axes(factors, along));
    if (sides.size() != 2) return;
    const Axis row = first_axis_of(both(sides[0].axes, sides[1].axes));
    if (!row) return;
    const Operand& left = sides[0].axes.contains(row) ? sides[0] : sides[1];
    if (common.empty() && masked_load(b_, left.factors)) return;
    AxisSet axes;
    for (const auto* group : {&left.factors, &common})
      for (const Factor& f : *group) {
        if (any_of(f.base, [](Expr e) { return e->is_reference(); })) return;
        axes.insert(f.base->axes);
      }
    cost_.exponentials += kExponentialsOfOperand * (evaluations(axes, walked) - footprint_.extent(axes));
  }

  // A host computes a product inside of a loop of which it is not the sum from copies of its operands in scratch memory.
  void add_copied_operands(const std::vector<Factor>& factors, const AxisSet& along, const AxisSet& walked) {
    const std::vector<Operand> sides = operands_of(factors, along, [&](Axis a) { return footprint_.tile(a) > 1; }).operands;
    for (const Operand& side : sides) {
      AxisSet axes;
      for (const Factor& f : side.factors) axes.insert(f.base->axes);
      double rows = 1;
      for (const Operand& other : sides)
        if (&other != &side)
          for (Axis a : other.axes.without(along).without(axes)) rows *= static_cast<double>(footprint_.tile(a));
      copied_bytes_ += 4 * evaluations(axes, walked) * std::min(1.0, kRowsOfCopies / rows);
    }
  }

  // The first of these axes in the results, or none.
  Axis first_axis_of(const AxisSet& axes) const {
    for (const KernelOutput& o : plan_.outputs)
      for (Expr i : o.index)
        for (Axis a : i->axes)
          if (axes.contains(a)) return a;
    return nullptr;
  }

  // The additional time of one operation of a product beyond that of the standard precision: the factors are split into three products, or
  // there is no matrix instruction.
  double seconds_of_precision(graph::ProductPrecision p) const {
    using graph::ProductPrecision;
    if (!target_.is_gpu() || p == ProductPrecision::standard || p == ProductPrecision::tf32) return 0;
    if (p == ProductPrecision::tf32x3 || p == ProductPrecision::bf16x3) return 2 / facts_.matrix_flops_32;
    return 1 / facts_.flops - 1 / facts_.matrix_flops_32;
  }

  void add_parts(Inside first, Counted& counted) {
    std::vector<Inside> open{std::move(first)};
    while (!open.empty()) {
      const Inside in = std::move(open.back());
      open.pop_back();
      ExprSet& seen = counted.inside(in);
      for (Expr v : in.values)
        walk_along(v, [&](Expr e, std::vector<Expr>& next) {
          if (e->is_reference() || e->is(ExprKind::delta) || stop_.contains(e)) return;
          if (in.own_loop && !varies_in(in.own_loop, e)) return open.push_back({{e}, in.walked});
          if (!seen.insert(e).second) return;
          Inside parts = add_value(e, in);
          if (parts.walked == in.walked && parts.own_loop == in.own_loop)
            next = std::move(parts.values);
          else
            open.push_back(std::move(parts));
        });
    }
  }

  // Exponentials for each element that a reduction inside of a product's loop combines. Windows are walked row by row.
  double exponentials_of_summed(Expr reduction) const {
    const auto is_walked = [&](Axis a) {
      const auto inner = tiles_.inner.find(a);
      return inner != tiles_.inner.end() && inner->second.size == 1 && inner->second.is_looped;
    };
    const bool is_window = std::all_of(reduction->bound.begin(), reduction->bound.end(), is_walked);
    return is_window ? kExponentialsOfWindow : kExponentialsOfOperand;
  }

  // Whether a value varies along an axis that a reduction walks in a loop.
  bool varies_in(Expr reduction, Expr e) const {
    return std::any_of(tiles_.inner.begin(), tiles_.inner.end(), [&](const auto& inner) {
      return inner.second.is_looped && reduction->bound.contains(inner.first) && e->axes.contains(inner.first);
    });
  }

  // Counts what it takes to compute a value of its parts, and returns the parts.
  Inside add_value(Expr e, const Inside& in) {
    const AxisSet& walked = in.walked;
    b_.pool().steps().take(1);
    if (e->is(ExprKind::load)) {
      if (e->tensor->is_scalar) return {{}, walked};
      const double bytes = evaluations(e->axes, walked) * ir::bytes(e->tensor->element) * lines_per_run(e->tensor, e->operands);
      read_[e->tensor] += bytes;
      if (!walked.empty()) walked_bytes_ += bytes;
      wasted_bytes_ += bytes * wasted_per_byte(e);
      axes_[e->tensor].insert(e->axes);
      return {{}, walked};
    }
    if (e->is(ExprKind::index) || e->is(ExprKind::extent) || e->is(ExprKind::number)) return {{}, walked};
    if (e->is(ExprKind::reduce)) {
      const AxisSet inside = footprint_.walked_in(e->bound, walked);
      const bool has_own_loop = !target_.is_gpu() && varies_in(e, e->operands[0]);
      // What a product of the loop sums up goes through scratch memory, as a computed operand does.
      if (!target_.is_gpu() && plan_.loop && e->axes.contains(plan_.loop) && !products_.empty() && !is_product(e, b_))
        of_scans_ += exponentials_of_summed(e) * evaluations(both(e->axes, e->bound), inside);
      return {add_reduction(e->combine, e->operands[0], e->bound, e->operand_element, e->axes, inside), inside,
              has_own_loop ? e : in.own_loop};
    }
    const std::vector<Expr> parts = parts_of(e);
    const double count = evaluations(e->axes, walked), exponentials = exponentials_of(b_, e),
                 of_each = exponentials > 0 ? exponentials : static_cast<double>(std::max<std::size_t>(parts.size(), 1));
    (exponentials > 0 ? cost_.exponentials : cost_.flops) += count * of_each;
    cost_.repeated_operations += (count - footprint_.extent(e->axes)) * of_each;
    if (e->is(ExprKind::scan) && !target_.is_gpu()) of_scans_ += kExponentialsOfScan * count;
    return {parts, walked, in.own_loop};
  }

  // A scan is computed along the axis of its position.
  std::vector<Expr> parts_of(Expr e) const {
    if (e->is(ExprKind::scan)) return {scanned(b_, e)};
    return {children(e).begin(), children(e).end()};
  }

  // An axis that a program holds whole must fit for every value of its symbols.
  bool fits() const {
    const bool is_bounded =
        std::all_of(tiles_.payload.begin(), tiles_.payload.end(), [](const auto& axis) { return axis.second <= kLongestPayload; });
    return is_bounded && tiling_.fits && fits_on_chip(plan_) && cost_.accumulator_bytes <= facts_.accumulator_bytes;
  }

  // The part of the work that the largest program has: of 1200 positions in tiles of 1024, most.
  double largest_share() const {
    double share = 1 / cost_.parts;
    for (const auto& [axis, size] : tiles_.grid)
      share *= std::min(1.0, static_cast<double>(size) / (rows_.contains(axis) ? footprint_.extent(axis) : greatest(axis)));
    return share;
  }
  static double greatest(Axis axis) { return static_cast<double>(std::max<std::int64_t>(axis->extent.greatest(), 1)); }

  double seconds() const {
    const double programs = footprint_.most_programs() * cost_.parts, processors = target_.processors;
    // The work of the busiest processor.
    const double share = std::max(std::ceil(programs / processors) / programs, target_.is_gpu() ? 0 : largest_share());
    const double matrix = facts_.matrix_flops(std::min(bits_, 32) / 8);
    const double compute = (cost_.matrix_flops + idle_flops_) / matrix + precision_seconds_ + cost_.flops / facts_.flops +
                           (cost_.exponentials + of_scans_) / facts_.exponentials;
    const double moved = cost_.read_bytes + cost_.written_bytes + wasted_bytes_;
    const double nearby = target_.is_gpu() ? 0 : (1 - kOfNearby) * nearby_bytes_;
    const double memory =
        std::max(moved / facts_.memory_bytes, share * (moved + cost_.reread_bytes - nearby + cost_.spilled_bytes) / facts_.cache_bytes);
    const double walked = target_.is_gpu() ? 0 : (kOfWalkingOnHost - 1) * walked_bytes_ / facts_.cache_bytes;
    const double work = ir::overlapped_seconds(memory + share * walked, share * compute) +
                        share * (kOfFar * far_bytes() + kOfCopies * copied_bytes_) / facts_.cache_bytes;
    const double to_share = processors > 1 ? facts_.share_seconds : 0;
    const double launch = facts_.launch_seconds + (programs > 1 ? to_share : 0);
    return work + launch + (cost_.parts > 1 ? facts_.launch_seconds + to_share : 0);
  }

  // What programs of a host read again from beyond the caches of a processor: all of it, if one pass of a program reads more than these hold.
  // The processor waits for it, beside a product too.
  double far_bytes() const {
    if (target_.is_gpu()) return 0;
    const double of_pass = (cost_.read_bytes + cost_.reread_bytes) / (cost_.programs * cost_.parts * std::max(plan_.passes, 1));
    return of_pass < kBytesOfCaches ? 0 : cost_.reread_bytes;
  }

  const LoopPlan& plan_;
  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  const ir::MachineFacts facts_;
  const Tiling& tiling_;
  const TileSizes& tiles_;
  const AxisSet rows_;
  const Footprint footprint_;
  std::vector<Expr> products_;  // in the outputs
  ExprSet stop_;
  std::map<Tensor, double> read_;
  std::map<Tensor, AxisSet> axes_;  // the axes along which each tensor is read
  int bits_ = 64;                   // of the narrowest operands of a product
  double idle_flops_ = 0;           // that the instructions of products would do beside the others, with more rows
  double precision_seconds_ = 0;    // of products that need more accuracy than one instruction has
  double of_scans_ = 0;  // exponentials that take as long as what scans, and reductions inside of products, need beside their operations
  double nearby_bytes_ = 0;  // read again from tensors that a host's first cache holds
  double wasted_bytes_ = 0;  // that come with others, and are not used
  double copied_bytes_ = 0;  // of operands of products inside of a host's loop
  double walked_bytes_ = 0;  // that programs read in reductions along axes over which they are distributed
  KernelCost cost_;
};

}  // namespace

KernelCost estimate(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target,
                    const FusionOptions& options) {
  KernelCost cost = Estimator(plan, tiling, b, target, options, kTypicalExtent).run();
  cost.seconds_if_large = has_symbols(plan) ? Estimator(plan, tiling, b, target, options, kLargeExtent).run().seconds : cost.seconds;
  return cost;
}

double seconds_at(double of_symbols, const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target,
                  const FusionOptions& options) {
  return Estimator(plan, tiling, b, target, options, of_symbols).run().seconds;
}

std::string KernelCost::text() const {
  std::string all = fmt::format("{} through memory", bytes_text(read_bytes + written_bytes));
  if (reread_bytes > 0) all += fmt::format(", {} again from caches", bytes_text(reread_bytes));
  if (spilled_bytes > 0) all += fmt::format(", {} of spilled registers", bytes_text(spilled_bytes));
  if (matrix_flops > 0) all += fmt::format(", {} in products", flops_text(matrix_flops));
  all += fmt::format(", {} {}", flops_text(flops), matrix_flops > 0 ? "elsewhere" : "of arithmetic");
  if (exponentials > 0) all += fmt::format(", {} exponentials", count_text(exponentials));
  if (accumulator_bytes > 0) all += fmt::format(", {} of accumulators in each program", bytes_text(accumulator_bytes));
  return all + fmt::format(": about {} in {:.0f} program{}", time_text(seconds), programs * parts, programs * parts == 1 ? "" : "s") +
         (fits ? "" : "; does not fit");
}

}  // namespace tilewright::passes::fusion
