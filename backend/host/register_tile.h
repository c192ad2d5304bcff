// A register tile of accumulators: the innermost loop of products.
#pragma once
#include <functional>

#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Where an element of the right factor lies: in panels of `columns` columns, each row-major and `panel` elements long.
struct RightLayout {
  std::int64_t columns, panel;
  std::int64_t first_of_column(std::int64_t column) const { return column / columns * panel + column % columns; }
};

/// The loops over register tiles: all rows of a column first, or all columns of a row.
enum class TileOrder { down_columns, along_rows };

/// Rows of accumulators, each of some vectors: loaded from a row-major buffer, increased by products a[row, k] b[k, column], and stored.
/// For each element the products are added in order of k, for floats by fused multiply-adds, as in the interpreter.
class RegisterTile {
 public:
  /// factor, sum: types of the tiles that are multiplied, and of the accumulators. A depth that is always even allows pairs of k.
  RegisterTile(Emitter&, Type factor, Type sum, bool has_even_depth);

  std::int64_t lanes() const { return lanes_; }
  llvm::Type* factor_type() const { return in_; }
  llvm::Type* sum_type() const { return out_; }

  /// The accumulators at `first` of a buffer, row by row.
  Values load(Value* first, std::int64_t rows, std::int64_t vectors);
  void store(Value* first, std::int64_t rows, std::int64_t vectors, const Values& sums);
  /// Adds the products for k from 0 to `depth`, which may be 0 only if `may_be_empty`. `left`: for each row the address of its first
  /// factor; `right`: the address of the first row of b at the tile's first column.
  Values add_products(const Values& sums, const Values& left, Value* right, const RightLayout&, Value* depth, bool may_be_empty);

  /// Calls emit_tile(row, column, rows, vectors) in loops over the live rows and columns of the accumulators; null: all.
  using EmitTile = std::function<void(Value* row, Value* column, std::int64_t rows, std::int64_t vectors)>;
  void for_each(TileOrder, Value* live_rows, Value* live_columns, const EmitTile& emit_tile);

 private:
  void for_region(TileOrder, Value* begin, Value* end, Value* columns_end, std::int64_t rows, std::int64_t vectors, bool may_be_empty,
                  const EmitTile& emit_tile);
  Value* accumulator(Value* first, std::int64_t row, std::int64_t j);
  Value* right_factor(Value* row, const RightLayout&, std::int64_t j);
  Value* left_factor(Value* from);
  Value* multiply_add(Value* x, Value* y, Value* sum);
  llvm::Type* vector(llvm::Type* t) const;

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Type factor_, sum_;
  const std::int64_t M_, N_;
  llvm::Type *const in_, *const out_;  // element types; int8 is accumulated in int32
  const std::int64_t lanes_;
  // Two steps of k are computed at once: the sum of two products of int8 is exact, and integers may be added in any order.
  const bool in_pairs_;
};

}  // namespace tilewright::backend::host
