// The fast path of loads and stores: a register of all lanes at a time, with the results of the plain loops of load_store.cpp.
#pragma once
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

/// What a strong access orders for the host: what the kernel's fences order too.
inline std::memory_order load_order(const Instruction& i) { return i.is_strong ? std::memory_order_acquire : std::memory_order_relaxed; }
inline std::memory_order store_order(const Instruction& i) { return i.is_strong ? std::memory_order_release : std::memory_order_relaxed; }

/// Loads into the registers in these slots. False, and nothing is done, if the lanes have to load one after the other.
bool load_fast(Warp&, const Instruction&, const Request&, const s32* slots);
/// Checks and stores the registers in these slots. False, and nothing is done, if the lanes have to store one after the other.
bool store_fast(Warp&, const Instruction&, const Request&, const s32* slots, RequestCheck&);

}  // namespace tilewright::rt::emulator
