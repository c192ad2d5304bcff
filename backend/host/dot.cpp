// acc += a b on buffers.
#include "backend/host/register_tile.h"
#include "backend/host/step_ops.h"

namespace tilewright::backend::host {

void emit_dot(Emitter& e, OpId id) {
  if (e.plan().contraction(e.f().block(e.f().op(id).parent).parent)) return;  // emit_contraction adds the products
  llvm::IRBuilder<>& b = e.b();
  const ValueId result = e.f().op(id).results[0];
  const Type a = e.f().type(e.f().operand(id, 0)), c = e.f().type(result);
  const std::int64_t M = c.extent(c.rank() - 2), N = c.extent(c.rank() - 1), K = a.extent(a.rank() - 1);
  RegisterTile tile(e, a, c, K % 2 == 0);
  const auto live = [&](int axis) { return e.live().of_op(id, axis); };
  Value* const base[3] = {e.operand_buffer(id, 0), e.operand_buffer(id, 1), e.buffer_of(result)};
  const bool is_batched = c.rank() == 3;
  e.loop_over_live(is_batched ? live(0) : passes::LiveIndices{true, 0}, is_batched ? c.extent(0) : 1, [&](Value* batch) {
    Value* left = b.CreateInBoundsGEP(tile.factor_type(), base[0], b.CreateMul(batch, e.i64(M * K)));
    Value* right = b.CreateInBoundsGEP(tile.factor_type(), base[1], b.CreateMul(batch, e.i64(K * N)));
    Value* sums = b.CreateInBoundsGEP(tile.sum_type(), base[2], b.CreateMul(batch, e.i64(M * N)));
    const auto live_count = [&](int axis) { return e.live_count(live(axis), c.extent(axis)); };
    Value* const live_rows = live_count(c.rank() - 2);
    tile.for_each(TileOrder::down_columns, live_rows, live_count(c.rank() - 1), [&](Value* row, Value* column) {
      Value* at = b.CreateInBoundsGEP(tile.sum_type(), sums, b.CreateAdd(b.CreateMul(row, e.i64(N)), column));
      const RightRows rows{b.CreateInBoundsGEP(tile.factor_type(), right, column), e.i64(N * a.element_bytes())};
      tile.store(at, tile.add_products(tile.load(at), tile.left_rows(left, row, K, live_rows), rows, e.i64(K), false));
    });
  });
}

}  // namespace tilewright::backend::host
