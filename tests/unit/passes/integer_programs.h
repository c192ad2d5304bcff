// Random programs over tiles of integers, pointers and bools, some of whose values are observed: for tests of what passes and analyses
// say of index arithmetic. Every integer element takes part, and 8- and 16-bit ones wrap all the time.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::test {

/// One value of a program, and where the program leaves it: once for each time it was computed, row-major.
struct Observed {
  ir::ValueId value;
  int param = 0;  // which parameter points to the buffer
};

struct IntegerProgram {
  ir::Function f{"random"};
  std::vector<std::uint64_t> scalars;  // what the parameters that are no buffers are called with; 0 for buffers
  std::vector<Observed> observed;
};

/// `share`: the part of the values that is observed.
IntegerProgram random_integer_program(std::uint32_t seed, double share);

/// How often a value in nested loops is computed at most.
inline constexpr int kMaxTrips = 16;

/// What a run left: for each observed value, the elements of each time it was computed; bits zero-extended to 64.
using Trace = std::vector<std::vector<std::vector<std::uint64_t>>>;
/// Runs `f`, which is the program's function or what a pass made of it.
Trace run(const IntegerProgram&, const ir::Function& f);

}  // namespace tilewright::test
