// Integer, logic and move instructions of the emulator against C++, on random operands and extreme values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr std::size_t kRows = 2000;
__extension__ using s128 = __int128;
__extension__ using u128 = unsigned __int128;

template <class D, class A, class B, class F>
void check_two(const std::string& op, F f) {
  const auto a = integers<A>(kRows, 1), b = integers<A>(kRows, 2);
  std::vector<B> second(b.begin(), b.end());
  const auto got = apply<D>(op + " $d, $a, $b;", a, second);
  for (std::size_t i = 0; i < kRows; ++i) {
    const D expected = f(a[i], second[i]);
    if (got[i] != expected) {
      FAIL_CHECK(fmt::format("{} of {} and {}: {} instead of {}", op, a[i], second[i], got[i], expected));
      return;
    }
  }
  CHECK(true);
}

template <class T>
void check_arithmetic(const std::string& type) {
  using Wide = std::conditional_t<std::is_signed_v<T>, s128, u128>;
  const auto wrap = [](Wide x) { return static_cast<T>(x); };
  check_two<T, T, T>("add." + type, [&](T a, T b) { return wrap(Wide(a) + b); });
  check_two<T, T, T>("sub." + type, [&](T a, T b) { return wrap(Wide(a) - b); });
  check_two<T, T, T>("mul.lo." + type, [&](T a, T b) { return wrap(Wide(a) * b); });
  check_two<T, T, T>("mul.hi." + type, [&](T a, T b) { return wrap((Wide(a) * b) >> (8 * sizeof(T))); });
  check_two<T, T, T>("min." + type, [&](T a, T b) { return std::min(a, b); });
  check_two<T, T, T>("max." + type, [&](T a, T b) { return std::max(a, b); });
  check_two<T, T, T>("div." + type, [&](T a, T b) { return b == 0 ? static_cast<T>(-1) : wrap(Wide(a) / b); });
  check_two<T, T, T>("rem." + type, [&](T a, T b) { return b == 0 ? a : wrap(Wide(a) % b); });
}

}  // namespace

TEST_CASE("emulator integers: arithmetic of every type wraps as C++'s does") {
  check_arithmetic<u16>("u16");
  check_arithmetic<s16>("s16");
  check_arithmetic<u32>("u32");
  check_arithmetic<s32>("s32");
  check_arithmetic<u64>("u64");
  check_arithmetic<s64>("s64");
}

TEST_CASE("emulator integers: wide products and sums keep all bits") {
  check_two<u32, u16, u16>("mul.wide.u16", [](u16 a, u16 b) { return u32{a} * b; });
  check_two<s32, s16, s16>("mul.wide.s16", [](s16 a, s16 b) { return s32{a} * b; });
  check_two<u64, u32, u32>("mul.wide.u32", [](u32 a, u32 b) { return u64{a} * b; });
  check_two<s64, s32, s32>("mul.wide.s32", [](s32 a, s32 b) { return s64{a} * b; });
  const auto a = integers<s32>(kRows, 3), b = integers<s32>(kRows, 4);
  const auto c = integers<s64>(kRows, 5);
  const auto got = apply<s64>("mad.wide.s32 $d, $a, $b, $c;", a, b, c);
  for (std::size_t i = 0; i < kRows; ++i) REQUIRE(got[i] == static_cast<s64>(static_cast<u64>(s64{a[i]} * b[i]) + static_cast<u64>(c[i])));
}

TEST_CASE("emulator integers: saturation clamps to the type") {
  const auto clamp = [](s64 x) { return static_cast<s32>(std::clamp<s64>(x, INT32_MIN, INT32_MAX)); };
  check_two<s32, s32, s32>("add.sat.s32", [&](s32 a, s32 b) { return clamp(s64{a} + b); });
  check_two<s32, s32, s32>("sub.sat.s32", [&](s32 a, s32 b) { return clamp(s64{a} - b); });
}

TEST_CASE("emulator integers: shifts as far as the width and beyond") {
  check_two<u32, u32, u32>("shl.b32", [](u32 a, u32 n) { return n > 31 ? 0 : a << n; });
  check_two<u32, u32, u32>("shr.u32", [](u32 a, u32 n) { return n > 31 ? 0 : a >> n; });
  check_two<s32, s32, u32>("shr.s32", [](s32 a, u32 n) { return a >> std::min(n, 31u); });
  check_two<u64, u64, u32>("shl.b64", [](u64 a, u32 n) { return n > 63 ? 0 : a << n; });
  check_two<s64, s64, u32>("shr.s64", [](s64 a, u32 n) { return a >> std::min(n, 63u); });
  check_two<u16, u16, u32>("shl.b16", [](u16 a, u32 n) { return static_cast<u16>(n > 15 ? 0 : a << n); });
  check_two<s16, s16, u32>("shr.s16", [](s16 a, u32 n) { return static_cast<s16>(a >> std::min(n, 15u)); });
}

TEST_CASE("emulator integers: bit fields, counts and permutations") {
  const auto a = integers<u32>(kRows, 6), b = integers<u32>(kRows, 7);
  std::vector<u32> position(kRows), length(kRows);
  for (std::size_t i = 0; i < kRows; ++i) position[i] = a[i] % 37, length[i] = b[i] % 37;
  const auto field = apply<u32>("bfe.u32 $d, $a, $b, $c;", a, position, length);
  const auto inserted = apply<u32>("bfi.b32 $d, $a, 0x12345678, $b, $c;", a, position, length);
  const auto signed_field = apply<s32>("bfe.s32 $d, $a, $b, $c;", a, position, length);
  const auto permuted = apply<u32>("prmt.b32 $d, $a, $b, 0x7a41;", a, b);
  const auto logic = apply<u32>("lop3.b32 $d, $a, $b, $c, 0xe8;", a, b, position);
  for (std::size_t i = 0; i < kRows; ++i) {
    const u64 mask = (u64{1} << std::min(length[i], 32u)) - 1;
    REQUIRE(field[i] == static_cast<u32>((u64{a[i]} >> position[i]) & mask));
    const u32 kept = position[i] > 31 ? 0 : static_cast<u32>(mask << position[i]);
    REQUIRE(inserted[i] == ((0x12345678 & ~kept) | (static_cast<u32>(position[i] > 31 ? 0 : u64{a[i]} << position[i]) & kept)));
    if (position[i] < 32 && length[i] > 0 && position[i] + length[i] <= 32)
      REQUIRE(signed_field[i] == static_cast<s32>(a[i] << (32 - position[i] - length[i])) >> (32 - length[i]));
    const u8 bytes[8] = {u8(a[i]), u8(a[i] >> 8), u8(a[i] >> 16), u8(a[i] >> 24), u8(b[i]), u8(b[i] >> 8), u8(b[i] >> 16), u8(b[i] >> 24)};
    REQUIRE(permuted[i] == (u32(bytes[1]) | u32(bytes[4]) << 8 | (bytes[2] & 128 ? 0xffu : 0u) << 16 | u32(bytes[7]) << 24));
    REQUIRE(logic[i] == ((a[i] & b[i]) | (a[i] & position[i]) | (b[i] & position[i])));
  }
  const auto wide = integers<u64>(kRows, 8);
  const auto ones = apply<u32>("popc.b64 $d, $a;", wide), zeros = apply<u32>("clz.b64 $d, $a;", wide),
             top = apply<u32>("bfind.u64 $d, $a;", wide);
  for (std::size_t i = 0; i < kRows; ++i) {
    REQUIRE(ones[i] == static_cast<u32>(std::popcount(wide[i])));
    REQUIRE(zeros[i] == static_cast<u32>(std::countl_zero(wide[i])));
    REQUIRE(top[i] == (wide[i] == 0 ? ~0u : 63u - static_cast<u32>(std::countl_zero(wide[i]))));
  }
}

TEST_CASE("emulator integers: lop3 says whether any bit is set, combined with a predicate") {
  const auto a = integers<u32>(kRows, 13), b = integers<u32>(kRows, 14);
  const std::string begin = "setp.gt.s32 %p1, $b, 0; ", end = " selp.b32 $d, 1, 0, %p2;";
  const auto either = apply<u32>(begin + "lop3.or.b32 %r11|%p2, $a, $b, 0, 0xc0, %p1;" + end, a, b);
  const auto both = apply<u32>(begin + "lop3.and.b32 _|%p2, $a, $b, 0, 0xc0, !%p1;" + end, a, b);
  const auto bits = apply<u32>(begin + "lop3.or.b32 $d|%p2, $a, $b, 0, 0xc0, %p1;", a, b);
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool any = (a[i] & b[i]) != 0, positive = static_cast<s32>(b[i]) > 0;
    REQUIRE(either[i] == (any || positive));
    REQUIRE(both[i] == (any && !positive));
    REQUIRE(bits[i] == (a[i] & b[i]));
  }
}

TEST_CASE("emulator integers: pairs of 16 bits") {
  const auto a = integers<u32>(kRows, 15), b = integers<u32>(kRows, 16);
  const auto check = [&](const std::string& op, auto f) {
    CAPTURE(op);
    const auto got = apply<u32>(op + " $d, $a, $b;", a, b);
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto half = [&](int shift) {
        return u32{static_cast<u16>(f(static_cast<u16>(a[i] >> shift), static_cast<u16>(b[i] >> shift)))} << shift;
      };
      REQUIRE(got[i] == (half(0) | half(16)));
    }
  };
  const auto of_signed = [](auto f) { return [f](u16 x, u16 y) { return f(static_cast<s16>(x), static_cast<s16>(y)); }; };
  check("add.u16x2", [](u16 x, u16 y) { return x + y; });
  check("add.s16x2", [](u16 x, u16 y) { return x + y; });
  check("min.u16x2", [](u16 x, u16 y) { return std::min(x, y); });
  check("max.u16x2", [](u16 x, u16 y) { return std::max(x, y); });
  check("min.s16x2", of_signed([](s16 x, s16 y) { return std::min(x, y); }));
  check("max.s16x2", of_signed([](s16 x, s16 y) { return std::max(x, y); }));
  check("min.s16x2.relu", of_signed([](s16 x, s16 y) { return std::max<s16>(std::min(x, y), 0); }));
  check("max.relu.s16x2", of_signed([](s16 x, s16 y) { return std::max<s16>(std::max(x, y), 0); }));
}

TEST_CASE("emulator integers: carries go from word to word") {
  const auto a = integers<u64>(kRows, 9), b = integers<u64>(kRows, 10);
  const auto sum = apply<u64>(
      "{ .reg .b32 x, y, u, v; mov.b64 {x, y}, $a; mov.b64 {u, v}, $b; add.cc.u32 x, x, u; addc.u32 y, y, v; mov.b64 $d, {x, y}; }", a, b);
  const auto difference = apply<u64>(
      "{ .reg .b32 x, y, u, v; mov.b64 {x, y}, $a; mov.b64 {u, v}, $b; sub.cc.u32 x, x, u; subc.u32 y, y, v; mov.b64 $d, {x, y}; }", a, b);
  for (std::size_t i = 0; i < kRows; ++i) {
    REQUIRE(sum[i] == a[i] + b[i]);
    REQUIRE(difference[i] == a[i] - b[i]);
  }
}

TEST_CASE("emulator integers: comparisons, combined predicates and selection") {
  const auto a = integers<s32>(kRows, 11), b = integers<s32>(kRows, 12);
  const auto less = apply<u32>("setp.lt.s32 %p1, $a, $b; selp.b32 $d, 1, 0, %p1;", a, b);
  const auto below = apply<u32>("setp.lo.u32 %p1, $a, $b; selp.b32 $d, 1, 0, %p1;", a, b);
  const auto either = apply<u32>(
      "setp.eq.s32 %p1, $a, 0; setp.gt.or.s32 %p2|%p3, $a, $b, !%p1; selp.b32 %r11, 2, 0, %p3; selp.b32 $d, 1, 0, %p2; or.b32 $d, $d, "
      "%r11;",
      a, b);
  const auto all_ones = apply<u32>("set.ge.u32.s32 $d, $a, $b;", a, b);
  for (std::size_t i = 0; i < kRows; ++i) {
    REQUIRE(less[i] == (a[i] < b[i]));
    REQUIRE(below[i] == (static_cast<u32>(a[i]) < static_cast<u32>(b[i])));
    REQUIRE(either[i] == ((a[i] > b[i] || a[i] != 0 ? 1u : 0u) | (!(a[i] > b[i]) || a[i] != 0 ? 2u : 0u)));
    REQUIRE(all_ones[i] == (a[i] >= b[i] ? ~0u : 0u));
  }
}

TEST_CASE("emulator integers: halves and bytes of a word") {
  const auto a = integers<u32>(3000, 41), b = integers<u32>(3000, 42), c = integers<u32>(3000, 43);
  const auto difference = apply<u32>("vabsdiff4.u32.u32.u32 $d, $a, $b, $c;", a, b, c),
             sum = apply<u32>("vabsdiff4.u32.u32.u32.add $d, $a, $b, $c;", a, b, c),
             added = apply<u32>("vadd2.s32.s32.s32.sat $d, $a, $b, $c;", a, b, c),
             most = apply<u32>("vmax4.s32.s32.s32 $d, $a, $b, $c;", a, b, c),
             least = apply<u32>("vmin2.u32.u32.u32 $d, $a, $b, $c;", a, b, c),
             subtracted = apply<u32>("vsub4.u32.u32.u32 $d, $a, $b, $c;", a, b, c);
  for (std::size_t i = 0; i < a.size(); ++i) {
    u32 d = 0, s = c[i], m = 0, t = 0, h = 0, l = 0;
    for (int shift = 0; shift < 32; shift += 8) {
      const int x = (a[i] >> shift) & 255, y = (b[i] >> shift) & 255;
      d |= static_cast<u32>(std::abs(x - y)) << shift;
      s += static_cast<u32>(std::abs(x - y));
      m |= static_cast<u32>(static_cast<u8>(std::max(static_cast<s8>(x), static_cast<s8>(y)))) << shift;
      t |= static_cast<u32>(static_cast<u8>(x - y)) << shift;
    }
    for (int shift = 0; shift < 32; shift += 16) {
      const u16 x = static_cast<u16>(a[i] >> shift), y = static_cast<u16>(b[i] >> shift);
      h |= static_cast<u32>(static_cast<u16>(std::clamp(static_cast<s16>(x) + static_cast<s16>(y), -32768, 32767))) << shift;
      l |= static_cast<u32>(std::min(x, y)) << shift;
    }
    CHECK(difference[i] == d);
    CHECK(sum[i] == s);
    CHECK(most[i] == m);
    CHECK(subtracted[i] == t);
    CHECK(added[i] == h);
    CHECK(least[i] == l);
  }
}

}  // namespace tilewright::rt::emulator
