// Recognises splats: constants and broadcasts of scalars.
#include "tileir/splat.h"

#include "tileir/op_kind.h"

namespace tilewright::ir {

bool is_splat(const Function& f, ValueId v) {
  if (f.constant_bits(v)) return true;
  const OpId broadcast = f.defined_by(v, OpKind::broadcast_);
  return broadcast && f.type(f.operand(broadcast, 0)).is_scalar();
}

std::optional<std::int64_t> constant_integer(const Function& f, ValueId v) {
  const auto bits = f.constant_bits(v);
  if (!bits || !f.type(v).is_integer()) return std::nullopt;
  return integer_value(f.type(v).element(), *bits);
}

ValueId splat_scalar(Builder& b, ValueId v, Element as) {
  const Function& f = b.function();
  if (const auto c = f.constant_bits(v)) return b.constant(Type(as), integer_value(f.type(v).element(), *c));
  return b.cast(f.operand(f.defined_by(v, OpKind::broadcast_), 0), as);
}

}  // namespace tilewright::ir
