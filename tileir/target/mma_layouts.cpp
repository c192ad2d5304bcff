// Builds the layouts of matrix instructions from their extents: all fragments of mma.sync follow one scheme.
#include "tileir/target/mma_layouts.h"

#include <algorithm>
#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/target/gpu_chips.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

namespace {

constexpr int log2(int extent) { return std::countr_zero(static_cast<unsigned>(extent)); }

constexpr int kNewest = 999;
constexpr ChipSet since(int sm) { return {{{sm, kNewest}, {}}}; }
/// The chips with fp8 instructions: Ada and consumer Blackwell.
constexpr ChipSet fp8_chips() { return {{{89, 89}, {120, kNewest}}}; }
constexpr ChipSet own_code(int sm) { return {{{sm, sm}, {}}, true}; }

constexpr ExtentRange only(int n) { return {n, n, n, n}; }
constexpr ExtentRange range(int least, int most, int step, int wide_step) { return {least, most, step, wide_step}; }

using Row = MatrixInstruction;
constexpr Row kInstructions[] = {
#define TW_MATRIX_INSTRUCTION(name, chips, isa, factors, sums, m, n, k, a, b, warps, issue, major, accuracy, ptx, section) \
  {#name,                                                                                                                  \
   chips,                                                                                                                  \
   isa,                                                                                                                    \
   Element::factors,                                                                                                       \
   Element::sums,                                                                                                          \
   log2(m),                                                                                                                \
   log2((n).least),                                                                                                        \
   log2(k),                                                                                                                \
   n,                                                                                                                      \
   Row::Storage::a,                                                                                                        \
   Row::Storage::b,                                                                                                        \
   log2(warps),                                                                                                            \
   Row::Issue::issue,                                                                                                      \
   Row::Major::major,                                                                                                      \
   Row::Accuracy::accuracy,                                                                                                \
   ptx},
#include "tileir/target/matrix_instructions.def"
#undef TW_MATRIX_INSTRUCTION
};

/// Whether both factors are in registers, and each warp has its own.
constexpr bool is_mma(const Row& i) {
  return i.issue == Row::Issue::synchronous && i.a != Row::Storage::shared && i.b != Row::Storage::shared && i.log2_warps == 0;
}
constexpr std::size_t kMmaRows = static_cast<std::size_t>(std::ranges::count_if(kInstructions, is_mma));
static_assert(std::ranges::is_partitioned(kInstructions, is_mma), "rows of mma stand first");

/// Adds the bases of one tile: each call takes the next bits of an axis, in the order of the instruction's coordinates.
class Bases {
 public:
  Bases(const std::vector<int>& log2_extents, std::vector<std::span<const std::int64_t>> orders)
      : layout_(log2_extents), orders_(std::move(orders)), next_(log2_extents.size()) {}

  /// Maps the next `count` bits of an axis to a dimension. Beyond the extent, lanes and warps hold copies, and registers are left out.
  void add(HardwareDim d, int axis, int count) {
    const auto a = static_cast<std::size_t>(axis);
    for (int i = 0; i < count; ++i) {
      const int bit = bit_in_order(orders_[a], next_[a]++);
      if (bit < layout_.log2_extents()[a])
        layout_.add_basis(d, 1u << (layout_.axis_shift(axis) + bit));
      else if (d != HardwareDim::reg)
        layout_.add_basis(d, 0);
    }
  }
  /// Maps all remaining bits of an axis, except the highest `kept`, to registers.
  void fill(int axis, int kept) {
    const int left = layout_.log2_extents()[static_cast<std::size_t>(axis)] - next_[static_cast<std::size_t>(axis)] - kept;
    add(HardwareDim::reg, axis, std::max(left, 0));
  }
  void skip(HardwareDim d, int count) {
    for (int i = 0; i < count; ++i) layout_.add_basis(d, 0);
  }
  LinearLayout take() { return std::move(layout_); }

 private:
  LinearLayout layout_;
  std::vector<std::span<const std::int64_t>> orders_;  // indexed by axis
  std::vector<int> next_;  // indexed by axis: the first coordinate bit of the instruction to which no hardware bit maps yet
};

}  // namespace

std::span<const MatrixInstruction> matrix_instructions() { return kInstructions; }
std::span<const MatrixInstruction> mma_instructions() { return matrix_instructions().first(kMmaRows); }

bool has_instruction(const TargetDesc& target, const MatrixInstruction& i) {
  return target.is_gpu() && i.chips.has(chip_capability(target)) && (!i.chips.only_own_code || target.has_wgmma);
}

bool keeps(const MatrixInstruction& i, Precision precision) {
  switch (i.accuracy) {
    case Row::Accuracy::exact: return true;
    case Row::Accuracy::tf32_nearest: return precision != Precision::ieee;
    // What the instruction reads from shared memory passes through no thread, so it cannot be rounded first.
    case Row::Accuracy::tf32_truncated: return precision == Precision::standard;
    case Row::Accuracy::short_sums: return precision != Precision::ieee;
  }
  return false;
}

const MatrixInstruction& matrix_instruction(const Function& f, OpId id) {
  return kInstructions[static_cast<std::size_t>(f.attr(id, AttrName::instruction))];
}

bool reads_from_shared(const Function& f, OpId id, int operand) {
  if (f.kind(id) == OpKind::mma_async_) return f.type(f.operand(id, operand)).is_buffer();
  const Row& i = matrix_instruction(f, id);
  const Row::Storage storage = operand == 0 ? i.a : i.b;
  return storage == Row::Storage::shared || (storage == Row::Storage::either && f.attr(id, AttrName::from_registers) == 0);
}

MmaOrder mma_order(const Function& f, OpId id) {
  return {f.attr(id, AttrName::swapped) != 0, f.attr_list(id, AttrName::row_order), f.attr_list(id, AttrName::column_order),
          f.attr_list(id, AttrName::k_order)};
}

int bit_in_order(std::span<const std::int64_t> order, int bit) {
  return bit < static_cast<int>(order.size()) ? static_cast<int>(order[static_cast<std::size_t>(bit)]) : bit;
}

std::uint32_t in_order(std::span<const std::int64_t> order, std::uint32_t coordinate) {
  std::uint32_t result = 0;
  for (; coordinate != 0; coordinate &= coordinate - 1) result |= 1u << bit_in_order(order, std::countr_zero(coordinate));
  return result;
}

int log2_k_step(const MatrixInstruction& instruction, const MmaOrder& order) {
  return std::max(instruction.log2_k, static_cast<int>(order.k.size()));
}

MmaLayouts mma_layouts(const MatrixInstruction& instruction, const std::vector<int>& log2_sums, int log2_k,
                       std::span<const std::int64_t> warps, const MmaOrder& order) {
  const int rank = static_cast<int>(log2_sums.size()), rows = rank - 2, columns = rank - 1;
  std::vector<int> log2_warps;
  for (std::int64_t n : warps) log2_warps.push_back(log2(static_cast<int>(n)));
  // Elements of a 32-bit register. Lane bits 0 and 1 select neighbouring registers along the inner axis, the others the outer
  // axis.
  const int log2_packed = std::max(5 - log2(bits(instruction.factors)), 0);
  constexpr int kInnerLanes = 2, kOuterLanes = 3;
  const int m_axis = order.swapped ? columns : rows;

  /// A fragment's bits of `inner` are `packed` register bits, then lane bits; those of `outer` are lane bits. Further bits follow. k_axis:
  /// the axis of the tile that is K; -1 for the accumulator.
  const auto tile = [&](int k_axis, int inner, int packed, int log2_inner, int outer, int log2_outer) {
    std::vector<int> extents = log2_sums;
    std::vector<std::span<const std::int64_t>> orders(extents.size());
    orders[static_cast<std::size_t>(rows)] = order.rows, orders[static_cast<std::size_t>(columns)] = order.columns;
    if (k_axis >= 0) extents[static_cast<std::size_t>(k_axis)] = log2_k, orders[static_cast<std::size_t>(k_axis)] = order.k;
    Bases t(extents, std::move(orders));
    t.add(HardwareDim::reg, inner, packed);
    t.add(HardwareDim::lane, inner, kInnerLanes);
    t.add(HardwareDim::lane, outer, kOuterLanes);
    t.add(HardwareDim::reg, outer, log2_outer - kOuterLanes);
    t.add(HardwareDim::reg, inner, log2_inner - packed - kInnerLanes);
    t.add(HardwareDim::warp, m_axis, instruction.log2_warps);
    // Axes that warps share keep their highest bits for the warps.
    const auto shared_by = [&](int axis) {
      return log2_warps[static_cast<std::size_t>(axis)] - (axis == m_axis ? instruction.log2_warps : 0);
    };
    for (int axis = rank - 1; axis >= 0; --axis) t.fill(axis, axis == k_axis ? 0 : shared_by(axis));
    for (int axis = rank - 1; axis >= 0; --axis) {
      const int count = shared_by(axis);
      axis == k_axis ? t.skip(HardwareDim::warp, count) : t.add(HardwareDim::warp, axis, count);
    }
    return t.take();
  };
  // K is the columns of a and the rows of b.
  const int log2_m = instruction.log2_m - instruction.log2_warps;  // of one warp
  const int of_rows = order.swapped ? instruction.log2_n : log2_m, of_columns = order.swapped ? log2_m : instruction.log2_n;
  const auto is_shared = [&](bool is_n) { return (is_n ? instruction.b : instruction.a) == Row::Storage::shared; };
  MmaLayouts layouts;
  if (!is_shared(order.swapped)) layouts.a = tile(columns, columns, log2_packed, instruction.log2_k, rows, of_rows);
  if (!is_shared(!order.swapped)) layouts.b = tile(rows, rows, log2_packed, instruction.log2_k, columns, of_columns);
  layouts.acc =
      order.swapped ? tile(-1, rows, 1, instruction.log2_n, columns, log2_m) : tile(-1, columns, 1, instruction.log2_n, rows, log2_m);
  return layouts;
}

MmaLayouts mma_layouts(const Function& f, OpId id) {
  const Type a = f.type(f.operand(id, 0));
  return mma_layouts(matrix_instruction(f, id), log2_extents(f.type(f.result(id))), a.log2_extent(a.rank() - 1),
                     f.attr_list(id, AttrName::warps), mma_order(f, id));
}

}  // namespace tilewright::ir
