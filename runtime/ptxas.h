// Runs NVIDIA's assembler, ptxas, if it is installed. It is optional, since drivers assemble PTX themselves: it gives a kernel's number of
// registers, and machine code for disassemblers.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compiled_kernel.h"

namespace tilewright::rt {

/// The resources of one kernel as ptxas reports them.
struct AssembledKernel {
  std::string name;
  int registers = -1, stack_bytes = -1, spill_store_bytes = -1, spill_load_bytes = -1, shared_bytes = -1, barriers = -1;
  /// Warnings, and numbered remarks on code that is slower than it is written: products that are serialised, setmaxnreg that is ignored.
  /// "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; ...". Those that name no kernel are each kernel's.
  std::vector<std::string> remarks = {};
};

struct Assembled {
  std::string cubin;
  std::vector<AssembledKernel> kernels;
};

/// Whether a remark says that asynchronous products or registers of roles are not what the PTX says. C7519 is harmless: a wait that has no
/// effect.
bool is_performance_fault(std::string_view remark);

/// TILEWRIGHT_PTXAS, else the first ptxas of PATH, else that of /usr/local/cuda. None if TILEWRIGHT_PTXAS cannot be run.
std::optional<std::string> find_ptxas();
/// Why find_ptxas found none.
std::string why_no_ptxas();

/// Throws Error with the output of ptxas if it rejects the text or cannot be run.
Assembled assemble(const std::string& ptxas, const std::string& ptx, const std::string& target);

/// `known`, completed by what ptxas reports of the only kernel of the text; unchanged if there is no ptxas or if it rejects the text.
backend::Resources measured_resources(const std::string& ptx, const std::string& target, backend::Resources known);

}  // namespace tilewright::rt
