// Counts the live values of emitted kernels.
#include "passes/fusion/cover/limits.h"

#include <algorithm>

#include "passes/analysis/register_pressure.h"
#include "passes/fusion/thresholds.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

// The words that a program of 4 or 8 warps can hold in registers.
//
// A thread also needs registers for addresses and temporaries. Each warp holds at least 16 rows of a product: with fewer rows, several
// warps hold the same operands, and there is room for only about half as many words as there are registers. Half is also enough for kernels
// without products, which wait for memory. More than 8 warps have no more registers in total.
//
// The shares were measured with ptxas 13.0.88 (2026-11-25) on the kernels of examples 14 to 16 for sm_75 to sm_90a. In words of a thread: 4
// warps do not spill up to 212 with 64 rows (from 253 on they do), and up to 96 with fewer rows (from 131 on they do); 8 warps do not spill
// up to 132 (from 146 on they do).
std::int64_t room_for_words(const ir::Function& f, const TileSizes& sizes, const ir::TargetDesc& target, int warps) {
  bool has_product = false;
  f.walk([&](ir::OpId id) { has_product = has_product || f.kind(id) == ir::OpKind::dot_; });
  const std::int64_t* rows = largest_grid_tile(sizes);
  const bool has_own_rows = has_product && rows && *rows >= kLeastOfMatrix * warps;
  const double share = warps == 8 ? kCommonRowsOf8 : has_own_rows ? kOwnRows : kCommonRowsOf4;
  const int threads = 32 * warps, registers = std::min(target.max_registers, target.registers_per_sm / threads);
  return static_cast<std::int64_t>(threads * share * registers);
}

}  // namespace

LimitedKernel emit_within_limits(TileSizes& sizes, const ir::TargetDesc& target, const std::function<EmittedKernel()>& emit) {
  for (bool is_smaller = false;; is_smaller = true) {
    try {
      EmittedKernel kernel = emit();
      if (!target.is_gpu()) return {std::move(kernel), 0, is_smaller};
      const std::int64_t words = live_data_words(kernel.function);
      for (const int warps : {4, 8}) {
        sizes.num_warps = warps;
        if (words <= room_for_words(kernel.function, sizes, target, warps)) return {std::move(kernel), 0, is_smaller};
      }
      if (halve_largest(sizes, {.least = kLeastOfMatrix, .has_loop = true})) continue;
      // Matrix instructions are fully used only with at least 16 rows, and spilling a few words costs less than reading the whole loop in
      // more programs.
      const std::int64_t room = room_for_words(kernel.function, sizes, target, 8), spilled = words - room;
      if (spilled <= room / kShareToSpill || !halve_largest(sizes, {})) return {std::move(kernel), spilled, is_smaller};
    } catch (const TileTooLarge&) {
      if (!halve_all(sizes)) throw;
    }
  }
}

}  // namespace tilewright::passes::fusion
