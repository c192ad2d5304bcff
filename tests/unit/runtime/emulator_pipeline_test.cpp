// A whole pipeline of bulk tensor copies on the emulator: right and clean in every order, and no step of its protocol can be left out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

#include "runtime/emulator/emulated_driver.h"
#include "tests/unit/runtime/emulator_harness.h"

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

constexpr Order kOrders[] = {Order::forward, Order::backward, Order::random};
constexpr AsyncOrder kAsyncOrders[] = {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random};

/// The text with `from` in its n-th line that has it replaced by `to`.
std::string mutant(const std::string& text, const std::string& from, const std::string& to, int n) {
  std::size_t at = text.find(from);
  for (int k = 0; k < n; ++k) at = text.find(from, at + 1);
  REQUIRE(at != std::string::npos);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

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

TEST_CASE("emulator pipelines: each step of the protocol that is left out or weakened is found in every schedule of copies") {
  const std::string text = ptx_file("hopper_pipeline.ptx");
  struct Step {
    std::string from, to;
    int times;  // that it is there
  };
  const Step steps[] = {
      {"@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;", "", 1},
      {"@%p0 mbarrier.init.shared::cta.b64 [%r2+16], 64;", "", 1},
      {"@%p0 mbarrier.init.shared::cta.b64 [%r2], 64;", "@%p0 mbarrier.init.shared::cta.b64 [%r2], 32;", 1},
      {"@%p0 mbarrier.init.shared::cta.b64 [%r2], 64;", "@%p0 mbarrier.init.shared::cta.b64 [%r2], 65;", 1},
      {"bar.sync 0;", "", 1},
      {"@!%p2 bra DONE;", "", 1},
      {"@!%p4 bra WAIT_EMPTY;", "", 1},
      {"@!%p4 bra WAIT_FULL;", "", 1},
      {"mov.u32 %r9, 1;", "", 1},
      {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 4096;", "", 1},
      {"[%r12], 4096;", "[%r12], 2048;", 1},
      {"[%r12], 4096;", "[%r12], 8192;", 1},
      {"mbarrier.arrive.shared::cta.b64 _, [%r13];", "", 1},
      {"mbarrier.arrive.shared::cta.b64 _, [%r13];", "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r13];", 1},
      {"@%p6 cp.async.bulk.wait_group.read 1;", "", 1},
      {"wait_group.read 1;", "wait_group.read 2;", 1},
      {"bar.sync 1, 64;", "", 2},
      {"fence.proxy.async.shared::cta;", "", 1},
      {"fence.proxy.async.shared::cta;", "fence.proxy.async.global;", 1},
      {"@%p6 cp.async.bulk.commit_group;", "", 1},
      {"@%p6 cp.async.bulk.wait_group.read 0;", "", 1},
      {"wait_group.read 0;", "wait_group.read 1;", 1},
      {"@%p5 xor.b32 %r9, %r9, 1;", "", 2},
  };
  for (const Step& step : steps)
    for (int n = 0; n < step.times; ++n)
      for (const AsyncOrder async_order : kAsyncOrders) {
        const Ran ran = run(mutant(text, step.from, step.to, n), Order::forward, async_order);
        CAPTURE(step.from);
        CAPTURE(step.to);
        CAPTURE(n);
        CAPTURE(static_cast<int>(async_order));
        CHECK(ran.found.find("pipeline.cu:") != std::string::npos);
      }
}

}  // namespace tilewright::rt::emulator
