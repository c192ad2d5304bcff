// Checks of operations that touch many places of shared memory at once, as engines do.
#pragma once
#include <span>

#include "runtime/emulator/race_check.h"

namespace tilewright::rt::emulator {

/// Bytes of a block's shared memory.
struct SharedSpan {
  u32 offset, bytes;
};

/// A lane's reads, and its writes of what is not known yet.
void check_shared_reads(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
void check_shared_writes(const Accessor&, Block&, int lane, std::span<const SharedSpan>);

}  // namespace tilewright::rt::emulator
