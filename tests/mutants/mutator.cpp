// One function a kind of weakening; each looks at an instruction's text and says what may stand in its place.
#include "tests/mutants/mutator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>

namespace tilewright::test {
namespace {

using namespace rt::emulator;

/// An instruction as it stands in the text.
struct Statement {
  const ParsedInstruction* parsed;
  std::size_t begin, end;               // with its guard and ';'
  std::string guard, opcode;            // "@%p1 " or ""
  std::vector<std::string_view> parts;  // of the opcode, between the dots
  std::vector<std::string> operands;
  bool feeds_guard = false;  // of an access

  std::string_view base() const { return parts[0]; }
  bool has(std::string_view modifier) const { return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end(); }
  bool is(std::string_view base, std::string_view modifier) const { return parts[0] == base && has(modifier); }
};

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

bool is_access(const Statement& s) { return is_one_of(s.base(), {"ld", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "mbarrier"}); }

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

std::string joined(const std::vector<std::string>& operands) { return fmt::format("{}", fmt::join(operands, ", ")); }

std::string text_of(const Statement& s, std::string_view opcode, const std::vector<std::string>& operands) {
  return single_blanks(fmt::format("{}{} {}", s.guard, opcode, joined(operands))) + ";";
}

/// The same instruction, one of its operands being what `op` makes of it and `constant`; folded where the text holds its value.
std::string with_operand(const Statement& s, std::size_t k, std::string_view op, u64 constant, u64 folded) {
  std::vector<std::string> operands = s.operands;
  if (s.parsed->operands[k].kind == OperandKind::integer) {
    operands[k] = std::to_string(folded);
    return text_of(s, s.opcode, operands);
  }
  const std::string before = operands[k];
  operands[k] = "%tw_mutant";
  return fmt::format("{{ .reg .b32 %tw_mutant; {} %tw_mutant, {}, {}; {} }}", op, before, constant, text_of(s, s.opcode, operands));
}

/// The opcode with one of its modifiers replaced.
std::string with_modifier(const Statement& s, std::string_view modifier, std::string_view by) {
  std::string opcode(s.base());
  for (std::size_t k = 1; k < s.parts.size(); ++k) opcode += fmt::format(".{}", s.parts[k] == modifier ? by : s.parts[k]);
  return text_of(s, opcode, s.operands);
}

using Found = std::optional<std::string>;  // what stands in the instruction's place

Found barrier_removed(const Statement& s) {
  if (!is_one_of(s.base(), {"bar", "barrier"}) || s.has("warp")) return {};
  return s.has("red") ? Found() : "";  // what a reduction gives has to come from somewhere
}

Found warp_barrier_removed(const Statement& s) { return s.is("bar", "warp") ? Found("") : Found(); }

Found fence_removed(const Statement& s) { return is_one_of(s.base(), {"membar", "fence"}) || s.is("wgmma", "fence") ? Found("") : Found(); }

Found commit_removed(const Statement& s) { return s.has("commit_group") ? Found("") : Found(); }

Found wait_weakened(const Statement& s) {
  if (s.base() == "cp" && s.has("wait_all")) return "";
  if (!s.has("wait_group")) return {};
  return with_operand(s, 0, "", 0, s.parsed->operands[0].bits + 1);
}

Found phase_not_awaited(const Statement& s) {
  if (s.base() != "mbarrier" || !(s.has("try_wait") || s.has("test_wait"))) return {};
  return fmt::format("{}setp.eq.u32 {}, 0, 0;", s.guard, s.operands[0]);
}

Found arrival_removed(const Statement& s) {
  return s.base() == "mbarrier" && (s.has("arrive") || s.has("arrive_drop")) ? Found("") : Found();
}

Found bytes_halved(const Statement& s) {
  if (s.base() != "mbarrier" || !(s.has("expect_tx"))) return {};
  const std::size_t last = s.operands.size() - 1;
  return with_operand(s, last, "shr.u32", 1, s.parsed->operands[last].bits / 2);
}

Found guard_removed(const Statement& s) {
  if (s.guard.empty() || !is_access(s)) return {};
  Statement bare = s;
  bare.guard.clear();
  return text_of(bare, s.opcode, s.operands);
}

/// "cp.async ..., 16, %r1": so many bytes of the source are read, or none where %p1 holds.
Found size_removed(const Statement& s) {
  if (!s.is("cp", "async") || s.has("bulk") || s.operands.size() != 4 || s.has("L2::cache_hint")) return {};
  return text_of(s, s.opcode, {s.operands.begin(), s.operands.begin() + 3});
}

/// Of a comparison whose result guards an access, be it together with others.
Found bound_shifted(const Statement& s) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPairs = {
      {{"lt", "le"}, {"gt", "ge"}, {"lo", "ls"}, {"hi", "hs"}}};
  if (s.base() != "setp" || s.parts.back()[0] == 'f' || !s.feeds_guard) return {};
  for (const auto& [strict, loose] : kPairs) {
    if (s.has(strict)) return with_modifier(s, strict, loose);
    if (s.has(loose)) return with_modifier(s, loose, strict);
  }
  return {};
}

Found mask_narrowed(const Statement& s) {
  if (!is_one_of(s.base(), {"shfl", "vote", "match", "redux", "elect"}) || !s.has("sync")) return {};
  const std::size_t last = s.operands.size() - 1;
  return with_operand(s, last, "and.b32", 0x7fffffff, s.parsed->operands[last].bits & 0x7fffffff);
}

Found order_relaxed(const Statement& s) {
  if (!is_one_of(s.base(), {"ld", "st", "atom", "red", "barrier"})) return {};
  for (const std::string_view order : {"acquire", "release", "acq_rel"})
    if (s.has(order)) return with_modifier(s, order, "relaxed");
  return {};
}

/// Traps in a lane that the guard stops.
std::string guard_probe(const Statement& s) {
  const bool is_negated = s.guard[1] == '!';
  return fmt::format("@{}{} trap;", is_negated ? "" : "!", s.guard.substr(is_negated ? 2 : 1, s.guard.size() - (is_negated ? 3 : 2)));
}

/// Traps where both sides of a comparison are equal.
std::string bound_probe(const Statement& s) {
  return fmt::format("{{ .reg .pred %tw_probe; setp.eq.{} %tw_probe, {}, {}; @%tw_probe trap; }}", s.parts.back(), s.operands[1],
                     s.operands[2]);
}

struct Rule {
  Weakening weakening;
  Found (*apply)(const Statement&);
  std::string (*probe)(const Statement&) = nullptr;
};
constexpr Rule kRules[] = {
    {Weakening::barrier_removed, barrier_removed},
    {Weakening::warp_barrier_removed, warp_barrier_removed},
    {Weakening::fence_removed, fence_removed},
    {Weakening::commit_removed, commit_removed},
    {Weakening::wait_weakened, wait_weakened},
    {Weakening::phase_not_awaited, phase_not_awaited},
    {Weakening::arrival_removed, arrival_removed},
    {Weakening::bytes_halved, bytes_halved},
    {Weakening::guard_removed, guard_removed, guard_probe},
    {Weakening::guard_removed, size_removed},
    {Weakening::bound_shifted, bound_shifted, bound_probe},
    {Weakening::mask_narrowed, mask_narrowed},
    {Weakening::order_relaxed, order_relaxed},
};

}  // namespace

const char* name_of(Weakening weakening) {
  switch (weakening) {
    case Weakening::barrier_removed: return "barrier removed";
    case Weakening::warp_barrier_removed: return "warp barrier removed";
    case Weakening::fence_removed: return "fence removed";
    case Weakening::commit_removed: return "commit removed";
    case Weakening::wait_weakened: return "wait weakened";
    case Weakening::phase_not_awaited: return "phase not awaited";
    case Weakening::arrival_removed: return "arrival removed";
    case Weakening::bytes_halved: return "expected bytes halved";
    case Weakening::guard_removed: return "guard removed";
    case Weakening::bound_shifted: return "bound shifted";
    case Weakening::mask_narrowed: return "mask narrowed";
    case Weakening::order_relaxed: return "order relaxed";
  }
  return "";
}

std::vector<Mutant> mutants_of(const Module& module, std::string_view kernel) {
  const auto function = std::find_if(module.functions.begin(), module.functions.end(),
                                     [&](const Function& f) { return f.is_defined && f.is_entry && f.name == kernel; });
  if (function == module.functions.end()) throw std::invalid_argument(fmt::format("no kernel is named '{}'", kernel));
  std::vector<Statement> statements;
  for (const ParsedInstruction& instruction : function->instructions) statements.push_back(statement_of(module, instruction));
  find_guards(statements);
  std::vector<Mutant> mutants;
  for (std::size_t k = 0; k < statements.size(); ++k) {
    const Statement& s = statements[k];
    for (const auto& [weakening, apply, probe] : kRules)
      if (const Found after = apply(s))
        mutants.push_back({weakening, static_cast<u32>(k), s.parsed->line,
                           single_blanks(std::string_view(*module.text).substr(s.begin, s.end - s.begin)), *after,
                           probe != nullptr ? probe(s) : "", s.begin, s.end - s.begin});
  }
  return mutants;
}

std::string mutated_text(const Module& module, const Mutant& mutant) {
  std::string text = *module.text;
  const std::string_view before = std::string_view(text).substr(mutant.offset, mutant.length);
  const std::string breaks(static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')), '\n');
  return text.replace(mutant.offset, mutant.length, mutant.after + breaks);
}

}  // namespace tilewright::test
