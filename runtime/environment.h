// The environment variables that the library reads; the only place that calls getenv.
#pragma once
#include <string>

namespace tilewright::rt {

/// TILEWRIGHT_CHECK: every launch runs in checked mode. Read once, at the first launch.
bool environment_check();

/// TILEWRIGHT_THREADS: how many threads run a grid on the cpu device; 0 if unset or not a positive number. Read at each call.
int environment_threads();

/// TILEWRIGHT_DUMP: the folder that compiled kernels leave their stages in; empty if unset. Read at each call.
std::string environment_dump();

/// TILEWRIGHT_DUMP_STAGE: leaves only stages whose name holds this text; empty if unset. Read at each call.
std::string environment_dump_stage();

/// TILEWRIGHT_LOG: debug, info, warning; anything else that is not off means warning; empty if unset. Read at each call.
std::string environment_log();

/// NO_COLOR: no colours on a terminal, whatever its value, unless that is empty. Read at each call.
bool environment_no_color();

/// TILEWRIGHT_PTXAS: the assembler to ask; empty if unset. Read at each call.
std::string environment_ptxas();

/// TILEWRIGHT_EMULATOR_ASYNC: when emulated devices do asynchronous work: lazy (the default), eager, random or random:SEED; empty if
/// unset. Read at each call.
std::string environment_emulator_async();

/// TILEWRIGHT_EMULATOR_ORDER: in which order emulated devices run blocks and warps: forward (the default), backward, random or
/// random:SEED; empty if unset. Read at each call.
std::string environment_emulator_order();

/// TILEWRIGHT_EMULATOR_LIMIT: after how many warp instructions emulated devices give a launch up, 0 for never; empty if unset. Read at each
/// call.
std::string environment_emulator_limit();

/// PATH: folders with ':' between. Read at each call.
std::string environment_path();

}  // namespace tilewright::rt
