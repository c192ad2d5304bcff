// Compares what the parts of a kernel read along an axis with what they read without it.
#include "passes/fusion/plan/choose_grid.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"

namespace tilewright::passes::fusion {

namespace {

// A read of a tensor's element, as the rule for the grid counts it: two uses of one element are one read.
struct Read {
  Tensor tensor;
  AxisSet axes;
  friend bool operator==(const Read&, const Read&) = default;
};

void collect_reads(Expr value, std::vector<Read>& reads) {
  ExprSet seen;
  walk_inwards(value, seen, [&](Expr e) {
    if (e->is(ExprKind::load)) {
      const Read r{e->tensor, e->axes};
      if (std::find(reads.begin(), reads.end(), r) == reads.end()) reads.push_back(r);
    }
    return !e->is_reference();
  });
}

// Collects the reads along axis x itself, not those inside of a reduction whose result lacks x.
void collect_reads_along(Expr value, Axis x, std::vector<Read>& reads) {
  ExprSet seen;
  walk_inwards(value, seen, [&](Expr e) {
    if (e->is(ExprKind::load)) collect_reads(e, reads);
    return !e->is(ExprKind::load) && (!e->is(ExprKind::reduce) || e->axes.contains(x));
  });
}

void collect_inner_reductions(Expr value, Axis loop, std::vector<Expr>& found) {
  ExprSet seen;
  const auto visit = [&](Expr e) {
    if (e->is(ExprKind::reduce) && !e->bound.contains(loop)) found.push_back(e);
    return true;
  };
  walk_inwards(value, seen, [](Expr e) { return e->holds(ExprKind::reduce) && !e->is_reference(); }, visit);
}

// Collects the axes that reductions and scans bind, without those in `seen`.
void collect_bound(Expr value, ExprSet& seen, AxisSet& bound) {
  const auto may_bind = [](Expr e) { return (e->holds(ExprKind::reduce) || e->holds(ExprKind::scan)) && !e->is_reference(); };
  walk_inwards(value, seen, may_bind, [&](Expr e) {
    bound.insert(e->bound);
    return true;
  });
}

}  // namespace

GridChoice choose_grid(const std::vector<KernelOutput>& outputs, Axis loop, std::span<const Reduction> reductions,
                       std::span<const Accumulator> accumulators, std::span<const Expr> complete) {
  GridChoice choice;
  AxisSet free;
  for (const KernelOutput& o : outputs) free.insert(o.value->axes);
  if (loop) free = free.without({loop});
  std::vector<const Accumulator*> live;
  AxisSet rows;
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const Accumulator& a = accumulators[i];
    rows.insert(a.axes);
    if (a.axes.intersects(free) && is_read(reductions, static_cast<int>(i))) live.push_back(&a);
  }
  std::vector<Expr> parts;
  for (const Accumulator* a : live) {
    parts.push_back(a->body);
    collect_inner_reductions(a->body, loop, parts);
  }
  const auto is_cheap_without = [&](Axis x, Expr part) {
    if (part->axes.contains(x) || !part->axes.intersects(free)) return true;
    std::vector<Read> along, read;
    for (const Accumulator* a : live)
      if (a->axes.contains(x)) collect_reads_along(a->body, x, along);
    collect_reads(part, read);
    AxisSet space = part->axes;
    space.insert(part->bound);
    const bool is_product = std::none_of(read.begin(), read.end(), [&](const Read& r) { return r.axes.contains(space); });
    return !is_product && std::all_of(read.begin(), read.end(), [&](const Read& r) {
      return std::any_of(along.begin(), along.end(),
                         [&](const Read& a) { return a == r || (a.axes.contains(r.axes) && a.axes.size() > r.axes.size()); });
    });
  };
  // If a reduction binds an axis too, each program holds all of it: the reduction needs all positions.
  AxisSet bound;
  for (Axis a : bound_axes(outputs)) bound.insert(a);
  for (Axis x : free.without(bound)) {
    const bool is_grid = live.empty() || std::all_of(parts.begin(), parts.end(), [&](Expr p) { return is_cheap_without(x, p); });
    if (is_grid) choice.grid.insert(x);
  }
  // A factor of the terms of a reduction may have an axis that no accumulator has.
  for (const Reduction& r : reductions)
    if (r.policy != Policy::unused) rows.insert(r.value->axes);
  choice.payload = rows.without(choice.grid);
  AxisSet inner, after_loop;
  ExprSet seen;
  for (const Accumulator& a : accumulators) {
    if (!a.axes.empty()) choice.cells += estimated_extent(a.axes.without(choice.grid));
    collect_bound(a.body, seen, inner);
  }
  choice.resident = estimated_extent(loop ? inner.without({loop}) : inner);
  seen.clear();
  for (Expr e : complete) seen.insert(e);
  for (const KernelOutput& o : outputs) collect_bound(o.value, seen, after_loop);
  choice.after = after_loop.empty() ? 0 : estimated_extent(after_loop);
  return choice;
}

}  // namespace tilewright::passes::fusion
