// The fast path of locate() in access.h: for requests of all lanes with the same shape as an earlier request of the same instruction.
#pragma once
#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/races/request.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Locates all lanes together and sets the request's shape. Returns false, and does nothing, if the shape is unknown or not in bounds.
bool locate_fast(Warp&, const Instruction&, Request&, int bytes, Transactions&);
/// Caches the shape of a request of all lanes whose locations are valid and belong to the executing block.
void remember_shape(Warp&, const Instruction&, Request&, int bytes, Transactions);

}  // namespace tilewright::rt::emulator
