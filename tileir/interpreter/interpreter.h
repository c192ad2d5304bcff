// The reference meaning of tile IR: slow and obvious. One program at a time, memory as the host's own.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tileir/ir.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

/// The value of a tile: one 64-bit word an element, row-major, the element's bits in the low end (a pointer: its address).
struct TileValue {
  Type type;
  std::vector<std::uint64_t> bits;
};

/// What a program says to the outside: a device_print, or a device_assert that does not hold.
struct Report {
  OpId op;
  std::array<std::int32_t, 3> program;
  std::vector<const TileValue*> operands;  // of a print
  std::int64_t lane = -1;                  // of an assert: the first at fault, row-major
};

struct InterpretOptions {
  std::array<std::int32_t, 3> grid{1, 1, 1};
  ReductionOrder reduction;
  /// Asked before each access of a lane; false: the access does not happen (a load gives 0). Absent: every access happens.
  std::function<bool(std::uint64_t address, int bytes, bool is_store, OpId)> may_access;
  /// Called before each program with its id.
  std::function<void(std::array<std::int32_t, 3> id)> begin_program;
  /// Absent: nothing is printed, and asserts are passed over.
  std::function<void(const Report&)> report;
  /// Roles of a program take turns at waits, arrivals and barriers: 0: in their order, else in a random order of this seed.
  std::uint64_t role_seed = 0;
  /// At most this many ops are executed in one program; then Error. Guards fuzzers against endless loops.
  std::uint64_t max_ops = 1ull << 32;
};

/// Runs every program of the grid, in order of the linear program id (axis 0 fastest). `arguments`: one word a parameter.
void interpret(const Function&, std::span<const std::uint64_t> arguments, const InterpretOptions& = {});

/// One element-wise op on one lane: the meaning that folding and the interpreter share. `operands` are bits, with their types.
/// cast and bitcast take the result's type from `result`.
std::uint64_t evaluate_scalar(OpKind, std::span<const Type> operand_types, std::span<const std::uint64_t> operands, Type result);

}  // namespace tilewright::ir
