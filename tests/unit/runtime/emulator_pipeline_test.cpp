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

TEST_CASE("emulator pipelines: two blocks that load for each other are right and clean in every order") {
  const std::string text = ptx_file("hopper_multicast.ptx");
  for (const Order order : kOrders)
    for (const AsyncOrder async_order : kAsyncOrders) {
      const Ran ran = run_multicast(text, order, async_order);
      CHECK(ran.found == "");
      CHECK(ran.is_right);
    }
}

TEST_CASE("emulator pipelines: each step between two blocks that is left out or weakened is found") {
  const std::string text = ptx_file("hopper_multicast.ptx");
  const std::pair<std::string, std::string> steps[] = {
      {"@%p0 fence.mbarrier_init.release.cluster;", ""},
      {"barrier.cluster.arrive.relaxed.aligned;\n  barrier.cluster.wait.acquire.aligned;", ""},
      {"[%r2], 2;", "[%r2], 1;"},
      {"@!%p4 bra WAIT_EMPTY;", ""},
      {"@!%p4 bra WAIT_FULL;", ""},
      {"try_wait.parity.acquire.cluster", "try_wait.parity.relaxed.cluster"},
      {"[%r14], 256;", "[%r14], 128;"},
      {"mov.u16 %h0, 3;", "mov.u16 %h0, 1;"},
      {"@%p6 mbarrier.arrive.shared::cta.b64 _, [%r15];", ""},
      {"@%p6 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r24];", ""},
      {"mbarrier.arrive.release.cluster.shared::cluster", "mbarrier.arrive.release.cta.shared::cluster"},
      {"mbarrier.arrive.release.cluster.shared::cluster", "mbarrier.arrive.relaxed.cluster.shared::cluster"},
      {"barrier.cluster.arrive.aligned;\n  .loc 1 81 1\n  barrier.cluster.wait.aligned;", ""},
      {"barrier.cluster.wait.aligned;\n  ret;", "ret;"},
  };
  for (const auto& [from, to] : steps) {
    CAPTURE(from);
    CAPTURE(to);
    // What a block leaves too early shows only where the other one is later.
    std::string found;
    for (const Order order : kOrders)
      for (const AsyncOrder async_order : kAsyncOrders) found += run_multicast(mutant(text, from, to, 0), order, async_order).found;
    CHECK(found.find("multicast.cu:") != std::string::npos);
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
