// Counts of what a launch did, for each instruction of a kernel and in sum.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/emulator/program/program.h"

namespace tilewright::rt::emulator {

/// Of one instruction. `units` are 32-byte sectors for global and local memory and wavefronts of 128 bytes for shared memory; `ideal`
/// is how many there would be if the same bytes lay side by side and in different banks.
struct Count {
  u64 executed = 0;  // by warps with an active lane
  u64 lanes = 0;
  u64 requests = 0, units = 0, ideal = 0, bytes = 0;

  void add(const Count& other);
};

struct KernelCounters {
  std::vector<Count> instructions;                   // as in Kernel::code
  std::shared_ptr<const std::vector<Place>> places;  // of each
  u64 launches = 0, blocks = 0;
  u64 threads = 0, shared_bytes = 0;  // of a block, in the last launch
  int registers = 0;                  // of a thread, live at the same time in the PTX

  /// More launches of the kernel.
  void add(const KernelCounters&);

  /// Of all instructions of a category.
  Count of(Category) const;
  Count total() const;
  /// Multiply-adds of matrix instructions.
  u64 matrix_products() const;
  /// Lines of the PTX whose instructions never ran.
  std::vector<int> never_ran() const;
};

/// In what accesses of a category are counted.
enum class Traffic { none, sectors, wavefronts };
Traffic traffic_of(Category);

/// Of the instructions of one line of the source.
struct LineCount {
  u64 executed = 0;
  Count sectors, wavefronts;
};
/// By file and line, ("", 0) for what comes from none; lines of which nothing ran are left out.
std::map<std::pair<std::string, int>, LineCount> line_counts(const KernelCounters&);

/// Of all kernels.
struct Counters {
  /// By name. Kernels of one name, as specializations are, have an entry each, the last ones that were launched.
  std::multimap<std::string, KernelCounters, std::less<>> kernels;

  /// More launches of a kernel.
  void add(const std::string& name, const KernelCounters&);
  /// Those of the last kernel of a name. Requires: it was launched.
  const KernelCounters& of(std::string_view name) const;
};

/// In lines for people, each of which begins with two blanks: the instruction mix, memory traffic by space, what never ran, an estimate of
/// time with so many registers a thread (see roofline.h), and counts for each line of the source.
std::string report_text(const KernelCounters&, int registers = 0);

}  // namespace tilewright::rt::emulator
