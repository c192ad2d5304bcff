// Launch recipes: what each step computes, and plans that are refused.
#include "backend/launch_recipe.h"

#include <doctest/doctest.h>

#include <climits>
#include <cstring>

#include "tests/unit/backend/sample_plan.h"

namespace tilewright::backend {
namespace {

using Kind = LaunchRecipe::Kind;
using Step = LaunchRecipe::Step;

constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX;

std::int64_t result_of(const LaunchRecipe& recipe, const std::vector<ir::Type>& params = {},
                       const std::vector<std::uint64_t>& arguments = {}) {
  std::vector<std::int64_t> numbers(recipe.steps.size());
  evaluate(recipe, params, arguments, {5, 6, 7}, numbers);
  return numbers.back();
}

std::int64_t combine(Kind kind, std::int64_t a, std::int64_t b) {
  return result_of({{{Kind::constant, a}, {Kind::constant, b}, {kind, 0, 0, 1}}});
}

TEST_CASE("launch_recipe: arithmetic of 64-bit integers that wraps") {
  CHECK(combine(Kind::add, 3, -5) == -2);
  CHECK(combine(Kind::add, kMost, 1) == kLeast);
  CHECK(combine(Kind::sub, 3, 5) == -2);
  CHECK(combine(Kind::sub, kLeast, 1) == kMost);
  CHECK(combine(Kind::mul, -3, 5) == -15);
  CHECK(combine(Kind::mul, kMost, 2) == -2);
  CHECK(combine(Kind::div, 7, 2) == 3);
  CHECK(combine(Kind::div, -7, 2) == -3);
  CHECK(combine(Kind::div, kLeast, -1) == kLeast);
  CHECK(combine(Kind::minimum, -3, 2) == -3);
  CHECK(combine(Kind::maximum, -3, 2) == 2);
  CHECK(combine(Kind::shl, 3, 4) == 48);
  CHECK(combine(Kind::shl, 1, 63) == kLeast);
  CHECK(combine(Kind::shl, 1, 64) == 0);
  CHECK(combine(Kind::shr, 48, 4) == 3);
  CHECK(combine(Kind::shr, -48, 4) == -3);
  CHECK(combine(Kind::shr, -1, 64) == -1);
  CHECK(combine(Kind::shr, kMost, 64) == 0);
  CHECK(combine(Kind::rem, -7, 3) == -1);
  CHECK(combine(Kind::rem, kLeast, -1) == 0);
  CHECK(combine(Kind::bit_and, -4, 7) == 4);
  for (const auto& [a, b] : {std::pair{3, 5}, {5, 5}, {5, -3}}) {
    CHECK(combine(Kind::eq, a, b) == (a == b));
    CHECK(combine(Kind::ne, a, b) == (a != b));
    CHECK(combine(Kind::lt, a, b) == (a < b));
    CHECK(combine(Kind::le, a, b) == (a <= b));
  }
  CHECK_THROWS_AS(combine(Kind::div, 1, 0), RecipeError);
  CHECK_THROWS_AS(combine(Kind::rem, 1, 0), RecipeError);
}

TEST_CASE("launch_recipe: arguments are extended by their types, and the grid is the user's") {
  const auto argument = [](ir::Type t, std::uint64_t word) { return result_of({{{Kind::parameter, 0}}}, {t}, {word}); };
  CHECK(argument(ir::Type(ir::Element::i32), 0xffffffff) == -1);
  CHECK(argument(ir::Type(ir::Element::i32), 0x7fffffff) == 0x7fffffff);
  CHECK(argument(ir::Type(ir::Element::u32), 0xffffffff) == 0xffffffff);
  CHECK(argument(ir::Type(ir::Element::i8), 0x80) == -128);
  CHECK(argument(ir::Type(ir::Element::u8), 0x80) == 128);
  CHECK(argument(ir::Type(ir::Element::i64), ~std::uint64_t{0}) == -1);
  CHECK(argument(ir::Type::pointer(ir::Element::f16, true), 0x7f0012345678) == 0x7f0012345678);
  for (const int axis : {0, 1, 2}) CHECK(result_of({{{Kind::grid, axis}}}) == 5 + axis);
}

TEST_CASE("launch_recipe: steps use earlier ones") {
  // (k + 63) >> 6 for k = 130.
  const LaunchRecipe recipe{{{Kind::parameter, 1}, {Kind::constant, 63}, {Kind::add, 0, 0, 1}, {Kind::constant, 6}, {Kind::shr, 0, 2, 3}}};
  CHECK(result_of(recipe, {ir::Type(ir::Element::i64), ir::Type(ir::Element::i32)}, {0, 130}) == 3);
}

TEST_CASE("launch_recipe: a packed parameter has its numbers at their offsets, and zeros between") {
  const PackedParameter p{16, {{1, 1, 0}, {2, 2, 1}, {4, 4, 0}, {8, 8, 1}}};
  const std::int64_t numbers[] = {0x1122334455667788, -2};
  std::vector<std::byte> bytes(16, std::byte{0xaa});
  pack(p, numbers, bytes);
  const unsigned char expected[] = {0, 0x88, 0xfe, 0xff, 0x88, 0x77, 0x66, 0x55, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  CHECK(std::memcmp(bytes.data(), expected, sizeof expected) == 0);
}

TEST_CASE("launch_recipe: a plan that no launch can follow says what is wrong") {
  const LaunchPlan good = sample_plan();
  REQUIRE(plan_problem(good, 2) == "");
  CHECK(plan_problem({}, 0) == "");
  const auto problem = [&](auto&& change) {
    LaunchPlan plan = good;
    change(plan, std::get<PackedParameter>(plan.parameters[0]), std::get<TensorMapParameter>(plan.parameters[1]));
    return plan_problem(plan, 2);
  };
#define TW_PROBLEM(change, text) \
  CHECK(problem([](auto& plan, auto& packed, auto& map) { (void)plan, (void)packed, (void)map, change; }) == text)
  TW_PROBLEM(plan.recipe.steps[0].value = 2, "step 0: there is no parameter 2");
  TW_PROBLEM(plan.recipe.steps[0].value = -1, "step 0: there is no parameter -1");
  TW_PROBLEM(plan.recipe.steps[2].value = 3, "step 2: there is no axis 3 of the grid");
  TW_PROBLEM(plan.recipe.steps[4].b = 4, "step 4: an operand is not an earlier step");
  TW_PROBLEM(plan.recipe.steps[4].a = -1, "step 4: an operand is not an earlier step");
  TW_PROBLEM(plan.recipe.steps.resize(129), "129 steps; a recipe has at most 128");
  TW_PROBLEM(plan.grid[2] = 5, "the grid names a step that does not exist");
  TW_PROBLEM(plan.positive[1] = 5, "a number that must be positive is a step that does not exist");
  TW_PROBLEM(packed.bytes = 6, "parameter 0 of the host: 6 bytes; it must be a positive multiple of 4");
  TW_PROBLEM(packed.bytes = 0, "parameter 0 of the host: 0 bytes; it must be a positive multiple of 4");
  TW_PROBLEM(packed.fields[0].bytes = 3, "parameter 0 of the host: a field of 3 bytes");
  TW_PROBLEM(packed.fields[1].offset = 5, "parameter 0 of the host: a field is outside of it");
  TW_PROBLEM(packed.fields[0].step = 9, "parameter 0 of the host: a field names a step that does not exist");
  TW_PROBLEM(map.strides.clear(), "parameter 1 of the host: a tensor map of 2 extents, 0 strides and a box of 2");
  TW_PROBLEM(map.extents[1] = -1, "parameter 1 of the host: a tensor map names a step that does not exist");
  TW_PROBLEM(map.address = 9, "parameter 1 of the host: a tensor map names a step that does not exist");
  TW_PROBLEM(map.box[0] = 257, "parameter 1 of the host: an extent of a box is 257; it must be 1 to 256");
  TW_PROBLEM(map.swizzle_bytes = 48, "parameter 1 of the host: a swizzle of 48 bytes");
  TW_PROBLEM(plan.parameters.resize(600, PackedParameter{8, {}}), "5040 bytes of parameters; a kernel has at most 4096");
#undef TW_PROBLEM
}

}  // namespace
}  // namespace tilewright::backend
