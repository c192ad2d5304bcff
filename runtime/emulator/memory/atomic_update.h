// The read-modify-write operations on memory, shared by instructions of threads and the engines of bulk copies.
#pragma once
#include <cstddef>
#include <optional>

#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

enum class AtomicOp : u8 { add, min, max, bit_and, bit_or, bit_xor, exchange, compare_and_swap, increment, decrement };

/// The number for atomic_update() of an operation on a type; none if there is no such operation.
std::optional<u32> find_update(AtomicOp, Type);
/// The number of the same operation in global memory, where sums of f32 flush subnormal numbers.
u32 in_global_memory(u32 number);
/// Replaces the `bytes` (2, 4 or 8) at `address` by the operation's result, atomically for all threads of the host; `c` is the value that cas
/// stores. Returns the old value; `changed` becomes true if the new value differs.
u64 atomic_update(u32 number, int bytes, std::byte* address, u64 b, u64 c, bool& changed);

}  // namespace tilewright::rt::emulator
