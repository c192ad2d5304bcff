// Products of 8-bit factors by asynchronous instructions, which read rows along K alone: factors in either order in memory, in every schedule of
// the emulated Hopper and in the interpreter, and what sums of fp8 keep.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "backend/compile.h"
#include "runtime/ptxas.h"
#include "tests/execution/distribute.h"
#include "tests/execution/product_kernels.h"
#include "tests/execution/product_subject.h"
#include "tests/fuzz/emulator_executor.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

constexpr std::uint8_t kOne = 0x38, kGreatest = 0x7e;  // 1 and 448, of f8e4m3

ProductKernel of_bytes(const std::string& element, bool left_is_turned, bool right_is_turned) {
  return {.rows = 128,
          .columns = 128,
          .depth = 128,
          .warps = 8,
          .stages = 4,
          .left_is_turned = left_is_turned,
          .right_is_turned = right_is_turned,
          .of_pitch = "{divisible_by = 16, positive}",
          .result = element == "i8" ? "i32" : "f32",
          .element = element};
}

/// The first element of a product of f8e4m3, 128 of K in an iteration: the first row of a as given, by a column with 448 where the row has it,
/// and 1 where it has another number.
float first_sum(Precision precision, const std::vector<std::uint8_t>& left) {
  const ProductKernel kernel = of_bytes("f8e4m3", false, true);
  fuzz::Program p = program(kernel, {64, 64, static_cast<int>(left.size())});
  for (fuzz::Argument* a : {&p.arguments[0], &p.arguments[1]}) std::ranges::fill(a->bytes, std::byte{0});
  std::memcpy(p.arguments[0].bytes.data(), left.data(), left.size());
  for (std::size_t i = 0; i < left.size(); ++i) p.arguments[1].bytes[i] = std::byte{left[i] == 0 || left[i] == kGreatest ? left[i] : kOne};
  p.function.walk([&](OpId id) {
    if (p.function.kind(id) == OpKind::dot_) p.function.set_attr(id, {AttrName::precision, static_cast<std::int64_t>(precision), {}, {}});
  });
  const fuzz::Memory memory(p);
  fuzz::EmulatorExecutor emulator(kHopper, kernel.warps);
  emulator.expect_within(&memory);
  emulator.run(p.function, memory.words(), p.grid);
  float first;
  std::memcpy(&first, memory.contents(2).data(), sizeof first);
  return first;
}

}  // namespace

TEST_CASE("byte products: factors in either order in memory, in every schedule") {
  for (const char* element : {"i8", "f8e4m3", "f8e5m2"})
    for (const bool left : {false, true})
      for (const bool right : {false, true}) {
        const ProductKernel k = of_bytes(element, left, right);
        CAPTURE(element);
        CAPTURE(left);
        CAPTURE(right);
        std::vector<ProductShape> shapes;
        for (const int depth : {0, 1, 130, 128 * 5 + 3}) shapes.push_back({k.rows + 6, k.columns - 9, depth});
        for (const ProductShape& s : shapes) {
          fuzz::EmulatorExecutor emulator(kHopper, k.warps);
          check_equal(program(k, s), emulator);
        }
        RandomTurns turns(k.warps, 1);
        check_equal(program(k, shapes.back()), turns);
        const ProductSubject kernel(k, shapes);
        CHECK(count(kernel.ptx(), "wgmma.mma_async") == 4);
        CHECK(count(kernel.ptx(), "mma.sync") == 0);
        CHECK(count(kernel.ptx(), "cp.async.c") == 0);
        CHECK(count(kernel.ptx(), "setmaxnreg") == 2);
        // One matrix of four for 512 bytes of a warp.
        CHECK(count(kernel.ptx(), "ldmatrix.sync.aligned.m8n8.x4.trans") == 4 * (left + !right));
        CHECK(count(kernel.ptx(), "st.shared.v4.b32") == 4 * (left + !right));
      }
}

TEST_CASE("byte products: any extents of the tiles, and rows that are copied by threads") {
  for (const char* element : {"i8", "f8e4m3"})
    for (const bool left : {false, true})
      for (const bool right : {false, true})
        for (const auto& [rows, columns, depth, warps] :
             {std::array{64, 32, 32, 4}, std::array{64, 64, 64, 4}, std::array{128, 64, 64, 8}, std::array{64, 128, 128, 4}})
          for (const char* pitch : {"{divisible_by = 16, positive}", "{divisible_by = 4}", ""}) {
            ProductKernel k = of_bytes(element, left, right);
            k.rows = rows, k.columns = columns, k.depth = depth, k.warps = warps, k.of_pitch = pitch;
            CAPTURE(rows);
            CAPTURE(columns);
            CAPTURE(depth);
            fuzz::EmulatorExecutor emulator(kHopper, warps);
            check_equal(program(k, {70, 75, 200}), emulator);
          }
}

TEST_CASE("byte products: sums of 128 products of fp8 keep some 14 bits, and are added in 32; of `ieee` all have 32") {
  std::vector<std::uint8_t> together(256), apart(256);
  together[0] = kGreatest, together[1] = kOne;
  apart[0] = kGreatest, apart[128] = kOne;
  // 1 is less than 2^-13 of 448^2, which is more than 2^17.
  CHECK(first_sum(Precision::standard, together) == 448 * 448);
  CHECK(first_sum(Precision::ieee, together) == 448 * 448 + 1);
  CHECK(first_sum(Precision::standard, apart) == 448 * 448 + 1);
}

TEST_CASE("byte products: NVIDIA's assembler spills nothing and ignores nothing") {
  const auto ptxas = rt::find_ptxas();
  if (!ptxas) {
    MESSAGE(rt::why_no_ptxas());
    return;
  }
  for (const char* element : {"i8", "f8e4m3"})
    for (const bool right : {false, true}) {
      const ProductKernel k = of_bytes(element, !right, right);
      const backend::CompiledKernel c =
          backend::compile(passed(program(k, {64, 64, 64}), k.warps), {.target = kHopper, .num_warps = k.warps});
      const rt::Assembled a = rt::assemble(*ptxas, std::string(reinterpret_cast<const char*>(c.image.data()), c.image.size()), kHopper);
      REQUIRE(a.kernels.size() == 1);
      CHECK(a.kernels[0].remarks.empty());
      CHECK(a.kernels[0].spill_store_bytes == 0);
      CHECK(a.kernels[0].registers == 168);
    }
}

TEST_CASE("byte products: the emulator finds each weakening of the order in PTX") {
  const ProductSubject kernel(of_bytes("i8", false, false), {{64, 64, 128 * 11}, {64, 64, 64}, {64, 64, 0}});
  int mutants = 0;
  CHECK(kernel.survivors(&mutants) == "");
  CHECK(mutants >= 30);
}

}  // namespace tilewright::test
