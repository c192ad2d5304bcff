// Counts instructions and finds problems in PTX that the emulator's parser has read.
#include "runtime/ptx_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

#include "runtime/emulator/ptx/parser.h"
#include "tilewright/error.h"

namespace tilewright::rt {

namespace {

using emulator::Module;
using emulator::Operand;
using emulator::OperandKind;
using emulator::ParsedInstruction;

constexpr std::array<std::string_view, 6> kTargets = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};

bool is_any(std::string_view s, std::initializer_list<std::string_view> of) { return std::find(of.begin(), of.end(), s) != of.end(); }

/// Splits an opcode at its dots: {"ld", "global", "v4", "b32"}.
std::vector<std::string_view> parts_of(std::string_view opcode) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == opcode.npos) return parts;
    opcode.remove_prefix(dot + 1);
  }
}

/// The first number in "b32", "f16x2" or "v4".
int number_in(std::string_view s) {
  const auto digit = s.find_first_of("0123456789");
  int n = 0;
  if (digit != s.npos) std::from_chars(s.data() + digit, s.data() + s.size(), n);
  return n;
}

/// Whether the name is a predefined register of PTX, possibly without its .x.
bool is_special(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {
      "%lanemask_",     "%clock",        "%globaltimer", "%pm",        "%envreg",     "%cluster",      "%is_explicit_cluster",
      "%reserved_smem", "%dynamic_smem", "%total_smem",  "%aggr_smem", "%nclusterid", "%current_graph"};
  return is_any(name.substr(0, name.find('.')),
                {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid"}) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](std::string_view p) { return name.starts_with(p); });
}

/// The text of an instruction, without its guard.
std::string text_of(const Module& module, const ParsedInstruction& instruction) {
  const std::string_view all = *module.text;
  const auto begin = static_cast<std::size_t>(instruction.opcode.data() - all.data());
  std::string text(all.substr(begin, all.find(';', begin) - begin));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

class Linter {
 public:
  explicit Linter(const Module& module) : module_(module) {}

  PtxFacts run() {
    facts_.version = fmt::format("{}.{}", module_.version / 10, module_.version % 10);
    facts_.target = module_.target;
    if (facts_.target.empty())
      problem(1, "there is no .target");
    else if (std::find(kTargets.begin(), kTargets.end(), facts_.target) == kTargets.end())
      problem(1, fmt::format("there is no target '{}'", facts_.target));
    check_variables(module_.variables);
    for (const emulator::Function& function : module_.functions) {
      if (function.is_entry) facts_.entries.emplace_back(function.name);
      if (!function.is_defined) problem(function.line, fmt::format("the function '{}' is defined nowhere", function.name));
      check_variables(function.variables);
      for (const ParsedInstruction& instruction : function.instructions) count(instruction);
    }
    if (facts_.entries.empty()) problem(1, "there is no kernel");
    return std::move(facts_);
  }

 private:
  void check_variables(const std::vector<emulator::Variable>& variables) {
    for (const emulator::Variable& variable : variables) {
      if (variable.space == emulator::Space::local) problem(variable.line, fmt::format("local memory: '{}'", variable.name));
      if (variable.is_extern && variable.space != emulator::Space::shared)
        problem(variable.line, fmt::format("the variable '{}' is defined nowhere", variable.name));
    }
  }

  /// Checks a name that the parser takes for a special register because no declaration has it.
  void check_register(const Operand& operand, int line) {
    if (operand.kind == OperandKind::special && !is_special(operand.name))
      problem(line, fmt::format("there is no register '{}'", operand.name));
    for (const Operand& part : operand.parts) check_register(part, line);
  }

  void count(const ParsedInstruction& instruction) {
    ++facts_.instructions;
    check_register(instruction.guard, instruction.line);
    for (const Operand& operand : instruction.operands) check_register(operand, instruction.line);
    const std::vector<std::string_view> op = parts_of(instruction.opcode);
    const std::string_view base = op[0];
    const bool guarded = instruction.guard.kind != OperandKind::sink;
    const auto has = [&](std::initializer_list<std::string_view> parts) {
      return std::any_of(op.begin() + 1, op.end(), [&](std::string_view p) { return is_any(p, parts); });
    };
    const auto found = [&](std::string_view what) {
      problem(instruction.line, fmt::format("{}: '{}'", what, text_of(module_, instruction)));
    };
    if (is_any(base, {"ld", "ldu", "st"})) return count_access(op, base == "st");
    if ((base == "bar" && !has({"warp", "arrive"})) || (base == "barrier" && !has({"arrive"}))) {
      ++facts_.barriers;
      if (guarded) found("a barrier under a predicate");
    } else if (base == "shfl") {
      ++facts_.shuffles;
      if (guarded) found("a shuffle under a predicate");
    } else if (base == "bra") {
      ++facts_.branches;
    } else if (base == "call") {
      ++facts_.calls;
      found("a call");
    } else if (is_any(base, {"fence", "membar"})) {
      ++facts_.fences;
    } else if (is_any(base, {"atom", "red"})) {
      ++facts_.atomics;
      if (has({"acquire", "release", "acq_rel"})) ++facts_.ordered_atomics;
      const bool names_both = has({"relaxed", "acquire", "release", "acq_rel"}) && has({"cta", "cluster", "gpu", "sys"});
      if (!names_both && !has({"shared", "shared::cta"})) found("an atomic without its order or its scope");
    } else if (base == "bfe" && op.back() == "s32" && instruction.operands.size() == 4) {
      const Operand &position = instruction.operands[2], &length = instruction.operands[3];
      const bool is_known = position.kind == OperandKind::integer && length.kind == OperandKind::integer;
      if (is_known && position.bits % 8 == 0 && (length.bits == 8 || length.bits == 16))
        problem(instruction.line, fmt::format("ptxas may convert what '{}' gives as if it were signed", text_of(module_, instruction)));
    } else if (is_any(base, {"add", "sub", "mul"})) {
      const bool is_float = is_any(op.back(), {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"});
      if (is_float && !has({"rn", "rz", "rm", "rp"})) found("float arithmetic that may be contracted");
    }
  }

  void count_access(const std::vector<std::string_view>& op, bool is_store) {
    int bytes = number_in(op.back()) / 8;
    PtxFacts::Widths* widths = is_store ? &facts_.global_stores : &facts_.global_loads;
    for (const std::string_view part : op) {
      if (is_any(part, {"v2", "v4", "v8"})) bytes *= number_in(part);
      if (part == "shared" || part.starts_with("shared::")) widths = is_store ? &facts_.shared_stores : &facts_.shared_loads;
      if (part == "local") widths = is_store ? &facts_.local_stores : &facts_.local_loads;
      if (part == "param" || part == "const") return;
    }
    ++(*widths)[bytes];
  }

  void problem(int line, const std::string& what) { facts_.problems.push_back(fmt::format("line {}: {}", line, what)); }

  const Module& module_;
  PtxFacts facts_;
};

}  // namespace

PtxFacts read_ptx(std::string_view text) {
  try {
    return Linter(emulator::parse_module(text, "ptx")).run();
  } catch (const Error& e) {
    PtxFacts facts;
    const std::string_view what = e.what(), start = "error: ";
    const auto message = what.find(start);
    facts.problems.push_back(fmt::format("line {}: {}", e.where().line, message == what.npos ? what : what.substr(message + start.size())));
    return facts;
  }
}

std::string text(const PtxFacts::Widths& widths) {
  std::string out;
  for (auto it = widths.rbegin(); it != widths.rend(); ++it)
    out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", it->second, it->first);
  return out.empty() ? "none" : out + " bytes";
}

}  // namespace tilewright::rt
