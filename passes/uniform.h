// Tiles of which every element is one scalar: constants and broadcasts of scalars.
#pragma once
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

inline bool is_uniform(const ir::Function& f, ir::ValueId v) {
  if (f.constant_bits(v)) return true;
  const ir::OpId b = f.defined_by(v, ir::OpKind::broadcast_);
  return b && f.type(f.operand(b, 0)).is_scalar();
}

/// The scalar that every element of an integer tile is, as this element (extended by its own sign).  Requires: is_uniform.
inline ir::ValueId uniform_scalar(Rewriter& rw, ir::ValueId v, ir::Element as) {
  const ir::Function& f = rw.ir();
  if (const auto c = f.constant_bits(v)) return rw.constant(ir::Type(as), ir::integer_value(f.type(v).element(), *c));
  return rw.cast(f.operand(f.defined_by(v, ir::OpKind::broadcast_), 0), as);
}

}  // namespace tilewright::passes
