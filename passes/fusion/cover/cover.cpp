// Chooses loops, stores intermediate results and merges kernels.
#include "passes/fusion/cover/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "passes/fusion/cover/alternative.h"
#include "passes/fusion/cover/cost.h"
#include "passes/fusion/cover/merge_kernels.h"
#include "passes/fusion/cover/other_names.h"
#include "passes/fusion/cover/picked_values.h"
#include "passes/fusion/cover/read_stored.h"
#include "passes/fusion/cover/stored_values.h"
#include "passes/fusion/cover/strategies.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/expr/unique_bound_axes.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

class Coverer {
 public:
  Coverer(ExprBuilder& b, const ir::TargetDesc& target, const FusionOptions& options, int first)
      : b_(b),
        target_(target),
        options_(options),
        held_(b),
        stored_(b, held_, [this](Expr value) { return load_of(value); }),
        unique_bound_axes_(b),
        first_(first) {}

  std::vector<CoveredKernel> run(const std::vector<KernelOutput>& outputs) {
    divide(outputs, {}, {});
    std::vector<Expr> repeated = repeated_products(b_, kernels_);
    std::erase_if(repeated, [&](Expr product) { return started_.contains(product); });
    const std::vector<Expr> again = computed_again();
    if (!repeated.empty() || !again.empty()) store_first(repeated, again, outputs);
    std::vector<CoveredKernel> covered;
    for (ChosenKernel& k : in_order(std::move(kernels_)))
      covered.push_back(
          {std::move(*k.plan), std::move(k.tiling), std::move(k.proof), k.cost, k.cost.text() + (k.reason.empty() ? "" : "\n" + k.reason)});
    return covered;
  }

 private:
  // Chooses kernels for the outputs; the values `first` are stored in any case, and reductions that combine the values `read` read them.
  void divide(const std::vector<KernelOutput>& outputs, const std::vector<Expr>& first, const std::vector<Expr>& read) {
    for (const KernelOutput& o : outputs) know_output(o);
    ExprMap loads, parts;
    for (Expr v : first) loads[v] = load_of(v);
    for (Expr v : read) loads[v] = parts[v] = load_of(v);
    store_all(without_same(loads));
    for (KernelOutput o : outputs) {
      if (!parts.contains(o.value)) o.value = reduce_stored(b_, held_, o.value, parts);
      add(o);
    }
    std::set<Tensor> given;
    for (const KernelOutput& o : outputs) given.insert(o.tensor);
    merge_kernels(b_, kernels_, given, target_, options_);
  }

  // The values that kernels store, and that others compute again as parts of reductions: A p, where another kernel adds up p A p.
  std::vector<Expr> computed_again() {
    std::vector<Expr> again;
    for (const auto& [value, of_value] : loads_) {
      if (!started_.contains(value) || !value->is(ExprKind::reduce)) continue;
      const Expr load = of_value;
      const ExprMap stored{{value, load}};
      const bool is_again = std::any_of(kernels_.begin(), kernels_.end(), [&](const ChosenKernel& k) {
        const std::vector<KernelOutput>& all = k.plan->outputs;
        return std::any_of(all.begin(), all.end(), [&](const KernelOutput& o) {
          return o.tensor != load->tensor && reduce_stored(b_, held_, o.value, stored) != o.value;
        });
      });
      if (is_again) again.push_back(value);
    }
    std::sort(again.begin(), again.end(), by_key);
    return again;
  }

  // Each output has chosen for itself alone. If kernels with these products in memory take less time, or kernels that read what is in memory
  // anyway, they replace the others.
  void store_first(const std::vector<Expr>& products, const std::vector<Expr>& again, const std::vector<KernelOutput>& outputs) {
    std::vector<ChosenKernel> others = std::exchange(kernels_, {});
    alternatives_.clear();
    together_.clear();
    products_.clear();
    started_ = known_;
    try {
      divide(outputs, products, again);
      const auto seconds = [](const std::vector<ChosenKernel>& kernels) {
        return std::accumulate(kernels.begin(), kernels.end(), 0.0, [](double s, const ChosenKernel& k) { return s + k.cost.seconds; });
      };
      if ((products.empty() ? 1 : kOfStoring) * seconds(kernels_) >= seconds(others)) kernels_ = std::move(others);
    } catch (const PlanRefuted&) {
      kernels_ = std::move(others);
    }
  }

  // An output that contains a reduction, or that is a scan, is read from memory where another kernel needs its value. A piece of a
  // concatenation is not: other kernels write to the same tensor.
  void know_output(const KernelOutput& o) {
    if (o.is_piece) return;
    AxisSet axes;
    for (Expr i : o.index) {
      if (i->is_number(0)) continue;
      if (!i->is(ExprKind::index) || axes.contains(i->axis)) return;
      axes.insert(i->axis);
    }
    if (axes != o.value->axes || o.tensor->element != o.value->element) return;
    Expr value = o.value, load = b_.load(o.tensor, o.index);
    if (value->is(ExprKind::scan) && value->operands[1]->is(ExprKind::index)) {
      if (value->operands[1]->axis->extent != (*value->bound.begin())->extent) return;  // a slice of the scan
      value = stored_scan(b_, o.value);
      load = b_.substitute(load, {{o.value->operands[1], value->operands[1]}});
    } else if (!held_.holds_reduction(value)) {
      return;
    }
    if (loads_.emplace(value, load).second) known_.insert(value), started_.insert(value);
  }

  // ---- one output ----

  void add(KernelOutput output) {
    if (add_scans(output)) return;
    Alternative& choice = best_emitted(output);
    store_all(choice.stored);
    kernels_.push_back(chosen_kernel(std::move(*choice.plan), std::move(choice.tiling), choice.cost, std::move(choice.proof),
                                     std::move(choice.comparison)));
  }

  // The values that a kernel reads are computed before it. A value inside of another one comes first, and the other one may read it.
  void store_all(const ExprMap& stored) {
    std::vector<Expr> values = sorted_values(stored);
    std::erase_if(values, [&](Expr v) { return started_.contains(v); });
    while (!values.empty()) {
      const auto is_inside = [&](Expr v, Expr of) { return v != of && contains(of, v); };
      const auto next = std::find_if(values.begin(), values.end(), [&](Expr v) {
        return std::none_of(values.begin(), values.end(), [&](Expr inside) { return is_inside(inside, v); });
      });
      const Expr value = *next;
      values.erase(next);
      if (!started_.insert(value).second) continue;
      add(stored_output(value));
      for (Expr v : values)
        if (is_inside(value, v)) alternatives_.erase(loads_.at(v));
    }
  }

  // Scans run in kernels of their own, together with values that are computed element by element before and after them. A value whose scans
  // one loop computes is such a kernel: then the result is true. For other values, the scans are stored.
  bool add_scans(KernelOutput& output) {
    const std::optional<ScanLoop> loop = scan_loop({output.value});
    ExprMap stored;
    output.value = stored_.store_scans(output.value, loop.has_value(), stored);
    store_all(without_same(stored));
    if (!loop) return false;
    if (!scan_loop({output.value})) return add_scans(output);  // one scan of the loop is inside of another one, and is stored
    LoopPlan plan(b_, {output}, loop->axis);
    FittedTiling tiling = fit_tiling(b_, plan, choose_tiling(b_, plan, target_, options_), target_, options_);
    const KernelCost cost = estimate(plan, tiling, b_, target_, options_);
    ProofResult proof = check_by(options_, b_, plan);
    if (proof.is_refuted) throw PlanRefuted(proof.text);
    kernels_.push_back(chosen_kernel(std::move(plan), std::move(tiling), cost, std::move(proof), {}));
    return true;
  }

  KernelOutput stored_output(Expr value) const {
    const Expr load = loads_.at(value);
    return {load->tensor->name, value, load->tensor, load->operands};
  }

  // The alternative with the least estimated time, including the kernels that store what it reads: a dynamic program over the values.
  const Alternative& best(const KernelOutput& output) { return alternatives(output).front(); }

  // As best(), but for tiles that fit. Smaller tiles take longer, so an alternative that is still the best with the tiles that fit is the
  // best of all. An alternative whose plan fails its check is the worst.
  Alternative& best_emitted(const KernelOutput& output) {
    std::vector<Alternative>& all = alternatives(output);
    while (!all.front().is_emitted) {
      Alternative& first = all.front();
      first.proof = check_by(options_, b_, *first.plan);
      if (!first.proof.is_refuted && first.cost.fits) {
        first.tiling = fit_tiling(b_, *first.plan, std::move(first.tiling), target_, options_);
        first.cost = estimate(*first.plan, first.tiling, b_, target_, options_);
      }
      first.is_emitted = true;
      sort(all);
    }
    if (all.front().proof.is_refuted) throw PlanRefuted(all.front().proof.text);
    if (all.size() > 1) all[0].comparison = comparison(all[0], all[1]);
    return all.front();
  }

  // What reads an output, which identifies it: several outputs may be pieces of one tensor.
  Expr read_of(const KernelOutput& o) const { return b_.load(o.tensor, o.index); }

  // All alternatives, the best one first.
  std::vector<Alternative>& alternatives(const KernelOutput& output) {
    const Expr read = read_of(output);
    if (const auto known = alternatives_.find(read); known != alternatives_.end()) return known->second;
    std::vector<Alternative> all;
    for (Tried tried : {Tried::for_each_loop, Tried::if_storing}) add_with_each_loop(tried, output, all);
    for (Tried tried : {Tried::for_best_loop, Tried::if_none_fits}) add_with_best_loop(tried, output, all);
    sort(all);
    add_without_loop(output, all);
    return alternatives_.emplace(read, std::move(all)).first->second;
  }

  void add_with_each_loop(Tried tried, const KernelOutput& output, std::vector<Alternative>& all) {
    for (Axis loop : possible_loops(output))
      for (const Strategy& s : strategies()) {
        if (s.tried != tried) continue;
        ExprMap stored;
        const auto [rest, only_picks] = rest_of(s, output, loop, stored);
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
  std::vector<Axis> possible_loops(const KernelOutput& output) const {
    AxisSet contiguous;
    for (Expr load : loads_of({output}))
      for (Axis a : contiguous_axes(b_, load->tensor, load->operands)) contiguous.insert(a);
    std::vector<Axis> loops = bound_axes({output});
    if (!target_.is_gpu()) std::stable_partition(loops.begin(), loops.end(), [&](Axis a) { return !contiguous.contains(a); });
    if (loops.empty()) loops.push_back(nullptr);
    return loops;
  }

  void add_with_best_loop(Tried tried, const KernelOutput& output, std::vector<Alternative>& all) {
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

  struct Rest {
    KernelOutput output;
    bool only_picks;  // its sums picked elements of what is stored, so that no loop is left
  };
  // What the kernel of an output computes if other kernels store what the strategy says.
  Rest rest_of(const Strategy& s, const KernelOutput& output, Axis loop, ExprMap& stored) {
    KernelOutput rest = output;
    const Expr value = reduce_stored(b_, held_, s.transform(stored_, output.value, loop, stored), stored);
    rest.value = stored.empty() ? value : read_picked(b_, held_, value);
    stored = without_same(stored);
    TW_CHECK(!stored.contains(output.value), fmt::format("fusion: the strategy '{}' stores all of an output", s.name));
    const bool only_picks = rest.value != value && bound_axes({rest}).empty();
    return {std::move(rest), only_picks};
  }

  // Adds the alternatives of a strategy. rest: what its kernel computes; best: its plan, if it is known.
  void add_refined(const Strategy& s, KernelOutput rest, Axis loop, std::optional<LoopPlan> best, const ExprMap& stored,
                   std::vector<Alternative>& all) {
    using Kind = Refinement::Kind;
    const Expr value = rest.value;
    for (const Refinement& r : refinements()) {
      if (r.kind == Kind::stores && (!loop || best)) continue;
      ExprMap all_stored = stored;
      rest.value = r.transform(stored_, unique_bound_axes_, value, loop, all_stored);
      if (r.kind == Kind::stores) rest.value = read_picked(b_, held_, reduce_stored(b_, held_, rest.value, all_stored));
      all_stored = without_same(all_stored);
      if (r.kind == Kind::stores && (all_stored.size() == stored.size() || reductions_over(loop, {rest}).empty())) continue;
      if (r.kind == Kind::renames && rest.value == value) continue;
      std::string name(s.name);
      if (!r.name.empty()) name += fmt::format(", {}", r.name);
      LoopPlan plan = r.kind == Kind::none && best ? std::move(*best) : LoopPlan(b_, {rest}, loop);
      all.push_back(estimate_alternative(std::move(name), std::move(plan), std::move(all_stored)));
    }
  }

  // Programs repeat a reduction that runs along an axis of the output, or that lacks one: each reads all of what is reduced, or part of it in
  // further passes. What is left if these reductions are stored can have any number of programs, and has no loop unless it has a product. Sums
  // beside products of the same loop cost little.
  void add_without_loop(const KernelOutput& output, std::vector<Alternative>& all) {
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
      stored = without_same(stored);
      // A product that is computed from what is stored needs a loop.
      LoopPlan plan = bound_axes({rest}).empty() ? LoopPlan(b_, {rest}, nullptr) : best_plan(b_, {rest});
      all.push_back(estimate_alternative(std::string(s.name), std::move(plan), std::move(stored)));
    }
    sort(all);
  }

  void sort(std::vector<Alternative>& all) const {
    double least = HUGE_VAL;  // seconds, if symbols are large
    for (const Alternative& a : all)
      if (!a.proof.is_refuted && a.cost.fits) least = std::min(least, a.seconds_if_large());
    const auto explodes = [&](const Alternative& a) { return a.cost.repeats_most() || a.seconds_if_large() > kMostGrowth * least; };
    const auto is_better = [&](const Alternative& a, const Alternative& c) {
      const auto weighted = [&](const Alternative& x) { return x.seconds() * (stores_more(x.stored) ? kOfStoring : 1); };
      return std::tuple(a.proof.is_refuted, !a.cost.fits, explodes(a), weighted(a)) <
             std::tuple(c.proof.is_refuted, !c.cost.fits, explodes(c), weighted(c));
    };
    std::stable_sort(all.begin(), all.end(), is_better);
  }

  // Whether storing these values needs memory that is not allocated yet. Single elements do not count.
  bool stores_more(const ExprMap& stored) const {
    return std::any_of(stored.begin(), stored.end(), [&](const auto& s) { return started_.count(s.first) == 0 && !s.first->axes.empty(); });
  }

  Alternative estimate_alternative(std::string strategy, LoopPlan plan, ExprMap stored) {
    Alternative a;
    a.strategy = std::move(strategy);
    a.tiling = {choose_tiling(b_, plan, target_, options_), {}};
    a.cost = estimate(plan, a.tiling, b_, target_, options_);
    a.of_stored = seconds_to_store(stored);
    a.stored = std::move(stored);
    a.plan.emplace(std::move(plan));
    return a;
  }

  // The seconds of all kernels that run before. Each value is stored once, however many kernels read it. Kernels of values with a common
  // product become one, so that their products count once. A value joins the first kernel that takes less time with it.
  Seconds seconds_to_store(const ExprMap& stored) {
    struct Kernel {
      std::vector<Expr> values;
      Axis loop;
      Seconds seconds;
    };
    ExprMap all;
    const std::function<void(const ExprMap&)> collect = [&](const ExprMap& values) {
      for (const auto& [value, load] : values)
        if (started_.count(value) == 0 && all.emplace(value, load).second) collect(best(stored_output(value)).stored);
    };
    collect(stored);
    std::vector<Kernel> kernels;
    for (Expr v : sorted_values(all)) {
      const Alternative& own = best(stored_output(v));
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
  std::optional<Seconds> seconds_together(const std::vector<Expr>& values, Expr more, Axis loop) {
    const std::vector<Expr>& own = products_of(more);
    const auto has_common = [&](Expr v) {
      const std::vector<Expr>& others = products_of(v);
      return std::find_first_of(own.begin(), own.end(), others.begin(), others.end()) != own.end();
    };
    if (std::none_of(values.begin(), values.end(), has_common)) return std::nullopt;
    std::vector<Tensor> all{loads_.at(more)->tensor};
    for (Expr v : values) all.push_back(loads_.at(v)->tensor);
    if (const auto known = together_.find(all); known != together_.end()) return known->second;
    std::vector<KernelOutput> first;
    for (Expr v : values) first.push_back(best(stored_output(v)).plan->outputs[0]);
    const std::optional<MergedPlan> merged =
        merged_plan(b_, held_, first, best(stored_output(more)).plan->outputs, {loop}, {}, target_, options_);
    return together_[all] = merged ? std::optional(Seconds(merged->cost)) : std::nullopt;
  }

  // The products that the kernel of a stored value computes.
  const std::vector<Expr>& products_of(Expr value) {
    if (const auto known = products_.find(value); known != products_.end()) return known->second;
    std::vector<Expr> products = reductions_over(nullptr, best(stored_output(value)).plan->outputs);
    std::erase_if(products, [&](Expr r) { return !is_product(r, b_); });
    return products_.emplace(value, std::move(products)).first->second;
  }

  // If several of the values are the same value along different axes, one of them is stored.
  ExprMap without_same(const ExprMap& stored) {
    ExprMap once;
    for (const auto& [value, load] : stored) {
      const auto other = same_.find(value);
      const Expr one = other == same_.end() ? value : other->second;
      once.emplace(one, loads_.at(one));
    }
    return once;
  }

  Expr load_of(Expr value) {
    if (const auto known = loads_.find(value); known != loads_.end()) return known->second;
    for (const SwappedAxes& swapped : swappable_axes(b_.pool(), value)) {
      const Expr other = with_swapped(b_, value, swapped);
      const auto known = loads_.find(other);
      if (known == loads_.end() || same_.contains(other)) continue;
      same_.emplace(value, other);
      return loads_[value] = with_swapped(b_, known->second, {swapped.other, swapped.own});
    }
    std::string name = fmt::format("t{}", static_cast<std::size_t>(first_) + loads_.size());
    while (b_.pool().find_tensor(name)) name += "_";
    const Expr load = add_stored_tensor(b_, value, value->element, std::move(name));
    loads_[value] = load;
    return load;
  }

  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  const FusionOptions& options_;
  ContainedReductions held_;
  StoredValues stored_;
  UniqueBoundAxes unique_bound_axes_;
  const int first_;  // number of the first intermediate result
  ExprMap loads_;
  ExprSet known_;  // what outputs store
  ExprMap same_;   // values that are stored along other axes
  ExprSet started_;
  std::unordered_map<Expr, std::vector<Alternative>, ExprHash> alternatives_;  // to compute an output, by what reads it
  std::map<std::vector<Tensor>, std::optional<Seconds>> together_;             // seconds of one kernel for all of these tensors
  std::unordered_map<Expr, std::vector<Expr>, ExprHash> products_;
  std::vector<ChosenKernel> kernels_;
};

}  // namespace

std::vector<CoveredKernel> cover(ExprBuilder& b, const std::vector<KernelOutput>& outputs, const ir::TargetDesc& target,
                                 const FusionOptions& options, int first) {
  return Coverer(b, target, options, first).run(outputs);
}

bool takes_less(const std::vector<CoveredKernel>& kernels, const std::vector<CoveredKernel>& others) {
  const auto fits = [](const CoveredKernel& k) { return k.cost.fits; };
  const auto seconds = [](const std::vector<CoveredKernel>& all) {
    Seconds sum;
    for (const CoveredKernel& k : all) sum += Seconds(k.cost);
    return sum;
  };
  const Seconds own = seconds(kernels), other = seconds(others);
  return std::all_of(kernels.begin(), kernels.end(), fits) && own.typical < other.typical && own.if_large < other.if_large;
}

}  // namespace tilewright::passes::fusion
