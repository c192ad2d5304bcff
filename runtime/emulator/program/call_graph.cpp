// The call graph of one kernel. A call through a pointer may reach every function whose address the module takes.
#include "runtime/emulator/program/call_graph.h"

#include <algorithm>

#include "runtime/emulator/program/kernel.h"

namespace tilewright::rt::emulator {
namespace {

template <class F>
void each_name(const Operand& operand, F f) {
  if (operand.kind == OperandKind::symbol) f(operand.name);
  for (const Operand& part : operand.parts) each_name(part, f);
}

bool is_call(const ParsedInstruction& instruction) { return instruction.opcode == "call" || instruction.opcode == "call.uni"; }

bool is_indirect(const ParsedInstruction& instruction) {
  const auto is_register = [](const Operand& operand) { return operand.kind == OperandKind::reg; };
  return is_call(instruction) && std::any_of(instruction.operands.begin(), instruction.operands.end(), is_register);
}

}  // namespace

CallGraph::CallGraph(const Module& module, const Function& kernel) : module_(module) {
  const auto take = [&](std::string_view name) {
    const int number = module.function_named(name);
    if (number >= 0 && module.functions[number].is_defined) pointed_.insert(number);
  };
  for (const Variable& variable : module.variables)
    for (const Relocation& relocation : variable.relocations) take(relocation.symbol);
  for (const Function& function : module.functions)
    for (const ParsedInstruction& instruction : function.instructions)
      if (!is_call(instruction))
        for (const Operand& operand : instruction.operands) each_name(operand, take);
  const int root = module.function_named(kernel.name);
  visit(root);
  std::erase(functions_, root);
  reachable_ = calls_;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [caller, callees] : reachable_) {
      const std::size_t before = callees.size();
      for (int callee : std::set<int>(callees)) callees.insert(reachable_.at(callee).begin(), reachable_.at(callee).end());
      changed |= callees.size() != before;
    }
  }
}

void CallGraph::visit(int function) {
  if (calls_.contains(function)) return;
  functions_.push_back(function);
  std::set<int>& calls = calls_[function];
  for (const ParsedInstruction& instruction : module_.functions[function].instructions) {
    if (is_indirect(instruction)) calls.insert(pointed_.begin(), pointed_.end());
    for (const Operand& operand : instruction.operands)
      each_name(operand, [&](std::string_view name) {
        names_.insert(name);
        const int callee = is_call(instruction) ? module_.function_named(name) : -1;
        if (callee >= 0 && module_.functions[callee].is_defined) calls.insert(callee);
      });
  }
  for (int callee : calls) visit(callee);
}

u64 CallGraph::stack_below(int function, const std::map<int, u64>& frame_bytes, std::map<int, u64>& known) const {
  // Recursive calls add nothing: kRecursionBytes are reserved for their stack.
  const auto [found, is_new] = known.try_emplace(function, 0);
  if (!is_new) return found->second;
  u64 deepest = 0;
  for (int callee : calls_.at(function)) {
    const u64 frame = frame_bytes.at(callee) + kReturnBytes + kFrameAlignment;
    deepest = std::max(deepest, frame + stack_below(callee, frame_bytes, known));
  }
  return known[function] = deepest;
}

u64 CallGraph::stack_bytes(const std::map<int, u64>& frame_bytes) const {
  u64 bytes = 0;
  std::map<int, u64> known;
  for (const auto& [caller, callees] : calls_) bytes = std::max(bytes, stack_below(caller, frame_bytes, known));
  const bool nests = std::any_of(functions_.begin(), functions_.end(), [&](int function) { return may_nest(function); });
  return bytes + (nests ? kRecursionBytes : 0);
}

}  // namespace tilewright::rt::emulator
