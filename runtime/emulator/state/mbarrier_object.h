// The state of an mbarrier object.
#pragma once
#include <array>

#include "runtime/emulator/shadow/acquire_clocks.h"
#include "runtime/emulator/state/remote_access.h"

namespace tilewright::rt::emulator {

/// What an mbarrier counts.
struct MbarrierCounts {
  bool is_live = false;
  int agent = 0;                                     // whose epochs are phases, counted from 1
  u32 expected = 0, pending = 0;                     // arrivals
  s32 transactions = 0;                              // bytes that are still to come; negative: that came before they were expected
  u64 phase = 0, first_phase = 0;                    // completed phases of all objects here, and of those before this one
  u32 made_at = 0, expected_at = 0;                  // instructions: init, and the last one that announced or began a transaction
  bool has_transactions = false, is_unseen = false;  // of this phase; of the last completed one, for which no thread has waited
  u64 awaited = 0;                                   // completed phases, as the last wait of a thread of the block has seen them
};

/// An mbarrier of a block (PTX ISA, "mbarrier"). Stays when the object is invalidated, for the next one at its address.
struct Mbarrier : MbarrierCounts {
  AcquireClocks clocks, done_clocks;  // that arrivals released, in all and in completed phases
  ProxyClocks async, done_async;
  ReleaseClocks remote, done_remote;  // the same of those of other blocks
  RemoteAccesses remote_operations;   // by other blocks, in the phases of all objects here

  /// As new. Views are large, and of most of them little has been used.
  void reset() {
    static_cast<MbarrierCounts&>(*this) = {};
    for (AcquireClocks* known : {&clocks, &done_clocks}) known->clear();
    for (ProxyClocks* known : {&async, &done_async}) known->clear();
    remote = done_remote = {};
    remote_operations.clear();
  }
};

}  // namespace tilewright::rt::emulator
