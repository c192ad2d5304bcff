// Element-wise ops as LLVM instructions: the same code for one lane (a scalar) and for a vector of lanes.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <span>

#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::backend {

/// The type of an element in a register: i1 for bool, iN for integers, i16 and i8 for the bits of small floats, i64 for pointers.
llvm::Type* register_type(llvm::LLVMContext&, ir::Type);
/// The type of an element in memory: as in registers, except that a bool takes a byte.
llvm::Type* memory_type(llvm::LLVMContext&, ir::Type);

/// `scalar`, or a vector of it with the number of lanes of `like`.
llvm::Type* with_lanes_of(llvm::Type* scalar, const llvm::Value* like);
/// The lanes of a vector; 1 for a scalar.
unsigned lane_count(const llvm::Value*);
/// A constant of a register type, splat to `lanes` (0: a scalar).
llvm::Constant* constant_lanes(llvm::LLVMContext&, ir::Type, std::uint64_t bits, unsigned lanes);

/// Lowers one op of the families unary, binary, ternary or convert. `operands` are all scalars, or all vectors of one width. Requires:
/// passes::expand_math and passes::legalize_floats have run.
llvm::Value* lower_elementwise(llvm::IRBuilder<>&, const ir::TargetDesc&, ir::OpKind, std::span<const ir::Type> operand_types,
                               ir::Type result, std::span<llvm::Value* const> operands);

}  // namespace tilewright::backend
