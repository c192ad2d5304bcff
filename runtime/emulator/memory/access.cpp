// Bounds, alignment and windows of the state spaces.
#include "runtime/emulator/memory/access.h"

#include <fmt/format.h>

#include <atomic>
#include <bit>

#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/races/remote_accesses.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/kernel_cache.h"
#include "runtime/emulator/state/register_file.h"

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

void poll(Warp& warp, const Instruction& i, const Places& places, int bytes) {
  warp.worker->poll(i);
  warp.poll = {i.index, places.space, places.address[static_cast<std::size_t>(__builtin_ctz(places.mask))], static_cast<u32>(bytes)};
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

void count_request(Warp& warp, const Instruction& i, Mask mask, int bytes, Transactions transactions) {
  Count& count = warp.worker->counts[i.index];
  ++count.requests;
  count.units += static_cast<u64>(transactions.units);
  count.ideal += static_cast<u64>(transactions.ideal);
  count.bytes += static_cast<u64>(bytes) * static_cast<u64>(count_of(mask));
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

/// All lanes' bytes of the host lie so far from their addresses.
void place_all(Places& places, u64 base) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) places.at[lane] = reinterpret_cast<std::byte*>(base + places.address[lane]);
}

Lanes<u64> add_offset(const Warp& warp, bool is_short, s32 slot, u64 offset) {
  Lanes<u64> address;
  const auto short_base = read_in_place<u32>(warp, slot);
  const auto base = read_in_place<u64>(warp, slot);
  if (is_short)
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = static_cast<u32>(short_base[lane] + static_cast<u32>(offset));
  else
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = base[lane] + offset;
  return address;
}

/// The places of a request of all lanes that has the shape of an earlier one, found for all lanes together. False if it is none, or not
/// in bounds.
bool locate_known(Warp& warp, Places& places, int bytes, RequestShapes::Key key, Transactions& transactions) {
  const RequestShape* shape = warp.worker->learned->requests.find(key, places.address);
  if (shape == nullptr) return false;
  const s64 lowest = static_cast<s64>(places.address[0]) + shape->lowest,
            end = static_cast<s64>(places.address[0]) + shape->highest + bytes;
  if (lowest < 0) return false;
  u64 base = 0;
  if (places.space == Space::shared) {
    if (end > static_cast<s64>(warp.block->shared_bytes)) return false;
    places.block = warp.block;
    base = reinterpret_cast<u64>(warp.block->shared.get());
  } else {
    const Range* range = global_range(*warp.worker, static_cast<u64>(lowest));
    if (range == nullptr || end > static_cast<s64>(range->end())) return false;
    places.one_range = range;
  }
  call_for_processor<place_all>(places, base);
  places.shape = shape;
  transactions = shape->transactions;
  return true;
}

/// The place of a lane's own request to its block's shared memory. False if there is more to find out.
bool locate_single(Warp& warp, Places& places, int bytes, Transactions& transactions) {
  const Block& block = *warp.block;
  const auto lane = static_cast<std::size_t>(__builtin_ctz(places.mask));
  const u64 offset = places.address[lane], size = static_cast<u64>(bytes);
  if (offset % size != 0 || offset > block.shared_bytes || size > block.shared_bytes - offset) return false;
  places.block = warp.block;
  places.at[lane] = block.shared.get() + offset;
  // Its words follow each other, in different banks.
  transactions = {1, 1};
  return true;
}

/// Remembers the shape of a request of all lanes for the next ones.
void take_shape(Warp& warp, Places& places, int bytes, RequestShapes::Key key, Transactions transactions) {
  const auto& range = places.range;
  if (places.space == Space::global && std::all_of(range.begin(), range.end(), [&](const Range* other) { return other == range[0]; }))
    places.one_range = range[0];
  const RequestShape* const shape = warp.worker->learned->requests.remember(key, places.address, bytes, transactions);
  if (places.space == Space::shared || places.one_range != nullptr) places.shape = shape;
}

}  // namespace

Lanes<u64> addresses_of(const Warp& warp, bool is_short, s32 slot, u64 offset) {
  if (slot < 0) {
    Lanes<u64> address;
    std::fill_n(address.at, kLanes, offset);
    return address;
  }
  return call_for_processor<add_offset>(warp, is_short, slot, offset);
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
  places.mask = mask;
  std::copy(address.at, address.at + kLanes, places.address.begin());
  const bool has_shape = mask == kAllLanes && (places.space == Space::shared || places.space == Space::global);
  const RequestShapes::Key key = RequestShapes::key_of(i.index, static_cast<int>(places.space), bytes, address[0]);
  Transactions transactions;
  const bool is_single = std::has_single_bit(mask) && places.space == Space::shared;
  const bool is_found =
      is_single ? locate_single(warp, places, bytes, transactions) : has_shape && locate_known(warp, places, bytes, key, transactions);
  if (is_found) {
    count_request(warp, i, mask, bytes, transactions);
    return places;
  }
  places.mask = drop_misaligned(warp, i, mask, address, space, bytes);
  if (places.mask == 0) return places;
  switch (places.space) {
    case Space::shared:
      locate_shared(warp, i, places, bytes);
      if (places.mask == 0) return places;
      transactions = wavefronts_of(places.address, places.mask, bytes, i.category == Category::load_shared);
      break;
    case Space::local:
      locate_offsets(warp, i, places, bytes, warp.local, warp.kernel->local_bytes, warp.kernel->local_bytes);
      transactions = {count_of(places.mask) * bytes / 32 + 1, 1};
      break;
    case Space::param: {
      const auto& params = warp.worker->launch->params;
      // Parameters are only read; a store to them is an error when it is decoded, and here for generic addresses.
      locate_offsets(warp, i, places, bytes, const_cast<std::byte*>(params.data()), params.size(), 0);
      return places;
    }
    default:
      locate_global(warp, i, places, bytes);
      transactions = sectors_of(places.address, places.mask, bytes);
      break;
  }
  count_request(warp, i, places.mask, bytes, transactions);
  if (has_shape && places.mask == kAllLanes && places.remote == 0) take_shape(warp, places, bytes, key, transactions);
  return places;
}

void RequestCheck::read(int lane, int bytes) {
  const u64 address = places_.address[static_cast<std::size_t>(lane)];
  if (shared_ && has_lane(places_.remote, lane)) {
    check_shared_read(by_, places_.owner(lane), lane, address, bytes);
    remember_remote(places_.owner(lane).remote_accesses, by_, lane);
  } else if (shared_)
    shared_->read(lane, address, bytes);
  else if (global_ && places_.range_of(lane).cells != nullptr)
    global_->read(lane, places_.range_of(lane), address, bytes);
}

void RequestCheck::write(int lane, int bytes, const std::byte* value) {
  const u64 address = places_.address[static_cast<std::size_t>(lane)];
  if (shared_ && has_lane(places_.remote, lane)) {
    check_shared_write(by_, places_.owner(lane), lane, address, bytes, value);
    remember_remote(places_.owner(lane).remote_accesses, by_, lane);
  } else if (shared_)
    shared_->write(lane, address, bytes, value);
  else if (global_ && places_.range_of(lane).cells != nullptr)
    global_->write(lane, places_.range_of(lane), address, bytes, value);
}

void RequestCheck::read(int bytes) {
  if (global_) return global_->read(places_, bytes);
  if (!shared_) return;
  shared_->read(places_, bytes);
  for (int lane = 0; places_.remote != 0 && lane < kLanes; ++lane)
    if (has_lane(places_.mask & places_.remote, lane)) read(lane, bytes);
}

bool RequestCheck::write_apart(int bytes, const std::byte* values) {
  if (shared_) return shared_->write_apart(places_, bytes, values);
  return !global_ || global_->write_apart(places_, bytes, values);
}

void check_tracked(Warp& warp, const Instruction& i, const Places& places, int bytes, Access access) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(places.mask, lane)) continue;
    const Range& range = places.range_of(lane);
    if (range.written == nullptr) continue;
    u8* written = range.written + (places.address[static_cast<std::size_t>(lane)] - range.begin);
    if (access != Access::write)
      for (int b = 0; b < bytes; ++b)
        if (std::atomic_ref(written[b]).load(std::memory_order_relaxed) == 0) {
          report(warp, i, FindingKind::uninitialized, lane,
                 [&] { return fmt::format("byte {} of an allocation of {} bytes", written + b - range.written, range.bytes); });
          break;
        }
    // Blocks on other threads of the host may look at the same bytes.
    for (int b = 0; access != Access::read && b < bytes; ++b) std::atomic_ref(written[b]).store(1, std::memory_order_relaxed);
  }
}

}  // namespace tilewright::rt::emulator
