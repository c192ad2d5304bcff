// Reads directives and runs cases. A new directive is a function in the table of directives.
#include "text_test.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fusion_steps.h"
#include "ir_text.h"
#include "passes/analysis/axis_info.h"
#include "passes/analysis/hazards.h"
#include "passes/analysis/live_extents.h"
#include "passes/analysis/register_pressure.h"
#include "passes/layout/coalesce.h"
#include "passes/pass_manager.h"
#include "passes/pipeline/loop_schedule.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/target/gpu_chips.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"
#include "update.h"

namespace tilewright::test {

namespace {

/// A problem or a note that a case expects, or that there is.
struct Finding {
  int line;
  std::string text;
};

struct Case {
  int first_line = 1;
  std::vector<std::string> lines;
  std::vector<Check> checks;
  std::vector<std::string> passes;
  int passes_line = 0;
  std::string analysis;
  int prints_itself_line = 0;  // 0: it need not
  bool prints_unchanged = false;
  struct Count {
    std::string op;
    int expected;
  };
  std::vector<Count> ops;
  int ops_line = 0;
  ir::TargetDesc target;
  std::string step;  // step of a graph test
  StepOptions step_options;
  bool checked = false;
  int warps = 4;
  std::vector<Finding> errors, notes, remarks;
  std::vector<Failure> failures;  // malformed directives, then what does not hold

  /// The case's text, its lines numbered as in the file.
  std::string text() const {
    std::string s(static_cast<std::size_t>(first_line - 1), '\n');
    for (const std::string& l : lines) s += l + '\n';
    return s;
  }
  void fail(int line, std::string message) { failures.push_back({line, std::move(message)}); }
};

// ---- directives ----

void read_passes(Case& c, int line, const std::string& text) {
  for (const std::string& name : split(text, ',')) c.passes.push_back(trimmed(name));
  c.passes_line = line;
}

void read_target(Case& c, int line, const std::string& text) {
  ir::TargetDesc& t = c.target;
  if (text == "baseline") {
    t = {};
  } else if (text == "avx2" || text == "avx512" || text == "amx") {
    t.name = "host-" + text;
    t.vector_bits = text == "avx2" ? 256 : 512;
    t.has_fma = t.has_f16_conversion = t.has_masked_memory = true;
    t.reduction.has_bf16_blocks = text == "amx";
  } else if (const auto gpu = ir::describe_gpu(text)) {
    t = *gpu;
  } else {
    c.fail(line, fmt::format("unknown target '{}'; expected baseline, avx2, avx512, amx or a GPU, as sm_80", text));
  }
  t.reduction.lanes = t.lanes();
}

void read_mode(Case& c, int line, const std::string& text) {
  c.checked = text == "checked";
  if (!c.checked) c.fail(line, fmt::format("unknown mode '{}'; expected checked", text));
}

void read_warps(Case& c, int line, const std::string& text) {
  c.warps = std::atoi(text.c_str());
  if (c.warps < 1 || c.warps > 32 || (c.warps & (c.warps - 1)) != 0) c.fail(line, fmt::format("'{}' warps; expected a power of two", text));
}

std::string print_coalescing(const ir::Function& f, const Case& c) {
  const passes::AxisInfoAnalysis axes(f);
  const passes::RematerializableValues rematerializable(f);
  return passes::Coalescing(f, axes, rematerializable, std::countr_zero(static_cast<unsigned>(c.warps))).print();
}

std::string print_pressure(const ir::Function& f, const Case& c) {
  const passes::RegisterPressure p = passes::register_pressure(f);
  const std::string refusal = passes::too_large(f, c.target, c.warps);
  const int programs = passes::blocks_per_sm(f, c.target, c.warps, 0);
  return fmt::format("{} registers, {}\n{}", p.registers, programs ? fmt::format("{} programs on an SM", programs) : "left to ptxas",
                     refusal);
}

std::string print_schedules(const ir::Function& f, const Case& c) {
  passes::PlanCache plans;
  passes::PassContext context;
  context.target = c.target;
  context.num_warps = c.warps;
  context.plans = &plans;
  return passes::print_schedules(f, context);
}

struct Analysis {
  std::string_view name;
  std::string (*print)(const ir::Function&, const Case&);
};
constexpr Analysis kAnalyses[] = {
    {"axis_info", [](const ir::Function& f, const Case&) { return passes::AxisInfoAnalysis(f).print(); }},
    {"coalesce", print_coalescing},
    {"hazards", [](const ir::Function& f, const Case& c) { return passes::print_hazards(f, passes::LoweringPlans(f, c.warps)); }},
    {"live_data_words", [](const ir::Function& f, const Case&) { return fmt::format("{} words\n", passes::live_data_words(f)); }},
    {"live_extents", [](const ir::Function& f, const Case&) { return passes::LiveExtents(f, passes::AxisInfoAnalysis(f)).print(); }},
    {"register_pressure", print_pressure},
    {"schedules", print_schedules},
};

const Analysis* find_analysis(std::string_view name) {
  const auto it = std::find_if(std::begin(kAnalyses), std::end(kAnalyses), [&](const Analysis& a) { return a.name == name; });
  return it == std::end(kAnalyses) ? nullptr : it;
}

void read_analysis(Case& c, int line, const std::string& text) {
  if (!find_analysis(text)) return c.fail(line, fmt::format("unknown analysis '{}'", text));
  c.analysis = text;
}

void read_step(Case& c, int line, const std::string& text) {
  const std::vector<std::string_view> steps = fusion_steps();
  if (std::find(steps.begin(), steps.end(), text) == steps.end())
    return c.fail(line, fmt::format("unknown step '{}'; expected one of {}", text, fmt::join(steps, ", ")));
  c.step = text;
}

void read_options(Case& c, int line, const std::string& text) {
  passes::fusion::FusionOptions& program = c.step_options.program;
  const std::map<std::string_view, bool*> switches = {
      {"batch_invariant", &program.batch_invariant}, {"move_rounding", &program.move_rounding}, {"reassociate", &program.reassociate}};
  static const std::regex form(R"(^([a-z_]+) = ([a-z0-9]+)$)");
  for (const std::string& part : split(text, ',')) {
    const std::string option = trimmed(part);
    std::smatch m;
    const bool is_option = std::regex_match(option, m, form);
    const auto found = is_option ? switches.find(m[1].str()) : switches.end();
    if (found != switches.end() && (m[2] == "true" || m[2] == "false"))
      *found->second = m[2] == "true";
    else if (is_option && m[1] == "most_operations" && std::atoi(m[2].str().c_str()) > 0)
      c.step_options.most_operations = static_cast<std::size_t>(std::atoi(m[2].str().c_str()));
    else
      c.fail(line,
             fmt::format("'{}': expected reassociate, move_rounding or batch_invariant = true or false, or most_operations = N", option));
  }
}

void read_prints(Case& c, int line, const std::string& text) {
  if (text == "itself")
    c.prints_itself_line = line;
  else if (text == "unchanged")
    c.prints_unchanged = true;
  else
    c.fail(line, "expected 'prints: itself' or 'prints: unchanged'");
}

void read_ops(Case& c, int line, const std::string& text) {
  static const std::regex form(R"(^([a-z_][a-z_0-9]*) = ([0-9]+)$)");
  c.ops_line = line;
  for (const std::string& part : split(text, ',')) {
    const std::string count = trimmed(part);
    std::smatch m;
    if (!std::regex_match(count, m, form)) return c.fail(line, fmt::format("'{}': expected OP = COUNT", count));

    if (!ir::parse_op(m[1].str())) return c.fail(line, fmt::format("unknown op '{}'", m[1].str()));
    c.ops.push_back({m[1], std::stoi(m[2])});
  }
}

void read_error(Case& c, int line, const std::string& text) { c.errors.push_back({line, text}); }
void read_note(Case& c, int line, const std::string& text) { c.notes.push_back({line, text}); }
void read_remark(Case& c, int line, const std::string& text) { c.remarks.push_back({line, text}); }

struct Directive {
  std::string_view name;
  void (*read)(Case&, int line, const std::string& text);
  bool names_next_line = false;  // alone on its line, it speaks of the line of code after it
};
constexpr Directive kDirectives[] = {
    {"passes", read_passes},     {"target", read_target},       {"analysis", read_analysis}, {"prints", read_prints},
    {"error", read_error, true}, {"note", read_note, true},     {"mode", read_mode},         {"warps", read_warps},
    {"ops", read_ops},           {"remark", read_remark, true}, {"step", read_step},         {"options", read_options},
};

std::optional<CheckKind> check_kind(std::string_view name) {
  if (name == "CHECK") return CheckKind::plain;
  if (name == "CHECK-NEXT") return CheckKind::next;
  if (name == "CHECK-NOT") return CheckKind::not_;
  if (name == "CHECK-DAG") return CheckKind::dag;
  if (name == "CHECK-LABEL") return CheckKind::label;
  return std::nullopt;
}

/// Splits "  code  // name: text". Comments of any other form are not directives.
struct SplitLine {
  bool has_code;
  std::string name, text;
};
SplitLine split_line(const std::string& line) {
  static const std::regex directive(R"((?:^|\s)//\s*(CHECK[A-Z-]*|[a-z_]+):(?:\s+(.*))?$)");
  const std::size_t comment = line.find("//");
  SplitLine s{!trimmed(std::string_view(line).substr(0, comment)).empty(), {}, {}};
  std::smatch m;
  if (comment != std::string::npos && std::regex_search(line, m, directive)) s.name = m[1], s.text = trimmed(m[2].str());
  return s;
}

int line_of_next_code(const std::vector<std::string>& lines, std::size_t i) {
  std::size_t next = i + 1;
  while (next < lines.size() && !split_line(lines[next]).has_code) ++next;
  return static_cast<int>(next < lines.size() ? next : i);
}

void read_directives(Case& c) {
  read_target(c, c.first_line, "baseline");
  for (std::size_t i = 0; i < c.lines.size(); ++i) {
    const SplitLine s = split_line(c.lines[i]);
    const int line = c.first_line + static_cast<int>(i);
    if (s.name.empty()) continue;
    if (const auto kind = check_kind(s.name)) {
      c.checks.push_back({*kind, s.text, line});
      if (s.text.empty()) c.fail(line, "a CHECK without a pattern holds of everything");
      continue;
    }
    const auto d = std::find_if(std::begin(kDirectives), std::end(kDirectives), [&](const Directive& x) { return x.name == s.name; });
    if (d == std::end(kDirectives))
      c.fail(line, fmt::format("unknown directive '{}'", s.name));
    else
      d->read(c, d->names_next_line && !s.has_code ? c.first_line + line_of_next_code(c.lines, i) : line, s.text);
  }
  const bool expects = !c.checks.empty() || !c.ops.empty() || c.prints_itself_line > 0 || c.prints_unchanged;
  if (!expects && (!c.passes.empty() || !c.analysis.empty())) c.fail(c.first_line, "passes or an analysis without a CHECK");
  if (!expects && !c.step.empty()) c.fail(c.first_line, "a step without a CHECK");
  if (!c.notes.empty() && c.errors.empty()) c.fail(c.notes[0].line, "a note without an error");
}

std::vector<Case> read_cases(std::string_view contents) {
  std::vector<Case> cases(1);
  int line = 0;
  for (const std::string& l : split(contents, '\n')) {
    ++line;
    if (trimmed(l) == "// -----") {
      cases.emplace_back().first_line = line + 1;
    } else {
      cases.back().lines.push_back(l);
    }
  }
  for (Case& c : cases) read_directives(c);
  return cases;
}

// ---- errors ----

/// The findings of an Error: lines "file:line:column: error: text", then notes.
void add_error(const Error& e, std::vector<Finding>& errors, std::vector<Finding>& notes) {
  static const std::regex form(R"(^.*?(?::(\d+))?(?::\d+)?: (error|note): (.*)$)");
  for (const std::string& line : split(e.what(), '\n')) {
    std::smatch m;
    if (!std::regex_match(line, m, form)) continue;
    (m[2] == "error" ? errors : notes).push_back({m[1].matched ? std::stoi(m[1]) : 0, m[3]});
  }
}

/// Everything that is wrong with a text; the module if nothing is.
std::optional<ir::Module> read_module(const Case& c, const std::string& file, std::vector<Finding>& errors, std::vector<Finding>& notes) {
  try {
    ir::Module m = ir::parse_unverified(c.text(), file);
    for (const ir::Function& f : m.functions)
      for (const ir::Problem& p : ir::verify(f)) {
        errors.push_back({p.where.line, p.message});
        for (const Note& n : p.notes) notes.push_back({n.where.line, n.text});
      }
    if (errors.empty()) return m;
  } catch (const Error& e) {
    add_error(e, errors, notes);
  }
  return std::nullopt;
}

/// Line 0 stands for a place that is not known.
bool meets(const Finding& expected, const Finding& seen) {
  return (seen.line == expected.line || seen.line == 0) && seen.text.find(expected.text) != std::string::npos;
}

void compare(Case& c, std::string_view what, const std::vector<Finding>& expected, const std::vector<Finding>& seen, bool all) {
  for (const Finding& e : expected) {
    if (e.text.empty()) c.fail(e.line, fmt::format("an expected {} without a text", what));
    if (std::none_of(seen.begin(), seen.end(), [&](const Finding& s) { return meets(e, s); }))
      c.fail(e.line, fmt::format("no {} here says: {}", what, e.text));
  }
  for (const Finding& s : seen)
    if (all && std::none_of(expected.begin(), expected.end(), [&](const Finding& e) { return meets(e, s); }))
      c.fail(s.line, fmt::format("unexpected {}: {}", what, s.text));
}

// ---- output ----

void check_reads_back(Case& c, const ir::Module& m) {
  for (const bool locations : {false, true}) {
    const ir::PrintOptions options{locations};
    const std::string once = print(m, options);
    try {
      if (const std::string twice = print(ir::parse(once, "output"), options); twice != once)
        c.fail(c.first_line, fmt::format("the output reads back as something else:\n{}\nwas:\n{}", twice, once));
    } catch (const Error& e) {
      c.fail(c.first_line, fmt::format("the output does not read back: {}\n{}", e.what(), once));
    }
  }
}

/// A text about a function, with values named as in the case's text if their number is the same after the passes.
std::string with_source_names(const Case& c, const ir::Function& f, const std::string& text) {
  const std::string source = c.text(), start = fmt::format("kernel @{}(", f.name);
  const std::size_t begin = source.find(start);
  const std::vector<std::string> names = values_of(source.substr(begin, source.find("\nkernel @", begin) - begin));
  const std::vector<std::string> printed = values_of(print(f));
  if (names.size() != printed.size()) return text;
  std::map<std::string, std::string> name_of;
  for (std::size_t i = 0; i < names.size(); ++i) name_of[printed[i]] = names[i];
  static const std::regex value(R"(%\w+)");
  std::string named, rest = text;
  for (std::smatch m; std::regex_search(rest, m, value); rest = m.suffix()) {
    const auto known = name_of.find(m.str());
    named += m.prefix().str() + (known == name_of.end() ? m.str() : known->second);
  }
  return named + rest;
}

std::string output(Case& c, ir::Module& m) {
  const std::vector<std::string_view> names(c.passes.begin(), c.passes.end());
  passes::PassContext context;
  context.target = c.target;
  context.check = c.checked;
  context.num_warps = c.warps;
  std::vector<passes::Remark> remarks;
  context.remarks = &remarks;
  passes::RunOptions options;
  options.verify_each = true;
  std::string out;
  for (ir::Function& f : m.functions) {
    const std::string before = print(f);
    if (!names.empty()) passes::run_passes(f, names, context, options);
    const std::string after = print(f);
    if (c.prints_unchanged && after != before)
      c.fail(c.passes_line, fmt::format("the passes change @{}:\n{}", f.name, unified_diff("@" + f.name, before, after)));
    const Analysis* analysis = find_analysis(c.analysis);
    out += analysis ? fmt::format("analysis of @{}\n{}\n", f.name, with_source_names(c, f, analysis->print(f, c))) : after + '\n';
  }
  if (!names.empty()) check_reads_back(c, m);
  std::vector<Finding> seen;
  for (const passes::Remark& r : remarks) seen.push_back({r.where.line, r.text});
  compare(c, "remark", c.remarks, seen, !c.remarks.empty());
  return out;
}

/// The first line in which a text, comments and empty lines aside, differs from the output.
void check_prints_itself(Case& c, const std::string& output) {
  std::vector<Finding> code;
  for (std::size_t i = 0; i < c.lines.size(); ++i)
    if (split_line(c.lines[i]).has_code) code.push_back({c.first_line + static_cast<int>(i), c.lines[i]});
  std::size_t at = 0;
  for (const std::string& l : split(output, '\n')) {
    if (l.empty()) continue;
    if (at == code.size() || code[at].text != l) {
      const int line = at < code.size() ? code[at].line : c.prints_itself_line;
      return c.fail(line, fmt::format("this is printed as: {}", l));
    }
    ++at;
  }
  if (at < code.size()) c.fail(code[at].line, "this is not printed");
}

void check_ops(Case& c, const std::string& output) {
  std::map<std::string, int> counts = count_ops(output);
  for (const Case::Count& o : c.ops)
    if (counts[o.op] != o.expected) c.fail(c.ops_line, fmt::format("{} = {}: the output has {}", o.op, o.expected, counts[o.op]));
}

/// The lines of a case with its CHECK and `ops` lines replaced by ones for this output.
std::vector<std::string> blessed(const Case& c, const std::string& output) {
  const std::vector<std::string> fresh = fresh_checks(output, c.checks);
  std::map<std::string, int> counts = count_ops(output);
  std::vector<std::string> lines, ops;
  for (const Case::Count& o : c.ops) ops.push_back(fmt::format("{} = {}", o.op, counts[o.op]));
  bool placed = false;
  for (std::size_t i = 0; i < c.lines.size(); ++i) {
    const int line = c.first_line + static_cast<int>(i);
    if (line == c.ops_line) {
      lines.push_back(fmt::format("// ops: {}", fmt::join(ops, ", ")));
    } else if (std::none_of(c.checks.begin(), c.checks.end(), [&](const Check& k) { return k.line == line; })) {
      lines.push_back(c.lines[i]);
    } else if (!placed) {
      lines.insert(lines.end(), fresh.begin(), fresh.end());
      placed = true;
    }
  }
  return lines;
}

/// Compares the output with the checks; the lines that the case should have instead are the result.
std::vector<std::string> checked(Case& c, const std::string& out) {
  const std::size_t before = c.failures.size();
  check_ops(c, out);
  const std::vector<Failure> failed = run_checks(c.checks, out);
  c.failures.insert(c.failures.end(), failed.begin(), failed.end());
  return c.failures.size() == before ? c.lines : blessed(c, out);
}

std::optional<graph::Graph> read_graph(Case& c, const std::string& file) {
  std::vector<Finding> errors, notes;
  std::optional<graph::Graph> g;
  try {
    g = graph::parse(c.text(), file);
    if (const std::string once = graph::print(*g); graph::print(graph::parse(once, "output")) != once)
      c.fail(c.first_line, "the graph reads back as another one");
  } catch (const Error& e) {
    add_error(e, errors, notes);
  }
  compare(c, "error", c.errors, errors, true);
  return g;
}

std::vector<std::string> run_graph_case(Case& c, const std::string& file) {
  if (c.step.empty()) c.fail(c.first_line, "a graph needs a step");
  if (!c.failures.empty()) return c.lines;  // malformed
  const std::optional<graph::Graph> g = read_graph(c, file);
  if (!g) return c.lines;
  c.step_options.target = c.target;
  return checked(c, print_step(c.step, *g, c.step_options));
}

/// Runs a case; the lines it should have instead are the result.
std::vector<std::string> run_case(Case& c, const std::string& file) {
  if (file.ends_with(".graph")) return run_graph_case(c, file);
  if (!c.step.empty()) c.fail(c.first_line, "a step is of a graph, in a .graph file");
  if (!c.failures.empty()) return c.lines;  // malformed
  std::vector<Finding> errors, notes;
  std::optional<ir::Module> m = read_module(c, file, errors, notes);
  compare(c, "error", c.errors, errors, true);
  compare(c, "note", c.notes, notes, false);
  if (!m) return c.lines;
  if (m->functions.empty()) c.fail(c.first_line, "there is no kernel");
  check_reads_back(c, *m);
  std::string out;
  try {
    out = output(c, *m);
  } catch (const Error& e) {
    c.fail(c.passes_line, e.what());
    return c.lines;
  }
  if (c.prints_itself_line > 0) check_prints_itself(c, out);
  return checked(c, out);
}

}  // namespace

TextTestResult run_text_test(std::string_view contents, const std::string& file) {
  TextTestResult result;
  std::vector<std::string> updated;
  for (Case& c : read_cases(contents)) {
    if (c.first_line > 1) updated.push_back("// -----");
    const std::vector<std::string> lines = run_case(c, file);
    updated.insert(updated.end(), lines.begin(), lines.end());
    result.failures.insert(result.failures.end(), c.failures.begin(), c.failures.end());
  }
  result.updated = fmt::format("{}", fmt::join(updated, "\n"));
  return result;
}

}  // namespace tilewright::test
