// The fast path of locate(): requests of all lanes that have the shape of an earlier request by the same instruction.
#pragma once
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

/// Locates all lanes together and sets the request's shape. False, and nothing is done, if the shape is new or not in bounds.
bool locate_fast(Warp&, const Instruction&, Request&, int bytes, Transactions&);
/// Remembers the shape of a request of all lanes, whose locations are good and of the executing block.
void remember_shape(Warp&, const Instruction&, Request&, int bytes, Transactions);

}  // namespace tilewright::rt::emulator
