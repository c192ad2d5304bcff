// Emits contractions. A left factor that is read in memory is a list of segments for each block: its rows from some depth on, up to the
// depth at which its mask ends, then a row of zeros that stands for what lies behind.
#include "backend/host/contraction_loop.h"

#include "backend/host/contraction.h"
#include "backend/host/nest.h"
#include "backend/host/prefix_masks.h"
#include "backend/host/register_tile.h"

namespace tilewright::backend::host {

namespace {

/// The products of one dot.
class BlockProducts {
 public:
  BlockProducts(Emitter& e, const ContractedDot& dot, std::int64_t iterations)
      : e_(e),
        b_(e.b()),
        dot_(dot),
        left_(e.f().type(e.f().operand(dot.dot, 0))),
        sum_(e.f().type(e.f().result(dot.dot))),
        rows_(sum_.extent(0)),
        columns_(sum_.extent(1)),
        depth_(left_.extent(1)),
        tile_(e, left_, sum_, depth_ % 2 == 0),
        layout_(layout_of_right()) {
    // What the loop's body frees, it writes again in the next iteration: the parts of a block share no memory with it.
    for (int factor = dot.left_load ? 1 : 0; factor < 2; ++factor)
      if (e.plan().iterations(e.plan().operand_class(dot.dot, factor)) > 1) e.operand_buffer(dot.dot, factor);
    if (!dot_.left_load) return;
    // An iteration has one segment, or two where a mask may end within it.
    const std::int64_t segments = iterations * (dot_.left_mask.depth.empty() ? 1 : 2);
    segments_ = allocate(segments * kSegmentBytes);
    addresses_ = allocate(segments * rows_ * kAddressBytes);
    zeros_ = allocate(depth_ * left_.element_bytes());
    b_.CreateMemSet(zeros_.address, b_.getInt8(0), static_cast<std::uint64_t>(depth_ * left_.element_bytes()), llvm::Align(64));
  }

  void release() {
    for (const Emitter::ScratchRange& each : ranges_) e_.free_scratch(each);
  }

  /// Adds the segments of the current iteration, which is number `copy` of its block, behind `count` segments. Returns the new count.
  Value* add_segments(Value* copy, Value* count) {
    if (!dot_.left_load) return b_.CreateAdd(count, e_.i64(1));
    Step along_rows, along_depth;
    along_rows.extents = {rows_};
    along_depth.extents = {depth_};
    Nest rows(e_, along_rows), depth(e_, along_depth);
    // The vectors are of addresses. Register tiles have up to kFewRows rows.
    rows.set_lanes(static_cast<unsigned>(std::min<std::int64_t>(rows_, kFewRows)));
    rows.enter(0);
    depth.enter(0);
    begin_block("segments");
    Value* before = e_.i64(depth_);
    for (const FactorIndexed& each : dot_.left_mask.depth) before = least(before, valid_depth(depth, each));
    write_segment(count, before, b_.CreateMul(copy, e_.i64(right_stride())));
    write_addresses(rows, count);
    Value* next = b_.CreateAdd(count, e_.i64(1));
    return dot_.left_mask.depth.empty() ? next : add_zeros(copy, next, before, depth);
  }

  /// Adds the products of the segments of a block to the accumulators.
  void multiply(Value* count) {
    Value* const sums = e_.buffer_of(e_.f().result(dot_.dot));
    Value* const right = e_.operand_buffer(dot_.dot, 1);
    Value* const left = dot_.left_load ? nullptr : e_.operand_buffer(dot_.dot, 0);
    const auto live = [&](int axis) { return e_.live_count(e_.live().of_op(dot_.dot, axis), sum_.extent(axis)); };
    tile_.for_each(TileOrder::along_rows, live(0), live(1), [&](Value* row, Value* column, std::int64_t rows, std::int64_t vectors) {
      Value* at = b_.CreateInBoundsGEP(tile_.sum_type(), sums, b_.CreateAdd(b_.CreateMul(row, e_.i64(columns_)), column));
      Value* first = b_.CreateInBoundsGEP(tile_.factor_type(), right, first_of_column(column));
      const Values results =
          e_.loop(e_.i64(0), count, e_.i64(1), tile_.load(at, rows, vectors), false, [&](Value* segment, const Values& carried) {
            return left ? add_from_buffer(carried, left, first, segment, row, rows) : add_in_place(carried, first, segment, row, rows);
          });
      tile_.store(at, rows, vectors, results);
    });
  }

 private:
  static constexpr std::int64_t kAddressBytes = 8, kSegmentBytes = 16;  // of a segment: its depth, and the row of the right factor

  Values add_from_buffer(const Values& sums, Value* left, Value* right, Value* segment, Value* row, std::int64_t rows) {
    Value* const part = b_.CreateMul(segment, e_.i64(left_stride()));
    Value* const first = b_.CreateInBoundsGEP(tile_.factor_type(), left, b_.CreateAdd(part, b_.CreateMul(row, e_.i64(depth_))));
    Values from;
    for (std::int64_t i = 0; i < rows; ++i) from.push_back(b_.CreateInBoundsGEP(tile_.factor_type(), first, e_.i64(i * depth_)));
    return tile_.add_products(sums, from, row_of_right(right, b_.CreateMul(segment, e_.i64(right_stride()))), layout_, e_.i64(depth_),
                              false);
  }

  Values add_in_place(const Values& sums, Value* right, Value* segment, Value* row, std::int64_t rows) {
    Value* const first = address_at(segment, row);
    Values from;
    for (std::int64_t i = 0; i < rows; ++i)
      from.push_back(b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), first, static_cast<std::uint64_t>(i))));
    Value* const depth = dot_.left_mask.depth.empty() ? e_.i64(depth_) : b_.CreateLoad(b_.getInt64Ty(), field(segment, 0));
    Value* const start = b_.CreateLoad(b_.getInt64Ty(), field(segment, 1));
    return tile_.add_products(sums, from, row_of_right(right, start), layout_, depth, !dot_.left_mask.depth.empty());
  }

  RightLayout layout_of_right() const {
    const Panels* panels = e_.plan().panels(e_.plan().operand_class(dot_.dot, 1));
    return panels ? RightLayout{panels->columns, panels->columns * panels->rows} : RightLayout{columns_, columns_ * depth_};
  }

  /// The number of rows of the right factor, or of elements of the left one, from one iteration's copy to the next.
  std::int64_t right_stride() const { return e_.plan().iterations(e_.plan().operand_class(dot_.dot, 1)) > 1 ? depth_ : 0; }
  std::int64_t left_stride() const { return e_.plan().iterations(e_.plan().operand_class(dot_.dot, 0)) > 1 ? rows_ * depth_ : 0; }
  Value* row_of_right(Value* right, Value* row) {
    return b_.CreateInBoundsGEP(tile_.factor_type(), right, b_.CreateMul(row, e_.i64(layout_.columns)));
  }
  /// The element of the right factor's buffer with which a register tile's columns begin.
  Value* first_of_column(Value* column) {
    return layout_.columns == columns_ ? column : b_.CreateMul(column, e_.i64(layout_.panel / layout_.columns));
  }

  /// Code that depends on no index of a nest is placed at the end of the block before.
  void begin_block(const char* name) {
    llvm::BasicBlock* block = e_.new_block(name);
    b_.CreateBr(block);
    b_.SetInsertPoint(block);
  }

  Value* least(Value* x, Value* y) { return b_.CreateSelect(b_.CreateICmpSLT(x, y), x, y); }
  Value* greatest(Value* x, Value* y) { return b_.CreateSelect(b_.CreateICmpSGT(x, y), x, y); }

  /// The number of first indices of depth for which a comparison holds. An index that wraps is not the index of an element: the row would
  /// be longer than memory.
  Value* valid_depth(Nest& nest, const FactorIndexed& comparison) {
    AxisMap dims = kNoAxes;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (comparison.axes[i] == 1) dims[i] = 0;
    return lanes_before_bound(nest, e_.f().value(comparison.value).op, dims);
  }

  /// A segment of zeros behind the depth `begin` at which the left factor's mask ends. If the right factor is 0 too from some depth on, one
  /// product with it has the effect of all: it turns a sum of -0 into 0.
  Value* add_zeros(Value* copy, Value* count, Value* begin, Nest& nest) {
    Value* end = e_.i64(depth_);
    if (!dot_.right_depth.empty()) {
      Value* valid = end;
      for (const FactorIndexed& each : dot_.right_depth) valid = least(valid, valid_depth(nest, each));
      end = least(end, b_.CreateAdd(greatest(valid, begin), e_.i64(1)));
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* zeros = e_.new_block("zeros");
    llvm::BasicBlock* after = e_.new_block("after");
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), zeros, after);
    b_.SetInsertPoint(zeros);
    write_segment(count, b_.CreateSub(end, begin), b_.CreateAdd(b_.CreateMul(copy, e_.i64(right_stride())), begin));
    e_.loop(rows_, 1, [&](Value* row) { b_.CreateStore(zeros_.address, address_at(count, row)); });
    llvm::BasicBlock* end_of_zeros = b_.GetInsertBlock();
    Value* next = b_.CreateAdd(count, e_.i64(1));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* result = b_.CreatePHI(b_.getInt64Ty(), 2);
    result->addIncoming(count, before);
    result->addIncoming(next, end_of_zeros);
    return result;
  }

  void write_segment(Value* segment, Value* depth, Value* row_of_right) {
    b_.CreateStore(depth, field(segment, 0));
    b_.CreateStore(row_of_right, field(segment, 1));
  }

  /// Writes the address of each live row; of the zeros for a row that a mask hides.
  void write_addresses(Nest& nest, Value* segment) {
    const Function& f = e_.f();
    const auto lanes = static_cast<std::int64_t>(nest.lanes());
    const AxisMap of_rows = rows_ > 1 ? AxisMap{0, -1, -1, -1, -1} : kNoAxes;
    Value* const live = e_.live_count(e_.live().of_op(dot_.dot, 0), rows_);
    // See emit_rows in loop_nest.cpp for a loop that runs once.
    Value* const begin = nest.is_vectorised() && rows_ <= lanes ? e_.unknown_zero() : e_.i64(0);
    Value* const end = live && rows_ > lanes ? live : e_.i64(rows_);
    e_.loop(begin, end, e_.i64(lanes), {}, end == live, [&](Value* row, const Values&) {
      nest.begin_lanes();
      nest.set_index(0, row);
      Value* address = nest.evaluate(f.operand(dot_.left_load, 0), of_rows, nest.is_vectorised());
      for (const FactorIndexed& each : dot_.left_mask.rows) {
        Value* holds = nest.evaluate(each.value, each.axes, nest.is_vectorised());
        Value* zeros = b_.CreatePtrToInt(zeros_.address, b_.getInt64Ty());
        if (nest.is_vectorised()) zeros = b_.CreateVectorSplat(nest.lanes(), zeros);
        address = b_.CreateSelect(holds, address, zeros);
      }
      b_.CreateAlignedStore(address, address_at(segment, row), llvm::Align(kAddressBytes));
      return Values{};
    });
  }

  Value* field(Value* segment, std::uint64_t number) {
    Value* first = b_.CreateInBoundsGEP(b_.getInt8Ty(), segments_.address, b_.CreateMul(segment, e_.i64(kSegmentBytes)));
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), first, number);
  }
  Value* address_at(Value* segment, Value* row) {
    return b_.CreateInBoundsGEP(b_.getPtrTy(), addresses_.address, b_.CreateAdd(b_.CreateMul(segment, e_.i64(rows_)), row));
  }

  Emitter::ScratchRange allocate(std::int64_t bytes) {
    ranges_.push_back(e_.allocate_scratch(bytes));
    return ranges_.back();
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const ContractedDot& dot_;
  const Type left_, sum_;
  const std::int64_t rows_, columns_, depth_;
  RegisterTile tile_;
  const RightLayout layout_;
  std::vector<Emitter::ScratchRange> ranges_;
  Emitter::ScratchRange segments_{}, addresses_{}, zeros_{};
};

/// The iterations of a contraction in blocks, and which right factors are there from the program before.
struct Blocks {
  Value* iterations;         // of a block
  Value* is_kept = nullptr;  // i1: the right factors of all blocks are kept; null: never
  Value* refill = nullptr;   // i1: the right factors must be computed
};

/// Compares the scalars that right factors depend on with those of the factors that are kept, and replaces them.
Value* is_another_key(Emitter& e, const Contraction& contraction, Value* is_kept) {
  llvm::IRBuilder<>& b = e.b();
  llvm::Type* word = b.getInt64Ty();
  Values key;
  for (ValueId v : contraction.key) key.push_back(b.CreateZExt(e.scalar(v), word));
  // Columns without effect were not computed.
  for (const ContractedDot& each : contraction.dots)
    if (Value* live = e.live_count(e.live().of_op(each.dot, 1), e.f().type(e.f().result(each.dot)).extent(1))) key.push_back(live);
  // The last word is 1 if there are kept factors. There are none when the function is called.
  key.push_back(b.CreateZExt(is_kept, word));
  Value* const kept = e.alloca_in_entry(word, static_cast<unsigned>(key.size()), 8);
  llvm::BasicBlock& entry = e.function().getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  at_entry.CreateStore(at_entry.getInt64(0), at_entry.CreateConstInBoundsGEP1_64(word, kept, key.size() - 1));
  Value* is_same = is_kept;
  for (std::size_t i = 0; i < key.size(); ++i) {
    Value* at = b.CreateConstInBoundsGEP1_64(word, kept, i);
    is_same = b.CreateAnd(is_same, b.CreateICmpEQ(b.CreateLoad(word, at), key[i]));
    b.CreateStore(key[i], at);
  }
  return b.CreateNot(is_same);
}

Blocks begin_blocks(Emitter& e, const Contraction& contraction, Value* iterations) {
  llvm::IRBuilder<>& b = e.b();
  Blocks blocks{e.i64(contraction.iterations)};
  Value* has_few_rows = b.getFalse();
  if (contraction.iterations > 1) {
    const OpId dot = contraction.dots.front().dot;
    if (Value* rows = e.live_count(e.live().of_op(dot, 0), e.f().type(e.f().result(dot)).extent(0)))
      has_few_rows = b.CreateICmpSLE(rows, e.i64(kFewRows));
    blocks.iterations = b.CreateSelect(has_few_rows, e.i64(1), blocks.iterations);
  }
  if (contraction.kept_blocks > 0) {
    Value* fits = b.CreateICmpSLE(iterations, e.i64(contraction.iterations * contraction.kept_blocks));
    blocks.is_kept = b.CreateAnd(fits, b.CreateNot(has_few_rows));
    blocks.refill = is_another_key(e, contraction, blocks.is_kept);
  }
  return blocks;
}

}  // namespace

Values emit_contraction(Emitter& e, const Contraction& contraction, Value* iterations, const Values& init,
                        const std::function<Values(Value*, const Values&)>& iteration) {
  llvm::IRBuilder<>& b = e.b();
  std::vector<BlockProducts> products;
  products.reserve(contraction.dots.size());
  for (const ContractedDot& each : contraction.dots) products.emplace_back(e, each, contraction.iterations);
  const Blocks blocks = begin_blocks(e, contraction, iterations);
  const Values out = e.loop(e.i64(0), iterations, blocks.iterations, init, true, [&](Value* first, const Values& at_begin) {
    Value* rest = b.CreateSub(iterations, first);
    Value* count = b.CreateSelect(b.CreateICmpSLT(rest, blocks.iterations), rest, blocks.iterations);
    // Blocks that are not kept use the memory of the first one.
    Value* block = blocks.is_kept ? b.CreateSelect(blocks.is_kept, b.CreateUDiv(first, blocks.iterations), e.i64(0)) : nullptr;
    Values begin = at_begin;
    begin.resize(begin.size() + products.size(), e.i64(0));
    Values end = e.loop(e.i64(0), count, e.i64(1), begin, false, [&](Value* number, const Values& carried) {
      e.set_part(block, number);
      e.set_refill(blocks.refill);
      const auto segments = carried.begin() + static_cast<std::ptrdiff_t>(init.size());
      Values next = iteration(b.CreateAdd(first, number), Values(carried.begin(), segments));
      for (std::size_t i = 0; i < products.size(); ++i)
        next.push_back(products[i].add_segments(number, segments[static_cast<std::ptrdiff_t>(i)]));
      return next;
    });
    e.set_part(block, nullptr);
    for (std::size_t i = 0; i < products.size(); ++i) products[i].multiply(end[init.size() + i]);
    e.set_part(nullptr, nullptr);
    end.resize(init.size());
    return end;
  });
  for (BlockProducts& each : products) each.release();
  return out;
}

}  // namespace tilewright::backend::host
