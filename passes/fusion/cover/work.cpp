// Counts the operations and the bytes of all programs of a kernel.
#include "passes/fusion/cover/work.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "passes/fusion/expr/exponentials.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/thresholds.h"
#include "tileir/target/machine_facts.h"

namespace tilewright::passes::fusion {

using graph::Combine;

namespace {

class WorkCounter {
 public:
  WorkCounter(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target, const Footprint& footprint,
              const AxisSet& rows)
      : plan_(plan),
        b_(b),
        target_(target),
        facts_(ir::machine_facts(target)),
        tiling_(tiling),
        tiles_(tiling.sizes),
        rows_(rows),
        footprint_(footprint) {}

  Work run() {
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
      work_.written_bytes += bytes;
      // A host's caches complete the lines that several tiles write.
      if (!target_.is_gpu()) work_.reread_bytes += (lines_per_run(o.tensor, o.index) - 1) * bytes;
    }
    for (const auto& [tensor, bytes] : read_) {
      const double once = std::min(bytes, tensor_bytes(tensor));
      work_.read_bytes += once;
      work_.reread_bytes += bytes - once;
      if (once <= kBytesNearby) work_.nearby_bytes += std::max(bytes - once - beside_runs_[tensor], 0.0);
      // What is read again comes from caches.
      if (bytes > 0) work_.wasted_bytes += wasted_[tensor] * once / bytes;
    }
    if (plan_.loop) {
      const double tiles = std::ceil(footprint_.tiles_of_loop());
      work_.spilled_bytes = 2 * 4 * static_cast<double>(tiling_.spilled_words) * tiles * plan_.passes * footprint_.programs();
    }
    return work_;
  }

 private:
  // Values that are computed inside of reductions over these axes of the grid: others than those with the same formulas outside.
  struct Inside {
    std::vector<Expr> values;
    AxisSet walked;
    Expr own_loop = {};   // on hosts: the reduction inside of the plan's loop that walks these values in a loop of its own
    AxisSet around = {};  // the axes of the loops in which that loop runs again
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

  double evaluations(const AxisSet& axes, const AxisSet& walked = {}) const { return footprint_.evaluations(axes, walked); }

  // The evaluations of a value inside of loops: a loop inside of another one computes its values again in each step of that one.
  double evaluations(const AxisSet& axes, const Inside& in) const {
    double count = evaluations(axes, in.walked);
    for (Axis a : in.around)
      if (!axes.contains(a)) count *= std::ceil(footprint_.extent(a) / static_cast<double>(footprint_.tile(a)));
    return count;
  }

  // The axes of the loops around the own loop of a reduction inside of these: a reduction that does not vary along one of them is computed
  // outside of it.
  AxisSet around(Expr reduction, const Inside& in) const {
    AxisSet loops = in.around;
    if (plan_.loop) loops.insert({plan_.loop});
    if (in.own_loop)
      for (Axis a : in.own_loop->bound)
        if (const auto inner = tiles_.inner.find(a); inner != tiles_.inner.end() && inner->second.is_looped) loops.insert({a});
    return loops.common(reduction->axes);
  }

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
  // and another axis of a reduction inside of it walks rows. Behind a whole row the next one begins.
  double wasted_per_byte(Expr load) const {
    const std::vector<Axis> contiguous = contiguous_axes(b_, load->tensor, load->operands);
    if (target_.is_gpu() || contiguous.empty() || contiguous[0] != plan_.loop || has_whole_rows(load->tensor)) return 0;
    const bool walks_rows =
        std::any_of(tiles_.inner.begin(), tiles_.inner.end(), [&](const auto& inner) { return load->axes.contains(inner.first); });
    return walks_rows ? facts_.line_bytes / (static_cast<double>(tiles_.loop) * ir::bytes(load->tensor->element)) : 0;
  }

  // Whether a tile of the loop is as long as a row of a tensor.
  bool has_whole_rows(Tensor t) const {
    for (std::size_t i = 0; i < t->shape.size(); ++i)
      if (t->strides[i] == Dim(1) && footprint_.extent(t->shape[i]) > 1)
        return static_cast<double>(tiles_.loop) >= footprint_.extent(t->shape[i]);
    return false;
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
      Inside in{.values = {}, .walked = footprint_.walked_in(a.reduce->bound, {})};
      in.values = add_reduction(a.combine, body, {plan_.loop}, a.reduce->operand_element, a.axes, in);
      add_parts(std::move(in), counted);
      if (!a.exponent->is_number(0)) {
        const double steps = std::ceil(footprint_.tiles_of_loop());
        work_.flops += steps * evaluations(a.axes);
        work_.exponentials += steps * evaluations(a.exponent->axes);
      }
    }
  }

  // Counts the operations that combine the body, and returns what is combined: the factors of a product, which one instruction multiplies.
  std::vector<Expr> add_reduction(Combine c, Expr body, const AxisSet& along, const ProductElement& operands, const AxisSet& axes,
                                  const Inside& in) {
    const double count = evaluations(both(axes, along), in);
    if (c == Combine::sum && is_product(b_.factors(body), along)) {
      work_.matrix_flops += 2 * count;
      const auto [sides, common] = operands_of(b_.factors(body), along, nullptr, batch_axes(b_.factors(body), along));
      if (!target_.is_gpu() && !has_part(b_.factors(body), along))
        work_.idle_flops += 2 * count * (kRowsOfHostProduct / std::min(rows_at_once(b_.factors(body), along), kRowsOfHostProduct) - 1);
      if (!target_.is_gpu() && plan_.loop && !along.contains(plan_.loop)) add_copied_operands(b_.factors(body), along, in);
      const bool is_exact = is_exact_in_tf32(common) &&
                            std::all_of(sides.begin(), sides.end(), [](const Operand& side) { return is_exact_in_tf32(side.factors); });
      if (!is_exact) work_.precision_seconds += 2 * count * seconds_of_precision(operands.precision);
      work_.operand_bits = std::min(work_.operand_bits, ir::bits(operands.element));
      add_computed_operand(b_.factors(body), along, operands.element, in);
      std::vector<Expr> multiplied;
      for (const Factor& f : b_.factors(body)) multiplied.push_back(b_.multiply(1, {f}));
      return multiplied;
    }
    work_.flops += count;
    work_.repeated_operations += count - footprint_.extent(both(axes, along));
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

  // A host reads a left operand that is in memory in place, also under masks of its rows. A computed left operand is computed again, into
  // scratch memory, for each tile of columns. The right operand is kept for the next tile of rows. Operands that are narrower than f32 are
  // converted into scratch memory in any case. An operand that contains sums over the kernel's loop is not counted: another loop over the
  // data would have to store it first.
  void add_computed_operand(const std::vector<Factor>& factors, const AxisSet& along, ir::Element element, const Inside& in) {
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
    work_.exponentials += kExponentialsOfOperand * (evaluations(axes, in) - footprint_.extent(axes));
  }

  // If a product is inside of a loop, and the loop does not only add it up, a host first copies its operands to scratch memory.
  void add_copied_operands(const std::vector<Factor>& factors, const AxisSet& along, const Inside& in) {
    const std::vector<Operand> sides = operands_of(factors, along, [&](Axis a) { return footprint_.tile(a) > 1; }).operands;
    for (const Operand& side : sides) {
      AxisSet axes;
      for (const Factor& f : side.factors) axes.insert(f.base->axes);
      double rows = 1;
      for (const Operand& other : sides)
        if (&other != &side)
          for (Axis a : other.axes.without(along).without(axes)) rows *= static_cast<double>(footprint_.tile(a));
      work_.copied_bytes += 4 * evaluations(axes, in) * std::min(1.0, kRowsOfCopies / rows);
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
    b_.pool().steps().take(1);
    if (e->is(ExprKind::load)) {
      if (e->tensor->is_scalar) return {{}, in.walked};
      const double elements = evaluations(e->axes, in) * ir::bytes(e->tensor->element),
                   bytes = elements * lines_per_run(e->tensor, e->operands);
      read_[e->tensor] += bytes;
      beside_runs_[e->tensor] += bytes - elements;
      if (!in.walked.empty()) work_.walked_bytes += bytes;
      wasted_[e->tensor] += bytes * wasted_per_byte(e);
      axes_[e->tensor].insert(e->axes);
      return {{}, in.walked};
    }
    if (e->is(ExprKind::index) || e->is(ExprKind::extent) || e->is(ExprKind::number)) return {{}, in.walked};
    if (e->is(ExprKind::reduce)) {
      Inside parts{{}, footprint_.walked_in(e->bound, in.walked), in.own_loop, in.around};
      if (!target_.is_gpu() && varies_in(e, e->operands[0])) parts.own_loop = e, parts.around = around(e, in);
      // What a product of the loop sums up goes through scratch memory, as a computed operand does.
      if (!target_.is_gpu() && plan_.loop && e->axes.contains(plan_.loop) && !products_.empty() && !is_product(e, b_))
        work_.exponentials_of_scans += exponentials_of_summed(e) * evaluations(both(e->axes, e->bound), parts);
      parts.values = add_reduction(e->combine, e->operands[0], e->bound, e->operand_element, e->axes, parts);
      return parts;
    }
    const std::vector<Expr> parts = parts_of(e);
    // Masks and sums of positions take too little time to be counted in each step of a loop.
    const double exponentials = exponentials_of(b_, e),
                 count = exponentials > 0 ? evaluations(e->axes, in) : evaluations(e->axes, in.walked),
                 of_each = exponentials > 0 ? exponentials : static_cast<double>(std::max<std::size_t>(parts.size(), 1));
    (exponentials > 0 ? work_.exponentials : work_.flops) += count * of_each;
    work_.repeated_operations += (count - footprint_.extent(e->axes)) * of_each;
    if (e->is(ExprKind::scan) && !target_.is_gpu()) work_.exponentials_of_scans += kExponentialsOfScan * count;
    return {parts, in.walked, in.own_loop, in.around};
  }

  // A scan is computed along the axis of its position.
  std::vector<Expr> parts_of(Expr e) const {
    if (e->is(ExprKind::scan)) return {scanned(b_, e)};
    return {children(e).begin(), children(e).end()};
  }

  const LoopPlan& plan_;
  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  const ir::MachineFacts facts_;
  const Tiling& tiling_;
  const TileSizes& tiles_;
  const AxisSet& rows_;
  const Footprint& footprint_;
  std::vector<Expr> products_;  // in the outputs
  ExprSet stop_;
  std::map<Tensor, double> read_;
  std::map<Tensor, double>
      beside_runs_;  // the bytes beside runs of less than a line, which take as long as a line from the first cache, too
  std::map<Tensor, double> wasted_;
  std::map<Tensor, AxisSet> axes_;  // the axes along which each tensor is read
  Work work_;
};

}  // namespace

Work count_work(const LoopPlan& plan, const Tiling& tiling, ExprBuilder& b, const ir::TargetDesc& target, const Footprint& footprint,
                const AxisSet& rows) {
  return WorkCounter(plan, tiling, b, target, footprint, rows).run();
}

}  // namespace tilewright::passes::fusion
