// How an op goes over global memory under a layout: how many elements an instruction takes, and what it costs.
#pragma once
#include <vector>

#include "passes/analysis/axis_info.h"
#include "tileir/ir.h"

namespace tilewright::passes {

/// What is known of the addresses of a load, store or atomic of a tile, whatever its layout.
struct AccessInfo {
  ir::Type pointer;
  int axis = 0;         // along which addresses follow each other
  int log2_run = 0;     // in aligned runs of so many
  int log2_widest = 0;  // at most so many in one instruction: alignment, masks, 16 bytes
  /// Bits of the flat index between elements that share an address or a sector of 32 bytes.
  std::uint32_t within_sector = 0;
};
/// Requires: the op's first operand is a tile of pointers.
AccessInfo access_info(const ir::Function&, ir::OpId, const AxisInfoAnalysis&);

/// The register bits that count the elements of one access, lowest first: elements that follow each other in memory from a multiple of
/// their number on. Empty: one by one.
std::vector<int> vector_bits(const AccessInfo&, const ir::LinearLayout&);

/// What the access costs a warp, in quarters of an instruction's issue; each sector that an instruction touches costs five, or
/// half of one where another warp has it too, so that it pays to touch whole sectors, and each once.
int access_cost(const AccessInfo&, const ir::LinearLayout&);

}  // namespace tilewright::passes
