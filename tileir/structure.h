// Encodes a function as bytes for the key of a cache of compiled code.
#pragma once
#include "tileir/byte_stream.h"
#include "tileir/ir.h"

namespace tilewright::ir {

/// Appends everything that a compilation depends on in f: name, parameters, ops with types, attributes and source locations, layouts.
/// Values are numbered in the order of their definitions, so erased ops leave no trace. Two functions have the same bytes if and only if
/// they print as the same text with locations.
void write_structure(const Function& f, ByteWriter&);

}  // namespace tilewright::ir
