// Reports a launch that cannot end or was stopped: the instructions at which its warps are, and what they wait for.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/diagnostics.h"

namespace tilewright::rt::emulator {

/// One line for each instruction at which warps of these clusters are, and for each thing that they wait for there:
///   block (0,0,0), warps 1-3, and 2 more blocks: at line 40 of the PTX, waiting for barrier 0, where 96 of 128 threads are
std::string describe_waits(std::span<const std::shared_ptr<Cluster>>);
/// Reports a diagnostic at the first of these warps, with `why` and these lines.
void report_waits(std::span<const std::shared_ptr<Cluster>>, DiagnosticKind, const std::string& why);

}  // namespace tilewright::rt::emulator
