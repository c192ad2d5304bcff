// Visits an output from outside in, and rebuilds the expressions that contain stored values.
#include "passes/fusion/cover/stored_values.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "passes/fusion/cover/read_stored.h"
#include "passes/fusion/cover/replace_factors.h"
#include "passes/fusion/expr/exponentials.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/tiles/footprint.h"

namespace tilewright::passes::fusion {

using graph::Combine;

Expr StoredValues::store_combined(Expr root, Axis loop, Combined which, ExprMap& stored) {
  ExprMap replaced;
  ExprSet seen;
  // Values that are stored, and that the root may contain elsewhere, too: x in x - mean(x). What these hold is not searched.
  const auto find = [&](const ExprMap& known) {
    walk_inwards(root, seen, [&](Expr e) {
      if (!held_.holds_reduction(e) || known.contains(e)) return false;
      if (!e->is(ExprKind::reduce) || e->combine == Combine::combine) return true;
      auto [operands, common] = operands_apart(b_, e);
      operands.push_back({{}, common});
      std::vector<Factor> removed, loads;
      for (const Operand& operand : operands) {
        std::vector<Factor> own;
        std::copy_if(operand.factors.begin(), operand.factors.end(), std::back_inserter(own), [&](const Factor& f) {
          return held_.holds_reduction(f.base) && (which == Combined::outermost || !f.base->axes.contains(loop));
        });
        if (own.empty()) continue;
        const Expr value = b_.multiply(1, own);
        stored[value] = load_of_(value);
        loads.push_back({stored[value], 1});
        removed.insert(removed.end(), own.begin(), own.end());
      }
      if (loads.empty()) return true;
      replaced[e] = with_body(b_, e, replace_factors(b_, e->operands[0], removed, loads));
      b_.pool().copy_sources(e, replaced[e]);
      return false;
    });
  };
  find({});
  const ExprMap first = stored;
  stored.clear(), replaced.clear(), seen.clear();
  find(first);
  return replaced.empty() ? root : read_stored(b_, held_, b_.substitute(root, replaced), stored);
}

Expr StoredValues::store_computed_operands(Expr root, Computed which, ExprMap& stored) {
  const auto is_stored = [&](Expr value) {
    return which == Computed::costly ? any_of(value, [&](Expr e) { return exponentials_of(b_, e) > 0; })
                                     : !value->is(ExprKind::load) && any_of(value, [](Expr e) { return e->is(ExprKind::load); });
  };
  ExprMap replaced;
  ExprSet seen;
  walk_inwards(root, seen, [&](Expr e) {
    if (!held_.holds_product(e)) return false;
    if (!is_product(e, b_)) return true;
    Expr body = e->operands[0];
    for (const Operand& operand : operands_apart(b_, e).operands) {
      std::vector<Factor> own;
      std::copy_if(operand.factors.begin(), operand.factors.end(), std::back_inserter(own),
                   [&](const Factor& f) { return !held_.holds_reduction(f.base); });
      const Expr value = b_.multiply(1, own);
      if (!is_stored(value)) continue;
      stored[value] = load_of_(value);
      body = replace_factors(b_, body, own, {{stored[value], 1}});
    }
    if (body == e->operands[0]) return true;
    replaced[e] = with_body(b_, e, body);
    b_.pool().copy_sources(e, replaced[e]);
    return false;
  });
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

Expr StoredValues::store_reductions(Expr root, Reductions which, ExprMap& stored, Axis loop) {
  ExprMap replaced;
  ExprSet seen, inside;  // inside: parts of reductions
  walk_inwards(root, seen, [&](Expr e) {
    const bool is_inside = inside.contains(e);
    if (e->is(ExprKind::reduce) && e != root) {
      const bool is_stored = which == Reductions::of_other_loops
                                 ? !is_inside && !e->bound.contains(loop) && !e->axes.contains(loop)
                                 : is_inside || (which == Reductions::all && (root->is(ExprKind::reduce) || !e->axes.empty()));
      if (is_stored) {
        stored[e] = load_of_(e);
        replaced[e] = stored[e];
        return false;
      }
    }
    if (is_inside || e->is(ExprKind::reduce)) inside.insert(children(e).begin(), children(e).end());
    return true;
  });
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

Expr StoredValues::store_scans(Expr root, bool has_loop, ExprMap& stored) {
  // What is stored of a part depends on whether it is inside of a scan, so the walk is over pairs and not over expressions.
  struct Part {
    Expr value;
    bool is_scanned;  // a part of a scan
  };
  const auto is_stored_scan = [&](const Part& p) { return p.value->is(ExprKind::scan) && (p.is_scanned || !has_loop); };
  const auto is_stored = [&](const Part& p) { return is_stored_scan(p) || (p.value->is(ExprKind::reduce) && p.is_scanned); };
  const auto parts = [&](const Part& p) {
    std::vector<Part> inside;
    if (is_stored_scan(p))
      inside.push_back({p.value->operands[1], p.is_scanned});
    else if (!is_stored(p))
      for (Expr x : children(p.value)) inside.push_back({x, p.is_scanned || p.value->is(ExprKind::scan)});
    return inside;
  };
  ExprMap replaced;
  ExprSet seen;
  visit_operands_first(
      Part{root, false}, parts, [&](const Part& p) { return seen.insert(p.value).second; },
      [&](const Part& p) {
        if (is_stored_scan(p)) {
          const Expr value = stored_scan(b_, p.value);
          stored[value] = load_of_(value);
          const Expr position = b_.substitute(p.value->operands[1], replaced);
          replaced[p.value] = b_.substitute(stored[value], {{b_.index(scan_axis(value)), position}});
        } else if (is_stored(p)) {
          stored[p.value] = replaced[p.value] = load_of_(p.value);
        }
      });
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

Expr StoredValues::store_outermost(Expr root, ExprMap& stored) {
  std::vector<Expr> found;
  ExprSet seen;
  walk_inwards(root, seen, [&](Expr e) {
    if (!held_.holds_reduction(e)) return false;
    const bool is_found = e->is(ExprKind::reduce) && e != root;
    if (is_found) found.push_back(e);
    return !is_found;
  });
  // Whether one may be the sum of the other over more axes, which may have other names there.
  const auto may_be_part = [](Expr part, Expr whole) {
    const auto tensors = [](Expr e) {
      std::set<Tensor> read;
      for (Expr load : loads_of({{{}, e, nullptr, {}}})) read.insert(load->tensor);
      return read;
    };
    return part->combine == whole->combine && part->element == whole->element && part->bound.size() < whole->bound.size() &&
           tensors(part) == tensors(whole);
  };
  ExprMap replaced;
  for (Expr e : found) {
    Expr value = e;
    std::size_t most = 0;  // axes along which the part combines
    for (Expr part : found) {
      if (part->bound.size() <= most || !may_be_part(part, e)) continue;
      const Expr combined = reduce_stored(b_, held_, e, {{part, load_of_(part)}});
      if (combined != e) value = combined, most = part->bound.size();
    }
    stored[value] = replaced[e] = load_of_(value);
  }
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

}  // namespace tilewright::passes::fusion
