// Products whose factors come by bulk copies (passes/use_tma.cpp), on the emulated Hopper, and on one where there is one: matrices of any
// extents, factors in either order in memory, batches, and loops of which a part is copied by threads. Values are those of the kernel as it was
// traced; the factors are small whole numbers, whose products and sums are exact.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tests/execution/distribute.h"
#include "tests/execution/product_subject.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Kernel = ProductKernel;
using Shape = ProductShape;

int bulk_copies(const std::string& ptx) { return count(ptx, "cp.async.bulk.tensor."); }
int thread_copies(const std::string& ptx) { return count(ptx, "cp.async.c"); }

constexpr Shape kShapes[] = {{64, 64, 64}, {70, 72, 40}, {1, 1, 1}, {130, 200, 104}, {63, 129, 33}, {64, 64, 320}};

}  // namespace

TEST_CASE("tensor boxes: products of matrices of any extents") {
  for (const Shape& s : kShapes) {
    const std::string ptx = check_product({}, s);
    CHECK(bulk_copies(ptx) > 0);
    CHECK(thread_copies(ptx) == 0);
  }
}

TEST_CASE("tensor boxes: any number of stages, and larger tiles") {
  for (const int stages : {2, 4, 6}) CHECK(bulk_copies(check_product({.stages = stages}, {100, 90, 200})) > 0);
  // Two slabs for each tile of b, and of a.
  CHECK(bulk_copies(check_product({.rows = 128, .columns = 128, .depth = 64, .warps = 8}, {200, 200, 190})) > 0);
  CHECK(bulk_copies(check_product({.rows = 64, .columns = 64, .depth = 128}, {100, 100, 300})) > 0);
}

TEST_CASE("tensor boxes: one copy writes all slabs of a slot, if rows of the tensor are whole slabs") {
  for (const char* element : {"f16", "i8"})
    for (const bool has_batches : {false, true})
      for (const int n : {128, 256, 384}) {
        Kernel k{.rows = 64, .columns = 256, .depth = 64, .has_batches = has_batches};
        k.element = element, k.result = k.element == "i8" ? "i32" : "f32";
        k.of_pitch = "{divisible_by = 16, positive}";
        const std::string apart = check_product(k, {70, n, 190});
        k.of_columns = "{divisible_by = 128, positive}";
        const std::string together = check_product(k, {70, n, 190});
        // Of b, in three places.
        CHECK(bulk_copies(apart) - bulk_copies(together) == 3 * (k.element == "f16" ? 3 : 1));
        CHECK(count(together, "cp.async.bulk.tensor.3d") > 0);
      }
  // Those of a, along K, and of an a that is turned.
  for (const bool left : {false, true}) {
    Kernel k{.rows = 128, .columns = 64, .depth = 128, .warps = 8, .left_is_turned = left};
    check_product(k, {70, 72, 190});
  }
}

TEST_CASE("tensor boxes: factors in either order in memory") {
  for (const bool left : {false, true})
    for (const bool right : {false, true})
      for (const Shape& s : {Shape{70, 72, 40}, Shape{130, 200, 104}}) {
        const std::string ptx = check_product({.left_is_turned = left, .right_is_turned = right}, s);
        CHECK(bulk_copies(ptx) > 0);
        CHECK(thread_copies(ptx) == 0);
      }
}

TEST_CASE("tensor boxes: batches are a further axis") {
  const std::string ptx = check_product({.has_batches = true}, {70, 72, 40});
  CHECK(count(ptx, "cp.async.bulk.tensor.3d") > 0);
  CHECK(count(ptx, "cp.async.bulk.tensor.2d") > 0);
}

TEST_CASE("tensor boxes: batches and heads at distances that are parameters are two further axes") {
  for (const bool left : {false, true})
    for (const bool is_view : {false, true})
      for (const Shape& s : {Shape{64, 64, 64}, Shape{70, 72, 40}, Shape{63, 129, 33}}) {
        const std::string ptx = check_product({.left_is_turned = left, .has_heads = true, .is_view = is_view}, s);
        CHECK(count(ptx, "cp.async.bulk.tensor.4d") > 0);
        CHECK(count(ptx, "cp.async.bulk.tensor.2d") > 0);
        CHECK(thread_copies(ptx) == 0);
      }
}

TEST_CASE("tensor boxes: groups of programs, whose positions are quotients") {
  for (const Shape& s : {Shape{64, 64, 64}, Shape{200, 130, 40}, Shape{330, 200, 72}}) {
    for (const bool has_lower_bounds : {false, true}) {
      const std::string ptx = check_product({.is_grouped = true, .has_lower_bounds = has_lower_bounds}, s);
      CHECK(bulk_copies(ptx) > 0);
      CHECK(thread_copies(ptx) == 0);
    }
  }
}

TEST_CASE("tensor boxes: the host refuses a launch in which a program divides a position by no positive number") {
  const auto error_of = [&](const Kernel& kernel, const fuzz::Program& p) {
    fuzz::EmulatorExecutor emulator(kHopper, kernel.warps);
    return fuzz::compare(p, emulator, emulator).value_or("");
  };
  const auto check_refused = [&](const Kernel& kernel, const fuzz::Program& p, int divisor) {
    const std::string error = error_of(kernel, p);
    CHECK_MESSAGE(error.find(fmt::format("a program may divide a position in a tensor by {}; by bulk", divisor)) != std::string::npos,
                  error);
  };
  const Shape s{200, 130, 40};
  // More programs than tiles.
  const Kernel grouped{.is_grouped = true, .has_lower_bounds = false};
  fuzz::Program more = program(grouped, s);
  more.grid[0] = 40;
  check_refused(grouped, more, -8);
  // Of one row of programs each position is 0, whatever it is divided by.
  const Kernel divided{.is_divided = true, .has_lower_bounds = false};
  CHECK(error_of(divided, program(divided, {64, 130, 40}, 3)) == "");
  check_refused(divided, program(divided, {64, 130, 40}, -2), -2);
  // If the mask leaves out negative positions, the copies do, too.
  check_product({.is_divided = true}, {64, 130, 40});
  const Kernel masked{.is_divided = true};
  CHECK(error_of(masked, program(masked, {64, 130, 40}, -2)) == "");
}

TEST_CASE("tensor boxes: views that begin behind an address, and positions above the first row") {
  for (const bool left : {false, true})
    for (const Shape& s : kShapes) {
      const std::string ptx = check_product({.left_is_turned = left, .is_view = true}, s);
      CHECK(bulk_copies(ptx) > 0);
      CHECK(thread_copies(ptx) == 0);
    }
}

TEST_CASE("tensor boxes: rows that the host cannot describe are copied by threads") {
  for (const char* attributes : {"{divisible_by = 8}", "{positive}", "{divisible_by = 4, positive}"}) {
    const std::string ptx = check_product({.of_pitch = attributes}, {70, 72, 40});
    CHECK(bulk_copies(ptx) == 0);
  }
}

TEST_CASE("tensor boxes: the interpreter says of each op that the order of the loop rests on that it is needed") {
  const fuzz::Program p = program({}, {64, 64, 208});
  const Function f = passed(p, 4);
  int mutants = 0;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    const bool is_inside = f.op(id).parent != f.body();
    std::vector<std::function<void(Function&)>> changes;
    if (k == OpKind::mbarrier_wait_ || k == OpKind::mbarrier_expect_ || (k == OpKind::barrier_ && is_inside))
      changes.push_back([id](Function& m) { m.erase(id); });
    if (k == OpKind::mma_wait_) {
      changes.push_back([id](Function& m) { m.set_attr(id, {AttrName::pending, m.attr(id, AttrName::pending) + 1, {}, {}}); });
      changes.push_back([id](Function& m) {
        const std::vector<ValueId> results = m.op(id).results;
        for (std::size_t i = 0; i < results.size(); ++i) m.replace_uses(results[i], m.operand(id, static_cast<int>(i)));
        m.erase(id);
      });
    }
    if (k == OpKind::mbarrier_expect_)
      for (const int more : {-16, 16})
        changes.push_back([id, more](Function& m) { m.set_attr(id, {AttrName::bytes, m.attr(id, AttrName::bytes) + more, {}, {}}); });
    for (const auto& change : changes) {
      ++mutants;
      CAPTURE(text(k));
      fuzz::InterpreterExecutor reference;
      fuzz::RewritingExecutor mutant("mutant", [&](Function& m) {
        m = f;
        change(m);
      });
      const auto difference = fuzz::compare(p, reference, mutant);
      REQUIRE(difference.has_value());
      CHECK_MESSAGE(difference->find("error: ") != std::string::npos, *difference);
    }
  });
  CHECK(mutants >= 14);
}

}  // namespace tilewright::test
