// Race checks of operations that access many spans of shared memory at once, as engines do.
#pragma once
#include <optional>
#include <span>

#include "runtime/emulator/races/checker.h"

namespace tilewright::rt::emulator {

/// Checks a lane's reads, and its writes of values that are not known yet.
void check_shared_reads(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
void check_shared_writes(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
/// Whether the fast path found that a lane's write of the span has nothing to report, and recorded it. Otherwise nothing was done.
bool write_in_order(const Accessor&, Block&, int lane, const SharedSpan&);
/// Requires: whole lines, inside of shared memory. Returns the read, for is_read_already(), if it had nothing to report.
std::optional<EngineRead> check_shared_reads(const Accessor&, Block&, int lane, const ShiftedLines&);

}  // namespace tilewright::rt::emulator
