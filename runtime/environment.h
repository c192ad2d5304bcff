// The environment variables that the library reads; the only file that calls getenv is environment.cpp.
#pragma once
#include <string>

namespace tilewright::rt {

/// TILEWRIGHT_CHECK: every launch runs in checked mode. Read once, at the first launch.
bool environment_check();

/// TILEWRIGHT_THREADS: how many threads run a grid on the cpu device; 0 if unset or not a positive number. Read at each call.
int environment_threads();
/// What is wrong with TILEWRIGHT_THREADS; empty if it is unset or a positive number.
std::string environment_threads_mistake();

/// TILEWRIGHT_DUMP: the folder for the stages of compiled kernels; empty if unset. Read at each call.
std::string environment_dump();

/// TILEWRIGHT_DUMP_STAGE: only stages whose name contains this text; empty if unset. Read at each call.
std::string environment_dump_stage();

/// TILEWRIGHT_LOG: debug, info, warning; any other value means warning; empty if unset or off. Read at each call.
std::string environment_log();
/// What is wrong with TILEWRIGHT_LOG; empty if it is unset, off or a level.
std::string environment_log_mistake();

/// NO_COLOR: no colours on a terminal, whatever its value, unless that is empty. Read at each call.
bool environment_no_color();

/// TILEWRIGHT_PTXAS: the path of ptxas; empty if unset. Read at each call.
std::string environment_ptxas();

/// TILEWRIGHT_EMULATOR_ASYNC: when emulated devices perform asynchronous operations: lazy (the default), eager, random or random:SEED;
/// empty if unset. Read at each call.
std::string environment_emulator_async();

/// TILEWRIGHT_EMULATOR_ORDER: in which order emulated devices run blocks and warps: forward (the default), backward, random or
/// random:SEED; empty if unset. Read at each call.
std::string environment_emulator_order();

/// TILEWRIGHT_EMULATOR_LIMIT: the number of warp instructions after which emulated devices end a launch, 0 for no limit; empty if unset.
/// Read at each call.
std::string environment_emulator_limit();

/// TILEWRIGHT_WISDOM: the path of the wisdom file, "off" for none; `wisdom` in the user's cache folder if unset. Empty for none. Read at
/// each call.
std::string environment_wisdom();

/// The user's folder for files that can be made again: tilewright in XDG_CACHE_HOME, else in .cache in HOME; empty if neither is set. Read
/// at each call.
std::string environment_cache_folder();

/// TILEWRIGHT_CACHE: the folder of the disk cache, "off" for none; `tilewright` in the user's cache folder (XDG_CACHE_HOME, or .cache in
/// HOME) if unset. Empty for none. Read at each call.
std::string environment_cache();

/// TILEWRIGHT_CACHE_LIMIT: the most bytes that the disk cache takes, with K, M or G for powers of 1024; empty if unset. Read at each call.
std::string environment_cache_limit();

/// PATH: folders, separated by ':'. Read at each call.
std::string environment_path();

}  // namespace tilewright::rt
