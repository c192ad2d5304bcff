// Opens programs, and emits the passes and the outputs of a kernel, of a part of a divided loop, or of the merge of all parts.
#include "passes/fusion/emit/kernel_emitter.h"

#include <algorithm>
#include <set>

#include "passes/fusion/emit/pass_emitter.h"
#include "passes/fusion/emit/program_grid.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

namespace {

// The axes of the outputs, with the contiguous axis last.
Order order_of_outputs(const LoopPlan& plan) {
  std::vector<std::pair<std::size_t, Axis>> found;  // each axis with its position in the tensor
  std::set<Axis> seen;
  for (const KernelOutput& o : plan.outputs)
    for (std::size_t i = 0; i < o.index.size(); ++i)
      for (Axis a : o.index[i]->axes)
        if (seen.insert(a).second) found.emplace_back(i, a);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Order order;
  for (const auto& [i, axis] : found) order.push_back(axis);
  return order;
}

class KernelEmitter {
 public:
  KernelEmitter(const std::string& name, ExprBuilder& exprs, const LoopPlan& plan, const TileSizes& sizes)
      : function_(name),
        ir_(function_),
        context_(exprs, ir_),
        tiles_(context_),
        plan_(plan),
        sizes_(sizes),
        order_with_loop_(order_of_outputs(plan)),
        order_(accumulator_order(plan, sizes)),
        passes_(context_, tiles_, plan, sizes_, order_, order_with_loop_) {}

  EmittedKernel run() {
    open(written_outputs());
    for (int pass = 1; pass <= plan_.passes && plan_.loop; ++pass) passes_.emit_pass(pass);
    store_outputs();
    return finish(outputs());
  }

  // Emits the loop over one part, and stores the state.
  EmittedKernel run_part(const SplitLoop& split) {
    std::vector<Tensor> states;
    std::vector<Written> written;
    for (Expr e : split.elements()) {
      states.push_back(e->tensor);
      written.push_back({e->tensor, e->axes});
    }
    sizes_.grid[split.part] = 1;
    open(written);
    passes_.emit_part(split);
    return finish(states);
  }

  // Emits the merge of the states of all parts.
  EmittedKernel run_merge(const SplitLoop& split, std::int64_t at_once) {
    open(written_outputs());
    passes_.emit_merge(split, at_once);
    store_outputs();
    return finish(outputs());
  }

 private:
  std::vector<Tensor> outputs() const {
    std::vector<Tensor> all;
    for (const KernelOutput& o : plan_.outputs) all.push_back(o.tensor);
    return all;
  }

  // A tensor, and the index at which the kernel writes it.
  struct Written {
    Tensor tensor;
    AxisSet axes;
  };

  std::vector<Written> written_outputs() const {
    std::vector<Written> all;
    for (const KernelOutput& o : plan_.outputs) {
      all.push_back({o.tensor, {}});
      for (Expr i : o.index) all.back().axes.insert(i->axes);
    }
    return all;
  }

  void open(const std::vector<Written>& written) {
    for (const Written& w : written) context_.parameters.set_written(w.tensor);
    tiles_.set_exp2(sizes_.has_exp2);
    tiles_.reductions().set_is_short([this](std::int64_t tile, std::int64_t others) { return sizes_.is_short(tile, others); });
    open_program(written);
  }

  void store_outputs() {
    for (const KernelOutput& o : plan_.outputs)
      if (!plan_.loop || !o.has(plan_.loop)) passes_.store(o);
  }

  EmittedKernel finish(std::vector<Tensor> written) {
    EmittedKernel result;
    result.writes = std::move(written);
    for (const KernelParameters::Parameter& p : context_.parameters.all()) result.parameters.push_back({p.tensor, p.extent});
    for (int i = 0; i < 3; ++i) result.grid[i] = grid_[i];
    result.function = std::move(function_);
    return result;
  }

  // ---- the program's positions ----

  // The axes of the grid that a written tensor lacks: it must be written even if such an axis has no positions.
  AxisSet axes_lacked_by(const std::vector<Written>& written) const {
    AxisSet axes;
    for (const auto& [axis, size] : sizes_.grid)
      if (std::any_of(written.begin(), written.end(), [a = axis](const Written& w) { return !w.axes.contains(a); })) axes.insert(axis);
    return axes;
  }

  void open_program(const std::vector<Written>& written) {
    EmitScope scope;
    scope.block = function_.body();
    context_.scopes.push(std::move(scope));
    for (const auto& [axis, inner] : sizes_.inner) tiles_.reductions().set_inner_tile(axis, inner.size, inner.is_looped);
    for (const auto& [axis, size] : sizes_.payload) context_.scopes.innermost().tiles[axis] = {size, {}, is_whole_tile(axis->extent, size)};
    distribute_over_grid(context_, sizes_.grid, axes_lacked_by(written), columns_of_products(), grid_);
  }

  // The last axis with a tile: that of the right operands of products, which a thread of a host keeps from one program to the next if these
  // differ in their rows alone. Null on GPUs, and if there is no product.
  Axis columns_of_products() const {
    const auto is_of_product = [&](const Accumulator& a) { return is_product(a.reduce, context_.exprs); };
    if (sizes_.lanes == 1 || std::none_of(plan_.accumulators.begin(), plan_.accumulators.end(), is_of_product)) return nullptr;
    for (auto a = order_.rbegin(); a != order_.rend(); ++a)
      if (const auto size = sizes_.grid.find(*a); size != sizes_.grid.end() && size->second > 1) return *a;
    return nullptr;
  }

  ir::Function function_;
  ir::Builder ir_;
  EmitContext context_;
  TileValues tiles_;
  const LoopPlan& plan_;
  TileSizes sizes_;
  const Order order_with_loop_, order_;
  PassEmitter passes_;
  std::vector<GridFactor> grid_[3];
};

}  // namespace

std::vector<Axis> accumulator_order(const LoopPlan& plan, const TileSizes& sizes) {
  std::vector<Axis> order = order_of_outputs(plan);
  const auto add = [&](Axis a) {
    if (std::find(order.begin(), order.end(), a) == order.end()) order.push_back(a);
  };
  for (const auto& [axis, size] : sizes.payload) add(axis);
  for (const auto& [axis, size] : sizes.grid) add(axis);
  std::erase(order, plan.loop);
  // Coordinates of points have the shape [n, 3]: vectors of a host should run along the points.
  std::int64_t longest = 1;
  for (Axis a : order) longest = std::max(longest, tile_of(a, plan, sizes));
  const auto is_short = [&](Axis a) { return sizes.is_short(tile_of(a, plan, sizes), longest); };
  if (!order.empty() && is_short(order.back())) std::stable_partition(order.begin(), order.end(), is_short);
  return order;
}

EmittedKernel emit_kernel(const std::string& name, ExprBuilder& exprs, const LoopPlan& plan, const TileSizes& sizes) {
  return KernelEmitter(name, exprs, plan, sizes).run();
}

EmittedKernel emit_part_kernel(const std::string& name, ExprBuilder& exprs, const LoopPlan& plan, const TileSizes& sizes,
                               const SplitLoop& split) {
  return KernelEmitter(name, exprs, plan, sizes).run_part(split);
}

EmittedKernel emit_merge_kernel(const std::string& name, ExprBuilder& exprs, const LoopPlan& plan, const TileSizes& sizes,
                                const SplitLoop& split, std::int64_t at_once) {
  return KernelEmitter(name, exprs, plan, sizes).run_merge(split, at_once);
}

}  // namespace tilewright::passes::fusion
