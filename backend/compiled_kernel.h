// The result of code generation: bytes, and how to call them. Does not use LLVM, so devices can be tested without the compiler.
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

/// The duration of a phase of a compilation.
struct PhaseTiming {
  std::string phase;  // "passes", "lowering", "llvm", ...
  double ms;
};

/// An access of memory that checked mode can name.
struct AccessSite {
  Location where;
  bool is_store;
  int element_bytes;
  int parameter = -1;  // the parameter from which the address is computed, or -1
  bool is_atomic = false;
  bool needs_alignment = is_atomic;  // to a multiple of its size
};

/// A device_print, or a device_assert of checked mode.
struct ReportSite {
  Location where;
  bool is_print;
  std::string text;                // for a print: its text, with a {} for each operand
  ir::Reason reason{};             // for an assert
  std::vector<ir::Type> operands;  // types of the operands of a report; for an assert the condition, and the mask if there is one
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
  LaunchPlan launch;                // what the host computes at each launch
  std::size_t scratch_bytes = 0;    // host: per thread, 64-byte aligned
  std::vector<AccessSite> sites;    // checked mode: the access that each site number means
  std::vector<ReportSite> reports;  // the report that each site number of HostLaunch::report means
  Resources resources;
  std::vector<std::string> remarks;  // "file:line: ": why the kernel does less than requested, or may be slow
  std::vector<PhaseTiming> timings;
  // These are filled if CompileOptions::keep_text is set.
  std::string tile_ir, llvm_ir, assembly;
};

}  // namespace tilewright::backend
