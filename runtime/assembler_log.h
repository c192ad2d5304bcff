// Parses what NVIDIA's assembler reports about kernels: the output of `ptxas -v`, or the log of the driver, which contains it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::rt {

/// The resources of one kernel as the assembler reports them; -1: not reported.
struct AssembledKernel {
  std::string name;
  int registers = -1, stack_bytes = -1, spill_store_bytes = -1, spill_load_bytes = -1, shared_bytes = -1, barriers = -1;
  /// Warnings, and numbered remarks about code that is slower than written: products that are serialised, setmaxnreg that is ignored.
  /// "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; ...". A remark that names no kernel is added to every kernel.
  std::vector<std::string> remarks = {};
};

/// Reads lines of `ptxas -v`:
///   ptxas info    : Compiling entry function 'add' for 'sm_80'
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 12 registers, used 1 barriers, 16 bytes smem, 384 bytes cmem[0]
std::vector<AssembledKernel> read_assembler_log(std::string_view log);

/// The remarks of the kernel and, if it spills, one about the spills. `assembler`: "ptxas".
std::vector<std::string> remarks_of(const AssembledKernel&, std::string_view assembler);

/// Whether a remark says that asynchronous products, or the registers of roles, do not work as the PTX asks. C7519 is harmless: it is about
/// a wait without effect.
bool is_performance_fault(std::string_view remark);

}  // namespace tilewright::rt
