// Many integer divisions by one divisor: PTX has one division, and multiplications for the rest.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/unit/backend/ptx_assembler.h"

namespace tilewright::backend {

using testing::checked_ptx;
using testing::compile_for;
using testing::count;

namespace {

/// Divides a tile of 8 elements a thread by what `divisor` makes of the parameter %d.
std::string tile_by(const std::string& divisor, const std::string& type) {
  return fmt::format(R"(kernel @k(%x: ptr<{0}> {{divisible_by = 16}}, %d: {0}) {{
  %i = arange {{lo = 0, hi = 1024}} : i32[1024]
  %b = broadcast %x : ptr<{0}>[1024]
  %p = add_ptr %b, %i : ptr<{0}>[1024]
  %v = load %p : {0}[1024]
  %n = {1} : {0}[1024]
  %q = div %v, %n : {0}[1024]
  %r = rem %v, %n : {0}[1024]
  %s = sub %q, %r : {0}[1024]
  store %p, %s
}})",
                     type, divisor);
}

int divisions(const std::string& ptx) { return count(ptx, "\tdiv.") + count(ptx, "\trem."); }

}  // namespace

TEST_CASE("nvptx division: a tile is divided by a scalar with one division, and two products for each element") {
  for (const char* type : {"i32", "u32", "i64", "u64"}) {
    CAPTURE(type);
    const std::string ptx = checked_ptx(compile_for(tile_by("broadcast %d", type), "sm_80"));
    CHECK(divisions(ptx) == 1);
    CHECK(count(ptx, "mul.hi.u") == 8);
  }
}

TEST_CASE("nvptx division: elements that have divisors of their own are divided, and so is a scalar by a scalar") {
  CHECK(divisions(checked_ptx(compile_for(tile_by("add %v, %v", "u32"), "sm_80"))) >= 8);
  const std::string ptx = checked_ptx(compile_for(R"(kernel @k(%x: ptr<i32>, %d: i32) {
  %p = program_id {axis = 0} : i32
  %q = div %p, %d : i32
  %r = rem %p, %d : i32
  %s = add %q, %r : i32
  store %x, %s
})",
                                                  "sm_80"));
  CHECK(count(ptx, "mul.hi") == 0);
  CHECK(divisions(ptx) >= 1);
}

TEST_CASE("nvptx division: a loop divides by what does not change in it without a division, by what does with one") {
  const auto loop = [](const char* by) {
    return checked_ptx(compile_for(fmt::format(R"(kernel @k(%x: ptr<i32>, %d: i32) {{
  %zero = constant {{value = 0}} : i32
  %one = constant {{value = 1}} : i32
  %last, %sum = for %zero, %d, %one, %d, %zero : i32, i32 (%k: i32, %c: i32, %s: i32) {{
    %q = div %k, {0} : i32
    %t = add %s, %q : i32
    %next = bit_xor %c, %t : i32
    yield %next, %t
  }}
  store %x, %sum
  %t = arange {{lo = 0, hi = 1024}} : i32[1024]
  %n = broadcast %last : i32[1024]
  %q = div %t, %n : i32[1024]
  %b = broadcast %x : ptr<i32>[1024]
  %p = add_ptr %b, %t : ptr<i32>[1024]
  store %p, %q
}})",
                                               by),
                                   "sm_80"));
  };
  const std::string same = loop("%d"), other = loop("%c");
  CHECK(divisions(same) == 2);
  CHECK(count(same, "mul.hi.u32") == 1 + 8);
  CHECK(divisions(other) == 2);
  CHECK(count(other, "mul.hi.u32") == 8);
}

}  // namespace tilewright::backend
