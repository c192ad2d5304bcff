// wgmma: products of four warps from shared memory or registers. Each warp computes its 16 of the 64 rows when it issues the instruction.
// Checks find accesses that are too early: to operands by the clock of the warpgroup's engine, to registers by matrix/registers.h.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/emulator/matrix/accumulators.h"
#include "runtime/emulator/matrix/elements.h"
#include "runtime/emulator/matrix/registers.h"
#include "runtime/emulator/matrix/shape.h"
#include "runtime/emulator/matrix/wgmma_operand.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/warpgroup.h"

namespace tilewright::rt::emulator {
namespace {

constexpr std::size_t kRegistersOfA = 4;  // if a is in registers

struct WgmmaOptions {
  u16 n = 0;
  Type d = Type::f32, a = Type::f16, b = Type::f16;
  bool a_from_registers = false, transposes_a = false, transposes_b = false, negates_a = false, negates_b = false, saturates = false;

  int k() const { return 256 / operand_bits(a); }
  bool has_brief_sums() const { return a == Type::e4m3 || a == Type::e5m2; }
  int accumulators() const { return n / 2 * (d == Type::f16 ? 16 : 32) / 32; }  // in registers
  /// If the numbers of two wgmma are equal, both use their accumulators in the same way.
  u32 shape() const { return u32{n} << 16 | static_cast<u32>(d) << 10 | static_cast<u32>(a) << 5 | static_cast<u32>(b); }
};
struct WaitOptions {
  u32 groups = 0;  // the latest groups that may still be unfinished
};

u64 descriptor_of(const Warp& warp, const Instruction& i, std::size_t slot) { return read_in_place<u64>(warp, i.slot[slot])[0]; }

bool is_uniform(const Warp& warp, s32 slot) {
  const auto bits = read_in_place<u64>(warp, slot);
  const u64 first = bits[0];
  u64 difference = 0;
  for (int lane = 0; lane < kLanes; ++lane) difference |= bits[lane] ^ first;
  return difference == 0;
}

void check_uniform(Warp& warp, const Instruction& i, std::size_t slot) {
  if (call_dispatched<is_uniform>(warp, i.slot[slot])) return;
  const Lanes<u64> bits = read<u64>(warp, i.slot[slot]);
  for (int lane = 1; lane < kLanes; ++lane)
    if (bits[lane] != bits[0])
      report(warp, i, DiagnosticKind::bad_operand, lane,
             [&] { return fmt::format("the matrix descriptor is 0x{:x}, and 0x{:x} in lane 0", bits[lane], bits[0]); });
}

std::span<const s32> slots_of_a(const Warp& warp, const Instruction& i, const WgmmaOptions& s) {
  return {warp.kernel->extra.data() + i.first + s.accumulators(), kRegistersOfA};
}

void read_a(Warp& warp, const Instruction& i, const WgmmaOptions& s, RowsOfA& a) {
  const Unpacker unpacker(s.a);
  const auto half_of_k = static_cast<std::size_t>(s.k() / 2);
  if (s.a_from_registers) {
    const auto slots = slots_of_a(warp, i, s);
    for (std::size_t r = 0; r < slots.size(); ++r)
      unpacker.rows(lines_in_register(warp.registers + slots[r]), 8 * (r % 2), r / 2 * half_of_k, a);
  } else {
    check_uniform(warp, i, 0);
    const Accessor by = engine_of(warp, i, *warp.block, matrix_agent(warp.index), warp.matrix.committed + 1);
    const auto first_row = static_cast<std::size_t>(warp.index % kGroupWarps) * kRows;
    SharedOperand(by, descriptor_of(warp, i, 0), first_row, kRows, s.transposes_a).unpack(unpacker, half_of_k, a);
  }
  if (s.negates_a == s.negates_b) return;
  for (auto& step : a.at)
    for (auto& row : step)
      for (float& number : row) number = -number;
}

const ColumnsOfB* read_b(Warp& warp, const Instruction& i, const WgmmaOptions& s) {
  check_uniform(warp, i, 1);
  return packed_b(warp, i, Unpacker(s.b), descriptor_of(warp, i, 1), s.n, static_cast<std::size_t>(s.k() / 2), s.transposes_b);
}

/// 1. Checks the registers. 2. Reads a and b, with their own checks. 3. Multiplies, and adds to the accumulators.
void multiply(Warp& warp, const Instruction& i, Mask) {
  if (!is_whole_group(warp, i)) return;
  const auto& s = i.options<WgmmaOptions>();
  take_matrix_registers(warp, i, s.shape());
  warp.matrix.trace = (warp.matrix.trace ^ (i.index + 1)) * 0x9e3779b97f4a7c15u;
  ++warp.matrix.issued;

  RowsOfA a;
  read_a(warp, i, s, a);
  const Product product = {&a, read_b(warp, i, s)};
  const s32* const slots = warp.kernel->extra.data() + i.first;
  accumulate(warp, {slots, slots, kRows, s.d, s.saturates, s.has_brief_sums()}, product, s.n / kColumns, static_cast<std::size_t>(s.k()),
             read_predicate(warp, i, 2), kAllLanes);
}

void fence(Warp& warp, const Instruction&, Mask) { fence_matrix_registers(warp); }

/// The latest group that all warps of the warpgroup have committed.
u32 committed_by_all(const Warp& warp) {
  const auto first = static_cast<std::size_t>(warp.index / kGroupWarps * kGroupWarps);
  u32 least = ~0u;
  for (std::size_t w = first; w < std::min(first + kGroupWarps, warp.block->warps.size()); ++w)
    least = std::min(least, warp.block->warps[w].matrix.committed);
  return least;
}

void let_go(Warp& warp, u32 group) {
  warp.matrix.done = std::max(warp.matrix.done, group);
  warp.clocks.clock.raise(matrix_agent(warp.index), warp.matrix.done);
}

void commit(Warp& warp, const Instruction& i, Mask) {
  MatrixWork& work = warp.matrix;
  auto& groups = warp.block->matrix_groups[warp.index / kGroupWarps];
  if (groups.size() == work.committed) groups.push_back(work.trace);
  if (groups[work.committed] != work.trace)
    report(warp, i, DiagnosticKind::divergent, 0, [] { return std::string("the warps of the warpgroup commit different wgmma"); });
  ++work.committed;
  work.trace = 0;
  const u32 common = committed_by_all(warp);
  const auto first = static_cast<std::size_t>(warp.index / kGroupWarps * kGroupWarps);
  for (std::size_t w = first; w < std::min(first + kGroupWarps, warp.block->warps.size()); ++w) {
    Warp& other = warp.block->warps[w];
    for (SimtStackEntry& entry : other.stack)
      if (entry.mask != 0 && entry.wait == Wait::matrix && entry.wait_phase <= common) {
        let_go(other, static_cast<u32>(entry.wait_phase));
        entry.wait = Wait::none;
        ++entry.pc;
      }
  }
}

/// A wgmma is done when all four warps have issued it: a warp that waits first also waits for the other warps.
void wait(Warp& warp, const Instruction& i, Mask) {
  const u32 group = warp.matrix.committed - std::min(warp.matrix.committed, i.options<WaitOptions>().groups);
  if (group <= committed_by_all(warp)) return let_go(warp, group);
  warp.entry().wait = Wait::matrix;
  warp.entry().wait_phase = group;
}

void expect_aligned(Decoder& d) {
  if (!d.take("sync") || !d.take("aligned")) d.fail("'.sync.aligned' is missing");
  d.out.kind = Kind::collective;
  d.out.is_aligned = true;
}

// PTX ISA, "wgmma.mma_async": valid shapes and types.
bool is_known(const WgmmaOptions& s, int m, int k) {
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

/// Decodes 1 or -1; returns whether it is -1.
bool take_negation(Decoder& d, const Operand& operand) {
  const u64 scale = d.constant(operand);
  if (scale != 1 && scale != ~u64{0}) d.fail("a scale has to be 1 or -1");
  return scale != 1;
}

bool take_transposition(Decoder& d, const Operand& operand) {
  const u64 trans = d.constant(operand);
  if (trans > 1) d.fail("a transposition has to be 0 or 1");
  return trans == 1;
}

void decode_product(Decoder& d) {
  expect_aligned(d);
  d.out.category = Category::matrix;
  const auto shape = take_shape(d);
  if (!shape) d.fail("a shape such as 'm64n128k16' is missing");
  WgmmaOptions& s = d.options<WgmmaOptions>();
  s.saturates = d.take("satfinite");
  s.n = shape->n;
  s.d = d.take_type();
  s.a = d.take_type();
  s.b = d.take_type();
  const bool is_integer = s.d == Type::s32, has_layouts = s.a == Type::f16 || s.a == Type::bf16;
  if (!is_known(s, shape->m, shape->k) || (s.saturates && !is_integer)) d.fail("no product of this shape and these types");
  const bool from_registers = d.operand(1).kind == OperandKind::vector;
  s.a_from_registers = from_registers;
  d.expect_operands(4 + (is_integer ? 0 : 2) + (!has_layouts ? 0 : from_registers ? 1 : 2));

  const std::vector<Operand>& accumulators = d.operand(0).parts;
  if (accumulators.size() != static_cast<std::size_t>(s.accumulators()))
    d.fail(fmt::format("{} accumulators, not {}", accumulators.size(), s.accumulators()));
  for (const Operand& part : accumulators) {
    if (!d.is_register(part)) d.fail("an accumulator has to be a register");
    d.extra_destination(part, 4);
  }
  if (from_registers) {
    if (d.operand(1).parts.size() != kRegistersOfA)
      d.fail(fmt::format("{} registers of a, not {}", d.operand(1).parts.size(), kRegistersOfA));
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
    s.negates_a = take_negation(d, d.operand(4));
    s.negates_b = take_negation(d, d.operand(5));
  }
  if (has_layouts) {
    s.transposes_a = !from_registers && take_transposition(d, d.operand(6));
    s.transposes_b = take_transposition(d, d.operand(from_registers ? 6 : 7));
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
    d.options<WaitOptions>().groups = static_cast<u32>(d.constant(d.operand(0)));
  } else {
    d.fail("expected '.mma_async', '.fence', '.commit_group' or '.wait_group'");
  }
  expect_aligned(d);
  if (d.out.execute == wait) d.out.kind = Kind::waiting;
  d.expect_operands(d.out.execute == wait ? 1 : 0);
}

}  // namespace tilewright::rt::emulator
