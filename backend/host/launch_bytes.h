// The memory that a launch writes and reads, to compare it with the sizes of caches.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Emits, at the entry of the function, the bytes that all programs of the launch store, plus those that they load and that no other program
/// loads, but at most as much as they store: what little a launch stores that reads much is wanted in the caches. Masks are ignored, loops
/// are counted if their bounds are numbers of the launch. Null if no tile is stored.
Value* emit_launch_bytes(Emitter&);

}  // namespace tilewright::backend::host
