// A register tile of accumulators in the tile registers of AMX.
#pragma once
#include "backend/host/emitter.h"
#include "backend/host/factor_rows.h"
#include "backend/host/tile_shape.h"

namespace tilewright::backend::host {

/// One, two or four tile registers of accumulators: loaded, increased by products of bytes or bf16, and stored. The order of the products of
/// bf16 is that of tileir/target/dot_order.h. The right factor is interleaved: the elements of a column in four bytes' worth of rows follow
/// each other.
class AmxTile {
 public:
  AmxTile(Emitter&, AmxShape, Type factor);

  const AmxShape& shape() const { return shape_; }

  /// The methods that compute stand between these two.
  void begin();
  void end();

  void clear();
  void load(const EvenRows&);
  void store(const EvenRows&);
  /// Adds the products for `depth` steps of k, whose left factors fill rows of tile registers. The distance of the right factor is that from
  /// a group of interleaved rows to the next.
  void add_products(const EvenRows& left, const EvenRows& right, std::int64_t depth);

  /// Interleaves so many rows of the tile's columns, which are `distance` bytes apart, and writes them without gaps; possibly in place.
  void interleave(Value* from, std::int64_t distance, Value* to, std::int64_t rows);
  /// The bytes of a group of interleaved rows.
  std::int64_t group_bytes() const { return shape_.columns * 4; }

 private:
  /// Calls emit(number, address) for each tile register of accumulators.
  void for_each_sum(const EvenRows&, const std::function<void(unsigned number, Value* address)>& emit);
  Value* tile(unsigned number) { return b_.getInt8(static_cast<std::uint8_t>(number)); }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const AmxShape shape_;
  const std::int64_t element_bytes_;
  const bool is_float_;
};

}  // namespace tilewright::backend::host
