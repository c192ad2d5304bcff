// Emits the loads, multiply-adds and stores of a register tile, and the loops over the register tiles of an accumulator.
#include "backend/host/register_tile.h"

#include <llvm/IR/IntrinsicsX86.h>

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

}  // namespace

RegisterTile::RegisterTile(Emitter& e, Type factor, Type sum, bool has_even_depth)
    : e_(e),
      b_(e.b()),
      factor_(factor),
      sum_(sum),
      M_(sum.extent(sum.rank() - 2)),
      N_(sum.extent(sum.rank() - 1)),
      in_(register_type(e.context(), factor)),
      out_(register_type(e.context(), sum)),
      lanes_(std::min<std::int64_t>(N_, e.target().vector_bits / (8 * sum.element_bytes()))),
      in_pairs_(in_ != out_ && has_even_depth && lanes_ == e.target().lanes()) {}

void RegisterTile::for_each(TileOrder order, Value* live_rows, Value* live_columns, const EmitTile& emit_tile) {
  // 8 x 2 accumulators of 16 to 32 registers: more rows cost address arithmetic, more columns spill (measured on Zen 4, 2026-11).
  const std::int64_t rows = std::min<std::int64_t>(M_, e_.target().vector_bits >= 512 ? 8 : 4),
                     vectors = std::min<std::int64_t>(N_ / lanes_, 2);
  Value* const columns_end = live_columns ? live_columns : e_.i64(N_);
  const bool may_be_empty = live_rows || live_columns;
  if (!live_rows) return for_region(order, e_.i64(0), e_.i64(M_), columns_end, rows, vectors, may_be_empty, emit_tile);
  // If at most half of a register tile's rows are left at the end, they run one by one, in enough vectors to cover a multiply-add's
  // latency.
  constexpr std::int64_t kVectorsOfRow = 8;
  Value* const whole = rows == 1 ? live_rows : b_.CreateAnd(b_.CreateAdd(live_rows, e_.i64(rows / 2 - 1)), e_.i64(-rows));
  for_region(order, e_.i64(0), whole, columns_end, rows, vectors, true, emit_tile);
  if (rows > 1) for_region(order, whole, live_rows, columns_end, 1, std::min(N_ / lanes_, kVectorsOfRow), true, emit_tile);
}

/// The rows in [begin, end), in register tiles of `rows` rows and `vectors` vectors.
void RegisterTile::for_region(TileOrder order, Value* begin, Value* end, Value* columns_end, std::int64_t rows, std::int64_t vectors,
                              bool may_be_empty, const EmitTile& emit_tile) {
  const auto over_rows = [&](const std::function<void(Value*)>& body) {
    e_.loop(begin, end, e_.i64(rows), {}, may_be_empty, [&](Value* row, const Values&) {
      body(row);
      return Values{};
    });
  };
  const auto over_columns = [&](const std::function<void(Value*)>& body) {
    e_.loop(e_.i64(0), columns_end, e_.i64(lanes_ * vectors), {}, may_be_empty, [&](Value* column, const Values&) {
      body(column);
      return Values{};
    });
  };
  if (order == TileOrder::along_rows)
    over_rows([&](Value* row) { over_columns([&](Value* column) { emit_tile(row, column, rows, vectors); }); });
  else
    over_columns([&](Value* column) { over_rows([&](Value* row) { emit_tile(row, column, rows, vectors); }); });
}

Value* RegisterTile::accumulator(Value* first, std::int64_t row, std::int64_t j) {
  return b_.CreateInBoundsGEP(out_, first, e_.i64(row * N_ + j * lanes_));
}

Values RegisterTile::load(Value* first, std::int64_t rows, std::int64_t vectors) {
  const llvm::Align align(std::min<std::int64_t>(64, lanes_ * sum_.element_bytes()));
  Values sums;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < vectors; ++j) sums.push_back(b_.CreateAlignedLoad(vector(out_), accumulator(first, i, j), align));
  return sums;
}

void RegisterTile::store(Value* first, std::int64_t rows, std::int64_t vectors, const Values& sums) {
  const llvm::Align align(std::min<std::int64_t>(64, lanes_ * sum_.element_bytes()));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < vectors; ++j)
      b_.CreateAlignedStore(sums[static_cast<std::size_t>(i * vectors + j)], accumulator(first, i, j), align);
}

Values RegisterTile::add_products(const Values& sums, const Values& left, Value* right, const RightLayout& layout, Value* depth,
                                  bool may_be_empty) {
  const std::size_t vectors = sums.size() / left.size();
  return e_.loop(e_.i64(0), depth, e_.i64(in_pairs_ ? 2 : 1), sums, may_be_empty, [&](Value* k, const Values& carried) {
    Value* row = b_.CreateInBoundsGEP(in_, right, b_.CreateMul(k, e_.i64(layout.columns)));
    Values factors;
    for (std::size_t j = 0; j < vectors; ++j) factors.push_back(right_factor(row, layout, static_cast<std::int64_t>(j)));
    Values next = carried;
    for (std::size_t i = 0; i < left.size(); ++i) {
      Value* x = left_factor(b_.CreateInBoundsGEP(in_, left[i], k));
      for (std::size_t j = 0; j < vectors; ++j) {
        Value*& sum = next[i * vectors + j];
        sum = multiply_add(x, factors[j], sum);
      }
    }
    return next;
  });
}

/// Vector j of a row of b, or of a pair of rows.
Value* RegisterTile::right_factor(Value* row, const RightLayout& layout, std::int64_t j) {
  const llvm::Align narrow(std::min<std::int64_t>(64, lanes_ * factor_.element_bytes()));
  const auto row_of_b = [&](std::int64_t step) {
    const std::int64_t at = step * layout.columns + layout.first_of_column(j * lanes_);
    return b_.CreateAlignedLoad(vector(in_), b_.CreateInBoundsGEP(in_, row, e_.i64(at)), narrow);
  };
  Value* x = row_of_b(0);
  llvm::Type* half = b_.getInt16Ty();
  if (in_pairs_) return interleave(b_, b_.CreateSExt(x, vector(half)), b_.CreateSExt(row_of_b(1), vector(half)), lanes_);
  return in_ != out_ ? b_.CreateSExt(x, vector(out_)) : x;
}

/// An element of a, or a pair of them, broadcast to all lanes.
Value* RegisterTile::left_factor(Value* from) {
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

Value* RegisterTile::multiply_add(Value* x, Value* y, Value* sum) {
  const Type types[3] = {sum_, sum_, sum_};
  Value* const operands[3] = {x, y, sum};
  if (sum_.is_float()) return lower_elementwise(b_, e_.target(), OpKind::fma_, types, sum_, operands);
  if (!in_pairs_) return b_.CreateAdd(sum, b_.CreateMul(x, y));
  return b_.CreateAdd(sum, b_.CreateIntrinsic(pair_products(e_.target().vector_bits), {}, {b_.CreateBitCast(x, y->getType()), y}));
}

llvm::Type* RegisterTile::vector(llvm::Type* t) const {
  return lanes_ > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes_))) : t;
}

}  // namespace tilewright::backend::host
