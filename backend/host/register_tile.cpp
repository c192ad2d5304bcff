// Emits the loads, multiply-adds and stores of a register tile, and the loops over the register tiles of an accumulator.
#include "backend/host/register_tile.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "backend/host/base_address.h"
#include "backend/host/non_temporal.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

constexpr std::int64_t kLineBytes = 64;  // of a cache

/// The instruction on whole registers that multiplies integers of 16 bits and adds the products of neighbours (vpmaddwd). LLVM fuses it
/// with the addition to the accumulator (vpdpwssd) if the processor has that instruction.
llvm::Intrinsic::ID pair_products(int vector_bits) {
  if (vector_bits >= 512) return llvm::Intrinsic::x86_avx512_pmaddw_d_512;
  return vector_bits >= 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd : llvm::Intrinsic::x86_sse2_pmadd_wd;
}

/// The instruction that adds four products of unsigned and signed bytes to each i32 (vpdpbusd).
llvm::Intrinsic::ID four_products(std::int64_t vector_bytes) {
  if (vector_bytes >= 64) return llvm::Intrinsic::x86_avx512_vpdpbusd_512;
  return vector_bytes >= 32 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256 : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
}

/// Interleaves two vectors: elements 0, lanes, 1, lanes + 1, ... of their concatenation.
Value* interleave_vectors(llvm::IRBuilder<>& b, Value* even, Value* odd, std::int64_t lanes) {
  std::vector<int> from;
  for (std::int64_t i = 0; i < lanes; ++i) from.push_back(static_cast<int>(i)), from.push_back(static_cast<int>(lanes + i));
  return b.CreateShuffleVector(even, odd, from);
}

}  // namespace

RegisterTile::RegisterTile(Emitter& e, Type factor, Type sum, bool has_even_depth, bool is_interleaved)
    : e_(e),
      b_(e.b()),
      factor_(factor),
      sum_(sum),
      M_(sum.extent(sum.rank() - 2)),
      N_(sum.extent(sum.rank() - 1)),
      shape_(register_tile_shape(e.target().vector_bits, sum)),
      in_(register_type(e.context(), factor)),
      out_(register_type(e.context(), sum)),
      together_(is_interleaved                                                        ? 4
                : in_ != out_ && has_even_depth && shape_.lanes == e.target().lanes() ? 2
                                                                                      : 1) {}

RegisterTile::RegisterTile(const RegisterTile& other, std::int64_t rows, std::int64_t vectors, bool has_few_rows)
    : e_(other.e_),
      b_(other.b_),
      factor_(other.factor_),
      sum_(other.sum_),
      M_(other.M_),
      N_(other.N_),
      shape_{rows, vectors, other.shape_.lanes},
      in_(other.in_),
      out_(other.out_),
      together_(other.together_),
      has_few_rows_(has_few_rows) {}

std::optional<RegisterTile> RegisterTile::widened(std::int64_t rows) const {
  if (rows >= shape_.rows) return std::nullopt;
  const TileShape wide = register_tile_shape(e_.target().vector_bits, rows, sum_);
  if (wide.vectors <= shape_.vectors) return std::nullopt;
  return RegisterTile(*this, wide.rows, wide.vectors, true);
}

void RegisterTile::for_each_column(Value* live_columns, const std::function<void(Value* column)>& emit_tile) {
  e_.loop_over_first(live_columns, N_, shape_.columns(), emit_tile);
}

void RegisterTile::for_each(TileOrder order, Value* is_first_whole, Value* live_rows, Value* live_columns,
                            const std::function<void(RegisterTile& tile, Value* row, Value* column)>& emit_tile) {
  constexpr std::int64_t kRowsToHalve = 4;
  const std::int64_t rest = M_ % shape_.rows, whole = M_ - rest;
  const auto over_rows = [&](const std::function<void(RegisterTile&, Value*)>& body) {
    const auto loop = [&](RegisterTile& tile, Value* from, Value* to, bool may_be_empty) {
      e_.loop(from, to, e_.i64(tile.rows()), {}, may_be_empty, [&](Value* row, const Values&) {
        body(tile, row);
        return Values{};
      });
    };
    Value* end = e_.i64(whole);
    if (live_rows) end = rest > 0 ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, live_rows, end) : live_rows;
    if (const std::int64_t half = live_rows && shape_.rows >= kRowsToHalve ? shape_.rows / 2 : 0; half > 0) {
      // Where at most half of a tile's rows are live, as in a program of one row, it would do twice the work of a tile of half the rows.
      Value* const least = is_first_whole ? b_.CreateZExt(is_first_whole, b_.getInt64Ty()) : e_.i64(0);
      Value* const before = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(end, e_.i64(half)), least);
      Value* const tiles = b_.CreateUDiv(b_.CreateAdd(before, e_.i64(shape_.rows - 1)), e_.i64(shape_.rows));
      Value* const last = b_.CreateMul(tiles, e_.i64(shape_.rows));
      loop(*this, e_.i64(0), last, true);
      RegisterTile halved(*this, half, shape_.vectors, true);
      loop(halved, last, end, true);
    } else {
      loop(*this, e_.i64(0), end, live_rows != nullptr);
    }
    if (rest == 0) return;
    RegisterTile last(*this, rest, shape_.vectors, false);
    loop(last, e_.i64(whole), live_rows ? live_rows : e_.i64(M_), live_rows != nullptr);
  };
  const auto over_columns = [&](const std::function<void(Value*)>& body) { for_each_column(live_columns, body); };
  if (order == TileOrder::along_rows)
    over_rows([&](RegisterTile& tile, Value* row) { over_columns([&](Value* column) { emit_tile(tile, row, column); }); });
  else
    over_columns([&](Value* column) { over_rows([&](RegisterTile& tile, Value* row) { emit_tile(tile, row, column); }); });
}

Values RegisterTile::left_rows(Value* factor, Value* row, std::int64_t depth, Value* live_rows) {
  Value* const first = b_.CreateInBoundsGEP(in_, factor, b_.CreateMul(row, e_.i64(depth)));
  Values out{first};
  for (std::int64_t i = 1; i < shape_.rows; ++i) {
    if (live_rows) {
      Value* const last = b_.CreateSub(live_rows, e_.i64(1), "last_live");
      Value* const at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(row, e_.i64(i)), last);
      out.push_back(b_.CreateInBoundsGEP(in_, factor, b_.CreateMul(at, e_.i64(depth))));
    } else {
      out.push_back(b_.CreateInBoundsGEP(in_, first, e_.i64(i * depth)));
    }
  }
  return out;
}

Value* RegisterTile::accumulator(Value* first, std::int64_t row, std::int64_t j) {
  return b_.CreateInBoundsGEP(out_, first, e_.i64(row * N_ + j * shape_.lanes));
}

Values RegisterTile::load(Value* first) {
  const llvm::Align align(std::min<std::int64_t>(64, shape_.lanes * sum_.element_bytes()));
  Values sums;
  first = as_base(b_, first);
  for (std::int64_t i = 0; i < shape_.rows; ++i)
    for (std::int64_t j = 0; j < shape_.vectors; ++j) sums.push_back(b_.CreateAlignedLoad(vector(out_), accumulator(first, i, j), align));
  return sums;
}

void RegisterTile::store(Value* first, const Values& sums) {
  const llvm::Align align(std::min<std::int64_t>(64, shape_.lanes * sum_.element_bytes()));
  first = as_base(b_, first);
  for (std::int64_t i = 0; i < shape_.rows; ++i)
    for (std::int64_t j = 0; j < shape_.vectors; ++j)
      b_.CreateAlignedStore(sums[static_cast<std::size_t>(i * shape_.vectors + j)], accumulator(first, i, j), align);
}

Values RegisterTile::first_of_rows(const EvenRows& rows) const {
  Values out{as_base(b_, rows.first)};
  while (static_cast<std::int64_t>(out.size()) < shape_.rows)
    out.push_back(as_base(b_, b_.CreateInBoundsGEP(b_.getInt8Ty(), out.back(), rows.distance)));
  return out;
}

void RegisterTile::store(const EvenRows& rows, const Values& sums, NonTemporalStores* non_temporal) {
  const llvm::Align align(static_cast<std::uint64_t>(sum_.element_bytes()));
  auto sum = sums.begin();
  for (Value* row : first_of_rows(rows))
    for (std::int64_t j = 0; j < shape_.vectors; ++j, ++sum) {
      Value* const to = b_.CreateConstInBoundsGEP1_64(out_, row, static_cast<std::uint64_t>(j * shape_.lanes));
      if (non_temporal)
        non_temporal->store(*sum, b_.CreatePtrToInt(to, b_.getInt64Ty()));
      else
        b_.CreateAlignedStore(*sum, to, align);
    }
}

void RegisterTile::fetch(const EvenRows& rows) {
  e_.loop(e_.i64(0), e_.i64(shape_.rows), e_.i64(1), {rows.first}, false, [&](Value*, const Values& row) -> Values {
    for (std::int64_t at = 0; at < shape_.columns() * sum_.element_bytes(); at += kLineBytes) {
      Value* const line = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), row[0], static_cast<std::uint64_t>(at));
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, b_.getInt32(1), b_.getInt32(3), b_.getInt32(1)});
    }
    return {b_.CreateGEP(b_.getInt8Ty(), row[0], rows.distance)};
  });
}

std::int64_t RegisterTile::rows_ahead() const {
  // As many lines are on their way for narrow rows as for wide ones (measured on Ice Lake: 8 to 32 rows of four vectors ahead are alike).
  constexpr std::int64_t kVectorsAhead = 64;
  return kVectorsAhead / shape_.vectors;
}

Values RegisterTile::zeros() const {
  return Values(static_cast<std::size_t>(shape_.rows * shape_.vectors), llvm::Constant::getNullValue(vector(out_)));
}

Values RegisterTile::add_products(const Values& sums, const Values& left, const RightRows& right, Value* depth) {
  Value* const ahead = right.rows_ahead > 0 ? b_.CreateMul(right.distance, e_.i64(right.rows_ahead)) : nullptr;
  const std::int64_t vector_bytes = shape_.lanes * factor_.element_bytes();
  Values init = sums;
  init.push_back(right.first);
  if (right.packed) init.push_back(right.packed);
  Values out = e_.loop(e_.i64(0), depth, e_.i64(together_), init, false, [&](Value* k, const Values& carried) {
    Value* const row = carried[sums.size()];
    if (ahead) {
      Value* const later = b_.CreateGEP(b_.getInt8Ty(), row, ahead);
      for (std::int64_t at = 0; at < shape_.vectors * vector_bytes; at += kLineBytes) {
        Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), later, static_cast<std::uint64_t>(at));
        b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
      }
    }
    Values factors;
    for (std::int64_t j = 0; j < shape_.vectors; ++j) factors.push_back(right_factor(row, static_cast<std::size_t>(j), right));
    Values next = carried;
    if (right.packed) {
      const llvm::Align align(static_cast<std::uint64_t>(vector_bytes));
      for (std::size_t j = 0; j < factors.size(); ++j)
        b_.CreateAlignedStore(factors[j], b_.CreateConstInBoundsGEP1_64(factors[j]->getType(), carried.back(), j), align);
      next.back() = b_.CreateGEP(b_.getInt8Ty(), next.back(), right.packed_distance);
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      Value* x = left_factor(b_.CreateInBoundsGEP(in_, left[i], k));
      for (std::size_t j = 0; j < factors.size(); ++j) {
        Value*& sum = next[i * factors.size() + j];
        sum = multiply_add(x, factors[j], sum);
      }
    }
    for (unsigned i = 0; i < together_; ++i) next[sums.size()] = b_.CreateGEP(b_.getInt8Ty(), next[sums.size()], right.distance);
    return next;
  });
  out.resize(sums.size());
  return out;
}

/// Vector j of a row of b, or of the rows that are multiplied together.
Value* RegisterTile::right_factor(Value* row, std::size_t j, const RightRows& right) {
  const std::int64_t lanes = shape_.lanes;
  if (together_ == 4) {
    Value* from = b_.CreateConstInBoundsGEP1_64(vector(out_), row, j);
    return b_.CreateAlignedLoad(vector(out_), from, llvm::Align(static_cast<std::uint64_t>(4 * lanes)));
  }
  const llvm::Align align(std::min(right.alignment, static_cast<std::uint64_t>(lanes * factor_.element_bytes())));
  const auto load = [&](Value* from) {
    return b_.CreateAlignedLoad(vector(in_), b_.CreateConstInBoundsGEP1_64(in_, from, j * static_cast<std::uint64_t>(lanes)), align);
  };
  Value* x = load(row);
  llvm::Type* half = b_.getInt16Ty();
  if (together_ == 2) {
    Value* y = load(b_.CreateInBoundsGEP(b_.getInt8Ty(), row, right.distance));
    return interleave_vectors(b_, b_.CreateSExt(x, vector(half)), b_.CreateSExt(y, vector(half)), lanes);
  }
  return in_ != out_ ? b_.CreateSExt(x, vector(out_)) : x;
}

/// An element of a, or those that are multiplied together, broadcast to all lanes.
Value* RegisterTile::left_factor(Value* from) {
  Value* x = nullptr;
  if (together_ == 4) {
    x = b_.CreateAlignedLoad(out_, from, llvm::Align(1));
  } else if (together_ == 2) {
    Value* pair = b_.CreateAlignedLoad(llvm::FixedVectorType::get(in_, 2), from, llvm::Align(1));
    x = b_.CreateBitCast(b_.CreateSExt(pair, llvm::FixedVectorType::get(b_.getInt16Ty(), 2)), out_);
  } else {
    x = b_.CreateLoad(in_, from);
    if (in_ != out_) x = b_.CreateSExt(x, out_);
  }
  return shape_.lanes > 1 ? b_.CreateVectorSplat(static_cast<unsigned>(shape_.lanes), x) : x;
}

Value* RegisterTile::multiply_add(Value* x, Value* y, Value* sum) {
  const Type types[3] = {sum_, sum_, sum_};
  Value* const operands[3] = {x, y, sum};
  if (sum_.is_float()) return lower_elementwise(b_, e_.target(), OpKind::fma_, types, sum_, operands);
  if (together_ == 4) return b_.CreateIntrinsic(four_products(4 * shape_.lanes), {}, {sum, y, x});
  if (together_ == 1) return b_.CreateAdd(sum, b_.CreateMul(x, y));
  return b_.CreateAdd(sum, b_.CreateIntrinsic(pair_products(e_.target().vector_bits), {}, {b_.CreateBitCast(x, y->getType()), y}));
}

void RegisterTile::interleave(Value* panel, std::int64_t rows) {
  const std::int64_t lanes = shape_.lanes;
  e_.loop(rows, 4, [&](Value* k) {
    Value* first = b_.CreateInBoundsGEP(in_, panel, b_.CreateMul(k, e_.i64(shape_.columns()), "", true, true));
    Values x;
    for (std::int64_t j = 0; j < shape_.vectors; ++j)
      for (std::int64_t i = 0; i < 4; ++i) {
        Value* from = b_.CreateInBoundsGEP(in_, first, e_.i64(i * shape_.columns() + j * lanes));
        x.push_back(b_.CreateAlignedLoad(vector(in_), from, llvm::Align(static_cast<std::uint64_t>(lanes))));
      }
    llvm::Type* pairs = llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(lanes));
    for (std::int64_t j = 0; j < shape_.vectors; ++j) {
      const auto pair = [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(4 * j + i);
        return b_.CreateBitCast(interleave_vectors(b_, x[at], x[at + 1], lanes), pairs);
      };
      Value* fours = b_.CreateBitCast(interleave_vectors(b_, pair(0), pair(2), lanes), vector(out_));
      fours = b_.CreateXor(fours, llvm::ConstantInt::get(vector(out_), 0x80808080U));
      Value* to = b_.CreateInBoundsGEP(in_, first, e_.i64(4 * j * lanes));
      b_.CreateAlignedStore(fours, to, llvm::Align(static_cast<std::uint64_t>(4 * lanes)));
    }
  });
}

Values RegisterTile::row_excess(std::int64_t depth, const std::function<Values(const Values&, const AddRows&)>& add_segments) {
  const std::int64_t bytes = std::min<std::int64_t>(depth, e_.target().vector_bits / 8);
  llvm::Type* words = llvm::FixedVectorType::get(out_, static_cast<unsigned>(bytes / 4));
  Value* const factor = llvm::ConstantInt::get(words, 0x80808080U);  // unsigned bytes: 128
  const Values none(static_cast<std::size_t>(shape_.rows), llvm::Constant::getNullValue(words));
  Values sums = add_segments(none, [&](const Values& before, const Values& left) {
    return e_.loop(e_.i64(0), e_.i64(depth), e_.i64(bytes), before, false, [&](Value* k, const Values& carried) {
      Values next;
      for (std::size_t i = 0; i < left.size(); ++i) {
        Value* x = b_.CreateAlignedLoad(words, b_.CreateInBoundsGEP(in_, left[i], k), llvm::Align(1));
        next.push_back(b_.CreateIntrinsic(four_products(bytes), {}, {carried[i], factor, x}));
      }
      return next;
    });
  });
  for (Value*& sum : sums) sum = b_.CreateAddReduce(sum);
  return sums;
}

Values RegisterTile::without_excess(const Values& sums, Value* excess) {
  Values out;
  for (std::int64_t i = 0; i < shape_.rows; ++i) {
    Value* of_row = b_.CreateVectorSplat(static_cast<unsigned>(shape_.lanes),
                                         b_.CreateLoad(out_, b_.CreateConstInBoundsGEP1_64(out_, excess, static_cast<std::uint64_t>(i))));
    for (std::int64_t j = 0; j < shape_.vectors; ++j)
      out.push_back(b_.CreateSub(sums[static_cast<std::size_t>(i * shape_.vectors + j)], of_row));
  }
  return out;
}

llvm::Type* RegisterTile::vector(llvm::Type* t) const {
  return shape_.lanes > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, static_cast<unsigned>(shape_.lanes))) : t;
}

}  // namespace tilewright::backend::host
