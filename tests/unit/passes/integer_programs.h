// Random programs over tiles of integers, pointers and bools, some of whose values are observed, for tests of passes and analyses of
// index arithmetic. All integer types occur; values of 8 and 16 bits wrap often.
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
  int param = 0;  // the parameter that points to the buffer
};

struct IntegerProgram {
  ir::Function f{"random"};
  std::vector<std::uint64_t> scalars;  // the argument of each parameter; 0 for the buffers of observed values
  std::vector<Observed> observed;
};

/// `share`: the part of the values that is observed.
IntegerProgram random_integer_program(std::uint32_t seed, double share);

/// How often a value is computed at most: two nested loops of up to 4 iterations.
inline constexpr int kMaxTrips = 16;

/// The results of a run: for each observed value, its elements each time it was computed; bits are zero-extended to 64.
using Trace = std::vector<std::vector<std::vector<std::uint64_t>>>;
/// Runs `f`, the program's function before or after a pass.
Trace run(const IntegerProgram&, const ir::Function& f);

}  // namespace tilewright::test
