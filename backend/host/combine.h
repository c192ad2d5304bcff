// The combine region of reduce, scan and atomic_update.
#pragma once
#include <optional>

#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Emits the region on scalars, or on vectors of lanes; returns one value for each result.
Values combine(Emitter&, OpId, const Values& earlier, const Values& later);

/// The op of a region that consists of this one op on its two arguments; none for another region.
std::optional<OpKind> single_op(const Function&, OpId);
/// The bits of the identity of an op on elements of this type: combining an element with it leaves the element as it is. None if there is
/// none.
std::optional<std::uint64_t> identity_bits(OpKind, Type);
/// Whether the op's region is a single op that has an identity for its elements.
bool has_identity(const Function&, OpId);
/// The start value of partial results: the identity, or 0 if there is none.
Values identity(Emitter&, OpId, unsigned lanes);

}  // namespace tilewright::backend::host
