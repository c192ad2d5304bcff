// The fast path of loads and stores: one register of all lanes at a time, with the same results as the plain loops of load_store.cpp.
#pragma once
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

/// The memory order on the host of a strong access: it orders what the kernel's fences order.
inline std::memory_order load_order(const Instruction& i) { return i.is_strong ? std::memory_order_acquire : std::memory_order_relaxed; }
inline std::memory_order store_order(const Instruction& i) { return i.is_strong ? std::memory_order_release : std::memory_order_relaxed; }

/// Loads into the registers in these slots. Returns false, and does nothing, if the lanes must load one after another.
bool load_fast(Warp&, const Instruction&, const Request&, const s32* slots);
/// Checks and stores the registers in these slots. Returns false, and does nothing, if the lanes must store one after another.
bool store_fast(Warp&, const Instruction&, const Request&, const s32* slots, RequestCheck&);

}  // namespace tilewright::rt::emulator
