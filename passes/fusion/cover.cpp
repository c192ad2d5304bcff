// Chooses loops, stores intermediate results and merges kernels.
#include "passes/fusion/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "passes/fusion/cost.h"
#include "passes/fusion/own_axes.h"
#include "passes/fusion/products.h"
#include "passes/fusion/scans.h"
#include "passes/fusion/stored_tensor.h"
#include "passes/fusion/stored_values.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

class Coverer {
 public:
  Coverer(ExprBuilder& b, const ir::TargetDesc& target, int first)
      : b_(b), target_(target), held_(b), stored_(b, held_, [this](Expr value) { return load_of(value); }), own_axes_(b), first_(first) {}

  std::vector<CoveredKernel> run(std::vector<KernelOutput> outputs) {
    for (const KernelOutput& o : outputs) know_output(o);
    for (const KernelOutput& o : outputs) add(o);
    merge();
    return order();
  }

 private:
  using Operands = StoredValues::Operands;
  using Combined = StoredValues::Combined;
  using Reductions = StoredValues::Reductions;

  struct Kernel {
    std::vector<KernelOutput> outputs;
    std::optional<Plan> plan;
    std::set<Tensor> reads;
    KernelCost cost;
    std::string reason;
  };

  // A way to compute one output: a loop, and the values that other kernels store before it.
  struct Choice {
    std::optional<Plan> plan;
    ExprMap stored;
    KernelCost cost;
    double seconds = 0;    // with what it stores
    std::string rejected;  // the next best way
  };

  // An output that holds a reduction is read where another kernel needs its value.
  void know_output(const KernelOutput& o) {
    AxisSet axes;
    for (Expr i : o.index) {
      if (i->is_number(0)) continue;
      if (!i->is(ExprKind::index) || axes.contains(i->axis)) return;
      axes.insert(i->axis);
    }
    if (axes != o.value->axes || o.tensor->element != o.value->element || !held_.holds_reduction(o.value)) return;
    if (loads_.emplace(o.value, b_.load(o.tensor, o.index)).second) started_.insert(o.value);
  }

  // ---- one output ----

  void add(KernelOutput output) {
    if (add_scans(output)) return;
    Choice choice = best(output);
    store_all(choice.stored);
    kernels_.push_back(kernel(std::move(*choice.plan), choice.cost, choice.rejected));
  }

  // What a kernel reads is computed before it.
  void store_all(const ExprMap& stored) {
    std::vector<Expr> values;
    for (const auto& [value, load] : stored) values.push_back(value);
    std::sort(values.begin(), values.end(), [](Expr a, Expr c) { return a->key < c->key; });
    for (Expr v : values)
      if (started_.insert(v).second) add(stored_output(v));
  }

  // Scans run in kernels of their own, with what is computed element by element before and after them. A value whose scans one loop
  // computes is such a kernel: then the result is true. Of other values, scans are stored.
  bool add_scans(KernelOutput& output) {
    const std::optional<ScanLoop> loop = scan_loop({output.value});
    ExprMap replaced, stored;
    ExprSet seen;
    const std::function<void(Expr, bool)> visit = [&](Expr e, bool is_scanned) {
      if (!seen.insert(e).second) return;
      if (e->is(ExprKind::scan) && (is_scanned || !loop)) {
        visit(e->operands[1], is_scanned);
        const Expr value = stored_scan(b_, e);
        stored[value] = load_of(value);
        replaced[e] = b_.substitute(stored[value], {{b_.index(scan_axis(value)), b_.substitute(e->operands[1], replaced)}});
      } else if (e->is(ExprKind::reduce) && is_scanned) {
        stored[e] = replaced[e] = load_of(e);
      } else {
        for (Expr x : children(e)) visit(x, is_scanned || e->is(ExprKind::scan));
      }
    };
    visit(output.value, false);
    if (!replaced.empty()) output.value = b_.substitute(output.value, replaced);
    store_all(stored);
    if (!loop) return false;
    if (!scan_loop({output.value})) return add_scans(output);  // a scan of the loop is inside of another one, too, and stored
    Plan plan(b_, {output}, loop->axis);
    const KernelCost cost = estimate(plan, b_, target_);
    kernels_.push_back(kernel(std::move(plan), cost, {}));
    return true;
  }

  KernelOutput stored_output(Expr value) const {
    const Expr load = loads_.at(value);
    return {load->tensor->name, value, load->tensor, load->operands};
  }

  // The way that takes the least time, with the kernels that store what it reads: a dynamic program over the values.
  const Choice& best(const KernelOutput& output) {
    if (const auto known = choices_.find(output.tensor); known != choices_.end()) return known->second;
    std::vector<Choice> ways;
    std::vector<Axis> loops = bound_axes({output});
    if (loops.empty()) loops.push_back(nullptr);
    for (Axis loop : loops)
      for (const Operands which : {Operands{true, false}, Operands{true, true}, Operands{false, false}, Operands{false, true}}) {
        ExprMap stored;
        KernelOutput reduced = output;
        reduced.value = stored_.store_operands(output.value, loop, which, stored);
        if (loop && reductions_over(loop, {reduced}).empty()) continue;
        const bool is_known =
            std::any_of(ways.begin(), ways.end(), [&](const Choice& c) { return c.plan->loop == loop && c.stored == stored; });
        if (is_known) continue;
        add_ways(reduced, loop, std::move(stored), ways);
      }
    for (Axis loop : loops)
      for (const Combined which : {Combined::outermost, Combined::same_along_loop}) {
        ExprMap stored;
        KernelOutput reduced = output;
        reduced.value = stored_.store_combined(output.value, loop, which, stored);
        if (!loop || stored.empty() || reductions_over(loop, {reduced}).empty()) continue;
        add_ways(reduced, loop, std::move(stored), ways);
      }
    const auto add_with_stored_reductions = [&](Reductions which) {
      ExprMap stored;
      KernelOutput reduced = output;
      reduced.value = stored_.store_reductions(output.value, which, stored);
      if (stored.empty()) return;
      Plan plan = best_plan(b_, {reduced});
      if (const Expr value = own_axes_.apply(reduced.value, plan.loop); value != reduced.value) {
        reduced.value = value;
        ways.push_back(way(Plan(b_, {reduced}, plan.loop), stored));
      }
      ways.push_back(way(std::move(plan), std::move(stored)));
    };
    // Products of one row are no products, and yet no program should compute them again for each tile of another axis.
    add_with_stored_reductions(Reductions::inner);
    if (std::none_of(ways.begin(), ways.end(), [](const Choice& c) { return c.cost.fits; })) add_with_stored_reductions(Reductions::all);
    const auto is_better = [&](const Choice& a, const Choice& c) {
      // Estimates are rough, and what is stored needs memory of its own.
      constexpr double kOfStoring = 1.25;
      const auto weighted = [&](const Choice& x) { return x.seconds * (stores_more(x.stored) ? kOfStoring : 1); };
      return std::pair(!a.cost.fits, weighted(a)) < std::pair(!c.cost.fits, weighted(c));
    };
    std::stable_sort(ways.begin(), ways.end(), is_better);
    if (ways.size() > 1) ways[0].rejected = rejection(ways[0], ways[1]);
    return choices_.emplace(output.tensor, std::move(ways[0])).first->second;
  }

  // Whether a value has no memory yet.
  bool stores_more(const ExprMap& stored) const {
    return std::any_of(stored.begin(), stored.end(), [&](const auto& s) { return started_.count(s.first) == 0; });
  }

  // With the axes of reductions as they are, with axes of their own where that makes a difference, and with the reductions stored that are
  // not over the loop's axis.
  void add_ways(KernelOutput output, Axis loop, ExprMap stored, std::vector<Choice>& ways) {
    const Expr value = output.value;
    if (loop) {
      ExprMap more = stored;
      output.value = own_axes_.apply(stored_.store_reductions(value, Reductions::of_other_loops, more, loop), loop);
      if (more.size() > stored.size() && !reductions_over(loop, {output}).empty())
        ways.push_back(way(Plan(b_, {output}, loop), std::move(more)));
    }
    output.value = own_axes_.apply(value, loop);
    if (output.value != value) ways.push_back(way(Plan(b_, {output}, loop), stored));
    output.value = value;
    ways.push_back(way(Plan(b_, {output}, loop), std::move(stored)));
  }

  Choice way(Plan plan, ExprMap stored) {
    Choice c;
    c.cost = estimate(plan, b_, target_);
    c.seconds = c.cost.seconds;
    for (const auto& [value, load] : stored) {
      if (started_.count(value) == 0) c.seconds += best(stored_output(value)).seconds;
    }
    c.stored = std::move(stored);
    c.plan.emplace(std::move(plan));
    return c;
  }

  static std::string rejection(const Choice& chosen, const Choice& other) {
    std::string text = other.plan->loop ? fmt::format("a loop over {}", other.plan->loop->name) : "no loop";
    if (other.plan->passes > 1) text += fmt::format(" with {} passes", other.plan->passes);
    if (other.stored.size() > chosen.stored.size())
      text += fmt::format(" that stores {} value{} first", other.stored.size(), other.stored.size() == 1 ? "" : "s");
    if (!other.cost.fits) return text + " does not fit on chip";
    return text + fmt::format(" takes {:.3g} times as long", other.seconds / chosen.seconds);
  }

  Expr load_of(Expr value) {
    if (const auto known = loads_.find(value); known != loads_.end()) return known->second;
    std::string name = fmt::format("t{}", static_cast<std::size_t>(first_) + loads_.size());
    while (b_.pool().find_tensor(name)) name += "_";
    const Expr load = add_stored_tensor(b_, value, value->element, std::move(name));
    loads_[value] = load;
    return load;
  }

  // ---- merging ----

  static void collect_tensors(Expr e, ExprSet& seen, std::set<Tensor>& tensors) {
    if (!seen.insert(e).second) return;
    if (e->is(ExprKind::load)) tensors.insert(e->tensor);
    for (Expr x : children(e)) collect_tensors(x, seen, tensors);
  }
  static Kernel kernel(Plan plan, const KernelCost& cost, std::string reason) {
    Kernel k;
    ExprSet seen;
    for (const KernelOutput& o : plan.outputs) collect_tensors(o.value, seen, k.reads);
    k.outputs = plan.outputs;
    k.plan.emplace(std::move(plan));
    k.cost = cost;
    k.reason = std::move(reason);
    return k;
  }

  // Whether kernel `to` needs a result of kernel `from`, directly or through others.
  bool waits(std::size_t to, std::size_t from) const {
    std::vector<bool> seen(kernels_.size());
    const std::function<bool(std::size_t)> visit = [&](std::size_t k) {
      if (k == from) return true;
      if (seen[k]) return false;
      seen[k] = true;
      for (std::size_t i = 0; i < kernels_.size(); ++i)
        for (const KernelOutput& o : kernels_[i].outputs)
          if (kernels_[k].reads.count(o.tensor) != 0 && visit(i)) return true;
      return false;
    };
    return visit(to);
  }

  static std::string names(const Kernel& k) {
    std::string all;
    for (const KernelOutput& o : k.outputs) all += (all.empty() ? "" : ", ") + o.name;
    return all;
  }

  bool try_merge(std::size_t i, std::size_t j) {
    const Kernel &a = kernels_[i], &c = kernels_[j];
    if (waits(i, j) || waits(j, i)) return false;
    const std::set<Tensor>&first = a.reads, &second = c.reads;
    const bool shares = std::any_of(first.begin(), first.end(), [&](Tensor t) { return !t->is_scalar && second.count(t) != 0; });
    if (!shares) return false;
    std::vector<KernelOutput> both = a.outputs;
    both.insert(both.end(), c.outputs.begin(), c.outputs.end());
    const Axis scanned = common_scan_axis(both);
    if ((!a.plan->scans.empty() || !c.plan->scans.empty()) && !scanned) return false;
    std::optional<Plan> plan;
    KernelCost cost;
    for (const Axis loop : {a.plan->loop, c.plan->loop}) {
      if ((plan && plan->loop == loop) || !is_loop_of(both, loop) || (scanned && scanned != loop)) continue;
      Plan merged(b_, both, loop);
      if (!share_programs(merged, a.outputs, c.outputs)) continue;
      const KernelCost merged_cost = estimate(merged, b_, target_);
      if (!merged_cost.fits || (plan && cost.seconds <= merged_cost.seconds)) continue;
      plan.emplace(std::move(merged));
      cost = merged_cost;
    }
    const double apart = a.cost.seconds + c.cost.seconds;
    if (!plan || cost.seconds >= apart) return false;
    std::string reason = fmt::format("kernels for {} and {} take {:.3g} times as long", names(a), names(c), apart / cost.seconds);
    kernels_[i] = kernel(std::move(*plan), cost, std::move(reason));
    kernels_.erase(kernels_.begin() + static_cast<std::ptrdiff_t>(j));
    return true;
  }

  // Two values that both vary along an axis of the grid which the other one lacks have more programs together than apart.
  static bool share_programs(const Plan& merged, const std::vector<KernelOutput>& first, const std::vector<KernelOutput>& second) {
    const auto tiled = [&](const KernelOutput& o) { return o.value->axes.common(merged.grid).without(merged.payload); };
    for (const KernelOutput& x : first)
      for (const KernelOutput& y : second)
        if (!tiled(x).contains(tiled(y)) && !tiled(y).contains(tiled(x))) return false;
    return true;
  }

  // The axis of a loop that has the scans of all outputs, and computes none of them again for further rows. Null if there is none.
  static Axis common_scan_axis(const std::vector<KernelOutput>& outputs) {
    std::vector<Expr> values;
    for (const KernelOutput& o : outputs) values.push_back(o.value);
    const bool is_alike = std::all_of(values.begin(), values.end(), [&](Expr v) { return v->axes == values[0]->axes; });
    const std::optional<ScanLoop> loop = is_alike ? scan_loop(values) : std::nullopt;
    return loop ? loop->axis : nullptr;
  }

  // Whether each output has a reduction over the loop's axis, or is computed element by element: that can be part of any loop.
  bool is_loop_of(const std::vector<KernelOutput>& outputs, Axis loop) {
    return std::all_of(outputs.begin(), outputs.end(), [&](const KernelOutput& o) {
      return !held_.holds_reduction(o.value) || (loop && !reductions_over(loop, {o}).empty());
    });
  }

  void merge() {
    constexpr std::size_t kWindow = 12;  // kernels further apart seldom share anything
    for (std::size_t i = 0; i < kernels_.size(); ++i)
      for (std::size_t j = i + 1; j < std::min(kernels_.size(), i + kWindow);) {
        if (try_merge(i, j))
          j = i + 1;
        else
          ++j;
      }
  }

  std::vector<CoveredKernel> order() {
    std::vector<CoveredKernel> ordered;
    std::set<std::size_t> done;
    std::set<Tensor> unwritten;
    for (const Kernel& k : kernels_)
      for (const KernelOutput& o : k.outputs) unwritten.insert(o.tensor);
    while (done.size() < kernels_.size()) {
      bool has_progress = false;
      for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (done.count(i) != 0) continue;
        const std::set<Tensor>& needed = kernels_[i].reads;
        if (std::any_of(needed.begin(), needed.end(), [&](Tensor t) { return unwritten.count(t) != 0; })) continue;
        for (const KernelOutput& o : kernels_[i].outputs) unwritten.erase(o.tensor);
        Kernel& k = kernels_[i];
        ordered.push_back({std::move(*k.plan), k.cost.text() + (k.reason.empty() ? "" : "\n" + k.reason)});
        done.insert(i);
        has_progress = true;
      }
      TW_CHECK(has_progress, "fusion: kernels wait for each other");
    }
    return ordered;
  }

  ExprBuilder& b_;
  const ir::TargetDesc& target_;
  HeldReductions held_;
  StoredValues stored_;
  OwnAxes own_axes_;
  const int first_;  // the number of the first intermediate result
  ExprMap loads_;
  ExprSet started_;
  std::map<Tensor, Choice> choices_;
  std::vector<Kernel> kernels_;
};

}  // namespace

std::vector<CoveredKernel> cover(ExprBuilder& b, std::vector<KernelOutput> outputs, const ir::TargetDesc& target, int first) {
  return Coverer(b, target, first).run(std::move(outputs));
}

}  // namespace tilewright::passes::fusion
