// Builds the layouts of matrix instructions from their extents: all of mma.sync's fragments follow one scheme.
#include "tileir/target/mma_layouts.h"

#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

constexpr int log2(int extent) { return std::countr_zero(static_cast<unsigned>(extent)); }

constexpr MatrixInstruction kInstructions[] = {
#define TW_MATRIX_INSTRUCTION(name, sm, isa, factors, sums, m, n, k, ptx, section) \
  {#name, sm, isa, Element::factors, Element::sums, log2(m), log2(n), log2(k), ptx},
#include "tileir/target/matrix_instructions.def"
#undef TW_MATRIX_INSTRUCTION
};

/// Adds the bases of one tile: each call takes the next bits of an axis.
class Bases {
 public:
  explicit Bases(const std::vector<int>& log2_extents) : layout_(log2_extents), next_(log2_extents.size()) {}

  /// The next `count` bits of an axis go to a dimension. Bits beyond the extent: lanes and warps hold copies, registers are left out.
  void add(HardwareDim d, int axis, int count) {
    for (int i = 0; i < count; ++i) {
      const int bit = next_[static_cast<std::size_t>(axis)]++;
      if (bit < layout_.log2_extents()[static_cast<std::size_t>(axis)])
        layout_.add_basis(d, 1u << (layout_.axis_shift(axis) + bit));
      else if (d != HardwareDim::reg)
        layout_.add_basis(d, 0);
    }
  }
  /// All bits of an axis that are left but the highest `kept` go to registers.
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
  std::vector<int> next_;  // by axis: the first bit that no hardware bit maps to yet
};

}  // namespace

std::span<const MatrixInstruction> matrix_instructions() { return kInstructions; }

const MatrixInstruction& matrix_instruction(const Function& f, OpId id) {
  return kInstructions[static_cast<std::size_t>(f.attr(id, AttrName::instruction))];
}

MmaLayouts mma_layouts(const Function& f, OpId id) {
  const MatrixInstruction& instruction = matrix_instruction(f, id);
  const int rank = f.type(f.result(id)).rank(), rows = rank - 2, columns = rank - 1;
  std::vector<int> log2_warps;
  for (std::int64_t n : f.attr_list(id, AttrName::warps)) log2_warps.push_back(log2(static_cast<int>(n)));
  // Elements of a 32-bit register; lanes 0 to 3 hold neighbouring registers along the inner axis, the other 8 lanes are along the outer.
  const int log2_packed = std::max(5 - log2(bits(instruction.factors)), 0);
  constexpr int kInnerLanes = 2, kOuterLanes = 3;

  const auto extents = [&](int operand) { return log2_extents(f.type(f.operand(id, operand))); };
  /// A fragment's bits of `inner` are `packed` register bits, then lanes; those of `outer` are lanes. Then what the fragment has more.
  const auto tile = [&](int operand, int inner, int packed, int log2_inner, int outer, int log2_outer) {
    Bases t(extents(operand));
    t.add(HardwareDim::reg, inner, packed);
    t.add(HardwareDim::lane, inner, kInnerLanes);
    t.add(HardwareDim::lane, outer, kOuterLanes);
    t.add(HardwareDim::reg, outer, log2_outer - kOuterLanes);
    t.add(HardwareDim::reg, inner, log2_inner - packed - kInnerLanes);
    // Axes that warps share leave their highest bits to them.
    for (int axis = rank - 1; axis >= 0; --axis) {
      const bool is_k = operand != 2 && axis == (operand == 0 ? columns : rows);
      t.fill(axis, is_k ? 0 : log2_warps[static_cast<std::size_t>(axis)]);
    }
    for (int axis = rank - 1; axis >= 0; --axis) {
      const bool is_k = operand != 2 && axis == (operand == 0 ? columns : rows);
      const int count = log2_warps[static_cast<std::size_t>(axis)];
      is_k ? t.skip(HardwareDim::warp, count) : t.add(HardwareDim::warp, axis, count);
    }
    return t.take();
  };
  return {tile(0, columns, log2_packed, instruction.log2_k, rows, instruction.log2_m),
          tile(1, rows, log2_packed, instruction.log2_k, columns, instruction.log2_n),
          tile(2, columns, 1, instruction.log2_n, rows, instruction.log2_m)};
}

}  // namespace tilewright::ir
