// Chooses where each block loads its accumulators from, and where it stores them.
#include "backend/host/tile_sums.h"

#include "backend/host/non_temporal.h"
#include "tileir/memory_ops.h"

namespace tilewright::backend::host {

TileSums::TileSums(Emitter& e, const ContractedDot& dot)
    : e_(e),
      b_(e.b()),
      dot_(dot),
      type_(e.f().type(e.f().result(dot.dot))),
      buffer_{e.buffer_of(e.f().result(dot.dot)), e.i64(type_.extent(1) * type_.element_bytes())} {}

void TileSums::begin(Value* iterations) {
  Value* const is_empty = b_.CreateICmpEQ(iterations, e_.i64(0));
  if (dot_.starts_at_zero) {
    llvm::BasicBlock *const empty = e_.new_block("no_products"), *const begun = e_.new_block("sums");
    b_.CreateCondBr(is_empty, empty, begun);
    b_.SetInsertPoint(empty);
    b_.CreateMemSet(buffer_.first, b_.getInt8(0), static_cast<std::uint64_t>(type_.elements() * type_.element_bytes()), llvm::Align(64));
    b_.CreateBr(begun);
    b_.SetInsertPoint(begun);
  }
  if (!dot_.store) return;
  Value* is_whole = b_.getTrue();
  if (const ValueId mask = ir::mask_of(e_.f(), dot_.store))
    for (const int axis : {0, 1})
      is_whole = b_.CreateAnd(is_whole, hold_at_ends(e_, type_.extent(axis), axis, {{mask, {0, 1, -1, -1, -1}}}));
  are_stored_ = b_.CreateAnd(is_whole, b_.CreateNot(is_empty), "are_stored");
  memory_ = even_rows(e_, dot_.store);
  streams_ = e_.non_temporal().rows_condition(dot_.store, memory_.first, memory_.distance);
}

void TileSums::begin_block(Value* is_first, Value* is_last) {
  is_first_ = is_first;
  target_ = buffer_;
  if (!are_stored_) return;
  Value* const stores = b_.CreateAnd(is_last, are_stored_);
  if (streams_) streams_block_ = b_.CreateAnd(stores, streams_);
  target_ = {b_.CreateSelect(stores, memory_.first, buffer_.first), b_.CreateSelect(stores, memory_.distance, buffer_.distance)};
}

Values TileSums::begin_tile(const std::function<Values()>& zero, const std::function<Values()>& loaded) {
  if (!dot_.starts_at_zero) return loaded();
  llvm::BasicBlock *const first = e_.new_block("zero"), *const later = e_.new_block("loaded"), *const begun = e_.new_block("tile");
  b_.CreateCondBr(is_first_, first, later);
  b_.SetInsertPoint(first);
  const Values zeros = zero();
  b_.CreateBr(begun);
  b_.SetInsertPoint(later);
  const Values from_buffer = loaded();
  b_.CreateBr(begun);
  b_.SetInsertPoint(begun);
  Values sums;
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    auto* const sum = b_.CreatePHI(zeros[i]->getType(), 2);
    sum->addIncoming(zeros[i], first);
    sum->addIncoming(from_buffer[i], later);
    sums.push_back(sum);
  }
  return sums;
}

void TileSums::load(AmxTile& registers, Value* row, Value* column) {
  begin_tile([&] { return registers.clear(), Values{}; }, [&] { return registers.load(tile(buffer_, row, column)), Values{}; });
}

void TileSums::store(AmxTile& registers, Value* row, Value* column) { registers.store(tile(target_, row, column)); }

Value* TileSums::streams(const RegisterTile& registers) const {
  // Few rows are not worth a second copy of their stores.
  return registers.has_whole_vectors() && !registers.has_few_rows() ? streams_block_ : nullptr;
}

void TileSums::either(Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (!condition) return otherwise();
  llvm::BasicBlock *const arms[] = {e_.new_block("streams"), e_.new_block("caches")}, *const after = e_.new_block("stored");
  b_.CreateCondBr(condition, arms[0], arms[1]);
  for (const int i : {0, 1}) {
    b_.SetInsertPoint(arms[i]);
    i == 0 ? then() : otherwise();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

Values TileSums::load(RegisterTile& registers, Value* row, Value* column) {
  if (are_stored_) either(streams(registers), [] {}, [&] { registers.fetch(tile(target_, row, column)); });
  return begin_tile([&] { return registers.zeros(); }, [&] { return registers.load(tile(buffer_, row, column).first); });
}

void TileSums::store(RegisterTile& registers, const Values& sums, Value* row, Value* column) {
  if (are_stored_)
    either(
        streams(registers), [&] { registers.store(tile(target_, row, column), sums, &e_.non_temporal()); },
        [&] { registers.store(tile(target_, row, column), sums); });
  else
    registers.store(tile(buffer_, row, column).first, sums);
}

EvenRows TileSums::tile(const EvenRows& rows, Value* row, Value* column) {
  Value* const offset = b_.CreateAdd(b_.CreateMul(row, rows.distance), b_.CreateMul(column, e_.i64(type_.element_bytes())));
  return {b_.CreateInBoundsGEP(b_.getInt8Ty(), rows.first, offset), rows.distance};
}

}  // namespace tilewright::backend::host
