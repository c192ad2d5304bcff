// Schedules of warps and blocks, and launches that are interrupted. tests/ptx/emulator/schedule.ptx has the launches that cannot end.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

// %d1: the parameter; %r0: thread, %r1: block.
const std::string kStart = "ld.param.u64 %d1, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n";

std::string kernel_of(const std::string& body) { return module_of(".param .u64 p", kStart + body); }

}  // namespace

TEST_CASE("emulator launches: given up by a flag") {
  std::atomic<bool> interrupted{false};
  Bench other(kernel_of("mov.u32 %r4, 0;\nLOOP:\nadd.u32 %r4, %r4, 1;\nbra LOOP;"));
  Array<u32> memory(other.memory, 4);
  other.launch_params.interrupted = &interrupted;
  other.launch_params.instruction_limit = kDefaultInstructionLimit;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interrupted = true;
  });
  CHECK(!other.run("k", {2, 1, 1}, {64, 1, 1}, Params().add(memory.address())));
  user.join();
  CHECK(contains(other.found(), "unfinished launch in 'k', block (0,0,0)"));
  CHECK(contains(other.found(), "interrupted after"));
}

namespace {

/// Each warp of 3 blocks of 4 takes a number; blocks count how often they ran. The numbers of all warps.
std::vector<u32> numbers_of(Order order, u64 seed, u64* executed = nullptr) {
  Bench bench(kernel_of(R"(
    and.b32 %r2, %r0, 31;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 exit;
    shr.u32 %r3, %r0, 5;
    mad.lo.u32 %r3, %r1, 4, %r3;
    mad.wide.u32 %d2, %r3, 4, %d1;
    atom.global.add.u32 %r4, [%d1], 1;
    st.global.u32 [%d2+4], %r4;
    atom.global.add.u32 %r5, [%d1], 0;
    sub.u32 %r5, %r5, %r4;
    st.global.u32 [%d2+52], %r5;
  )"));
  Array<u32> memory(bench.memory, 25);
  bench.launch_params.order = order;
  bench.launch_params.order_seed = seed;
  REQUIRE(bench.run("k", {3, 1, 1}, {128, 1, 1}, Params().add(memory.address())));
  std::vector<u32> values = memory.values();
  CHECK(values[0] == 12);
  std::set<u32> numbers(values.begin() + 1, values.begin() + 13);
  CHECK(numbers.size() == 12);
  if (executed != nullptr) *executed = bench.counters.of("k").total().executed;
  return values;
}

}  // namespace

TEST_CASE("emulator schedules: seeds give different orders, and each gives the same again") {
  std::set<std::vector<u32>> seen;
  bool are_blocks_mixed = false, are_warps_interrupted = false;
  for (u64 seed = 0; seed < 30; ++seed) {
    u64 executed = 0, again = 0;
    const std::vector<u32> values = numbers_of(Order::random, seed, &executed);
    CHECK(values == numbers_of(Order::random, seed, &again));
    CHECK(executed == again);
    seen.insert(values);
    for (std::size_t block = 0; block < 3; ++block) {
      const auto [least, most] = std::minmax_element(values.begin() + 1 + 4 * block, values.begin() + 5 + 4 * block);
      are_blocks_mixed |= *most - *least > 3;
    }
    // Between two instructions of a warp, others took numbers.
    for (std::size_t k = 13; k < 25; ++k) are_warps_interrupted |= values[k] > 1;
  }
  CHECK(seen.size() > 25);
  CHECK(are_blocks_mixed);
  CHECK(are_warps_interrupted);
  // The other orders have none of this.
  CHECK(numbers_of(Order::forward, 1) == numbers_of(Order::forward, 2));
}

TEST_CASE("emulator schedules: a random order runs each of many blocks once") {
  for (const u32 blocks : {1u, 2u, 3u, 5u, 64u, 1000u}) {
    Bench bench(kernel_of("mad.wide.u32 %d2, %r1, 4, %d1;\natom.global.add.u32 %r2, [%d2], 1;"));
    Array<u32> memory(bench.memory, blocks);
    bench.launch_params.order = Order::random;
    bench.launch_params.order_seed = blocks;
    REQUIRE(bench.run("k", {blocks, 1, 1}, {1, 1, 1}, Params().add(memory.address())));
    CHECK(memory.values() == std::vector<u32>(blocks, 1));
  }
}

TEST_CASE("emulator schedules: in a random order, many blocks wait for the block before them") {
  // One thread polls, and tells the others: their state in shared memory and at barriers changes in each turn.
  const std::string text = kernel_of(R"(
    .shared .b32 seen;
    mad.wide.u32 %d2, %r1, 4, %d1;
    setp.ne.u32 %p1, %r0, 0;
    LOOP:
    @%p1 bra WAIT;
    atom.acquire.gpu.global.add.u32 %r4, [%d2], 0;
    st.shared.u32 [seen], %r4;
    WAIT:
    bar.sync 0;
    ld.shared.u32 %r5, [seen];
    bar.sync 0;
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra LOOP;
    @%p1 exit;
    atom.release.gpu.global.exch.b32 %r4, [%d2+4], 1;
  )");
  constexpr u32 kBlocks = 40;
  for (u64 seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    Bench bench(text);
    std::vector<u32> flags(kBlocks + 1);
    flags[0] = 1;
    Array<u32> memory(bench.memory, flags);
    bench.launch_params.order = Order::random;
    bench.launch_params.order_seed = seed;
    bench.launch_params.instruction_limit = 1'000'000'000;
    CHECK(bench.run("k", {kBlocks, 1, 1}, {64, 1, 1}, Params().add(memory.address())));
    CHECK(memory.values() == std::vector<u32>(kBlocks + 1, 1));
  }
}

TEST_CASE("emulator schedules: look-back finds a sum of its own block only where blocks run in other orders") {
  // Each block publishes its own sum, looks back until it finds a running sum, and publishes its running sum: state 1 and 2 in the upper
  // bits. How often a block has seen state 1 is counted, which in the order of the blocks is never.
  const std::string text = kernel_of(R"(
    setp.ne.u32 %p1, %r0, 0;
    @%p1 exit;
    mad.wide.u32 %d2, %r1, 4, %d1;
    add.u32 %r3, %r1, 1;
    or.b32 %r4, %r3, 0x10000;
    st.release.gpu.global.u32 [%d2+4], %r4;
    mov.u32 %r5, %r1;
    BACK:
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra DONE;
    mad.wide.u32 %d3, %r5, 4, %d1;
    WAIT:
    ld.acquire.gpu.global.u32 %r6, [%d3];
    setp.eq.u32 %p1, %r6, 0;
    @%p1 bra WAIT;
    and.b32 %r7, %r6, 0xffff;
    add.u32 %r3, %r3, %r7;
    setp.ge.u32 %p1, %r6, 0x20000;
    @%p1 bra DONE;
    red.global.add.u32 [%d1], 1;
    sub.u32 %r5, %r5, 1;
    bra BACK;
    DONE:
    or.b32 %r4, %r3, 0x20000;
    st.release.gpu.global.u32 [%d2+4], %r4;
  )");
  const auto steps = [&](Order order, u64 seed) {
    Bench bench(text);
    Array<u32> memory(bench.memory, 13);
    bench.launch_params.order = order;
    bench.launch_params.order_seed = seed;
    bench.launch_params.workers = 1;
    bench.run("k", {12, 1, 1}, {32, 1, 1}, Params().add(memory.address()));
    CHECK(bench.found() == "");
    const std::vector<u32> values = memory.values();
    for (u32 block = 0; block < 12; ++block) CHECK(values[block + 1] == (0x20000 | (block + 1) * (block + 2) / 2));
    return values[0];
  };
  CHECK(steps(Order::forward, 0) == 0);
  u32 most = 0;
  for (u64 seed = 0; seed < 10; ++seed) most = std::max(most, steps(Order::random, seed));
  CHECK(most > 0);
}

}  // namespace tilewright::rt::emulator
