// Loops over the blocks of a tile, and the network of shuffles that transposes one.
#include "backend/host/transposed_load.h"

#include "backend/host/memory.h"
#include "backend/host/nest.h"
#include "backend/host/prefix_masks.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

namespace {

/// Transposes a square of vectors: step by step, one bit of the row is exchanged for the same bit of the lane.
void transpose(llvm::IRBuilder<>& b, Values& rows) {
  const auto n = static_cast<unsigned>(rows.size());
  for (unsigned bit = 1; bit < n; bit *= 2)
    for (unsigned i = 0; i < n; ++i) {
      if ((i & bit) != 0) continue;
      llvm::SmallVector<int, 64> low, high;
      for (unsigned lane = 0; lane < n; ++lane) {
        low.push_back(static_cast<int>((lane & bit) == 0 ? lane : n + lane - bit));
        high.push_back(static_cast<int>((lane & bit) == 0 ? lane + bit : n + lane));
      }
      Value *first = rows[i], *second = rows[i + bit];
      rows[i] = b.CreateShuffleVector(first, second, low);
      rows[i + bit] = b.CreateShuffleVector(first, second, high);
    }
}

class TransposedLoad {
 public:
  TransposedLoad(Emitter& e, const Step& step)
      : e_(e),
        b_(e.b()),
        step_(step),
        load_(step.items.at(0).op),
        type_(e.f().type(e.f().result(load_))),
        side_(transposed_block(e.target().lanes(), type_.element_bytes())),
        rows_(static_cast<std::size_t>(side_), Nest(e, step)) {
    TW_CHECK(step.extents[row_dim()] >= side_ && step.extents[vector_dim()] >= side_, "a tile is less than a block");
    for (Nest& row : rows_) row.set_lanes(static_cast<unsigned>(side_));
    std::vector<std::int64_t> strides;  // by axis with an extent other than 1
    std::int64_t stride = type_.elements();
    for (std::int64_t extent : squeezed(type_)) strides.push_back(stride /= extent);
    strides_.resize(strides.size());
    for (std::size_t i = 0; i < strides.size(); ++i) strides_[static_cast<std::size_t>(step.dims_of_axes[i])] = strides[i];
  }

  void run() { emit_dim(0); }

 private:
  /// The dimension of the tile's last axis, whose indices a block has a vector each of; and that of the lanes.
  std::size_t row_dim() const { return step_.extents.size() - 2; }
  std::size_t vector_dim() const { return step_.extents.size() - 1; }

  /// What depends on outer indices only goes to the end of the block before a loop.
  void enter(std::size_t dim) {
    for (Nest& row : rows_) row.enter(static_cast<int>(dim));
    llvm::BasicBlock* rest = e_.new_block("nest");
    b_.CreateBr(rest);
    b_.SetInsertPoint(rest);
  }

  void emit_dim(std::size_t dim) {
    enter(dim);
    if (dim == vector_dim()) return emit_blocks();
    const std::int64_t step = dim == row_dim() ? side_ : 1;
    // See LoopNest::emit_rows: an index of a loop that runs once must not be constant.
    Value* begin = step == step_.extents[dim] ? e_.unknown_zero() : e_.i64(0);
    e_.loop(begin, e_.i64(step_.extents[dim]), e_.i64(step), {}, false, [&](Value* i, const Values&) {
      for (std::size_t r = 0; r < rows_.size(); ++r)
        rows_[r].set_index(static_cast<int>(dim), step == 1 ? i : b_.CreateAdd(i, e_.i64(static_cast<std::int64_t>(r)), "", true, true));
      emit_dim(dim + 1);
      return Values{};
    });
  }

  /// The blocks of some rows: as far as all masks of all rows hold, without masks.
  void emit_blocks() {
    Value* const extent = e_.i64(step_.extents[vector_dim()]);
    Value* const begin = step_.extents[vector_dim()] == side_ ? e_.unknown_zero() : e_.i64(0);
    Value* least = extent;
    bool has_counts = true;
    std::vector<std::vector<PrefixMask>> masks;
    for (Nest& row : rows_) {
      masks.push_back(prefix_masks(row));
      has_counts = has_counts && !masks.back().empty();
      for (const PrefixMask& mask : masks.back()) least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, mask.count);
    }
    if (!has_counts) return emit_loop(begin, extent);
    Value* full = b_.CreateAnd(least, e_.i64(-side_), "full");
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (const PrefixMask& mask : masks[r]) rows_[r].assume_true(mask.masks);
    emit_loop(begin, full);
    for (Nest& row : rows_) row.assume_nothing();
    emit_loop(b_.CreateAdd(full, begin), extent);
  }

  void emit_loop(Value* begin, Value* end) {
    e_.loop(begin, end, e_.i64(side_), {}, true, [&](Value* at, const Values&) {
      emit_block(at);
      return Values{};
    });
  }

  void emit_block(Value* at) {
    Values vectors;
    for (Nest& row : rows_) {
      row.begin_lanes();
      row.set_index(static_cast<int>(vector_dim()), at);
      vectors.push_back(e_.to_memory(load_at(row, load_), type_));
    }
    transpose(b_, vectors);
    Value* first = e_.i64(0);
    for (std::size_t dim = 0; dim < strides_.size(); ++dim)
      first =
          b_.CreateAdd(first, b_.CreateMul(rows_[0].index(static_cast<int>(dim)), e_.i64(strides_[dim]), "", true, true), "", true, true);
    Value* to = e_.buffer_of(e_.f().result(load_));
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      Value* index = b_.CreateAdd(first, e_.i64(static_cast<std::int64_t>(i) * strides_[vector_dim()]), "", true, true);
      e_.write_lanes(to, type_, index, e_.from_memory(vectors[i], type_));
    }
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Step& step_;
  const OpId load_;
  const Type type_;
  const std::int64_t side_;            // of a block
  std::vector<Nest> rows_;             // of a block: each with its own index
  std::vector<std::int64_t> strides_;  // of the buffer, by dimension
};

}  // namespace

void emit_transposed_load(Emitter& e, const Step& step) { TransposedLoad(e, step).run(); }

}  // namespace tilewright::backend::host
