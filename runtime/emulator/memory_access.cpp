// Bounds, alignment and windows of the state spaces.
#include "runtime/emulator/memory_access.h"

#include <fmt/format.h>

namespace tilewright::rt::emulator {

const Range* global_range(Worker& worker, u64 address) {
  const auto& ranges = worker.launch->ranges;
  if (ranges.empty()) return nullptr;
  const Range& last = ranges[worker.last_range];
  if (address >= last.begin && address < last.end()) return &last;
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address, [](u64 a, const Range& range) { return a < range.begin; });
  if (after == ranges.begin()) return nullptr;
  --after;
  if (address >= after->end()) return nullptr;
  worker.last_range = static_cast<std::size_t>(after - ranges.begin());
  return &*after;
}

std::string describe_global(Worker& worker, u64 address, u64 bytes) {
  const auto& ranges = worker.launch->ranges;
  std::string text = fmt::format("{} bytes of global memory at address 0x{:x}", bytes, address);
  if (address >= kSharedWindow) return text + ", which is an address of another space";
  if (address < 65536) return text + ", in no allocation: the pointer is null or a small integer";
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), address, [](u64 a, const Range& range) { return a < range.begin; });
  const bool has_before = after != ranges.begin(), has_after = after != ranges.end();
  const u64 past = has_before ? address - std::prev(after)->end() : ~u64{0};
  const u64 ahead = has_after ? after->begin - address : ~u64{0};
  if (has_before && address < std::prev(after)->end())
    return text + fmt::format(", over the end of an allocation of {} bytes", std::prev(after)->bytes);
  if (has_before && past <= ahead)
    return text + fmt::format(", {} bytes past the end of an allocation of {} bytes", past, std::prev(after)->bytes);
  if (has_after) return text + fmt::format(", {} bytes ahead of an allocation of {} bytes", ahead, after->bytes);
  return text + ", in no allocation";
}

namespace {

void count_request(Warp& warp, const Instruction& i, Mask mask, int bytes, int units, int ideal) {
  Count& count = warp.worker->counts[i.index];
  ++count.requests;
  count.units += static_cast<u64>(units);
  count.ideal += static_cast<u64>(ideal);
  count.bytes += static_cast<u64>(bytes) * static_cast<u64>(__builtin_popcount(mask));
}

/// Drops lanes whose address is no multiple of the access's size.
Mask drop_misaligned(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, Space space, int bytes) {
  const u64 low_bits = static_cast<u64>(bytes) - 1;
  u64 all = 0;
  for (int lane = 0; lane < kLanes; ++lane) all |= mask & kLaneBit[lane] ? address[lane] : 0;
  if ((all & low_bits) == 0) return mask;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(mask, lane) || (address[lane] & low_bits) == 0) continue;
    report(warp, i, FindingKind::misaligned, lane,
           [&] { return fmt::format("{} bytes of {} memory at address 0x{:x}", bytes, name_of(space), address[lane]); });
    mask &= ~kLaneBit[lane];
  }
  return mask;
}

void locate_global(Warp& warp, const Instruction& i, Places& places, int bytes) {
  Worker& worker = *warp.worker;
  const int first = __builtin_ctz(places.mask);
  const Range* common = global_range(worker, places.address[static_cast<std::size_t>(first)]);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(places.mask, lane)) continue;
    const auto l = static_cast<std::size_t>(lane);
    const u64 address = places.address[l];
    const Range* range = common != nullptr && address >= common->begin && address < common->end() ? common : global_range(worker, address);
    if (range == nullptr || address + static_cast<u64>(bytes) > range->end()) {
      report(warp, i, address >= kSharedWindow ? FindingKind::wrong_space : FindingKind::out_of_bounds, lane,
             [&] { return describe_global(worker, address, static_cast<u64>(bytes)); });
      places.mask &= ~kLaneBit[lane];
      continue;
    }
    places.range[l] = range;
    places.at[l] = reinterpret_cast<std::byte*>(address);
  }
  const int sectors = sectors_of(places.address, places.mask, bytes);
  const int ideal = (__builtin_popcount(places.mask) * bytes + 31) / 32;
  count_request(warp, i, places.mask, bytes, sectors, std::min(sectors, ideal));
}

/// A space that is one block of bytes, in which addresses are offsets.
void locate_offsets(Warp& warp, const Instruction& i, Places& places, int bytes, std::byte* base, u64 size, u64 lane_stride) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(places.mask, lane)) continue;
    const auto l = static_cast<std::size_t>(lane);
    const u64 offset = places.address[l];
    if (offset > size || static_cast<u64>(bytes) > size - offset) {
      const bool windowed = offset >= kSharedWindow;
      report(warp, i, windowed ? FindingKind::wrong_space : FindingKind::out_of_bounds, lane, [&] {
        if (windowed) return fmt::format("0x{:x} is a generic address, not one of {} memory", offset, name_of(places.space));
        return fmt::format("{} bytes at byte {} of {} memory, which has {} bytes", bytes, offset, name_of(places.space), size);
      });
      places.mask &= ~kLaneBit[lane];
      continue;
    }
    places.at[l] = base + offset + lane_stride * l;
  }
}

/// Finds the blocks whose shared memory the lanes name, leaving offsets.
void find_blocks(Warp& warp, const Instruction& i, Places& places) {
  const auto& blocks = warp.block->cluster->blocks;
  const auto drop = [&](int lane, FindingKind kind, auto text) {
    report(warp, i, kind, lane, text);
    places.mask &= ~kLaneBit[lane];
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    u64& address = places.address[static_cast<std::size_t>(lane)];
    if (!has_lane(places.mask, lane) || address < kRankUnit || address >= kWindowBytes) continue;
    const u64 rank = address / kRankUnit - 1;
    if (rank >= blocks.size()) {
      drop(lane, FindingKind::out_of_bounds,
           [&] { return fmt::format("0x{:x} is no address of shared memory: the cluster has {} blocks", address, blocks.size()); });
      continue;
    }
    Block& owner = *blocks[rank];
    address %= kRankUnit;
    if (&owner == warp.block) continue;
    if (!i.in_cluster && i.space != Space::generic) {
      drop(lane, FindingKind::wrong_space,
           [&] { return fmt::format("the address is one of the block of rank {}: expected '.shared::cluster'", rank); });
      continue;
    }
    if (owner.running == 0) {
      drop(lane, FindingKind::exited_block, [&] { return fmt::format("byte {} of shared memory of the block of rank {}", address, rank); });
      continue;
    }
    places.remote |= kLaneBit[lane];
    places.remote_block[static_cast<std::size_t>(lane)] = &owner;
  }
}

void locate_shared(Warp& warp, const Instruction& i, Places& places, int bytes) {
  Block& block = *warp.block;
  places.block = &block;
  u64 all = 0;
  for (int lane = 0; lane < kLanes; ++lane) all |= places.mask & kLaneBit[lane] ? places.address[static_cast<std::size_t>(lane)] : 0;
  if (all >= kRankUnit) find_blocks(warp, i, places);
  locate_offsets(warp, i, places, bytes, block.shared.get(), block.shared_bytes, 0);
  for (int lane = 0; places.remote != 0 && lane < kLanes; ++lane)
    if (has_lane(places.mask & places.remote, lane))
      places.at[static_cast<std::size_t>(lane)] = places.owner(lane).shared.get() + places.address[static_cast<std::size_t>(lane)];
}

}  // namespace

Lanes<u64> addresses_of(const Warp& warp, const Instruction& i, s32 slot, u64 offset) {
  Lanes<u64> address;
  if (slot < 0) {
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = offset;
  } else if (i.short_address) {
    const Lanes<u32> base = read<u32>(warp, slot);
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = static_cast<u32>(base[lane] + static_cast<u32>(offset));
  } else {
    address = read<u64>(warp, slot);
    for (int lane = 0; lane < kLanes; ++lane) address[lane] += offset;
  }
  return address;
}

Mask split_generic(Mask mask, Lanes<u64>& address, Space space) {
  const u64 window = space == Space::shared ? kSharedWindow : space == Space::local ? kLocalWindow : kParamWindow;
  Mask inside = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool windowed = address[lane] >= kSharedWindow && address[lane] < kParamWindow + kWindowBytes;
    const bool is = space == Space::global ? !windowed : address[lane] - window < kWindowBytes;
    if (is && has_lane(mask, lane)) inside |= kLaneBit[lane];
  }
  if (space != Space::global)
    for (int lane = 0; lane < kLanes; ++lane) address[lane] -= window;
  return inside;
}

Places locate_in(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, Space space, int bytes) {
  Places places;
  places.space = space == Space::constant ? Space::global : space;
  places.mask = drop_misaligned(warp, i, mask, address, space, bytes);
  std::copy(address.at, address.at + kLanes, places.address.begin());
  if (places.mask == 0) return places;
  switch (places.space) {
    case Space::shared: {
      locate_shared(warp, i, places, bytes);
      if (places.mask == 0) break;
      const int lanes = lanes_a_phase(places.address, places.mask, bytes, i.category == Category::load_shared);
      int phases = 0;
      for (int lane = 0; lane < kLanes; lane += lanes) phases += ((places.mask >> lane) & (~Mask{0} >> (32 - lanes))) != 0;
      count_request(warp, i, places.mask, bytes, wavefronts_of(places.address, places.mask, bytes, lanes), phases);
      break;
    }
    case Space::local:
      locate_offsets(warp, i, places, bytes, warp.local, warp.kernel->local_bytes, warp.kernel->local_bytes);
      count_request(warp, i, places.mask, bytes, __builtin_popcount(places.mask) * bytes / 32 + 1, 1);
      break;
    case Space::param: {
      const auto& params = warp.worker->launch->params;
      // Parameters are only read; a store to them is an error when it is decoded, and here for generic addresses.
      locate_offsets(warp, i, places, bytes, const_cast<std::byte*>(params.data()), params.size(), 0);
      break;
    }
    default: locate_global(warp, i, places, bytes); break;
  }
  return places;
}

void check_written(Warp& warp, const Instruction& i, const Places& places, int bytes, Access access) {
  if (places.space != Space::global) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(places.mask, lane)) continue;
    const Range& range = *places.range[static_cast<std::size_t>(lane)];
    if (range.written == nullptr) continue;
    u8* written = range.written + (places.address[static_cast<std::size_t>(lane)] - range.begin);
    if (access != Access::write)
      for (int b = 0; b < bytes; ++b)
        if (!written[b]) {
          report(warp, i, FindingKind::uninitialized, lane,
                 [&] { return fmt::format("byte {} of an allocation of {} bytes", written + b - range.written, range.bytes); });
          break;
        }
    if (access != Access::read) std::memset(written, 1, static_cast<std::size_t>(bytes));
  }
}

int sectors_of(const std::array<u64, kLanes>& address, Mask mask, int bytes) {
  u64 lowest = ~u64{0}, highest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(mask, lane)) continue;
    lowest = std::min(lowest, address[static_cast<std::size_t>(lane)]);
    highest = std::max(highest, address[static_cast<std::size_t>(lane)]);
  }
  if (mask == 0) return 0;
  const u64 first = lowest / 32, last = (highest + static_cast<u64>(bytes) - 1) / 32;
  if (last - first < 64) {
    u64 touched = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!has_lane(mask, lane)) continue;
      const u64 a = address[static_cast<std::size_t>(lane)];
      touched |= u64{1} << (a / 32 - first);
      touched |= u64{1} << ((a + static_cast<u64>(bytes) - 1) / 32 - first);
    }
    return __builtin_popcountll(touched);
  }
  std::array<u64, kLanes> sectors;
  int count = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(mask, lane)) sectors[static_cast<std::size_t>(count++)] = address[static_cast<std::size_t>(lane)] / 32;
  std::sort(sectors.begin(), sectors.begin() + count);
  return static_cast<int>(std::unique(sectors.begin(), sectors.begin() + count) - sectors.begin());
}

/// Whether the lanes of a phase want no more than one word of each bank, as most do.
static bool is_one_wavefront(const std::array<u64, kLanes>& address, Mask mask, int begin, int end, int bytes) {
  std::array<u64, 32> words;
  u32 used = 0;
  for (int lane = begin; lane < end; ++lane) {
    if (!has_lane(mask, lane)) continue;
    const u64 first = address[static_cast<std::size_t>(lane)] / 4,
              last = (address[static_cast<std::size_t>(lane)] + static_cast<u64>(bytes) - 1) / 4;
    for (u64 word = first; word <= last; ++word) {
      const std::size_t bank = word & 31;
      if ((used >> bank & 1) && words[bank] != word) return false;
      used |= 1u << bank;
      words[bank] = word;
    }
  }
  return true;
}

int lanes_a_phase(const std::array<u64, kLanes>& address, Mask mask, int bytes, bool is_load) {
  const int lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  if (!is_load || bytes <= 4) return lanes;
  const auto are_pairs = [&](std::size_t apart) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t other = lane ^ apart;
      if (has_lane(mask, static_cast<int>(lane)) && has_lane(mask, static_cast<int>(other)) && address[lane] != address[other]) return false;
    }
    return true;
  };
  return are_pairs(1) || are_pairs(2) ? 2 * lanes : lanes;
}

int wavefronts_of(const std::array<u64, kLanes>& address, Mask mask, int bytes, int lanes) {
  int total = 0;
  for (int begin = 0; begin < kLanes; begin += lanes) {
    if (is_one_wavefront(address, mask, begin, begin + lanes, bytes)) {
      total += ((mask >> begin) & (~Mask{0} >> (32 - lanes))) != 0;
      continue;
    }
    std::array<u64, kLanes> words;  // bank by bank, those seen
    std::array<std::array<u64, 4>, 32> seen;
    std::array<u8, 32> count{};
    int most = 0, spilled = 0;
    for (int lane = begin; lane < begin + lanes; ++lane) {
      if (!has_lane(mask, lane)) continue;
      const u64 first = address[static_cast<std::size_t>(lane)] / 4,
                last = (address[static_cast<std::size_t>(lane)] + static_cast<u64>(bytes) - 1) / 4;
      for (u64 word = first; word <= last; ++word) {
        const std::size_t bank = word & 31;
        bool known = false;
        for (int k = 0; k < std::min<int>(count[bank], 4); ++k) known |= seen[bank][static_cast<std::size_t>(k)] == word;
        for (int k = 0; k < spilled; ++k) known |= words[static_cast<std::size_t>(k)] == word;
        if (known) continue;
        if (count[bank] < 4)
          seen[bank][count[bank]] = word;
        else
          words[static_cast<std::size_t>(spilled++)] = word;
        most = std::max<int>(most, ++count[bank]);
      }
    }
    total += most;
  }
  return total;
}

}  // namespace tilewright::rt::emulator
