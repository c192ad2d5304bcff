// Chooses loops, stores intermediate results and merges kernels.
#include "passes/fusion/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "passes/fusion/scans.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

// f32 accumulators of one row: 64 rows of them fill the registers of a GPU's program.
constexpr double kMostCells = 1024;
// An axis this long is held whole beside a tile of rows, as an accumulator or to be reduced.
constexpr double kMostPayload = 512;
constexpr double kMostWhole = 256;

bool is_reference(Expr e) { return e->is(ExprKind::reference) || e->is(ExprKind::shift_reference); }

// Whether factors that lack different axes of the result are multiplied along common ones.
bool is_product(Expr e, const ExprBuilder& b) {
  if (!e->is(ExprKind::reduce) || e->combine != Combine::sum) return false;
  std::vector<AxisSet> groups;
  for (const Factor& f : b.factors(e->operands[0])) {
    const AxisSet own = f.base->axes.without(e->bound);
    if (f.base->axes.intersects(e->bound) && !own.empty()) groups.push_back(own);
  }
  for (const AxisSet& x : groups)
    for (const AxisSet& y : groups)
      if (!x.without(y).empty() && !y.without(x).empty()) return true;
  return false;
}

class Walk {
 public:
  explicit Walk(const ExprBuilder& b) : b_(b) {}
  bool holds_product(Expr e) { return facts(e).holds_product; }
  bool holds_reduction(Expr e) { return facts(e).holds_reduction; }

 private:
  struct Facts {
    bool holds_product = false, holds_reduction = false;
  };
  Facts facts(Expr e) {
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    Facts f{is_product(e, b_), e->is(ExprKind::reduce)};
    for (Expr x : children(e)) {
      const Facts inside = facts(x);
      f.holds_product = f.holds_product || inside.holds_product;
      f.holds_reduction = f.holds_reduction || inside.holds_reduction;
    }
    return known_[e] = f;
  }

  const ExprBuilder& b_;
  std::unordered_map<Expr, Facts, ExprHash> known_;
};

std::tuple<bool, int, double> cost(const Plan& p) { return {!fits_on_chip(p), p.passes, p.cells + p.resident + p.after}; }

class Coverer {
 public:
  Coverer(ExprBuilder& b, int first) : b_(b), walk_(b), first_(first) {}

  std::vector<CoveredKernel> run(std::vector<KernelOutput> outputs) {
    for (KernelOutput& o : outputs) add(std::move(o));
    merge();
    return order();
  }

 private:
  struct Kernel {
    std::vector<KernelOutput> outputs;
    std::optional<Plan> plan;
    std::set<Tensor> reads;
  };

  // ---- one output ----

  void add(KernelOutput output) {
    if (add_scans(output)) return;
    // The loop's axis: the one that stores least, then has the best plan.
    std::optional<Plan> best;
    ExprMap best_stored;
    std::tuple<bool, bool, double, int, double> best_cost;
    const AxisSet last = loops_of_last_products(output.value);
    std::vector<Axis> candidates = bound_axes({output});
    if (candidates.empty()) candidates.push_back(nullptr);
    for (Axis loop : candidates) {
      ExprMap stored;
      KernelOutput reduced = output;
      reduced.value = with_stored_operands(output.value, loop, stored);
      if (loop && reductions_over(loop, {reduced}).empty()) continue;
      Plan plan(b_, {reduced}, loop);
      double bytes = 0;
      for (const auto& [value, load] : stored) bytes += estimated_extent(value->axes);
      const auto [does_not_fit, passes, cells] = cost(plan);
      const std::tuple this_cost{does_not_fit, !last.empty() && !last.contains(loop), bytes, passes, cells};
      if (!best || this_cost < best_cost) {
        best.emplace(std::move(plan));
        best_cost = this_cost;
        best_stored = std::move(stored);
      }
    }
    if (!fits_on_chip(*best)) {
      KernelOutput reduced = output;
      ExprMap stored;
      reduced.value = with_stored_reductions(output.value, stored);
      if (!stored.empty()) {
        Plan plan = best_plan(b_, {reduced});
        finish(std::move(plan), stored);
        return;
      }
    }
    finish(std::move(*best), best_stored);
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
    finish(Plan(b_, {output}, loop->axis), {});
    return true;
  }

  // The axes of the products that no other product of the value needs: those are computed before this kernel anyway.
  AxisSet loops_of_last_products(Expr value) {
    std::vector<Expr> products;
    ExprSet seen;
    collect_computed(value, seen, products);
    AxisSet axes;
    for (Expr p : products) {
      const bool is_needed = std::any_of(products.begin(), products.end(), [&](Expr q) { return q != p && contains(q, p); });
      if (!is_needed) axes.insert(p->bound);
    }
    return axes;
  }

  void finish(Plan plan, const ExprMap& stored) {
    store_all(stored);
    std::vector<KernelOutput> outputs = plan.outputs;
    kernels_.push_back(kernel(std::move(outputs), std::move(plan)));
  }

  // What a kernel reads is computed before it.
  void store_all(const ExprMap& stored) {
    std::vector<Expr> values;
    for (const auto& [value, load] : stored) values.push_back(value);
    std::sort(values.begin(), values.end(), [](Expr a, Expr c) { return a->key < c->key; });
    for (Expr v : values) store(v);
  }

  // The tensor of an intermediate result, and the kernel that computes it.
  void store(Expr value) {
    if (!started_.insert(value).second) return;
    const Expr load = loads_.at(value);
    KernelOutput o{load->tensor->name, value, load->tensor, load->operands};
    add(std::move(o));
  }

  Expr load_of(Expr value) {
    if (const auto known = loads_.find(value); known != loads_.end()) return known->second;
    TensorInfo info;
    info.name = fmt::format("t{}", static_cast<std::size_t>(first_) + loads_.size());
    while (b_.pool().find_tensor(info.name)) info.name += "_";
    info.element = value->element;
    std::vector<Expr> index;
    const std::vector<Axis> axes = memory_order(value);
    for (Axis a : axes) info.shape.push_back(a->extent), index.push_back(b_.index(a));
    info.strides.assign(axes.size(), 1);
    for (std::size_t i = axes.size(); i-- > 1;) info.strides[i - 1] = info.strides[i] * info.shape[i];
    const Expr load = b_.load(b_.pool().add_tensor(std::move(info)), std::move(index));
    for (graph::NodeId n : b_.pool().sources(value)) b_.pool().note_source(load, n);
    loads_[value] = load;
    return load;
  }

  // The axis along which most tensors inside are contiguous last.
  std::vector<Axis> memory_order(Expr value) const {
    std::map<Axis, int> votes;
    ExprSet seen;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (is_reference(e) || !seen.insert(e).second) return;
      if (e->is(ExprKind::load))
        for (std::size_t i = 0; i < e->operands.size(); ++i)
          if (e->tensor->strides[i] == Dim(1))
            for (const Term& t : b_.terms(e->operands[i]))
              if (t.value->is(ExprKind::index) && t.coefficient.is_one()) ++votes[t.value->axis];
      for (Expr x : children(e)) visit(x);
    };
    visit(value);
    if (value->is(ExprKind::scan)) votes[scan_axis(value)] = votes[*value->bound.begin()];
    std::vector<Axis> axes(value->axes.begin(), value->axes.end());
    std::stable_sort(axes.begin(), axes.end(), [&](Axis a, Axis b) { return votes[a] < votes[b]; });
    return axes;
  }

  // ---- operands ----

  // Replaces operands of products that the kernel had better not compute itself.
  Expr with_stored_operands(Expr root, Axis loop, ExprMap& stored) {
    ExprMap replaced;
    ExprSet seen;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (!seen.insert(e).second || !walk_.holds_product(e)) return;
      if (is_product(e, b_) && e != root) {
        // A product of the kernel's own, or one inside of another.
        if (must_store(e, root, loop)) {
          const Expr value = e;
          stored[value] = load_of(value);
          replaced[value] = stored[value];
          return;
        }
      }
      if (is_product(e, b_)) {
        auto [groups, shared] = operands(e);
        for (std::vector<Factor>& group : groups) {
          if (!walk_.holds_product(b_.multiply(1, group)) || stays_inside(b_.multiply(1, group), root, loop)) continue;
          // Reductions that scale the operand are applied before it is stored.
          const std::size_t own = group.size();
          for (auto f = shared.begin(); f != shared.end();) {
            if (!walk_.holds_reduction(f->base)) {
              ++f;
              continue;
            }
            group.push_back(*f);
            f = shared.erase(f);
          }
          const Expr value = b_.multiply(1, group);
          std::vector<Expr> inner;
          ExprSet visited;
          collect_computed(value, visited, inner);
          // One product with element-wise followers is stored by itself, below: other kernels may read it, too.
          if (inner.size() == 1 && inner[0] != value && group.size() == own) continue;
          stored[value] = load_of(value);
          replace_group(e, group, stored[value], replaced);
          for (const Factor& f : group) seen.insert(f.base);
        }
      }
      for (Expr x : children(e)) visit(x);
    };
    visit(root);
    return replaced.empty() ? root : b_.substitute(root, replaced);
  }

  // The outermost reductions inside that hold products.
  void collect_computed(Expr e, ExprSet& seen, std::vector<Expr>& found) {
    if (!seen.insert(e).second || !walk_.holds_product(e)) return;
    if (e->is(ExprKind::reduce)) {
      found.push_back(e);
      return;
    }
    for (Expr x : children(e)) collect_computed(x, seen, found);
  }

  // A product that the loop does not compute, and that does not vary along the loop.
  bool must_store(Expr e, Expr root, Axis loop) {
    if (!loop || e->bound.contains(loop)) return false;
    return !stays_inside(e, root, loop);
  }

  bool stays_inside(Expr value, Expr root, Axis loop) {
    if (!loop) return false;
    const bool is_of_loop = value->axes.contains(loop) || binds(value, loop);
    if (!is_of_loop) return false;
    double repeated = 1;
    for (Axis a : root->axes.without({loop}))
      if (!value->axes.contains(a)) {
        if (estimated_extent(a->extent) > kMostPayload) return false;
        repeated *= estimated_extent(a->extent);
      }
    return repeated <= kMostCells && !has_cascade(value, loop);
  }

  // Whether a long reduction inside, that is not over the loop's axis, needs another one first: it wants a loop of its own.
  bool has_cascade(Expr e, Axis loop) {
    ExprSet seen;
    return has_cascade(e, loop, seen);
  }
  bool has_cascade(Expr e, Axis loop, ExprSet& seen) {
    if (is_reference(e) || !walk_.holds_reduction(e) || !seen.insert(e).second) return false;
    if (e->is(ExprKind::reduce) && !e->bound.contains(loop) && estimated_extent(e->bound) > kMostWhole &&
        walk_.holds_reduction(e->operands[0]))
      return true;
    for (Expr x : children(e))
      if (has_cascade(x, loop, seen)) return true;
    return false;
  }

  // Whether the products inside are reductions over the loop's axis themselves.
  bool binds(Expr e, Axis loop) {
    ExprSet seen;
    return binds(e, loop, seen);
  }
  bool binds(Expr e, Axis loop, ExprSet& seen) {
    if (!walk_.holds_product(e) || !seen.insert(e).second) return true;
    if (is_product(e, b_)) return e->bound.contains(loop);
    const std::vector<Expr> inside = children(e);
    return std::all_of(inside.begin(), inside.end(), [&](Expr x) { return binds(x, loop, seen); });
  }

  struct Operands {
    std::vector<std::vector<Factor>> groups;  // by the axes of the result that the factors share
    std::vector<Factor> shared;               // of contracted axes only
  };
  Operands operands(Expr product) const {
    std::vector<std::pair<AxisSet, std::vector<Factor>>> groups;
    std::vector<Factor> shared;
    for (const Factor& f : b_.factors(product->operands[0])) {
      AxisSet own = f.base->axes.without(product->bound);
      if (own.empty()) {
        shared.push_back(f);
        continue;
      }
      std::vector<Factor> members{f};
      for (auto g = groups.begin(); g != groups.end();) {
        // Axes that all factors have (batch axes) join nothing.
        const AxisSet common = g->first.common(own);
        bool joins = false;
        for (Axis a : common) joins = joins || !is_batch(a, product);
        if (!joins) {
          ++g;
          continue;
        }
        own.insert(g->first);
        members.insert(members.end(), g->second.begin(), g->second.end());
        g = groups.erase(g);
      }
      groups.emplace_back(own, members);
    }
    Operands result;
    for (auto& [axes, members] : groups) result.groups.push_back(std::move(members));
    result.shared = std::move(shared);
    return result;
  }

  bool is_batch(Axis a, Expr product) const {
    for (const Factor& f : b_.factors(product->operands[0]))
      if (f.base->axes.intersects(product->bound) && !f.base->axes.contains(a)) return false;
    return true;
  }

  // Factors of a product become one load.
  void replace_group(Expr product, const std::vector<Factor>& group, Expr load, ExprMap& replaced) {
    Expr current = replaced.count(product) != 0 ? replaced.at(product) : product;
    std::vector<Factor> left = b_.factors(current->operands[0]);
    for (const Factor& f : group) left.erase(std::remove(left.begin(), left.end(), f), left.end());
    left.push_back({load, 1});
    const Rational coefficient = current->operands[0]->is(ExprKind::mul) ? current->operands[0]->number : Rational(1);
    replaced[product] = b_.reduce(Combine::sum, product->bound, b_.multiply(coefficient, left), product->operand_element);
  }

  // The last resort: every reduction inside of another one, or that does not fit beside others, is stored.
  Expr with_stored_reductions(Expr root, ExprMap& stored) {
    ExprMap replaced;
    ExprSet seen;
    const std::function<void(Expr, bool)> visit = [&](Expr e, bool is_inside) {
      if (!seen.insert(e).second) return;
      if (e->is(ExprKind::reduce) && e != root) {
        if (is_inside || root->is(ExprKind::reduce) || !e->axes.empty()) {
          stored[e] = load_of(e);
          replaced[e] = stored[e];
          return;
        }
      }
      for (Expr x : children(e)) visit(x, is_inside || e->is(ExprKind::reduce));
    };
    visit(root, false);
    return replaced.empty() ? root : b_.substitute(root, replaced);
  }

  // ---- merging ----

  static void collect_tensors(Expr e, ExprSet& seen, std::set<Tensor>& tensors) {
    if (!seen.insert(e).second) return;
    if (e->is(ExprKind::load)) tensors.insert(e->tensor);
    for (Expr x : children(e)) collect_tensors(x, seen, tensors);
  }
  static Kernel kernel(std::vector<KernelOutput> outputs, Plan plan) {
    ExprSet seen;
    std::set<Tensor> reads;
    for (const KernelOutput& o : outputs) collect_tensors(o.value, seen, reads);
    return {std::move(outputs), std::move(plan), std::move(reads)};
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

  // Whether one loop has the scans of all outputs, and computes none of them again for further rows.
  static bool share_scan_loop(const std::vector<KernelOutput>& outputs) {
    std::vector<Expr> values;
    for (const KernelOutput& o : outputs) values.push_back(o.value);
    return scan_loop(values) && std::all_of(values.begin(), values.end(), [&](Expr v) { return v->axes == values[0]->axes; });
  }

  bool try_merge(std::size_t i, std::size_t j) {
    const Kernel &a = kernels_[i], &c = kernels_[j];
    // What is computed element by element can be part of any loop.
    const Axis loop = a.plan->loop ? a.plan->loop : c.plan->loop;
    const bool is_one_loop = (!a.plan->loop || a.plan->loop == loop) && (!c.plan->loop || c.plan->loop == loop);
    if (!is_one_loop || waits(i, j) || waits(j, i)) return false;
    const std::set<Tensor>&first = a.reads, &second = c.reads;
    const bool shares = std::any_of(first.begin(), first.end(), [&](Tensor t) { return !t->is_scalar && second.count(t) != 0; });
    if (!shares) return false;
    std::vector<KernelOutput> both = a.outputs;
    both.insert(both.end(), c.outputs.begin(), c.outputs.end());
    if ((!a.plan->scans.empty() || !c.plan->scans.empty()) && !share_scan_loop(both)) return false;
    Plan plan(b_, both, loop);
    if (!fits_on_chip(plan) || plan.passes > std::max(a.plan->passes, c.plan->passes)) return false;
    // Axes that one of the two would compute again and again.
    for (const KernelOutput& o : both)
      for (Axis x : plan.grid)
        if (!o.value->axes.contains(x) && !plan.payload.contains(x) && walk_.holds_product(o.value) &&
            estimated_extent(x->extent) > kMostPayload)
          return false;
    kernels_[i] = kernel(std::move(both), std::move(plan));
    kernels_.erase(kernels_.begin() + static_cast<std::ptrdiff_t>(j));
    return true;
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
        ordered.push_back({std::move(*kernels_[i].plan), {}});
        done.insert(i);
        has_progress = true;
      }
      TW_CHECK(has_progress, "fusion: kernels wait for each other");
    }
    return ordered;
  }

  ExprBuilder& b_;
  Walk walk_;
  const int first_;  // the number of the first intermediate result
  ExprMap loads_;
  ExprSet started_;
  std::vector<Kernel> kernels_;
};

}  // namespace

bool fits_on_chip(const Plan& p) {
  // Programs hold the axes that they do not share out whole: of such an axis a longest extent must be known.
  constexpr std::int64_t kMostWhole = 8192;
  AxisSet whole = p.payload;
  for (const KernelOutput& o : p.outputs) whole.insert(o.value->axes.without(p.grid));
  for (Axis a : whole)
    if (p.loop && a != p.loop && a->extent.greatest() > kMostWhole) return false;
  return p.cells + p.after <= kMostCells;
}

Plan best_plan(ExprBuilder& b, const std::vector<KernelOutput>& outputs) {
  std::optional<Plan> best;
  std::vector<Axis> candidates = bound_axes(outputs);
  std::vector<Expr> values;
  for (const KernelOutput& o : outputs) values.push_back(o.value);
  if (const std::optional<ScanLoop> scans = scan_loop(values)) candidates = {scans->axis};
  if (candidates.empty()) candidates.push_back(nullptr);
  for (Axis loop : candidates) {
    Plan plan(b, outputs, loop);
    if (!best || cost(plan) < cost(*best)) best.emplace(std::move(plan));
  }
  return std::move(*best);
}

std::vector<CoveredKernel> cover(ExprBuilder& b, std::vector<KernelOutput> outputs, int first) {
  return Coverer(b, first).run(std::move(outputs));
}

}  // namespace tilewright::passes::fusion
