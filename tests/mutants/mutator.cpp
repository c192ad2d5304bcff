// One function for each mutation: it takes an instruction's text and returns the texts that may replace it.
#include "tests/mutants/mutator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "tests/mutants/statement.h"

namespace tilewright::test {
namespace {

using namespace rt::emulator;

std::string joined(const std::vector<std::string>& operands) { return fmt::format("{}", fmt::join(operands, ", ")); }

std::string text_of(const Statement& s, std::string_view opcode, const std::vector<std::string>& operands) {
  return single_blanks(fmt::format("{}{} {}", s.guard, opcode, joined(operands))) + ";";
}

/// The instruction with operand `k` replaced by `op` of it and `constant`; folded if the text has its value.
std::string with_operand(const Statement& s, std::size_t k, std::string_view op, u64 constant, u64 folded) {
  const std::string_view type = op.ends_with("16") ? "b16" : "b32";
  std::vector<std::string> operands = s.operands;
  if (s.parsed->operands[k].kind == OperandKind::integer) {
    operands[k] = std::to_string(folded);
    return text_of(s, s.opcode, operands);
  }
  const std::string before = operands[k];
  operands[k] = "%tw_mutant";
  return fmt::format("{{ .reg .{} %tw_mutant; {} %tw_mutant, {}, {}; {} }}", type, op, before, constant, text_of(s, s.opcode, operands));
}

/// The opcode with one of its modifiers replaced.
std::string with_modifier(const Statement& s, std::string_view modifier, std::string_view by) {
  std::string opcode(s.base());
  for (std::size_t k = 1; k < s.parts.size(); ++k) opcode += fmt::format(".{}", s.parts[k] == modifier ? by : s.parts[k]);
  return text_of(s, opcode, s.operands);
}

using Found = std::optional<std::string>;  // the text that replaces the instruction

Found barrier_removed(const Statement& s) {
  if (s.is("mbarrier", "init")) return "";
  if (!is_one_of(s.base(), {"bar", "barrier"}) || s.has("warp")) return {};
  return s.has("red") ? Found() : "";  // a reduction without its instruction would have no result
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

/// Waits for the phase after the right one, or before it.
Found phase_mistaken(const Statement& s) {
  if (s.base() != "mbarrier" || !s.has("parity")) return {};
  return with_operand(s, 2, "xor.b32", 1, s.parsed->operands[2].bits ^ 1);
}

Found arrivals_lowered(const Statement& s) {
  return s.is("mbarrier", "init") ? with_operand(s, 1, "sub.u32", 1, s.parsed->operands[1].bits - 1) : Found();
}

Found arrivals_raised(const Statement& s) {
  return s.is("mbarrier", "init") ? with_operand(s, 1, "add.u32", 1, s.parsed->operands[1].bits + 1) : Found();
}

Found arrival_removed(const Statement& s) {
  return s.base() == "mbarrier" && (s.has("arrive") || s.has("arrive_drop")) ? Found("") : Found();
}

Found bytes_changed(const Statement& s, std::string_view op, u64 folded) {
  if (s.base() != "mbarrier" || !s.has("expect_tx")) return {};
  return with_operand(s, s.operands.size() - 1, op, 1, folded);
}

Found bytes_halved(const Statement& s) {
  return s.operands.empty() ? Found() : bytes_changed(s, "shr.u32", s.parsed->operands.back().bits / 2);
}

Found bytes_doubled(const Statement& s) {
  return s.operands.empty() ? Found() : bytes_changed(s, "shl.b32", s.parsed->operands.back().bits * 2);
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

Found branch_removed(const Statement& s) { return s.guards_accesses ? Found("") : Found(); }

/// All lanes do what one is elected for.
Found election_removed(const Statement& s) {
  if (s.base() != "elect") return {};
  return fmt::format("{} setp.eq.u32 {}, 0, 0;", text_of(s, s.opcode, s.operands), s.operands[0].substr(s.operands[0].find('|') + 1));
}

/// Shifts a comparison whose result guards an access, alone or together with others.
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

/// A bulk copy into several blocks goes to the first of them alone.
Found blocks_left_out(const Statement& s) {
  if (!s.has("multicast::cluster")) return {};
  const std::size_t mask = s.operands.size() - (s.has("L2::cache_hint") ? 2 : 1);
  return with_operand(s, mask, "and.b16", 1, s.parsed->operands[mask].bits & 1);
}

Found order_relaxed(const Statement& s) {
  const bool is_arrival = s.is("mbarrier", "arrive") || s.is("mbarrier", "arrive_drop");
  const bool is_wait = s.is("mbarrier", "try_wait") || s.is("mbarrier", "test_wait");
  // The wait of a cluster's barrier cannot be relaxed.
  if (!is_one_of(s.base(), {"ld", "st", "atom", "red"}) && !s.is("barrier", "arrive") && !is_arrival && !is_wait) return {};
  for (const std::string_view order : {"acquire", "release", "acq_rel"})
    if (s.has(order)) return with_modifier(s, order, "relaxed");
  if ((!is_arrival && !is_wait) || s.has("relaxed")) return {};
  std::string_view last = is_wait ? s.has("parity") ? "parity" : s.parts[1] : s.has("expect_tx") ? "expect_tx" : s.parts[1];
  return with_modifier(s, last, fmt::format("{}.relaxed.cta", last));
}

Found with_narrow_scope(const Statement& s) {
  for (const std::string_view scope : {"cluster", "gpu", "gl", "sys"})
    if (s.has(scope)) return with_modifier(s, scope, "cta");
  return {};
}

/// A collective that includes other blocks is narrowed to its own block.
Found scope_narrowed(const Statement& s) {
  if (!is_one_of(s.base(), {"ld", "st", "atom", "red", "fence", "membar", "mbarrier"}) || s.has("mbarrier_init") || s.has("proxy"))
    return {};
  if (s.has("shared") || s.has("shared::cta") || s.has("shared::cluster") || s.has("async"))
    return s.base() == "mbarrier" ? with_narrow_scope(s) : Found();
  const bool has_default = is_one_of(s.base(), {"atom", "red"}) && !s.has("cta");
  const Found narrowed = with_narrow_scope(s);
  return narrowed || !has_default ? narrowed : with_modifier(s, s.parts[1], fmt::format("cta.{}", s.parts[1]));
}

/// Traps in a lane that the guard stops.
std::string guard_probe(const Statement& s) {
  const bool is_negated = s.guard[1] == '!';
  return fmt::format("@{}{} trap;", is_negated ? "" : "!", s.guard.substr(is_negated ? 2 : 1, s.guard.size() - (is_negated ? 3 : 2)));
}

/// Traps in a lane that the branch leads elsewhere.
std::string branch_probe(const Statement& s) { return s.guard + "trap;"; }

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
    {Weakening::phase_mistaken, phase_mistaken},
    {Weakening::arrival_removed, arrival_removed},
    {Weakening::arrivals_miscounted, arrivals_lowered},
    {Weakening::arrivals_miscounted, arrivals_raised},
    {Weakening::bytes_miscounted, bytes_halved},
    {Weakening::bytes_miscounted, bytes_doubled},
    {Weakening::guard_removed, guard_removed, guard_probe},
    {Weakening::guard_removed, size_removed},
    {Weakening::guard_removed, election_removed},
    {Weakening::guard_removed, branch_removed, branch_probe},
    {Weakening::bound_shifted, bound_shifted, bound_probe},
    {Weakening::mask_narrowed, mask_narrowed},
    {Weakening::mask_narrowed, blocks_left_out},
    {Weakening::order_relaxed, order_relaxed},
    {Weakening::scope_narrowed, scope_narrowed},
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
    case Weakening::phase_mistaken: return "phase mistaken";
    case Weakening::arrival_removed: return "arrival removed";
    case Weakening::arrivals_miscounted: return "arrivals miscounted";
    case Weakening::bytes_miscounted: return "expected bytes miscounted";
    case Weakening::guard_removed: return "guard removed";
    case Weakening::bound_shifted: return "bound shifted";
    case Weakening::mask_narrowed: return "mask narrowed";
    case Weakening::order_relaxed: return "order relaxed";
    case Weakening::scope_narrowed: return "scope narrowed";
  }
  return "";
}

std::vector<Mutant> mutants_of(const Module& module, std::string_view kernel) {
  const auto function = std::find_if(module.functions.begin(), module.functions.end(),
                                     [&](const Function& f) { return f.is_defined && f.is_entry && f.name == kernel; });
  if (function == module.functions.end()) throw std::invalid_argument(fmt::format("no kernel is named '{}'", kernel));
  const std::vector<Statement> statements = statements_of(module, *function);
  std::vector<Mutant> mutants;
  for (std::size_t k = 0; k < statements.size(); ++k) {
    const Statement& s = statements[k];
    const auto add = [&](Weakening weakening, std::size_t end, const std::string& after, const std::string& probe) {
      mutants.push_back({weakening, static_cast<u32>(k), s.parsed->line,
                         single_blanks(std::string_view(*module.text).substr(s.begin, end - s.begin)), after, probe, s.begin,
                         end - s.begin});
    };
    for (const auto& [weakening, apply, probe] : kRules)
      if (const Found after = apply(s)) add(weakening, s.end, *after, probe != nullptr ? probe(s) : "");
    // Either half alone is not missed, since the other one waits for it.
    const bool is_halved = s.is("barrier", "cluster") && s.has("arrive") && k + 1 < statements.size();
    if (is_halved && statements[k + 1].is("barrier", "wait")) add(Weakening::barrier_removed, statements[k + 1].end, "", "");
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
