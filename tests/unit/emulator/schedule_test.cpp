// Schedules of warps and blocks, launches that cannot end, and launches that are given up.
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
std::string hopper_kernel_of(const std::string& body) { return hopper_module_of(".param .u64 p", kStart + body); }

/// A launch without a limit: what it found.
std::string found_in(const std::string& text, u32 blocks, u32 threads, Order order = Order::forward, int workers = 0) {
  Bench bench(text);
  Array<u32> memory(bench.memory, 64);
  bench.launch_params.order = order;
  bench.launch_params.workers = workers;
  bench.launch_params.instruction_limit = kDefaultInstructionLimit;
  bench.run("k", {blocks, 1, 1}, {threads, 1, 1}, Params().add(memory.address()));
  return bench.found();
}

const std::string kSpin = "LOOP:\nld.acquire.gpu.global.u32 %r2, [%d1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra LOOP;\n";

}  // namespace

TEST_CASE("emulator deadlocks: blocks that spin on a flag that no block sets, on any number of host threads") {
  for (const Order order : {Order::forward, Order::backward, Order::random})
    for (const int workers : {1, 3}) {
      // Before that, enough work for all host threads to begin, and a block that ends.
      const std::string found = found_in(kernel_of("setp.eq.u32 %p2, %r1, 3;\nmov.u32 %r4, 0;\nWORK:\nadd.u32 %r4, %r4, 1;\n"
                                                   "setp.lt.u32 %p1, %r4, 9000;\n@%p1 bra WORK;\n@%p2 exit;\n" +
                                                   kSpin),
                                         4, 96, order, workers);
      INFO(found);
      CHECK(contains(found,
                     "deadlock in 'k', block (0,0,0), warp 0, lane 0 (line 22 of the PTX): no warp can do anything new\n"
                     "  block (0,0,0), warps 0-2, and 2 more blocks: at line 22 of the PTX, polling 4 bytes at byte 0 of an "
                     "allocation of 256 bytes, which hold 0\n"));
    }
}

TEST_CASE("emulator deadlocks: one warp spins, and the others wait for it at a barrier") {
  const std::string found = found_in(kernel_of("setp.ge.u32 %p2, %r0, 32;\n@%p2 bra END;\n" + kSpin + "END:\nbar.sync 0;"), 1, 128);
  INFO(found);
  CHECK(contains(found, "block (0,0,0), warp 0: at line 17 of the PTX, polling 4 bytes"));
  CHECK(contains(found, "block (0,0,0), warps 1-3: at line 21 of the PTX, waiting for barrier 0, where 96 of 128 threads are"));
}

TEST_CASE("emulator deadlocks: a lock that is never given back, and shared memory that is never written") {
  const std::string locked = found_in(kernel_of("setp.ne.u32 %p2, %r0, 0;\n@%p2 exit;\nLOOP:\natom.global.cas.b32 %r2, [%d1], 0, 1;\n"
                                                "nanosleep.u32 100;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra LOOP;"),
                                      3, 32);
  INFO(locked);
  CHECK(contains(locked, "polling 4 bytes at byte 0 of an allocation of 256 bytes, which hold 1"));
  CHECK(contains(locked, "and 1 more block: "));
  // Weak loads are no polls, and may spin all the same.
  const std::string weak =
      found_in(kernel_of(".shared .align 4 .b8 flag[4];\nmov.u32 %r3, flag;\nst.shared.u32 [%r3], 0;\nLOOP:\nld.shared.u32 %r2, [%r3];\n"
                         "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra LOOP;"),
               1, 1);
  INFO(weak);
  CHECK(contains(weak, "no warp can do anything new"));
  CHECK(contains(weak, ", running"));
}

TEST_CASE("emulator deadlocks: an mbarrier of which an arrival is missing, tested in a loop") {
  const std::string found =
      found_in(hopper_kernel_of(".shared .align 8 .b64 bar;\nmov.u32 %r3, bar;\nsetp.ne.u32 %p2, %r0, 0;\n@%p2 exit;\n"
                                "mbarrier.init.shared::cta.b64 [%r3], 2;\nmbarrier.arrive.shared::cta.b64 _, [%r3];\nLOOP:\n"
                                "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r3], 0;\n@!%p1 bra LOOP;"),
               1, 32);
  INFO(found);
  CHECK(contains(found, "polling the mbarrier at byte 0 of shared memory, of whose phase 0 1 of 2 arrivals"));
}

TEST_CASE("emulator deadlocks: none where a wait ends, however late") {
  // Block 3 writes the flag after a long computation that nobody sees.
  const std::string late = kernel_of(
      "setp.ne.u32 %p2, %r1, 3;\n@%p2 bra LOOP;\nmov.u32 %r4, 0;\nWORK:\nadd.u32 %r4, %r4, 1;\n"
      "setp.lt.u32 %p1, %r4, 300000;\n@%p1 bra WORK;\nst.release.gpu.global.u32 [%d1], 1;\n" +
      kSpin);
  // Each block waits for the one before it, which a wait of another block may be for.
  const std::string chain = kernel_of(
      "LOOP:\nld.acquire.gpu.global.u32 %r2, [%d1];\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra LOOP;\n"
      "setp.ne.u32 %p2, %r0, 0;\nbar.sync 0;\nadd.u32 %r2, %r1, 1;\n"
      "@!%p2 st.release.gpu.global.u32 [%d1], %r2;");
  // A loop that gives up by itself.
  const std::string counts = kernel_of(
      "mov.u32 %r4, 0;\nLOOP:\nld.acquire.gpu.global.u32 %r2, [%d1];\nadd.u32 %r4, %r4, 1;\n"
      "setp.lt.u32 %p1, %r4, 3000;\n@%p1 bra LOOP;");
  // Lanes that leave the loop do what the others wait for.
  const std::string diverged = kernel_of(
      "setp.lt.u32 %p2, %r0, 16;\n@%p2 bra SPIN;\nbra AFTER;\nSPIN:\nld.volatile.global.u32 %r2, [%d1];\n"
      "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra SPIN;\nAFTER:\n@!%p2 st.volatile.global.u32 [%d1], 1;");
  for (const Order order : {Order::forward, Order::backward, Order::random})
    for (const int workers : {1, 2}) {
      CHECK(found_in(late, 4, 64, order, workers) == "");
      CHECK(found_in(chain, 40, 64, order, workers) == "");
      CHECK(found_in(counts, 2, 64, order, workers) == "");
      CHECK(found_in(diverged, 1, 32, order, workers) == "");
    }
}

TEST_CASE("emulator launches: given up after so many instructions, or by a flag") {
  // A loop with a new state in each turn is not known to be endless.
  Bench bench(kernel_of("mov.u32 %r4, 0;\nLOOP:\nadd.u32 %r4, %r4, 1;\nbra LOOP;"));
  Array<u32> memory(bench.memory, 4);
  bench.launch_params.instruction_limit = 1'000'000;
  CHECK(!bench.run("k", {2, 1, 1}, {64, 1, 1}, Params().add(memory.address())));
  INFO(bench.found());
  CHECK(contains(bench.found(), "unfinished launch in 'k', block (0,0,0), warp 0, lane 0"));
  CHECK(contains(bench.found(), "instructions and polls, the limit being 1000000\n  block (0,0,0), warps 0-1"));

  std::atomic<bool> interrupted{false};
  Bench other(kernel_of("mov.u32 %r4, 0;\nLOOP:\nadd.u32 %r4, %r4, 1;\nbra LOOP;"));
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
  if (executed != nullptr) *executed = bench.counters.kernels.at("k").total().executed;
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
