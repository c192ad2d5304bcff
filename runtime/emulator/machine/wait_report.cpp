// Describes what the warps of clusters wait for: one line for all warps that wait at one instruction for the same thing.
#include "runtime/emulator/machine/wait_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/emulator/async/mbarrier.h"
#include "runtime/emulator/memory/global_ranges.h"

namespace tilewright::rt::emulator {
namespace {

constexpr std::size_t kMostLines = 12;

bool is_leaf(const SimtStackEntry& entry) { return entry.mask != 0 && entry.children == 0; }

std::string describe_cluster_barrier(const Cluster& cluster) {
  int arrived = 0, all = 0;
  for (const auto& block : cluster.blocks)
    for (const Warp& warp : block->warps) {
      all += __builtin_popcount(warp.live);
      arrived += __builtin_popcount(warp.cluster_arrived & warp.live);
    }
  return fmt::format("the cluster's barrier, where {} of {} threads are", arrived, all);
}

std::string what_for(const Block& block, const SimtStackEntry& entry) {
  switch (entry.wait) {
    case Wait::barrier: {
      const Barrier& barrier = block.barriers[entry.wait_id];
      return fmt::format("barrier {}, where {} of {} threads are", entry.wait_id, barrier.arrived,
                         barrier.expected != 0 ? barrier.expected : static_cast<u32>(32 * block.running));
    }
    case Wait::mbarrier: return describe(*block.mbarriers.find(entry.wait_id), entry.wait_id);
    case Wait::cluster: return describe_cluster_barrier(*block.cluster);
    case Wait::registers:
      return fmt::format("{} more registers a thread, of which the block's pool has {}", entry.wait_id, block.free_registers);
    case Wait::matrix: return "warps of its warpgroup that have not committed their wgmma";
    default: return "other lanes";
  }
}

/// The value of aligned memory of 4 or 8 bytes; empty for other sizes.
std::string value_at(u64 address, u32 bytes) {
  if (bytes == 4) return fmt::format(", which hold {}", std::atomic_ref(*reinterpret_cast<u32*>(address)).load());
  if (bytes == 8) return fmt::format(", which hold {}", std::atomic_ref(*reinterpret_cast<u64*>(address)).load());
  return "";
}

std::string describe_poll(const Warp& warp) {
  const Poll& poll = warp.poll;
  Block& block = *warp.block;
  if (poll.space == Space::shared) {
    if (warp.kernel->code[poll.instruction].category == Category::barrier)
      if (const auto* barrier = block.mbarriers.find(static_cast<u32>(poll.address)))
        return "polling " + describe(*barrier, static_cast<u32>(poll.address));
    const bool is_own = poll.address + poll.bytes <= block.shared_bytes;
    return fmt::format("polling {} bytes at byte {} of shared memory{}", poll.bytes, poll.address,
                       is_own ? value_at(reinterpret_cast<u64>(block.shared.get()) + poll.address, poll.bytes) : "");
  }
  if (poll.space != Space::global) return "polling memory";
  const Range* range = global_range(*warp.worker, poll.address);
  if (range == nullptr) return "polling global memory";
  return fmt::format("polling {} bytes at byte {} of an allocation of {} bytes{}", poll.bytes, poll.address - range->begin, range->bytes,
                     value_at(poll.address, poll.bytes));
}

std::string describe_entry(const Warp& warp, const SimtStackEntry& entry) {
  const bool polls = entry.wait == Wait::none && &entry == &warp.stack[warp.current] && warp.poll.instruction != Poll().instruction;
  if (polls) return fmt::format("at {}, {}", location_text(warp, warp.poll.instruction), describe_poll(warp));
  const u32 pc = std::min(entry.pc, static_cast<u32>(warp.kernel->code.size()) - 1);
  if (entry.wait == Wait::none) return fmt::format("at {}, running", location_text(warp, pc));
  return fmt::format("at {}, waiting for {}", location_text(warp, pc), what_for(*warp.block, entry));
}

/// Warps for which the same line is printed.
struct Group {
  std::string text;
  const Block* block = nullptr;  // the first block
  std::vector<int> warps;        // warps of the first block
  std::vector<const Block*> others;

  void add(const Block& of, int warp) {
    if (block == nullptr) block = &of;
    if (&of == block) {
      if (warps.empty() || warps.back() != warp) warps.push_back(warp);
    } else if (others.empty() || others.back() != &of) {
      others.push_back(&of);
    }
  }
  std::string line() const {
    std::string out = fmt::format("block ({},{},{}), warp{}", block->id[0], block->id[1], block->id[2], warps.size() > 1 ? "s" : "");
    for (std::size_t k = 0; k < warps.size(); ++k) {
      std::size_t last = k;
      while (last + 1 < warps.size() && warps[last + 1] == warps[last] + 1) ++last;
      out += fmt::format("{} {}", k > 0 ? "," : "", warps[k]);
      if (last > k) out += fmt::format("-{}", warps[last]);
      k = last;
    }
    if (!others.empty()) out += fmt::format(", and {} more block{}", others.size(), others.size() > 1 ? "s" : "");
    return out + ": " + text;
  }
};

/// Calls f(block, warp, entry) for all entries that run or wait.
template <class F>
void each_leaf(std::span<const std::shared_ptr<Cluster>> clusters, F f) {
  for (const auto& cluster : clusters)
    for (auto& block : cluster->blocks)
      for (Warp& warp : block->warps)
        for (const SimtStackEntry& entry : warp.stack)
          if (warp.live != 0 && is_leaf(entry)) f(*block, warp, entry);
}

}  // namespace

std::string describe_waits(std::span<const std::shared_ptr<Cluster>> clusters) {
  std::vector<Group> groups;
  each_leaf(clusters, [&](const Block& block, const Warp& warp, const SimtStackEntry& entry) {
    std::string text = describe_entry(warp, entry);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) { return other.text == text; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{std::move(text), nullptr, {}, {}});
    group->add(block, warp.index);
  });
  std::string out;
  for (std::size_t k = 0; k < std::min(groups.size(), kMostLines); ++k) out += "\n  " + groups[k].line();
  if (groups.size() > kMostLines) out += fmt::format("\n  and {} more groups of threads", groups.size() - kMostLines);
  return out;
}

void report_waits(std::span<const std::shared_ptr<Cluster>> clusters, DiagnosticKind kind, const std::string& why) {
  bool is_told = false;
  each_leaf(clusters, [&](const Block&, Warp& warp, const SimtStackEntry& entry) {
    if (std::exchange(is_told, true)) return;
    const bool polls = entry.wait == Wait::none && warp.poll.instruction != Poll().instruction;
    const u32 pc = polls ? warp.poll.instruction : std::min(entry.pc, static_cast<u32>(warp.kernel->code.size()) - 1);
    report(warp, warp.kernel->code[pc], kind, __builtin_ctz(entry.mask), [&] { return why + describe_waits(clusters); });
  });
}

}  // namespace tilewright::rt::emulator
