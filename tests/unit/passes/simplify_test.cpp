// The exact passes on random programs: the results stay the same for each order of passes, and the IR stays valid.
#include <doctest/doctest.h>

#include <string>

#include "integer_programs.h"
#include "passes/all_passes.h"
#include "passes/pass_manager.h"
#include "tileir/text/printer.h"

using namespace tilewright;

namespace {

constexpr std::string_view kExact[] = {"canonicalize", "cse", "licm", "canonicalize_pointers"};

/// The first value whose elements differ, or -1.
int first_difference(const test::Trace& a, const test::Trace& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return static_cast<int>(i);
  return -1;
}

std::size_t count_ops(const ir::Function& f) {
  std::size_t n = 0;
  f.walk([&](ir::OpId) { ++n; });
  return n;
}

bool agrees_after(std::uint32_t seed, std::span<const std::string_view> names, double share) {
  const test::IntegerProgram p = test::random_integer_program(seed, share);
  ir::Function f = p.f;
  passes::run_passes(f, names, {}, {.verify_each = true, .dump = {}});
  const int at = first_difference(test::run(p, p.f), test::run(p, f));
  if (at < 0) return true;
  std::string list;
  for (std::string_view name : names) list += std::string(name) + ' ';
  FAIL_CHECK("seed ", seed, ", after ", list, ": value ", at, " of\n", ir::print(p.f), ir::print(f));
  return false;
}

}  // namespace

TEST_CASE("exact passes: each alone keeps what random programs compute") {
  for (std::uint32_t seed = 0; seed < 300; ++seed)
    for (std::string_view name : kExact)
      if (!agrees_after(seed, std::span(&name, 1), 0.3)) return;
}

TEST_CASE("exact passes: in a row they keep what random programs compute") {
  for (std::uint32_t seed = 1000; seed < 2200; ++seed) {
    std::vector<std::string_view> names;
    for (std::uint32_t i = 0, x = seed; i < 6; ++i, x /= 4) names.push_back(kExact[(x + i) % 4]);
    if (!agrees_after(seed, names, 0.2)) return;
  }
}

TEST_CASE("exact passes: the simplified programs are smaller, and canonicalize has nothing left to do") {
  std::size_t before = 0, after = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    ir::Function f = test::random_integer_program(seed, 0.2).f;
    before += count_ops(f);
    const std::string_view names[] = {"canonicalize", "cse", "canonicalize"};
    passes::run_passes(f, names, {});
    after += count_ops(f);
    const std::string once = ir::print(f);
    CHECK_FALSE(passes::canonicalize(f, {}));
    CHECK(ir::print(f) == once);
  }
  CHECK(after < before / 2);
}
