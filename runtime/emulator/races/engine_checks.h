// Race checks of operations that access many spans of shared memory at once, as engines do.
#pragma once
#include <optional>
#include <span>

#include "runtime/emulator/races/checker.h"

namespace tilewright::rt::emulator {

/// A lane's reads, and its writes of values that are not known yet.
void check_shared_reads(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
void check_shared_writes(const Accessor&, Block&, int lane, std::span<const SharedSpan>);
/// Whether a lane's write of the span had nothing to report and has been remembered, as the fast path finds. If not, nothing has been done.
bool write_in_order(const Accessor&, Block&, int lane, const SharedSpan&);
/// Requires: whole lines, in shared memory. The read, for is_read_already(), if it had nothing to report.
std::optional<EngineRead> check_shared_reads(const Accessor&, Block&, int lane, const ShiftedLines&);

}  // namespace tilewright::rt::emulator
