// Extracts includes and words from sources and compares them with the rules of the architecture.
#include "tests/layering/rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

namespace tilewright::layering {
namespace {

// Each layer may include itself and the layers before it.
constexpr std::array<std::string_view, 5> kLayers = {"tileir", "passes", "backend", "runtime", "frontend"};
constexpr int kMaxLines = 600;

bool starts_with_any(std::string_view path, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return path.starts_with(p); });
}

/// Position in kLayers, -1 for tests, examples and what else there is.
int layer_of(std::string_view path) {
  for (std::size_t i = 0; i < kLayers.size(); ++i)
    if (path.starts_with(kLayers[i]) && path.substr(kLayers[i].size()).starts_with("/")) return static_cast<int>(i);
  return -1;
}

bool is_public(std::string_view path) { return path.find("/include/tilewright/") != std::string_view::npos; }
bool may_include_llvm(std::string_view path) { return !is_public(path) && starts_with_any(path, {"backend/", "runtime/host/"}); }

// The half of the front end that only traces: it makes IR and must not depend on passes, back ends and devices.
bool is_tracing(std::string_view path) {
  return starts_with_any(path, {"frontend/trace/", "frontend/ops/", "frontend/include/tilewright/ops", "frontend/include/tilewright/tile.h",
                                "frontend/include/tilewright/detail/handle.h"});
}

bool may_print(std::string_view path) { return starts_with_any(path, {"frontend/cli/", "runtime/log.cpp", "tileir/diagnostics.cpp"}); }

// The emulator stands below the CUDA runtime and shares nothing with the compiler.
constexpr std::string_view kEmulator = "runtime/emulator/";
bool may_emulator_include(std::string_view path) {
  return starts_with_any(
      path, {"tileir/include/tilewright/error.h", "runtime/cuda/driver.h", "runtime/cuda/driver_types.h", "runtime/environment.h"});
}

// Fusion makes tile IR of graphs. Only plans and the front end need it, and it runs no passes on what it makes.
constexpr std::string_view kFusion = "passes/fusion/";
bool may_include_fusion(std::string_view path) { return starts_with_any(path, {kFusion, "runtime/plan/", "frontend/"}); }
bool may_fusion_include(std::string_view path) {
  return path.starts_with("tileir/") || path == "passes/rounded_exponents.h" || path == "passes/analysis/register_pressure.h";
}

// The search makes graphs of graphs. It needs no passes, and fusion does not know of it.
constexpr std::string_view kSearch = "passes/search/";
bool may_include_search(std::string_view path) { return starts_with_any(path, {kSearch, "frontend/"}); }
bool may_search_include(std::string_view path) { return path.starts_with("tileir/"); }

// A folder that is divided into folders on floors: each may include itself and those of lower floors.
struct Floor {
  std::string_view folder;
  int number;
};
struct Building {
  std::string_view root;
  std::string_view name;  // its name in messages
  std::span<const Floor> floors;
};

constexpr std::string_view kLoose = ".";  // files beside the folders, where a building has a floor for them

constexpr Floor kEmulatorFloors[] = {
    {"simd", 0},   {"ptx", 1}, {"program", 2}, {"shadow", 3}, {"cost", 4},    {"state", 5},   {"races", 6},
    {"memory", 7}, {"isa", 8}, {"async", 8},   {"matrix", 8}, {"machine", 9}, {"driver", 10},
};
constexpr Floor kFrontendFloors[] = {
    {"include", 0}, {"trace", 1}, {"ops", 2}, {"launch", 3}, {"kernels", 4}, {"tuning", 4}, {"graph", 5}, {"cli", 6},
};
constexpr Floor kLibraryFloors[] = {{"models", 0}, {"problems", 1}, {kLoose, 2}};
constexpr Floor kCommandLineFloors[] = {
    {"files", 0}, {"output", 1}, {"arguments", 2}, {"execution", 3}, {"bench", 4}, {"commands", 5}, {"main.cpp", 6},
};
constexpr Floor kBenchFloors[] = {
    {"rows", 0}, {"measuring", 1}, {"peers", 2}, {"report", 2}, {"runs", 3},
};
constexpr Floor kFusionFloors[] = {
    {kLoose, 0},  {"expr", 1},  {"graph", 2}, {"segments", 3}, {"translate", 3}, {"plan", 4},
    {"check", 5}, {"tiles", 5}, {"emit", 6},  {"report", 6},   {"cover", 7},     {"sequence", 8},
};
constexpr Floor kSearchFloors[] = {
    {kLoose, 0},     {"rules", 1},    {"graph", 1},   {"regions", 1},   {"partial", 1},
    {"generate", 2}, {"saturate", 2}, {"extract", 3}, {"backtrack", 4}, {"choose", 5},
};
constexpr Building kBuildings[] = {
    {kEmulator, "the emulator", kEmulatorFloors},
    {"frontend/", "the front end", kFrontendFloors},
    {"frontend/kernels/", "the kernel library", kLibraryFloors},
    {"frontend/cli/", "the command line", kCommandLineFloors},
    {"frontend/cli/bench/", "the benchmark", kBenchFloors},
    {kFusion, "fusion", kFusionFloors},
    {kSearch, "the search", kSearchFloors},
};

// A unit is a header with its source: x.h and x.cpp. Units do not depend on each other in a circle. These arrows are left out of the search
// for circles.
struct DeclaredArrow {
  std::string_view from, to, reason;
};
constexpr std::string_view kOneTable = "a header of kinds and the table of kinds are one: a new row compiles only what names kinds";
constexpr std::string_view kOneQuestion =
    "a rule asks whether it keeps the range of a formula, and the answer compares formulas in normal form";
constexpr std::string_view kStepsOfPlan = "the plan's constructor takes the steps of its head note";
constexpr std::string_view kHeldByEmitter = "the emitter of a function holds what is emitted through it";
constexpr DeclaredArrow kDeclaredArrows[] = {
    {"tileir/op_kind", "tileir/op_info", kOneTable},
    {"passes/fusion/expr/normal_form", "passes/fusion/expr/magnitude", kOneQuestion},
    {"backend/host/evaluation_plan", "backend/host/block_planner", kStepsOfPlan},
    {"backend/host/evaluation_plan", "backend/host/contraction", kStepsOfPlan},
    {"backend/host/evaluation_plan", "backend/host/kept_factors", kStepsOfPlan},
    {"backend/host/evaluation_plan", "backend/host/register_tiles", kStepsOfPlan},
    {"backend/host/emitter", "backend/host/combined_atomics", kHeldByEmitter},
    {"backend/host/emitter", "backend/host/live_bounds", kHeldByEmitter},
};

/// The unit of a file: its path without the extension.
std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

bool is_declared(std::string_view from, std::string_view to) {
  return std::any_of(std::begin(kDeclaredArrows), std::end(kDeclaredArrows),
                     [&](const DeclaredArrow& a) { return a.from == from && a.to == to; });
}

/// -1 if the folder stands on none.
int floor_of(const Building& building, std::string_view folder) {
  for (const Floor& floor : building.floors)
    if (floor.folder == folder) return floor.number;
  return -1;
}

/// The folder of a building that a file is in; "" for files outside of it. A loose file is a folder of its own, which stands on no floor,
/// unless the building has one for loose files.
std::string_view folder_within(const Building& building, std::string_view path) {
  if (!path.starts_with(building.root)) return "";
  path.remove_prefix(building.root.size());
  const auto slash = path.find('/');
  return slash == path.npos && floor_of(building, kLoose) >= 0 ? kLoose : path.substr(0, slash);
}

struct Include {
  int line;
  std::string name;
  bool angled;
};

/// A file without its comments and without the contents of its literals, line by line; and its includes.
struct Text {
  std::vector<std::string> lines;
  std::vector<Include> includes;
};

std::string trimmed(const std::string& line) {
  const auto first = line.find_first_not_of(" \t");
  return first == std::string::npos ? "" : line.substr(first);
}

void add_include(const std::string& line, int number, std::vector<Include>& includes) {
  std::string rest = trimmed(line);
  if (!rest.starts_with("#")) return;
  rest = trimmed(rest.substr(1));
  if (!rest.starts_with("include")) return;
  rest = trimmed(rest.substr(7));
  if (rest.empty() || (rest[0] != '<' && rest[0] != '"')) return;
  const auto end = rest.find(rest[0] == '<' ? '>' : '"', 1);
  if (end != std::string::npos) includes.push_back({number, rest.substr(1, end - 1), rest[0] == '<'});
}

/// Drops comments and literals from a line. Raw strings are rare enough in the sources to be left as they are.
std::string code_of(const std::string& line, bool& in_comment) {
  std::string code;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_comment) {
      if (line.compare(i, 2, "*/") == 0) in_comment = false, ++i;
    } else if (line.compare(i, 2, "//") == 0) {
      break;
    } else if (line.compare(i, 2, "/*") == 0) {
      in_comment = true, ++i;
    } else if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i)
        if (line[i] == '\\') ++i;
      code += "\"\"";
    } else {
      code += line[i];
    }
  }
  return code;
}

Text read(const std::string& source) {
  Text text;
  bool in_comment = false;
  std::istringstream in(source);
  for (std::string line; std::getline(in, line);) {
    if (!in_comment) add_include(line, static_cast<int>(text.lines.size()) + 1, text.includes);
    text.lines.push_back(code_of(line, in_comment));
  }
  return text;
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// `word` as an identifier of its own; with `called`, only where an opening parenthesis follows.
bool has_word(const std::string& line, std::string_view word, bool called = false) {
  for (auto at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool whole = (at == 0 || !is_word_char(line[at - 1])) && (end == line.size() || !is_word_char(line[end]));
    if (whole && (!called || line.compare(end, 1, "(") == 0)) return true;
  }
  return false;
}

/// The names that a numbered line of a head note gives to its step: "//   2. walk, Plan::update: ..." gives walk and update. None if words
/// precede the colon.
std::vector<std::string> names_of_step(const std::string& line) {
  const std::size_t number = line.find_first_not_of("/ "), dot = line.find(". "), colon = line.find(": ");
  if (!line.starts_with("//") || dot == line.npos || colon == line.npos || dot - number != 1 || colon < dot) return {};
  std::vector<std::string> names(1);
  for (char c : line.substr(dot + 2, colon - dot - 2)) {
    if (c == ',')
      names.emplace_back();
    else if (c == ':')
      names.back().clear();
    else if (is_word_char(c))
      names.back() += c;
    else if (c != ' ' || !names.back().empty())
      return {};
  }
  return names;
}

class Checker {
 public:
  explicit Checker(const Sources& sources) : sources_(sources) {
    for (const auto& [path, source] : sources) texts_.emplace(path, read(source));
  }

  std::vector<std::string> run() {
    for (const auto& [path, text] : texts_) {
      check_file(path, text);
      for (const Include& include : text.includes) check_include(path, include);
      check_words(path, text);
      if (path.starts_with(kFusion) && path.ends_with(".h")) check_steps(path, kFusion, "fusion");
      if (path.starts_with(kSearch) && path.ends_with(".h")) check_steps(path, kSearch, "the search");
      check_reach(path);
    }
    check_circles();
    return std::move(found_);
  }

 private:
  void report(const std::string& path, int line, const std::string& text) {
    found_.push_back(path + ":" + std::to_string(line) + ": " + text);
  }

  /// The file of the repository that an include means, or "".
  std::string resolve(const Include& include) const {
    if (sources_.contains(include.name)) return include.name;
    if (include.name == "tileir/op_names.def") return "tileir/ops.def";  // the build makes it of that
    for (std::string_view layer : kLayers)
      if (auto path = std::string(layer) + "/include/" + include.name; sources_.contains(path)) return path;
    return "";
  }

  void check_file(const std::string& path, const Text& text) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::string stem = name.substr(0, name.find('.'));
    for (std::string_view vague : {"util", "utils", "helper", "helpers", "common", "misc"})
      if (stem == vague) report(path, 1, "a file is named for what it holds, not '" + stem + "'");
    const bool table = name.ends_with(".def");
    if (!table && text.lines.size() > kMaxLines) report(path, kMaxLines + 1, "more than " + std::to_string(kMaxLines) + " lines");
    if (!sources_.at(path).starts_with("//")) report(path, 1, "the first line says what the file holds");
  }

  void check_include(const std::string& path, const Include& include) {
    const int layer = layer_of(path);
    if (layer < 0) {
      if (path.starts_with("examples/") && include.name != "tilewright/tilewright.h" && include.name != "example.h" && !is_std(include))
        report(path, include.line, "an example includes what a user would, not '" + include.name + "'");
      return;
    }
    if (starts_with_any(include.name, {"llvm/", "llvm-c/"}) && !may_include_llvm(path))
      report(path, include.line, "LLVM is known to backend/ and runtime/host/ only");
    if (include.name.starts_with("CLI/") && !path.starts_with("frontend/cli/"))
      report(path, include.line, "CLI11 is known to frontend/cli/ only");
    if (starts_with_any(include.name, {"tests/", "examples/"})) report(path, include.line, "the library includes no tests");

    if (path.ends_with(".h") && ((include.name == "tileir/ops.def" && path != "tileir/type_rules/checks.h") ||
                                 (include.name == "passes/passes.def" && path != "passes/all_passes.h")))
      report(path, include.line,
             "a header that includes '" + include.name + "' has all that includes it compiled again for each change there");

    const std::string target = resolve(include);
    if (target.empty()) {
      if (!include.angled) report(path, include.line, "'" + include.name + "' is not a file from the repository's root");
      if (is_public(path) && !is_std(include))
        report(path, include.line, "a public header includes the standard library, not '" + include.name + "'");
      return;
    }
    if (is_public(path) && !is_public(target)) report(path, include.line, "a public header includes public headers, not '" + target + "'");
    const int other = layer_of(target);
    if (other > layer)
      report(path, include.line, std::string(kLayers[layer]) + " stands below " + std::string(kLayers[other]) + " and does not include it");
    if (path.starts_with(kEmulator) && !target.starts_with(kEmulator) && !may_emulator_include(target))
      report(path, include.line, "the emulator is a library of its own, which does not include '" + target + "'");
    if (target.starts_with(kFusion) && !may_include_fusion(path))
      report(path, include.line, "only plans and the front end include fusion, not '" + target + "'");
    if (path.starts_with(kFusion) && !target.starts_with(kFusion) && other <= layer && !may_fusion_include(target))
      report(path, include.line, "fusion is a library of its own, which does not include '" + target + "'");
    if (target.starts_with(kSearch) && !may_include_search(path))
      report(path, include.line, "only the front end includes the search, not '" + target + "'");
    if (path.starts_with(kSearch) && !target.starts_with(kSearch) && other <= layer && !may_search_include(target))
      report(path, include.line, "the search is a library of its own, which does not include '" + target + "'");
    for (const Building& building : kBuildings) check_floors(building, path, include.line, target);
    if (is_tracing(path) && other > 0 && other < layer) report(path, include.line, "tracing includes tileir only, not '" + target + "'");
  }

  void check_floors(const Building& building, const std::string& path, int line, const std::string& target) {
    const std::string_view from = folder_within(building, path), to = folder_within(building, target);
    if (from.empty() || to.empty() || from == to) return;
    const int floor = floor_of(building, from);
    if (floor < 0)
      report(path, line, "'" + std::string(from) + "' stands on no floor of " + std::string(building.name) + ": rules.cpp has the table");
    else if (floor <= floor_of(building, to))
      report(path, line,
             std::string(building.name) + "'s " + std::string(from) + "/ stands below or beside " + std::string(to) +
                 "/ and does not include it");
  }

  static bool is_std(const Include& include) { return include.angled && include.name.find_first_of("./") == std::string::npos; }

  void check_words(const std::string& path, const Text& text) {
    if (layer_of(path) < 0) return;
    for (std::size_t i = 0; i < text.lines.size(); ++i) {
      const std::string& line = text.lines[i];
      const int number = static_cast<int>(i) + 1;
      for (std::string_view word : {"getenv", "secure_getenv"})
        if (path != "runtime/environment.cpp" && has_word(line, word))
          report(path, number, "only runtime/environment.cpp reads the environment");
      if (may_print(path)) continue;
      const auto forbidden = [&](std::string_view word) {
        report(path, number, "the library neither prints nor exits: '" + std::string(word) + "'");
      };
      for (std::string_view word : {"printf", "fprintf", "puts", "fputs", "exit", "_exit", "quick_exit"})
        if (has_word(line, word, true)) forbidden(word);
      for (std::string_view word : {"cout", "cerr", "clog"})
        if (has_word(line, word)) forbidden(word);
    }
  }

  /// The steps that the head note of a header numbers are called after functions of its library.
  void check_steps(const std::string& path, std::string_view library, const std::string& name_of_library) {
    std::istringstream source(sources_.at(path));
    int number = 0;
    for (std::string line; std::getline(source, line) && line.starts_with("//");) {
      ++number;
      for (const std::string& name : names_of_step(line)) {
        const bool is_function = std::any_of(texts_.begin(), texts_.end(), [&](const auto& file) {
          return file.first.starts_with(library) && std::any_of(file.second.lines.begin(), file.second.lines.end(),
                                                                [&](const std::string& l) { return has_word(l, name, true); });
        });
        if (!is_function)
          report(path, number, "the head note has a step '" + name + "', and " + name_of_library + " has no function of that name");
      }
    }
  }

  /// No header that a layer above the back end includes may reach LLVM, directly or through other headers.
  void check_reach(const std::string& path) {
    if (may_include_llvm(path)) return;
    for (const Include& include : texts_.at(path).includes) {
      std::set<std::string> seen;
      if (const std::string target = resolve(include); !target.empty() && may_include_llvm(target) && reaches_llvm(target, seen))
        report(path, include.line, "'" + target + "' brings in LLVM");
    }
  }

  /// Units that include each other, directly or through others, cannot be read, tested or changed one by one.
  void check_circles() {
    std::map<std::string, std::map<std::string, Arrow>> arrows;
    for (const auto& [path, text] : texts_)
      for (const Include& include : text.includes) {
        const std::string target = resolve(include);
        if (target.empty() || unit_of(target) == unit_of(path)) continue;
        arrows[unit_of(path)].emplace(unit_of(target), Arrow{path, include.line});
      }
    for (const DeclaredArrow& d : kDeclaredArrows) {
      const auto from = arrows.find(std::string(d.from));
      if (from == arrows.end()) continue;
      if (!from->second.contains(std::string(d.to)) || !reaches(std::string(d.to), std::string(d.from), arrows))
        report("tests/layering/rules.cpp", 1,
               "no circle needs the declared arrow from " + std::string(d.from) + " to " + std::string(d.to));
    }
    for (auto& [from, targets] : arrows) std::erase_if(targets, [&](const auto& to) { return is_declared(from, to.first); });
    for (const auto& [from, targets] : arrows)
      for (const auto& [to, arrow] : targets)
        if (reaches(to, from, arrows))
          report(arrow.path, arrow.line,
                 "the unit " + to + " includes " + from +
                     ", directly or through others: a circle of units. Move what both need to a unit of its own");
  }

  struct Arrow {
    std::string path;
    int line;
  };

  static bool reaches(const std::string& from, const std::string& to, const std::map<std::string, std::map<std::string, Arrow>>& arrows) {
    std::set<std::string> seen{from};
    std::vector<std::string> open{from};
    while (!open.empty()) {
      const std::string unit = open.back();
      open.pop_back();
      if (unit == to) return true;
      const auto at = arrows.find(unit);
      if (at == arrows.end()) continue;
      for (const auto& [next, arrow] : at->second)
        if (seen.insert(next).second) open.push_back(next);
    }
    return false;
  }

  bool reaches_llvm(const std::string& path, std::set<std::string>& seen) const {
    if (!seen.insert(path).second) return false;
    const auto& includes = texts_.at(path).includes;
    return std::any_of(includes.begin(), includes.end(), [&](const Include& include) {
      if (starts_with_any(include.name, {"llvm/", "llvm-c/"})) return true;
      const std::string target = resolve(include);
      return !target.empty() && reaches_llvm(target, seen);
    });
  }

  const Sources& sources_;
  std::map<std::string, Text> texts_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const Sources& sources) { return Checker(sources).run(); }

}  // namespace tilewright::layering
