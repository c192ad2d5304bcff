// The network of shuffles that transposes a block in registers, and loops over the blocks of a tile.
#include "backend/host/transposition.h"

#include <algorithm>

#include "backend/host/base_address.h"
#include "backend/host/memory.h"
#include "backend/host/nest.h"
#include "backend/host/next_program.h"
#include "backend/host/prefix_masks.h"
#include "backend/host/step_ops.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// Hides from LLVM how vectors are computed. Its instruction selection looks for shuffles of shuffles in all combinations, which takes longer
/// than all else and finds none that are better.
void hide(llvm::IRBuilder<>& b, Values& vectors) {
  llvm::Type* const words = vectors[0]->getType();
  const auto bits = static_cast<unsigned>(words->getPrimitiveSizeInBits().getFixedValue());
  if (bits < 128) return;
  llvm::Type* const floats = llvm::FixedVectorType::get(b.getFloatTy(), bits / 32);
  for (Value*& v : vectors)
    v = b.CreateBitCast(b.CreateUnaryIntrinsic(llvm::Intrinsic::arithmetic_fence, b.CreateBitCast(v, floats)), words);
}

/// Transposes rows of integers: vector c of the result has element c of each row. There are three phases, which exchange the bits of a
/// row's number with those of a column's. Shuffles that cross the 128-bit parts of a vector cost more than others, and come first:
/// 1. concat  rows below each other fill whole vectors
/// 2. gather  parts of the same columns come together in a vector
/// 3. unpack  the squares of 128-bit parts, all of a vector at once, by instructions that interleave the halves of two vectors' parts
Values transposed(llvm::IRBuilder<>& b, Values v) {
  const auto rows = static_cast<unsigned>(v.size());
  const unsigned square = 128 / v[0]->getType()->getScalarSizeInBits();
  // Replaces vectors in pairs whose numbers differ in one bit.
  const auto pairs = [&](std::size_t distance, const auto& replace) {
    for (std::size_t i = 0; i < v.size(); ++i)
      if ((i & distance) == 0) replace(v[i], v[i + distance]);
  };
  while (lane_count(v[0]) < rows) {
    std::vector<int> both(2 * lane_count(v[0]));
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = static_cast<int>(i);
    Values wider;
    for (std::size_t i = 0; i < v.size(); ++i)
      if ((i & square) == 0) wider.push_back(b.CreateShuffleVector(v[i], v[i + square], both));
    v = std::move(wider);
  }
  for (std::size_t distance = square; distance < v.size(); distance *= 2) {
    std::vector<int> even, odd;
    for (unsigned lane = 0; lane < 2 * rows; ++lane) (lane / square % 2 == 0 ? even : odd).push_back(static_cast<int>(lane));
    pairs(distance, [&](Value*& low, Value*& high) {
      Value* first = b.CreateShuffleVector(low, high, even);
      high = b.CreateShuffleVector(low, high, odd);
      low = first;
    });
    hide(b, v);
  }
  for (std::size_t distance = square / 2; distance > 0; distance /= 2) {
    if (distance < square / 2) hide(b, v);
    std::vector<int> lower, upper;
    for (unsigned part = 0; part < rows; part += square)
      for (unsigned i = 0; i < square / 2; ++i)
        for (unsigned of : {0u, rows}) {
          lower.push_back(static_cast<int>(of + part + i));
          upper.push_back(static_cast<int>(of + part + square / 2 + i));
        }
    pairs(distance, [&](Value*& low, Value*& high) {
      Value* first = b.CreateShuffleVector(low, high, lower);
      high = b.CreateShuffleVector(low, high, upper);
      low = first;
    });
  }
  return v;
}

/// The elements of a buffer as integers, since only their bits are moved: LLVM 19 does not shuffle vectors of small floats on every
/// processor.
class Words {
 public:
  Words(Emitter& e, Type t) : e_(e), type_(t), word_(e.b().getIntNTy(static_cast<unsigned>(t.element_bytes()) * 8)) {}

  Value* at(Value* base, Value* index) { return e_.b().CreateInBoundsGEP(word_, base, index); }
  /// `offset`: in elements, from `base`.
  Value* load(Value* base, std::int64_t offset, unsigned lanes) {
    return e_.b().CreateAlignedLoad(llvm::FixedVectorType::get(word_, lanes), at(base, e_.i64(offset)), align(lanes));
  }
  void store(Value* base, std::int64_t offset, Value* v) { e_.b().CreateAlignedStore(v, at(base, e_.i64(offset)), align(lane_count(v))); }
  /// Converts to the elements in registers and back.
  Value* pack(Value* v) { return e_.b().CreateBitCast(e_.to_memory(v, type_), with_lanes_of(word_, v)); }
  Value* unpack(Value* v) { return e_.from_memory(e_.b().CreateBitCast(v, with_lanes_of(memory_type(e_.context(), type_), v)), type_); }

 private:
  /// A block begins at a multiple of its size.
  llvm::Align align(unsigned lanes) const {
    return llvm::Align(std::min<std::uint64_t>(64, static_cast<std::uint64_t>(type_.element_bytes()) * lanes));
  }

  Emitter& e_;
  const Type type_;
  llvm::Type* word_;
};

/// Adds the index i of a loop times its stride to a sum.
Value* add_term(Emitter& e, Value* sum, Value* i, std::int64_t stride) {
  return e.b().CreateAdd(sum, e.b().CreateMul(i, e.i64(stride), "", true, true), "", true, true);
}

/// Emits one load or store: a nest of its own for each index of the dimension before the last one within a block.
class TransposedAccess {
 public:
  TransposedAccess(Emitter& e, NonTemporalStores& non_temporal, const Step& step)
      : e_(e),
        b_(e.b()),
        non_temporal_(non_temporal),
        step_(step),
        op_(step.items.at(0).op),
        is_load_(e.f().kind(op_) == OpKind::load_),
        tile_(is_load_ ? e.f().result(op_) : e.f().operand(op_, 1)),
        words_(e, e.f().type(tile_)),
        nests_(static_cast<std::size_t>(is_load_ ? step.transposed->rows : step.transposed->columns), Nest(e, step)),
        lanes_(is_load_ ? step.transposed->columns : step.transposed->rows) {
    for (Nest& nest : nests_) nest.set_lanes(static_cast<unsigned>(lanes_));
    const Type t = e.f().type(tile_);
    const Strides strides = strides_of(e.f(), e.plan().resolve(tile_));
    const AxisMap dims = nests_[0].dims_of(t);
    strides_.resize(step.extents.size());
    for (int axis = 0; axis < t.rank(); ++axis)
      if (dims[axis] >= 0) strides_[static_cast<std::size_t>(dims[axis])] = strides[axis];
    TW_CHECK(strides_[row_dim()] == 1, "the buffer of a transposed tile has another order");
  }

  void run() {
    if (is_load_) next_program_ = distance_to_next_program(e_, e_.f().operand(op_, 0));
    emit_dim(0);
  }

 private:
  std::size_t row_dim() const { return step_.extents.size() - 2; }
  std::size_t vector_dim() const { return step_.extents.size() - 1; }
  std::int64_t nest_count() const { return static_cast<std::int64_t>(nests_.size()); }

  /// Code that depends only on outer indices is placed at the end of the block before a loop.
  void enter(std::size_t dim) {
    for (Nest& nest : nests_) nest.enter(static_cast<int>(dim));
    llvm::BasicBlock* rest = e_.new_block("nest");
    b_.CreateBr(rest);
    b_.SetInsertPoint(rest);
  }

  void emit_dim(std::size_t dim) {
    enter(dim);
    if (dim == vector_dim()) return emit_blocks();
    const std::int64_t step = dim == row_dim() ? nest_count() : 1;
    // See LoopNest::emit_rows: an index of a loop that runs once must not be constant.
    Value* begin = step == step_.extents[dim] ? e_.unknown_zero() : e_.i64(0);
    e_.loop(begin, e_.i64(step_.extents[dim]), e_.i64(step), {}, false, [&](Value* i, const Values&) {
      for (std::size_t n = 0; n < nests_.size(); ++n)
        nests_[n].set_index(static_cast<int>(dim), step == 1 ? i : b_.CreateAdd(i, e_.i64(static_cast<std::int64_t>(n)), "", true, true));
      emit_dim(dim + 1);
      return Values{};
    });
  }

  /// Emits the blocks of some rows, without masks as far as all masks of all rows hold.
  void emit_blocks() {
    Value* const extent = e_.i64(step_.extents[vector_dim()]);
    Value* const begin = step_.extents[vector_dim()] == lanes_ ? e_.unknown_zero() : e_.i64(0);
    Value* least = extent;
    bool has_counts = true;
    std::vector<std::vector<PrefixMask>> masks;
    for (Nest& nest : nests_) {
      masks.push_back(prefix_masks(nest));
      has_counts = has_counts && !masks.back().empty();
      for (const PrefixMask& mask : masks.back()) least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, mask.count);
    }
    if (!has_counts) return emit_loop(begin, extent);
    Value* full = b_.CreateAnd(least, e_.i64(-lanes_), "full");
    for (std::size_t n = 0; n < nests_.size(); ++n)
      for (const PrefixMask& mask : masks[n]) nests_[n].assume_true(mask.masks);
    emit_loop(begin, full);
    for (Nest& nest : nests_) nest.assume_nothing();
    emit_loop(b_.CreateAdd(full, begin), extent);
  }

  void emit_loop(Value* begin, Value* end) {
    e_.loop(begin, end, e_.i64(lanes_), {}, true, [&](Value* at, const Values&) {
      for (Nest& nest : nests_) {
        nest.begin_lanes();
        nest.set_index(static_cast<int>(vector_dim()), at);
      }
      is_load_ ? emit_load() : emit_store();
      return Values{};
    });
  }

  /// The address of the block in the buffer.
  Value* block_in(Value* buffer) {
    Value* index = e_.i64(0);
    for (std::size_t dim = 0; dim < strides_.size(); ++dim)
      index = add_term(e_, index, nests_[0].index(static_cast<int>(dim)), strides_[dim]);
    return as_base(b_, words_.at(buffer, index));
  }

  /// Fetches the block of the next rows. Processors guess which lines follow if memory is read in order, but a block takes a few lines of
  /// each row. Rows that follow each other without gaps are taken to go on beyond the tile; where rows are apart, the next program's are fetched.
  /// They go to the second cache: rows that are pages apart have few lines of the first one.
  void prefetch_next_rows() {
    const ValueId pointer = e_.f().operand(op_, 0);
    Values addresses;
    for (Nest& nest : nests_) addresses.push_back(nest.evaluate(pointer, nest.dims_of(e_.f().type(pointer)), false));
    Value* distance = b_.CreateSub(addresses[1], addresses[0]);
    const std::int64_t row_bytes = step_.extents[vector_dim()] * e_.f().type(tile_).element_bytes();
    Value* next = b_.CreateAdd(nests_[0].index(static_cast<int>(row_dim())), e_.i64(nest_count()));
    Value* is_there = b_.CreateOr(b_.CreateICmpSLT(next, e_.i64(step_.extents[row_dim()])), b_.CreateICmpEQ(distance, e_.i64(row_bytes)));
    Value* beyond = e_.i64(0);
    if (next_program_) beyond = b_.CreateSub(next_program_, b_.CreateMul(distance, nests_[0].index(static_cast<int>(row_dim()))));
    Value* ahead = b_.CreateSelect(is_there, b_.CreateMul(distance, e_.i64(nest_count())), beyond);
    for (Value* address : addresses) {
      Value* line = b_.CreateIntToPtr(b_.CreateAdd(address, ahead), b_.getPtrTy());
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
    }
  }

  void emit_load() {
    prefetch_next_rows();
    Values rows;
    for (Nest& nest : nests_) rows.push_back(words_.pack(load_at(nest, op_)));
    const Values columns = transposed(b_, rows);
    Value* const to = block_in(e_.buffer_of(tile_));
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      words_.store(to, lane * strides_[vector_dim()], columns[static_cast<std::size_t>(lane)]);
  }

  void emit_store() {
    Value* const from = block_in(e_.buffer_of(e_.plan().resolve(tile_).value));
    Values rows;
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      rows.push_back(words_.load(from, lane * strides_[vector_dim()], static_cast<unsigned>(nest_count())));
    const Values columns = transposed(b_, rows);
    for (std::size_t n = 0; n < nests_.size(); ++n) store_at(nests_[n], op_, non_temporal_, words_.unpack(columns[n]));
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  NonTemporalStores& non_temporal_;
  const Step& step_;
  const OpId op_;
  const bool is_load_;
  const ValueId tile_;
  Words words_;
  std::vector<Nest> nests_;
  const std::int64_t lanes_;           // lanes of a nest
  Value* next_program_ = nullptr;      // how many bytes further the next program loads; null: unknown
  std::vector<std::int64_t> strides_;  // strides of the buffer, indexed by dimension
};

}  // namespace

void emit_transposed_access(Emitter& e, NonTemporalStores& non_temporal, const Step& step) {
  TransposedAccess(e, non_temporal, step).run();
}

/// Transposes from the operand's buffer to the result's buffer, if the operand's buffer is not contiguous along the result's last axis.
void emit_permute(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const ValueId result = f.result(id);
  const Type t = f.type(result);
  const Source of_operand = e.plan().resolve(f.operand(id, 0));
  const auto& axes = f.attr_list(id, ir::AttrName::axes);
  Source source{of_operand.value, kNoAxes};
  for (int i = 0; i < f.type(source.value).rank(); ++i)
    if (of_operand.map[i] >= 0)
      source.map[i] = static_cast<std::int8_t>(std::find(axes.begin(), axes.end(), of_operand.map[i]) - axes.begin());
  const Strides from_strides = strides_of(f, source);
  std::vector<int> dims;  // the axes: the last one and the one along which the operand is contiguous come after the others
  Strides to_strides{};
  std::int64_t stride = 1;
  int row_axis = -1, column_axis = -1;
  for (int i = t.rank() - 1; i >= 0; --i) {
    if (t.log2_extent(i) == 0) continue;
    to_strides[i] = stride;
    stride *= t.extent(i);
    if (row_axis < 0)
      row_axis = i;
    else if (from_strides[i] == 1)
      column_axis = i;
    else
      dims.insert(dims.begin(), i);
  }
  TW_CHECK(column_axis >= 0, "a permute reads its operand in order");
  const auto block = transposed_block(e.target().lanes(), t.element_bytes(), t.extent(row_axis), t.extent(column_axis));
  TW_CHECK(block.has_value(), "a permute of less than a block");
  dims.push_back(row_axis);
  dims.push_back(column_axis);
  Words words(e, t);
  Value* from = e.buffer_of(source.value);
  Value* to = e.buffer_of(result);
  const auto emit_dim = [&](const auto& self, std::size_t n, Value* read, Value* write) -> void {
    if (n == dims.size()) {
      Values rows;
      Value *const from_block = as_base(b, words.at(from, read)), *const to_block = as_base(b, words.at(to, write));
      for (int r = 0; r < block->rows; ++r)
        rows.push_back(words.load(from_block, r * from_strides[row_axis], static_cast<unsigned>(block->columns)));
      const Values columns = transposed(b, rows);
      for (int c = 0; c < block->columns; ++c) words.store(to_block, c * to_strides[column_axis], columns[static_cast<std::size_t>(c)]);
      return;
    }
    const int axis = dims[n];
    e.loop(t.extent(axis),
           axis == row_axis      ? block->rows
           : axis == column_axis ? block->columns
                                 : 1,
           [&](Value* i) { self(self, n + 1, add_term(e, read, i, from_strides[axis]), add_term(e, write, i, to_strides[axis])); });
  };
  emit_dim(emit_dim, 0, e.i64(0), e.i64(0));
}

}  // namespace tilewright::backend::host
