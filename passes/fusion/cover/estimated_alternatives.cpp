// Estimates the kernels of each strategy and loop, and the kernels that store values for them.
#include "passes/fusion/cover/estimated_alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "passes/fusion/cover/merge_kernels.h"
#include "passes/fusion/cover/picked_values.h"
#include "passes/fusion/cover/read_stored.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

// The expression that reads an output. It identifies the output: several outputs may be pieces of one tensor.
Expr read_of(ExprBuilder& b, const KernelOutput& o) { return b.load(o.tensor, o.index); }

}  // namespace

Alternative EstimatedAlternatives::take_best_emitted(const KernelOutput& output) {
  std::vector<Alternative>& all = alternatives(output);
  while (!all.front().is_emitted) {
    Alternative& first = all.front();
    first.proof = check_by(check_, b_, *first.plan);
    if (!first.proof.is_refuted && first.cost.fits) {
      first.tiling = fit_tiling(b_, *first.plan, std::move(first.tiling), target_, options_);
      first.cost = estimate(*first.plan, first.tiling, b_, target_, options_);
    }
    first.is_emitted = true;
    sort(all);
  }
  if (all.front().proof.is_refuted) throw PlanRefuted(all.front().proof.text);
  if (all.size() > 1) all[0].comparison = comparison(all[0], all[1]);
  Alternative taken = std::move(all.front());
  alternatives_.erase(read_of(b_, output));
  return taken;
}

std::vector<Alternative>& EstimatedAlternatives::alternatives(const KernelOutput& output) {
  const Expr read = read_of(b_, output);
  if (const auto known = alternatives_.find(read); known != alternatives_.end()) return known->second;
  std::vector<Alternative> all;
  for (Tried tried : {Tried::for_each_loop, Tried::if_storing}) add_with_each_loop(tried, output, all);
  for (Tried tried : {Tried::for_best_loop, Tried::if_none_fits}) add_with_best_loop(tried, output, all);
  sort(all);
  add_without_loop(output, all);
  return alternatives_.emplace(read, std::move(all)).first->second;
}

void EstimatedAlternatives::add_with_each_loop(Tried tried, const KernelOutput& output, std::vector<Alternative>& all) {
  struct Divided {
    Rest rest;
    ExprMap stored;
  };
  std::map<const Strategy*, Divided> of_any_loop;  // by strategies that do not use the loop
  const auto divided = [&](const Strategy& s, Axis loop) {
    if (!s.uses_loop)
      if (const auto known = of_any_loop.find(&s); known != of_any_loop.end()) return known->second;
    Divided d;
    d.rest = rest_of(s, output, loop, d.stored);
    if (!s.uses_loop) of_any_loop.emplace(&s, d);
    return d;
  };
  for (Axis loop : possible_loops(output))
    for (const Strategy& s : strategies()) {
      if (s.tried != tried) continue;
      const auto [whole, stored] = divided(s, loop);
      const auto& [rest, only_picks] = whole;
      if (tried == Tried::if_storing && stored.empty()) continue;
      const Axis left = only_picks ? nullptr : loop;
      if (left && reductions_over(left, {rest}).empty()) continue;
      const bool is_known =
          std::any_of(all.begin(), all.end(), [&](const Alternative& a) { return a.plan->loop == left && a.stored == stored; });
      if (tried == Tried::for_each_loop && is_known) continue;
      add_refined(s, rest, left, std::nullopt, stored, all);
    }
}

// The first of the loops that take equally long is chosen. On a host those beside which memory is contiguous come first, so that whole rows
// are read.
std::vector<Axis> EstimatedAlternatives::possible_loops(const KernelOutput& output) const {
  AxisSet contiguous;
  for (Expr load : loads_of({output}))
    for (Axis a : contiguous_axes(b_, load->tensor, load->operands)) contiguous.insert(a);
  std::vector<Axis> loops = bound_axes({output});
  if (!target_.is_gpu()) std::stable_partition(loops.begin(), loops.end(), [&](Axis a) { return !contiguous.contains(a); });
  if (loops.empty()) loops.push_back(nullptr);
  return loops;
}

void EstimatedAlternatives::add_with_best_loop(Tried tried, const KernelOutput& output, std::vector<Alternative>& all) {
  if (tried == Tried::if_none_fits && std::any_of(all.begin(), all.end(), [](const Alternative& a) { return a.cost.fits; })) return;
  for (const Strategy& s : strategies()) {
    if (s.tried != tried) continue;
    ExprMap stored;
    const KernelOutput rest = rest_of(s, output, nullptr, stored).output;
    if (stored.empty()) continue;
    LoopPlan plan = best_plan(b_, {rest});
    const Axis loop = plan.loop;
    add_refined(s, rest, loop, std::move(plan), stored, all);
  }
}

// What the kernel of an output computes if other kernels store what the strategy says.
EstimatedAlternatives::Rest EstimatedAlternatives::rest_of(const Strategy& s, const KernelOutput& output, Axis loop, ExprMap& stored) {
  KernelOutput rest = output;
  const Expr value = reduce_stored(b_, held_, s.transform(stored_, output.value, loop, stored), stored);
  rest.value = stored.empty() ? value : read_picked(b_, held_, value);
  stored = tensors_.without_same(stored);
  TW_CHECK(!stored.contains(output.value), fmt::format("fusion: the strategy '{}' stores all of an output", s.name));
  const bool only_picks = rest.value != value && bound_axes({rest}).empty();
  return {std::move(rest), only_picks};
}

// Adds the alternatives of a strategy. rest: what its kernel computes; best: its plan, if it is known.
void EstimatedAlternatives::add_refined(const Strategy& s, KernelOutput rest, Axis loop, std::optional<LoopPlan> best,
                                        const ExprMap& stored, std::vector<Alternative>& all) {
  using Kind = Refinement::Kind;
  const Expr value = rest.value;
  for (const Refinement& r : refinements()) {
    if (r.kind == Kind::stores && (!loop || best)) continue;
    ExprMap all_stored = stored;
    rest.value = r.transform(stored_, unique_bound_axes_, value, loop, all_stored);
    if (r.kind == Kind::stores) rest.value = read_picked(b_, held_, reduce_stored(b_, held_, rest.value, all_stored));
    all_stored = tensors_.without_same(all_stored);
    if (r.kind == Kind::stores && (all_stored.size() == stored.size() || reductions_over(loop, {rest}).empty())) continue;
    if (r.kind == Kind::renames && rest.value == value) continue;
    std::string name(s.name);
    if (!r.name.empty()) name += fmt::format(", {}", r.name);
    // Another strategy may have left the same to the kernel.
    const auto same = std::find_if(all.begin(), all.end(), [&](const Alternative& a) {
      return a.plan->loop == loop && a.plan->outputs[0].value == rest.value && a.stored == all_stored;
    });
    if (same != all.end()) {
      Alternative copy = *same;
      copy.strategy = std::move(name);
      all.push_back(std::move(copy));
      continue;
    }
    LoopPlan plan = r.kind == Kind::none && best ? std::move(*best) : LoopPlan(b_, {rest}, loop);
    all.push_back(estimate_alternative(std::move(name), std::move(plan), std::move(all_stored)));
  }
}

// Programs repeat a reduction that runs along an axis of the output, or that lacks one: each reads all of what is reduced, or a part of it
// in further passes. If these reductions are stored, the rest can have any number of programs, and has no loop unless it has a product.
// Sums beside products of the same loop cost little.
void EstimatedAlternatives::add_without_loop(const KernelOutput& output, std::vector<Alternative>& all) {
  const Alternative& best = all.front();
  if (!best.plan->loop || (best.cost.fits && best.plan->passes == 1 && best.cost.reread_bytes == 0)) return;
  const std::vector<Expr> reductions = reductions_over(nullptr, {output});
  const bool has_product = std::any_of(reductions.begin(), reductions.end(), [&](Expr r) { return is_product(r, b_); });
  const bool is_repeated = std::any_of(reductions.begin(), reductions.end(), [&](Expr r) {
    return output.value->axes.intersects(r->bound) || (!has_product && !r->axes.contains(output.value->axes));
  });
  if (!is_repeated) return;
  for (const Strategy& s : strategies()) {
    if (s.tried != Tried::if_read_again) continue;
    ExprMap stored;
    KernelOutput rest = output;
    rest.value = read_picked(b_, held_, s.transform(stored_, output.value, nullptr, stored));
    if (stored.empty()) continue;
    stored = tensors_.without_same(stored);
    // A product that is computed from what is stored needs a loop.
    LoopPlan plan = bound_axes({rest}).empty() ? LoopPlan(b_, {rest}, nullptr) : best_plan(b_, {rest});
    all.push_back(estimate_alternative(std::string(s.name), std::move(plan), std::move(stored)));
  }
  sort(all);
}

void EstimatedAlternatives::sort(std::vector<Alternative>& all) {
  double fastest = HUGE_VAL;  // seconds, if symbols are large
  for (const Alternative& a : all)
    if (!a.proof.is_refuted && a.cost.fits) fastest = std::min(fastest, a.seconds_if_large());
  const auto explodes = [&](const Alternative& a) { return a.cost.repeats_most() || a.seconds_if_large() > kMostGrowth * fastest; };
  const auto is_better = [&](const Alternative& a, const Alternative& c) {
    const auto weighted = [&](const Alternative& x) { return x.seconds() * (stores_more(x.stored) ? kOfStoring : 1); };
    return std::tuple(a.proof.is_refuted, !a.cost.fits, explodes(a), weighted(a)) <
           std::tuple(c.proof.is_refuted, !c.cost.fits, explodes(c), weighted(c));
  };
  std::stable_sort(all.begin(), all.end(), is_better);
  const double factor = step_by_step_.contains(all.front().plan->outputs[0].tensor) ? 1 : kOfStoring;
  const Alternative& own = least(all);
  if (explodes(own) || all.front().seconds() <= factor * own.least_seconds()) return;
  const auto at = all.begin() + (&own - all.data());
  std::rotate(all.begin(), at, at + 1);
  store_step_by_step(all.front());
}

// The alternative that takes the least time if the values that it reads do.
const Alternative& EstimatedAlternatives::least(const std::vector<Alternative>& all) {
  const auto seconds = [](const Alternative& a) {
    return std::tuple(a.proof.is_refuted, !a.cost.fits, a.cost.repeats_most(), a.least_seconds());
  };
  return *std::ranges::min_element(all, {}, seconds);
}

// Each value of a chain may take a little less time if it computes all that come before it than if it reads the one before, and the last one
// then takes many times as long as if each was stored. So the values that this alternative reads are computed in their least time.
void EstimatedAlternatives::store_step_by_step(Alternative& a) {
  a.of_stored.typical = a.least_of_stored;
  for (const auto& [value, load] : a.stored) {
    if (!step_by_step_.insert(load->tensor).second) continue;
    if (const auto known = alternatives_.find(load); known != alternatives_.end()) sort(known->second);
  }
}

// The seconds of the kernels that store these values, and those that they read, if each is computed in its least time.
double EstimatedAlternatives::least_seconds_to_store(const ExprMap& stored) {
  double seconds = 0;
  ExprSet seen;
  std::vector<const ExprMap*> todo{&stored};
  while (!todo.empty()) {
    const ExprMap& values = *todo.back();
    todo.pop_back();
    for (const auto& [value, load] : values) {
      if (tensors_.is_started(value) || !seen.insert(value).second) continue;
      const Alternative& own = least(alternatives(tensors_.output_of(value)));
      seconds += own.cost.seconds;
      todo.push_back(&own.stored);
    }
  }
  return seconds;
}

// Whether storing these values needs memory that is not allocated yet. Single elements do not count.
bool EstimatedAlternatives::stores_more(const ExprMap& stored) const {
  return std::any_of(stored.begin(), stored.end(), [&](const auto& s) { return !tensors_.is_started(s.first) && !s.first->axes.empty(); });
}

Alternative EstimatedAlternatives::estimate_alternative(std::string strategy, LoopPlan plan, ExprMap stored) {
  Alternative a;
  a.strategy = std::move(strategy);
  a.tiling = {choose_tiling(b_, plan, target_, options_), {}};
  a.cost = estimate(plan, a.tiling, b_, target_, options_);
  a.of_stored = seconds_to_store(stored);
  a.least_of_stored = least_seconds_to_store(stored);
  a.stored = std::move(stored);
  a.plan.emplace(std::move(plan));
  return a;
}

// The seconds of all kernels that run before. Each value is stored once, however many kernels read it. Kernels of values with a common
// product become one, so that their products count once. A value joins the first kernel that takes less time with it.
Seconds EstimatedAlternatives::seconds_to_store(const ExprMap& stored) {
  struct Kernel {
    std::vector<Expr> values;
    Axis loop;
    Seconds seconds;
  };
  ExprMap all;
  const std::function<void(const ExprMap&)> collect = [&](const ExprMap& values) {
    for (const auto& [value, load] : values)
      if (!tensors_.is_started(value) && all.emplace(value, load).second) collect(best(tensors_.output_of(value)).stored);
  };
  collect(stored);
  std::vector<Kernel> kernels;
  for (Expr v : sorted_values(all)) {
    const Alternative& own = best(tensors_.output_of(v));
    const auto joined = std::find_if(kernels.begin(), kernels.end(), [&](Kernel& k) {
      if (k.loop != own.plan->loop || !own.plan->scans.empty()) return false;
      const std::optional<Seconds> together = seconds_together(k.values, v, k.loop);
      if (!together || together->typical >= k.seconds.typical + own.cost.seconds) return false;
      k.seconds = *together;
      k.values.push_back(v);
      return true;
    });
    if (joined == kernels.end()) kernels.push_back({{v}, own.plan->loop, Seconds(own.cost)});
  }
  Seconds seconds;
  for (const Kernel& k : kernels) seconds += k.seconds;
  return seconds;
}

// The time of one kernel for the values, if they have a common product.
std::optional<Seconds> EstimatedAlternatives::seconds_together(const std::vector<Expr>& values, Expr more, Axis loop) {
  const std::vector<Expr>& own = products_of(more);
  const auto has_common = [&](Expr v) {
    const std::vector<Expr>& others = products_of(v);
    return std::find_first_of(own.begin(), own.end(), others.begin(), others.end()) != own.end();
  };
  if (std::none_of(values.begin(), values.end(), has_common)) return std::nullopt;
  std::vector<Tensor> all{tensors_.known_load_of(more)->tensor};
  for (Expr v : values) all.push_back(tensors_.known_load_of(v)->tensor);
  if (const auto known = together_.find(all); known != together_.end()) return known->second;
  std::vector<KernelOutput> first;
  for (Expr v : values) first.push_back(best(tensors_.output_of(v)).plan->outputs[0]);
  const std::optional<MergedPlan> merged =
      merged_plan(b_, held_, first, best(tensors_.output_of(more)).plan->outputs, {loop}, {}, target_, options_);
  return together_[all] = merged ? std::optional(Seconds(merged->cost)) : std::nullopt;
}

// The products that the kernel of a stored value computes.
const std::vector<Expr>& EstimatedAlternatives::products_of(Expr value) {
  if (const auto known = products_.find(value); known != products_.end()) return known->second;
  std::vector<Expr> products = reductions_over(nullptr, best(tensors_.output_of(value)).plan->outputs);
  std::erase_if(products, [&](Expr r) { return !is_product(r, b_); });
  return products_.emplace(value, std::move(products)).first->second;
}

}  // namespace tilewright::passes::fusion
