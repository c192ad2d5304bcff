// Writes and reads up to five words a segment.
#include "backend/host/segment_table.h"

namespace tilewright::backend::host {

namespace {
constexpr std::int64_t kSegmentBytes = 40;
}

SegmentTable::SegmentTable(Emitter& e, std::int64_t segments, const Segment& common)
    : e_(e), b_(e.b()), common_(common), table_(e.allocate_scratch(segments * kSegmentBytes)) {}

void SegmentTable::write(Value* number, const Segment& segment) {
  if (!common_.depth) b_.CreateStore(segment.depth, field(number, 0));
  b_.CreateStore(segment.first, field(number, 1));
  if (!common_.distance) b_.CreateStore(segment.distance, field(number, 2));
  if (!common_.column_distance) b_.CreateStore(segment.column_distance, field(number, 3));
  if (segment.packed) b_.CreateStore(segment.packed, field(number, 4));
}

Segment SegmentTable::read(Value* number) {
  const auto word = [&](Value* common, std::uint64_t i) { return common ? common : b_.CreateLoad(b_.getInt64Ty(), field(number, i)); };
  Value* const depth = word(common_.depth, 0);
  Value* const first = b_.CreateLoad(b_.getPtrTy(), field(number, 1));
  Value* const distance = word(common_.distance, 2);
  Value* const column_distance = word(common_.column_distance, 3);
  return {depth, first, distance, column_distance, b_.CreateLoad(b_.getPtrTy(), field(number, 4))};
}

Value* SegmentTable::field(Value* number, std::uint64_t i) {
  Value* const first = b_.CreateInBoundsGEP(b_.getInt8Ty(), table_.address, b_.CreateMul(number, e_.i64(kSegmentBytes)));
  return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), first, i);
}

}  // namespace tilewright::backend::host
