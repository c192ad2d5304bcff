// Asynchronous copies that are not done yet, or not waited for.
#pragma once
#include <array>
#include <cstddef>
#include <functional>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;

/// A cp.async of lanes that have not waited for it yet.
struct AsyncCopy {
  AsyncCopy() {}  // without zeros in the arrays: most are short-lived

  Mask lanes = 0, done = 0;  // done: those whose bytes are there already
  u32 sequence = 0;          // of the warp's engine, from 1: its epochs
  u8 width = 0;              // zeros follow what is copied, up to so many bytes
  bool is_full = false;      // no zeros follow
  std::array<std::byte*, kLanes> to;
  std::array<u64, kLanes> from;
  std::array<u8, kLanes> bytes;
  std::array<u32, kLanes> group;  // of the lane, from 1
};

/// A bulk copy of a lane's group that the lane has not waited for.
struct BulkGroupCopy {
  u32 instruction = 0;
  int lane = 0;
  u32 group = 0;         // of the lane, from 1
  u32 sequence = 0;      // of the warp's engine, from 1: its epochs
  bool is_read = false;  // the lane has waited for that
};

/// Asynchronous work that is not done yet, of bulk copies above all. When it is done is for the schedule to choose.
struct AsyncOperation {
  Warp* warp = nullptr;
  u32 instruction = 0;
  int lane = 0;
  u32 group = 0;                // of the lane's bulk copies, from 1; 0: it completes on an mbarrier instead
  std::function<void()> read;   // takes what the source holds; null once done
  std::function<void()> write;  // writes it, and completes on its mbarrier or group
};

}  // namespace tilewright::rt::emulator
