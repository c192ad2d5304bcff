// Finds the functions that a kernel may call, also through pointers, and how deep calls nest.
#pragma once
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/module.h"

namespace tilewright::rt::emulator {

class CallGraph {
 public:
  CallGraph(const Module&, const Function& kernel);

  /// Numbers in Module::functions, not including the kernel.
  const std::vector<int>& functions() const { return functions_; }
  /// Whether the kernel or one of the functions uses a name.
  bool mentions(std::string_view name) const { return names_.contains(name); }
  /// Whether the function may be called before it has returned.
  bool may_nest(int function) const { return reachable_.at(function).contains(function); }
  /// Bytes of local memory for the deepest chain of calls, plus kRecursionBytes if functions may nest without limit.
  u64 stack_bytes(const std::map<int, u64>& frame_bytes) const;

  static constexpr u64 kRecursionBytes = 16 << 10;

 private:
  void visit(int function);
  u64 stack_below(int function, const std::map<int, u64>& frame_bytes, std::map<int, u64>& known) const;

  const Module& module_;
  std::set<int> pointed_;                   // functions whose addresses are taken
  std::map<int, std::set<int>> calls_;      // including those of the kernel
  std::map<int, std::set<int>> reachable_;  // by one or more calls
  std::vector<int> functions_;
  std::set<std::string_view> names_;
};

}  // namespace tilewright::rt::emulator
