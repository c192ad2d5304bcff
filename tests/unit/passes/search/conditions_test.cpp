// Equations without labels: text, axes for which they hold, rounding.
#include "passes/search/rules/conditions.h"

#include <doctest/doctest.h>

#include <random>

#include "passes/search/rules/rule_text.h"
#include "tests/unit/passes/search/equations.h"
#include "tilewright/error.h"

namespace tilewright::passes::search {
namespace {

std::string error_of(std::string_view left, std::string_view right) {
  try {
    make_rule("x", parse_equation(left, right));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("equations: what is printed is read again, and one identity stands for all spellings") {
  for (const Rule& r : all_equations()) {
    const Equation& e = r.equation;
    const Equation again = parse_equation(text(e.left, e.variables), text(e.right, e.variables));
    CHECK(text(again) == text(e));
    CHECK(identity(again) == identity(e));
  }
  CHECK(text(parse_equation("(x*(y+z))", "((x * y)) + x*z")) == "x * (y + z) = x * y + x * z");
  CHECK(identity(parse_equation("a * (b + c)", "a * b + a * c")) == identity(parse_equation("z * x + y * z", "(y + x) * z")));
  CHECK(identity(parse_equation("a * (b + c)", "a * b + a * c")) != identity(parse_equation("a * (b + c)", "a * b + b * c")));
}

TEST_CASE("equations: a mistake in the text is an error with its position") {
  CHECK(error_of("a * (b + c", "a").find("rule 'a * (b + c': expected ')' at position 11") != std::string::npos);
  CHECK(error_of("a", "tan(a)").find("rule 'tan(a)': expected a variable, sum, f, view, part0, part1, '(' or '[' at position 1") !=
        std::string::npos);
  CHECK(error_of("a b", "a").find("expected an operator or the end at position 3") != std::string::npos);
  CHECK(error_of("[a + b]", "a").find("expected '|' at position 7") != std::string::npos);
  CHECK(error_of("(a + b) + (c + d) + (e + g) + h", "a").find("expected a variable") != std::string::npos);
}

TEST_CASE("conditions: distribution fails for an axis that is summed and that only one addend has") {
  const Rule r = make_rule("x", parse_equation("a * (b + c)", "a * b + a * c"));
  for (unsigned variables = 1; variables < 8; ++variables) {
    CHECK(r.conditions().allows(Role::plain, Fate::kept, variables));
    CHECK(r.conditions().allows(Role::plain, Fate::summed_by_product, variables) == (variables != 2 && variables != 4));
  }
  CHECK(unless_text(r) == "only b or only c has, is summed");
}

TEST_CASE("conditions: false equations are refuted with shapes and numbers") {
  const std::string error = error_of("f(a + b)", "f(a) + f(b)");
  CHECK(error.find("'f(a + b) = f(a) + f(b)' is false for a: [], b: []: the left is [] ") != std::string::npos);
  CHECK(error.find(", the right [] ") != std::string::npos);
  CHECK(error_of("a * b + a", "a * (b + b)").find("is false for") != std::string::npos);
  CHECK(error_of("part0(view([a | b]))", "b").find("is false for") != std::string::npos);
  CHECK(error_of("part0(part1(a))", "a").find("makes sense for no axes") != std::string::npos);
}

TEST_CASE("conditions: an equation holds for axes if and only if it holds for each of them alone") {
  std::mt19937 random(7);
  std::size_t held = 0, failed = 0;
  for (const Rule& r : all_equations()) {
    const std::vector<AxisUse> possible = possible_axes(r.equation);
    for (int trial = 0; trial < 40; ++trial) {
      std::vector<AxisUse> axes = r.conditions().base;
      for (unsigned more = 1 + random() % 3; more-- > 0;) {
        const AxisUse& use = possible[random() % possible.size()];
        if (use.role == Role::plain)
          axes.push_back(use);
        else
          axes = with_axis(axes, use);
      }
      bool expected = true;
      for (const AxisUse& use : axes) expected = expected && r.conditions().allows(use.role, use.fate, use.variables);
      const bool holds = instance_of(r.equation, axes) && !compare_sides(r.equation, axes);
      CHECK_MESSAGE(holds == expected, text(r.equation));
      ++(holds ? held : failed);
    }
  }
  CHECK(held > 300);
  CHECK(failed > 300);
}

TEST_CASE("conditions: a difference is spread where a factor that is a sum is multiplied out") {
  CHECK(spreads_differences(parse_equation("a * (b + c)", "a * b + a * c")));
  CHECK_FALSE(spreads_differences(parse_equation("a * b + a * c", "a * (b + c)")));
  for (const Rule& r : all_equations())
    CHECK_MESSAGE(spreads_differences(r.equation) == (r.name == "distribute" || r.name == "product_of_add"), r.name);
}

}  // namespace
}  // namespace tilewright::passes::search
