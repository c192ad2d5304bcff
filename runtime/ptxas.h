// Runs NVIDIA's assembler, ptxas, if it is installed. It is optional, since drivers assemble PTX themselves: it reports a kernel's number
// of registers, and makes machine code for disassemblers.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compiled_kernel.h"
#include "runtime/assembler_log.h"

namespace tilewright::rt {

struct Assembled {
  std::string cubin;
  std::vector<AssembledKernel> kernels;
};

/// TILEWRIGHT_PTXAS, else the first ptxas in PATH, else the one in /usr/local/cuda. None if TILEWRIGHT_PTXAS cannot be executed.
std::optional<std::string> find_ptxas();
/// Why find_ptxas() found none.
std::string why_no_ptxas();

/// Throws Error with the output of ptxas if it rejects the text or cannot be executed.
Assembled assemble(const std::string& ptxas, const std::string& ptx, const std::string& target);

/// What ptxas reports about the only kernel in the text; none if there is no ptxas or if it rejects the text, which is logged.
std::optional<AssembledKernel> assembled_kernel(const std::string& ptx, const std::string& target);

/// `known`, completed by what ptxas reports about the only kernel in the text; unchanged if there is no ptxas or if it rejects the text.
backend::Resources measured_resources(const std::string& ptx, const std::string& target, backend::Resources known);

}  // namespace tilewright::rt
