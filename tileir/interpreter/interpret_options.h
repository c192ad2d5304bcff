// The options of a run by the interpreter, and the functions by which it reports to its caller.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

/// The value of a tile: one 64-bit word an element, row-major, the element's bits in the low end (a pointer: its address).
struct TileValue {
  Type type;
  std::vector<std::uint64_t> bits;
};

/// An output of a program: a device_print, or a device_assert that failed.
struct Report {
  OpId op;
  std::array<std::int32_t, 3> program;
  std::vector<const TileValue*> operands;  // the operands of a print
  std::int64_t lane = -1;                  // the first failing lane of an assert, row-major
};

struct InterpretOptions {
  std::array<std::int32_t, 3> grid{1, 1, 1};
  ReductionOrder reduction;
  /// Called before each access of a lane; if it returns false, the access is skipped (a load gives 0). Absent: every access happens.
  std::function<bool(std::uint64_t address, int bytes, bool is_store, OpId)> may_access;
  /// Called before each program with its id.
  std::function<void(std::array<std::int32_t, 3> id)> begin_program;
  /// Absent: nothing is printed, and asserts are not checked.
  std::function<void(const Report&)> report;
  /// Roles of a program take turns at waits, arrivals and barriers: in their order if 0, else in a random order with this seed.
  std::uint64_t role_seed = 0;
  /// At most this many ops are executed in one program; then Error. Guards fuzzers against endless loops.
  std::uint64_t max_ops = 1ull << 32;
};

}  // namespace tilewright::ir
