// The segments of a block of a contraction.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Products for some consecutive k: their number, and where the rows of the right factor lie: the first one, the bytes from each to the
/// next, and the bytes from a column to the next at the first columns of register tiles.
struct Segment {
  Value *depth, *first, *distance, *column_distance;
  Value* packed = nullptr;  // where the first row has its place in the right factor's buffer; null: it is read nowhere else
};

/// Segments in scratch memory, without what is the same for all of them.
class SegmentTable {
 public:
  /// `common` has what is the same, and null for what differs.
  SegmentTable(Emitter&, std::int64_t segments, const Segment& common);
  void release() { e_.free_scratch(table_); }

  void write(Value* number, const Segment&);
  Segment read(Value* number);

 private:
  Value* field(Value* number, std::uint64_t i);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Segment common_;
  const Emitter::ScratchRange table_;
};

}  // namespace tilewright::backend::host
