// Converts type codes, whose numbers are those of tile IR's elements.
#include "frontend/trace/ir_type.h"

namespace tilewright::detail {

ir::Type ir_type(TypeCode c) {
  const ir::Element e = static_cast<ir::Element>(c.element);
  if (c.indirection == Indirection::value) return ir::Type(e);
  return ir::Type::pointer(e, c.indirection == Indirection::const_pointer);
}
static_assert(static_cast<int>(Code::boolean) == static_cast<int>(ir::Element::boolean) &&
              static_cast<int>(Code::i64) == static_cast<int>(ir::Element::i64) &&
              static_cast<int>(Code::u8) == static_cast<int>(ir::Element::u8) &&
              static_cast<int>(Code::f16) == static_cast<int>(ir::Element::f16) &&
              static_cast<int>(Code::bf16) == static_cast<int>(ir::Element::bf16) &&
              static_cast<int>(Code::f32) == static_cast<int>(ir::Element::f32) &&
              static_cast<int>(Code::f64) == static_cast<int>(ir::Element::f64) &&
              static_cast<int>(Code::f8e4m3) == static_cast<int>(ir::Element::f8e4m3) &&
              static_cast<int>(Code::f8e5m2) == static_cast<int>(ir::Element::f8e5m2));

}  // namespace tilewright::detail
