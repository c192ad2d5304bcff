// The state of one trace: the function that is being recorded, and the table of handles that name its values.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tileir/builder.h"
#include "tilewright/ops/control.h"

namespace tilewright::detail {

/// Throws Error at the user's line.
[[noreturn]] void fail(const Here&, const std::string& message, const std::vector<Note>& notes = {});

class Trace {
 public:
  /// A trace of a function without parameters, which is current on this thread while it lives.
  explicit Trace(const std::string& name);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The current trace of this thread. Throws Error if there is none or if a body was left early. `what`: the operation, for the message.
  static Trace& current(std::string_view what, const Here&);
  /// The current trace, or null if there is none; for destructors.
  static Trace* active() { return current_; }

  /// The builder. Ops that it adds get this line.
  ir::Builder& builder(const Here&);
  ir::BlockId block() const { return builder_.block(); }
  ir::Function& function() { return function_; }
  ir::Function take() { return std::move(function_); }

  /// The value that a handle names. Throws Error if the handle is empty, belongs to another trace, or was made in a loop or branch that
  /// ended.
  ir::ValueId value(const Handle&, std::string_view what, std::string_view operand, const Here&) const;
  /// Whether a value may be used at the end of a block. It is false for no value and for half_assigned().
  bool usable(ir::ValueId, ir::BlockId) const;
  /// A marker instead of a value, for a variable that got its first value in only one branch of a when. Using it is an error that names the
  /// when.
  ir::ValueId half_assigned(const Here& when);

  // ---- variables ----
  /// Every handle of this trace, oldest first.
  std::vector<Variable> variables() const;
  /// The present handle of a variable, or null if it was destroyed. `among`: all variables of that time. If the variable was moved, its new
  /// handle is searched among the newer handles.
  const Handle* find(const Variable&, std::span<const Variable> among) const;
  static ir::ValueId value_of(const Handle& h) { return {h.value_}; }
  static void set(const Handle& h, ir::ValueId v) { h.value_ = v.index; }
  /// Makes handles that name a key of the map name the mapped value.
  void rename(const std::unordered_map<std::uint32_t, std::uint32_t>&);

  // ---- bodies left early ----
  struct Broken {
    Location where;
    std::string what;  // "loop", "when"
  };
  /// Records that a body was left before its end. Nothing can be traced any more.
  void leave_early(const Here&, std::string what);
  const std::optional<Broken>& broken() const { return broken_; }
  [[noreturn]] void report_broken(const std::string& how) const;

 private:
  friend class Handle;
  static Trace* alive(std::uint32_t serial);
  /// Removes a destroyed handle from its trace, which may be in another thread.
  static void forget(const Handle&) noexcept;
  void enter(Handle&, std::uint32_t value, std::uint32_t variable);

  static thread_local Trace* current_;
  Trace* outer_;
  std::uint32_t serial_;
  ir::Function function_;
  ir::Builder builder_;
  const char* last_file_ = nullptr;
  std::uint32_t last_file_index_ = 0;
  std::vector<const Handle*> handles_;  // by slot; null if the slot is free
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t next_variable_ = 1;
  std::vector<Location> half_assigned_;
  std::optional<Broken> broken_;
};

}  // namespace tilewright::detail
