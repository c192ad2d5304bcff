// Counts sectors and wavefronts, and remembers the requests whose counts are known.
#include "runtime/emulator/cost/transactions.h"

#include <algorithm>

#include "runtime/emulator/simd/cpu_dispatch.h"
#include "runtime/emulator/simd/lanes.h"

namespace tilewright::rt::emulator {
namespace {

// Higher addresses could wrap around when distances are added to them. None of them is valid.
constexpr u64 kHighest = u64{1} << 62;
// Lanes that are further apart are rare, and comparing them would take more memory.
constexpr u64 kFarthest = 0x7fffffff;

/// Whether the lanes of a phase need at most one word of each bank, as most phases do.
bool is_one_wavefront(const std::array<u64, kLanes>& address, Mask mask, int begin, int end, int bytes) {
  std::array<u64, 32> words;
  u32 used = 0;
  for (int lane = begin; lane < end; ++lane) {
    if (!has_lane(mask, lane)) continue;
    const u64 first = address[lane] / 4, last = (address[lane] + static_cast<u64>(bytes) - 1) / 4;
    for (u64 word = first; word <= last; ++word) {
      const std::size_t bank = word & 31;
      if ((used >> bank & 1) && words[bank] != word) return false;
      used |= 1u << bank;
      words[bank] = word;
    }
  }
  return true;
}

using Words = std::array<u64, kLanes>;

using Distances = std::array<s32, kLanes>;

bool has_distances(const Words& address, const Distances& distance) {
  u64 difference = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) difference |= (address[lane] - address[0]) ^ static_cast<u64>(s64{distance[lane]});
  return difference == 0;
}

void find_addresses(RequestShape& shape, const std::array<u64, kLanes>& address) {
  shape.addresses = 0;
  bool ascend = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    ascend &= lane == 0 || address[lane - 1] < address[lane];
    const auto end = address.begin() + static_cast<std::ptrdiff_t>(lane),
               at = ascend ? end : std::find(address.begin(), end, address[lane]);
    if (at == end) {
      shape.first_lane[shape.addresses] = shape.only_lane[shape.addresses] = static_cast<u8>(lane);
      ++shape.addresses;
      continue;
    }
    const auto earlier =
        std::find(shape.first_lane.begin(), shape.first_lane.begin() + shape.addresses, static_cast<u8>(at - address.begin()));
    shape.only_lane[earlier - shape.first_lane.begin()] = kLanes;
  }
}

}  // namespace

Transactions sectors_of(const std::array<u64, kLanes>& address, Mask mask, int bytes) {
  const int sectors = count_sectors(address, mask, bytes);
  return {sectors, std::min(sectors, (__builtin_popcount(mask) * bytes + 31) / 32)};
}

Transactions wavefronts_of(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load) {
  const int lanes = lanes_a_phase(address, mask, bytes, is_load);
  int phases = 0;
  for (int lane = 0; lane < kLanes; lane += lanes) phases += ((mask >> lane) & (~Mask{0} >> (32 - lanes))) != 0;
  return {count_wavefronts(address, mask, bytes, lanes), phases};
}

int count_sectors(const std::array<u64, kLanes>& address, Mask mask, int bytes) {
  u64 lowest = ~u64{0}, highest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(mask, lane)) continue;
    lowest = std::min(lowest, address[lane]);
    highest = std::max(highest, address[lane]);
  }
  if (mask == 0) return 0;
  const u64 first = lowest / 32, last = (highest + static_cast<u64>(bytes) - 1) / 32;
  if (last - first < 64) {
    u64 touched = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!has_lane(mask, lane)) continue;
      const u64 a = address[lane];
      touched |= u64{1} << (a / 32 - first);
      touched |= u64{1} << ((a + static_cast<u64>(bytes) - 1) / 32 - first);
    }
    return __builtin_popcountll(touched);
  }
  std::array<u64, kLanes> sectors;
  int count = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(mask, lane)) sectors[count++] = address[lane] / 32;
  std::sort(sectors.begin(), sectors.begin() + count);
  return static_cast<int>(std::unique(sectors.begin(), sectors.begin() + count) - sectors.begin());
}

int lanes_a_phase(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load) {
  const int lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  if (!is_load || bytes <= 4) return lanes;
  const auto are_pairs = [&](std::size_t apart) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t other = lane ^ apart;
      if (has_lane(mask, static_cast<int>(lane)) && has_lane(mask, static_cast<int>(other)) && address[lane] != address[other])
        return false;
    }
    return true;
  };
  return are_pairs(1) || are_pairs(2) ? 2 * lanes : lanes;
}

int count_wavefronts(const std::array<u64, kLanes>& address, Mask mask, int bytes, int lanes) {
  int total = 0;
  for (int begin = 0; begin < kLanes; begin += lanes) {
    if (is_one_wavefront(address, mask, begin, begin + lanes, bytes)) {
      total += ((mask >> begin) & (~Mask{0} >> (32 - lanes))) != 0;
      continue;
    }
    std::array<u64, kLanes> words;  // the words seen so far, bank by bank
    std::array<std::array<u64, 4>, 32> seen;
    std::array<u8, 32> count{};
    int most = 0, spilled = 0;
    for (int lane = begin; lane < begin + lanes; ++lane) {
      if (!has_lane(mask, lane)) continue;
      const u64 first = address[lane] / 4, last = (address[lane] + static_cast<u64>(bytes) - 1) / 4;
      for (u64 word = first; word <= last; ++word) {
        const std::size_t bank = word & 31;
        bool known = false;
        for (int k = 0; k < std::min<int>(count[bank], 4); ++k) known |= seen[bank][k] == word;
        for (int k = 0; k < spilled; ++k) known |= words[k] == word;
        if (known) continue;
        if (count[bank] < 4)
          seen[bank][count[bank]] = word;
        else
          words[spilled++] = word;
        most = std::max<int>(most, ++count[bank]);
      }
    }
    total += most;
  }
  return total;
}

const RequestShape* RequestShapes::find(Key key, const std::array<u64, kLanes>& address) const {
  if (entries_.empty() || address[0] >= kHighest) return nullptr;
  const Entry& entry = entries_[entry_of(key)];
  return entry.key == key && call_dispatched<has_distances>(address, entry.shape.distance) ? &entry.shape : nullptr;
}

const RequestShape* RequestShapes::remember(Key key, const std::array<u64, kLanes>& address, int bytes, Transactions transactions) {
  const auto [lowest, highest] = std::minmax_element(address.begin(), address.end());
  if (*highest >= kHighest || *highest - *lowest > kFarthest) return nullptr;
  entries_.resize(kEntries);
  Entry& entry = entries_[entry_of(key)];
  entry.key = key;
  RequestShape& shape = entry.shape;
  for (std::size_t lane = 0; lane < kLanes; ++lane) shape.distance[lane] = static_cast<s32>(address[lane] - address[0]);
  shape.lowest = static_cast<s64>(*lowest - address[0]);
  shape.highest = static_cast<s64>(*highest - address[0]);
  shape.transactions = transactions;
  find_addresses(shape, address);
  shape.has_whole_sectors = shape.is_apart();
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t in_sector = lane * static_cast<std::size_t>(bytes) % 32;
    shape.has_whole_sectors &=
        address[lane] % 32 == in_sector && address[lane] - address[lane - in_sector / static_cast<std::size_t>(bytes)] == in_sector;
  }
  return &shape;
}

}  // namespace tilewright::rt::emulator
