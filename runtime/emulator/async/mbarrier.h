// Operations on mbarriers: arrivals, transactions, phases and waits.
#pragma once
#include <string>

#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

// The ranges of the counts (PTX ISA, "Contents of the mbarrier object").
inline constexpr u32 kMostArrivals = (1u << 20) - 1;
inline constexpr s32 kMostTransactions = (1 << 20) - 1;

/// An mbarrier operation of a lane.
struct MbarrierOperation {
  Warp& warp;
  const Instruction& instruction;
  int lane;
  Block& owner;
  u64 offset;
};

void init_mbarrier(const MbarrierOperation&, u32 count);
void invalidate_mbarrier(const MbarrierOperation&);
/// The object at the offset; null if there is none.
Mbarrier* live_mbarrier(Block&, u64 offset);
/// As live_mbarrier, with a diagnostic if there is none. The access itself is checked for races, for this number of lanes, starting with
/// the operation's lane.
Mbarrier* find_mbarrier(const MbarrierOperation&, int lanes = 1);
/// As find_mbarrier, for the engine of the lane's cp.async, which has executed the warp's copies up to `sequence`.
Mbarrier* find_mbarrier_of_copies(const MbarrierOperation& at, u32 sequence);
/// Releases the lane's clocks to threads that will wait for the phase. `again`: another lane of the instruction has released the rest.
void release_to(const MbarrierOperation&, Mbarrier&, bool again);
/// Adds arrivals; `drops` removes them from all later phases. The last arrival may complete the phase.
void arrive_on(const MbarrierOperation&, Mbarrier&, u32 count, bool drops);
/// Adds bytes that must arrive in this phase.
void expect_transactions(const MbarrierOperation&, Mbarrier&, s64 bytes);
/// Records that bytes have arrived, which may complete the phase.
void complete_transactions(const MbarrierOperation&, Mbarrier&, s64 bytes);
/// Adds one arrival for which this phase waits.
void await_arrival(const MbarrierOperation&, Mbarrier&);
/// The warp acquires the clocks that arrivals released in completed phases; `only_block`: only those of arrivals by its own block.
void acquire_from(Warp&, Mbarrier&, bool only_block);

/// "the mbarrier at byte 64, of whose phase 3 2 of 5 arrivals and 512 bytes are missing"
std::string describe(const Mbarrier&, u32 offset);
/// Called when the warp's block has ended: reports transactions and phases for which no thread has waited.
void check_finished_mbarriers(Warp& last);

/// Calls f(operation, mbarrier) for the mbarrier of each lane, in the order of lanes.
template <class F>
void for_mbarriers(Warp& warp, const Instruction& i, const Request& request, F f) {
  Mbarrier* last = nullptr;
  u64 offset = 0;
  int times = 0;  // how often consecutive lanes have named the last mbarrier
  for (Mask rest = request.mask; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const MbarrierOperation at{warp, i, lane, request.owner(lane), request.address[lane]};
    times = last != nullptr && at.offset == offset && request.remote == 0 ? times + 1 : 1;
    // Two lanes' reads are all that shadow memory can record, and they have found everything that there is to report.
    if (times <= 2) last = find_mbarrier(at);
    offset = at.offset;
    if (last != nullptr) f(at, *last);
  }
}
/// Whether all lanes name the same mbarrier, in the warp's own block. Then checking it for the first two lanes is enough.
bool is_one_mbarrier(const Request&);
/// Reports that the request is not to shared memory.
void report_no_mbarrier(Warp&, const Instruction&, const Request&);

}  // namespace tilewright::rt::emulator
