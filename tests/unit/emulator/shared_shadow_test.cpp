// Shadow cells of shared memory: an asynchronous access to whole lines leaves the same cells as the rule that goes granule by granule.
#include <doctest/doctest.h>

#include <random>

#include "runtime/emulator/races/engine_checks.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

constexpr u32 kBytes = 5000, kLine = SharedLines::kLineBytes, kPage = SharedLines::kPageBytes;
constexpr int kWarps = 8;

/// A block whose warps have acquired nothing from each other.
struct World {
  explicit World(int granule) {
    worker.launch = &launch;
    cluster.blocks.push_back(std::make_unique<Block>());
    kernel.shared_granule = granule;
    block().cluster = &cluster;
    block().shared_bytes = kBytes;
    block().shadow.reset(kBytes, granule, true);
    block().warps.resize(kWarps);
    for (int w = 0; w < kWarps; ++w) {
      Warp& warp = block().warps[static_cast<std::size_t>(w)];
      warp.block = &block();
      warp.kernel = &kernel;
      warp.worker = &worker;
      warp.index = w;
    }
    for (u32 i = 0; i < 4; ++i) instructions[i].index = i + 1;
  }

  Accessor engine(int agent, u32 time, u32 instruction) {
    return engine_of(block().warps[0], instructions[instruction], block(), agent, time);
  }
  Accessor warp(int index) { return accessor_of(block().warps[static_cast<std::size_t>(index)], instructions[0]); }
  void publish_all(u32 time) {
    for (Warp& warp : block().warps)
      for (AcquireClocks* clocks : {&warp.clocks, &warp.async.shared, &warp.async.global})
        for (int agent = 0; agent < kAgents; ++agent) clocks->clock.raise(agent, time);
  }
  /// A cell, with the list of its readers if it has one.
  std::vector<u64> history(u64 granule) {
    const SharedShadowCell& cell = block().shadow[granule];
    std::vector<u64> all{cell.write};
    if (const u32 list = static_cast<u32>(cell.reads[0]); cell.reads[0] & kMany)
      all.insert(all.end(), block().shadow.list(list).begin(), block().shadow.list(list).end());
    else
      all.insert(all.end(), cell.reads.begin(), cell.reads.end());
    return all;
  }

  Block& block() { return *cluster.blocks[0]; }

  Kernel kernel;
  LaunchState launch;
  Worker worker;
  Cluster cluster;
  std::array<Instruction, 4> instructions;
};

/// Lines of some ranges, as boxes and operands have them, in any order.
std::vector<SharedSpan> some_lines(std::mt19937& random, bool is_apart, u32 most_ranges) {
  std::vector<SharedSpan> spans;
  for (u32 ranges = 1 + random() % most_ranges; ranges > 0; --ranges) {
    const bool is_page = random() % 3 == 0;
    const u32 first = is_page ? random() % 4 * (kPage / kLine) : random() % 300, step = is_page || random() % 2 ? 1 : 2 + random() % 8;
    const u32 count = is_page ? kPage / kLine : 1 + random() % 40;
    for (u32 k = 0; k < count && (first + k * step + 1) * kLine <= kBytes; ++k)
      if (is_apart || spans.empty() || spans.back().offset + spans.back().bytes != (first + k * step) * kLine)
        spans.push_back({(first + k * step) * kLine, kLine});
      else
        spans.back().bytes += kLine;
  }
  std::shuffle(spans.begin(), spans.end(), random);
  return spans;
}

}  // namespace

TEST_CASE("emulator shared cells: accesses of many lines leave what one access a line does") {
  for (const int granule : {16, 8, 4, 2}) {
    std::mt19937 random(static_cast<u32>(granule));
    for (int round = 0; round < 20; ++round) {
      World whole(granule), apart(granule);
      const SharedSpan all{0, kBytes / kLine * kLine};
      CHECK(write_in_order(whole.engine(barrier_agent(0), 1, 0), whole.block(), 0, all));
      check_shared_write(apart.engine(barrier_agent(0), 1, 0), apart.block(), 0, 0, static_cast<int>(all.bytes), nullptr);
      whole.publish_all(1), apart.publish_all(1);
      for (u32 time = 2; time < 40; ++time) {
        // A writer has acquired all earlier accesses, and all threads acquire its write; some readers have acquired earlier reads.
        const bool writes = random() % 4 == 0, is_warp = random() % 6 == 0;
        if (writes || random() % 4 == 0) whole.publish_all(time - 1), apart.publish_all(time - 1);
        const std::vector<SharedSpan> spans = some_lines(random, random() % 2, writes ? 1 : 3);
        const int agent = writes ? barrier_agent(static_cast<int>(random() % 2)) : matrix_agent(4 * static_cast<int>(random() % 6));
        const u32 instruction = random() % 4;
        const int index = static_cast<int>(random() % kWarps), lane = static_cast<int>(random() % 32);
        for (World* world : {&whole, &apart}) {
          for (Warp& warp : world->block().warps) warp.time = time;
          const Accessor by = is_warp ? world->warp(index) : world->engine(agent, time, instruction);
          if (world == &whole && !is_warp) {
            writes ? check_shared_writes(by, world->block(), 0, spans) : check_shared_reads(by, world->block(), 0, spans);
            continue;
          }
          SharedChecker check(by, world->block());
          for (const SharedSpan& at : spans)
            writes ? check.write(is_warp ? lane : 0, at.offset, static_cast<int>(at.bytes), nullptr)
                   : check.read(is_warp ? lane : 0, at.offset, static_cast<int>(at.bytes));
        }
        if (writes) whole.publish_all(time), apart.publish_all(time);
      }
      bool are_same = true;
      for (u64 c = 0; c < kBytes / static_cast<u64>(granule); ++c) are_same &= whole.history(c) == apart.history(c);
      CHECK(are_same);
      // All pages are apart now.
      const u8* const written = whole.block().shadow.written();
      CHECK(std::equal(written, written + kBytes, apart.block().shadow.written()));
    }
  }
}

TEST_CASE("emulator shared cells: lines of a page are told apart, and sizes that are not lines are none") {
  const std::array<SharedSpan, 2> spans{{{1008, 32}, {3 * kPage, kPage}}};
  const SharedLines lines(spans);
  CHECK(lines.are_whole());
  std::vector<std::pair<std::size_t, u64>> pages;
  lines.each_page([&](std::size_t page, u64 of_page) {
    pages.emplace_back(page, of_page);
    return true;
  });
  CHECK(pages == std::vector<std::pair<std::size_t, u64>>{{0, u64{1} << 63}, {1, 1}, {3, ~u64{0}}});
  for (const SharedSpan span : {SharedSpan{8, 16}, SharedSpan{16, 8}, SharedSpan{16, 0}, SharedSpan{256 * kPage - 16, 32}})
    CHECK(!SharedLines({&span, 1}).are_whole());
}

}  // namespace tilewright::rt::emulator
