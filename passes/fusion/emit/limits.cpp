// Halves tiles, and counts what is alive in emitted kernels.
#include "passes/fusion/emit/limits.h"

#include <algorithm>

#include "passes/analysis/register_pressure.h"
#include "passes/fusion/emit/configuration.h"
#include "passes/fusion/emit/tile_values.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

// Halves the tiles of the grid and of the loop, then those of other reductions.
bool halve_all(TileSizes& sizes) {
  bool is_smaller = sizes.loop > 1;
  sizes.loop = std::max<std::int64_t>(sizes.loop / 2, 1);
  for (auto& [axis, size] : sizes.grid) {
    is_smaller = is_smaller || size > 1;
    size = std::max<std::int64_t>(size / 2, 1);
  }
  for (auto& [axis, inner] : sizes.inner) {
    if (is_smaller || inner.size == 1 || sizes.payload.count(axis) != 0) continue;
    inner = {inner.size / 2, true};
    is_smaller = true;
  }
  return is_smaller;
}

// Halves the largest tile of the grid or, if that is small, that of the loop.
bool halve_largest(TileSizes& sizes) {
  std::int64_t* largest = largest_grid_tile(sizes);
  if (!largest || *largest <= kLeastOfMatrix) largest = &sizes.loop;
  if (*largest <= kLeastOfMatrix) return false;
  *largest /= 2;
  return true;
}

// The number of warps that have registers for what a kernel holds at once; 0: none has.
//
// A thread has 255 registers, and needs about 40 of them for addresses and temporaries. 8 warps have all registers of a multiprocessor;
// more warps do not have more. Each warp holds at least 16 rows of a product: where warps share rows, each holds the same operands, and
// there is room for about half as much data as registers. As much is enough for kernels without products, which wait for memory.
//
// Measured with ptxas 13.0.88 (2026-11-25) on the kernels of examples 14 to 16 for sm_75 to sm_90a, in words a thread: 4 warps spill
// nothing up to 212 with 64 rows (from 253 on they do), and up to 96 with fewer (from 131 on they do); 8 warps up to 132 (from 146 on they
// do).
int warps_for(const ir::Function& f, TileSizes& sizes) {
  constexpr std::int64_t kMostOf4 = 128 * 212, kMostOf4WithSharedRows = 128 * 96, kMostOf8 = 256 * 132, kRowsOf4 = 64;
  const std::int64_t words = live_data_words(f);
  bool has_product = false;
  f.walk([&](ir::OpId id) { has_product = has_product || f.kind(id) == ir::OpKind::dot_; });
  const std::int64_t* rows = largest_grid_tile(sizes);
  if (words <= (has_product && rows && *rows >= kRowsOf4 ? kMostOf4 : kMostOf4WithSharedRows)) return 4;
  return words <= kMostOf8 ? 8 : 0;
}

}  // namespace

EmittedKernel emit_within_limits(TileSizes& sizes, const ir::TargetDesc& target, const std::function<EmittedKernel()>& emit) {
  for (;;) {
    try {
      EmittedKernel kernel = emit();
      if (!target.is_gpu()) return kernel;
      sizes.num_warps = warps_for(kernel.function, sizes);
      if (sizes.num_warps != 0) return kernel;
      sizes.num_warps = 8;
      if (!halve_largest(sizes)) return kernel;
    } catch (const TileTooLarge&) {
      if (!halve_all(sizes)) throw;
    }
  }
}

}  // namespace tilewright::passes::fusion
