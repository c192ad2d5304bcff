// PTX as parsed: functions with resolved registers and labels, variables with their initial bytes. No instruction is understood yet.
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

/// What .loc says; `file` indexes Module::files, line 0: nothing is known.
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
  label,    // index: of an instruction
  vector,   // parts: {a, b}
  address,  // parts[0] is the base (reg, symbol or integer), bits the offset, further parts what follows a comma in the brackets
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
  std::string_view opcode;  // with its modifiers
  std::vector<Operand> operands;
  Operand guard;       // sink where there is none
  int line = 0;        // of the PTX
  SourceLine source;   // of the file that the function is in
  SourceLine inlined;  // of a function of another file, such as a header, that was inlined there; line 0 where there is none
};

struct Register {
  std::string_view prefix;
  s32 number;  // of one declared as "%r<10>"; -1: the prefix is the name
  Type type;
  std::string name() const { return std::string(prefix) + (number < 0 ? "" : std::to_string(number)); }
};

/// The address of a variable, or of one plus a constant, in the initial bytes of another.
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
  bool is_extern = false;  // .extern .shared: its size comes with the launch
  int line = 0;
  std::vector<u8> data;  // the initial bytes; empty: zeros
  std::vector<Relocation> relocations;
};

struct Parameter {
  std::string_view name;
  Type type = Type::b8;
  u64 offset = 0, align = 1, bytes = 0;
  s32 reg = -1;  // of the function, where its text says ".reg"
};

struct Function {
  std::string_view name;
  bool is_entry = false, is_defined = false;
  int line = 0;
  std::vector<Parameter> parameters, results;
  std::vector<Register> registers;
  std::vector<Variable> variables;  // declared in the body, whatever its scope; all but those of the frame have names of their own
  std::vector<std::unique_ptr<const std::string>> own_names;
  std::set<std::string_view> prototypes;  // .callprototype and .calltargets
  std::vector<ParsedInstruction> instructions;
  std::map<std::string, std::vector<u32>, std::less<>> branch_targets;  // .branchtargets: label -> instructions
  std::array<u32, 3> required_threads{}, maximum_threads{};             // 0: not said
  std::array<u32, 3> required_cluster{};
  u32 maximum_registers = 0, blocks_a_processor = 0;  // 0: not said
};

struct Module {
  std::unique_ptr<const std::string> text;  // the views point into it
  std::string name;                         // what errors call the text
  int version = 0;                          // 83 for .version 8.3
  std::string target;                       // "sm_80"
  std::map<u32, std::string> files;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  /// The definition, else a declaration; -1 if there is neither.
  int function_named(std::string_view) const;
};

/// What a pointer to the module's function with this number holds.
inline constexpr u64 function_pointer(int number) { return kFunctionWindow + 16 * static_cast<u64>(number); }

}  // namespace tilewright::rt::emulator
