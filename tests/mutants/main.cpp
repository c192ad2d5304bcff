// ptx_mutants: runs the kernels of the examples and of tests/ptx on emulators, and each mutant of them. A mutant must give a report of the
// emulator or wrong values, or be in the list of equivalent mutants.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tests/mutants/equivalent.h"
#include "tests/mutants/launches.h"
#include "tests/mutants/ptx_launches.h"
#include "tests/mutants/subject.h"

namespace {

using namespace tilewright;
using namespace tilewright::test;
using rt::emulator::InstructionInfo;

struct Options {
  std::vector<std::string> targets{"sm_80", "sm_90a"}, only;
  std::size_t share = 0, shares = 1;
  bool verbose = false;
};

/// The line of an example that an instruction comes from; its path may be relative to the compiler's working directory.
std::string source_text(const InstructionInfo& info) {
  static std::map<std::string, std::vector<std::string>> files;
  if (info.source.line == 0) return "";
  auto& lines = files[info.source.file];
  if (lines.empty()) {
    std::ifstream in(TW_EXAMPLE_FILES "/" + info.source.file.substr(info.source.file.find_last_of('/') + 1));
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  if (info.source.line > static_cast<int>(lines.size())) return "";
  const std::string& line = lines[static_cast<std::size_t>(info.source.line) - 1];
  const auto first = line.find_first_not_of(' ');
  return first == line.npos ? "" : line.substr(first);
}

class Session {
 public:
  explicit Session(const Options& options) : options_(options) {}

  void run(const std::string& target) {
    take_list();
    for (const Example& example : examples())
      if (is_chosen(example.name)) run(example, target);
    check_list(target);
  }

  /// Kernels that are PTX have one target of their own.
  void run_ptx() {
    if (!is_chosen("ptx")) return;
    take_list();
    rt::emulator::Memory memory;
    std::vector<std::string> reports;
    const auto subjects = ptx_subjects(memory, reports);
    for (const std::string& report : reports) problem("a false report: {}", report);
    for (const auto& subject : subjects) judge_all(*subject, "ptx: " + subject->kernel());
    check_list("its target");
  }

  int finish() {
    fmt::print("{} mutants, {} problems\n", mutants_, problems_);
    return problems_ == 0 && mutants_ > 0 ? 0 : 1;
  }

 private:
  bool is_chosen(std::string_view name) const {
    return options_.only.empty() ||
           std::any_of(options_.only.begin(), options_.only.end(), [&](const std::string& text) { return name.find(text) != name.npos; });
  }

  void take_list() {
    judged_.clear();
    left_.clear();
    for (const Equivalent& known : known_equivalents()) left_.push_back(known.count);
  }

  /// All that the list says of the kernels that were judged has to have been so.
  void check_list(const std::string& target) {
    if (options_.shares != 1) return;
    for (std::size_t k = 0; k < left_.size(); ++k)
      if (const Equivalent& known = known_equivalents()[k]; left_[k] > 0 && has_judged(known.kernel))
        problem("{} for {}: {}: {} mutants of '{}' less survive than are listed", known.kernel, target, name_of(known.weakening), left_[k],
                known.instruction);
  }

  bool has_judged(const std::string& pattern) const {
    return std::any_of(judged_.begin(), judged_.end(),
                       [&](const std::string& name) { return std::regex_match(name, std::regex(pattern)); });
  }

  void run(const Example& example, const std::string& target) {
    Inputs inputs(Device::open("emulator:" + target));
    subjects_.clear();
    rt::emulator::observe_launches([&](const auto& launch) { observe(launch); });
    example.launch(inputs);
    rt::emulator::observe_launches({});
    for (const auto& [text, subject] : subjects_) judge_all(*subject, subject->kernel());
  }

  void observe(const rt::emulator::EmulatedLaunch& launch) {
    auto& subject = subjects_[*launch.loaded.module().text];
    if (subject == nullptr) subject = std::make_unique<Subject>(launch.loaded, launch.kernel);
    for (const std::string& report : subject->add(launch)) problem("{}: a false report: {}", name_of(*subject), report);
  }

  void judge_all(const Subject& subject, const std::string& listed) {
    judged_.insert({listed, on_target(listed, subject)});
    std::map<Fate, int> fates;
    int equivalent = 0, count = 0;
    for (const Mutant& mutant : mutants_of(subject.module(), subject.kernel())) {
      if (mutants_++ % options_.shares != options_.share) continue;
      ++count;
      const Verdict verdict = subject.judge(mutant);
      const std::string source = source_text((*subject.counters().infos)[mutant.instruction]);
      const std::string text =
          fmt::format("{}: {}, line {}: {}  |{}|", name_of(subject), name_of(mutant.weakening), mutant.line, mutant.before, source);
      const bool is_caught = verdict.fate == Fate::found || verdict.fate == Fate::wrong;
      const std::string outcome = is_caught ? verdict.how : verdict.fate == Fate::survived ? "survived" : "not reached";
      if (options_.verbose) fmt::print("{}: {}\n", text, outcome);
      if (!is_caught && (take_known(listed, mutant, source) || take_known(on_target(listed, subject), mutant, source)))
        ++equivalent;
      else if (++fates[verdict.fate]; !is_caught)
        problem("{}: {}", text, outcome);
    }
    const auto never = subject.counters().never_ran().size();
    fmt::print("{}: {} mutants: checks found {}, values {}; equivalent {}, survived {}, not reached {}; {} of {} instructions never ran\n",
               name_of(subject), count, fates[Fate::found], fates[Fate::wrong], equivalent, fates[Fate::survived], fates[Fate::not_reached],
               never, subject.counters().instructions.size());
  }

  static std::string on_target(const std::string& kernel, const Subject& subject) {
    return fmt::format("{} for {}", kernel, subject.module().target);
  }
  static std::string name_of(const Subject& subject) { return on_target(subject.kernel(), subject); }
  static const char* name_of(Weakening weakening) { return test::name_of(weakening); }

  template <class... Values>
  void problem(fmt::format_string<Values...> pattern, Values&&... values) {
    ++problems_;
    fmt::print("{}\n", fmt::format(pattern, std::forward<Values>(values)...));
  }

  /// Whether the list has room for one more mutant like this.
  bool take_known(const std::string& kernel, const Mutant& mutant, const std::string& source) {
    const auto& all = known_equivalents();
    for (std::size_t k = 0; k < all.size(); ++k)
      if (left_[k] > 0 && describes(all[k], kernel, mutant, source)) {
        --left_[k];
        return true;
      }
    return false;
  }

  const Options& options_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;  // key: the text of the kernel
  std::vector<int> left_;                                     // for each row of the list: mutants of the target that are still to be found
  std::set<std::string> judged_;                              // kernels, for the target
  std::size_t mutants_ = 0;
  int problems_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs kernels of the examples on emulators with mutants of theirs, all of which have to be caught");
  Options options;
  app.add_option("--target", options.targets, "Only for these");
  app.add_option("--only", options.only, "Examples whose name holds one of these texts; ptx: the kernels of tests/ptx");
  app.add_option("--share", options.share, "Which of the shares to try, from 0");
  app.add_option("--of", options.shares, "Into how many shares the mutants are dealt");
  app.add_flag("--verbose", options.verbose, "Say of every mutant what became of it");
  CLI11_PARSE(app, argc, argv);
  Session session(options);
  for (const std::string& target : options.targets) session.run(target);
  session.run_ptx();
  return session.finish();
}
