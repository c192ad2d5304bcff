// Checks of operations that touch many places of shared memory at once, as engines do.
#pragma once
#include <optional>
#include <span>

#include "runtime/emulator/memory/shared_span.h"
#include "runtime/emulator/races/race_check.h"

namespace tilewright::rt::emulator {

/// A lane's reads, and its writes of what is not known yet.
void check_shared_reads(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
/// Requires: whole lines, in shared memory. What has just been read, for is_read_already(), if that is asked for.
std::optional<EngineRead> check_shared_reads(const Accessor&, Block&, int lane, PlacedLines, bool asked);
void check_shared_writes(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
/// Whether there was nothing to find about a lane's writes of the span, which has been remembered then. If not, nothing has been done.
bool write_without_findings(const Accessor&, Block&, int lane, const SharedSpan&);

/// Whether `by`, which is about to do this read as another warp for the same engine, has nothing to find and nothing to remember that the
/// cells do not hold already: it is of the same epoch, nobody has written since, and `by` may read what had been written too.
bool is_read_already(const Accessor& by, Block&, const EngineRead&);

}  // namespace tilewright::rt::emulator
