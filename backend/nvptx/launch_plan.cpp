// Translates the ops from which tensor maps are made into a recipe.
#include "backend/nvptx/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tilewright/error.h"

namespace tilewright::backend::nvptx {

namespace {

using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using Kind = LaunchRecipe::Kind;

class RecipeBuilder {
 public:
  explicit RecipeBuilder(const ir::Function& f) : f_(f) {}

  TensorMapParameter map_of(OpId id) {
    const auto& operands = f_.op(id).operands;
    const ir::Type map = f_.type(f_.result(id));
    const std::vector<std::int64_t> box = map.box();
    TensorMapParameter m;
    m.element = map.element();
    m.address = step_of(operands[0]);
    m.swizzle_bytes = static_cast<int>(f_.attr(id, ir::AttrName::swizzle));
    // The innermost axis of the parameter is the last one of the op.
    for (std::size_t axis = box.size(); axis-- > 0;) {
      m.box.push_back(static_cast<int>(box[axis]));
      m.extents.push_back(step_of(operands[1 + axis]));
      if (axis + 1 < box.size()) m.strides.push_back(step_of(operands[1 + box.size() + axis]));
    }
    return m;
  }

  /// The numbers behind the extents and the distances.
  std::vector<int> positive_of(OpId id) {
    std::vector<int> steps;
    const auto& operands = f_.op(id).operands;
    for (std::size_t i = 2 * f_.type(f_.result(id)).box().size(); i < operands.size(); ++i) steps.push_back(step_of(operands[i]));
    return steps;
  }

  LaunchRecipe take() { return {std::move(steps_)}; }

 private:
  int add(LaunchRecipe::Step s) {
    const auto known = std::ranges::find(steps_, s);
    if (known != steps_.end()) return static_cast<int>(known - steps_.begin());
    steps_.push_back(s);
    return static_cast<int>(steps_.size()) - 1;
  }
  int constant(std::int64_t v) { return add({Kind::constant, v}); }
  int combine(Kind k, int a, int b) { return add({k, 0, a, b}); }

  /// The number as arithmetic of 32 bits gives it: the lower half, sign-extended.
  int wrapped(int step) { return combine(Kind::shr, combine(Kind::shl, step, constant(32)), constant(32)); }

  int step_of(ValueId v) {
    const auto at = known_.find(v);
    if (at != known_.end()) return at->second;
    const int step = make(v);
    return known_[v] = step;
  }

  int make(ValueId v) {
    const ir::ValueData& d = f_.value(v);
    if (!d.op) return add({Kind::parameter, static_cast<std::int64_t>(d.number)});
    const auto& operands = f_.op(d.op).operands;
    const bool is_narrow = f_.type(v).is_integer() && f_.type(v).element() == ir::Element::i32;
    const auto binary = [&](Kind k) {
      const int step = combine(k, step_of(operands[0]), step_of(operands[1]));
      const bool keeps_range = k == Kind::minimum || k == Kind::maximum || k == Kind::shr;
      return is_narrow && !keeps_range ? wrapped(step) : step;
    };
    switch (f_.kind(d.op)) {
      case OpKind::constant_: return constant(ir::integer_value(f_.type(v).element(), *f_.constant_bits(v)));
      case OpKind::num_programs_: return add({Kind::grid, f_.attr(d.op, ir::AttrName::axis)});
      case OpKind::cast_: return is_narrow ? wrapped(step_of(operands[0])) : step_of(operands[0]);
      case OpKind::add_: return binary(Kind::add);
      case OpKind::sub_: return binary(Kind::sub);
      case OpKind::mul_: return binary(Kind::mul);
      case OpKind::div_: return binary(Kind::div);
      case OpKind::minimum_: return binary(Kind::minimum);
      case OpKind::maximum_: return binary(Kind::maximum);
      case OpKind::shl_: return binary(Kind::shl);
      case OpKind::shr_: return binary(Kind::shr);
      case OpKind::rem_: return combine(Kind::rem, step_of(operands[0]), step_of(operands[1]));
      case OpKind::bit_and_: return combine(Kind::bit_and, step_of(operands[0]), step_of(operands[1]));
      case OpKind::eq_: return combine(Kind::eq, step_of(operands[0]), step_of(operands[1]));
      case OpKind::ne_: return combine(Kind::ne, step_of(operands[0]), step_of(operands[1]));
      case OpKind::lt_: return combine(Kind::lt, step_of(operands[0]), step_of(operands[1]));
      case OpKind::le_: return combine(Kind::le, step_of(operands[0]), step_of(operands[1]));
      case OpKind::gt_: return combine(Kind::lt, step_of(operands[1]), step_of(operands[0]));
      case OpKind::ge_: return combine(Kind::le, step_of(operands[1]), step_of(operands[0]));
      case OpKind::add_ptr_: {
        const int bytes = constant(ir::bytes(f_.type(v).element()));
        return combine(Kind::add, step_of(operands[0]), combine(Kind::mul, step_of(operands[1]), bytes));
      }
      default: TW_UNREACHABLE("the verifier lets the host compute other ops than these");
    }
  }

  const ir::Function& f_;
  std::vector<LaunchRecipe::Step> steps_;
  std::map<ValueId, int> known_;
};

}  // namespace

std::vector<OpId> tensor_maps(const ir::Function& f) {
  std::vector<OpId> all;
  for (OpId id : f.ops(f.body()))
    if (f.kind(id) == OpKind::make_tensor_map_) all.push_back(id);
  return all;
}

LaunchPlan launch_plan(const ir::Function& f) {
  const std::vector<OpId> maps = tensor_maps(f);
  LaunchPlan plan;
  if (maps.empty()) return plan;
  RecipeBuilder builder(f);
  for (OpId id : maps) {
    plan.parameters.emplace_back(builder.map_of(id));
    for (const int step : builder.positive_of(id))
      if (std::ranges::count(plan.positive, step) == 0) plan.positive.push_back(step);
  }
  plan.recipe = builder.take();
  if (const std::string problem = plan_problem(plan, f.params.size()); !problem.empty())
    throw Error(f.where(maps.back()), "make_tensor_map: " + problem);
  return plan;
}

}  // namespace tilewright::backend::nvptx
