// Asynchronous copies that are not finished, or that have not been waited for.
#pragma once
#include <array>
#include <cstddef>
#include <functional>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;

/// A cp.async that some of its lanes have not waited for.
struct AsyncCopy {
  AsyncCopy() {}  // does not zero the arrays: most objects are short-lived

  Mask lanes = 0, done = 0;  // done: lanes whose bytes have arrived
  u32 sequence = 0;          // number in the warp's engine, from 1; its epoch
  u8 width = 0;              // the copied bytes are followed by zeros up to this width
  bool is_full = false;      // no zeros follow
  std::array<std::byte*, kLanes> to;
  std::array<u64, kLanes> from;
  std::array<u8, kLanes> bytes;
  std::array<u32, kLanes> group;  // group of each lane, from 1
};

/// A bulk copy in a group of a lane, for which the lane has not waited.
struct BulkGroupCopy {
  u32 instruction = 0;
  int lane = 0;
  u32 group = 0;         // group of the lane, from 1
  u32 sequence = 0;      // number in the warp's engine, from 1; its epoch
  bool is_read = false;  // the lane has waited for the read
};

/// Unfinished asynchronous work, mostly of bulk copies. The schedule chooses when it is executed.
struct AsyncOperation {
  Warp* warp = nullptr;
  u32 instruction = 0;
  int lane = 0;
  u32 group = 0;                // group of the lane's bulk copies, from 1; 0: it completes on an mbarrier
  std::function<void()> read;   // reads the source; null when done
  std::function<void()> write;  // writes the data, and completes on the mbarrier or group
};

}  // namespace tilewright::rt::emulator
