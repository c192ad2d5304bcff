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
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

// An axis this long is held whole beside a tile of rows, as an accumulator or to be reduced.
constexpr double kMostPayload = 512;
constexpr double kMostWhole = 256;

bool is_reference(Expr e) { return e->is(ExprKind::reference) || e->is(ExprKind::shift_reference); }

class Coverer {
 public:
  Coverer(ExprBuilder& b, const ir::TargetDesc& target, int first) : b_(b), target_(target), walk_(b), own_axes_(b), first_(first) {}

  std::vector<CoveredKernel> run(std::vector<KernelOutput> outputs) {
    for (const KernelOutput& o : outputs) know_output(o);
    for (const KernelOutput& o : outputs) add(o);
    merge();
    return order();
  }

 private:
  struct Kernel {
    std::vector<KernelOutput> outputs;
    std::optional<Plan> plan;
    std::set<Tensor> reads;
    KernelCost cost;
    std::string reason;
  };

  // Which operands of products that hold products are stored: those that the loop cannot compute (inside) or all of them, and whether with
  // what is computed element by element from one product (followers).
  struct Way {
    bool inside, followers;
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
    if (axes != o.value->axes || o.tensor->element != o.value->element || !walk_.holds_reduction(o.value)) return;
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
      for (const Way kind : {Way{true, false}, Way{true, true}, Way{false, false}, Way{false, true}}) {
        ExprMap stored;
        KernelOutput reduced = output;
        reduced.value = with_stored_operands(output.value, loop, kind, stored);
        if (loop && reductions_over(loop, {reduced}).empty()) continue;
        const bool is_known =
            std::any_of(ways.begin(), ways.end(), [&](const Choice& c) { return c.plan->loop == loop && c.stored == stored; });
        if (is_known) continue;
        add_ways(reduced, loop, std::move(stored), ways);
      }
    for (Axis loop : loops)
      for (const Operands which : {Operands::outermost, Operands::same_along_loop}) {
        ExprMap stored;
        KernelOutput reduced = output;
        reduced.value = with_stored_values(output.value, loop, which, stored);
        if (!loop || stored.empty() || reductions_over(loop, {reduced}).empty()) continue;
        add_ways(reduced, loop, std::move(stored), ways);
      }
    const auto add_with_stored_reductions = [&](Reductions which) {
      ExprMap stored;
      KernelOutput reduced = output;
      reduced.value = with_stored_reductions(output.value, which, stored);
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
      output.value = own_axes_.apply(with_stored_reductions(value, Reductions::of_other_loops, more, loop), loop);
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

  // ---- operands ----

  // Replaces operands of products that the kernel had better not compute itself.
  Expr with_stored_operands(Expr root, Axis loop, Way way, ExprMap& stored) {
    const bool inside = way.inside;
    ExprMap replaced, scaled;  // scaled: products by the value of which they are a factor
    std::vector<MovedFactors> moved;
    ExprSet seen;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (!seen.insert(e).second || !walk_.holds_product(e)) return;
      if (e->is(ExprKind::mul))
        for (const Factor& f : e->factors)
          if (f.exponent.is_one() && is_product(f.base, b_)) scaled.emplace(f.base, e);
      if (is_product(e, b_) && e != root) {
        // A product of the kernel's own, or one inside of another.
        if (must_store(e, root, loop, inside)) {
          const Expr value = e;
          stored[value] = load_of(value);
          replaced[value] = stored[value];
          return;
        }
      }
      if (is_product(e, b_)) {
        auto [groups, shared] = operand_groups(e, b_);
        for (std::vector<Factor>& group : groups) {
          const Expr operand = b_.multiply(1, group);
          if (!walk_.holds_product(operand) || (inside && stays_inside(operand, root, loop))) continue;
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
          std::vector<Factor> scale;
          if (const auto product = scaled.find(e); product != scaled.end()) scale = factors_of_operand(product->second, e, operand);
          for (const MovedFactors& m : moved)
            if (const auto product = scaled.find(e); product != scaled.end() && m.scaled == product->second)
              std::erase_if(scale, [&](const Factor& f) { return std::find(m.factors.begin(), m.factors.end(), f) != m.factors.end(); });
          group.insert(group.end(), scale.begin(), scale.end());
          const Expr value = b_.multiply(1, group);
          std::vector<Expr> inner;
          ExprSet visited;
          collect_computed(value, visited, inner);
          // One product with element-wise followers may be stored by itself, below: other kernels may read it, too.
          if (!way.followers && inner.size() == 1 && inner[0] != value && group.size() == own) continue;
          stored[value] = load_of(value);
          if (!scale.empty()) moved.push_back({scaled.at(e), e, scale});
          group.resize(group.size() - scale.size());
          replace_group(e, group, stored[value], replaced);
          for (const Factor& f : group) seen.insert(f.base);
        }
      }
      for (Expr x : children(e)) visit(x);
    };
    visit(root);
    // Values inside of others were visited later.
    for (auto m = moved.rbegin(); m != moved.rend(); ++m) {
      const Expr current = replaced.count(m->scaled) != 0 ? replaced.at(m->scaled) : m->scaled;
      std::vector<Factor> rest = b_.factors(current);
      for (const Factor& f : m->factors) rest.erase(std::remove(rest.begin(), rest.end(), f), rest.end());
      const Rational coefficient = current->is(ExprKind::mul) ? current->number : Rational(1);
      replaced[m->scaled] = b_.substitute(b_.multiply(coefficient, rest), replaced);
    }
    return replaced.empty() ? root : b_.substitute(root, replaced);
  }

  // Factors that stand before a product in normal form, and go with an operand of it into memory.
  struct MovedFactors {
    Expr scaled, product;
    std::vector<Factor> factors;
  };

  // Reductions that scale a product and that the operand needs as well: the kernel that stores the operand has them.
  std::vector<Factor> factors_of_operand(Expr scaled, Expr product, Expr operand) {
    std::vector<Factor> found;
    for (const Factor& f : scaled->factors) {
      if (f.base == product || !walk_.holds_reduction(f.base) || walk_.holds_product(f.base) || !operand->axes.contains(f.base->axes) ||
          f.base->axes.intersects(product->bound))
        continue;
      const std::vector<Expr> own = reductions_over(nullptr, {{{}, f.base, nullptr, {}}});
      if (std::all_of(own.begin(), own.end(), [&](Expr r) { return contains(operand, r); })) found.push_back(f);
    }
    return found;
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
  bool must_store(Expr e, Expr root, Axis loop, bool inside) {
    if (!loop || e->bound.contains(loop)) return false;
    return !inside || !stays_inside(e, root, loop);
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
    return repeated <= kMostRowCells && !has_cascade(value, loop);
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

  // Factors of a product become one load.
  void replace_group(Expr product, const std::vector<Factor>& group, Expr load, ExprMap& replaced) {
    Expr current = replaced.count(product) != 0 ? replaced.at(product) : product;
    std::vector<Factor> left = b_.factors(current->operands[0]);
    for (const Factor& f : group) left.erase(std::remove(left.begin(), left.end(), f), left.end());
    left.push_back({load, 1});
    const Rational coefficient = current->operands[0]->is(ExprKind::mul) ? current->operands[0]->number : Rational(1);
    replaced[product] = b_.reduce(Combine::sum, product->bound, b_.multiply(coefficient, left), product->operand_element);
  }

  // Stores what reductions combine and what holds reductions itself, each operand with all that is computed element by element from them:
  // of the outermost reductions, or only what is the same for all of the loop.
  enum class Operands : std::uint8_t { outermost, same_along_loop };
  Expr with_stored_values(Expr root, Axis loop, Operands which, ExprMap& stored) {
    ExprMap replaced;
    ExprSet seen;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (!walk_.holds_reduction(e) || !seen.insert(e).second) return;
      if (!e->is(ExprKind::reduce) || e->combine == Combine::combine) {
        for (Expr x : children(e)) visit(x);
        return;
      }
      auto [groups, shared] = operand_groups(e, b_);
      groups.push_back(shared);
      std::vector<Factor> rest = b_.factors(e->operands[0]);
      for (const std::vector<Factor>& group : groups) {
        std::vector<Factor> own;
        std::copy_if(group.begin(), group.end(), std::back_inserter(own), [&](const Factor& f) {
          return walk_.holds_reduction(f.base) && (which == Operands::outermost || !f.base->axes.contains(loop));
        });
        if (own.empty()) continue;
        const Expr value = b_.multiply(1, own);
        stored[value] = load_of(value);
        for (const Factor& f : own) rest.erase(std::remove(rest.begin(), rest.end(), f), rest.end());
        rest.push_back({stored[value], 1});
      }
      if (rest != b_.factors(e->operands[0])) {
        const Rational coefficient = e->operands[0]->is(ExprKind::mul) ? e->operands[0]->number : Rational(1);
        replaced[e] = b_.reduce(e->combine, e->bound, b_.multiply(coefficient, rest), e->operand_element);
        for (graph::NodeId n : std::vector(b_.pool().sources(e))) b_.pool().note_source(replaced[e], n);
      } else {
        for (Expr x : children(e)) visit(x);
      }
    };
    visit(root);
    return replaced.empty() ? root : b_.substitute(root, replaced);
  }

  // inner: those inside of another reduction; all: also those that do not fit beside others; of_other_loops: the outermost ones that
  // neither are over the loop's axis nor vary along it.
  enum class Reductions : std::uint8_t { inner, all, of_other_loops };
  Expr with_stored_reductions(Expr root, Reductions which, ExprMap& stored, Axis loop = nullptr) {
    ExprMap replaced;
    ExprSet seen;
    const std::function<void(Expr, bool)> visit = [&](Expr e, bool is_inside) {
      if (!seen.insert(e).second) return;
      if (e->is(ExprKind::reduce) && e != root) {
        const bool is_stored = which == Reductions::of_other_loops
                                   ? !is_inside && !e->bound.contains(loop) && !e->axes.contains(loop)
                                   : is_inside || (which == Reductions::all && (root->is(ExprKind::reduce) || !e->axes.empty()));
        if (is_stored) {
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
      return !walk_.holds_reduction(o.value) || (loop && !reductions_over(loop, {o}).empty());
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
  HeldReductions walk_;
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
