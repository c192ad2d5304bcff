// Emits the instructions of AMX (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18).
#include "backend/host/amx_tile.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace tilewright::backend::host {

namespace {

constexpr std::int64_t kRows = AmxShape::kRegisterRows, kRowBytes = AmxShape::kRegisterRowBytes;
constexpr std::int64_t kSums = kRowBytes / 4;  // elements in a row of a tile register
// Tile registers: four of accumulators, two for each factor.
constexpr unsigned kLeft = 4, kRight = 6;

}  // namespace

AmxTile::AmxTile(Emitter& e, AmxShape shape, Type factor)
    : e_(e), b_(e.b()), shape_(shape), element_bytes_(factor.element_bytes()), is_float_(factor.is_float()) {}

void AmxTile::begin() {
  // The operand of ldtilecfg: the palette, then 16 numbers of bytes in a row, then 16 numbers of rows.
  std::array<std::uint8_t, 64> configuration{};
  configuration[0] = 1;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    configuration[16 + 2 * tile] = kRowBytes;
    configuration[48 + tile] = kRows;
  }
  Value* const value = llvm::ConstantDataVector::get(e_.context(), configuration);
  Value* const at = e_.alloca_in_entry(value->getType(), 1, 64);
  b_.CreateStore(value, at);
  b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {at});
}

void AmxTile::end() { b_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {}); }

void AmxTile::for_each_sum(const EvenRows& rows, const std::function<void(unsigned, Value*)>& emit) {
  Value* const lower = b_.CreateMul(rows.distance, e_.i64(kRows));
  for (unsigned i = 0; i < shape_.rows / kRows; ++i)
    for (unsigned j = 0; j < shape_.columns / kSums; ++j) {
      Value* const row = i > 0 ? b_.CreateInBoundsGEP(b_.getInt8Ty(), rows.first, lower) : rows.first;
      emit(2 * i + j, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), row, j * std::uint64_t{kRowBytes}));
    }
}

void AmxTile::clear() {
  for (unsigned i = 0; i < shape_.rows / kRows; ++i)
    for (unsigned j = 0; j < shape_.columns / kSums; ++j) b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {tile(2 * i + j)});
}

void AmxTile::load(const EvenRows& rows) {
  for_each_sum(rows, [&](unsigned number, Value* from) {
    b_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {tile(number), from, rows.distance});
  });
}

void AmxTile::store(const EvenRows& rows) {
  for_each_sum(rows, [&](unsigned number, Value* to) {
    b_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {tile(number), to, rows.distance});
  });
}

void AmxTile::add_products(const EvenRows& left, const EvenRows& right, std::int64_t depth) {
  llvm::Type* const byte = b_.getInt8Ty();
  const auto load = [&](unsigned number, const EvenRows& rows, Value* offset) {
    Value* const from = b_.CreateInBoundsGEP(byte, rows.first, offset);
    b_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, {tile(number), from, rows.distance});
  };
  const auto multiply = [&](unsigned i, unsigned j) {
    const auto instruction = is_float_ ? llvm::Intrinsic::x86_tdpbf16ps : llvm::Intrinsic::x86_tdpbssd;
    b_.CreateIntrinsic(instruction, {}, {tile(2 * i + j), tile(kLeft + i), tile(kRight + j)});
  };
  Value* const lower = b_.CreateMul(left.distance, e_.i64(kRows));  // the second register of rows
  Value* const next = b_.CreateMul(right.distance, e_.i64(kRows));  // the groups of the next step
  const bool has_lower = shape_.rows > kRows, has_second = shape_.columns > kSums;
  e_.loop(e_.i64(0), e_.i64(depth * element_bytes_ / kRowBytes), e_.i64(1), {}, false, [&](Value* step, const Values&) {
    Value* const at = b_.CreateMul(step, e_.i64(kRowBytes));
    Value* const group = b_.CreateMul(step, next);
    load(kLeft, left, at);
    load(kRight, right, group);
    multiply(0, 0);
    if (has_second) {
      load(kRight + 1, right, b_.CreateAdd(group, e_.i64(kRowBytes)));
      multiply(0, 1);
    }
    if (has_lower) {
      load(kLeft + 1, left, b_.CreateAdd(at, lower));
      multiply(1, 0);
      if (has_second) multiply(1, 1);
    }
    return Values{};
  });
}

void AmxTile::interleave(Value* from, std::int64_t distance, Value* to, std::int64_t rows) {
  const std::int64_t together = 4 / element_bytes_;
  const auto vector = [&](int bits, std::int64_t lanes) {
    return llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(bits)), static_cast<unsigned>(lanes));
  };
  const auto at = [&](Value* base, Value* offset) { return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, offset); };
  const auto alternate = [&](Value* even, Value* odd) {
    std::vector<int> lanes;
    for (int i = 0; i < kSums; ++i) lanes.push_back(i), lanes.push_back(static_cast<int>(kSums) + i);
    return b_.CreateShuffleVector(even, odd, lanes);
  };
  e_.loop(rows / together, 1, [&](Value* group) {
    Value* const first = at(from, b_.CreateMul(group, e_.i64(together * distance)));
    // All loads come before the stores, which may write the same memory.
    Values words;
    for (std::int64_t column = 0; column < shape_.columns; column += kSums) {
      Values x;
      for (std::int64_t i = 0; i < together; ++i)
        x.push_back(b_.CreateAlignedLoad(vector(static_cast<int>(8 * element_bytes_), kSums),
                                         at(first, e_.i64(i * distance + column * element_bytes_)),
                                         llvm::Align(static_cast<std::uint64_t>(kSums * element_bytes_))));
      if (together == 4)
        x = {b_.CreateBitCast(alternate(x[0], x[1]), vector(16, kSums)), b_.CreateBitCast(alternate(x[2], x[3]), vector(16, kSums))};
      words.push_back(alternate(x[0], x[1]));
    }
    Value* const into = at(to, b_.CreateMul(group, e_.i64(group_bytes())));
    for (std::size_t j = 0; j < words.size(); ++j)
      b_.CreateAlignedStore(words[j], at(into, e_.i64(static_cast<std::int64_t>(j) * kRowBytes)), llvm::Align(kRowBytes));
  });
}

}  // namespace tilewright::backend::host
