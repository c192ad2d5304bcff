// Instructions of PTX with their positions in the text, so that the mutator can replace them.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/module.h"

namespace tilewright::test {

struct Statement {
  const rt::emulator::ParsedInstruction* parsed;
  std::size_t begin, end;               // including its guard and ';'
  std::string guard, opcode;            // "@%p1 " or ""
  std::vector<std::string_view> parts;  // parts of the opcode, separated by dots
  std::vector<std::string> operands;
  bool feeds_guard = false;      // its result guards an access
  bool guards_accesses = false;  // a branch past them and nothing but straight code

  std::string_view base() const { return parts[0]; }
  bool has(std::string_view modifier) const { return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end(); }
  bool is(std::string_view base, std::string_view modifier) const { return parts[0] == base && has(modifier); }
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);
std::string single_blanks(std::string_view text);
/// Whether it reads or writes memory, at once or asynchronously. Waits do not.
bool is_access(const Statement&);
/// The instructions of a function, in their order.
std::vector<Statement> statements_of(const rt::emulator::Module&, const rt::emulator::Function&);

}  // namespace tilewright::test
