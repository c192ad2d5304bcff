// Which family an instruction belongs to.
#include "runtime/emulator/program/families.h"

#include <unordered_map>

namespace tilewright::rt::emulator {
namespace {

void decode_arithmetic(Decoder& decoder) {
  const auto type = decoder.last_type();
  if (!type) decoder.fail("a type is missing");
  switch (*type) {
    case Type::f32:
    case Type::f64: return decode_float(decoder);
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2: return decode_half(decoder);
    default: break;
  }
  for (std::string_view modifier : decoder.modifiers())
    if (modifier == "cc") return decode_multiword(decoder);
  decode_integer(decoder);
}

}  // namespace

Decode decoder_of(std::string_view base) {
  static const std::unordered_map<std::string_view, Decode> kDecoders = {
      {"add", decode_arithmetic},
      {"sub", decode_arithmetic},
      {"mul", decode_arithmetic},
      {"mad", decode_arithmetic},
      {"fma", decode_arithmetic},
      {"div", decode_arithmetic},
      {"rem", decode_integer},
      {"abs", decode_arithmetic},
      {"neg", decode_arithmetic},
      {"min", decode_arithmetic},
      {"max", decode_arithmetic},
      {"sad", decode_integer},
      {"mul24", decode_integer},
      {"mad24", decode_integer},
      {"dp4a", decode_integer},
      {"dp2a", decode_integer},
      {"vadd2", decode_video},
      {"vadd4", decode_video},
      {"vsub2", decode_video},
      {"vsub4", decode_video},
      {"vabsdiff2", decode_video},
      {"vabsdiff4", decode_video},
      {"vmin2", decode_video},
      {"vmin4", decode_video},
      {"vmax2", decode_video},
      {"vmax4", decode_video},
      {"addc", decode_multiword},
      {"subc", decode_multiword},
      {"madc", decode_multiword},
      {"and", decode_logic},
      {"or", decode_logic},
      {"xor", decode_logic},
      {"not", decode_logic},
      {"cnot", decode_logic},
      {"lop3", decode_logic},
      {"shl", decode_bits},
      {"shr", decode_bits},
      {"shf", decode_bits},
      {"bfe", decode_bits},
      {"bfi", decode_bits},
      {"bmsk", decode_bits},
      {"szext", decode_bits},
      {"brev", decode_bits},
      {"popc", decode_bits},
      {"clz", decode_bits},
      {"bfind", decode_bits},
      {"fns", decode_bits},
      {"prmt", decode_bits},
      {"copysign", decode_float},
      {"testp", decode_float},
      {"rcp", decode_special},
      {"sqrt", decode_special},
      {"rsqrt", decode_special},
      {"sin", decode_special},
      {"cos", decode_special},
      {"lg2", decode_special},
      {"ex2", decode_special},
      {"tanh", decode_special},
      {"setp", decode_setp},
      {"set", decode_set},
      {"selp", decode_select},
      {"slct", decode_select},
      {"cvt", decode_convert},
      {"mov", decode_move},
      {"cvta", decode_cvta},
      {"isspacep", decode_isspacep},
      {"ld", decode_load},
      {"ldu", decode_load},
      {"st", decode_store},
      {"prefetch", decode_hint},
      {"prefetchu", decode_hint},
      {"discard", decode_hint},
      {"applypriority", decode_hint},
      {"createpolicy", decode_createpolicy},
      {"atom", decode_atomic},
      {"red", decode_atomic},
      {"shfl", decode_shuffle},
      {"vote", decode_vote},
      {"match", decode_match},
      {"redux", decode_redux},
      {"activemask", decode_activemask},
      {"elect", decode_elect},
      {"bar", decode_barrier},
      {"barrier", decode_barrier},
      {"membar", decode_fence},
      {"fence", decode_fence},
      {"nanosleep", decode_nanosleep},
      {"cp", decode_async_copy},
      {"mbarrier", decode_mbarrier},
      {"tensormap", decode_tensormap},
      {"mapa", decode_mapa},
      {"getctarank", decode_getctarank},
      {"griddepcontrol", decode_griddepcontrol},
      {"ldmatrix", decode_ldmatrix},
      {"stmatrix", decode_stmatrix},
      {"movmatrix", decode_movmatrix},
      {"mma", decode_mma},
      {"wmma", decode_wmma},
      {"wgmma", decode_wgmma},
      {"setmaxnreg", decode_setmaxnreg},
      {"bra", decode_branch},
      {"brx", decode_indexed},
      {"ret", decode_return},
      {"exit", decode_exit},
      {"trap", decode_trap},
      {"brkpt", decode_trap},
      {"call", decode_call},
  };
  const auto found = kDecoders.find(base);
  return found == kDecoders.end() ? nullptr : found->second;
}

}  // namespace tilewright::rt::emulator
