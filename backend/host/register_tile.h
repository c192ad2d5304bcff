// A register tile of accumulators: the innermost loop of products.
#pragma once
#include <functional>
#include <optional>

#include "backend/host/emitter.h"
#include "backend/host/factor_rows.h"
#include "backend/host/tile_shape.h"

namespace tilewright::backend::host {

/// Evenly spaced rows of a right factor: the address of the first one at a register tile's first column, and the bytes from each to the
/// next. `alignment` is that of the tile's vectors, in bytes (at most that of a vector). Rows that the processor does not foresee are fetched
/// early, into the second cache, since rows that are pages apart have few lines of the first one.
struct RightRows {
  Value *first, *distance;
  std::uint64_t alignment = 64;
  std::int64_t rows_ahead = 0;                          // 0: none are fetched
  Value *packed = nullptr, *packed_distance = nullptr;  // the rows are also copied to here; null: they are not
};

/// The loops over register tiles: all rows of a column first, or all columns of a row.
enum class TileOrder { down_columns, along_rows };

/// Rows of accumulators, each of some vectors: loaded from a row-major buffer, increased by products a[row, k] b[k, column], and stored.
/// For each element the products are added in order of k, for floats by fused multiply-adds, as in the interpreter. Sums of integers do not
/// depend on the order: products of bytes are added in pairs, or in fours if the right factor's rows are interleaved.
class RegisterTile {
 public:
  /// factor, sum: types of the tiles that are multiplied, and of the accumulators. A depth that is always even allows pairs of k, and
  /// interleaved rows require one that is a multiple of 16.
  RegisterTile(Emitter&, Type factor, Type sum, bool has_even_depth, bool is_interleaved = false);

  llvm::Type* factor_type() const { return in_; }
  llvm::Type* sum_type() const { return out_; }

  /// The accumulators at `first` of a buffer, row by row.
  Values load(Value* first);
  void store(Value* first, const Values& sums);
  /// Stores the accumulators to rows of memory, and fetches the lines that this will write.
  void store(const EvenRows&, const Values& sums, NonTemporalStores* non_temporal = nullptr);
  void fetch(const EvenRows&);
  Values zeros() const;
  /// How many rows ahead right factors are fetched that the processor does not foresee.
  std::int64_t rows_ahead() const;
  /// Adds the products for k from 0 to `depth`, which is not 0. `left`: for each row the address of its first factor.
  Values add_products(const Values& sums, const Values& left, const RightRows& right, Value* depth);

  /// Interleaves `rows` rows of a panel with the tile's columns in fours, in place: four bytes of each column follow each other. The
  /// instruction multiplies unsigned bytes by signed ones, so 128 is added to each byte of the panel.
  void interleave(Value* panel, std::int64_t rows);
  /// What the products with an interleaved panel exceed, for each row of the tile: 128 times the sum of the left factor's row.
  /// add_segments(sums, add) calls add(sums, left) for each part of the rows, which is `depth` long, and returns the final sums.
  using AddRows = std::function<Values(const Values& sums, const Values& left)>;
  Values row_excess(std::int64_t depth, const std::function<Values(const Values& sums, const AddRows&)>& add_segments);
  /// Subtracts the excess of each row, which is at `excess`, from the accumulators.
  Values without_excess(const Values& sums, Value* excess);

  /// Where the rows of the tile from `row` on lie in a row-major left factor. Rows that are not live stand for the last live one: what a
  /// buffer holds there may be subnormal, and products of such numbers take a hundred times as long.
  Values left_rows(Value* factor, Value* row, std::int64_t depth, Value* live_rows);
  /// Whether the tile's vectors fill registers.
  bool has_whole_vectors() const { return shape_.lanes * sum_.element_bytes() * 8 == e_.target().vector_bits; }
  /// The number of rows of the tile.
  std::int64_t rows() const { return shape_.rows; }
  /// Whether this is a tile of few live rows.
  bool has_few_rows() const { return has_few_rows_; }
  std::int64_t columns() const { return shape_.columns(); }
  /// Calls emit_tile(tile, row, column) in loops over the live rows and columns of the accumulators; null: all. If the tile's rows do not
  /// divide those of the accumulators, the last tile has fewer; so has the last one of live rows, except for the first one where
  /// `is_first_whole` holds (i1; null: nowhere).
  void for_each(TileOrder, Value* is_first_whole, Value* live_rows, Value* live_columns,
                const std::function<void(RegisterTile& tile, Value* row, Value* column)>& emit_tile);
  /// Calls emit_tile(column) in a loop over the register tiles of a row of them.
  void for_each_column(Value* live_columns, const std::function<void(Value* column)>& emit_tile);

  /// A tile of so many rows, and of more columns, for right factors in memory: longer pieces of their rows are read one after another.
  /// None if there are no more columns.
  std::optional<RegisterTile> widened(std::int64_t rows) const;

 private:
  /// A tile of the same accumulators with another shape.
  RegisterTile(const RegisterTile&, std::int64_t rows, std::int64_t vectors, bool has_few_rows);

  Value* accumulator(Value* first, std::int64_t row, std::int64_t j);
  Values first_of_rows(const EvenRows&) const;
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
  // So many steps of k are computed at once: the sum of two products of int8 is exact in int16 and int32.
  const unsigned together_;
  const bool has_few_rows_ = false;
};

}  // namespace tilewright::backend::host
