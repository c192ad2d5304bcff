// Accesses of global memory under a layout: the elements of one instruction, and the cost for a warp.
#pragma once
#include <vector>

#include "passes/analysis/axis_info.h"
#include "tileir/ir.h"

namespace tilewright::passes {

/// Facts about the addresses of a load, store or atomic of a tile that hold under any layout.
struct AccessInfo {
  ir::Type pointer;
  int axis = 0;         // the axis along which addresses are consecutive
  int log2_run = 0;     // elements of an aligned run of consecutive addresses
  int log2_widest = 0;  // most elements of one instruction: limited by alignment, the mask and 16 bytes
  /// Bits of the flat index between elements that share an address or a sector of 32 bytes.
  std::uint32_t within_sector = 0;
};
/// Requires: the op's first operand is a tile of pointers.
AccessInfo access_info(const ir::Function&, ir::OpId, const AxisInfoAnalysis&);

/// The register bits that count the elements of one access, lowest first: neighbours in memory, aligned to their number. Empty: one element
/// in each access.
std::vector<int> vector_bits(const AccessInfo&, const ir::LinearLayout&);

/// The cost for a warp, in quarters of the issue of an instruction. Each sector that an instruction touches costs five instructions, or
/// half of one if another warp touches it too: so whole sectors, each touched once, are cheapest.
int access_cost(const AccessInfo&, const ir::LinearLayout&);

}  // namespace tilewright::passes
