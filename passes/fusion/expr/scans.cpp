// Collects scans, and moves them to positions on axes of their own.
#include "passes/fusion/expr/scans.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

std::optional<ScanLoop> scan_loop(const std::vector<Expr>& values) {
  ScanLoop loop;
  bool is_one_loop = true;
  ExprSet seen;
  const auto may_enter = [](Expr e) { return e->holds(ExprKind::scan) || e->holds(ExprKind::reduce); };
  const auto visit = [&](Expr e) {
    if (e->is(ExprKind::reduce)) is_one_loop = false;
    if (!e->is(ExprKind::scan)) return true;
    const Expr body = e->operands[0], position = e->operands[1];
    const Axis axis = position->is(ExprKind::index) ? position->axis : nullptr;
    const bool is_first = loop.scans.empty();
    if (is_first) loop.axis = axis, loop.is_reverse = e->bits != 0;
    is_one_loop = is_one_loop && axis && axis == loop.axis && loop.is_reverse == (e->bits != 0) && !body->axes.contains(axis) &&
                  axis->extent == (*e->bound.begin())->extent;
    loop.scans.push_back(e);
    return false;
  };
  for (Expr v : values) walk_inwards(v, seen, may_enter, visit);
  if (loop.scans.empty() || !is_one_loop) return std::nullopt;
  std::sort(loop.scans.begin(), loop.scans.end(), [](Expr a, Expr b) { return a->key < b->key; });
  return loop;
}

Expr scanned(ExprBuilder& b, Expr scan) { return b.substitute(scan->operands[0], {{b.index(*scan->bound.begin()), scan->operands[1]}}); }

Expr stored_scan(ExprBuilder& b, Expr scan) {
  const Axis bound = *scan->bound.begin();
  const Expr body = scan->operands[0];
  // Named after the scanned axis, without the marks of a bound axis.
  std::string name = bound->name.substr(0, bound->name.find('*'));
  Axis axis = nullptr;
  for (;; name += "'") {
    axis = b.pool().axis(name, bound->extent, bound->label);
    if (axis->extent == bound->extent && !body->axes.contains(axis)) break;
  }
  const Expr moved = b.scan(scan->combine, bound, scan->bits != 0, body, b.index(axis), scan->element);
  b.pool().copy_sources(scan, moved);
  return moved;
}

Axis scan_axis(Expr stored) { return stored->operands[1]->axis; }

}  // namespace tilewright::passes::fusion
