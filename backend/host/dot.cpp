// acc += a b on buffers: loops over register tiles of the accumulator.
#include <llvm/IR/IntrinsicsX86.h>

#include "backend/host/steps.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// The instruction on whole registers that multiplies integers of 16 bits and adds the products of neighbours (vpmaddwd). LLVM fuses it
/// with the addition to the accumulator (vpdpwssd) if the processor has that instruction.
llvm::Intrinsic::ID pair_products(int vector_bits) {
  if (vector_bits >= 512) return llvm::Intrinsic::x86_avx512_pmaddw_d_512;
  return vector_bits >= 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd : llvm::Intrinsic::x86_sse2_pmadd_wd;
}

/// Interleaves two vectors: elements 0, lanes, 1, lanes + 1, ... of their concatenation.
Value* interleave(llvm::IRBuilder<>& b, Value* even, Value* odd, std::int64_t lanes) {
  std::vector<int> from;
  for (std::int64_t i = 0; i < lanes; ++i) from.push_back(static_cast<int>(i)), from.push_back(static_cast<int>(lanes + i));
  return b.CreateShuffleVector(even, odd, from);
}

/// The product of one dot: loops over register tiles of the accumulator, without rows and columns that have no effect.
class Dot {
 public:
  Dot(Emitter& e, OpId id)
      : e_(e),
        b_(e.b()),
        id_(id),
        a_(e.f().type(e.f().op(id).operands[0])),
        c_(e.f().type(e.f().op(id).results[0])),
        M_(c_.extent(c_.rank() - 2)),
        N_(c_.extent(c_.rank() - 1)),
        K_(a_.extent(a_.rank() - 1)),
        in_(register_type(e.context(), a_)),
        out_(register_type(e.context(), c_)),
        lanes_(std::min<std::int64_t>(N_, e.target().vector_bits / (8 * c_.element_bytes()))),
        in_pairs_(in_ != out_ && K_ >= 2 && lanes_ == e.target().lanes()) {}

  void run() {
    const ValueId result = e_.f().op(id_).results[0];
    const auto live = [&](int axis) { return e_.live().of_op(id_, axis); };
    Value* const base[3] = {e_.operand_buffer(id_, 0), e_.operand_buffer(id_, 1), e_.buffer_of(result)};
    const bool is_batched = c_.rank() == 3;
    e_.loop_over_live(is_batched ? live(0) : passes::LiveIndices{true, 0}, is_batched ? c_.extent(0) : 1, [&](Value* batch) {
      A_ = b_.CreateInBoundsGEP(in_, base[0], b_.CreateMul(batch, e_.i64(M_ * K_)));
      B_ = b_.CreateInBoundsGEP(in_, base[1], b_.CreateMul(batch, e_.i64(K_ * N_)));
      C_ = b_.CreateInBoundsGEP(out_, base[2], b_.CreateMul(batch, e_.i64(M_ * N_)));
      emit_tiles(e_.live_count(live(c_.rank() - 2), M_), e_.live_count(live(c_.rank() - 1), N_));
    });
  }

 private:
  /// live_rows, live_columns: the number of rows and columns that have an effect; null: all.
  void emit_tiles(Value* live_rows, Value* live_columns) {
    // 8 x 2 accumulators of 16 to 32 registers: more rows cost address arithmetic, more columns spill (measured on Zen 4, 2026-11).
    const std::int64_t rows = std::min<std::int64_t>(M_, e_.target().vector_bits >= 512 ? 8 : 4),
                       vectors = std::min<std::int64_t>(N_ / lanes_, 2);
    Value* const columns_end = live_columns ? live_columns : e_.i64(N_);
    const bool may_be_empty = live_rows || live_columns;
    if (!live_rows) return emit_region(e_.i64(0), e_.i64(M_), columns_end, rows, vectors, may_be_empty);
    // If at most half of a register tile's rows are left at the end, they run one by one, in enough vectors to cover a multiply-add's
    // latency.
    constexpr std::int64_t kVectorsOfRow = 8;
    Value* const whole = rows == 1 ? live_rows : b_.CreateAnd(b_.CreateAdd(live_rows, e_.i64(rows / 2 - 1)), e_.i64(-rows));
    emit_region(e_.i64(0), whole, columns_end, rows, vectors, true);
    if (rows > 1) emit_region(whole, live_rows, columns_end, 1, std::min(N_ / lanes_, kVectorsOfRow), true);
  }

  /// The rows in [begin, end), in register tiles of `rows` rows and `vectors` vectors.
  void emit_region(Value* begin, Value* end, Value* columns_end, std::int64_t rows, std::int64_t vectors, bool may_be_empty) {
    e_.loop(e_.i64(0), columns_end, e_.i64(lanes_ * vectors), {}, may_be_empty, [&](Value* n, const Values&) {
      e_.loop(begin, end, e_.i64(rows), {}, may_be_empty, [&](Value* m, const Values&) {
        emit_tile(m, n, rows, vectors);
        return Values{};
      });
      return Values{};
    });
  }

  void emit_tile(Value* m, Value* n, std::int64_t rows, std::int64_t vectors) {
    Value* c0 = b_.CreateInBoundsGEP(out_, C_, b_.CreateAdd(b_.CreateMul(m, e_.i64(N_)), n));
    Value* a0 = b_.CreateInBoundsGEP(in_, A_, b_.CreateMul(m, e_.i64(K_)));
    Value* b0 = b_.CreateInBoundsGEP(in_, B_, n);
    const llvm::Align wide(std::min<std::int64_t>(64, lanes_ * c_.element_bytes()));
    const auto accumulator = [&](std::int64_t i, std::int64_t j) { return b_.CreateInBoundsGEP(out_, c0, e_.i64(i * N_ + j * lanes_)); };
    Values acc;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < vectors; ++j) acc.push_back(b_.CreateAlignedLoad(vector(out_), accumulator(i, j), wide));
    acc = e_.loop(e_.i64(0), e_.i64(K_), e_.i64(in_pairs_ ? 2 : 1), acc, false, [&](Value* k, const Values& carried) {
      Value* bk = b_.CreateInBoundsGEP(in_, b0, b_.CreateMul(k, e_.i64(N_)));
      Values right;
      for (std::int64_t j = 0; j < vectors; ++j) right.push_back(right_factor(bk, j));
      Value* ak = b_.CreateInBoundsGEP(in_, a0, k);
      Values next = carried;
      for (std::int64_t i = 0; i < rows; ++i) {
        Value* x = left_factor(b_.CreateInBoundsGEP(in_, ak, e_.i64(i * K_)));
        for (std::int64_t j = 0; j < vectors; ++j) {
          Value*& sum = next[static_cast<std::size_t>(i * vectors + j)];
          sum = multiply_add(x, right[static_cast<std::size_t>(j)], sum);
        }
      }
      return next;
    });
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < vectors; ++j)
        b_.CreateAlignedStore(acc[static_cast<std::size_t>(i * vectors + j)], accumulator(i, j), wide);
  }

  /// Vector j of a row of b, or of a pair of rows.
  Value* right_factor(Value* row, std::int64_t j) {
    const llvm::Align narrow(std::min<std::int64_t>(64, lanes_ * a_.element_bytes()));
    const auto row_of_b = [&](std::int64_t step) {
      return b_.CreateAlignedLoad(vector(in_), b_.CreateInBoundsGEP(in_, row, e_.i64(step * N_ + j * lanes_)), narrow);
    };
    Value* x = row_of_b(0);
    llvm::Type* half = b_.getInt16Ty();
    if (in_pairs_) return interleave(b_, b_.CreateSExt(x, vector(half)), b_.CreateSExt(row_of_b(1), vector(half)), lanes_);
    return in_ != out_ ? b_.CreateSExt(x, vector(out_)) : x;
  }

  /// An element of a, or a pair of them, broadcast to all lanes.
  Value* left_factor(Value* from) {
    Value* x = nullptr;
    if (in_pairs_) {
      Value* pair = b_.CreateAlignedLoad(llvm::FixedVectorType::get(in_, 2), from, llvm::Align(2));
      x = b_.CreateBitCast(b_.CreateSExt(pair, llvm::FixedVectorType::get(b_.getInt16Ty(), 2)), out_);
    } else {
      x = b_.CreateLoad(in_, from);
      if (in_ != out_) x = b_.CreateSExt(x, out_);
    }
    return lanes_ > 1 ? b_.CreateVectorSplat(static_cast<unsigned>(lanes_), x) : x;
  }

  Value* multiply_add(Value* x, Value* y, Value* sum) {
    const Type types[3] = {c_, c_, c_};
    Value* const operands[3] = {x, y, sum};
    if (c_.is_float()) return lower_elementwise(b_, e_.target(), OpKind::fma_, types, c_, operands);
    if (!in_pairs_) return b_.CreateAdd(sum, b_.CreateMul(x, y));
    return b_.CreateAdd(sum, b_.CreateIntrinsic(pair_products(e_.target().vector_bits), {}, {b_.CreateBitCast(x, y->getType()), y}));
  }

  llvm::Type* vector(llvm::Type* t) const {
    return lanes_ > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes_))) : t;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const OpId id_;
  const Type a_, c_;
  const std::int64_t M_, N_, K_;
  llvm::Type *const in_, *const out_;  // element types; int8 is accumulated in int32
  const std::int64_t lanes_;
  // Two steps of k are computed at once: the sum of two products of int8 is exact, and integers may be added in any order.
  const bool in_pairs_;
  Value *A_ = nullptr, *B_ = nullptr, *C_ = nullptr;  // of the current batch
};

}  // namespace

/// For each element the products are added in order of k, for floats by fused multiply-adds, as in the interpreter.
void emit_dot(Emitter& e, OpId id) { Dot(e, id).run(); }

}  // namespace tilewright::backend::host
