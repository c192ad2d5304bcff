// ptx_mutants: the kernels of the examples run on emulators, and with them each mutant of theirs, which the emulator's checks or wrong
// values have to give away, or which the list of equivalent ones has to name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>

#include "tests/mutants/equivalent.h"
#include "tests/mutants/launches.h"
#include "tests/mutants/subject.h"

namespace {

using namespace tilewright;
using namespace tilewright::test;
using rt::emulator::Place;

struct Options {
  std::vector<std::string> targets{"sm_80", "sm_90a"}, only;
  std::size_t share = 0, shares = 1;
  bool verbose = false;
};

/// The user's line that an instruction comes from.
std::string source_text(const Place& place) {
  static std::map<std::string, std::vector<std::string>> files;
  if (place.source.line == 0) return "";
  auto& lines = files[place.source.file];
  if (lines.empty()) {
    std::ifstream in(place.source.file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  if (place.source.line > static_cast<int>(lines.size())) return "";
  const std::string& line = lines[static_cast<std::size_t>(place.source.line) - 1];
  const auto first = line.find_first_not_of(' ');
  return first == line.npos ? "" : line.substr(first);
}

class Session {
 public:
  explicit Session(const Options& options) : options_(options), used_(known_equivalents().size()) {}

  void run(const Example& example, const std::string& target) {
    Inputs inputs(Device::open("emulator:" + target));
    subjects_.clear();
    rt::emulator::observe_launches([&](const auto& launch) { observe(launch); });
    example.launch(inputs);
    rt::emulator::observe_launches({});
    for (const auto& [text, subject] : subjects_) judge_all(*subject);
  }

  int finish() {
    if (options_.only.empty() && options_.shares == 1)
      for (std::size_t k = 0; k < used_.size(); ++k)
        if (!used_[k])
          problem("no mutant is what is listed for '{}': {}, {}", known_equivalents()[k].kernel, name_of(known_equivalents()[k].weakening),
                  known_equivalents()[k].instruction);
    fmt::print("{} mutants, {} problems\n", mutants_, problems_);
    return problems_ == 0 && mutants_ > 0 ? 0 : 1;
  }

 private:
  void observe(const rt::emulator::EmulatedLaunch& launch) {
    auto& subject = subjects_[*launch.program.module().text];
    if (subject == nullptr) subject = std::make_unique<Subject>(launch.program, launch.kernel);
    for (const std::string& report : subject->add(launch)) problem("{}: a false report: {}", name_of(*subject), report);
  }

  void judge_all(const Subject& subject) {
    std::map<Fate, int> fates;
    int equivalent = 0, count = 0;
    for (const Mutant& mutant : mutants_of(subject.module(), subject.kernel())) {
      if (mutants_++ % options_.shares != options_.share) continue;
      ++count;
      const Verdict verdict = subject.judge(mutant);
      const std::string source = source_text((*subject.counters().places)[mutant.instruction]);
      const std::string text =
          fmt::format("{}: {}, line {}: {}  |{}|", name_of(subject), name_of(mutant.weakening), mutant.line, mutant.before, source);
      const bool is_caught = verdict.fate == Fate::found || verdict.fate == Fate::wrong;
      const std::string outcome = is_caught ? verdict.how : verdict.fate == Fate::survived ? "survived" : "not reached";
      if (options_.verbose) fmt::print("{}: {}\n", text, outcome);
      if (is_known(mutant, subject.kernel(), source)) {
        ++equivalent;
        if (is_caught) problem("{}: is listed as equivalent, but: {}", text, outcome);
      } else {
        ++fates[verdict.fate];
        if (!is_caught) problem("{}: {}", text, outcome);
      }
    }
    const auto never = subject.counters().never_ran().size();
    fmt::print("{}: {} mutants: checks found {}, values {}; equivalent {}, survived {}, not reached {}; {} of {} instructions never ran\n",
               name_of(subject), count, fates[Fate::found], fates[Fate::wrong], equivalent, fates[Fate::survived], fates[Fate::not_reached],
               never, subject.counters().instructions.size());
  }

  static std::string name_of(const Subject& subject) { return fmt::format("{} for {}", subject.kernel(), subject.module().target); }
  static const char* name_of(Weakening weakening) { return test::name_of(weakening); }

  template <class... Values>
  void problem(fmt::format_string<Values...> pattern, Values&&... values) {
    ++problems_;
    fmt::print("{}\n", fmt::format(pattern, std::forward<Values>(values)...));
  }

  bool is_known(const Mutant& mutant, const std::string& kernel, const std::string& source) {
    const auto& all = known_equivalents();
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].weakening == mutant.weakening && std::regex_match(kernel, std::regex(all[k].kernel)) &&
          std::regex_match(without_numbers(mutant.before), std::regex(all[k].instruction)) &&
          std::regex_match(source, std::regex(all[k].source)))
        return used_[k] = true;
    return false;
  }

  const Options& options_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;  // by their text
  std::vector<bool> used_;                                    // of the list
  std::size_t mutants_ = 0;
  int problems_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs kernels of the examples on emulators with mutants of theirs, all of which have to be caught");
  Options options;
  app.add_option("--target", options.targets, "Only for these");
  app.add_option("--only", options.only, "Examples whose name holds one of these texts");
  app.add_option("--share", options.share, "Which of the shares to try, from 0");
  app.add_option("--of", options.shares, "Into how many shares the mutants are dealt");
  app.add_flag("--verbose", options.verbose, "Say of every mutant what became of it");
  CLI11_PARSE(app, argc, argv);
  Session session(options);
  for (const std::string& target : options.targets)
    for (const Example& example : examples()) {
      const std::string_view name = example.name;
      const bool is_chosen =
          std::any_of(options.only.begin(), options.only.end(), [&](const auto& text) { return name.find(text) != name.npos; });
      if (options.only.empty() || is_chosen) session.run(example, target);
    }
  return session.finish();
}
