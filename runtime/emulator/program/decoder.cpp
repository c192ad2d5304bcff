// Splits an instruction into modifiers and operands for the decoders of the instruction families.
#include "runtime/emulator/program/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

struct SpecialName {
  std::string_view name;
  Special which;
};

constexpr SpecialName kSpecials[] = {
#define TW_SPECIAL(text, name, of, value) {text, Special::name},
#include "runtime/emulator/program/special_registers.def"
#undef TW_SPECIAL
};

u8 slot_bytes(Type type) { return static_cast<u8>(type == Type::pred ? 4 : std::max(2, bytes_of(type))); }

/// Whether an instruction may change what other warps see; true if unknown. Built-in functions are calls of kind `plain`.
bool may_be_seen(const Instruction& i, std::string_view base) {
  switch (i.category) {
    case Category::barrier: return i.kind != Kind::collective;
    case Category::atomic:
    case Category::matrix:
    case Category::store_global:
    case Category::store_shared:
    case Category::store_generic:
    case Category::async_copy:
    case Category::bulk_copy: return true;
    default: return base == "call" && i.kind == Kind::plain;
  }
}

constexpr auto kNoCategory = static_cast<Category>(kCategories);  // none that a decoder could name

std::string size_text(int bytes) { return bytes == 0 ? "a predicate" : fmt::format("{} bits", bytes * 8); }

}  // namespace

Decoder::Decoder(const Module& module, const Function& function, const Symbols& symbols, Kernel& kernel)
    : module_(module), function_(function), symbols_(symbols), kernel_(kernel), first_(static_cast<u32>(kernel.code.size())) {
  for (const Register& reg : function.registers) {
    Value value;
    value.bytes = slot_bytes(reg.type);
    value.is_predicate = reg.type == Type::pred;
    values_.push_back(value);
  }
}

void Decoder::fail(const std::string& message) const {
  throw Error({module_.name, parsed_->line, 0}, fmt::format("'{}': {}", parsed_->opcode, message));
}

void Decoder::begin(const ParsedInstruction& parsed, std::optional<std::size_t> modifiers_of_row) {
  parsed_ = &parsed;
  out = {};
  out.category = kNoCategory;
  out.index = static_cast<u32>(kernel_.code.size());
  modifiers_.clear();
  std::string_view rest = parsed.opcode;
  base_ = rest.substr(0, rest.find('.'));
  rest.remove_prefix(base_.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    modifiers_.push_back(rest.substr(0, rest.find('.')));
    rest.remove_prefix(modifiers_.back().size());
  }
  if (!modifiers_of_row) fail("unknown instruction");
  taken_.assign(modifiers_.size(), false);
  std::fill_n(taken_.begin(), *modifiers_of_row, true);
  if (parsed.guard.kind != OperandKind::sink) {
    add_use(kGuardField, value_of(parsed.guard, 0, std::nullopt), false);
    out.guard_negated = parsed.guard.negated;
    out.guard = 0;  // a placeholder for the flow graph, which is made before registers have slots
  }
}

void Decoder::finish() {
  for (std::size_t i = 0; i < modifiers_.size(); ++i)
    if (!taken_[i]) fail(fmt::format("unknown modifier '.{}'", modifiers_[i]));
  if (out.execute == nullptr && out.kind == Kind::plain) fail("its decoder chooses no function that executes it (Decoder::out.execute)");
  if (out.category == kNoCategory) {
    if (out.kind == Kind::plain) fail("its decoder names no category (Decoder::out.category)");
    out.category = Category::control;
  }
  out.is_visible = may_be_seen(out, base_);
  kernel_.code.push_back(out);
  kernel_.lines.push_back(parsed_->line);
  kernel_.sources.push_back(parsed_->source);
  kernel_.inlined.push_back(parsed_->inlined);
  kernel_.opcodes.push_back(parsed_->opcode);
}

bool Decoder::take(std::string_view modifier) {
  for (std::size_t i = 0; i < modifiers_.size(); ++i)
    if (!taken_[i] && modifiers_[i] == modifier) return taken_[i] = true;
  return false;
}

bool Decoder::has(std::string_view modifier) const { return std::ranges::find(modifiers_, modifier) != modifiers_.end(); }

int Decoder::take_one(std::initializer_list<std::string_view> modifiers) {
  int k = 0;
  for (std::string_view modifier : modifiers) {
    if (take(modifier)) return k;
    ++k;
  }
  return -1;
}

int Decoder::take_one(std::initializer_list<std::string_view> modifiers, const char* error) {
  const int taken = take_one(modifiers);
  if (taken < 0) fail(error);
  return taken;
}

std::optional<Type> Decoder::try_type() {
  for (std::size_t i = 0; i < modifiers_.size(); ++i)
    if (!taken_[i])
      if (const auto type = type_named(modifiers_[i])) {
        taken_[i] = true;
        return type;
      }
  return std::nullopt;
}

Type Decoder::take_type() {
  if (const auto type = try_type()) return *type;
  fail("a type is missing");
}

void Decoder::expect_type(Type type) {
  if (take_type() != type) fail(fmt::format("no instruction of this type: expected {}", name_of(type)));
}

std::optional<Type> Decoder::last_type() const {
  for (std::size_t i = modifiers_.size(); i-- > 0;)
    if (const auto type = type_named(modifiers_[i])) return type;
  return std::nullopt;
}

const Operand& Decoder::operand(std::size_t k) const {
  if (k >= operands()) fail(fmt::format("operand {} is missing", k + 1));
  return parsed_->operands[k];
}

void Decoder::expect_operands(std::size_t least, std::size_t most) {
  if (operands() >= least && operands() <= most) return;
  fail(fmt::format("{} operands, not {}", operands(), least == most ? std::to_string(least) : fmt::format("{} to {}", least, most)));
}

std::string Decoder::text_of(const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::reg: return function_.registers[operand.index].name();
    case OperandKind::integer: return std::to_string(static_cast<s64>(operand.bits));
    case OperandKind::vector: return "{...}";
    case OperandKind::address: return "[...]";
    case OperandKind::sink: return "_";
    default: return std::string(operand.name);
  }
}

int Decoder::bytes_of_register(const Operand& operand) const {
  if (operand.kind != OperandKind::reg) fail(fmt::format("'{}' is not a register", text_of(operand)));
  const Value& value = values_[operand.index];
  return value.is_predicate ? 0 : value.bytes;
}

void Decoder::add_use(u32 field, u32 value, bool is_write) { uses_.push_back({out.index, field, value, is_write}); }

u32 Decoder::constant_value(u64 bits, u8 bytes, bool is_predicate) {
  if (is_predicate) bits = bits & 1 ? kAllLanes : 0;
  if (bytes < 8) bits &= (u64{1} << (8 * bytes)) - 1;
  const auto [found, is_new] = constants_.try_emplace({bits, bytes * 2u + is_predicate}, static_cast<u32>(values_.size()));
  if (is_new) {
    Value value;
    value.kind = Value::constant;
    value.bytes = bytes;
    value.is_predicate = is_predicate;
    value.bits = bits;
    values_.push_back(value);
  }
  return found->second;
}

u32 Decoder::frame_value(u64 offset, u8 bytes) {
  if (!symbols_.in_function) return constant_value(offset, bytes, false);
  const auto [found, is_new] = frames_.try_emplace({offset, bytes}, static_cast<u32>(values_.size()));
  if (is_new) {
    Value value;
    value.kind = Value::frame;
    value.bytes = bytes;
    value.bits = offset;
    values_.push_back(value);
  }
  return found->second;
}

void Decoder::frame(int slot) { add_use(static_cast<u32>(slot), frame_value(0, 8), false); }

u32 Decoder::value_of(const Operand& operand, int bytes, std::optional<Type> type) {
  const u8 slot = static_cast<u8>(bytes == 0 ? 4 : std::max(bytes, 2));
  const bool is_f32 = type == Type::f32, is_f64 = type == Type::f64;
  switch (operand.kind) {
    case OperandKind::reg: {
      const Value& value = values_[operand.index];
      if (value.is_predicate != (bytes == 0) || value.bytes != slot)
        fail(fmt::format("'{}' is {}, not {}", text_of(operand), size_text(value.is_predicate ? 0 : value.bytes), size_text(bytes)));
      return operand.index;
    }
    case OperandKind::integer:
      if (is_f32 || is_f64) fail(fmt::format("'{}' is not a floating-point constant", text_of(operand)));
      return constant_value(operand.bits, slot, bytes == 0);
    case OperandKind::float32:
      if (is_f64)
        return constant_value(std::bit_cast<u64>(static_cast<double>(std::bit_cast<float>(static_cast<u32>(operand.bits)))), 8, false);
      if (bytes != 4) fail(fmt::format("a constant of 32 bits where {} are expected", size_text(bytes)));
      return constant_value(operand.bits, 4, false);
    case OperandKind::float64:
      if (is_f32) return constant_value(std::bit_cast<u32>(static_cast<float>(std::bit_cast<double>(operand.bits))), 4, false);
      if (bytes != 8) fail(fmt::format("a constant of 64 bits where {} are expected", size_text(bytes)));
      return constant_value(operand.bits, 8, false);
    case OperandKind::symbol: {
      const auto found = symbols_.addresses.find(operand.name);
      const int called = module_.function_named(operand.name);
      if (found == symbols_.addresses.end() && called < 0) fail(fmt::format("'{}' has no address", operand.name));
      if (bytes != 8 && (bytes != 4 || found == symbols_.addresses.end()))
        fail(fmt::format("an address where {} are expected", size_text(bytes)));
      if (found == symbols_.addresses.end()) return constant_value(function_pointer(called), 8, false);
      const u64 address = found->second.address + operand.bits;
      return found->second.space == Space::local ? frame_value(address, slot) : constant_value(address, slot, false);
    }
    case OperandKind::special: {
      for (const auto& [name, which] : kSpecials) {
        if (name != operand.name) continue;
        const u8 own = which == Special::gridid ? 8 : 4;
        if (own != slot && which != Special::gridid) fail(fmt::format("'{}' has 32 bits, not {}", name, size_text(bytes)));
        const auto [found, is_new] = specials_.try_emplace(which, static_cast<u32>(values_.size()));
        if (is_new) {
          Value value;
          value.kind = Value::special;
          value.bytes = own;
          value.which = which;
          value.is_predicate = which == Special::is_explicit_cluster;
          values_.push_back(value);
        }
        return found->second;
      }
      fail(fmt::format("unknown register '{}'", operand.name));
    }
    default: fail(fmt::format("'{}' cannot be an operand here", text_of(operand)));
  }
}

void Decoder::destination(int slot, const Operand& operand, int bytes) {
  if (operand.kind == OperandKind::sink) return;
  if (operand.kind != OperandKind::reg) fail(fmt::format("the destination '{}' is not a register", text_of(operand)));
  add_use(static_cast<u32>(slot), value_of(operand, bytes, std::nullopt), true);
}

void Decoder::source(int slot, const Operand& operand, int bytes, std::optional<Type> type) {
  if (operand.negated) {
    if (bytes != 0) fail(fmt::format("'!{}': only predicates are negated", text_of(operand)));
    out.negated |= static_cast<u8>(1u << slot);
  }
  add_use(static_cast<u32>(slot), value_of(operand, bytes, type), false);
}

void Decoder::take_operands(int destination_bytes, const std::vector<int>& source_bytes, std::optional<Type> type) {
  expect_operands(1 + source_bytes.size());
  destination(0, operand(0), destination_bytes);
  for (std::size_t k = 0; k < source_bytes.size(); ++k) source(static_cast<int>(k) + 1, operand(k + 1), source_bytes[k], type);
}

void Decoder::members(const Operand& operand) { add_use(kMembersField, value_of(operand, 4, Type::b32), false); }

void Decoder::add_extra(u32 value, bool is_write) {
  if (out.extras == 0) out.first = static_cast<u32>(kernel_.extra.size());
  add_use(kExtraField + static_cast<u32>(kernel_.extra.size()), value, is_write);
  kernel_.extra.push_back(kNoSlot);
  ++out.extras;
}

void Decoder::extra_destination(const Operand& operand, int bytes) {
  if (operand.kind == OperandKind::sink) {
    if (out.extras == 0) out.first = static_cast<u32>(kernel_.extra.size());
    kernel_.extra.push_back(kNoSlot);
    ++out.extras;
    return;
  }
  if (operand.kind != OperandKind::reg) fail(fmt::format("the destination '{}' is not a register", text_of(operand)));
  add_extra(value_of(operand, bytes, std::nullopt), true);
}

void Decoder::extra_source(const Operand& operand, int bytes, std::optional<Type> type) {
  add_extra(value_of(operand, bytes, type), false);
}

void Decoder::extra_target(u32 instruction) {
  if (out.extras++ == 0) out.first = static_cast<u32>(kernel_.extra.size());
  kernel_.extra.push_back(static_cast<s32>(instruction));
}

u64 Decoder::constant(const Operand& operand) const {
  if (operand.kind != OperandKind::integer) fail(fmt::format("'{}' has to be an integer constant", text_of(operand)));
  return operand.bits;
}

u32 Decoder::label(const Operand& operand) const {
  if (operand.kind != OperandKind::label) fail("expected a label");
  return instruction(operand.index);
}

bool Decoder::is_in_frame(const Operand& operand) const {
  if (operand.kind != OperandKind::address) return false;
  const Operand& base = operand.parts[0];
  // Only the kernel itself has other parameters.
  if (base.kind != OperandKind::symbol) return symbols_.in_function;
  const auto found = symbols_.addresses.find(base.name);
  return found != symbols_.addresses.end() && found->second.space == Space::local;
}

void Decoder::address(int slot, const Operand& operand) {
  if (operand.kind != OperandKind::address) fail(fmt::format("'{}' is not an address: expected brackets", text_of(operand)));
  const Operand& base = operand.parts[0];
  out.immediate = operand.bits;
  if (base.kind == OperandKind::integer) {
    out.immediate += base.bits;
  } else if (base.kind == OperandKind::symbol) {
    const auto found = symbols_.addresses.find(base.name);
    if (found == symbols_.addresses.end()) fail(fmt::format("'{}' has no address", base.name));
    out.immediate += found->second.address;
    if (symbols_.in_function && found->second.space == Space::local) {
      out.short_address = false;
      frame(slot);
    }
  } else {
    const int bytes = bytes_of_register(base);
    if (bytes != 4 && bytes != 8) fail(fmt::format("the address '{}' is {}, not 32 or 64 bits", text_of(base), size_text(bytes)));
    out.short_address = bytes == 4;
    source(slot, base, bytes);
    uses_.back().is_address = true;
  }
}

}  // namespace tilewright::rt::emulator
