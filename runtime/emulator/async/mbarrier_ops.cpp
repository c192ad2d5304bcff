// Instructions on mbarriers (PTX ISA, "mbarrier"): init, arrivals, transactions and waits.
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/async/mbarrier.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct MbarrierOptions {
  bool expects_bytes = false;  // .expect_tx
  bool drops = false;          // arrive_drop
  bool no_complete = false;    // .noComplete
  bool by_parity = false;      // waits for a parity instead of a state
  bool blocks = false;         // the instruction is try_wait
  bool is_relaxed = false;     // no ordering
  bool only_block = false;     // .cta is written explicitly: releases to, and acquires from, the own block only
};

// A state consists of the phase before the operation, and the number of arrivals that it lacked.
constexpr int kCountBits = 20;
u64 state_of(const Mbarrier& barrier) { return barrier.phase << kCountBits | barrier.pending; }

template <class F>
void at_mbarriers(Warp& warp, const Instruction& i, Mask mask, F f) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  locate(warp, i, mask, address, i.space, 8, [&](const Request& request) {
    if (request.space != Space::shared) return report_no_mbarrier(warp, i, request);
    f(request);
  });
}

void init(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u32> count = read<u32>(warp, i.slot[1]);
  at_mbarriers(warp, i, mask, [&](const Request& request) {
    for (const int lane : lanes_of(request.mask)) init_mbarrier({warp, i, lane, request.owner(lane), request.address[lane]}, count[lane]);
  });
}

void inval(Warp& warp, const Instruction& i, Mask mask) {
  at_mbarriers(warp, i, mask, [&](const Request& request) {
    for (const int lane : lanes_of(request.mask)) invalidate_mbarrier({warp, i, lane, request.owner(lane), request.address[lane]});
  });
}

void arrive(Warp& warp, const Instruction& i, Mask mask) {
  const auto& options = i.options<MbarrierOptions>();
  Lanes<u32> operand;
  if (i.slot[2] >= 0)
    operand = read<u32>(warp, i.slot[2]);
  else
    for (u32& count : operand.at) count = 1;
  Lanes<u64> state{};
  const Mbarrier* released = nullptr;  // the mbarrier to which the warp has released its clocks in this phase
  u64 phase = 0;
  bool any_release = false;
  at_mbarriers(warp, i, mask, [&](const Request& request) {
    for_mbarriers(warp, i, request, [&](const MbarrierOperation& at, Mbarrier& barrier) {
      state[at.lane] = state_of(barrier);
      const bool reaches = &at.owner == warp.block || !options.only_block;
      if (!options.is_relaxed && reaches) {
        release_to(at, barrier, released == &barrier && phase == barrier.phase);
        released = &barrier;
        phase = barrier.phase;
        any_release = true;
      }
      const u32 count = options.expects_bytes ? 1 : operand[at.lane];
      if (options.expects_bytes) expect_transactions(at, barrier, operand[at.lane]);
      if (options.no_complete && count >= barrier.pending)
        report(warp, i, DiagnosticKind::bad_mbarrier, at.lane,
               [&] { return fmt::format("{} arrivals without completion at {}", count, describe(barrier, static_cast<u32>(at.offset))); });
      arrive_on(at, barrier, count, options.drops);
    });
  });
  if (any_release) ++warp.time;
  write(warp, i.slot[1], state, mask);
}

void expect(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u32> bytes = read<u32>(warp, i.slot[2]);
  at_mbarriers(warp, i, mask, [&](const Request& request) {
    for_mbarriers(warp, i, request,
                  [&](const MbarrierOperation& at, Mbarrier& barrier) { expect_transactions(at, barrier, bytes[at.lane]); });
  });
}

void complete(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u32> bytes = read<u32>(warp, i.slot[2]);
  at_mbarriers(warp, i, mask, [&](const Request& request) {
    for_mbarriers(warp, i, request,
                  [&](const MbarrierOperation& at, Mbarrier& barrier) { complete_transactions(at, barrier, bytes[at.lane]); });
  });
}

/// Whether the phase that a lane waits for is complete. A state or parity distinguishes only two phases.
bool is_over(const MbarrierOperation& at, const Mbarrier& barrier, u64 asked) {
  const u64 phase = barrier.phase - barrier.first_phase;
  if (at.instruction.options<MbarrierOptions>().by_parity) {
    if (asked > 1)
      remark(at.warp, at.instruction, DiagnosticKind::bad_operand, at.lane,
             [&] { return fmt::format("a parity of {}: expected 0 or 1, of which its lowest bit is taken", asked); });
    return (phase & 1) != (asked & 1);
  }
  const u64 of = asked >> kCountBits;
  if (of > barrier.phase || of + 1 < barrier.phase)
    report(at.warp, at.instruction, DiagnosticKind::bad_mbarrier, at.lane, [&] {
      return fmt::format("waits for phase {} of {}: expected this phase or the one before", of - barrier.first_phase,
                         describe(barrier, static_cast<u32>(at.offset)));
    });
  return barrier.phase > of;
}

/// The phases that lanes wait for: states or parities.
class AskedPhases {
 public:
  AskedPhases(const Warp& warp, const Instruction& i)
      : at_(warp.registers + i.slot[2]), bytes_(i.options<MbarrierOptions>().by_parity ? 4 : 8) {}
  u64 operator[](int lane) const {
    u64 asked = 0;
    std::memcpy(&asked, at_ + static_cast<std::size_t>(lane) * bytes_, bytes_);
    return asked;
  }
  /// Whether all lanes wait for the same phase.
  bool are_one() const { return std::memcmp(at_, at_ + bytes_, (kLanes - 1) * bytes_) == 0; }

 private:
  const std::byte* at_;
  std::size_t bytes_;
};

void wait_for_phase(Warp& warp, const Instruction& i, Mask mask) {
  const auto& options = i.options<MbarrierOptions>();
  const AskedPhases asked(warp, i);
  Mask over = 0;
  SimtStackEntry& entry = warp.entry();
  const Mbarrier* first = nullptr;
  const Mbarrier* acquired = nullptr;
  u32 offset = 0;
  at_mbarriers(warp, i, mask, [&](const Request& request) {
    const auto wait_at = [&](const MbarrierOperation& at, Mbarrier& barrier, Mask lanes) {
      if (first == nullptr) first = &barrier, offset = static_cast<u32>(at.offset);
      if (!is_over(at, barrier, asked[at.lane])) return;
      over |= lanes;
      barrier.is_unseen = false;
      barrier.awaited = barrier.phase;
      if (!options.is_relaxed && acquired != &barrier) acquire_from(warp, barrier, options.only_block);
      acquired = &barrier;
    };
    if (!is_one_mbarrier(request) || !asked.are_one())
      return for_mbarriers(warp, i, request,
                           [&](const MbarrierOperation& at, Mbarrier& barrier) { wait_at(at, barrier, kLaneBit[at.lane]); });
    const MbarrierOperation at{warp, i, 0, *warp.block, request.address[0]};
    if (Mbarrier* barrier = find_mbarrier(at, 2)) wait_at(at, *barrier, kAllLanes);
  });
  // A wait for something that is not an mbarrier would never end.
  if (first == nullptr) over = mask;
  write_mask(warp, i.slot[1], over, mask);
  if (over != 0) {
    entry.tried = ~0u;
    return;
  }
  if (entry.tried == i.index && entry.wait_id == offset && first->phase > entry.wait_phase + 1)
    report(warp, i, DiagnosticKind::bad_mbarrier, __builtin_ctz(mask), [&] {
      return fmt::format("phase {} and the next one were over before the wait for it saw either: {}", entry.wait_phase - first->first_phase,
                         describe(*first, offset));
    });
  const bool again = entry.tried == i.index && entry.wait_id == offset;
  entry.tried = i.index;
  entry.wait_id = offset;
  entry.wait_phase = first->phase;
  // A wait may give up at any time: here it gives up the first time, and waits the second time.
  if (options.blocks && again) return void(entry.wait = Wait::mbarrier);
  warp.worker->poll(i);
  warp.poll = {i.index, Space::shared, offset, 8};
}

void pending_count(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> state = read<u64>(warp, i.slot[0]);
  Lanes<u32> count;
  for (int lane = 0; lane < kLanes; ++lane) count[lane] = static_cast<u32>(state[lane] & ((1u << kCountBits) - 1));
  write(warp, i.slot[1], count, mask);
}

/// Takes the order, scope and space of an operation; `default_order`: the order if none is written.
void take_order(Decoder& d, const char* default_order, bool may_be_remote) {
  MbarrierOptions& options = d.options<MbarrierOptions>();
  options.is_relaxed = d.take("relaxed");
  if (!options.is_relaxed) d.take(default_order);
  options.only_block = d.take_one({"cta", "cluster"}) == 0;
  const int space = d.take_one({"shared", "shared::cta", "shared::cluster"});
  d.out.space = space < 0 ? Space::generic : Space::shared;
  d.out.in_cluster = space == 2;
  if (space == 2 && !may_be_remote) d.fail("not for '.shared::cluster'");
  d.expect_type(Type::b64);
}

void begin(Decoder& d, Handler execute) {
  d.out.category = Category::barrier;
  d.out.execute = execute;
}

}  // namespace

/// The instruction may have no destination for the state: remote mbarriers have none.
void decode_mbarrier_arrive(Decoder& d) {
  begin(d, arrive);
  MbarrierOptions& options = d.options<MbarrierOptions>();
  options.drops = d.modifiers().front() == "arrive_drop";
  options.expects_bytes = d.take("expect_tx");
  options.no_complete = d.take("noComplete");
  take_order(d, "release", true);
  const bool needs_count = options.expects_bytes || options.no_complete;
  const std::size_t first = d.operand(0).kind == OperandKind::address ? 0 : 1;
  d.expect_operands(first + (needs_count ? 2 : 1), first + 2);
  if (first == 1) {
    if (d.out.in_cluster && d.operand(0).kind != OperandKind::sink) d.fail("an mbarrier of '.shared::cluster' has no state: expected '_'");
    d.destination(1, d.operand(0), 8);
  }
  d.address(0, d.operand(first));
  if (d.operands() == first + 2) d.source(2, d.operand(first + 1), 4);
}

void decode_mbarrier_wait(Decoder& d) {
  begin(d, wait_for_phase);
  MbarrierOptions& options = d.options<MbarrierOptions>();
  options.blocks = d.modifiers().front() == "try_wait";
  options.by_parity = d.take("parity");
  take_order(d, "acquire", false);
  d.expect_operands(3, options.blocks ? 4 : 3);
  d.destination(1, d.operand(0), 0);
  d.address(0, d.operand(1));
  d.source(2, d.operand(2), options.by_parity ? 4 : 8);
  // The time limit after which a wait gives up; it may give up sooner.
  if (d.operands() == 4) d.source(3, d.operand(3), 4);
  d.out.kind = Kind::waiting;
}

void decode_mbarrier_pending_count(Decoder& d) {
  begin(d, pending_count);
  d.expect_type(Type::b64);
  d.expect_operands(2);
  d.destination(1, d.operand(0), 4);
  d.source(0, d.operand(1), 8);
}

void decode_mbarrier_init(Decoder& d) {
  begin(d, init);
  take_order(d, "relaxed", false);
  d.expect_operands(2);
  d.address(0, d.operand(0));
  d.source(1, d.operand(1), 4);
}

void decode_mbarrier_inval(Decoder& d) {
  begin(d, inval);
  take_order(d, "relaxed", false);
  d.expect_operands(1);
  d.address(0, d.operand(0));
}

void decode_mbarrier_transactions(Decoder& d) {
  begin(d, d.modifiers().front() == "expect_tx" ? expect : complete);
  take_order(d, "relaxed", true);
  d.expect_operands(2);
  d.address(0, d.operand(0));
  d.source(2, d.operand(1), 4);
}

}  // namespace tilewright::rt::emulator
