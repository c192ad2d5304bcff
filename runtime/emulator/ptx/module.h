// Parsed PTX: functions with resolved registers and labels, and variables with their initial bytes. Instructions are not interpreted yet.
#pragma once
#include <array>
#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

/// A location from .loc; `file` is an index of Module::files; line 0: unknown.
struct SourceLine {
  u32 file = 0, line = 0, column = 0;
  auto operator<=>(const SourceLine&) const = default;
};

enum class OperandKind : u8 {
  reg,      // index: Function::registers
  special,  // name: "%tid.x"
  integer,  // bits: two's complement
  float32,  // bits
  float64,  // bits
  symbol,   // name: a variable, parameter or function
  label,    // index of an instruction
  vector,   // parts: {a, b}
  address,  // parts[0]: the base (reg, symbol or integer); bits: the offset; further parts: what follows a comma in the brackets
  list,     // parts: (a, b), of a call
  pair,     // parts: a|b
  sink,     // _
};

struct Operand {
  OperandKind kind = OperandKind::sink;
  bool negated = false;  // !%p
  u32 index = 0;
  u64 bits = 0;
  std::string_view name;
  std::vector<Operand> parts;
};

struct ParsedInstruction {
  std::string_view opcode;  // with all modifiers
  std::vector<Operand> operands;
  Operand guard;       // sink if there is none
  int line = 0;        // line in the PTX
  SourceLine source;   // in the file that the function is in
  SourceLine inlined;  // location in a function of another file, such as a header, that was inlined there; line 0 if there is none
};

struct Register {
  std::string_view prefix;
  s32 number;  // the number in "%r<10>" declarations; -1: the prefix is the whole name
  Type type;
  std::string name() const { return std::string(prefix) + (number < 0 ? "" : std::to_string(number)); }
};

/// The address of a variable, possibly plus a constant, in the initial bytes of another variable.
struct Relocation {
  u64 offset;
  std::string_view symbol;
  u64 addend;
  int bytes;
  bool generic;
};

struct Variable {
  std::string_view name;
  Space space = Space::global;
  u64 align = 1, bytes = 0;
  bool is_extern = false;  // .extern .shared: the launch sets its size
  int line = 0;
  std::vector<u8> data;  // initial bytes; empty: zeros
  std::vector<Relocation> relocations;
};

struct Parameter {
  std::string_view name;
  Type type = Type::b8;
  u64 offset = 0, align = 1, bytes = 0;
  s32 reg = -1;  // register of the function, if it is declared ".reg"
};

struct Function {
  std::string_view name;
  bool is_entry = false, is_defined = false;
  int line = 0;
  std::vector<Parameter> parameters, results;
  std::vector<Register> registers;
  std::vector<Variable> variables;  // declared in the body, in any scope; all except those in the frame have unique names
  std::vector<std::unique_ptr<const std::string>> own_names;
  std::set<std::string_view> prototypes;  // names of .callprototype and .calltargets
  std::vector<ParsedInstruction> instructions;
  std::map<std::string, std::vector<u32>, std::less<>> branch_targets;  // .branchtargets: label -> instructions
  std::array<u32, 3> required_threads{}, maximum_threads{};             // 0: not specified
  std::array<u32, 3> required_cluster{};
  u32 maximum_registers = 0, blocks_a_processor = 0;  // 0: not specified
};

struct Module {
  std::unique_ptr<const std::string> text;  // the views point into this text
  std::string name;                         // the text's name in errors
  int version = 0;                          // 83 for .version 8.3
  std::string target;                       // "sm_80"
  std::map<u32, std::string> files;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  /// The definition of the function, else a declaration; -1 if there is neither.
  int function_named(std::string_view) const;
};

/// The value of a pointer to the module's function with this number.
inline constexpr u64 function_pointer(int number) { return kFunctionWindow + 16 * static_cast<u64>(number); }

}  // namespace tilewright::rt::emulator
