// acc += a b on buffers.
#include "backend/host/amx_tile.h"
#include "backend/host/register_tile.h"
#include "backend/host/step_ops.h"

namespace tilewright::backend::host {

namespace {

/// A dot, and the buffers of one product of its batch.
struct Product {
  Type left_type, sum_type;
  Value *left, *right, *sums;
  Value* right_distance;            // bytes from each row of the right factor to the next
  std::uint64_t right_alignment;    // of a register tile's first column, in bytes
  Value *live_rows, *live_columns;  // null: all
  std::int64_t rows() const { return sum_type.extent(sum_type.rank() - 2); }
  std::int64_t columns() const { return sum_type.extent(sum_type.rank() - 1); }
  std::int64_t depth() const { return left_type.extent(left_type.rank() - 1); }
};

void multiply_in_vectors(Emitter& e, const Product& p) {
  llvm::IRBuilder<>& b = e.b();
  RegisterTile tile(e, p.left_type, p.sum_type, p.depth() % 2 == 0);
  tile.for_each(TileOrder::down_columns, nullptr, p.live_rows, p.live_columns, [&](RegisterTile& part, Value* row, Value* column) {
    Value* at = b.CreateInBoundsGEP(tile.sum_type(), p.sums, b.CreateAdd(b.CreateMul(row, e.i64(p.columns())), column));
    RightRows rows{b.CreateInBoundsGEP(tile.factor_type(), p.right, column), p.right_distance};
    rows.alignment = p.right_alignment;
    part.store(at, part.add_products(part.load(at), part.left_rows(p.left, row, p.depth(), p.live_rows), rows, e.i64(p.depth())));
  });
}

/// `panels`: memory for the interleaved right factor.
void multiply_in_tiles(Emitter& e, const Product& p, AmxShape shape, Value* panels) {
  llvm::IRBuilder<>& b = e.b();
  AmxTile tile(e, shape, p.left_type);
  const std::int64_t row_bytes =
      p.depth() * p.left_type.element_bytes();  // the bytes of a row of the left factor, and of a column of the right one
  const auto at = [&](Value* base, Value* number, std::int64_t bytes) {
    return b.CreateInBoundsGEP(b.getInt8Ty(), base, b.CreateMul(number, e.i64(bytes)));
  };
  e.loop_over_first(p.live_columns, p.columns(), shape.columns, [&](Value* column) {
    tile.interleave(at(p.right, column, p.left_type.element_bytes()), p.columns() * p.left_type.element_bytes(),
                    at(panels, column, row_bytes), p.depth());
  });
  tile.begin();
  e.loop_over_first(p.live_rows, p.rows(), shape.rows, [&](Value* row) {
    const EvenRows left{at(p.left, row, row_bytes), e.i64(row_bytes)};
    e.loop_over_first(p.live_columns, p.columns(), shape.columns, [&](Value* column) {
      const std::int64_t sum_bytes = p.sum_type.element_bytes();
      const EvenRows sums{at(at(p.sums, row, p.columns() * sum_bytes), column, sum_bytes), e.i64(p.columns() * sum_bytes)};
      tile.load(sums);
      tile.add_products(left, {at(panels, column, row_bytes), e.i64(tile.group_bytes())}, p.depth());
      tile.store(sums);
    });
  });
  tile.end();
}

}  // namespace

void emit_dot(Emitter& e, OpId id) {
  if (e.plan().contraction(e.f().block(e.f().op(id).parent).parent)) return;  // emit_contraction adds the products
  llvm::IRBuilder<>& b = e.b();
  const ValueId result = e.f().op(id).results[0];
  const Type a = e.f().type(e.f().operand(id, 0)), c = e.f().type(result);
  const auto live = [&](int axis) { return e.live().of_op(id, axis); };
  Value* const base[3] = {e.operand_buffer(id, 0), e.operand_buffer(id, 1), e.buffer_of(result)};
  const auto shape = amx_shape(e.products(), a, c);
  const bool is_batched = c.rank() == 3;
  const std::int64_t right_bytes = a.extent(a.rank() - 1) * c.extent(c.rank() - 1) * a.element_bytes();
  const auto panels = shape ? std::optional(e.allocate_scratch(right_bytes)) : std::nullopt;
  e.loop_over_live(is_batched ? live(0) : passes::LiveIndices{true, 0}, is_batched ? c.extent(0) : 1, [&](Value* batch) {
    const auto matrix = [&](int i, std::int64_t bytes) {
      return b.CreateInBoundsGEP(b.getInt8Ty(), base[i], b.CreateMul(batch, e.i64(bytes)));
    };
    Product p{a, c, nullptr, nullptr, nullptr, e.i64(right_bytes / a.extent(a.rank() - 1)), 64, nullptr, nullptr};
    p.left = matrix(0, p.rows() * p.depth() * a.element_bytes());
    p.right = matrix(1, right_bytes);
    if (const InPlaceFactor* memory = e.plan().right_in_memory(id)) {
      const EvenRows rows = even_rows(e, memory->load);
      p.right = b.CreateSelect(e.reads_right(id), rows.first, p.right);
      p.right_distance = b.CreateSelect(e.reads_right(id), rows.distance, p.right_distance);
      p.right_alignment = static_cast<std::uint64_t>(a.element_bytes());
    }
    p.sums = matrix(2, p.rows() * p.columns() * c.element_bytes());
    p.live_rows = e.live_count(live(c.rank() - 2), p.rows());
    p.live_columns = e.live_count(live(c.rank() - 1), p.columns());
    if (shape)
      multiply_in_tiles(e, p, *shape, panels->address);
    else
      multiply_in_vectors(e, p);
  });
  if (panels) e.free_scratch(*panels);
}

}  // namespace tilewright::backend::host
