// wgmma: products of four warps from shared memory or registers. Each warp does its 16 of the 64 rows when it issues the instruction, and
// what may be touched when is checked: the operands by the clock of the warpgroup's engine, the registers by matrix_registers.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/emulator/families.h"
#include "runtime/emulator/matrix_descriptor.h"
#include "runtime/emulator/matrix_elements.h"
#include "runtime/emulator/matrix_registers.h"
#include "runtime/emulator/memory_access.h"

namespace tilewright::rt::emulator {
namespace {

constexpr int kRows = 16, kWarps = 4;  // rows of a warp, warps of a group
constexpr std::size_t kMostColumns = 256, kMostK = 32;

// Instruction::option: flags, then n / 8, then the types of d, a and b.
enum Option : u32 { kFromRegisters = 1, kTransposesA = 2, kTransposesB = 4, kNegatesA = 8, kNegatesB = 16, kSaturates = 32 };

struct Shape {
  int n;
  Type d, a, b;

  int k() const { return 256 / operand_bits(a); }
  int accumulators() const { return n / 2 * (d == Type::f16 ? 16 : 32) / 32; }  // registers
};

Shape shape_of(const Instruction& i) {
  const auto type = [&](int shift) { return static_cast<Type>(i.option >> shift & 31); };
  return {static_cast<int>(i.option >> 8 & 63) * 8, type(14), type(19), type(24)};
}

using Columns = std::array<std::array<double, kMostColumns>, kMostK>;  // [k][n]
using RowsOfA = std::array<std::array<double, kMostK>, kRows>;

class SharedOperand {
 public:
  SharedOperand(Warp& warp, const Instruction& i, u64 descriptor)
      : warp_(warp), i_(i), at_(descriptor), by_(engine_of(warp, i, *warp.block, matrix_agent(warp.index), warp.matrix.committed + 1)) {
    if (at_.base_offset != 0)
      report(warp, i, FindingKind::bad_operand, 0,
             [&] { return fmt::format("a matrix descriptor with the base offset {}: only 0 is known here", at_.base_offset); });
  }

  /// Calls f(row, k, bits) for all elements of rows `first` to `first + rows`.
  template <class F>
  void each(int first, int rows, int k, Type type, bool transposed, F f) {
    const int bytes = operand_bits(type) / 8, per_chunk = 16 / bytes;
    std::array<std::byte, 16> chunk;
    const auto take = [&](int e) {
      u64 bits = 0;
      std::memcpy(&bits, chunk.data() + e * bytes, static_cast<std::size_t>(bytes));
      return bits;
    };
    if (!transposed) {
      for (int row = first; row < first + rows; ++row)
        for (int c = 0; c < 2; ++c) {
          read(at_.chunk_along_k(static_cast<u64>(row), static_cast<u64>(c)), chunk);
          for (int e = 0; e < per_chunk; ++e) f(row, c * per_chunk + e, take(e));
        }
      return;
    }
    for (int step = 0; step < k; ++step)
      for (int row = first; row < first + rows; row += 8) {
        read(at_.chunk_across(static_cast<u64>(step), static_cast<u64>(row)), chunk);
        for (int e = 0; e < 8; ++e) f(row + e, step, take(e));
      }
  }

 private:
  void read(u64 address, std::array<std::byte, 16>& chunk) {
    Block& block = *warp_.block;
    if (address + chunk.size() > block.shared_bytes) {
      report(warp_, i_, FindingKind::out_of_bounds, 0,
             [&] { return fmt::format("16 bytes at byte {} of shared memory, which has {} bytes", address, block.shared_bytes); });
      chunk.fill(std::byte{0xff});
      return;
    }
    if (warp_.worker->launch->check) check_shared_read(by_, block, 0, address, static_cast<int>(chunk.size()));
    std::memcpy(chunk.data(), block.shared.get() + address, chunk.size());
  }

  Warp& warp_;
  const Instruction& i_;
  MatrixDescriptor at_;
  Accessor by_;
};

u64 descriptor_of(const Warp& warp, const Instruction& i, std::size_t slot) {
  const Lanes<u64> bits = read<u64>(warp, i.slot[slot]);
  return bits[0];
}

void check_uniform(Warp& warp, const Instruction& i, std::size_t slot) {
  const Lanes<u64> bits = read<u64>(warp, i.slot[slot]);
  for (int lane = 1; lane < kLanes; ++lane)
    if (bits[lane] != bits[0])
      report(warp, i, FindingKind::bad_operand, lane,
             [&] { return fmt::format("the matrix descriptor is 0x{:x}, and 0x{:x} in lane 0", bits[lane], bits[0]); });
}

/// Element e of register r of lane l: row l / 4 + 8 (r % 2), and k = E (l % 4) + e + 4 E (r / 2) with E elements in a register.
void gather(const Warp& warp, const s32* slots, const Shape& s, RowsOfA& a) {
  const int bits = operand_bits(s.a), elements = 32 / bits;
  for (int r = 0; r < 4; ++r) {
    const Lanes<u32> values = read<u32>(warp, slots[r]);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int e = 0; e < elements; ++e)
        a[static_cast<std::size_t>(lane / 4 + 8 * (r % 2))][static_cast<std::size_t>(elements * (lane % 4) + e + 4 * elements * (r / 2))] =
            number_of(values[lane] >> (bits * e), s.a);
  }
}

/// f(row of the warp, column, register, shift in it) for each element that a lane accumulates.
template <class F>
void each_accumulated(const Shape& s, int lane, F f) {
  const bool is_half = s.d == Type::f16;
  for (int e = 0; e < s.n / 2; ++e)
    f(static_cast<std::size_t>(lane / 4 + 8 * (e >> 1 & 1)), static_cast<std::size_t>(8 * (e >> 2) + 2 * (lane % 4) + (e & 1)),
      is_half ? e / 2 : e, is_half ? 16 * (e & 1) : 0);
}

bool is_whole_group(Warp& warp, const Instruction& i) {
  const std::size_t first = static_cast<std::size_t>(warp.index / kWarps * kWarps);
  if (first + kWarps <= warp.block->warps.size()) return true;
  report(warp, i, FindingKind::divergent, 0,
         [&] { return fmt::format("the block has {} warps: this one has no warpgroup of four", warp.block->warps.size()); });
  return false;
}

void multiply(Warp& warp, const Instruction& i, Mask) {
  if (!is_whole_group(warp, i)) return;
  const Shape s = shape_of(i);
  const s32* slots = warp.kernel->extra.data() + i.first;
  take_matrix_registers(warp, i, i.option >> 8);
  warp.matrix.trace = (warp.matrix.trace ^ (i.index + 1)) * 0x9e3779b97f4a7c15u;

  thread_local RowsOfA a;
  thread_local Columns b;
  const double sign = ((i.option & kNegatesA) != 0) != ((i.option & kNegatesB) != 0) ? -1 : 1;
  if (i.option & kFromRegisters) {
    gather(warp, slots + s.accumulators(), s, a);
  } else {
    check_uniform(warp, i, 0);
    const int first = warp.index % kWarps * kRows;
    SharedOperand(warp, i, descriptor_of(warp, i, 0))
        .each(first, kRows, s.k(), s.a, i.option & kTransposesA, [&](int row, int k, u64 bits) {
          a[static_cast<std::size_t>(row - first)][static_cast<std::size_t>(k)] = number_of(bits, s.a);
        });
  }
  check_uniform(warp, i, 1);
  SharedOperand(warp, i, descriptor_of(warp, i, 1)).each(0, s.n, s.k(), s.b, i.option & kTransposesB, [&](int row, int k, u64 bits) {
    b[static_cast<std::size_t>(k)][static_cast<std::size_t>(row)] = sign * number_of(bits, s.b);
  });

  const auto columns = static_cast<std::size_t>(s.n), depth = static_cast<std::size_t>(s.k());
  thread_local std::array<std::array<double, kMostColumns>, kRows> sums;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::fill_n(sums[row].begin(), columns, 0.0);
    for (std::size_t k = 0; k < depth; ++k) {
      const double factor = a[row][k];
      for (std::size_t n = 0; n < columns; ++n) sums[row][n] += factor * b[k][n];
    }
  }
  const Mask accumulates = read_predicate(warp, i, 2);
  for (int lane = 0; lane < kLanes; ++lane)
    each_accumulated(s, lane, [&](std::size_t row, std::size_t column, int r, int shift) {
      std::byte* place = warp.registers + slots[r] + lane * 4 + shift / 8;
      const std::size_t bytes = s.d == Type::f16 ? 2 : 4;
      u64 bits = 0;
      std::memcpy(&bits, place, bytes);
      const double before = has_lane(accumulates, lane) ? number_of(bits, s.d) : 0;
      bits = bits_of_sum(sums[row][column] + before, s.d, i.option & kSaturates);
      std::memcpy(place, &bits, bytes);
    });
}

void fence(Warp& warp, const Instruction&, Mask) { fence_matrix_registers(warp); }

/// Up to which group all warps of the warpgroup have committed theirs.
u32 committed_by_all(const Warp& warp) {
  const auto first = static_cast<std::size_t>(warp.index / kWarps * kWarps);
  u32 least = ~0u;
  for (std::size_t w = first; w < std::min(first + kWarps, warp.block->warps.size()); ++w)
    least = std::min(least, warp.block->warps[w].matrix.committed);
  return least;
}

void let_go(Warp& warp, u32 group) {
  warp.matrix.done = std::max(warp.matrix.done, group);
  warp.view.clock.raise(matrix_agent(warp.index), warp.matrix.done);
}

void commit(Warp& warp, const Instruction& i, Mask) {
  MatrixWork& work = warp.matrix;
  auto& groups = warp.block->matrix_groups[static_cast<std::size_t>(warp.index / kWarps)];
  if (groups.size() == work.committed) groups.push_back(work.trace);
  if (groups[work.committed] != work.trace)
    report(warp, i, FindingKind::divergent, 0, [] { return std::string("the warps of the warpgroup commit different wgmma"); });
  ++work.committed;
  work.trace = 0;
  const u32 common = committed_by_all(warp);
  const auto first = static_cast<std::size_t>(warp.index / kWarps * kWarps);
  for (std::size_t w = first; w < std::min(first + kWarps, warp.block->warps.size()); ++w) {
    Warp& other = warp.block->warps[w];
    for (Fragment& fragment : other.fragments)
      if (fragment.mask != 0 && fragment.wait == Wait::matrix && fragment.wait_phase <= common) {
        let_go(other, static_cast<u32>(fragment.wait_phase));
        fragment.wait = Wait::none;
        ++fragment.pc;
      }
  }
}

/// wgmma is done when all four warps have issued it: a warp that waits first waits for the others too.
void wait(Warp& warp, const Instruction& i, Mask) {
  const u32 group = warp.matrix.committed - std::min(warp.matrix.committed, i.option);
  if (group <= committed_by_all(warp)) return let_go(warp, group);
  warp.fragment().wait = Wait::matrix;
  warp.fragment().wait_phase = group;
}

void limit_registers(Warp& warp, const Instruction& i, Mask) {
  if (!is_whole_group(warp, i)) return;
  const u32 before = warp.most_registers;
  const bool increases = i.option >> 16;
  const u32 wanted = i.option & 0xffff;
  if (before != 0 && (increases ? wanted < before : wanted > before))
    report(warp, i, FindingKind::bad_operand, 0,
           [&] { return fmt::format("{} to {} registers, after {}", increases ? "an increase" : "a decrease", wanted, before); });
  warp.most_registers = wanted;
}

void expect_aligned(Decoder& d) {
  if (!d.take("sync") || !d.take("aligned")) d.fail("'.sync.aligned' is missing");
  d.out.kind = Kind::collective;
  d.out.is_aligned = true;
}

// PTX ISA, "wgmma.mma_async": shapes and types.
bool is_known(const Shape& s, int m, int k) {
  if (m != 64 || k != s.k() || s.n < 8 || s.n > 256) return false;
  const bool is_integer = s.a == Type::s8 || s.a == Type::u8;
  if (s.n % 8 != 0 || (is_integer && s.n > 32 && s.n % 16 != 0)) return false;
  switch (s.a) {
    case Type::f16: return s.b == Type::f16 && (s.d == Type::f32 || s.d == Type::f16);
    case Type::bf16: return s.b == Type::bf16 && s.d == Type::f32;
    case Type::tf32: return s.b == Type::tf32 && s.d == Type::f32;
    case Type::e4m3:
    case Type::e5m2: return (s.b == Type::e4m3 || s.b == Type::e5m2) && (s.d == Type::f32 || s.d == Type::f16);
    case Type::s8:
    case Type::u8: return (s.b == Type::s8 || s.b == Type::u8) && s.d == Type::s32;
    default: return false;
  }
}

bool parse_shape(std::string_view text, std::array<int, 3>& extents) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < 3; ++i) {
    if (at == end || *at != "mnk"[i]) return false;
    const auto [stop, error] = std::from_chars(at + 1, end, extents[i]);
    if (error != std::errc()) return false;
    at = stop;
  }
  return at == end;
}

/// 1 or -1, of which `flag` is the latter.
void decode_scale(Decoder& d, const Operand& operand, u32 flag) {
  const u64 scale = d.constant(operand);
  if (scale != 1 && scale != ~u64{0}) d.fail("a scale has to be 1 or -1");
  if (scale != 1) d.out.option |= flag;
}

void decode_transpose(Decoder& d, const Operand& operand, u32 flag) {
  const u64 trans = d.constant(operand);
  if (trans > 1) d.fail("a transposition has to be 0 or 1");
  if (trans == 1) d.out.option |= flag;
}

void decode_product(Decoder& d) {
  expect_aligned(d);
  d.out.category = Category::matrix;
  std::array<int, 3> extents{};
  bool has_shape = false;
  for (std::string_view modifier : d.modifiers()) has_shape = has_shape || (parse_shape(modifier, extents) && d.take(modifier));
  if (!has_shape) d.fail("a shape such as 'm64n128k16' is missing");
  if (d.take("satfinite")) d.out.option |= kSaturates;
  const Type type_of_d = d.take_type(), type_of_a = d.take_type(), type_of_b = d.take_type();
  const Shape s{extents[1], type_of_d, type_of_a, type_of_b};
  const bool is_integer = s.d == Type::s32, has_layouts = s.a == Type::f16 || s.a == Type::bf16;
  if (!is_known(s, extents[0], extents[2]) || ((d.out.option & kSaturates) && !is_integer))
    d.fail("no product of this shape and these types");
  d.out.option |= static_cast<u32>(s.n / 8) << 8 | static_cast<u32>(s.d) << 14 | static_cast<u32>(s.a) << 19 | static_cast<u32>(s.b) << 24;
  const bool from_registers = d.operand(1).kind == OperandKind::vector;
  if (from_registers) d.out.option |= kFromRegisters;
  d.expect_operands(4 + (is_integer ? 0 : 2) + (!has_layouts ? 0 : from_registers ? 1 : 2));

  const std::vector<Operand>& accumulators = d.operand(0).parts;
  if (accumulators.size() != static_cast<std::size_t>(s.accumulators()))
    d.fail(fmt::format("{} accumulators, not {}", accumulators.size(), s.accumulators()));
  for (const Operand& part : accumulators) {
    if (!d.is_register(part)) d.fail("an accumulator has to be a register");
    d.extra_destination(part, 4);
  }
  if (from_registers) {
    if (d.operand(1).parts.size() != 4) d.fail(fmt::format("{} registers of a, not 4", d.operand(1).parts.size()));
    for (const Operand& part : d.operand(1).parts) d.extra_source(part, 4);
  } else {
    d.source(0, d.operand(1), 8);
  }
  d.source(1, d.operand(2), 8);
  d.source(2, d.operand(3), 0);
  const bool never_accumulates = d.operand(3).kind == OperandKind::integer && d.operand(3).bits == 0;
  if (!never_accumulates)
    for (const Operand& part : accumulators) d.extra_source(part, 4);
  if (!is_integer) {
    decode_scale(d, d.operand(4), kNegatesA);
    decode_scale(d, d.operand(5), kNegatesB);
  }
  if (has_layouts) {
    if (!from_registers) decode_transpose(d, d.operand(6), kTransposesA);
    decode_transpose(d, d.operand(from_registers ? 6 : 7), kTransposesB);
  }
  d.out.execute = multiply;
}

}  // namespace

void decode_wgmma(Decoder& d) {
  if (d.module().target != "sm_90a") d.fail(fmt::format("this needs the target sm_90a, not {}", d.module().target));
  if (d.take("mma_async")) return decode_product(d);
  d.out.category = Category::barrier;
  if (d.take("fence")) {
    d.out.execute = fence;
  } else if (d.take("commit_group")) {
    d.out.execute = commit;
  } else if (d.take("wait_group")) {
    d.out.execute = wait;
    d.out.option = static_cast<u32>(d.constant(d.operand(0)));
  } else {
    d.fail("expected '.mma_async', '.fence', '.commit_group' or '.wait_group'");
  }
  expect_aligned(d);
  if (d.out.execute == wait) d.out.kind = Kind::waiting;
  d.expect_operands(d.out.execute == wait ? 1 : 0);
}

void decode_setmaxnreg(Decoder& d) {
  d.out.category = Category::barrier;
  const int direction = d.take_one({"dec", "inc"});
  if (direction < 0) d.fail("'.inc' or '.dec' is missing");
  expect_aligned(d);
  if (d.take_type() != Type::u32) d.fail("no instruction of this type: expected u32");
  d.expect_operands(1);
  const u64 count = d.constant(d.operand(0));
  if (count < 24 || count > 256 || count % 8 != 0) d.fail(fmt::format("{} registers: expected a multiple of 8 from 24 to 256", count));
  d.out.option = static_cast<u32>(count) | static_cast<u32>(direction) << 16;
  d.out.execute = limit_registers;
}

}  // namespace tilewright::rt::emulator
