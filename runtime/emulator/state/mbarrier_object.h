// The state of an mbarrier object.
#pragma once
#include <array>

#include "runtime/emulator/shadow/acquire_clocks.h"
#include "runtime/emulator/state/remote_access.h"

namespace tilewright::rt::emulator {

/// The counts of an mbarrier.
struct MbarrierCounts {
  bool is_live = false;
  int agent = 0;                                     // the agent whose epochs are phases, counted from 1
  u32 expected = 0, pending = 0;                     // arrivals
  s32 transactions = 0;                              // bytes that must still arrive; negative: bytes that arrived before they were expected
  u64 phase = 0, first_phase = 0;                    // completed phases of all objects here, and of those before the current one
  u32 made_at = 0, expected_at = 0;                  // instructions: init, and the last one that announced or began a transaction
  bool has_transactions = false, is_unseen = false;  // in this phase; of the last completed phase, no thread has waited for it
  u64 awaited = 0;                                   // completed phases, as seen by the last wait of a thread in the block
};

/// An mbarrier of a block (PTX ISA, "mbarrier"). When the object is invalidated, this is kept for the next object at its address.
struct Mbarrier : MbarrierCounts {
  AcquireClocks clocks, done_clocks;  // released by arrivals, in all and in completed phases
  ProxyClocks async, done_async;
  ReleaseClocks remote, done_remote;  // the same for arrivals of other blocks
  RemoteAccesses remote_operations;   // by other blocks, in the phases of all objects at this location

  /// Resets the object. Clocks are large, and for most of them only a small part was used.
  void reset() {
    static_cast<MbarrierCounts&>(*this) = {};
    for (AcquireClocks* known : {&clocks, &done_clocks}) known->clear();
    for (ProxyClocks* known : {&async, &done_async}) known->clear();
    remote = done_remote = {};
    remote_operations.clear();
  }
};

}  // namespace tilewright::rt::emulator
