// Matrix fragments: ldmatrix, stmatrix, movmatrix, and mma.sync of every type by one rule for which elements a lane holds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/emulator/matrix/accumulators.h"
#include "runtime/emulator/matrix/elements.h"
#include "runtime/emulator/matrix/shape.h"
#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct RowsOptions {
  bool transposes = false;
};

/// The rows of 16 bytes whose addresses are in lanes 8 k to 8 k + 7, for each of `count` matrices.
Request locate_rows(Warp& warp, const Instruction& i) {
  const Mask rows = i.count == 4 ? kAllLanes : (Mask{1} << (8 * i.count)) - 1;
  Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  if (i.space == Space::generic) split_generic(rows, address, Space::shared);
  return locate_in(warp, i, rows, address, Space::shared, 16);
}

// Lane l holds row l / 4, columns 2 (l % 4) and the next one: one register in all lanes is a matrix whose lines are its rows.
CoreMatrix matrix_in(const Warp& warp, s32 slot) {
  CoreMatrix matrix;
  std::memcpy(matrix.at, warp.registers + slot, sizeof matrix.at);
  return matrix;
}

void write(Warp& warp, s32 slot, const CoreMatrix& matrix, Mask mask) {
  Lanes<u32> pairs;
  std::memcpy(pairs.at, matrix.at, sizeof matrix.at);
  write(warp, slot, pairs, mask);
}

void load_matrices(Warp& warp, const Instruction& i, Mask mask) {
  const Request request = locate_rows(warp, i);
  const Accessor by = accessor_of(warp, i);
  RequestCheck(by, request).read(CoreMatrix::kLineBytes);
  for (u32 k = 0; k < i.count; ++k) {
    CoreMatrix matrix;
    for (std::size_t row = 0; row < 8; ++row) {
      const std::size_t lane = 8 * k + row;
      if (has_lane(request.mask, static_cast<int>(lane)))
        std::memcpy(matrix.line(row), request.at[lane], CoreMatrix::kLineBytes);
      else
        std::memset(matrix.line(row), 0, CoreMatrix::kLineBytes);
    }
    write(warp, warp.kernel->extra[i.first + k], i.options<RowsOptions>().transposes ? transposed(matrix) : matrix, mask);
  }
}

void store_matrices(Warp& warp, const Instruction& i, Mask) {
  const Request request = locate_rows(warp, i);
  const Accessor by = accessor_of(warp, i);
  RequestCheck check(by, request);
  for (u32 k = 0; k < i.count; ++k) {
    CoreMatrix matrix = matrix_in(warp, warp.kernel->extra[i.first + k]);
    if (i.options<RowsOptions>().transposes) matrix = transposed(matrix);
    for (std::size_t row = 0; row < 8; ++row) {
      const std::size_t lane = 8 * k + row;
      if (!has_lane(request.mask, static_cast<int>(lane))) continue;
      check.write(static_cast<int>(lane), 16, matrix.line(row));
      std::memcpy(request.at[lane], matrix.line(row), CoreMatrix::kLineBytes);
    }
  }
}

void transpose_matrix(Warp& warp, const Instruction& i, Mask mask) { write(warp, i.slot[0], transposed(matrix_in(warp, i.slot[1])), mask); }

/// d = a b + c in one warp, of size m by n by k.
struct Shape {
  int m, n, k;
  Type d, a, b, c;
  bool saturates;
};

int register_bits(Type type) { return type == Type::f64 ? 64 : 32; }
int operand_registers(const Shape& s, int rows, Type type) { return rows * s.k * operand_bits(type) / kLanes / register_bits(type); }
int accumulator_registers(const Shape& s, Type type) {
  return s.m * s.n / kLanes * (type == Type::f16 ? 16 : 8 * bytes_of(type)) / register_bits(type);
}

void multiply(Warp& warp, const Instruction& i, Mask mask) {
  const auto& s = i.options<Shape>();
  const s32* const slots = warp.kernel->extra.data() + i.first;
  const int d_count = accumulator_registers(s, s.d), a_count = operand_registers(s, s.m, s.a), b_count = operand_registers(s, s.n, s.b);
  const s32 *const a_slots = slots + d_count, *const b_slots = a_slots + a_count, *const c_slots = b_slots + b_count;
  const Unpacker left(s.a), right(s.b);
  RowsOfA a;
  ColumnsOfB b[kMostDepth / ColumnsOfB::kSteps];
  const auto rows = static_cast<std::size_t>(s.m), depth = static_cast<std::size_t>(s.k);
  if (rows < kRows) a = {};
  // A register holds 8 rows or columns in all lanes. If a has 16 rows, its registers alternate between the upper and the lower half.
  const int halves = s.m / 8, depth_of_a = s.k * halves / a_count, depth_of_b = s.k / b_count;
  for (int r = 0; r < a_count; ++r)
    left.rows(lines_in_register(warp.registers + a_slots[r]), static_cast<std::size_t>(r % halves * 8),
              static_cast<std::size_t>(r / halves * depth_of_a), a);
  for (int r = 0; r < b_count; ++r)
    right.columns(lines_in_register(warp.registers + b_slots[r]), b + r * depth_of_b / static_cast<int>(ColumnsOfB::kSteps));
  accumulate(warp, {slots, c_slots, rows, s.d, s.saturates}, {&a, b}, 1, depth, kAllLanes, mask);
}

/// The products of most kernels: f16 or bf16, with sums in f32.
template <Type kType>
void multiply_halves(Warp& warp, const Instruction& i, Mask mask) {
  if (mask != kAllLanes) return multiply(warp, i, mask);
  const auto& s = i.options<Shape>();
  static const ProductSteps::Fragments multiply_them = multiply_fragments(kType);
  const s32 *const d = warp.kernel->extra.data() + i.first, *const a = d + 4, *const b = a + s.k / 4, *const c = b + s.k / 8;
  multiply_them(warp.registers, a, b, static_cast<std::size_t>(s.k), c, d);
}

/// Products of f64: a register of a or b holds 8 rows or columns by 4 steps along k, one element in each lane.
void multiply_doubles(Warp& warp, const Instruction& i, Mask mask) {
  const auto& s = i.options<Shape>();
  const s32* const d = warp.kernel->extra.data() + i.first;
  const int halves = s.m / 8;
  const s32 *const a = d + accumulator_registers(s, s.d), *const b = a + operand_registers(s, s.m, s.a),
                   *const c = b + operand_registers(s, s.n, s.b);
  const auto element = [&](s32 slot, int lane) {
    double value;
    std::memcpy(&value, warp.registers + slot + lane * static_cast<int>(sizeof value), sizeof value);
    return value;
  };
  // All are read before any is written: the same registers may occur in another order.
  std::array<Lanes<double>, 4> sums;
  for (int e = 0; e < 2 * halves; ++e)
    for (int lane = 0; lane < kLanes; ++lane) {
      double sum = 0;
      for (int k = 0; k < s.k; ++k)
        sum += element(a[k / 4 * halves + e / 2], lane / 4 * 4 + k % 4) * element(b[k / 4], (lane % 4 * 2 + e % 2) * 4 + k % 4);
      sums[e][lane] = sum + element(c[e], lane);
    }
  for (int e = 0; e < 2 * halves; ++e) write(warp, d[e], sums[e], mask);
}

bool is_nibble(Type type) { return type == Type::s4 || type == Type::u4; }

/// Products of 4-bit integers: a register of a or b holds 8 rows or columns by 32 steps along k, eight elements in each lane.
void multiply_nibbles(Warp& warp, const Instruction& i, Mask mask) {
  const auto& s = i.options<Shape>();
  const s32* const d = warp.kernel->extra.data() + i.first;
  const int halves = s.m / 8;
  const s32 *const a = d + accumulator_registers(s, s.d), *const b = a + operand_registers(s, s.m, s.a),
                   *const c = b + operand_registers(s, s.n, s.b);
  const auto element = [&](s32 slot, int line, int k, Type type) {
    u32 word;
    std::memcpy(&word, warp.registers + slot + (4 * line + k % 32 / 8) * static_cast<int>(sizeof word), sizeof word);
    const u32 nibble = word >> (4 * (k % 8)) & 15;
    return type == Type::s4 && nibble >= 8 ? s64{nibble} - 16 : s64{nibble};
  };
  // All are read before any is written: the same registers may occur in another order.
  std::array<Lanes<s32>, 4> sums;
  for (int e = 0; e < 2 * halves; ++e) {
    const Lanes<s32> before = read<s32>(warp, c[e]);
    for (int lane = 0; lane < kLanes; ++lane) {
      s64 sum = before[lane];
      for (int k = 0; k < s.k; ++k)
        sum += element(a[k / 32 * halves + e / 2], lane / 4, k, s.a) * element(b[k / 32], lane % 4 * 2 + e % 2, k, s.b);
      if (s.saturates) sum = std::clamp<s64>(sum, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max());
      sums[e][lane] = static_cast<s32>(sum);
    }
  }
  for (int e = 0; e < 2 * halves; ++e) write(warp, d[e], sums[e], mask);
}

void begin(Decoder& d) {
  d.out.category = Category::matrix;
  d.out.kind = Kind::collective;
  if (!d.take("sync") || !d.take("aligned")) d.fail("'.sync.aligned' is missing");
  d.out.is_aligned = true;
}

/// Decodes {a, b, ...} or a single register.
void registers_of(Decoder& d, const Operand& operand, int count, int bytes, bool is_destination) {
  std::vector<Operand> parts = operand.kind == OperandKind::vector ? operand.parts : std::vector<Operand>{operand};
  if (parts.size() != static_cast<std::size_t>(count)) d.fail(fmt::format("{} registers, not {}", parts.size(), count));
  for (const Operand& part : parts) is_destination ? d.extra_destination(part, bytes) : d.extra_source(part, bytes);
}

void decode_matrices(Decoder& d, bool is_load) {
  begin(d);
  const int count = d.take_one({"x1", "x2", "x4"});
  if (!d.take("m8n8") || count < 0) d.fail("expected '.m8n8' and '.x1', '.x2' or '.x4'");
  d.options<RowsOptions>().transposes = d.take("trans");
  d.out.space = d.take_one({"shared", "shared::cta"}) >= 0 ? Space::shared : Space::generic;
  d.expect_type(Type::b16);
  d.expect_operands(2);
  d.out.count = static_cast<u8>(1 << count);
  d.out.width = 4;
  registers_of(d, d.operand(is_load ? 0 : 1), d.out.count, 4, is_load);
  d.address(0, d.operand(is_load ? 1 : 0));
  d.out.execute = is_load ? load_matrices : store_matrices;
}

bool is_known(const Shape& s) {
  const auto is = [&](int m, std::initializer_list<int> ks) {
    return s.m == m && s.n == 8 && std::find(ks.begin(), ks.end(), s.k) != ks.end();
  };
  const bool float_sum = s.d == Type::f32 || s.d == Type::f16;
  switch (s.a) {
    case Type::f16: return s.b == Type::f16 && float_sum && s.c == s.d && is(16, {8, 16});
    case Type::bf16: return s.b == Type::bf16 && s.d == Type::f32 && s.c == Type::f32 && is(16, {8, 16});
    case Type::tf32: return s.b == Type::tf32 && s.d == Type::f32 && s.c == Type::f32 && is(16, {4, 8});
    case Type::f64: return s.b == Type::f64 && s.d == Type::f64 && s.c == Type::f64 && (is(8, {4}) || is(16, {4, 8, 16}));
    case Type::e4m3:
    case Type::e5m2: return (s.b == Type::e4m3 || s.b == Type::e5m2) && float_sum && s.c == s.d && is(16, {16, 32});
    case Type::s8:
    case Type::u8: return (s.b == Type::s8 || s.b == Type::u8) && s.d == Type::s32 && s.c == Type::s32 && (is(8, {16}) || is(16, {16, 32}));
    case Type::s4:
    case Type::u4: return is_nibble(s.b) && s.d == Type::s32 && s.c == Type::s32 && (is(8, {32}) || is(16, {32, 64}));
    default: return false;
  }
}

}  // namespace

void decode_ldmatrix(Decoder& d) { decode_matrices(d, true); }
void decode_stmatrix(Decoder& d) { decode_matrices(d, false); }

void decode_movmatrix(Decoder& d) {
  begin(d);
  if (!d.take("m8n8") || !d.take("trans") || d.take_type() != Type::b16) d.fail("expected '.m8n8.trans.b16'");
  d.take_operands(4, {4});
  d.out.execute = transpose_matrix;
}

void decode_mma(Decoder& d) {
  begin(d);
  const auto extents = take_shape(d);
  if (!extents || !d.take("row") || !d.take("col")) d.fail("expected a shape and '.row.col'");
  Shape& shape = d.options<Shape>();
  shape.m = extents->m;
  shape.n = extents->n;
  shape.k = extents->k;
  shape.saturates = d.take("satfinite");
  shape.d = d.take_type();
  shape.a = d.take_type();
  shape.b = d.take_type();
  shape.c = d.take_type();
  if (!is_known(shape)) d.fail("no product of this shape and these types");
  d.expect_operands(4);
  registers_of(d, d.operand(0), accumulator_registers(shape, shape.d), register_bits(shape.d) / 8, true);
  registers_of(d, d.operand(1), operand_registers(shape, shape.m, shape.a), register_bits(shape.a) / 8, false);
  registers_of(d, d.operand(2), operand_registers(shape, shape.n, shape.b), register_bits(shape.b) / 8, false);
  registers_of(d, d.operand(3), accumulator_registers(shape, shape.c), register_bits(shape.c) / 8, false);
  d.out.execute = shape.d == Type::f64                            ? multiply_doubles
                  : is_nibble(shape.a)                            ? multiply_nibbles
                  : shape.a == Type::f16 && shape.d == Type::f32  ? multiply_halves<Type::f16>
                  : shape.a == Type::bf16 && shape.d == Type::f32 ? multiply_halves<Type::bf16>
                                                                  : multiply;
}

}  // namespace tilewright::rt::emulator
