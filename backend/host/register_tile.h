// A register tile of accumulators: the innermost loop of products.
#pragma once
#include <functional>

#include "backend/host/emitter.h"
#include "backend/host/tile_shape.h"

namespace tilewright::backend::host {

/// Evenly spaced rows of a right factor: the address of the first one at a register tile's first column, and the bytes from each to the
/// next. `alignment` is that of the tile's vectors, in bytes (at most that of a vector). Rows that may lie far apart are fetched early.
struct RightRows {
  Value *first, *distance;
  std::uint64_t alignment = 64;
  bool is_fetched = false;
};

/// The loops over register tiles: all rows of a column first, or all columns of a row.
enum class TileOrder { down_columns, along_rows };

/// Rows of accumulators, each of some vectors: loaded from a row-major buffer, increased by products a[row, k] b[k, column], and stored.
/// For each element the products are added in order of k, for floats by fused multiply-adds, as in the interpreter.
class RegisterTile {
 public:
  /// factor, sum: types of the tiles that are multiplied, and of the accumulators. A depth that is always even allows pairs of k.
  RegisterTile(Emitter&, Type factor, Type sum, bool has_even_depth);

  llvm::Type* factor_type() const { return in_; }
  llvm::Type* sum_type() const { return out_; }

  /// The accumulators at `first` of a buffer, row by row.
  Values load(Value* first);
  void store(Value* first, const Values& sums);
  /// Adds the products for k from 0 to `depth`, which may be 0 only if `may_be_empty`. `left`: for each row the address of its first
  /// factor.
  Values add_products(const Values& sums, const Values& left, const RightRows& right, Value* depth, bool may_be_empty);

  /// Where the rows of the tile from `row` on lie in a row-major left factor. Rows that are not live stand for the last live one: what a
  /// buffer holds there may be subnormal, and products of such numbers take a hundred times as long.
  Values left_rows(Value* factor, Value* row, std::int64_t depth, Value* live_rows);
  /// The number of rows of the tile.
  std::int64_t rows() const { return shape_.rows; }
  /// Calls emit_tile(row, column) in loops over the live rows and columns of the accumulators; null: all.
  void for_each(TileOrder, Value* live_rows, Value* live_columns, const std::function<void(Value* row, Value* column)>& emit_tile);

 private:
  Value* accumulator(Value* first, std::int64_t row, std::int64_t j);
  Value* right_factor(Value* row, std::size_t j, const RightRows&);
  Value* left_factor(Value* from);
  Value* multiply_add(Value* x, Value* y, Value* sum);
  llvm::Type* vector(llvm::Type* t) const;

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Type factor_, sum_;
  const std::int64_t M_, N_;
  const TileShape shape_;
  llvm::Type *const in_, *const out_;  // element types; int8 is accumulated in int32
  // Two steps of k are computed at once: the sum of two products of int8 is exact, and integers may be added in any order.
  const bool in_pairs_;
};

}  // namespace tilewright::backend::host
