// Checks bounds, alignment and windows of the state spaces, lane by lane.
#include "runtime/emulator/memory/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/memory/global_ranges.h"
#include "runtime/emulator/memory/locate_fast.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {

void poll(Warp& warp, const Instruction& i, const Request& request, int bytes) {
  warp.worker->poll(i);
  warp.poll = {i.index, request.space, request.address[static_cast<std::size_t>(__builtin_ctz(request.mask))], static_cast<u32>(bytes)};
}

namespace {

void count_request(Warp& warp, const Instruction& i, Mask mask, int bytes, Transactions transactions) {
  Count& count = warp.worker->counts[i.index];
  ++count.requests;
  count.units += static_cast<u64>(transactions.units);
  count.ideal += static_cast<u64>(transactions.ideal);
  count.bytes += static_cast<u64>(bytes) * static_cast<u64>(count_of(mask));
}

/// Removes lanes whose address is not a multiple of the access's size.
Mask drop_misaligned(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, Space space, int bytes) {
  const u64 low_bits = static_cast<u64>(bytes) - 1;
  u64 all = 0;
  for (int lane = 0; lane < kLanes; ++lane) all |= mask & kLaneBit[lane] ? address[lane] : 0;
  if ((all & low_bits) == 0) return mask;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(mask, lane) || (address[lane] & low_bits) == 0) continue;
    report(warp, i, DiagnosticKind::misaligned, lane,
           [&] { return fmt::format("{} bytes of {} memory at address 0x{:x}", bytes, name_of(space), address[lane]); });
    mask &= ~kLaneBit[lane];
  }
  return mask;
}

void locate_global(Warp& warp, const Instruction& i, Request& request, int bytes) {
  Worker& worker = *warp.worker;
  const int first = __builtin_ctz(request.mask);
  const Range* common = global_range(worker, request.address[static_cast<std::size_t>(first)]);
  for (const int lane : lanes_of(request.mask)) {
    const auto l = static_cast<std::size_t>(lane);
    const u64 address = request.address[l];
    const Range* range = common != nullptr && address >= common->begin && address < common->end() ? common : global_range(worker, address);
    if (range == nullptr || address + static_cast<u64>(bytes) > range->end()) {
      report(warp, i, address >= kSharedWindow ? DiagnosticKind::wrong_space : DiagnosticKind::out_of_bounds, lane,
             [&] { return describe_global(worker, address, static_cast<u64>(bytes)); });
      request.mask &= ~kLaneBit[lane];
      continue;
    }
    request.range[l] = range;
    request.at[l] = reinterpret_cast<std::byte*>(address);
  }
}

/// Locates lanes in a space that is a single range of bytes, in which addresses are offsets.
void locate_offsets(Warp& warp, const Instruction& i, Request& request, int bytes, std::byte* base, u64 size, u64 lane_stride) {
  for (const int lane : lanes_of(request.mask)) {
    const auto l = static_cast<std::size_t>(lane);
    const u64 offset = request.address[l];
    if (offset > size || static_cast<u64>(bytes) > size - offset) {
      const bool windowed = offset >= kSharedWindow;
      report(warp, i, windowed ? DiagnosticKind::wrong_space : DiagnosticKind::out_of_bounds, lane, [&] {
        if (windowed) return fmt::format("0x{:x} is a generic address, not one of {} memory", offset, name_of(request.space));
        return fmt::format("{} bytes at byte {} of {} memory, which has {} bytes", bytes, offset, name_of(request.space), size);
      });
      request.mask &= ~kLaneBit[lane];
      continue;
    }
    request.at[l] = base + offset + lane_stride * l;
  }
}

/// Finds the blocks whose shared memory the lanes access; addresses become offsets in that memory.
void find_blocks(Warp& warp, const Instruction& i, Request& request) {
  const auto& blocks = warp.block->cluster->blocks;
  const auto drop = [&](int lane, DiagnosticKind kind, auto text) {
    report(warp, i, kind, lane, text);
    request.mask &= ~kLaneBit[lane];
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    u64& address = request.address[lane];
    if (!has_lane(request.mask, lane) || address < kRankUnit || address >= kWindowBytes) continue;
    const u64 rank = address / kRankUnit - 1;
    if (rank >= blocks.size()) {
      drop(lane, DiagnosticKind::out_of_bounds,
           [&] { return fmt::format("0x{:x} is not an address of shared memory: the cluster has {} blocks", address, blocks.size()); });
      continue;
    }
    Block& owner = *blocks[rank];
    address %= kRankUnit;
    if (&owner == warp.block) continue;
    if (!i.in_cluster && i.space != Space::generic) {
      drop(lane, DiagnosticKind::wrong_space,
           [&] { return fmt::format("the address is one of the block of rank {}: expected '.shared::cluster'", rank); });
      continue;
    }
    if (owner.running == 0) {
      drop(lane, DiagnosticKind::exited_block,
           [&] { return fmt::format("byte {} of shared memory of the block of rank {}", address, rank); });
      continue;
    }
    request.remote |= kLaneBit[lane];
    request.remote_block[lane] = &owner;
  }
}

void locate_shared(Warp& warp, const Instruction& i, Request& request, int bytes) {
  Block& block = *warp.block;
  request.block = &block;
  u64 all = 0;
  for (int lane = 0; lane < kLanes; ++lane) all |= request.mask & kLaneBit[lane] ? request.address[lane] : 0;
  if (all >= kRankUnit) find_blocks(warp, i, request);
  locate_offsets(warp, i, request, bytes, block.shared.get(), block.shared_bytes, 0);
  for (int lane = 0; request.remote != 0 && lane < kLanes; ++lane)
    if (has_lane(request.mask & request.remote, lane)) request.at[lane] = request.owner(lane).shared.get() + request.address[lane];
}

}  // namespace

static Lanes<u64> add_offset(const Warp& warp, bool is_short, s32 slot, u64 offset) {
  Lanes<u64> address;
  const auto short_base = read_in_place<u32>(warp, slot);
  const auto base = read_in_place<u64>(warp, slot);
  if (is_short)
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = static_cast<u32>(short_base[lane] + static_cast<u32>(offset));
  else
    for (int lane = 0; lane < kLanes; ++lane) address[lane] = base[lane] + offset;
  return address;
}

Lanes<u64> addresses_of(const Warp& warp, bool is_short, s32 slot, u64 offset) {
  if (slot >= 0) return call_dispatched<add_offset>(warp, is_short, slot, offset);
  Lanes<u64> address;
  std::fill_n(address.at, kLanes, offset);
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

Request locate_in(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, Space space, int bytes) {
  Request request;
  request.space = space == Space::constant ? Space::global : space;
  request.mask = mask;
  std::copy(address.at, address.at + kLanes, request.address.begin());
  Transactions transactions;
  const bool may_be_fast =
      warp.worker->launch->fast_paths && mask == kAllLanes && (request.space == Space::shared || request.space == Space::global);
  if (may_be_fast && locate_fast(warp, i, request, bytes, transactions)) {
    count_request(warp, i, mask, bytes, transactions);
    return request;
  }
  request.mask = drop_misaligned(warp, i, mask, address, space, bytes);
  if (request.mask == 0) return request;
  switch (request.space) {
    case Space::shared:
      locate_shared(warp, i, request, bytes);
      if (request.mask == 0) return request;
      transactions = wavefronts_of(request.address, request.mask, bytes, i.category == Category::load_shared);
      break;
    case Space::local:
      locate_offsets(warp, i, request, bytes, warp.local, warp.kernel->local_bytes, warp.kernel->local_bytes);
      transactions = {count_of(request.mask) * bytes / 32 + 1, 1};
      break;
    case Space::param: {
      const auto& params = warp.worker->launch->params;
      // Parameters are read-only; a store to them is an error when it is decoded, or here for generic addresses.
      locate_offsets(warp, i, request, bytes, const_cast<std::byte*>(params.data()), params.size(), 0);
      return request;
    }
    default:
      locate_global(warp, i, request, bytes);
      transactions = sectors_of(request.address, request.mask, bytes);
      break;
  }
  count_request(warp, i, request.mask, bytes, transactions);
  if (may_be_fast && request.mask == kAllLanes && request.remote == 0) remember_shape(warp, i, request, bytes, transactions);
  return request;
}

void check_tracked(Warp& warp, const Instruction& i, const Request& request, int bytes, Access access) {
  for (const int lane : lanes_of(request.mask)) {
    const Range& range = request.range_of(lane);
    if (range.written == nullptr) continue;
    u8* written = range.written + (request.address[lane] - range.begin);
    if (access != Access::write)
      for (int b = 0; b < bytes; ++b)
        if (std::atomic_ref(written[b]).load(std::memory_order_relaxed) == 0) {
          report(warp, i, DiagnosticKind::uninitialized, lane,
                 [&] { return fmt::format("byte {} of an allocation of {} bytes", written + b - range.written, range.bytes); });
          break;
        }
    // Blocks on other threads of the host may access these flags at the same time.
    for (int b = 0; access != Access::read && b < bytes; ++b) std::atomic_ref(written[b]).store(1, std::memory_order_relaxed);
  }
}

}  // namespace tilewright::rt::emulator
