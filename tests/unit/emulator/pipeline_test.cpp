// Whole pipelines of bulk copies on the emulator: values are right and there are no reports, in each order of warps. ptx_mutants
// (tests/mutants) shows that a missing step of their protocol causes a report or a wrong value.
#include <doctest/doctest.h>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

using namespace cuda;

constexpr u32 kTiles = 9;  // each stage is used three times
constexpr u32 kWidth = 32 * kTiles, kHeight = 64;

struct Ran {
  bool is_right = false;
  std::string found;
};

Ran run(const std::string& text, Order order, AsyncOrder async_order) {
  Bench bench(text, "hopper_pipeline.ptx");
  bench.launch_params.order = order;
  bench.launch_params.async_order = async_order;
  bench.launch_params.seed = 9;
  bench.launch_params.workers = 1;
  bench.launch_params.instruction_limit = 100'000;  // ten times what it takes
  std::vector<float> values(kWidth * kHeight);
  for (u32 i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
  Array<float> in(bench.memory, values), out(bench.memory, values.size(), -1);
  const auto map_of = [&](u64 address) {
    CUtensorMap map;
    const u64 extents[] = {kWidth, kHeight}, strides[] = {kWidth * 4};
    const u32 box[] = {32, 32}, steps[] = {1, 1};
    REQUIRE(emulated_driver().cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reinterpret_cast<void*>(address), extents,
                                                     strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                                     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
  };
  Params params;
  bench.run("pipeline", {kHeight / 32, 1, 1}, {96, 1, 1}, params.add(map_of(in.address())).add(map_of(out.address())).add(kTiles));
  Ran ran{true, bench.found()};
  const auto result = out.values();
  for (u32 i = 0; i < values.size(); ++i) ran.is_right &= result[i] == values[i] + 1;
  return ran;
}

constexpr u32 kNumbers = 7;  // tiles of 64 of them

Ran run_multicast(const std::string& text, Order order, AsyncOrder async_order) {
  Bench bench(text, "hopper_multicast.ptx");
  bench.launch_params.order = order;
  bench.launch_params.async_order = async_order;
  bench.launch_params.seed = 5;
  bench.launch_params.instruction_limit = 100'000;
  std::vector<u32> values(64 * kNumbers), expected(64, 0);
  for (u32 i = 0; i < values.size(); ++i) {
    values[i] = i * i;
    expected[i % 64 / 2] += values[i];
    expected[32 + i % 64 / 2] += values[i];
  }
  Array<u32> in(bench.memory, values), out(bench.memory, 64, 0);
  Params params;
  bench.run("multicast", {2, 1, 1}, {64, 1, 1}, params.add(in.address()).add(out.address()).add(kNumbers));
  return {out.values() == expected, bench.found()};
}

constexpr u32 kSide = 128, kDepth = 320;  // one block's tile, and five steps in a ring of three stages

Ran run_matmul(const std::string& text, Order order, AsyncOrder async_order) {
  Bench bench(text, "wgmma_matmul.ptx");
  bench.launch_params.order = order;
  bench.launch_params.async_order = async_order;
  bench.launch_params.seed = 3;
  bench.launch_params.instruction_limit = 100'000;
  const auto value = [](u32 row, u32 column) { return static_cast<int>((row * 7 + column * 3 + row * column) % 5) - 2; };
  constexpr u16 kHalves[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};  // -2 to 2
  const auto matrix = [&](u32 rows, u32 columns) {
    std::vector<u16> values(rows * columns);
    for (u32 i = 0; i < values.size(); ++i) values[i] = kHalves[value(i / columns, i % columns) + 2];
    return values;
  };
  Array<u16> a(bench.memory, matrix(kSide, kDepth)), b(bench.memory, matrix(kDepth, kSide));
  Array<float> c(bench.memory, kSide * kSide, -1);
  const auto map_of = [&](u64 address, u32 rows, u32 columns, u32 box_rows) {
    CUtensorMap map;
    const u64 extents[] = {columns, rows}, strides[] = {columns * 2};
    const u32 box[] = {64, box_rows}, steps[] = {1, 1};
    REQUIRE(emulated_driver().cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, reinterpret_cast<void*>(address), extents,
                                                     strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                                     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
  };
  Params params;
  params.add_aligned(map_of(a.address(), kSide, kDepth, 128), 64).add_aligned(map_of(b.address(), kDepth, kSide, 64), 64);
  bench.run("wgmma_matmul", {1, 1, 1}, {288, 1, 1}, params.add(c.address()).add(kSide).add(kDepth), 3 * 32768);
  Ran ran{true, bench.found()};
  const auto result = c.values();
  for (u32 i = 0; i < kSide * kSide; ++i) {
    int sum = 0;
    for (u32 k = 0; k < kDepth; ++k) sum += value(i / kSide, k) * value(k, i % kSide);
    ran.is_right &= result[i] == static_cast<float>(sum);
  }
  return ran;
}

constexpr Order kOrders[] = {Order::forward, Order::backward, Order::random};

}  // namespace

TEST_CASE("emulator pipelines: one of bulk tensor copies is right and clean in every order of warps and copies") {
  const std::string text = ptx_file("hopper_pipeline.ptx");
  for (const Order order : kOrders)
    for (const AsyncOrder async_order : kAsyncOrders) {
      const Ran ran = run(text, order, async_order);
      CHECK(ran.found == "");
      CHECK(ran.is_right);
    }
}

TEST_CASE("emulator pipelines: two blocks that load for each other are right and clean in every order") {
  const std::string text = ptx_file("hopper_multicast.ptx");
  for (const Order order : kOrders)
    for (const AsyncOrder async_order : kAsyncOrders) {
      const Ran ran = run_multicast(text, order, async_order);
      CHECK(ran.found == "");
      CHECK(ran.is_right);
    }
}

TEST_CASE("emulator pipelines: one that feeds wgmma is right and clean in every order of warps and copies") {
  const std::string text = ptx_file("wgmma_matmul.ptx");
  for (const Order order : kOrders)
    for (const AsyncOrder async_order : kAsyncOrders) {
      const Ran ran = run_matmul(text, order, async_order);
      CHECK(ran.found == "");
      CHECK(ran.is_right);
    }
}

}  // namespace tilewright::rt::emulator
