// Index arithmetic on a thread's registers: their common part is computed once, and each register adds its constant.
//
// The elements of a thread differ by constants. Example: for row indices i + k, the offsets (i + k) * ld are i * ld + k * ld, which is one
// instruction for each register instead of two; sums with pointers add the common part of all registers first. Integers wrap, so no bit
// changes.
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

/// base + scale * offset; a null base means 0, a null scale 1.
struct AffineExpression {
  Value *base = nullptr, *scale = nullptr;
  std::int64_t offset = 0;
};

class IndexArithmetic {
 public:
  explicit IndexArithmetic(Emitter& e) : e_(e), b_(e.b()) {}

  /// Records that a value is an affine expression. Constants need no record.
  void define(Value*, const AffineExpression&);
  /// Lowers add, sub and mul of integers, and add_ptr, if the registers are known to differ by constants. False: nothing was emitted.
  bool emit(OpId);

 private:
  using Bases = std::map<std::pair<Value*, Value*>, Value*>;  // for one op, indexed by the bases of its operands
  /// A sum whose first part is common to all registers of a tile.
  struct Sum {
    Value *common, *rest;
  };
  AffineExpression expression_of(Value*) const;
  Value* value_of(const AffineExpression&, llvm::Type*);
  std::optional<AffineExpression> combined(OpKind, AffineExpression, AffineExpression, Bases&);
  bool emit_sum(OpId);
  bool emit_address(OpId);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  std::unordered_map<const Value*, AffineExpression> affine_;
  std::unordered_map<const Value*, Sum> sums_;  // sums that are indices or addresses
};

}  // namespace tilewright::backend::nvptx
