// The result of code generation: bytes and how to call them. No LLVM here, so that devices can be tested without the compiler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/launch_recipe.h"
#include "tileir/attributes.h"
#include "tileir/type.h"
#include "tilewright/error.h"

namespace tilewright::backend {

/// How long a phase of a compilation took.
struct PhaseTiming {
  std::string phase;  // "passes", "lowering", "llvm", ...
  double ms;
};

/// An access of memory that checked mode can name.
struct AccessSite {
  Location where;
  bool is_store;
  int element_bytes;
  int parameter = -1;  // that the address is computed from, or -1
  bool is_atomic = false;
  bool needs_alignment = is_atomic;  // to its size
};

/// A device_print, or a device_assert of checked mode.
struct ReportSite {
  Location where;
  bool is_print;
  std::string text;                // of a print with a {} for each operand
  ir::Reason reason{};             // of an assert
  std::vector<ir::Type> operands;  // what a report points to; of an assert the condition, and the mask if there is one
};

struct Resources {
  int registers = -1, spill_bytes = -1, shared_bytes = -1, num_warps = -1;
};

struct CompiledKernel {
  enum class Format { elf, ptx };
  std::string name;
  std::string entry;   // symbol of the entry point
  std::string target;  // "cpu:x86-64-v4", "sm_90a"
  Format format = Format::elf;
  std::vector<std::byte> image;     // relocatable ELF object, or PTX text
  std::vector<ir::Type> params;     // all scalars; pointers take 8 bytes
  LaunchPlan launch;                // what the host makes at each launch
  std::size_t scratch_bytes = 0;    // host: per thread, 64-byte aligned
  std::vector<AccessSite> sites;    // checked: what a site number means
  std::vector<ReportSite> reports;  // likewise of HostLaunch::report
  Resources resources;
  std::vector<std::string> remarks;  // "file:line: ": where it does less than the program asks for, or can be seen to be slow
  std::vector<PhaseTiming> timings;
  // Filled if CompileOptions::keep_text.
  std::string tile_ir, llvm_ir, assembly;
};

}  // namespace tilewright::backend
