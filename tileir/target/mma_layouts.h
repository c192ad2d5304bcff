// Matrix instructions, and the layouts of their operands and accumulators.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "tileir/ir.h"

namespace tilewright::ir {

struct TargetDesc;

/// A set of compute capabilities: two ranges, both ends included.
struct ChipSet {
  struct Range {
    int first = 1, last = 0;  // empty
  } ranges[2];
  bool only_own_code = false;  // only code that runs on no other chip can use it: sm_90a
  constexpr bool has(int sm) const {
    for (const Range& r : ranges)
      if (r.first <= sm && sm <= r.last) return true;
    return false;
  }
};

/// The extents along n that an instruction can have: multiples of `step`, and above 32 multiples of `wide_step`.
struct ExtentRange {
  int least, most, step, wide_step;
  constexpr bool has(int n) const { return n >= least && n <= most && n % (n > 32 ? wide_step : step) == 0; }
};

/// A row of matrix_instructions.def, which explains the columns.
struct MatrixInstruction {
  enum class Storage : std::uint8_t { registers, shared, either };
  enum class Issue : std::uint8_t { synchronous, asynchronous };
  enum class Major : std::uint8_t { k, either };
  enum class Accuracy : std::uint8_t { exact, tf32_nearest, tf32_truncated, short_sums };

  std::string_view name;
  ChipSet chips;
  int ptx_version;
  Element factors, sums;
  int log2_m, log2_n, log2_k;  // log2_n: of the least n
  ExtentRange n;
  Storage a, b;
  int log2_warps;
  Issue issue;
  Major major;
  Accuracy accuracy;
  std::string_view ptx;
};
/// All rows; an op's attribute `instruction` is the index of its row.
std::span<const MatrixInstruction> matrix_instructions();
/// The first rows of the table, the synchronous ones: one warp executes the instruction, on factors in registers.
std::span<const MatrixInstruction> mma_instructions();
/// Whether the instruction's sums are as accurate as a dot of this precision requires.
bool keeps(const MatrixInstruction&, Precision);
/// Whether the target's chip has the instruction.
bool has_instruction(const TargetDesc&, const MatrixInstruction&);
/// Requires: an mma or mma_async op.
const MatrixInstruction& matrix_instruction(const Function&, OpId);
inline bool is_asynchronous(const MatrixInstruction& i) { return i.issue == MatrixInstruction::Issue::asynchronous; }
/// Whether the instruction reads operand 0 or 1 of an mma or mma_async from shared memory.
bool reads_from_shared(const Function&, OpId, int operand);

/// Maps the coordinates of instructions to the elements of the tiles.
///
/// A product does not depend on the order of its rows, columns and summands, as long as both operands, or operand and sums, agree on it. So
/// bit i of an instruction's coordinate along an axis may be any bit of the tile's coordinate: it is order[i], or i beyond the list.
///
/// Example: m16n8k32 with columns = [1, 2, 3, 0]. The first instruction multiplies columns 0, 2, 4, ..., 14, the second one columns 1, 3,
/// 5, ..., 15: lane 4 g + t has columns 2 g and 2 g + 1 of b.
struct MmaOrder {
  bool swapped = false;  // the instruction computes b^T a^T: its m are the columns of the result, its n the rows
  std::vector<std::int64_t> rows, columns, k;

  friend bool operator==(const MmaOrder&, const MmaOrder&) = default;
};
/// Requires: an mma op.
MmaOrder mma_order(const Function&, OpId);
/// The bit of the tile's coordinate that a bit of the instruction's coordinate is; and the same for a whole coordinate.
int bit_in_order(std::span<const std::int64_t> order, int bit);
std::uint32_t in_order(std::span<const std::int64_t> order, std::uint32_t coordinate);
/// log2 of the least extent of K into which mma can be divided: that of the instruction, or of the order if it is larger.
int log2_k_step(const MatrixInstruction&, const MmaOrder&);

/// The layouts of a thread's elements in the operands and the accumulator of a product. An operand that the instruction can read only from
/// shared memory has none.
struct MmaLayouts {
  LinearLayout a, b, acc;
};

/// Each layout is a fragment of one instruction, as the PTX ISA defines it, repeated over further registers (the last axis first), then
/// over warps (the last axis first). If an instruction takes several warps, these come first, along m. For a tile that is smaller than a
/// fragment, registers outside of it are left out and lanes outside of it hold copies. Factors of f32 for an instruction of 16-bit factors
/// have one register for each element.
///
/// The fragments of m16n8k16 of f16, where lane 4 g + t holds:
///   a    row g, k 2 t and 2 t + 1; the same of row g + 8; both at k + 8     register [[0, 1], [8, 0], [0, 8]], lane [[0, 2], ...]
///   b    k 2 t and 2 t + 1 of column g; both at k + 8
///   acc  row g, columns 2 t and 2 t + 1; the same of row g + 8
///
/// log2_sums: the extents of the accumulator, possibly with a batch axis first; warps: how many warps share each of these axes.
MmaLayouts mma_layouts(const MatrixInstruction&, const std::vector<int>& log2_sums, int log2_k, std::span<const std::int64_t> warps,
                       const MmaOrder&);
/// Requires: an mma or mma_async op.
MmaLayouts mma_layouts(const Function&, OpId);

}  // namespace tilewright::ir
