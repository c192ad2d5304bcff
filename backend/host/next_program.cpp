// Differentiates addresses by the number of the program.
#include "backend/host/next_program.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;

namespace {

class Differences {
 public:
  explicit Differences(Emitter& e) : e_(e), b_(e.b()), f_(e.f()) {}

  /// By how much an integer, or a pointer in bytes, grows from this program to the next; the same for all elements. Null: 0. None: unknown.
  std::optional<Value*> of(ValueId v) {
    const OpId id = f_.value(v).op;
    if (!id) return f_.value(v).block == f_.body() ? std::optional<Value*>(nullptr) : std::nullopt;
    const auto operand = [&](int i) { return f_.operand(id, i); };
    switch (f_.kind(id)) {
      case OpKind::program_id_: return f_.attr(id, ir::AttrName::axis) == 0 ? e_.i64(1) : nullptr;
      case OpKind::constant_:
      case OpKind::arange_:
      case OpKind::num_programs_:
      case OpKind::div_: return nullptr;
      case OpKind::cast_:
        if (!f_.type(v).is_integer() || !f_.type(operand(0)).is_integer()) return std::nullopt;
        return of(operand(0));
      case OpKind::rem_:
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: return of(operand(0));
      case OpKind::add_: return sum(of(operand(0)), of(operand(1)));
      case OpKind::add_ptr_: return sum(of(operand(0)), times(of(operand(1)), e_.i64(f_.type(v).element_bytes())));
      case OpKind::mul_: {
        const auto x = of(operand(0)), y = of(operand(1));
        if (!x || !y || (*x && *y)) return std::nullopt;
        if (!*x && !*y) return nullptr;
        return times(*x ? x : y, number(operand(*x ? 1 : 0)));
      }
      default: return std::nullopt;
    }
  }

 private:
  std::optional<Value*> sum(std::optional<Value*> x, std::optional<Value*> y) {
    if (!x || !y) return std::nullopt;
    return !*x ? *y : !*y ? *x : b_.CreateAdd(*x, *y);
  }
  std::optional<Value*> times(std::optional<Value*> x, Value* factor) {
    if (!x || (*x && !factor)) return std::nullopt;
    return *x ? b_.CreateMul(*x, factor) : nullptr;
  }
  /// An integer that is the same for all elements, as i64; null if it is none.
  Value* number(ValueId v) {
    while (!f_.type(v).is_scalar()) {
      const OpId id = f_.value(v).op;
      if (const auto bits = f_.constant_bits(v)) return e_.i64(ir::integer_value(f_.type(v).element(), *bits));
      if (!id || (f_.kind(id) != OpKind::broadcast_ && f_.kind(id) != OpKind::reshape_)) return nullptr;
      v = f_.operand(id, 0);
    }
    if (!f_.type(v).is_integer()) return nullptr;
    return b_.CreateIntCast(e_.scalar(v), b_.getInt64Ty(), ir::is_signed(f_.type(v).element()));
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Function& f_;
};

}  // namespace

Value* distance_to_next_program(Emitter& e, ValueId pointer) {
  const auto distance = Differences(e).of(pointer);
  return distance ? *distance : nullptr;
}

namespace {

/// The tiles that the items of a step read.
std::set<ValueId> tiles_read(const Function& f, const EvaluationPlan& plan, const Step& step) {
  std::set<ValueId> tiles;
  for (const Item& item : step.items) {
    if (!item.op)
      tiles.insert(plan.resolve(item.fill).value);
    else
      for (ValueId x : f.op(item.op).operands) tiles.insert(plan.resolve(x).value);
  }
  return tiles;
}

}  // namespace

std::vector<OpId> loads_before(const Function& f, const EvaluationPlan& plan, const Step& step) {
  const std::vector<Step>& steps = plan.block(f.body()).steps;
  const auto number = [&](const Step& each) { return &each - steps.data(); };
  if (!step.is_loops || std::none_of(steps.begin(), steps.end(), [&](const Step& each) { return &each == &step; })) return {};
  std::set<ValueId> read = tiles_read(f, plan, step);
  std::erase_if(read, [&](ValueId tile) { return !f.defined_by(tile, OpKind::load_); });
  std::vector<OpId> found;
  if (read.empty()) return found;
  for (const Step& before : steps) {
    if (number(before) >= number(step)) break;
    if (!before.is_loops || before.extents != step.extents) continue;
    for (const Item& item : before.items) {
      if (!item.op || item.is_recomputed || f.kind(item.op) != OpKind::load_ || f.attr(item.op, ir::AttrName::is_volatile) != 0) continue;
      const ValueId tile = f.result(item.op);
      if (!read.contains(tile)) continue;
      const auto reads = [&](const Step& each) { return each.is_loops && tiles_read(f, plan, each).contains(tile); };
      const auto first = std::find_if(steps.begin() + number(before) + 1, steps.end(), reads);
      if (first != steps.end() && &*first == &step) found.push_back(item.op);
    }
  }
  return found;
}

}  // namespace tilewright::backend::host
