// Emits contractions. A left factor that is read in memory is a list of segments for each block: its rows from some depth on, up to the
// depth at which its mask ends, then a row of zeros that stands for what lies behind. Products of integers, which are added several at a
// time, have one segment for each iteration: if the mask ends within it, its rows are copied, with zeros behind the mask's end.
//
// Right factors are copied to buffers, from which the rows of the program's accumulators read them, and the thread's next programs of the
// same key. A program of few rows reads them in memory instead, unless the program before had the same key, or a mask cuts columns; an
// iteration in which a mask cuts rows copies them.
#include "backend/host/contraction_loop.h"

#include <algorithm>

#include "backend/host/amx_tile.h"
#include "backend/host/contraction.h"
#include "backend/host/factor_rows.h"
#include "backend/host/kept_key.h"
#include "backend/host/left_strips.h"
#include "backend/host/register_tile.h"
#include "backend/host/segment_table.h"
#include "backend/host/tile_sums.h"

namespace tilewright::backend::host {

namespace {

/// The products of one dot.
class BlockProducts {
 public:
  BlockProducts(Emitter& e, const Contraction& contraction, const ContractedDot& dot)
      : e_(e),
        b_(e.b()),
        dot_(dot),
        left_(e.f().type(e.f().operand(dot.dot, 0))),
        sum_(e.f().type(e.f().result(dot.dot))),
        rows_(sum_.extent(0)),
        columns_(sum_.extent(1)),
        depth_(left_.extent(1)),
        right_class_(e.plan().operand_class(dot.dot, 1)),
        may_read_right_(contraction.reads_right),
        amx_(amx_shape(e.products(), left_, sum_)),
        is_interleaved_(!amx_ && e.plan().panels(right_class_) && e.plan().panels(right_class_)->are_interleaved),
        tile_(e, left_, sum_, depth_ % 2 == 0, is_interleaved_),
        sums_(e, dot) {
    // What the loop's body frees, it writes again in the next iteration: the parts of a block share no memory with it.
    for (int factor = dot.left.load ? 1 : 0; factor < 2; ++factor)
      if (e.plan().iterations(e.plan().operand_class(dot.dot, factor)) > 1) e.operand_buffer(dot.dot, factor);
    // An iteration has one segment, or two where a mask of the left factor may end within it.
    const std::int64_t segments = contraction.iterations * (has_whole_depth() ? 1 : 2);
    segments_.emplace(
        e, segments,
        Segment{has_depth_in_segment() ? nullptr : e.i64(depth_), nullptr, may_read_right_ ? nullptr : e.i64(distance_in_buffer()),
                may_read_right_ ? nullptr : e.i64(column_distance_in_buffer())});
    if (is_interleaved_) excess_ = allocate(rows_ * sum_.element_bytes());
    if (amx_ && !e.plan().panels(right_class_)) panels_ = allocate(contraction.iterations * columns_ * row_bytes());
    if (!dot_.left.load) return;
    if (amx_) strips_.emplace(e, segments, amx_->rows, row_bytes());
    addresses_ = allocate(segments * rows_ * kAddressBytes);
    zeros_ = allocate(row_bytes());
    if (copies_cut_rows()) cut_rows_ = allocate(segments * rows_ * row_bytes());
    b_.CreateMemSet(zeros_.address, b_.getInt8(0), static_cast<std::uint64_t>(row_bytes()), llvm::Align(64));
  }

  void release() {
    for (const Emitter::ScratchRange& each : ranges_) e_.free_scratch(each);
    segments_->release();
    if (strips_) strips_->release();
  }

  TileSums& sums() { return sums_; }

  ClassId right_class() const { return right_class_; }
  /// Whether a right factor that is read in memory can be copied to its buffer by the first register tiles that read it.
  bool may_pack() const { return may_read_right_ && rows_ > kFewRows; }
  Value* live_rows() { return e_.live_count(e_.live().of_op(dot_.dot, 0), rows_); }
  /// i1: whether all columns of the right factor are in memory that register tiles read: those of the tiles that have live columns.
  Value* has_all_columns() { return has_all_columns(tile_); }
  Value* has_all_columns(const RegisterTile& tile) {
    Value* needed = e_.i64(columns_);
    if (Value* const live = e_.live_count(e_.live().of_op(dot_.dot, 1), columns_))
      needed = b_.CreateAnd(b_.CreateAdd(live, e_.i64(tile.columns() - 1)), e_.i64(-tile.columns()), "needed_columns");
    return b_.CreateICmpSGE(first_indices(e_, columns_, dot_.right.mask.columns), needed);
  }
  /// i1: whether the current iteration reads the right factor in memory: if `in_place`, and its mask hides no row of the iteration.
  Value* reads_right(Value* in_place) { return reads_right_ = b_.CreateAnd(in_place, hold_at_ends(e_, depth_, 0, dot_.right.mask.rows)); }
  Value* reads_right() const { return reads_right_; }

  /// Interleaves the rows of the right factor that iteration `number`, the current one, has computed, if `computed` (i1; null: always).
  void interleave(Value* number, Value* computed) {
    if (!is_interleaved_ && !amx_) return;
    llvm::BasicBlock* const after = computed ? e_.new_block("interleaved") : nullptr;
    if (computed) {
      llvm::BasicBlock* const fresh = e_.new_block("interleave");
      b_.CreateCondBr(computed, fresh, after);
      b_.SetInsertPoint(fresh);
    }
    Value* const part = e_.operand_buffer(dot_.dot, 1);
    Value* const live = e_.live_count(e_.live().of_op(dot_.dot, 1), columns_);
    e_.loop_over_first(live, columns_, amx_ ? amx_->columns : e_.plan().panels(right_class_)->columns, [&](Value* column) {
      Value* const from = advanced(part, column, column_distance_in_buffer());
      if (!amx_) return tile_.interleave(from, depth_);
      Value* const to = panels_.address ? advanced(panels_of(number), column, row_bytes()) : from;
      AmxTile(e_, *amx_, left_).interleave(from, distance_in_buffer(), to, depth_);
    });
    if (!computed) return;
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  /// Adds the segments of the current iteration, `number`, behind `count` segments. Returns the new count.
  Value* add_segments(Value* number, Value* count) {
    Value* const right = panels_.address ? panels_of(number) : e_.operand_buffer(dot_.dot, 1);
    Segment segment{e_.i64(depth_), right, e_.i64(distance_in_buffer()), e_.i64(column_distance_in_buffer())};
    if (may_read_right_) {
      const EvenRows memory = even_rows(e_, dot_.right.load);
      segment.packed = segment.first;
      segment.first = b_.CreateSelect(reads_right_, memory.first, segment.first);
      segment.distance = b_.CreateSelect(reads_right_, memory.distance, segment.distance);
      segment.column_distance = b_.CreateSelect(reads_right_, e_.i64(left_.element_bytes()), segment.column_distance);
    }
    Value* const next = b_.CreateAdd(count, e_.i64(1));
    if (dot_.left.load) write_row_addresses(e_, dot_.left, rows_of_tiles(), zeros_.address, address_at(count, e_.i64(0)));
    if (copies_cut_rows()) copy_cut_rows(count);
    if (has_depth_in_segment()) segment.depth = first_indices(e_, depth_, dot_.left.mask.columns);
    segments_->write(count, segment);
    if (has_whole_depth()) return next;
    // Zeros take the place of a segment that the mask leaves nothing of: no segment is empty.
    Value* const is_empty = b_.CreateICmpEQ(segment.depth, e_.i64(0));
    return add_zeros(b_.CreateSelect(is_empty, count, next), segment);
  }

  /// Adds the products of the segments of a block to the accumulators. is_first, is_last: i1, whether it is the loop's first or last one.
  /// `packs`: i1, whether the first row of register tiles, which reads right factors in memory, copies them to buffers for the other rows;
  /// null: it does not.
  /// `in_memory`: i1, whether all segments read a right factor in memory that no other program needs; null: not known.
  void multiply(Value* count, Value* is_first, Value* is_last, Value* packs, Value* in_memory) {
    Value* const left = dot_.left.load ? nullptr : e_.operand_buffer(dot_.dot, 0);
    Value *const live_rows = this->live_rows(), *const live_columns = e_.live_count(e_.live().of_op(dot_.dot, 1), columns_);
    sums_.begin_block(is_first, is_last);
    if (amx_) return multiply_in_tiles(left, count, live_rows, live_columns);
    const auto left_rows = [&](RegisterTile& tile, Value* number, Value* row) {
      return left ? rows_in_buffer(tile, left, number, row, live_rows) : rows_in_place(tile, number, row);
    };
    if (is_interleaved_) write_excess(count, live_rows, [&](Value* number, Value* row) { return left_rows(tile_, number, row); });
    // Streamed rows stay in the first cache for all rows of the accumulators.
    const bool streams = may_read_right_ && streams_right(e_.f(), dot_.dot);
    const auto emit_tile = [&](RegisterTile& tile, Value* row, Value* column) {
      // Only tiles with all rows are the first ones where right factors are copied.
      const bool may_pack = packs && tile.rows() == tile_.rows();
      Value* const is_first_row = b_.CreateICmpEQ(row, e_.i64(0));
      Value* const is_packing = may_pack ? b_.CreateAnd(packs, is_first_row) : nullptr;
      Value* const is_packed = packs ? b_.CreateAnd(packs, b_.CreateNot(is_first_row)) : nullptr;
      Values sums_before = sums_.load(tile, row, column);
      if (is_interleaved_) sums_before = tile.without_excess(sums_before, b_.CreateInBoundsGEP(tile_.sum_type(), excess_.address, row));
      const Values results = e_.loop(e_.i64(0), count, e_.i64(1), sums_before, false, [&](Value* number, const Values& carried) {
        const Segment segment = read_segment(number, is_packed);
        RightRows right{b_.CreateInBoundsGEP(b_.getInt8Ty(), segment.first, b_.CreateMul(column, segment.column_distance)),
                        segment.distance};
        if (may_read_right_) {
          right.alignment = static_cast<std::uint64_t>(left_.element_bytes());
          // Of one row of accumulators, streams come as fast as memory gives them.
          right.rows_ahead = !streams ? tile.rows_ahead() : tile.rows() > 1 ? kStreamedDepth : 0;
        }
        const Values rows = left_rows(tile, number, row);
        if (!left && tile.rows() > 1) fetch_rows_below(tile, rows, column);
        const auto add_products = [&] { return tile.add_products(carried, rows, right, segment.depth); };
        if (!is_packing) return add_products();
        return either(
            is_packing,
            [&] {
              right.packed = advanced(segment.packed, column, column_distance_in_buffer());
              right.packed_distance = e_.i64(distance_in_buffer());
              return add_products();
            },
            [&] {
              right.packed = right.packed_distance = nullptr;
              return add_products();
            });
      });
      sums_.store(tile, results, row, column);
    };
    const auto emit_all = [&] {
      tile_.for_each(streams ? TileOrder::down_columns : TileOrder::along_rows, packs, live_rows, live_columns, emit_tile);
    };
    if (!in_memory || !live_rows || streams) return emit_all();
    // Where few rows are live, register tiles of few rows and more columns read as much of each row of memory as a program of few rows does.
    // A register tile reads the last live row in place of those that are not live: where there is none, it must not run.
    Value* const others = b_.CreateSub(live_rows, e_.i64(1));
    llvm::BasicBlock* const after = e_.new_block("multiplied");
    for (const std::int64_t rows : kWideRows) {
      std::optional<RegisterTile> wide = tile_.widened(rows);
      if (!wide) continue;
      llvm::BasicBlock *const few = e_.new_block("few_rows"), *const more = e_.new_block("more_rows");
      Value* const has_columns = b_.CreateAnd(in_memory, has_all_columns(*wide));
      b_.CreateCondBr(b_.CreateAnd(has_columns, b_.CreateICmpULT(others, e_.i64(rows))), few, more);
      b_.SetInsertPoint(few);
      wide->for_each_column(live_columns, [&](Value* column) { emit_tile(*wide, e_.i64(0), column); });
      b_.CreateBr(after);
      b_.SetInsertPoint(more);
    }
    emit_all();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

 private:
  static constexpr std::int64_t kAddressBytes = 8;
  static constexpr std::int64_t kWideRows[] = {1, 4};

  void multiply_in_tiles(Value* left, Value* count, Value* live_rows, Value* live_columns) {
    AmxTile tile(e_, *amx_, left_);
    const auto over_segments = [&](const std::function<void(Value*)>& body) {
      e_.loop(e_.i64(0), count, e_.i64(1), {}, false, [&](Value* number, const Values&) {
        body(number);
        return Values{};
      });
    };
    tile.begin();
    e_.loop_over_first(live_rows, rows_, amx_->rows, [&](Value* row) {
      if (strips_)
        over_segments([&](Value* number) {
          Value* const live = live_rows ? b_.CreateSub(live_rows, row) : nullptr;
          Value* const valid =
              has_depth_in_segment() ? b_.CreateMul(segments_->read(number).depth, e_.i64(left_.element_bytes())) : nullptr;
          strips_->find(number, address_at(number, row), live, valid);
        });
      e_.loop_over_first(live_columns, columns_, amx_->columns, [&](Value* column) {
        sums_.load(tile, row, column);
        over_segments([&](Value* number) {
          const EvenRows rows =
              strips_ ? strips_->rows(number) : EvenRows{rows_in_buffer(tile_, left, number, row, nullptr).front(), e_.i64(row_bytes())};
          const Segment segment = segments_->read(number);
          tile.add_products(rows, {advanced(segment.first, column, column_distance_in_panels()), e_.i64(tile.group_bytes())}, depth_);
        });
        sums_.store(tile, row, column);
      });
    });
    tile.end();
  }

  /// Emits `then` where the condition holds, else `otherwise`, and joins their values.
  Values either(Value* condition, const std::function<Values()>& then, const std::function<Values()>& otherwise) {
    llvm::BasicBlock *arms[] = {e_.new_block("pack"), e_.new_block("read")}, *const joined = e_.new_block("added");
    b_.CreateCondBr(condition, arms[0], arms[1]);
    std::vector<llvm::PHINode*> phis;
    for (const int i : {0, 1}) {
      b_.SetInsertPoint(arms[i]);
      const Values values = i == 0 ? then() : otherwise();
      llvm::BasicBlock* const end = b_.GetInsertBlock();
      b_.CreateBr(joined);
      b_.SetInsertPoint(joined);
      for (std::size_t n = 0; n < values.size(); ++n) {
        if (i == 0) phis.push_back(b_.CreatePHI(values[n]->getType(), 2));
        phis[n]->addIncoming(values[n], end);
      }
    }
    return {phis.begin(), phis.end()};
  }

  /// `is_packed`: i1, whether the right factor is in its buffer meanwhile; null: it is where the segment says.
  Segment read_segment(Value* number, Value* is_packed) {
    Segment segment = segments_->read(number);
    if (!is_packed) return segment;
    segment.first = b_.CreateSelect(is_packed, segment.packed, segment.first);
    segment.distance = b_.CreateSelect(is_packed, e_.i64(distance_in_buffer()), segment.distance);
    segment.column_distance = b_.CreateSelect(is_packed, e_.i64(column_distance_in_buffer()), segment.column_distance);
    return segment;
  }

  /// The live rows of the accumulators, and the others of the register tile that computes the last ones; null: all.
  Value* rows_of_tiles() {
    Value* const live = live_rows();
    return live ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(live, e_.i64(tile_.rows() - 1)), e_.i64(rows_)) : nullptr;
  }
  Values rows_in_buffer(RegisterTile& tile, Value* left, Value* segment, Value* row, Value* live_rows) {
    const std::int64_t stride = e_.plan().iterations(e_.plan().operand_class(dot_.dot, 0)) > 1 ? rows_ * depth_ : 0;
    Value* const part = b_.CreateInBoundsGEP(tile_.factor_type(), left, b_.CreateMul(segment, e_.i64(stride)));
    return tile.left_rows(part, row, depth_, live_rows);
  }
  Values rows_in_place(const RegisterTile& tile, Value* segment, Value* row) {
    Value* const first = address_at(segment, row);
    Values out;
    for (std::int64_t i = 0; i < tile.rows(); ++i)
      out.push_back(b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), first, static_cast<std::uint64_t>(i))));
    return out;
  }

  /// Fetches rows of the left factor that follow those of a register tile at `column`: together, the register tiles beside each other fetch the rows
  /// of the register tile below, or what follows the program's rows in memory. The processor does not foresee several short rows that are
  /// read side by side (measured on Zen 5, 2026-12-01: 64x64x64 4096 times 0.55 to 0.96 of OpenBLAS; larger products are unchanged).
  void fetch_rows_below(RegisterTile& tile, const Values& rows, Value* column) {
    constexpr std::int64_t kLineBytes = 64;
    const std::int64_t beside = columns_ / tile.columns(), count = std::max<std::int64_t>(tile.rows() / beside, 1);
    Value* const first = b_.CreatePtrToInt(rows.front(), b_.getInt64Ty());
    Value* const distance = b_.CreateSub(b_.CreatePtrToInt(rows[1], b_.getInt64Ty()), first);
    Value* const number = b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(column, e_.i64(tile.columns())), e_.i64(count)), e_.i64(tile.rows()));
    Value* const at = b_.CreateAdd(first, b_.CreateMul(number, distance));
    e_.loop(e_.i64(0), e_.i64(row_bytes()), e_.i64(kLineBytes), {}, false, [&](Value* byte, const Values&) {
      Value* line = b_.CreateAdd(at, byte);
      for (std::int64_t i = 0; i < count; ++i) {
        Value* const address = b_.CreateIntToPtr(line, b_.getPtrTy());
        b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()}, {address, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
        line = b_.CreateAdd(line, distance);
      }
      return Values{};
    });
  }

  bool is_cut() const { return !dot_.left.mask.columns.empty(); }
  bool has_whole_depth() const { return !is_cut() || !sum_.is_float() || amx_; }
  bool copies_cut_rows() const { return is_cut() && !sum_.is_float() && !amx_; }
  bool has_depth_in_segment() const { return is_cut() && (sum_.is_float() || amx_); }

  /// If the mask of the left factor ends within the current iteration, which is segment `number`: copies its rows, with zeros behind the
  /// mask's end.
  void copy_cut_rows(Value* number) {
    Value* const valid = first_indices(e_, depth_, dot_.left.mask.columns);
    llvm::BasicBlock *const cut = e_.new_block("cut"), *const whole = e_.new_block("whole");
    b_.CreateCondBr(b_.CreateICmpSLT(valid, e_.i64(depth_)), cut, whole);
    b_.SetInsertPoint(cut);
    const std::int64_t bytes = row_bytes();
    // A register tile reads all of its rows, of which the last may not be live.
    Value* rows = e_.live_count(e_.live().of_op(dot_.dot, 0), rows_);
    if (rows) rows = b_.CreateAnd(b_.CreateAdd(rows, e_.i64(tile_.rows() - 1)), e_.i64(-tile_.rows()));
    e_.loop(e_.i64(0), rows ? rows : e_.i64(rows_), e_.i64(1), {}, rows != nullptr, [&](Value* row, const Values&) {
      Value* const at = b_.CreateAdd(b_.CreateMul(number, e_.i64(rows_)), row);
      Value* const copy = b_.CreateInBoundsGEP(b_.getInt8Ty(), cut_rows_.address, b_.CreateMul(at, e_.i64(bytes)));
      const llvm::Align align(static_cast<std::uint64_t>(left_.element_bytes()));
      b_.CreateMemSet(copy, b_.getInt8(0), static_cast<std::uint64_t>(bytes), align);
      b_.CreateMemCpy(copy, align, b_.CreateLoad(b_.getPtrTy(), address_at(number, row)), align,
                      b_.CreateMul(valid, e_.i64(left_.element_bytes())));
      b_.CreateStore(copy, address_at(number, row));
      return Values{};
    });
    b_.CreateBr(whole);
    b_.SetInsertPoint(whole);
  }

  void write_excess(Value* count, Value* live_rows, const std::function<Values(Value* number, Value* row)>& left_rows) {
    const std::int64_t step = tile_.rows();
    e_.loop(e_.i64(0), live_rows ? live_rows : e_.i64(rows_), e_.i64(step), {}, live_rows != nullptr, [&](Value* row, const Values&) {
      const Values excess = tile_.row_excess(depth_, [&](const Values& none, const RegisterTile::AddRows& add) {
        return e_.loop(e_.i64(0), count, e_.i64(1), none, false,
                       [&](Value* number, const Values& carried) { return add(carried, left_rows(number, row)); });
      });
      Value* const to = b_.CreateInBoundsGEP(tile_.sum_type(), excess_.address, row);
      for (std::size_t i = 0; i < excess.size(); ++i) b_.CreateStore(excess[i], b_.CreateConstInBoundsGEP1_64(tile_.sum_type(), to, i));
      return Values{};
    });
  }

  /// Bytes in the right factor's buffer. A register tile's columns are in one panel.
  std::int64_t distance_in_buffer() const {
    const Panels* panels = e_.plan().panels(right_class_);
    return (panels ? panels->columns : columns_) * left_.element_bytes();
  }
  std::int64_t column_distance_in_buffer() const {
    const Panels* panels = e_.plan().panels(right_class_);
    return (panels ? panels->rows : 1) * left_.element_bytes();
  }

  /// Adds a segment of zeros behind `before`, whose depth is where the left factor's mask ends, as number `count`. If the right factor is 0
  /// too from some depth on, one product with it has the effect of all: it turns a sum of -0 into 0.
  Value* add_zeros(Value* count, const Segment& before) {
    Value* end = e_.i64(depth_);
    if (!dot_.right_rows.empty()) {
      Value* const valid = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first_indices(e_, depth_, dot_.right_rows), before.depth);
      end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.CreateAdd(valid, e_.i64(1)));
    }
    llvm::BasicBlock* at_end = b_.GetInsertBlock();
    llvm::BasicBlock* zeros = e_.new_block("zeros");
    llvm::BasicBlock* after = e_.new_block("after");
    b_.CreateCondBr(b_.CreateICmpSLT(before.depth, end), zeros, after);
    b_.SetInsertPoint(zeros);
    Segment segment = before;
    segment.depth = b_.CreateSub(end, before.depth);
    segment.first = b_.CreateInBoundsGEP(b_.getInt8Ty(), before.first, b_.CreateMul(before.depth, before.distance));
    if (before.packed) segment.packed = advanced(before.packed, before.depth, distance_in_buffer());
    segments_->write(count, segment);
    e_.loop(rows_, 1, [&](Value* row) { b_.CreateStore(zeros_.address, address_at(count, row)); });
    llvm::BasicBlock* end_of_zeros = b_.GetInsertBlock();
    Value* next = b_.CreateAdd(count, e_.i64(1));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* result = b_.CreatePHI(b_.getInt64Ty(), 2);
    result->addIncoming(count, at_end);
    result->addIncoming(next, end_of_zeros);
    return result;
  }

  Value* address_at(Value* segment, Value* row) {
    return b_.CreateInBoundsGEP(b_.getPtrTy(), addresses_.address, b_.CreateAdd(b_.CreateMul(segment, e_.i64(rows_)), row));
  }

  /// The interleaved right factor of an iteration, if it is not in the factor's own buffer.
  Value* panels_of(Value* number) { return advanced(panels_.address, number, columns_ * row_bytes()); }
  std::int64_t column_distance_in_panels() const { return panels_.address ? row_bytes() : column_distance_in_buffer(); }

  /// The bytes of a row of the left factor, and of a column of the right one.
  std::int64_t row_bytes() const { return depth_ * left_.element_bytes(); }
  Value* advanced(Value* base, Value* number, std::int64_t bytes) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.CreateMul(number, e_.i64(bytes)));
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
  const ClassId right_class_;
  const bool may_read_right_;
  const std::optional<AmxShape> amx_;  // the products are added in tile registers
  const bool is_interleaved_;          // the right factor's panels: RegisterTile::interleave
  RegisterTile tile_;
  Value* reads_right_ = nullptr;
  std::vector<Emitter::ScratchRange> ranges_;
  Emitter::ScratchRange addresses_{}, zeros_{}, cut_rows_{}, excess_{}, panels_{};
  std::optional<SegmentTable> segments_;
  std::optional<LeftStrips> strips_;
  TileSums sums_;
};

/// The iterations of a contraction in blocks, and where its right factors are.
struct Blocks {
  Value* iterations;          // the iterations of a block
  Value* is_kept = nullptr;   // i1: the right factors of all blocks are kept; null: never
  Value* refill = nullptr;    // i1: the right factors must be computed
  Value* in_place = nullptr;  // i1: right factors are read in memory where that is possible; null: never
  Value* is_alone = nullptr;  // i1: and nothing is copied for other rows or programs; null if right factors are never read in memory
  Value* packs = nullptr;     // i1: and copied to buffers by the first register tiles that read them; null: never
};

Blocks begin_blocks(Emitter& e, const Contraction& contraction, Value* iterations, std::vector<BlockProducts>& products) {
  llvm::IRBuilder<>& b = e.b();
  Blocks blocks{e.i64(contraction.iterations)};
  const OpId dot = contraction.dots.front().dot;
  const Type sum = e.f().type(e.f().result(dot));
  const auto live_or_all = [&](int axis) {
    Value* const live = e.live_count(e.live().of_op(dot, axis), sum.extent(axis));
    return live ? live : e.i64(sum.extent(axis));
  };
  Value* few = e.i64(kFewRows);
  if (contraction.reads_right)
    few = b.CreateSelect(b.CreateICmpSLE(live_or_all(1), e.i64(kShortRow)), e.i64(kShortRowsInPlace), e.i64(kRowsInPlace));
  Value* const has_few_rows = b.CreateICmpSLE(live_or_all(0), few);
  Value* has_all_columns = b.getTrue();  // where right factors may be read in memory
  if (contraction.reads_right)
    for (BlockProducts& each : products) has_all_columns = b.CreateAnd(has_all_columns, each.has_all_columns());
  Value* copies_nothing = b.CreateAnd(has_few_rows, has_all_columns);  // nothing for the next program either
  if (contraction.kept_blocks > 0) {
    KeptKey key(e, contraction, iterations);
    Value* const fits = b.CreateICmpSLE(iterations, e.i64(contraction.iterations * contraction.kept_blocks));
    // Copying them pays if the next program finds them.
    if (contraction.reads_right) copies_nothing = b.CreateAnd(copies_nothing, b.CreateNot(b.CreateAnd(fits, key.is_seen())));
    blocks.is_kept = b.CreateAnd(b.CreateAnd(fits, key.may_repeat()), b.CreateNot(copies_nothing));
    blocks.refill = b.CreateNot(b.CreateAnd(blocks.is_kept, key.is_kept()));
    Value* const is_seen = b.CreateSelect(fits, e.i64(KeptKey::seen), e.i64(KeptKey::none));
    key.set_state(b.CreateSelect(blocks.is_kept, e.i64(KeptKey::kept), is_seen));
  }
  if (contraction.reads_right) blocks.in_place = blocks.is_alone = copies_nothing;
  if (std::all_of(products.begin(), products.end(), [](const BlockProducts& each) { return each.may_pack(); })) {
    blocks.packs = b.CreateAnd(b.CreateNot(copies_nothing), has_all_columns);
    if (blocks.refill) blocks.packs = b.CreateAnd(blocks.packs, blocks.refill);
    // Without live rows, no register tile would copy anything.
    for (BlockProducts& each : products)
      if (Value* const rows = each.live_rows()) blocks.packs = b.CreateAnd(blocks.packs, b.CreateICmpSGT(rows, e.i64(0)));
    blocks.in_place = b.CreateOr(copies_nothing, blocks.packs);
  }
  Value* const of_few_rows = e.i64(contraction.reads_right ? iterations_in_place(e.f(), contraction) : 1);
  blocks.iterations = b.CreateSelect(copies_nothing, of_few_rows, blocks.iterations);
  return blocks;
}

}  // namespace

Values emit_contraction(Emitter& e, const Contraction& contraction, Value* iterations, const Values& init,
                        const std::function<Values(Value*, const Values&)>& iteration) {
  llvm::IRBuilder<>& b = e.b();
  std::vector<BlockProducts> products;
  products.reserve(contraction.dots.size());
  for (const ContractedDot& each : contraction.dots) products.emplace_back(e, contraction, each);
  for (BlockProducts& each : products) each.sums().begin(iterations);
  const Blocks blocks = begin_blocks(e, contraction, iterations, products);
  e.set_is_needed([&](const Step& step) -> Value* {
    Value* needed = step.is_of_kept_factor ? blocks.refill : nullptr;
    for (BlockProducts& each : products) {
      if (step.right_factor != each.right_class()) continue;
      Value* copied = b.CreateNot(each.reads_right(blocks.in_place));
      needed = needed ? b.CreateAnd(needed, copied) : copied;
    }
    return needed;
  });
  const Values out = e.loop(e.i64(0), iterations, blocks.iterations, init, true, [&](Value* first, const Values& at_begin) {
    Value* rest = b.CreateSub(iterations, first);
    Value* count = b.CreateSelect(b.CreateICmpSLT(rest, blocks.iterations), rest, blocks.iterations);
    // Blocks that are not kept use the memory of the first one.
    Value* block = blocks.is_kept ? b.CreateSelect(blocks.is_kept, b.CreateUDiv(first, blocks.iterations), e.i64(0)) : nullptr;
    // Carried beside scalars: the numbers of segments, and whether all of them read right factors in memory.
    Values begin = at_begin;
    begin.resize(begin.size() + products.size(), e.i64(0));
    if (contraction.reads_right) begin.resize(begin.size() + products.size(), blocks.is_alone);
    Values end = e.loop(e.i64(0), count, e.i64(1), begin, false, [&](Value* number, const Values& carried) {
      e.set_part(block, number);
      const auto segments = carried.begin() + static_cast<std::ptrdiff_t>(init.size());
      Values next = iteration(b.CreateAdd(first, number), Values(carried.begin(), segments));
      for (BlockProducts& each : products) each.interleave(number, blocks.refill);
      for (std::size_t i = 0; i < products.size(); ++i)
        next.push_back(products[i].add_segments(number, segments[static_cast<std::ptrdiff_t>(i)]));
      if (contraction.reads_right)
        for (std::size_t i = 0; i < products.size(); ++i)
          next.push_back(b.CreateAnd(segments[static_cast<std::ptrdiff_t>(products.size() + i)], products[i].reads_right()));
      return next;
    });
    e.set_part(block, nullptr);
    Value *const is_first = b.CreateICmpEQ(first, e.i64(0)), *const is_last = b.CreateICmpEQ(count, rest);
    for (std::size_t i = 0; i < products.size(); ++i) {
      Value* const in_memory = contraction.reads_right ? end[init.size() + products.size() + i] : nullptr;
      products[i].multiply(end[init.size() + i], is_first, is_last, blocks.packs, in_memory);
    }
    e.set_part(nullptr, nullptr);
    end.resize(init.size());
    return end;
  });
  e.set_is_needed({});
  for (BlockProducts& each : products)
    if (Value* const are_stored = each.sums().are_stored())
      e.set_is_needed([store = each.sums().store_op(), needed = b.CreateNot(are_stored)](const Step& step) {
        return !step.items.empty() && step.items.front().op == store ? needed : nullptr;
      });
  for (BlockProducts& each : products) each.release();
  return out;
}

}  // namespace tilewright::backend::host
