// The state of one program in the reference interpreter, with a method for every op. Private to the interpreter.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
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

  // shared.cpp
  /// An element of a buffer.
  struct Cell {
    std::uint64_t word = 0;
    bool defined = false, in_flight = false;  // in_flight: a copy was started, and is not known to be complete
    bool has_slots = false;                   // of a buffer of several: a wait is between reads and writes of one
    std::uint64_t last_read = 0, last_store = 0;  // the epochs
  };
  std::uint64_t read_cell(OpId, std::uint64_t cell);
  void check_overwrite(OpId, std::uint64_t cell) const;

  // interpreter_control.cpp
  /// target[i] = source[i], all at once: a loop may yield its carried values in another order.
  void copy(std::span<const ValueId> source, std::span<const ValueId> target);
  std::span<const ValueId> yielded(BlockId b) const { return f_.op(f_.terminator(b)).operands; }

  const Function& f_;
  const InterpretOptions& options_;
  std::vector<TileValue> values_;
  std::array<std::int32_t, 3> id_{};
  std::uint64_t executed_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::uint64_t> started_;             // the cells of copies that no async_commit has ended
  std::deque<std::vector<std::uint64_t>> groups_;  // those of groups that may not be complete, the oldest first
  std::uint64_t epoch_ = 1;                        // 1 + how many barriers and waits the program has executed
};

/// The element at an address, its bits in the low end.
std::uint64_t read_element(std::uint64_t address, Element);

/// The row-major distance between neighbours along each axis.
std::vector<std::int64_t> strides(const Type&);

}  // namespace tilewright::ir
