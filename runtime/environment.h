// The environment variables that the library reads. Only environment.cpp calls getenv.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::rt {

/// TILEWRIGHT_CHECK: every launch runs in checked mode. Read once, at the first launch.
bool environment_check();
/// The error in TILEWRIGHT_CHECK; empty if it is unset, or says on or off. Read at each call.
std::string environment_check_mistake();

/// TILEWRIGHT_THREADS: the number of threads that run a grid on the cpu; 0 if unset or not a positive number. Read at each call.
int environment_threads();
/// The error in TILEWRIGHT_THREADS; empty if it is unset or a positive number.
std::string environment_threads_mistake();

/// TILEWRIGHT_DUMP: the folder for the stages of compiled kernels; empty if unset. Read at each call.
std::string environment_dump();

/// TILEWRIGHT_DUMP_STAGE: only stages whose name contains this text; empty if unset. Read at each call.
std::string environment_dump_stage();

/// TILEWRIGHT_LOG: debug, info, warning; any other value means warning; empty if unset or off. Read at each call.
std::string environment_log();
/// The error in TILEWRIGHT_LOG; empty if it is unset, off or a level.
std::string environment_log_mistake();

/// NO_COLOR: any nonempty value turns off colours on a terminal. Read at each call.
bool environment_no_color();

/// TILEWRIGHT_PTXAS: the path of ptxas; empty if unset. Read at each call.
std::string environment_ptxas();

/// TILEWRIGHT_EMULATOR_ASYNC: when emulated devices execute asynchronous operations: lazy (the default), eager, random or random:SEED;
/// empty if unset. Read at each call.
std::string environment_emulator_async();

/// TILEWRIGHT_EMULATOR_ORDER: the order in which emulated devices run blocks and warps: forward (the default), backward, random or
/// random:SEED; empty if unset. Read at each call.
std::string environment_emulator_order();

/// TILEWRIGHT_EMULATOR_LIMIT: the number of warp instructions after which emulated devices end a launch, 0 for no limit; empty if unset.
/// Read at each call.
std::string environment_emulator_limit();

/// TILEWRIGHT_WISDOM: the path of the wisdom file, or "off"; `wisdom` in the user's cache folder if unset. Empty if there is none. Read at
/// each call.
std::string environment_wisdom();

/// The user's folder for files that can be made again: tilewright in XDG_CACHE_HOME, else in .cache in HOME; empty if neither is set. Read
/// at each call.
std::string environment_cache_folder();

/// TILEWRIGHT_CACHE: the folder of the disk cache, or "off"; `tilewright` in the user's cache folder (XDG_CACHE_HOME, or .cache in HOME) if
/// unset. Empty if there is none. Read at each call.
std::string environment_cache();
/// The error in TILEWRIGHT_CACHE: it names something that is there and no folder.
std::string environment_cache_mistake();

/// TILEWRIGHT_CACHE_LIMIT: the maximum size of the disk cache in bytes; K, M, G: powers of 1024; empty if unset. Read at each call.
std::string environment_cache_limit();
/// A number of bytes, optionally followed by K, M or G for powers of 1024.
std::optional<std::uint64_t> parse_bytes(std::string_view);
/// The error in TILEWRIGHT_CACHE_LIMIT; empty if it is unset or a number of bytes.
std::string environment_cache_limit_mistake();

/// The first error in the variables that every program reads: TILEWRIGHT_LOG, _CHECK, _CACHE and _CACHE_LIMIT; empty if there is none. Read
/// where a device is opened, and where something is compiled without one.
std::string environment_mistake();

/// PATH: folders, separated by ':'. Read at each call.
std::string environment_path();

}  // namespace tilewright::rt
