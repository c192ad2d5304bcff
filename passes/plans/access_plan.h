// Accesses of global memory under a layout: the elements of one instruction, and the cost of the access for a warp.
#pragma once
#include <vector>

#include "passes/analysis/axis_info.h"
#include "tileir/ir.h"

namespace tilewright::passes {

/// Facts about the addresses of a load, store or atomic of a tile that do not depend on the layout.
struct AccessInfo {
  ir::Type pointer;
  int axis = 0;         // the axis along which addresses are consecutive
  int log2_run = 0;     // length of aligned runs of consecutive addresses, in elements
  int log2_widest = 0;  // most elements of one instruction, as alignment, mask and 16 bytes allow
  /// Bits of the flat index that select elements with the same address or in the same sector of 32 bytes.
  std::uint32_t within_sector = 0;
};
/// Requires: the op's first operand is a tile of pointers.
AccessInfo access_info(const ir::Function&, ir::OpId, const AxisInfoAnalysis&);

/// The register bits that count the elements of one access, lowest first: these elements are neighbours in memory, aligned to their number.
/// Empty if each access has one element.
std::vector<int> vector_bits(const AccessInfo&, const ir::LinearLayout&);

/// The cost for a warp, in quarters of the issue of an instruction. Each sector that an instruction touches costs five instructions, or
/// half an instruction if another warp touches it too: so whole sectors, each touched once, are cheapest.
int access_cost(const AccessInfo&, const ir::LinearLayout&);

}  // namespace tilewright::passes
