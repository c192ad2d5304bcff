// The fast path of race checks. A function here may only find that accesses have nothing to report; it then leaves shadow memory as the
// rule (checker.h) would. The rule checks all other accesses. LaunchState::fast_paths turns the fast path off.
#pragma once
#include <optional>
#include <span>

#include "runtime/emulator/races/checker.h"

namespace tilewright::rt::emulator {

/// Whether the reads by all lanes of a request have nothing to report.
bool read_fast(SharedChecker&, const Request&, int bytes);
/// The lanes of a request whose writes have nothing to report. Requires: no two lanes write the same bytes.
Mask write_fast(SharedChecker&, const Request&, int bytes);
/// The lanes of a request whose accesses have nothing to report.
Mask read_fast(GlobalChecker&, const Request&, int bytes);
Mask write_fast(GlobalChecker&, const Request&, int bytes);
/// Accesses of one lane to whole sectors, as engines make them.
bool read_fast(GlobalChecker&, int lane, const Range&, u64 address, u64 bytes);
bool write_fast(GlobalChecker&, int lane, const Range&, u64 address, u64 bytes);

/// Tries to defer a lane's read of these runs until another access to their range; returns whether it was deferred.
bool defer_read(const GlobalChecker&, int lane, const Range&, std::span<const GlobalRun>);
/// Records the deferred reads of a range. Call it before every other access to the range's shadow memory.
void flush_deferred(const Range&, bool is_write);

/// Accesses of one lane to whole lines of shared memory, as engines make them.
bool write_fast(SharedChecker&, int lane, const ShiftedLines&);
/// `found`: receives the read; null if it is not needed.
bool read_fast(SharedChecker&, int lane, const ShiftedLines&, std::optional<EngineRead>* found);
/// Whether `by`, which is about to repeat this read as another warp for the same engine, has nothing to report and nothing to record that
/// the cells do not hold: it is at the same time, nothing was written since, and all writes happened before `by` too.
bool is_read_already(const Accessor& by, Block&, const EngineRead&);

}  // namespace tilewright::rt::emulator
