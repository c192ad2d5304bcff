// Chooses the rule for each instruction by its opcode.
#include "runtime/emulator/program/value_flow.h"

#include <algorithm>

#include "runtime/emulator/program/control_flow.h"

namespace tilewright::rt::emulator {
namespace {

bool is_store(Category category) {
  return category == Category::store_global || category == Category::store_shared || category == Category::store_generic;
}

/// The types among the modifiers, in order.
std::vector<Type> types_of(std::string_view opcode) {
  std::vector<Type> types;
  while (!opcode.empty()) {
    const std::size_t end = std::min(opcode.find('.'), opcode.size());
    if (const auto type = type_named(opcode.substr(0, end))) types.push_back(*type);
    opcode.remove_prefix(std::min(end + 1, opcode.size()));
  }
  return types;
}

bool is_pair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::u16x2 || type == Type::s16x2 || type == Type::e4m3x2 ||
         type == Type::e5m2x2;
}
bool is_integer(Type type) { return type >= Type::b8 && type <= Type::s64; }

void choose_conversion_rule(std::string_view opcode, std::span<const Type> types, ValueFlow& flow) {
  if (types.size() < 2 || opcode.starts_with("cvt.pack")) return;
  const Type from = types.back(), to = types[types.size() - 2];
  flow.source_bytes = static_cast<u8>(bytes_of(from));
  if (is_pair(to)) {
    flow.rule = is_pair(from) ? FlowRule::halves : FlowRule::pair;
  } else if (is_integer(to) && is_integer(from) && opcode.find(".sat") == opcode.npos) {
    flow.rule = FlowRule::resize;
    flow.is_signed = is_signed(from);
    flow.result_bytes = static_cast<u8>(bytes_of(to));
    flow.extends_sign = is_signed(to);
  }
}

/// Chooses the rule of an instruction that computes its results only from its sources.
void choose_rule(const Instruction& i, std::string_view opcode, ValueFlow& flow) {
  const auto is = [&](std::string_view prefix) { return opcode.starts_with(prefix); };
  const std::vector<Type> types = types_of(opcode);
  if (types.empty()) return;
  const Type type = types.back();
  flow.is_signed = is_signed(type);
  if (is("cvt.")) return choose_conversion_rule(opcode, types, flow);
  if (is("mov.")) {
    flow.rule = i.extras == 0 ? FlowRule::bytes : i.slot[0] >= 0 ? FlowRule::join : FlowRule::split;
  } else if (is("selp.")) {
    flow.rule = FlowRule::choice;
  } else if (is("and.")) {
    flow.rule = FlowRule::conjunction;
  } else if (is("or.")) {
    flow.rule = FlowRule::disjunction;
  } else if (is("xor.") || is("not.") || is("lop3.")) {
    flow.rule = FlowRule::bytes;
  } else if (is("shl.") || is("shr.")) {
    flow.rule = FlowRule::shift;
    flow.goes_left = is("shl.");
  } else if (is("shf.")) {
    flow.rule = FlowRule::funnel;
    flow.goes_left = is("shf.l.");
    flow.wraps = opcode.find(".wrap") != opcode.npos;
  } else if (is("bfe.")) {
    flow.rule = FlowRule::field;
  } else if (is("bfi.")) {
    flow.rule = FlowRule::insertion;
  } else if (opcode == "prmt.b32") {
    flow.rule = FlowRule::permutation;
  } else if (is_pair(type)) {
    flow.rule = FlowRule::halves;
  } else if (is_integer(type) && opcode.find(".sat") == opcode.npos && opcode.find(".cc") == opcode.npos) {
    if (is("add.") || is("sub.") || is("neg.") || is("mad.lo.") || is("mad.wide.")) flow.rule = FlowRule::upwards;
    if (!is("mul.lo.") && !is("mul.wide.")) return;
    flow.rule = FlowRule::product;
    flow.source_bytes = static_cast<u8>(bytes_of(type));
  }
}

void choose_flow(const Instruction& i, std::string_view opcode, ValueFlow& flow) {
  const auto is = [&](std::string_view prefix) { return opcode.starts_with(prefix); };
  flow.rule = FlowRule::any;
  if (i.kind == Kind::call || i.kind == Kind::leave) {  // parameters and results are passed through memory
    flow.rule = FlowRule::defined;
    return;
  }
  switch (i.category) {
    case Category::load_shared:
    case Category::load_generic: flow.rule = FlowRule::load; return;
    case Category::load_global:
    case Category::load_local:
    case Category::load_param:
    case Category::load_const:
    case Category::async_copy:
    case Category::bulk_copy:
    case Category::fence:
    case Category::atomic: flow.rule = FlowRule::defined; return;
    case Category::matrix: flow.rule = is("mma") || is("wmma.mma") ? FlowRule::any : FlowRule::defined; return;
    case Category::barrier: flow.rule = is("bar") ? FlowRule::group : FlowRule::defined; return;
    case Category::warp: flow.rule = is("shfl") ? FlowRule::shuffle : FlowRule::group; return;
    default: choose_rule(i, opcode, flow);
  }
}

}  // namespace

void find_value_flow(std::span<const Value> values, std::span<const OperandUse> uses, u32 begin, Kernel& kernel) {
  kernel.flows.resize(kernel.code.size());
  for (const Instruction& i : std::span(kernel.code).subspan(begin)) {
    const std::string_view opcode = kernel.opcodes[i.index];
    ValueFlow& flow = kernel.flows[i.index];
    choose_flow(i, opcode, flow);
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
