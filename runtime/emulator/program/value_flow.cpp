// Chooses the rule of each instruction by its name.
#include "runtime/emulator/program/value_flow.h"

#include "runtime/emulator/program/control_flow.h"

namespace tilewright::rt::emulator {
namespace {

bool is_store(Category category) {
  return category == Category::store_global || category == Category::store_shared || category == Category::store_generic;
}

FlowRule rule_of(const Instruction& i, std::string_view opcode) {
  const auto is = [&](std::string_view prefix) { return opcode.starts_with(prefix); };
  if (i.kind == Kind::call || i.kind == Kind::leave) return FlowRule::defined;  // parameters and results pass through memory
  switch (i.category) {
    case Category::load_shared:
    case Category::load_generic: return FlowRule::load;
    case Category::load_global:
    case Category::load_local:
    case Category::load_param:
    case Category::load_const:
    case Category::async_copy:
    case Category::bulk_copy:
    case Category::fence:
    case Category::atomic: return FlowRule::defined;
    case Category::matrix: return is("mma") || is("wmma.mma") ? FlowRule::any : FlowRule::defined;
    case Category::barrier: return is("bar") ? FlowRule::group : FlowRule::defined;
    case Category::warp: return is("shfl") ? FlowRule::shuffle : FlowRule::group;
    default: break;
  }
  if (is("selp")) return FlowRule::choice;
  if (is("and")) return FlowRule::conjunction;
  if (is("or")) return FlowRule::disjunction;
  return is("mov") || is("cvt") || is("prmt") ? FlowRule::all : FlowRule::any;
}

}  // namespace

void find_value_flow(std::span<const Value> values, std::span<const OperandUse> uses, u32 begin, Kernel& kernel) {
  kernel.flows.resize(kernel.code.size());
  for (const Instruction& i : std::span(kernel.code).subspan(begin)) {
    const std::string_view opcode = kernel.opcodes[i.index];
    ValueFlow& flow = kernel.flows[i.index];
    flow.rule = rule_of(i, opcode);
    flow.stores =
        is_store(i.category) || i.category == Category::atomic || opcode.starts_with("st.async") || opcode.starts_with("red.async");
    flow.has_effect = flow.stores || i.kind != Kind::plain || i.category == Category::barrier || i.category == Category::fence ||
                      i.category == Category::async_copy || i.category == Category::bulk_copy;
  }
  for (const OperandUse& use : uses) {
    const Value& value = values[use.value];
    if (value.kind != Value::reg) continue;
    const Instruction& i = kernel.code[use.instruction];
    ValueFlow& flow = kernel.flows[use.instruction];
    if (flow.count++ == 0) flow.first = static_cast<u32>(kernel.flow_operands.size());
    const bool is_address = use.is_address || (i.kind == Kind::call && use.field == 1);
    const u8 bytes = value.is_predicate ? u8{0} : value.bytes;
    kernel.flow_operands.push_back({slot_of(kernel, use), use.field, bytes, use.is_write, is_address});
  }
}

}  // namespace tilewright::rt::emulator
