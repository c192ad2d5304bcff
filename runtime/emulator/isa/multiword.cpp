// Integer arithmetic over several words: instructions that write a carry or borrow to the flag, or read it from there.
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct CarryOptions {
  bool takes_carry = false, leaves_carry = false, subtracts = false, multiplies = false, takes_high_word = false;
};
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

template <class T, bool Signed>
T product(T a, T b, bool high) {
  if (!high) return static_cast<T>(a * b);
  using S = std::make_signed_t<T>;
  if constexpr (Signed) return static_cast<T>((static_cast<s128>(static_cast<S>(a)) * static_cast<S>(b)) >> (8 * sizeof(T)));
  return static_cast<T>((static_cast<u128>(a) * b) >> (8 * sizeof(T)));
}

template <class T, bool Signed>
void with_carry(Warp& warp, const Instruction& i, Mask mask) {
  Lanes<T> a = read<T>(warp, i.slot[1]), b = read<T>(warp, i.slot[2]), result;
  const auto& options = i.options<CarryOptions>();
  if (options.multiplies) {
    for (int lane = 0; lane < kLanes; ++lane) a[lane] = product<T, Signed>(a[lane], b[lane], options.takes_high_word);
    b = read<T>(warp, i.slot[3]);
  }
  const Mask taken = options.takes_carry ? warp.carry : 0;
  Mask left = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u128 in = (taken >> lane) & 1;
    const u128 wide = options.subtracts ? static_cast<u128>(a[lane]) - b[lane] - in : static_cast<u128>(a[lane]) + b[lane] + in;
    result[lane] = static_cast<T>(wide);
    left |= static_cast<Mask>((wide >> (8 * sizeof(T))) & 1) << lane;
  }
  write(warp, i.slot[0], result, mask);
  if (options.leaves_carry) warp.carry = (warp.carry & ~mask) | (left & mask);
}

}  // namespace

void decode_multiword(Decoder& d) {
  d.out.category = Category::integer;
  const std::string_view base = d.base();
  const bool multiplies = base.starts_with("mad");
  CarryOptions& options = d.options<CarryOptions>();
  options.takes_carry = base.ends_with("c");
  options.leaves_carry = d.take("cc");
  options.subtracts = base.starts_with("sub");
  options.multiplies = multiplies;
  if (multiplies) {
    options.takes_high_word = d.take_one({"lo", "hi"}, "one of '.lo' and '.hi' is missing") == 1;
  }
  const Type type = d.take_type();
  const int bytes = bytes_of(type);
  if (bytes < 4 || is_float(type)) d.fail("no instruction of this type: expected an integer of 32 or 64 bits");
  if (is_signed(type))
    d.out.execute = bytes == 4 ? with_carry<u32, true> : with_carry<u64, true>;
  else
    d.out.execute = bytes == 4 ? with_carry<u32, false> : with_carry<u64, false>;
  d.take_operands(bytes, std::vector<int>(multiplies ? 3 : 2, bytes));
}

}  // namespace tilewright::rt::emulator
