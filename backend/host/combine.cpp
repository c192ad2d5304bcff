// Emits combine regions, and finds the identities of single ops.
#include "backend/host/combine.h"

#include <cmath>
#include <unordered_map>

#include "backend/lowering/elementwise.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;

std::optional<OpKind> single_op(const Function& f, OpId id) {
  const BlockId r = f.region(id);
  if (f.block(r).args.size() != 2) return std::nullopt;
  const OpId yield = f.terminator(r);
  const OpId def = f.value(f.operand(yield, 0)).op;
  if (!def || f.op(def).parent != r || f.block(r).first != def || f.op(def).operands.size() != 2) return std::nullopt;
  const ValueId a = f.arg(r, 0);
  const ValueId b = f.arg(r, 1);
  const auto& x = f.op(def).operands;
  if (!((x[0] == a && x[1] == b) || (x[0] == b && x[1] == a))) return std::nullopt;
  return f.kind(def);
}

std::optional<std::uint64_t> identity_bits(OpKind k, Type t) {
  const ir::Element e = t.element();
  const bool floating = t.is_float();
  const int width = ir::bits(e);
  const std::uint64_t ones = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  switch (k) {
    case OpKind::add_: return floating ? ir::element_bits(e, -0.0) : 0;
    case OpKind::mul_: return ir::element_bits(e, std::int64_t{1});
    case OpKind::bit_and_: return ones;
    case OpKind::bit_or_:
    case OpKind::bit_xor_: return 0;
    case OpKind::maximum_:
      if (floating) return ir::element_bits(e, -HUGE_VAL);
      return ir::is_signed(e) ? std::uint64_t{1} << (width - 1) : 0;
    case OpKind::minimum_:
      if (floating) return ir::element_bits(e, HUGE_VAL);
      return ir::is_signed(e) ? ones >> 1 : ones;
    default: return std::nullopt;
  }
}

namespace {

/// Partial results of small floats start with the first elements, not with an identity.
std::optional<std::uint64_t> lane_identity(OpKind k, Type t) {
  return t.is_float() && ir::bits(t.element()) < 32 ? std::nullopt : identity_bits(k, t);
}

}  // namespace

bool has_identity(const Function& f, OpId id) {
  const auto k = single_op(f, id);
  return k && lane_identity(*k, f.type(f.operand(id, 0))).has_value();
}

Values identity(Emitter& e, OpId id, unsigned lanes) {
  Values out;
  const auto k = single_op(e.f(), id);
  for (ValueId x : e.f().op(id).operands) {
    const Type t = e.f().type(x).scalar();
    const auto bits = k ? lane_identity(*k, t) : std::nullopt;
    out.push_back(constant_lanes(e.context(), t, bits.value_or(0), lanes > 1 ? lanes : 0));
  }
  return out;
}

Values combine(Emitter& e, OpId id, const Values& earlier, const Values& later) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const BlockId region = f.region(id);
  std::unordered_map<std::uint32_t, Value*> values;
  const std::size_t n = earlier.size();
  for (std::size_t i = 0; i < n; ++i) {
    values[f.arg(region, static_cast<int>(i)).index] = earlier[i];
    values[f.arg(region, static_cast<int>(i + n)).index] = later[i];
  }
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(earlier[0]->getType());
  const auto splat = [&](Value* s) { return vector ? b.CreateVectorSplat(vector->getNumElements(), s) : s; };
  const auto look_up = [&](ValueId v) -> Value* {
    const auto it = values.find(v.index);
    return it != values.end() ? it->second : splat(e.scalar(v));  // defined outside of the region
  };
  for (OpId inner : f.ops(region)) {
    const auto& op = f.op(inner);
    Values operands;
    std::vector<Type> types;
    for (ValueId x : op.operands) {
      operands.push_back(look_up(x));
      types.push_back(f.type(x));
    }
    if (op.kind == OpKind::yield_) return operands;
    const Type t = f.type(op.results[0]);
    const auto axis = static_cast<std::size_t>(f.attr(inner, AttrName::axis));
    Value*& result = values[op.results[0].index];
    switch (op.kind) {
      case OpKind::constant_:
        result = constant_lanes(e.context(), t, static_cast<std::uint64_t>(f.attr(inner, AttrName::value)),
                                vector ? vector->getNumElements() : 0);
        break;
      case OpKind::program_id_: result = splat(e.program_id(axis)); break;
      case OpKind::num_programs_: result = splat(e.grid_extent(axis)); break;
      case OpKind::reshape_:
      case OpKind::broadcast_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: result = operands[0]; break;  // a hint on a scalar
      default: result = lower_elementwise(b, e.target(), op.kind, types, t, operands);
    }
  }
  TW_UNREACHABLE("a region without yield");
}

}  // namespace tilewright::backend::host
