// Programs whose tiles have layouts chosen by a test, run on the emulator.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/differential.h"
#include "tests/fuzz/program.h"
#include "tileir/layout/linear_layout.h"
#include "tileir/target/target_desc.h"

namespace tilewright::test {

/// Assigns these layouts to tiles, and the same ones to pointers, masks and results that must have the same layout.
void distribute(ir::Function&, const std::map<ir::ValueId, ir::LinearLayout>&);

/// Fails the current test if the machine's memory differs from the interpreter's. The function is distributed over so many warps; or it is
/// not, and the interpreter gets what the target's passes make of it.
void check_on(fuzz::Executor&, const fuzz::Program&, int num_warps, const ir::TargetDesc&);

/// Fails the current test if the emulator's memory differs from the interpreter's, or if it finds fault with the kernel. The function is
/// distributed over so many warps, or is not distributed. GPUs among machines() run it too.
struct Emitted {
  std::string ptx;
  int inner_barriers;  // those within ops, of all threads or of a warp
};
Emitted check_on_emulator(const fuzz::Program&, int num_warps, const std::string& target = "sm_80");

/// A tile of 2^log2_extents elements.
ir::Type tile(ir::Element, const std::vector<int>& log2_extents);

/// How often a piece stands in a text.
int count(const std::string& text, const std::string& piece);

}  // namespace tilewright::test
