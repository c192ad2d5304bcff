// The registers of a thread that hold its elements of a tile, and their phis.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::backend::nvptx {

using llvm::Value;

/// A thread's elements of a tile: element i is register i of the layout. For a scalar: its one value, equal in all threads. LLVM types are
/// those of lower_elementwise: iN for integers, i16 and i8 for the bits of small floats, i1 for bool, i64 for pointers.
using Registers = std::vector<Value*>;

/// The registers of a tile in layout `to`, from those in layout `from`. Requires: lanes and warps of both layouts are equal; registers may
/// be repeated or in another order.
Registers select_registers(const Registers&, const ir::LinearLayout& from, const ir::LinearLayout& to);

/// Phis for the registers of several values, at the builder's position, which is the start of a block.
std::vector<Registers> make_phis(llvm::IRBuilder<>&, std::span<const Registers> like, unsigned incoming);
void add_incoming(std::span<const Registers> phis, std::span<const Registers> values, llvm::BasicBlock* from);

}  // namespace tilewright::backend::nvptx
