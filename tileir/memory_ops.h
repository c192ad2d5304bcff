// The mask operand of loads, stores and atomics, which updates commute, and the allocations of buffers.
#pragma once
#include <optional>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The index of the mask operand; none if ops of this kind have no mask.
std::optional<int> mask_index(OpKind);
/// The op's mask, or none.
ValueId mask_of(const Function&, OpId);

/// Whether several updates of memory by this atomic give the same in any order, but for the rounding of floats.
bool is_commutative_update(OpKind);

/// The alloc_buffer that made a buffer, found through its views.
OpId allocation_of(const Function&, ValueId buffer);
/// The mma_wait or bulk_wait until which an mma_async or a bulk_store may read its buffers: the next one after it that waits for all
/// products or stores, in its block or in one around it. None if there is none: until the program ends.
OpId end_of_reads(const Function&, OpId);
/// Bytes of all slots of a buffer.
std::int64_t buffer_bytes(const Type&);

}  // namespace tilewright::ir
