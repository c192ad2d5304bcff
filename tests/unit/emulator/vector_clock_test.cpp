// Vector clocks of warps, with entries for lanes and blocks: the tree against a plain map.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <span>
#include <vector>

#include "runtime/emulator/shadow/acquire_clocks.h"

namespace tilewright::rt::emulator {

namespace {

struct Known {
  BlockClocks tree;
  std::map<u32, VectorClock> map;

  void check(std::span<const u32> blocks) const {
    for (u32 block : blocks) {
      const VectorClock* found = tree.find(block);
      const auto expected = map.find(block);
      REQUIRE((found != nullptr) == (expected != map.end()));
      if (found != nullptr) CHECK(*found == expected->second);
    }
  }
};

}  // namespace

TEST_CASE("emulator clocks: what is learnt and joined of blocks is found again, and the joined stay as they were") {
  std::mt19937 random(7);
  const std::vector<u32> blocks{0, 1, 2, 7, 8, 9, 63, 64, 100, 511, 512, 4095, 70'000, 0x7fff'fffe, ~0u};
  std::vector<Known> warps(6);
  for (int step = 0; step < 2000; ++step) {
    Known& a = warps[random() % warps.size()];
    if (random() % 2 == 0) {
      const u32 block = blocks[random() % blocks.size()];
      VectorClock& clock = a.map[block];
      const int agent = static_cast<int>(random() % kAgents);
      clock.raise(agent, clock[agent] + static_cast<u32>(random() % 3));
      a.tree.assign(block, clock);
    } else {
      const Known& b = warps[random() % warps.size()];
      a.tree.join(b.tree);
      for (const auto& [block, clock] : b.map) a.map[block].join(clock);
    }
    if (step % 100 == 0) warps[random() % warps.size()] = {};
    for (const Known& warp : warps) warp.check(blocks);
  }
}

TEST_CASE("emulator clocks: a lane's word stands for itself, until all lanes have given theirs") {
  for (const int agent : {3, async_agent(3)}) {
    VectorClock clock;
    clock.raise(agent, 5);
    clock.raise(agent, 7, 1u << 4);
    CHECK(clock.knows(agent, 5, 9));
    CHECK(clock.knows(agent, 7, 4));
    CHECK(!clock.knows(agent, 6, 9));
    CHECK(!clock.knows(agent, 8, 4));
    CHECK(!clock.knows(agent, 6, VectorClock::kSeveralLanes));
    CHECK(!clock.knows(agent - 1, 1, 4));
    VectorClock other;
    other.raise(agent, 6);
    other.raise(agent, 7, 1u << 9);
    CHECK(!other.covers(clock));
    CHECK(!clock.covers(other));
    CHECK(!(other == clock));
    VectorClock both = clock;
    both.join(other);
    CHECK(both.covers(clock));
    CHECK(both.covers(other));
    CHECK(both[agent] == 6);
    CHECK(both.knows(agent, 7, 4));
    CHECK(both.knows(agent, 7, 9));
    CHECK(both.knows(agent, 7, VectorClock::kSeveralLanes));
    CHECK(!both.knows(agent, 7, 0));
    // A value that all lanes have acquired covers values that single lanes published.
    clock.raise(agent, 7, ~(1u << 4));
    CHECK(clock[agent] == 7);
    CHECK(clock.covers(both));
    clock.raise(agent, 6, 1);
    CHECK(clock[agent] == 7);
    CHECK(clock.knows(agent, 7, 0));
  }
}

}  // namespace tilewright::rt::emulator
