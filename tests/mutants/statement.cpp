// Finds each instruction in the text, and the instructions that compute the predicates of accesses.
#include "tests/mutants/statement.h"

#include <set>

namespace tilewright::test {

using namespace rt::emulator;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string single_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (!blank)
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

bool is_access(const Statement& s) {
  if (s.has("commit_group") || s.has("wait_group") || s.has("wait_all")) return false;
  return is_one_of(s.base(), {"ld", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "mbarrier"});
}

namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(at)) != text.npos; text.remove_prefix(end + 1)) parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

/// At the commas that no bracket encloses.
std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  std::string operand;
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' || c == '[' || c == '(' ? 1 : c == '}' || c == ']' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      operands.push_back(single_blanks(operand));
      operand.clear();
    } else {
      operand += c;
    }
  }
  if (const std::string last = single_blanks(operand); !last.empty() || !operands.empty()) operands.push_back(last);
  return operands;
}

Statement statement_of(const Module& module, const ParsedInstruction& parsed) {
  const std::string& text = *module.text;
  Statement s;
  s.parsed = &parsed;
  const auto opcode = static_cast<std::size_t>(parsed.opcode.data() - text.data());
  s.begin = parsed.guard.kind == OperandKind::sink ? opcode : text.rfind('@', opcode);
  s.end = text.find(';', opcode) + 1;
  s.guard = single_blanks(std::string_view(text).substr(s.begin, opcode - s.begin));
  if (!s.guard.empty()) s.guard += ' ';
  s.opcode = parsed.opcode;
  s.parts = split(parsed.opcode, '.');
  const std::size_t operands = opcode + parsed.opcode.size();
  s.operands = split_operands(std::string_view(text).substr(operands, s.end - 1 - operands));
  return s;
}

/// Finds the statements that make predicates which guard accesses, through logic on predicates, by the names of registers.
void find_guards(std::vector<Statement>& statements) {
  std::set<std::string> guards;
  for (const Statement& s : statements)
    if (is_access(s) && !s.guard.empty()) guards.insert(s.guard.substr(s.guard.find('%'), s.guard.size() - 1 - s.guard.find('%')));
  // Backwards, and again for what loops carry.
  for (std::size_t before = 0; before != guards.size();) {
    before = guards.size();
    for (auto s = statements.rbegin(); s != statements.rend(); ++s) {
      if (s->operands.empty() || !guards.contains(s->operands[0])) continue;
      s->feeds_guard = true;
      if (s->base() != "setp" && !s->has("pred")) continue;
      for (const std::string& operand : s->operands)
        if (operand.starts_with("%p")) guards.insert(operand);
    }
  }
}

/// A predicate of instructions that is written as a branch.
void find_branches(std::vector<Statement>& statements) {
  for (std::size_t k = 0; k < statements.size(); ++k) {
    Statement& s = statements[k];
    if (s.base() != "bra" || s.guard.empty() || s.parsed->operands[0].kind != OperandKind::label) continue;
    for (std::size_t at = k + 1; at < s.parsed->operands[0].index; ++at) {
      s.guards_accesses |= is_access(statements[at]);
      if (!is_one_of(statements[at].base(), {"bra", "brx", "call", "ret", "exit"})) continue;
      s.guards_accesses = false;
      break;
    }
  }
}

}  // namespace

std::vector<Statement> statements_of(const Module& module, const Function& function) {
  std::vector<Statement> statements;
  for (const ParsedInstruction& instruction : function.instructions) statements.push_back(statement_of(module, instruction));
  find_branches(statements);
  find_guards(statements);
  return statements;
}

}  // namespace tilewright::test
