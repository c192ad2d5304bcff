// Counts of the work of a launch, for each instruction of a kernel and in sum.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/program/program.h"

namespace tilewright::rt::emulator {

/// The counts of one instruction. `units`: 32-byte sectors for global and local memory, and wavefronts of 128 bytes for shared memory;
/// `ideal`: their number if the same bytes were adjacent and in different banks.
struct Count {
  u64 executed = 0;  // by warps with an active lane
  u64 lanes = 0;
  u64 requests = 0, units = 0, ideal = 0, bytes = 0;

  void add(const Count& other);
};

struct KernelCounters {
  std::vector<Count> instructions;                            // in the order of Kernel::code
  std::shared_ptr<const std::vector<InstructionInfo>> infos;  // one for each instruction
  u64 launches = 0, blocks = 0;
  u64 threads = 0, shared_bytes = 0;  // of a block, in the last launch
  int registers = 0;                  // registers of a thread that are live at the same time in the PTX

  /// Adds the counts of further launches of the kernel.
  void add(const KernelCounters&);

  /// The sum over all instructions of a category.
  Count of(Category) const;
  Count total() const;
  /// The multiply-adds of matrix instructions.
  u64 matrix_products() const;
  /// The lines of the PTX whose instructions were never executed.
  std::vector<int> never_ran() const;
};

/// The unit in which accesses of a category are counted.
enum class Traffic { none, sectors, wavefronts };
Traffic traffic_of(Category);

/// The counts of the instructions of one source line.
struct LineCount {
  u64 executed = 0;
  Count sectors, wavefronts;
};
/// Counts by file and line, ("", 0) for instructions without a line; lines without executed instructions are left out.
std::map<std::pair<std::string, int>, LineCount> line_counts(const KernelCounters&);

/// The counters of all kernels.
struct Counters {
  /// By name. Kernels with the same name, such as specializations, have an entry each; only the most recently launched ones are kept.
  std::multimap<std::string, KernelCounters, std::less<>> kernels;

  /// Adds the counts of further launches of a kernel.
  void add(const std::string& name, const KernelCounters&);
  /// The counters of the last kernel with a name. Requires: it was launched.
  const KernelCounters& of(std::string_view name) const;
};

/// A report for people, in lines that begin with two blanks: the instruction mix, memory traffic by space, instructions that never ran, an
/// estimate of time for this number of registers of a thread (see roofline.h), and counts for each source line.
std::string report_text(const KernelCounters&, int registers = 0);

}  // namespace tilewright::rt::emulator
