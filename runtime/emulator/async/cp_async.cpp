// cp.async: copies from global to shared memory. The schedule may delay a copy until a thread waits for its group.
#include <fmt/format.h>

#include "runtime/emulator/async/mbarrier.h"
#include "runtime/emulator/async/schedule.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

// The value that a read finds if it does not wait for the copy: NaN, for floats of every size.
constexpr int kPoison = 0xff;

struct CopyOptions {
  s64 source_offset = 0;               // Instruction::immediate is the destination's offset
  bool has_short_destination = false;  // its base register has 32 bits; Instruction::short_address describes the source
  bool ignores_source = false;         // the instruction has a predicate under which only zeros are written
};
struct WaitOptions {
  u32 groups = 0;  // groups of each lane that may remain unfinished
  bool commits = false;
};
struct ArriveOptions {
  bool increases = true;  // adds to the arrivals that the mbarrier waits for
};

/// The lanes of the mask that may read this many bytes from their addresses.
Mask locate_sources(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, int bytes) {
  const Accessor by = accessor_of(warp, i);
  const Request request = locate_in(warp, i, mask, address, Space::global, bytes);
  check_written(warp, i, request, bytes, Access::read);
  RequestCheck(by, request).read(bytes);
  return request.mask;
}

/// If lanes have different sizes, both ends of each lane's range must be in bounds. The address of a lane that reads nothing is ignored.
Mask locate_sources(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& address, const Lanes<u32>& bytes) {
  Mask whole = 0, part = 0;
  for (const int lane : lanes_of(mask)) {
    if (bytes[lane] == i.width)
      whole |= kLaneBit[lane];
    else if (bytes[lane] > 0)
      part |= kLaneBit[lane];
  }
  Mask good = mask & ~(whole | part);
  if (whole != 0) good |= locate_sources(warp, i, whole, address, i.width);
  if (part != 0) {
    Lanes<u64> last;
    for (int lane = 0; lane < kLanes; ++lane) last[lane] = address[lane] + std::max(bytes[lane], 1u) - 1;
    good |= locate_sources(warp, i, part, address, 1) & locate_sources(warp, i, part, last, 1);
  }
  return good;
}

/// How many bytes each lane copies, if this is not always the width of the instruction.
Lanes<u32> sizes_of(Warp& warp, const Instruction& i, Mask mask) {
  Lanes<u32> bytes;
  if (i.options<CopyOptions>().ignores_source) {
    const Mask ignored = read_predicate(warp, i, 2);
    for (int lane = 0; lane < kLanes; ++lane) bytes[lane] = has_lane(ignored, lane) ? 0 : i.width;
    return bytes;
  }
  bytes = read<u32>(warp, i.slot[2]);
  for (const int lane : lanes_of(mask))
    if (bytes[lane] > i.width) {
      report(warp, i, DiagnosticKind::bad_operand, lane, [&] { return fmt::format("{} bytes of a copy of {}", bytes[lane], i.width); });
      bytes[lane] = i.width;
    }
  return bytes;
}

void finish(const AsyncCopy& copy, int lane) {
  const auto* from = reinterpret_cast<const void*>(copy.from[lane]);
  std::memcpy(copy.to[lane], from, copy.bytes[lane]);
  std::memset(copy.to[lane] + copy.bytes[lane], 0, static_cast<std::size_t>(copy.width - copy.bytes[lane]));
}

void finish_lanes(const AsyncCopy& copy, Mask lanes) {
  if (lanes == kAllLanes && copy.is_full && copy.width == 16) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) std::memcpy(copy.to[lane], reinterpret_cast<const void*>(copy.from[lane]), 16);
    return;
  }
  for (const int lane : lanes_of(lanes)) finish(copy, lane);
}

void poison_lanes(const AsyncCopy& copy, Mask lanes) {
  if (lanes == kAllLanes && copy.width == 16) {
    for (std::byte* to : copy.to) std::memset(to, kPoison, 16);
    return;
  }
  for (const int lane : lanes_of(lanes)) std::memset(copy.to[lane], kPoison, copy.width);
}

void copy_async(Warp& warp, const Instruction& i, Mask mask) {
  // The two addresses may have bases of different widths.
  const auto& options = i.options<CopyOptions>();
  const Lanes<u64> destination = addresses_of(warp, options.has_short_destination, i.slot[0], i.immediate);
  const Lanes<u64> source = addresses_of(warp, i, i.slot[1], static_cast<u64>(options.source_offset));
  const bool is_full = !options.ignores_source && i.slot[2] < 0;
  Lanes<u32> bytes;
  if (is_full) {
    mask = locate_sources(warp, i, mask, source, i.width);
  } else {
    bytes = sizes_of(warp, i, mask);
    mask = locate_sources(warp, i, mask, source, bytes);
  }
  if (mask == 0) return;
  const Request request = locate_in(warp, i, mask, destination, Space::shared, i.width);
  if (request.mask == 0) return;
  AsyncCopy& copy = warp.copies.emplace_back();
  copy.lanes = request.mask;
  copy.sequence = ++warp.copy_sequence;
  copy.width = i.width;
  copy.is_full = is_full;
  copy.to = request.at;
  std::copy(source.at, source.at + kLanes, copy.from.begin());
  for (std::size_t lane = 0; lane < kLanes; ++lane) copy.group[lane] = warp.committed[lane] + 1;
  if (is_full)
    copy.bytes.fill(i.width);
  else
    for (std::size_t lane = 0; lane < kLanes; ++lane) copy.bytes[lane] = static_cast<u8>(bytes.at[lane]);
  const Accessor by = engine_of(warp, i, *warp.block, async_agent(warp.index), copy.sequence);
  RequestCheck check(by, request);
  if (!check.write_apart(i.width, nullptr))
    for (const int lane : lanes_of(request.mask)) check.write(lane, i.width, nullptr);
  if (warp.worker->launch->async_order == AsyncOrder::lazy) return poison_lanes(copy, request.mask);
  for (const int lane : lanes_of(request.mask)) {
    if (!is_done_at_once(*warp.worker)) {
      poison_lanes(copy, kLaneBit[lane]);
      continue;
    }
    finish(copy, lane);
    copy.done |= kLaneBit[lane];
  }
}

/// Executes the copies of the lanes that are_due(copy) returns. Returns the engine's epoch up to which all copies of these lanes are done.
template <class F>
u32 finish_copies(Warp& warp, Mask mask, F are_due) {
  u32 done = warp.copy_sequence;
  std::erase_if(warp.copies, [&](AsyncCopy& copy) {
    const Mask lanes = mask & copy.lanes, due = lanes & are_due(copy);
    if (due != lanes) done = std::min(done, copy.sequence - 1);
    if (due == 0) return false;
    finish_lanes(copy, due & ~copy.done);
    copy.lanes &= ~due;
    return copy.lanes == 0;
  });
  return done;
}

/// Each lane's mbarrier gets an arrival when the lane's earlier copies are done; lanes are independent of each other (PTX ISA,
/// "cp.async.mbarrier.arrive": "all prior cp.async operations initiated by the executing thread"). Without `.noinc`, the mbarrier first
/// waits for one more arrival.
void arrive_after_copies(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  locate(warp, i, mask, address, i.space, 8, [&](const Request& request) {
    if (request.space != Space::shared) return report_no_mbarrier(warp, i, request);
    if (i.options<ArriveOptions>().increases)
      for_mbarriers(warp, i, request, [&](const MbarrierOperation& at, Mbarrier& barrier) { await_arrival(at, barrier); });
    for (const int lane : lanes_of(request.mask)) {
      const MbarrierOperation at{warp, i, lane, request.owner(lane), request.address[lane]};
      AsyncOperation arrival;
      arrival.warp = &warp;
      arrival.instruction = i.index;
      arrival.lane = at.lane;
      arrival.write = [at, sequence = warp.copy_sequence, acquiring = kLaneBit[lane] | ~warp.live] {
        finish_copies(at.warp, kLaneBit[at.lane], [&](const AsyncCopy& copy) { return copy.sequence <= sequence ? kAllLanes : 0; });
        Mbarrier* const barrier = find_mbarrier_of_copies(at, sequence);
        if (barrier == nullptr) return;
        barrier->clocks.clock.raise(async_agent(at.warp.index), sequence, acquiring);
        arrive_on(at, *barrier, 1, false);
      };
      begin(std::move(arrival));
    }
  });
}

void commit(Warp& warp, const Instruction&, Mask mask) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) warp.committed[lane] += mask & kLaneBit[lane] ? 1 : 0;
  warp.commits_together &= mask == kAllLanes;
}

/// Executes the copies of all groups except the last ones of each lane.
void wait(Warp& warp, const Instruction& i, Mask mask) {
  const auto [groups, commits] = i.options<WaitOptions>();
  if (commits) commit(warp, i, mask);
  const u32 done = finish_copies(warp, mask, [&, groups = groups](const AsyncCopy& copy) {
    if (warp.commits_together) return copy.group[0] + groups <= warp.committed[0] ? kAllLanes : 0;
    Mask due = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) due |= copy.group[lane] + groups <= warp.committed[lane] ? kLaneBit[lane] : 0;
    return due;
  });
  warp.clocks.clock.raise(async_agent(warp.index), done, mask | ~warp.live);
}

}  // namespace

/// cp.async.mbarrier.arrive{.noinc}{.shared}.b64
void decode_arrive_after_copies(Decoder& d) {
  d.out.category = Category::async_copy;
  if (!d.take("arrive")) d.fail("'.arrive' is missing");
  d.options<ArriveOptions>().increases = !d.take("noinc");
  d.out.space = d.take_one({"shared", "shared::cta"}) >= 0 ? Space::shared : Space::generic;
  d.expect_type(Type::b64);
  d.expect_operands(1);
  d.address(0, d.operand(0));
  d.out.execute = arrive_after_copies;
}

void decode_commit_copies(Decoder& d) {
  d.out.category = Category::async_copy;
  d.expect_operands(0);
  d.out.execute = commit;
}

void decode_wait_for_copies(Decoder& d) {
  d.out.category = Category::async_copy;
  WaitOptions& options = d.options<WaitOptions>();
  options.commits = d.modifiers()[1] == "wait_all";
  d.expect_operands(options.commits ? 0 : 1);
  if (!options.commits) options.groups = static_cast<u32>(d.constant(d.operand(0)));
  d.out.execute = wait;
}

void decode_copy_async(Decoder& d) {
  d.out.category = Category::async_copy;
  CopyOptions& options = d.options<CopyOptions>();
  const int cache = d.take_one({"ca", "cg"});
  if (cache < 0 || d.take_one({"shared", "shared::cta"}) < 0 || !d.take("global")) d.fail("expected 'cp.async.ca.shared.global' or '.cg'");
  const bool has_hint = d.take("L2::cache_hint");
  d.take_one({"L2::64B", "L2::128B", "L2::256B"});
  d.expect_operands(3, has_hint ? 5 : 4);
  const u64 bytes = d.constant(d.operand(2));
  if (bytes != 16 && (cache == 1 || (bytes != 4 && bytes != 8))) d.fail(fmt::format("no copy of {} bytes", bytes));
  d.out.width = static_cast<u8>(bytes);
  d.address(0, d.operand(0));
  const u64 destination = d.out.immediate;
  options.has_short_destination = d.out.short_address;
  d.address(1, d.operand(1));
  options.source_offset = static_cast<s64>(d.out.immediate);
  if (options.source_offset != static_cast<s32>(options.source_offset)) d.fail("the offset of the source does not fit 32 bits");
  d.out.immediate = destination;
  if (d.operands() - (has_hint ? 1 : 0) == 4) {
    const Operand& size = d.operand(3);
    options.ignores_source = d.is_register(size) && d.bytes_of_register(size) == 0;
    d.source(2, size, options.ignores_source ? 0 : 4);
  }
  d.out.execute = copy_async;
}

}  // namespace tilewright::rt::emulator
