// The names of a plan, and the arguments that a run gives for them.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/fusion/sequence/kernel_sequence.h"
#include "runtime/device.h"
#include "runtime/plan/run_call.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// A name that run() accepts.
struct Slot {
  enum class Kind : std::uint8_t { input, output, scalar, symbol };
  Kind kind{};
  std::string name;
  ir::Element element{};     // not used for a symbol
  int buffer = -1;           // input or output: the index of the sequence's buffer, or -1 if no kernel uses the input
  std::uint32_t symbol = 0;  // the number of a symbol
  bool is_needed = true;
  bool is_parameter = false;
  Location where;  // its declaration; line 0 if that is not known
};

/// The argument that a run has for a name: given now, or kept from an earlier run.
struct Binding {
  enum class State : std::uint8_t { none, given, kept } state = State::none;
  RunValue value;  // without its buffer
  std::uint64_t address = 0;
  std::int64_t count = 0;  // elements from the offset to the end of the buffer
  std::uint64_t bits = 0;  // a scalar's value in its element type
  bool is_there() const { return state != State::none; }
};

/// The bindings of one run at a time. Parameters are kept for later runs.
class Bindings {
 public:
  Bindings(const graph::Graph&, const passes::fusion::KernelSequence&);

  const std::vector<Slot>& slots() const { return slots_; }
  const Binding& operator[](std::size_t slot) const { return bindings_[slot]; }
  /// The slot of one of the sequence's buffers, or of a scalar by name; -1 if there is none.
  int slot_of_buffer(int buffer) const { return slot_of_buffer_[static_cast<std::size_t>(buffer)]; }
  int find(std::string_view name) const;

  /// Binds the arguments. Throws Error for unknown, repeated and missing names, for wrong element types and devices, for memory that is not
  /// aligned to its elements, and for const buffers of outputs.
  void bind(std::span<const RunArgument>, const rt::Device&, const RunCall&);
  /// Keeps the parameters of this run, so that later runs may leave them out. Called when the run is sure to be launched.
  void keep_parameters();

 private:
  void add(Slot);
  void bind_number(const Slot&, Binding&, const RunCall&) const;
  void bind_memory(const Slot&, Binding&, const RawBuffer*, const rt::Device&, const RunCall&) const;
  void expect_all(const RunCall&);
  [[noreturn]] void fail_unknown(const std::string& name, const RunCall&) const;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::vector<Slot> slots_;
  std::vector<Binding> bindings_, kept_;  // by slot
  std::vector<int> slot_of_buffer_;
  std::unordered_map<std::string, int, Hash, std::equal_to<>> by_name_;
};

/// For example "input 'x'" or "output 'y'".
std::string text_of(const Slot&);
/// A note that names the declaration, if it is known.
std::vector<Note> declaration_of(const Slot&);

}  // namespace tilewright::detail
