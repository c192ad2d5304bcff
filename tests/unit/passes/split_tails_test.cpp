// What split_tails asks of a tile before it leaves the mask out is exactly that the mask holds everywhere.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "tileir/interpreter.h"
#include "tileir/parser.h"
#include "tileir/verifier.h"

namespace tilewright::passes {
namespace {

// Stores where `base + (lo ... lo + 31) op n`, counted in T, and says where.
template <class T>
void check_all(const std::string& type, const std::string& op, bool is_swapped, std::int64_t lo) {
  const std::string text = fmt::format(R"(kernel @masked(%x: ptr<f32> {{divisible_by = 16}}, %base: {0}, %n: {0}) {{
    %a = arange {{lo = 0, hi = 32}} : i32[32]
    %shifted = arange {{lo = {2}, hi = {3}}} : i32[32]
    %bb = broadcast %base : {0}[32]
    %at = add %bb, %shifted : {0}[32]
    %nb = broadcast %n : {0}[32]
    %live = {1} : i1[32]
    %xb = broadcast %x : ptr<f32>[32]
    %xp = add_ptr %xb, %a : ptr<f32>[32]
    %one = constant {{value = 1.0}} : f32[32]
    store %xp, %one, %live
  }})",
                                       type, op + (is_swapped ? " %nb, %at" : " %at, %nb"), lo, lo + 32);
  const ir::Function original = ir::parse(text, "test.tile").functions.at(0);
  ir::Function split = original;
  PassContext context;
  context.target.kind = ir::TargetDesc::Kind::nvptx;
  context.target.sm = 80;
  REQUIRE(split_tails(split, context));
  REQUIRE(ir::verify(split).empty());
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  std::vector<T> ends{kLeast, static_cast<T>(kLeast + 1), static_cast<T>(kLeast + 40), 0, 1, 31, 32, 33, 100, static_cast<T>(kMost - 40),
                      static_cast<T>(kMost - 1), kMost};
  int whole = 0, partial = 0;
  for (T base : ends)
    for (T end : ends)
      for (int step = -34; step <= 34; ++step) {
        const T n = static_cast<T>(static_cast<std::uint64_t>(end) + static_cast<std::uint64_t>(step));  // wraps
        const auto stored = [&](const ir::Function& f) {
          std::vector<float> x(32, -1);
          const std::uint64_t words[] = {reinterpret_cast<std::uint64_t>(x.data()), static_cast<std::uint32_t>(base),
                                         static_cast<std::uint32_t>(n)};
          ir::interpret(f, words);
          return x;
        };
        const std::vector<float> want = stored(original);
        CAPTURE(base);
        CAPTURE(n);
        REQUIRE(stored(split) == want);
        const auto count = std::count(want.begin(), want.end(), 1.0f);
        whole += count == 32;
        partial += count > 0 && count < 32;
      }
  CHECK(whole > 100);
  CHECK(partial > 100);
}

}  // namespace

TEST_CASE("split_tails: a tile goes without its mask only if all of it passes, at the ends of the range too") {
  check_all<std::int32_t>("i32", "lt", false, 0);
  check_all<std::int32_t>("i32", "le", false, 0);
  check_all<std::int32_t>("i32", "gt", true, 32);
  check_all<std::int32_t>("i32", "ge", true, 0);
}

}  // namespace tilewright::passes
