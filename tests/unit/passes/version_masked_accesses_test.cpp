// version_masked_accesses against the interpreter: a masked store writes the same elements before and after the pass, for bounds at the
// limits of the integer types, where the condition of the fast path may wrap.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "passes/all_passes.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/text/parser.h"
#include "tileir/verifier.h"

namespace tilewright::passes {
namespace {

PassContext gpu() {
  PassContext context;
  context.target.kind = ir::TargetDesc::Kind::nvptx;
  context.target.sm = 80;
  return context;
}

/// Both limits of the type, values near them, and small ones around a tile's 32 elements.
template <class T>
std::vector<T> edges() {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  return {kLeast, static_cast<T>(kLeast + 1), static_cast<T>(kLeast + 40), 0,    1, 31, 32, 33,
          100,    static_cast<T>(kMost - 40), static_cast<T>(kMost - 1),   kMost};
}
/// A kernel argument: the bits of the integer, zero-extended.
template <class T>
std::uint64_t word(T v) {
  return static_cast<std::make_unsigned_t<T>>(v);
}

/// Checks a kernel of 32 elements that stores where its mask is true:
///
///   mask[k] = T(base + B(lo + k)) op bound[k],   k = 0 ... 31     (`is_swapped`: bound[k] op T(...))
///   bound[k] = n, or n + T(3 + k) if `both_count`, so that both sides of the comparison vary
///
/// `base` is of type B (`base_type`), where the sum wraps; `n` is of type T (`type`). Runs it for all base and n near the edges of their
/// types, and requires that the kernel after the pass stores the same elements, and that all-true and partly true masks occurred.
template <class B, class T>
void check_all(const std::string& base_type, const std::string& type, const std::string& op, bool is_swapped, std::int64_t lo,
               bool both_count = false) {
  const auto cast = [](const std::string& from, const std::string& to, const std::string& result, const std::string& x) {
    return from == to ? "" : fmt::format("{} = cast {} : {}[32]", result, x, to);
  };
  const std::string offset = base_type == "i32" ? "%shifted" : "%offset", at = type == base_type ? "%sum" : "%at",
                    high = both_count ? "%high" : "%n0";
  const std::string more = type == "i32" ? "%m" : "%more";
  const std::string varying_bound = fmt::format("%m = arange {{lo = 3, hi = 35}} : i32[32]\n{0}\n%high = add %n0, {1} : {2}[32]",
                                                cast("i32", type, more, "%m"), more, type);
  const std::string text =
      fmt::format(R"(kernel @masked(%x: ptr<f32> {{divisible_by = 16}}, %base: {4}, %n: {0}) {{
    %a = arange {{lo = 0, hi = 32}} : i32[32]
    %shifted = arange {{lo = {2}, hi = {3}}} : i32[32]
    {5}
    %bb = broadcast %base : {4}[32]
    %sum = add %bb, {6} : {4}[32]
    {7}
    %n0 = broadcast %n : {0}[32]
    {8}
    %live = {1} : i1[32]
    %xb = broadcast %x : ptr<f32>[32]
    %xp = add_ptr %xb, %a : ptr<f32>[32]
    %one = constant {{value = 1.0}} : f32[32]
    store %xp, %one, %live
  }})",
                  type, fmt::format("{} {}, {}", op, is_swapped ? high : at, is_swapped ? at : high), lo, lo + 32, base_type,
                  cast("i32", base_type, offset, "%shifted"), offset, cast(base_type, type, at, "%sum"), both_count ? varying_bound : "");
  const ir::Function original = ir::parse(text, "test.tile").functions.at(0);
  ir::Function versioned = original;
  REQUIRE(version_masked_accesses(versioned, gpu()));
  REQUIRE(ir::verify(versioned).empty());
  int all_true = 0, partly_true = 0;
  for (B base : edges<B>())
    for (T edge : edges<T>())
      for (int step = -34; step <= 34; ++step) {
        const T n = static_cast<T>(static_cast<std::uint64_t>(edge) + static_cast<std::uint64_t>(step));  // wraps
        const auto stored = [&](const ir::Function& f) {
          std::vector<float> x(32, -1);
          const std::uint64_t words[] = {reinterpret_cast<std::uint64_t>(x.data()), word(base), word(n)};
          ir::interpret(f, words);
          return x;
        };
        const std::vector<float> want = stored(original);
        CAPTURE(base);
        CAPTURE(n);
        REQUIRE(stored(versioned) == want);
        const auto count = std::count(want.begin(), want.end(), 1.0f);
        all_true += count == 32;
        partly_true += count > 0 && count < 32;
      }
  CHECK(all_true > 100);
  CHECK(partly_true > 100);
}

}  // namespace

TEST_CASE("version_masked_accesses: a tile goes without its mask only if all of it passes, at the ends of the range too") {
  check_all<std::int32_t, std::int32_t>("i32", "i32", "lt", false, 0);
  check_all<std::int32_t, std::int32_t>("i32", "i32", "le", false, 0);
  check_all<std::int32_t, std::int32_t>("i32", "i32", "gt", true, 32);
  check_all<std::int32_t, std::int32_t>("i32", "i32", "ge", true, 0);
}

TEST_CASE("version_masked_accesses: a lower bound holds for all of a tile if it does for its first element, and none behind it wraps") {
  check_all<std::int32_t, std::int32_t>("i32", "i32", "gt", false, 0);
  check_all<std::int32_t, std::int32_t>("i32", "i32", "le", true, 7);
  check_all<std::int64_t, std::int64_t>("i64", "i64", "ge", false, -5);
  check_all<std::int32_t, std::int64_t>("i32", "i64", "ge", false, 0);
  check_all<std::uint32_t, std::uint32_t>("u32", "u32", "lt", true, 0);
}

TEST_CASE("version_masked_accesses: of two tiles that count up the last of one is below the first of the other") {
  check_all<std::int32_t, std::int32_t>("i32", "i32", "le", false, 0, true);
  check_all<std::int32_t, std::int32_t>("i32", "i32", "gt", false, 0, true);
  check_all<std::int32_t, std::int64_t>("i32", "i64", "lt", false, -9, true);
  check_all<std::uint64_t, std::uint64_t>("u64", "u64", "ge", true, 0, true);
}

TEST_CASE("version_masked_accesses: a mask of 64 bits may be computed from an arange of 32, which is cast before or behind the sum") {
  check_all<std::int64_t, std::int64_t>("i64", "i64", "lt", false, 0);
  check_all<std::int64_t, std::int64_t>("i64", "i64", "ge", true, -5);
  check_all<std::int32_t, std::int64_t>("i32", "i64", "lt", false, 0);
  check_all<std::int32_t, std::int64_t>("i32", "i64", "le", false, -32);
}

TEST_CASE("version_masked_accesses: numbers without a sign wrap elsewhere") {
  check_all<std::uint32_t, std::uint32_t>("u32", "u32", "lt", false, 0);
  check_all<std::uint64_t, std::uint64_t>("u64", "u64", "gt", true, 32);
  check_all<std::uint32_t, std::int64_t>("u32", "i64", "le", false, 0);
  check_all<std::int32_t, std::uint64_t>("i32", "u64", "lt", false, -7);
}

TEST_CASE("version_masked_accesses: a mask stays where an arange is cast to what may not hold it") {
  for (const char* type : {"i8", "u32"}) {
    ir::Function f = ir::parse(fmt::format(R"(kernel @masked(%x: ptr<f32> {{divisible_by = 16}}, %n: {0}) {{
    %a = arange {{lo = 0, hi = 512}} : i32[512]
    %shifted = arange {{lo = -256, hi = 256}} : i32[512]
    %at = cast %shifted : {0}[512]
    %nb = broadcast %n : {0}[512]
    %live = lt %at, %nb : i1[512]
    %xb = broadcast %x : ptr<f32>[512]
    %xp = add_ptr %xb, %a : ptr<f32>[512]
    %one = constant {{value = 1.0}} : f32[512]
    store %xp, %one, %live
  }})",
                                           type),
                               "test.tile")
                         .functions.at(0);
    CAPTURE(type);
    CHECK_FALSE(version_masked_accesses(f, gpu()));
  }
}

}  // namespace tilewright::passes
