// Tries to merge kernels, and estimates the time of one kernel for all of them.
#include "passes/fusion/cover/merge_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/footprint.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

std::set<Tensor> tensors_read(const std::vector<KernelOutput>& outputs) {
  std::set<Tensor> tensors;
  for (Expr e : loads_of(outputs)) tensors.insert(e->tensor);
  return tensors;
}

bool have_common(const std::set<Tensor>& reads, const std::set<Tensor>& others) {
  return std::any_of(reads.begin(), reads.end(), [&](Tensor t) { return !t->is_scalar && others.count(t) != 0; });
}

bool reads_from(const ChosenKernel& k, const ChosenKernel& other) {
  return std::any_of(other.plan->outputs.begin(), other.plan->outputs.end(),
                     [&](const KernelOutput& o) { return k.reads.count(o.tensor) != 0; });
}

// Whether merging does not reduce the number of programs: it does if each kernel varies along an axis of the grid that the other one lacks.
bool share_programs(const LoopPlan& merged, const std::vector<KernelOutput>& first, const std::vector<KernelOutput>& second) {
  const auto tiled = [&](const KernelOutput& o) { return o.value->axes.common(merged.programs.grid).without(merged.programs.payload); };
  for (const KernelOutput& x : first)
    for (const KernelOutput& y : second)
      if (!tiled(x).contains(tiled(y)) && !tiled(y).contains(tiled(x))) return false;
  return true;
}

// The loop axis of the scans of all outputs, if no output computes a scan again for further rows; null if there is none.
Axis common_scan_axis(const std::vector<KernelOutput>& outputs) {
  std::vector<Expr> values;
  for (const KernelOutput& o : outputs) values.push_back(o.value);
  const bool is_alike = std::all_of(values.begin(), values.end(), [&](Expr v) { return v->axes == values[0]->axes; });
  const std::optional<ScanLoop> loop = is_alike ? scan_loop(values) : std::nullopt;
  return loop ? loop->axis : nullptr;
}

std::string merging_text(std::size_t kernels, double times_as_long) {
  const bool is_pair = kernels == 2;
  return fmt::format("strategy: one kernel in place of {}\nnext best: {} kernels instead, {:.2f} times as long",
                     is_pair ? "two" : "several", is_pair ? "two" : std::to_string(kernels), times_as_long);
}

// Whether each output has a reduction over the loop's axis, or is computed element by element, which is possible in any loop.
bool is_loop_of(ContainedReductions& held, const std::vector<KernelOutput>& outputs, Axis loop) {
  return std::all_of(outputs.begin(), outputs.end(), [&](const KernelOutput& o) {
    return !held.holds_reduction(o.value) || (loop && !reductions_over(loop, {o}).empty());
  });
}

class Merger {
 public:
  Merger(ExprBuilder& b, std::vector<ChosenKernel>& kernels, const std::set<Tensor>& given, const ir::TargetDesc& target,
         const FusionOptions& options, const PlanCheck& check)
      : b_(b), kernels_(kernels), given_(given), target_(target), options_(options), check_(check), held_(b) {}

  void run() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) grow(i);
  }

 private:
  // Merges the kernels of the window after kernel i with it, round by round, until none of them fits. Each attempt plans, checks and emits
  // the whole merged kernel. So the number of kernels that are tried at once doubles as long as attempts succeed, and halves after one
  // fails: a kernel of n outputs takes log(n) attempts.
  void grow(std::size_t i) {
    const auto end = [&] { return std::min(kernels_.size(), i + kMergeWindow); };
    bool is_doubling = true;
    std::size_t at_once = 1, refused = 0;  // refused: kernels in a row, since kernel i has grown
    for (std::size_t j = i + 1; i + 1 + refused < end();) {
      if (j >= end()) j = i + 1;
      const std::size_t count = alike_from(j, at_once);
      if (try_merge(i, j, count)) {
        refused = 0;
        if (is_doubling) at_once *= 2;
      } else if (count > 1) {
        at_once = count / 2;
        is_doubling = false;
      } else {
        ++refused, ++j;
      }
    }
  }

  // The number of kernels from j on, at most `most`, that have the loop and the grid of kernel j and take as long: merging helps all of
  // them or none.
  std::size_t alike_from(std::size_t j, std::size_t most) const {
    const ChosenKernel& first = kernels_[j];
    const auto is_alike = [&](const ChosenKernel& k) {
      return k.plan->loop == first.plan->loop && k.plan->programs.grid == first.plan->programs.grid && k.plan->scans.empty() &&
             first.plan->scans.empty() && k.cost.seconds == first.cost.seconds;
    };
    std::size_t count = 1;
    while (count < most && j + count < kernels_.size() && is_alike(kernels_[j + count])) ++count;
    return count;
  }

  // Merges `count` kernels from j on with kernel i, if one kernel takes less time than all of them.
  bool try_merge(std::size_t i, std::size_t j, std::size_t count) {
    const ChosenKernel &a = kernels_[i], &c = kernels_[j];
    std::vector<KernelOutput> first = a.plan->outputs, second;
    double apart = a.cost.seconds;
    for (std::size_t k = j; k < j + count; ++k) {
      second.insert(second.end(), kernels_[k].plan->outputs.begin(), kernels_[k].plan->outputs.end());
      apart += kernels_[k].cost.seconds;
    }
    if (first.size() + second.size() > kMostMergedOutputs) return false;
    bool is_reader = false;
    if (count > 1) {
      if (!are_independent(i, j, count)) return false;
    } else if (waits(j, i)) {
      is_reader = is_only_reader(j, i) && compute_again(second, first);
      if (!is_reader) return false;
    } else if (waits(i, j)) {
      is_reader = is_only_reader(i, j) && compute_again(first, second);
      if (!is_reader) return false;
    }
    const std::set<Tensor> reads = is_reader ? tensors_read(first) : a.reads;
    for (std::size_t k = j; k < j + count; ++k)
      if (!have_common(reads, is_reader ? tensors_read(second) : kernels_[k].reads)) return false;
    std::vector<KernelOutput> all = first;
    all.insert(all.end(), second.begin(), second.end());
    const Axis scanned = common_scan_axis(all);
    if ((!a.plan->scans.empty() || !c.plan->scans.empty()) && !scanned) return false;
    std::vector<Axis> loops{a.plan->loop};
    if (c.plan->loop != a.plan->loop) loops.push_back(c.plan->loop);
    if (scanned) std::erase_if(loops, [&](Axis loop) { return loop != scanned; });
    AxisSet distributed;
    // If a kernel reads all rows of another output, one program would have to compute all of them.
    if (is_reader) {
      distributed = a.plan->programs.grid;
      distributed.insert(c.plan->programs.grid);
    }
    std::optional<MergedPlan> merged = merged_plan(b_, held_, first, second, loops, distributed, target_, options_);
    if (!merged || merged->cost.seconds >= apart) return false;
    FittedTiling tiling = fit_tiling(b_, merged->plan, choose_tiling(b_, merged->plan, target_, options_), target_, options_);
    const KernelCost cost = estimate(merged->plan, tiling, b_, target_, options_);
    if (!cost.fits || cost.seconds >= apart) return false;
    ProofResult proof = check_by(check_, b_, merged->plan);
    if (proof.is_refuted) return false;
    kernels_[i] =
        chosen_kernel(std::move(merged->plan), std::move(tiling), cost, std::move(proof), merging_text(count + 1, apart / cost.seconds));
    const auto begin = kernels_.begin() + static_cast<std::ptrdiff_t>(j);
    kernels_.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
    return true;
  }

  // Whether none of kernel i and `count` kernels from j on depends on another one of them.
  bool are_independent(std::size_t i, std::size_t j, std::size_t count) const {
    const auto is_one = [&](std::size_t k) { return k == i || (j <= k && k < j + count); };
    std::vector<bool> seen(kernels_.size());
    std::vector<std::size_t> todo{i};
    for (std::size_t k = j; k < j + count; ++k) todo.push_back(k);
    while (!todo.empty()) {
      const std::size_t k = todo.back();
      todo.pop_back();
      for (std::size_t from = 0; from < kernels_.size(); ++from) {
        if (seen[from] || !reads_from(kernels_[k], kernels_[from])) continue;
        if (is_one(from)) return false;
        seen[from] = true;
        todo.push_back(from);
      }
    }
    return true;
  }

  // Whether kernel `to` depends on a result of kernel `from`, directly or through other kernels.
  bool waits(std::size_t to, std::size_t from) const {
    std::vector<bool> seen(kernels_.size());
    const std::function<bool(std::size_t)> visit = [&](std::size_t k) {
      if (k == from) return true;
      if (seen[k]) return false;
      seen[k] = true;
      for (std::size_t i = 0; i < kernels_.size(); ++i)
        if (reads_from(kernels_[k], kernels_[i]) && visit(i)) return true;
      return false;
    };
    return visit(to);
  }

  // Whether kernel `to` depends on kernel `from` only because it reads outputs of the segment, and not through another kernel.
  bool is_only_reader(std::size_t to, std::size_t from) const {
    for (const KernelOutput& o : kernels_[from].plan->outputs)
      if (kernels_[to].reads.count(o.tensor) != 0 && given_.count(o.tensor) == 0) return false;
    for (std::size_t i = 0; i < kernels_.size(); ++i)
      if (i != from && i != to && reads_from(kernels_[to], kernels_[i]) && waits(i, from)) return false;
    return true;
  }

  // Replaces reads of other outputs by their values. Returns false if an element is read at another position than the written one.
  bool compute_again(std::vector<KernelOutput>& readers, const std::vector<KernelOutput>& outputs) {
    ExprMap values;
    for (const KernelOutput& o : outputs) values[b_.load(o.tensor, o.index)] = o.value;
    for (KernelOutput& r : readers) r.value = b_.substitute(r.value, values);
    const std::set<Tensor> left = tensors_read(readers);
    return std::none_of(outputs.begin(), outputs.end(), [&](const KernelOutput& o) { return left.count(o.tensor) != 0; });
  }

  ExprBuilder& b_;
  std::vector<ChosenKernel>& kernels_;
  const std::set<Tensor>& given_;
  const ir::TargetDesc& target_;
  const FusionOptions& options_;
  const PlanCheck& check_;
  ContainedReductions held_;
};

}  // namespace

std::optional<MergedPlan> merged_plan(ExprBuilder& b, ContainedReductions& held, const std::vector<KernelOutput>& first,
                                      const std::vector<KernelOutput>& second, const std::vector<Axis>& loops, const AxisSet& distributed,
                                      const ir::TargetDesc& target, const FusionOptions& options) {
  std::vector<KernelOutput> both = first;
  both.insert(both.end(), second.begin(), second.end());
  std::optional<MergedPlan> best;
  for (Axis loop : loops) {
    if (!is_loop_of(held, both, loop)) continue;
    LoopPlan plan(b, both, loop);
    if (!share_programs(plan, first, second) || !plan.programs.grid.contains(distributed)) continue;
    const KernelCost cost = estimate(plan, choose_tiling(b, plan, target, options), b, target, options);
    if (cost.fits && (!best || cost.seconds < best->cost.seconds)) best.emplace(MergedPlan{std::move(plan), cost});
  }
  return best;
}

ChosenKernel chosen_kernel(LoopPlan plan, FittedTiling tiling, const KernelCost& cost, ProofResult proof, std::string reason) {
  ChosenKernel k;
  k.reads = tensors_read(plan.outputs);
  k.plan.emplace(std::move(plan));
  k.tiling = std::move(tiling);
  k.cost = cost;
  k.proof = std::move(proof);
  k.reason = std::move(reason);
  return k;
}

void merge_kernels(ExprBuilder& b, std::vector<ChosenKernel>& kernels, const std::set<Tensor>& given, const ir::TargetDesc& target,
                   const FusionOptions& options, const PlanCheck& check) {
  Merger(b, kernels, given, target, options, check).run();
}

std::vector<Expr> repeated_products(const ExprBuilder& b, const std::vector<ChosenKernel>& kernels) {
  ExprSet once, repeated;
  for (const ChosenKernel& k : kernels)
    for (Expr r : reductions_over(nullptr, k.plan->outputs))
      if (is_product(r, b) && !once.insert(r).second) repeated.insert(r);
  std::vector<Expr> sorted(repeated.begin(), repeated.end());
  std::sort(sorted.begin(), sorted.end(), [](Expr a, Expr c) { return a->key < c->key; });
  return sorted;
}

std::vector<ChosenKernel> in_order(std::vector<ChosenKernel> kernels) {
  std::vector<ChosenKernel> ordered;
  std::set<std::size_t> done;
  std::set<Tensor> unwritten;
  for (const ChosenKernel& k : kernels)
    for (const KernelOutput& o : k.plan->outputs) unwritten.insert(o.tensor);
  while (done.size() < kernels.size()) {
    bool has_progress = false;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      ChosenKernel& k = kernels[i];
      if (done.count(i) != 0 || std::any_of(k.reads.begin(), k.reads.end(), [&](Tensor t) { return unwritten.count(t) != 0; })) continue;
      for (const KernelOutput& o : k.plan->outputs) unwritten.erase(o.tensor);
      ordered.push_back(std::move(k));
      done.insert(i);
      has_progress = true;
    }
    TW_CHECK(has_progress, "fusion: kernels wait for each other");
  }
  return ordered;
}

}  // namespace tilewright::passes::fusion
