// Products whose warps are divided into roles (passes/specialize_warps.cpp), on the emulated Hopper in several schedules and in the
// interpreter with random turns of the roles: any number of iterations, the same values as without roles, and mistakes in each op and
// instruction on which the order of the roles rests.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "runtime/ptxas.h"
#include "tests/execution/distribute.h"
#include "tests/execution/product_kernels.h"
#include "tests/execution/product_subject.h"
#include "tests/fuzz/emulator_executor.h"
#include "tests/fuzz/random.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"

namespace tilewright::test {

using namespace ir;

namespace {

/// Tiles whose slots take more than half of the shared memory.
const ProductKernel kTwoGroups{.rows = 128, .columns = 128, .depth = 64, .warps = 8, .stages = 4};
const ProductKernel kOneGroup{.rows = 64, .columns = 256, .depth = 64, .warps = 4, .stages = 4};

bool has_roles(const Function& f) { return roles_op(f).valid(); }

/// Trip counts of 0, 1, fewer than slots, as many, and many, with and without a rest.
std::vector<ProductShape> shapes_of(const ProductKernel& k) {
  std::vector<ProductShape> all;
  for (const int depth : {0, 1, k.depth, k.depth + 8, 3 * k.depth, 4 * k.depth, 5 * k.depth + 3, 11 * k.depth})
    all.push_back({k.rows + 6, k.columns - 8, depth});
  return all;
}

}  // namespace

TEST_CASE("warp roles: any number of iterations, in every schedule, with the values of the kernel without roles") {
  ProductKernel turned = kTwoGroups, rounded = kTwoGroups;
  turned.left_is_turned = turned.right_is_turned = true;
  rounded.result = "f16";
  for (const ProductKernel& k : {kTwoGroups, kOneGroup, turned, rounded}) {
    const std::vector<ProductShape> shapes = shapes_of(k);
    CAPTURE(k.warps);
    for (const ProductShape& s : shapes) {
      CAPTURE(s.k);
      const fuzz::Program p = program(k, s);
      CHECK(has_roles(passed(p, k.warps)));
      CHECK_FALSE(has_roles(passed(p, k.warps, false)));
      fuzz::EmulatorExecutor emulator(kHopper, k.warps);
      check_equal(p, emulator);
    }
    const ProductSubject with(k, shapes), without(k, shapes, false);
    CHECK(with.results() == without.results());
    CHECK(count(with.ptx(), "setmaxnreg") == (k.warps == 8 ? 2 : 0));
    CHECK(count(without.ptx(), "elect.sync") > 0);
  }
}

TEST_CASE("warp roles: of programs whose registers leave no room for a second one") {
  const ProductKernel wide{.rows = 128, .columns = 256, .depth = 32, .warps = 8, .stages = 3},
      narrow{.rows = 64, .columns = 64, .warps = 4};
  CHECK(has_roles(passed(program(wide, {64, 64, 64}), wide.warps)));
  CHECK_FALSE(has_roles(passed(program(narrow, {64, 64, 64}), narrow.warps)));
}

TEST_CASE("warp roles: the interpreter, with random turns") {
  for (const ProductKernel& k : {kTwoGroups, kOneGroup})
    for (const std::uint64_t seed : {0, 1, 2}) {
      RandomTurns turns(k.warps, seed);
      for (const int depth : {0, 60, 650}) check_equal(program(k, {70, 200, depth}), turns);
    }
}

/// Whether the last product of an iteration runs in the next one: then there is another copy of each product before the loop or behind it.
bool overlaps(const Function& f) {
  int products = 0;
  f.walk([&](OpId id) { products += f.kind(id) == OpKind::mma_async_ ? 1 : 0; });
  return products == 4;
}

TEST_CASE("warp roles: chained products, of which one has a factor that threads write before the loop") {
  for (const int stages : {2, 3})
    for (const int keys : {0, 1, 128, 300, 900}) {
      CAPTURE(keys);
      const fuzz::Program p = chained_products(200, keys, stages);
      CHECK(has_roles(passed(p, 8)));
      CHECK(overlaps(passed(p, 8)));
      fuzz::EmulatorExecutor emulator(kHopper, 8);
      check_equal(p, emulator);
      RandomTurns turns(8, 1);
      check_equal(p, turns);
    }
}

TEST_CASE("warp roles: random products") {
  constexpr int kPrograms = 12;
  fuzz::Random random(38);
  const auto among = [&](const auto& list) { return list[random.below(std::size(list))]; };
  int with_roles = 0;
  for (int i = 0; i < kPrograms; ++i) {
    ProductKernel k;
    k.warps = among(std::array{4, 8, 8});
    k.rows = among(std::array{64, 128});
    k.columns = among(std::array{64, 128, 256});
    k.depth = among(std::array{32, 64, 128});
    k.stages = 2 + static_cast<int>(random.below(5));
    k.left_is_turned = random.below(2) == 0, k.right_is_turned = random.below(2) == 0;
    k.has_batches = !k.left_is_turned && random.below(4) == 0;
    k.result = random.below(2) == 0 ? "f16" : "f32";
    const auto most = [&](int n) { return 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
    const fuzz::Program p = program(k, {most(2 * k.rows), most(2 * k.columns), most(9 * k.depth)});
    CAPTURE(fuzz::text(p));
    with_roles += has_roles(passed(p, k.warps)) ? 1 : 0;
    fuzz::EmulatorExecutor emulator(kHopper, k.warps);
    check_equal(p, emulator);
  }
  CHECK(with_roles >= 4);
}

/// Whether the wait is for a phase that a wait before it in its block has seen: it separates what is before it from what is behind it.
bool is_repeated(const Function& f, OpId wait) {
  for (OpId id = f.op(wait).prev; id; id = f.op(id).prev)
    if (f.kind(id) == OpKind::mbarrier_wait_ && f.op(id).operands == f.op(wait).operands) return true;
  return false;
}

/// Returns the number of mutants. No wait follows an arrival behind the loops.
int check_mutants(const fuzz::Program& p, const Function& f) {
  int mutants = 0;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    std::vector<std::pair<std::string, std::function<void(Function&)>>> changes;
    const auto change = [&](const char* what, std::function<void(Function&)> apply) { changes.emplace_back(what, std::move(apply)); };
    const auto shift_number = [&](AttrName name, std::int64_t by) {
      change("number", [=](Function& m) { m.set_attr(id, {name, m.attr(id, name) + by, {}, {}}); });
    };
    const bool is_needed = k == OpKind::mbarrier_wait_     ? !is_repeated(f, id)
                           : k == OpKind::mbarrier_arrive_ ? f.kind(f.block(f.op(id).parent).parent) == OpKind::for_
                                                           : k == OpKind::mbarrier_expect_;
    if (is_needed) change("erased", [id](Function& m) { m.erase(id); });
    if (k == OpKind::mbarrier_wait_)
      change("other phase", [id](Function& m) {
        Builder b(m);
        b.before(id);
        m.set_operand(id, 1, b.binary(OpKind::bit_xor_, m.operand(id, 1), b.constant(Type(Element::i32), 1)));
      });
    if (k == OpKind::mbarrier_arrive_ && f.op(id).operands.size() > 1)
      change("without its condition", [id](Function& m) { m.erase_operand(id, 1); });
    if (k == OpKind::alloc_mbarriers_)
      for (const int by : {-1, 1})
        if (f.attr(id, AttrName::arrivals) + by > 0) shift_number(AttrName::arrivals, by);
    if (k == OpKind::mbarrier_expect_)
      for (const int by : {-16, 16}) shift_number(AttrName::bytes, by);
    // A wait for all products that stands before what uses the sums is enough.
    const auto is_covered = [&] {
      for (OpId next = f.op(id).next; next; next = f.op(next).next) {
        if (f.kind(next) == OpKind::mma_wait_ && f.attr(next, AttrName::pending) == 0) return true;
        if (std::ranges::count(f.op(next).operands, f.result(id)) > 0) return false;
      }
      return false;
    };
    if (k == OpKind::mma_wait_ && !is_covered()) {
      shift_number(AttrName::pending, 1);
      change("erased", [id](Function& m) {
        const std::vector<ValueId> results = m.op(id).results;
        for (std::size_t i = 0; i < results.size(); ++i) m.replace_uses(results[i], m.operand(id, static_cast<int>(i)));
        m.erase(id);
      });
    }
    for (const auto& [what, apply] : changes) {
      ++mutants;
      CAPTURE(text(k));
      CAPTURE(what);
      fuzz::InterpreterExecutor reference;
      fuzz::RewritingExecutor mutant("mutant", [&](Function& m) {
        m = f;
        apply(m);
      });
      const auto difference = fuzz::compare(p, reference, mutant);
      CHECK_MESSAGE((difference && difference->find("error: ") != std::string::npos), difference.value_or("not found"));
    }
  });
  return mutants;
}

TEST_CASE("warp roles: the interpreter says of each op that the order of the roles rests on that it is needed") {
  const fuzz::Program product = program(kTwoGroups, {64, 64, 700}), chain = chained_products(100, 900, 3);
  const Function f = passed(product, kTwoGroups.warps), g = passed(chain, 8);
  REQUIRE(has_roles(f));
  REQUIRE(overlaps(g));
  CHECK(check_mutants(product, f) >= 24);
  CHECK(check_mutants(chain, g) >= 24);
}

TEST_CASE("warp roles: the emulator finds each weakening of the order in PTX") {
  const ProductSubject kernel(kTwoGroups, {{64, 64, 704}, {64, 64, 64}, {64, 64, 0}});
  int mutants = 0;
  CHECK(kernel.survivors(&mutants) == "");
  CHECK(mutants >= 30);
}

TEST_CASE("warp roles: NVIDIA's assembler spills nothing and ignores nothing") {
  const auto ptxas = rt::find_ptxas();
  if (!ptxas) {
    MESSAGE(rt::why_no_ptxas());
    return;
  }
  const ProductKernel large{.rows = 128, .columns = 256, .depth = 64, .warps = 8, .stages = 3};
  std::vector<std::pair<fuzz::Program, int>> programs{{chained_products(64, 300, 3), 8}};
  for (const ProductKernel& k : {large, kTwoGroups, kOneGroup}) programs.emplace_back(program(k, {64, 64, 64}), k.warps);
  for (const auto& [p, warps] : programs) {
    const backend::CompiledKernel c = backend::compile(passed(p, warps), {.target = kHopper, .num_warps = warps});
    const rt::Assembled a = rt::assemble(*ptxas, std::string(reinterpret_cast<const char*>(c.image.data()), c.image.size()), kHopper);
    REQUIRE(a.kernels.size() == 1);
    CHECK(a.kernels[0].remarks.empty());
    CHECK(a.kernels[0].spill_store_bytes == 0);
    if (warps == 8) CHECK(a.kernels[0].registers == 168);
  }
}

}  // namespace tilewright::test
