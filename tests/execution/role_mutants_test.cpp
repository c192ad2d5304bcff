// Mistakes in the lowering of roles, made in the PTX of their kernels: waits, parities, arrivals and barriers, as for every kernel
// (tests/mutants), and those that a lowering of roles may make besides: another slot, another named barrier or number of its threads, the
// warps of another role, a wait in another role. The emulator has to report each one, or the values have to differ.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "backend/compile.h"
#include "tests/execution/role_kernels.h"
#include "tests/mutants/statement.h"
#include "tests/mutants/subject.h"

namespace tilewright::test {

namespace {

namespace emulator = rt::emulator;

constexpr int kTiles = 20;  // so many that roles meet in each way

/// A kernel with its launches: many tiles, and as few as make loops end early.
class RoleSubject {
 public:
  RoleSubject(const std::string& text, const std::string& target) {
    const fuzz::Program p = program(text, kTiles);
    const backend::CompiledKernel k = backend::compile(p.function, {.target = target});
    const auto loaded =
        emulator::LoadedModule::load(std::string_view(reinterpret_cast<const char*>(k.image.data()), k.image.size()), k.name);
    subject_ = std::make_unique<Subject>(*loaded, k.entry);
    for (const emulator::u64 tiles : {kTiles, 1, 0}) {
      const std::vector<std::byte> bytes = parameters(*loaded->kernel(k.entry), p, tiles);
      emulator::LaunchParams launch;
      launch.block = {static_cast<emulator::u32>(32 * k.resources.num_warps), 1, 1};
      launch.dynamic_shared_bytes = static_cast<emulator::u64>(k.resources.shared_bytes);
      launch.params = bytes;
      launch.target = target;
      for (const std::string& report : subject_->add({*loaded, k.entry, memory_, launch})) FAIL_CHECK(report);
    }
  }

  const Subject& subject() const { return *subject_; }
  std::vector<Statement> statements() const {
    const emulator::Module& m = subject_->module();
    for (const emulator::Function& f : m.functions)
      if (f.name == subject_->kernel()) return statements_of(m, f);
    return {};
  }

 private:
  std::vector<std::byte> parameters(const emulator::Kernel& kernel, const fuzz::Program& p, emulator::u64 tiles) {
    std::vector<std::byte> bytes(kernel.parameter_bytes);
    for (std::size_t i = 0; i < p.arguments.size(); ++i) {
      emulator::u64 word = tiles;
      if (p.arguments[i].is_buffer) {
        word = memory_.allocate(p.arguments[i].bytes.size());
        memory_.write(word, p.arguments[i].bytes.data(), p.arguments[i].bytes.size());
      }
      std::memcpy(&bytes[kernel.parameters[i].offset], &word, kernel.parameters[i].bytes);
    }
    return bytes;
  }

  emulator::Memory memory_;
  std::unique_ptr<Subject> subject_;
};

/// A statement with another text for one operand, as a mutant.
Mutant with(const Statement& s, std::size_t number, std::size_t operand, const std::string& text) {
  std::string after = s.guard + s.opcode;
  for (std::size_t i = 0; i < s.operands.size(); ++i) after += (i == 0 ? " " : ", ") + (i == operand ? text : s.operands[i]);
  // This kind may have values that depend on the order of warps.
  return {.weakening = Weakening::barrier_removed,
          .instruction = static_cast<u32>(number),
          .line = s.parsed->line,
          .before = s.guard + s.opcode,
          .after = after + ";",
          .probe = "",
          .offset = s.begin,
          .length = s.end - s.begin};
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789", text[0] == '-') == text.npos && text != "-";
}

/// The statement before statement `i` that set a register; null if there is none.
const Statement* setter_of(const std::vector<Statement>& statements, std::size_t i, const std::string& operand) {
  while (i-- > 0) {
    const Statement& s = statements[i];
    if (s.operands.empty() || s.base() == "bar") continue;
    if (s.operands[0] == operand || s.operands[0].starts_with(operand + "|")) return &s;
  }
  return nullptr;
}

bool is_named_barrier(const Statement& s) { return s.is("bar", "sync") && s.operands.size() == 2; }

/// The number of a named barrier; empty if it is computed, of the instance.
std::string barrier_of(const std::vector<Statement>& statements, std::size_t i) {
  const std::string& operand = statements[i].operands[0];
  if (is_number(operand)) return operand;
  const Statement* s = setter_of(statements, i, operand);
  return s != nullptr && s->base() == "mov" ? s->operands[1] : "";
}

/// Mistakes that are a lowering's of roles.
std::vector<Mutant> mistakes(const std::vector<Statement>& statements) {
  std::vector<Mutant> out;
  std::set<std::string> barriers;
  for (std::size_t i = 0; i < statements.size(); ++i)
    if (is_named_barrier(statements[i])) barriers.insert(barrier_of(statements, i));
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    const auto shifted = [&](std::size_t operand, std::int64_t by) {
      out.push_back(with(s, i, operand, std::to_string(std::stoll(s.operands[operand]) + by)));
    };
    if (s.base() == "mbarrier" || s.has("mbarrier")) {
      // The slot after it: another phase, the next array, or memory without an mbarrier.
      for (std::size_t k = 0; k < s.operands.size(); ++k)
        if (const std::string& o = s.operands[k]; o.starts_with("[%") && o.find('+') == o.npos)
          out.push_back(with(s, i, k, o.substr(0, o.size() - 1) + "+8]"));
    } else if (is_named_barrier(s)) {
      // The barrier of another role that has one, or the same for all instances; and a warp less or more.
      if (const std::string number = barrier_of(statements, i); number.empty() || barriers.size() > 1)
        out.push_back(with(s, i, 0, number.empty() || number == "2" ? "1" : "2"));
      for (const int warp : {-32, 32}) shifted(1, warp);
    } else if (s.base() == "setp" && is_number(s.operands[2])) {
      // The number of the warp is that of lane 0: a role gets the next warp, or loses one.
      const Statement* of = setter_of(statements, i, s.operands[1]);
      if (of != nullptr && of->base() == "shfl")
        for (const int warp : {-1, 1}) shifted(2, warp);
    }
  }
  return out;
}

bool is_wait(const Statement& s) { return s.is("mbarrier", "try_wait") || s.is("mbarrier", "test_wait"); }

/// The array of mbarriers that the operand "[%r1]" of statement `i` is in, by its place in shared memory; empty if that is not seen.
std::string array_of(const std::vector<Statement>& statements, std::size_t i, const std::string& operand) {
  const Statement* s = setter_of(statements, i, operand.substr(1, operand.size() - 2));
  return s != nullptr && s->base() == "add" && is_number(s->operands[2]) ? s->operands[2] : "";
}

/// A wait in the wrong role: not the role that has to wait does, but the one that arrives, once it has arrived.
std::vector<Mutant> waits_of_wrong_roles(const std::string& text, const std::vector<Statement>& statements) {
  std::vector<Mutant> out;
  for (std::size_t w = 0; w < statements.size(); ++w)
    for (std::size_t a = 0; a < statements.size(); ++a) {
      const Statement &wait = statements[w], &arrival = statements[a];
      if (!is_wait(wait) || !arrival.has("arrive") || !arrival.operands.back().starts_with("[%")) continue;
      const std::string array = array_of(statements, w, wait.operands[1]);
      if (array.empty() || array != array_of(statements, a, arrival.operands.back())) continue;
      // The parity for which the arriving role waited itself, before it arrived.
      const auto own = std::find_if(statements.rend() - static_cast<std::ptrdiff_t>(a), statements.rend(), is_wait);
      if (own == statements.rend() || own->begin == wait.begin) continue;
      const std::string none = fmt::format("setp.eq.u32 {}, 0, 0;", wait.operands[0]);
      const std::string loop = fmt::format(" $wrong_role: {} {}, {}, {}; @!{} bra $wrong_role;", wait.opcode, own->operands[0],
                                           arrival.operands.back(), own->operands[2], own->operands[0]);
      std::size_t arrived = arrival.end;
      if (const std::size_t next = text.find_first_not_of(' ', arrived); text[next] == '}') arrived = next + 1;
      const std::size_t begin = std::min(wait.begin, arrived), end = std::max(wait.end, arrived);
      const std::string between =
          wait.begin > arrived ? text.substr(arrived, wait.begin - arrived) : text.substr(wait.end, arrived - wait.end);
      out.push_back({.weakening = Weakening::phase_not_awaited,
                     .instruction = static_cast<u32>(w),
                     .line = wait.parsed->line,
                     .before = wait.opcode,
                     .after = wait.begin > arrived ? loop + between + none : none + between + loop,
                     .probe = "",
                     .offset = begin,
                     .length = end - begin});
    }
  return out;
}

/// `equivalent`: the kinds of those that change nothing.
void check_mutants(const std::string& text, const std::string& target, const std::vector<std::string>& equivalent = {}) {
  CAPTURE(target);
  const RoleSubject kernel(text, target);
  std::vector<std::pair<std::string, Mutant>> all;
  for (const Mutant& m : mutants_of(kernel.subject().module(), kernel.subject().kernel())) all.emplace_back(name_of(m.weakening), m);
  const std::vector<Statement> statements = kernel.statements();
  for (const Mutant& m : mistakes(statements)) all.emplace_back("lowered wrongly", m);
  const auto waits = std::count_if(statements.begin(), statements.end(), is_wait);
  const auto moved = waits_of_wrong_roles(*kernel.subject().module().text, statements);
  CHECK(static_cast<std::ptrdiff_t>(moved.size()) >= waits);
  for (const Mutant& m : moved) all.emplace_back("waits in the wrong role", m);
  CHECK(std::count_if(all.begin(), all.end(), [](const auto& m) { return m.first == "lowered wrongly"; }) >= 4);
  std::vector<std::string> survivors;
  std::string told;
  for (const auto& [kind, m] : all) {
    const Verdict v = kernel.subject().judge(m);
    if (v.fate == Fate::found || v.fate == Fate::wrong) continue;
    survivors.push_back(kind);
    told += fmt::format("{}, line {}: {} becomes {}: {}\n", kind, m.line, m.before, m.after,
                        v.fate == Fate::survived ? "survived" : "not reached");
  }
  INFO(all.size(), " mutants\n", told);
  CHECK(survivors == equivalent);
}

}  // namespace

TEST_CASE("role_mutants: stores are handed over") {
  for (const char* target : {"sm_80", "sm_90a"}) check_mutants(hand_over("warps = [2, 4]", 2, 4, 1, 1, kStores, kUse), target);
}

TEST_CASE("role_mutants: copies are handed over to ops that have barriers") {
  // The barrier between copies into one slot, which mbarriers order; a store of one number by each lane of a warp.
  const std::vector<std::string> equivalent{"warp barrier removed", "guard removed"};
  const std::string copies = "copy_async %px, %s, %yes\n copy_arrive %f\n";
  for (const char* target : {"sm_80", "sm_90a"})
    check_mutants(hand_over("warps = [1, 4]", 1, 4, 32, 1, copies, kReduces), target, equivalent);
}

TEST_CASE("role_mutants: roles whose registers change") {
  check_mutants(hand_over("warps = [4, 8], registers = [40, 232]", 4, 8, 1, 2, kStores, kUse), "sm_90a");
}

TEST_CASE("role_mutants: instances") { check_mutants(instances(2), "sm_80"); }

}  // namespace tilewright::test
