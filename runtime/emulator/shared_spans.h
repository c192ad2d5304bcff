// Checks of operations that touch many places of shared memory at once, as engines do.
#pragma once
#include <optional>
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

/// Whether one of these reads was what `by` is about to do, as another warp for the same engine at the same epoch, nobody has written
/// since, and `by` may read it too: then there is nothing to find, and nothing to remember that the cells do not hold already.
bool is_read_already(const Accessor& by, Block&, const EngineReads&, u64 descriptor);
/// What has just been read, for that question. Nothing if there was something to find, or too much to remember.
std::optional<EngineRead> as_read(const Accessor& by, Block&, u64 descriptor, std::span<const SharedSpan>);

}  // namespace tilewright::rt::emulator
