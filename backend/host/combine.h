// The combine region of reduce, scan and atomic_update.
#pragma once
#include <optional>

#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Emits the region on scalars, or on vectors of lanes; one value for each result.
Values combine(Emitter&, OpId, const Values& earlier, const Values& later);

/// The op of a region that only combines its two arguments by it, or none.
std::optional<OpKind> single_op(const Function&, OpId);
/// Whether the op combines by one that has an identity for its elements.
bool has_identity(const Function&, OpId);
/// What partial results start from: the identity; 0 if there is none.
Values identity(Emitter&, OpId, unsigned lanes);

}  // namespace tilewright::backend::host
