// Translates one instruction from text to a function and slots: the interface for the decoders of the instruction families.
#pragma once
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/program/kernel.h"

namespace tilewright::rt::emulator {

/// The addresses of the names that a kernel uses.
struct Symbols {
  struct Address {
    Space space;
    u64 address;
  };
  std::map<std::string_view, Address> addresses;
  bool in_function = false;  // local addresses are offsets in the frame of a call
};

/// A use or definition of a register in the decoded code, recorded until registers have slots. Values are the function's registers,
/// followed by constants and special registers of the kernel, all numbered by the decoder.
struct OperandUse {
  u32 instruction;
  u32 field;  // an index of Instruction::slot, kGuardField or kMembersField; above these: an index of Kernel::extra
  u32 value;
  bool is_write;
  bool is_address = false;  // it is the base of an address
};

/// A register, constant or special register that instructions use.
struct Value {
  enum Kind : u8 { reg, constant, special, frame } kind = reg;  // frame: an address in the frame of a call, at offset `bits`
  u8 bytes = 4;  // bytes in a slot: 2, 4, 8 or 16; 4 for a predicate, whose slot holds one bit for each lane
  bool is_predicate = false;
  u64 bits = 0;
  Special which = Special::tid_x;
};

class Decoder {
 public:
  Decoder(const Module& module, const Function& function, const Symbols& symbols, Kernel& kernel);

  // --- before and after a decoder of instructions.def (instruction_table.h) ---
  /// Begins an instruction: splits its opcode, and takes so many modifiers, which its row names. None: it has no row, which is an error.
  void begin(const ParsedInstruction&, std::optional<std::size_t> modifiers_of_row);
  /// Adds the decoded instruction to the kernel.
  void finish();

  // --- modifiers: each is taken once, in any order; one that is not taken is an error ---
  std::string_view base() const { return base_; }
  bool take(std::string_view modifier);
  /// Whether the text has the modifier, whether or not it was taken.
  bool has(std::string_view modifier) const;
  /// The index of the modifier that is present; -1 if none is.
  int take_one(std::initializer_list<std::string_view> modifiers);
  /// As above; it is an error if none is present.
  int take_one(std::initializer_list<std::string_view> modifiers, const char* error);
  /// Takes the next modifier that names a type.
  Type take_type();
  std::optional<Type> try_type();
  /// As take_type(), if only one type is valid.
  void expect_type(Type);
  /// The last modifier that names a type, without taking it: the type in which an instruction computes.
  std::optional<Type> last_type() const;
  const std::vector<std::string_view>& modifiers() const { return modifiers_; }

  // --- operands ---
  std::size_t operands() const { return parsed_->operands.size(); }
  const Operand& operand(std::size_t k) const;
  void expect_operands(std::size_t least, std::size_t most);
  void expect_operands(std::size_t count) { expect_operands(count, count); }
  /// Makes the operand the destination or source in field `slot`, as a register of this many bytes (0: a predicate).
  void destination(int slot, const Operand&, int bytes);
  void source(int slot, const Operand&, int bytes, std::optional<Type> type = std::nullopt);
  /// All operands: the destination in slot 0, and the sources from slot 1 on.
  void take_operands(int destination_bytes, const std::vector<int>& source_bytes, std::optional<Type> type = std::nullopt);
  void members(const Operand&);  // the member mask of a collective
  /// As above for an additional slot in Kernel::extra; the first one sets Instruction::first.
  void extra_destination(const Operand&, int bytes);
  void extra_source(const Operand&, int bytes, std::optional<Type> type = std::nullopt);
  /// An integer that must be a literal in the text.
  u64 constant(const Operand&) const;
  /// The index in Kernel::code of an instruction of the function.
  u32 instruction(u32 of_function) const { return first_ + of_function; }
  u32 label(const Operand&) const;
  /// Decodes `[base + offset]`: the base goes into `slot`, the offset into Instruction::immediate.
  void address(int slot, const Operand&);
  /// Whether the address is that of a parameter or result of a call, which are in local memory.
  bool is_in_frame(const Operand& address) const;
  int bytes_of_register(const Operand&) const;  // 0 for a predicate
  bool is_register(const Operand& operand) const { return operand.kind == OperandKind::reg; }

  [[noreturn]] void fail(const std::string& message) const;

  Instruction out;  // the decoded instruction
  /// The options that the handler needs: a struct of the instruction family, default-constructed at the first call.
  template <class T>
  T& options() {
    return out.payload.edit<T>();
  }
  const Module& module() const { return module_; }
  const Function& function() const { return function_; }
  bool in_function() const { return symbols_.in_function; }
  const Symbols& symbols() const { return symbols_; }
  Kernel& kernel() { return kernel_; }
  /// Makes field `slot` the start of the frame of the current call, a 64-bit register; it is 0 in the kernel itself.
  void frame(int slot);
  /// Adds a branch's target to Kernel::extra.
  void extra_target(u32 instruction);
  const std::vector<OperandUse>& uses() const { return uses_; }
  const std::vector<Value>& values() const { return values_; }

 private:
  u32 value_of(const Operand&, int bytes, std::optional<Type> type);
  u32 constant_value(u64 bits, u8 bytes, bool is_predicate);
  u32 frame_value(u64 offset, u8 bytes);
  void add_use(u32 field, u32 value, bool is_write);
  void add_extra(u32 value, bool is_write);
  std::string text_of(const Operand&) const;

  const Module& module_;
  const Function& function_;
  const Symbols& symbols_;
  Kernel& kernel_;
  u32 first_;  // index of the function's first instruction
  const ParsedInstruction* parsed_ = nullptr;
  std::string_view base_;
  std::vector<std::string_view> modifiers_;
  std::vector<bool> taken_;
  std::vector<OperandUse> uses_;
  std::vector<Value> values_;
  std::map<std::pair<u64, u32>, u32> constants_;
  std::map<Special, u32> specials_;
  std::map<std::pair<u64, u8>, u32> frames_;
};

}  // namespace tilewright::rt::emulator
