// NVIDIA's assembler, ptxas, where it is installed. Nothing needs it to make or to launch PTX, which drivers assemble themselves: it says
// how many registers a kernel takes, and makes the machine code that disassemblers read.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"

namespace tilewright::rt {

/// What ptxas says of one kernel.
struct AssembledKernel {
  std::string name;
  int registers = -1, stack_bytes = -1, spill_store_bytes = -1, spill_load_bytes = -1, shared_bytes = -1, barriers = -1;
};

struct Assembled {
  std::string cubin;
  std::vector<AssembledKernel> kernels;
};

/// TILEWRIGHT_PTXAS, else the first ptxas of PATH, else that of /usr/local/cuda. None if TILEWRIGHT_PTXAS cannot be run.
std::optional<std::string> find_ptxas();
/// Why find_ptxas found none.
std::string why_no_ptxas();

/// Throws Error with what ptxas said if it refuses the text, or cannot be run.
Assembled assemble(const std::string& ptxas, const std::string& ptx, const std::string& target);

/// `known` with what ptxas says of the only kernel of the text; as it is if there is no ptxas or if that one refuses the text.
backend::Resources measured_resources(const std::string& ptx, const std::string& target, backend::Resources known);

}  // namespace tilewright::rt
