// The state of one program in the reference interpreter, with a method for every op. Private to the interpreter.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tileir/interpreter/interpreter.h"

namespace tilewright::ir {

struct ScanOrder;

class Interpreter {
 public:
  Interpreter(const Function&, const InterpretOptions&);
  void run_program(std::span<const std::uint64_t> arguments, std::array<std::int32_t, 3> id);

 private:
  using Words = std::vector<std::uint64_t>;

  const Type& type(ValueId v) const { return values_[v.index].type; }
  Words& words(ValueId v) { return values_[v.index].bits; }
  /// The words of an op's result, as many as it has elements.
  Words& result(OpId, int i = 0);
  std::uint64_t scalar(ValueId v) { return words(v)[0]; }
  std::int64_t scalar_integer(ValueId);

  void run(BlockId);
  void execute(OpId);

  // void run_flip(OpId); and so on, for ops that are not element-wise. An op of the table without one does not link.
#define TW_ELEMENTWISE_OP(name)
#define TW_OTHER_OP(name) void run_##name(OpId);
#include "tileir/dispatch.def"
  void run_lanes(OpId);

  // interpreter_shape.cpp
  void interleave(OpId, std::int64_t block);
  void read_strided(OpId, const std::vector<std::int64_t>& step);

  // interpreter_memory.cpp
  bool may_access(std::uint64_t address, int size, bool is_store, OpId) const;
  /// Atomics: update(old, value, lane) returns the new value.
  template <class F>
  void run_atomic(OpId, F&& update);
  std::uint64_t combined(OpId, std::uint64_t old, std::uint64_t value, OpKind);

  // interpreter_tiles.cpp
  /// Combines the words of `earlier` and `later`, one for each tile of the op, into `earlier`, by the op's region.
  void combine(OpId, std::uint64_t* earlier, const std::uint64_t* later);
  /// Scans the elements of a row, of each tile of the op one after the other.
  void scan_row(OpId, Words& elements, const ScanOrder&);

  // interpreter_control.cpp
  /// target[i] = source[i], all at once: a loop may yield its carried values in another order.
  void copy(std::span<const ValueId> source, std::span<const ValueId> target);
  std::span<const ValueId> yielded(BlockId b) const { return f_.op(f_.terminator(b)).operands; }

  const Function& f_;
  const InterpretOptions& options_;
  std::vector<TileValue> values_;
  std::array<std::int32_t, 3> id_{};
  std::uint64_t executed_ = 0;
};

/// The row-major distance between neighbours along each axis.
std::vector<std::int64_t> strides(const Type&);

}  // namespace tilewright::ir
