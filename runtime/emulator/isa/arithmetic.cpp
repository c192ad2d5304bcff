// Arithmetic with the same name for integers and floats: the type selects the decoder.
#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {

void decode_arithmetic(Decoder& d) {
  const auto type = d.last_type();
  if (!type) d.fail("a type is missing");
  switch (*type) {
    case Type::f32:
    case Type::f64: return decode_float(d);
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2: return decode_half(d);
    default: break;
  }
  if (d.has("cc")) return decode_multiword(d);
  decode_integer(d);
}

}  // namespace tilewright::rt::emulator
