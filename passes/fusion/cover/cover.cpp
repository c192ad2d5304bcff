// Chooses loops, stores intermediate results and merges kernels.
#include "passes/fusion/cover/cover.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "passes/fusion/cover/estimated_alternatives.h"
#include "passes/fusion/cover/merge_kernels.h"
#include "passes/fusion/cover/read_stored.h"
#include "passes/fusion/cover/stored_values.h"
#include "passes/fusion/cover/value_tensors.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

class Coverer {
 public:
  Coverer(ExprBuilder& b, const ir::TargetDesc& target, const FusionOptions& options, const PlanCheck& check, int first)
      : b_(b),
        target_(target),
        options_(options),
        check_(check),
        held_(b),
        tensors_(b, held_, first),
        stored_(b, held_, [this](Expr value) { return tensors_.load_of(value); }),
        alternatives_(b, target, options, check, held_, stored_, tensors_) {}

  std::vector<CoveredKernel> run(const std::vector<KernelOutput>& outputs) {
    divide(outputs, {}, {});
    std::vector<Expr> repeated = repeated_products(b_, kernels_);
    std::erase_if(repeated, [&](Expr product) { return tensors_.is_started(product); });
    const std::vector<Expr> again = computed_again();
    if (!repeated.empty() || !again.empty()) store_first(repeated, again, outputs);
    std::vector<CoveredKernel> covered;
    for (ChosenKernel& k : in_order(std::move(kernels_))) {
      std::string text = options_.batch_invariant ? estimate_text(*k.plan, k.tiling, b_, target_, options_) : k.cost.text();
      if (!k.reason.empty()) text += "\n" + k.reason;
      covered.push_back({std::move(*k.plan), std::move(k.tiling), std::move(k.proof), k.cost, std::move(text)});
    }
    return covered;
  }

 private:
  // Chooses kernels for the outputs; the values `first` are stored in any case, and reductions that combine the values `read` read them.
  void divide(const std::vector<KernelOutput>& outputs, const std::vector<Expr>& first, const std::vector<Expr>& read) {
    for (const KernelOutput& o : outputs) tensors_.know_output(o);
    ExprMap loads, parts;
    for (Expr v : first) loads[v] = tensors_.load_of(v);
    for (Expr v : read) loads[v] = parts[v] = tensors_.load_of(v);
    add_read(loads);
    store_all(tensors_.without_same(loads));
    for (KernelOutput o : outputs) {
      if (!parts.contains(o.value)) o.value = reduce_stored(b_, held_, o.value, parts);
      add(o);
    }
    std::set<Tensor> given;
    for (const KernelOutput& o : outputs) given.insert(o.tensor);
    merge_kernels(b_, kernels_, given, target_, options_, check_);
  }

  // Adds the stored values that these values read, and that have no kernel yet: kernels of the first choice had stored them.
  void add_read(ExprMap& loads) const {
    std::vector<Expr> todo = sorted_values(loads);
    while (!todo.empty()) {
      const Expr reader = todo.back();
      todo.pop_back();
      for (Expr read : loads_of({tensors_.output_of(reader)}))
        for (const auto& [value, load] : tensors_.all())
          if (load->tensor == read->tensor && !tensors_.is_started(value) && loads.emplace(value, load).second) todo.push_back(value);
    }
  }

  // The values that kernels store, and that others compute again as parts of reductions: A p, where another kernel adds up p A p.
  std::vector<Expr> computed_again() {
    std::vector<Expr> again;
    for (const auto& [value, of_value] : tensors_.all()) {
      if (!tensors_.is_started(value) || !value->is(ExprKind::reduce)) continue;
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
    alternatives_.forget_all();
    tensors_.restart();
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

  // ---- one output ----

  void add(KernelOutput output) {
    if (add_scans(output)) return;
    Alternative choice = alternatives_.take_best_emitted(output);
    store_all(choice.stored);
    kernels_.push_back(chosen_kernel(std::move(*choice.plan), std::move(choice.tiling), choice.cost, std::move(choice.proof),
                                     std::move(choice.comparison)));
  }

  // The values that a kernel reads are computed before it. A value inside of another one comes first, and the other one may read it.
  void store_all(const ExprMap& stored) {
    std::vector<Expr> values = sorted_values(stored);
    std::erase_if(values, [&](Expr v) { return tensors_.is_started(v); });
    while (!values.empty()) {
      const auto is_inside = [&](Expr v, Expr of) { return v != of && contains(of, v); };
      const auto next = std::find_if(values.begin(), values.end(), [&](Expr v) {
        return std::none_of(values.begin(), values.end(), [&](Expr inside) { return is_inside(inside, v); });
      });
      const Expr value = *next;
      values.erase(next);
      if (!tensors_.start(value)) continue;
      add(tensors_.output_of(value));
      for (Expr v : values)
        if (is_inside(value, v)) alternatives_.forget(tensors_.known_load_of(v));
    }
  }

  // Scans run in kernels of their own, together with values that are computed element by element before and after them. A value whose scans
  // one loop computes is such a kernel: then the result is true. For other values, the scans are stored.
  bool add_scans(KernelOutput& output) {
    const std::optional<ScanLoop> loop = scan_loop({output.value});
    ExprMap stored;
    output.value = stored_.store_scans(output.value, loop.has_value(), stored);
    store_all(tensors_.without_same(stored));
    if (!loop) return false;
    if (!scan_loop({output.value})) return add_scans(output);  // one scan of the loop is inside of another one, and is stored
    LoopPlan plan(b_, {output}, loop->axis);
    FittedTiling tiling = fit_tiling(b_, plan, choose_tiling(b_, plan, target_, options_), target_, options_);
    const KernelCost cost = estimate(plan, tiling, b_, target_, options_);
    ProofResult proof = check_by(check_, b_, plan);
    if (proof.is_refuted) throw PlanRefuted(proof.text);
    kernels_.push_back(chosen_kernel(std::move(plan), std::move(tiling), cost, std::move(proof), {}));
    return true;
  }

  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  const FusionOptions& options_;
  const PlanCheck& check_;
  ContainedReductions held_;
  ValueTensors tensors_;
  StoredValues stored_;
  EstimatedAlternatives alternatives_;
  std::vector<ChosenKernel> kernels_;
};

}  // namespace

std::vector<CoveredKernel> cover(ExprBuilder& b, const std::vector<KernelOutput>& outputs, const ir::TargetDesc& target,
                                 const FusionOptions& options, int first, const PlanCheck& check) {
  return Coverer(b, target, options, check, first).run(outputs);
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
