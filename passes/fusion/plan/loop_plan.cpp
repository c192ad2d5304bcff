// Assigns passes, makes accumulators, and chooses references.
#include "passes/fusion/plan/loop_plan.h"

#include <algorithm>
#include <cmath>

#include "passes/fusion/expr/averaged.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/expr/value_bounds.h"
#include "passes/fusion/plan/weighted_averages.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

std::vector<Expr> all_of_kind(Expr e, ExprKind kind) {
  std::vector<Expr> found = collect(e, kind);
  std::sort(found.begin(), found.end(), by_key);
  return found;
}

// Whether a value changes with `inner`, for finite values; references are free and do not count.
bool depends(Expr value, Expr inner) {
  return !all_hold(value, [&](Expr e, std::vector<Expr>& parts) {
    if (e == inner) return false;
    if (e->height <= inner->height || e->is_reference() || is_guard(e)) return true;
    for (const Term& t : e->terms)
      if (!t.coefficient.is_zero()) parts.push_back(t.value);
    for (const Factor& f : e->factors)
      if (!e->number.is_zero()) parts.push_back(f.base);
    parts.insert(parts.end(), e->operands.begin(), e->operands.end());
    return true;
  });
}

}  // namespace

LoopPlan::LoopPlan(ExprBuilder& b, std::vector<KernelOutput> given, Axis axis)
    : outputs(std::move(given)), loop(axis), b_(&b), forms_(by_key) {
  std::sort(outputs.begin(), outputs.end(), [](const KernelOutput& x, const KernelOutput& y) { return x.name < y.name; });
  find_scans();
  if (loop) {
    assign_passes();
    make_accumulators();
    make_moves();
    b.pool().steps().take(reductions.size() * (reductions.size() + accumulators.size()));
    choose_policies();
    for (int pass = 1; pass <= passes; ++pass) states.push_back(pass_state(reductions, accumulators, rolling_, pass));
  }
  std::vector<Expr> complete;
  for (const Reduction& r : reductions) complete.push_back(r.value);
  for (const RunningScan& s : scans) complete.push_back(s.value);
  programs = choose_grid(outputs, loop, reductions, accumulators, complete);
}

void LoopPlan::find_scans() {
  std::vector<Expr> values;
  for (const KernelOutput& o : outputs) values.push_back(o.value);
  ExprSet seen;
  std::vector<Expr> all;
  for (Expr v : values) collect(v, ExprKind::scan, seen, all);
  if (all.empty()) return;
  const std::optional<ScanLoop> found = scan_loop(values);
  TW_CHECK(found && found->axis == loop && found->scans.size() == all.size(), "fusion: a kernel with scans that its loop does not compute");
  is_reverse = found->is_reverse;
  for (Expr s : found->scans) scans.push_back({s, scanned(*b_, s)});
}

// The maxima that exponentials subtract.
ExprSet maxima_of_exponents(const std::vector<KernelOutput>& outputs) {
  ExprSet seen, maxima;
  std::vector<Expr> exponentials;
  for (const KernelOutput& o : outputs) collect(o.value, ExprKind::exp, seen, exponentials);
  seen.clear();
  for (Expr x : exponentials)
    walk_inwards(x->operands[0], seen, [&](Expr e) {
      if (e->is(ExprKind::reduce) && e->combine == Combine::max) maxima.insert(e);
      return e->is(ExprKind::add) || e->is(ExprKind::mul) || e->is(ExprKind::select) || e->is(ExprKind::function);
    });
  return maxima;
}

// Each reduction goes into the first pass in which it has a form, and in which the bodies of its accumulators have forms when shifts move.
// where(m, x, -inf) + y has none, since no change can be added to -inf. Making each cut as late as possible gives the least number of passes.
void LoopPlan::assign_passes() {
  const ExprSet exponents = maxima_of_exponents(outputs);
  for (Expr r : reductions_over(loop, outputs)) {
    Reduction planned;
    planned.value = r;
    std::vector<const Reduction*> needed;
    for (const Reduction& d : reductions)
      if (contains(r, d.value)) {
        needed.push_back(&d);
        planned.pass = std::max(planned.pass, d.pass);
      }
    for (;;) {
      std::vector<Expr> pending;
      for (const Reduction* d : needed)
        if (d->pass == planned.pass) pending.push_back(d->value);
      try {
        Forms forms(*b_, loop, pending);
        Form form = forms.reduction(r, exponents.contains(r));
        find_transports(form, r->combine, r);
        forms_[r] = std::move(form);
        break;
      } catch (const NoForm& why) {
        refusals.push_back({r, why});
        ++planned.pass;
      }
    }
    reductions.push_back(std::move(planned));
  }
  for (const Reduction& r : reductions) passes = std::max(passes, r.pass);
  // An output that varies along the loop's axis is written in a pass after the reductions that it needs.
  for (const KernelOutput& o : outputs) {
    if (!o.has(loop)) continue;
    for (const Reduction& r : reductions)
      if (contains(o.value, r.value)) passes = std::max(passes, r.pass + 1);
  }
}

int LoopPlan::accumulator(int pass, Combine combine, Expr exponent, Expr body, Expr reduce) {
  if (combine == Combine::sum && ir::is_float(reduce->element)) body = b_->with_plain_masks(body, reduce->bound, exponent);
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const Accumulator& a = accumulators[i];
    const bool is_one_fold = a.combine == combine && (combine != Combine::combine || a.fold() == reduce->fold());
    // Products of another precision give other numbers.
    const bool is_one_product = !body->is(ExprKind::mul) || a.reduce->operand_element.precision == reduce->operand_element.precision;
    const bool is_one_body = a.body == body && a.element() == reduce->element;
    if (a.pass == pass && is_one_fold && is_one_product && is_one_body) return static_cast<int>(i);
  }
  Accumulator a;
  a.combine = combine;
  a.exponent = exponent;
  a.body = body;
  a.axes = body->axes.without({loop});
  a.pass = pass;
  a.reduce = reduce;
  accumulators.push_back(std::move(a));
  return static_cast<int>(accumulators.size()) - 1;
}

// The accumulator of a term, and the factor of the accumulator. Bodies that differ only by a moderate factor have one accumulator in
// common.
Term LoopPlan::accumulated(const FormTerm& t, Combine combine, Expr reduce) {
  Term body{1, t.body};
  if (combine == Combine::sum && ir::is_float(t.body->element) && !t.body->is(ExprKind::number)) body = b_->split_coefficient(t.body);
  const bool keeps_range = !is_narrow(reduce->operand_element.element) || factors_fit_operand(*b_, t.body, reduce->operand_element.element);
  return is_moderate(body.coefficient) && keeps_range ? body : Term{1, t.body};
}

AccumulatorTerm LoopPlan::term(const FormTerm& t, int pass, Combine combine, Expr exponent, Expr reduce) {
  const Term body = accumulated(t, combine, reduce);
  return {b_->scale(body.coefficient, t.factor), accumulator(pass, combine, exponent, body.value, reduce)};
}

// The form of body[y + delta] for a body with shift references y, where delta is pending. Throws NoForm.
const Form& LoopPlan::transport(Expr body) {
  if (const auto known = transports_.find(body); known != transports_.end()) return known->second;
  ExprMap moved;
  for (Expr s : all_of_kind(body, ExprKind::shift_reference)) moved[s] = b_->add({s, b_->delta(s->operands[0])});
  Forms forms(*b_, loop, {}, false);
  return transports_.emplace(body, forms.form(b_->substitute(body, moved))).first->second;
}

// Finds how all accumulators move that make_accumulators() and make_moves() would make of a form. Throws NoForm if one of them cannot.
void LoopPlan::find_transports(const Form& form, Combine combine, Expr reduce) {
  ExprSet seen;
  const auto add_bodies = [&](const Form& f, Combine c, std::vector<Expr>& next) {
    for (const FormTerm& t : f)
      if (const Expr body = accumulated(t, c, reduce).value; body->holds(ExprKind::shift_reference)) next.push_back(body);
  };
  std::vector<Expr> bodies;
  add_bodies(form, combine, bodies);
  for (Expr first : bodies)
    walk_along(first, [&](Expr body, std::vector<Expr>& next) {
      if (seen.insert(body).second) add_bodies(transport(body), Combine::sum, next);
    });
}

void LoopPlan::make_accumulators() {
  for (Reduction& r : reductions)
    for (const FormTerm& t : forms_[r.value]) r.terms.push_back(term(t, r.pass, r.value->combine, t.exponent, r.value));
}

// The sums of a pass that occur in a shift reference.
std::vector<Expr> LoopPlan::sums_in(Expr shift, int pass) const {
  std::vector<Expr> sums;
  for (const Reduction& r : reductions)
    if (r.value->combine == Combine::sum && r.pass == pass && contains(shift->operands[0], r.value)) sums.push_back(r.value);
  return sums;
}

bool LoopPlan::may_roll(Expr shift, int pass) const {
  const auto has_extreme = [&](const Reduction& r) { return r.value->combine != Combine::sum && contains(shift->operands[0], r.value); };
  return std::any_of(reductions.begin(), reductions.end(), has_extreme) || is_ratio_of_sums(*b_, shift->operands[0], sums_in(shift, pass));
}

bool LoopPlan::is_average_of_all(Expr shift, int pass) const {
  const std::vector<Expr> sums = sums_in(shift, pass);
  return !sums.empty() && !is_extreme(*b_, shift->operands[0]) && averaged_values(*b_, shift->operands[0]) &&
         !is_ratio_of_sums(*b_, shift->operands[0], sums);
}

// Accumulators move by their transports. New bodies become accumulators. If some of the references follow their values, the others do not
// change.
void LoopPlan::make_moves() {
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const std::vector<Expr> shifts = all_of_kind(accumulators[i].body, ExprKind::shift_reference);
    if (shifts.empty()) continue;
    for (Expr s : shifts)
      if (may_roll(s, accumulators[i].pass)) {
        rolling_.all.insert(s);
        if (is_average_of_all(s, accumulators[i].pass)) rolling_.averages.insert(s);
      }
    const bool has_rolling = std::any_of(shifts.begin(), shifts.end(), [&](Expr s) { return rolling_.all.contains(s); });
    ExprMap unchanged;
    for (Expr s : shifts)
      if (has_rolling && !rolling_.all.contains(s)) unchanged[b_->delta(s->operands[0])] = b_->zero();
    std::vector<AccumulatorTerm> move;
    for (FormTerm t : transport(accumulators[i].body)) {
      if (!unchanged.empty()) t.factor = b_->substitute(t.factor, unchanged);
      if (t.factor == b_->zero()) continue;
      move.push_back(term(t, accumulators[i].pass, Combine::sum, accumulators[i].exponent, accumulators[i].reduce));
    }
    accumulators[i].move = std::move(move);
  }
}

void LoopPlan::choose_policies() {
  struct References {
    int pass;
    std::vector<Expr> exponents, shifts;
  };
  std::vector<References> references;
  for (const Accumulator& a : accumulators)
    references.push_back({a.pass, all_of_kind(a.body, ExprKind::reference), all_of_kind(a.body, ExprKind::shift_reference)});
  const auto is_inside = [](Expr value, const std::vector<Expr>& all) {
    return std::any_of(all.begin(), all.end(), [&](Expr x) { return contains(x->operands[0], value); });
  };
  std::optional<std::vector<Expr>> at_references;
  for (Reduction& r : reductions) {
    bool is_exponent = false, is_shift = false, is_needed_later = false;
    for (const References& x : references) {
      is_exponent = is_exponent || (x.pass == r.pass && is_inside(r.value, x.exponents));
      is_shift = is_shift || (x.pass == r.pass && is_inside(r.value, x.shifts));
    }
    for (const Reduction& later : reductions) is_needed_later |= later.pass > r.pass && contains(later.value, r.value);
    r.policy = is_exponent ? Policy::rolling : is_shift ? Policy::shifted : is_needed_later ? Policy::complete : Policy::deferred;
    if (r.value->combine != Combine::max || (r.policy != Policy::rolling && r.policy != Policy::deferred)) continue;
    if (!at_references) at_references = outputs_at_references();
    r.is_only_reference = std::none_of(at_references->begin(), at_references->end(), [&](Expr e) { return depends(e, r.value); });
    if (!r.is_only_reference) continue;
    if (r.policy == Policy::deferred) {
      if (!is_read_behind_loop(r.value)) r.policy = Policy::unused;
      continue;
    }
    if (const auto middle = constant_reference(r)) {
      r.policy = Policy::constant;
      r.constant = middle;
    }
  }
}

// The middle of the range of a maximum over all data, if exponentials of differences from it are moderate, and none of them becomes 0 as an
// operand of a product.
std::optional<double> LoopPlan::constant_reference(const Reduction& r) const {
  const ValueBounds bounds = value_bounds(accumulators[r.terms[0].accumulator].body);
  const double middle = (bounds.least + bounds.greatest) / 2;
  for (const Accumulator& a : accumulators)
    for (const Term& t : b_->terms(a.exponent)) {
      if (!contains(t.value, r.value)) continue;
      const ir::Element type = a.reduce->operand_element.element;
      if (ir::is_fp8(type)) return std::nullopt;
      const double most = is_narrow(type) ? kMostNarrowSpread : kMostSpread;
      if (!(std::fabs(t.coefficient.to_double()) * (bounds.greatest - middle) <= most)) return std::nullopt;
    }
  return middle;
}

// The outputs with every sum replaced by its terms at the references: a reduction on which they still depend is more than a reference.
std::vector<Expr> LoopPlan::outputs_at_references() {
  ExprMap sums;
  ExprSet stop;
  for (const Reduction& r : reductions) {
    stop.insert(r.value);
    if (r.value->combine != Combine::sum) continue;
    std::vector<Expr> terms;
    for (const AccumulatorTerm& t : r.terms) {
      const Accumulator& a = accumulators[t.accumulator];
      // A name for the accumulator's value at its reference.
      const Axis name = b_->pool().axis("T" + std::to_string(t.accumulator), 1);
      terms.push_back(
          b_->product({t.factor, b_->exp(a.exponent), b_->function(ir::OpKind::copysign_, {b_->index(name)}, ir::Element::f32)}));
    }
    sums[r.value] = b_->add(terms);
  }
  std::vector<Expr> values;
  for (const KernelOutput& o : outputs) {
    Expr e = o.value;
    for (auto r = reductions.rbegin(); r != reductions.rend(); ++r) {
      const auto sum = sums.find(r->value);
      if (sum != sums.end() && contains(e, r->value)) e = b_->substitute(e, {{r->value, sum->second}}, stop);
    }
    values.push_back(e);
  }
  return values;
}

// A reduction that cancels when references replace it may still occur in the formulas, if only to know whether it is finite.
bool LoopPlan::is_read_behind_loop(Expr reduce) const {
  ExprSet others;
  for (const Reduction& r : reductions)
    if (r.value != reduce) others.insert(r.value);
  const auto is_read = [&](Expr e) {
    return any_of(e, [&](Expr x) { return x == reduce; }, [&](Expr x) { return !x->is_reference() && !others.contains(x); });
  };
  return std::any_of(outputs.begin(), outputs.end(), [&](const KernelOutput& o) { return is_read(o.value); }) ||
         std::any_of(reductions.begin(), reductions.end(), [&](const Reduction& r) {
           return std::any_of(r.terms.begin(), r.terms.end(), [&](const AccumulatorTerm& t) { return is_read(t.factor); });
         });
}

Expr body_at_values(ExprBuilder& b, const Accumulator& a) {
  ExprMap values;
  for (Expr r : all_of_kind(a.body, ExprKind::reference)) values[r] = r->operands[0];
  return values.empty() ? a.body : b.substitute(a.body, values);
}

const Reduction* LoopPlan::find(Expr reduce) const {
  for (const Reduction& r : reductions)
    if (r.value == reduce) return &r;
  return nullptr;
}

}  // namespace tilewright::passes::fusion
