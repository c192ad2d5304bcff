// Makes mutants of a PTX kernel: removes or weakens one barrier, wait, fence or guard at a time.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/module.h"

namespace tilewright::test {

using rt::emulator::u32;

enum class Weakening {
  barrier_removed,  // a barrier of a block or a cluster, or an object in memory
  warp_barrier_removed,
  fence_removed,
  commit_removed,     // the commit of a group of asynchronous work
  wait_weakened,      // for one group more to be left open, or not at all
  phase_not_awaited,  // a test of an mbarrier says at once that the phase is over
  phase_mistaken,     // it asks for the other parity
  arrival_removed,    // at an mbarrier
  arrivals_miscounted,
  bytes_miscounted,  // an mbarrier expects half or twice as many bytes
  guard_removed,     // the predicate of an access or a branch past it, the size that a copy reads, or the election of a lane
  bound_shifted,     // a comparison of integers takes one more, or one less
  mask_narrowed,     // lane 31 is not a member of a collective; blocks of a cluster get no copy
  order_relaxed,     // acquire and release become relaxed
  scope_narrowed,    // acquire and release have block scope
};
const char* name_of(Weakening);

struct Mutant {
  Weakening weakening;
  u32 instruction = 0;                 // index in the function
  int line = 0;                        // line in the PTX
  std::string before;                  // the instruction, with single blanks
  std::string after;                   // the text that replaces it; empty: nothing
  std::string probe;                   // traps before the instruction in a lane where the mutant differs; empty: always differs
  std::size_t offset = 0, length = 0;  // the place in the module's text
};

/// All mutants of a kernel, in the order of its instructions. Requires: the module defines it.
std::vector<Mutant> mutants_of(const rt::emulator::Module&, std::string_view kernel);

/// The module's text with this mutant in it. Lines stay where they are.
std::string mutated_text(const rt::emulator::Module&, const Mutant&);

}  // namespace tilewright::test
