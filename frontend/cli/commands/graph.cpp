// tilewright graph: compiles a textual graph to fused kernels, prints them in a chosen form, and runs them on NumPy files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "frontend/cli/arguments/launch_options.h"
#include "frontend/cli/arguments/targets.h"
#include "frontend/cli/commands/command.h"
#include "frontend/cli/execution/emulator_launches.h"
#include "frontend/cli/execution/execution.h"
#include "frontend/cli/execution/graph_comparison.h"
#include "frontend/cli/execution/graph_execution.h"
#include "frontend/cli/files/npy.h"
#include "frontend/cli/output/diagnostics_text.h"
#include "frontend/cli/output/launch_timing.h"
#include "frontend/graph/compile.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/saturate/saturate.h"
#include "runtime/devices.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

constexpr std::array<std::string_view, 8> kForms = {"explain", "svg", "tileir", "ptx", "graph", "terms", "classes", "rewritten"};
// The forms that need no plan.
constexpr std::array<std::string_view, 3> kFormsOfGraphs = {"graph", "terms", "classes"};
constexpr std::array<std::string_view, 3> kSearches = {"off", "estimate", "measure"};
constexpr std::string_view kInterpreter = "interpreter";

struct Options {
  std::string file, target, device, emit, kernel, output = "-";
  bool no_fuse = false, no_reassociate = false, no_move_rounding = false, no_deterministic = false, batch_invariant = false, check = false;
  std::optional<std::uint64_t> max_workspace;
  std::string search;
  SearchLimits search_limits;
  bool expand_differences = false;
  std::vector<std::string> arguments, outputs;
  std::optional<std::uint64_t> random, limit;
  std::optional<double> compare;
  bool report = false, locations = false;

  bool runs() const { return !arguments.empty() || !outputs.empty() || random || compare || report; }
  bool is_interpreted() const { return device == kInterpreter; }
  /// The form to print; empty for none.
  std::string form() const { return !emit.empty() ? emit : runs() || is_interpreted() ? "" : "explain"; }
};

bool is_form_of_graph(std::string_view form) {
  return std::find(kFormsOfGraphs.begin(), kFormsOfGraphs.end(), form) != kFormsOfGraphs.end();
}

void check(const Options& o) {
  if (!o.emit.empty() && std::find(kForms.begin(), kForms.end(), o.emit) == kForms.end())
    throw UsageError(fmt::format("--emit '{}' is none of {}{}", o.emit, fmt::join(kForms, ", "), ir::suggestion(o.emit, kForms)));
  if (!o.target.empty() && !o.device.empty())
    throw UsageError("--target is for plans that do not run, --device for those that do; give one");
  if (!o.target.empty() && o.search == "measure") throw UsageError("--search measure runs graphs: it needs a --device, not a --target");
  if (!o.target.empty() && o.runs()) throw UsageError("--target compiles only; --device runs the graph");
  if (o.is_interpreted() && !o.emit.empty() && !is_form_of_graph(o.emit))
    throw UsageError(fmt::format("--emit {}: the interpreter has no kernels", o.emit));
  if (!o.search.empty() && std::find(kSearches.begin(), kSearches.end(), o.search) == kSearches.end())
    throw UsageError(
        fmt::format("--search '{}' is none of {}{}", o.search, fmt::join(kSearches, ", "), ir::suggestion(o.search, kSearches)));
  if (!o.kernel.empty() && o.emit != "ptx" && o.emit != "tileir") throw UsageError("--kernel is for --emit tileir and ptx");
}

Search search_of(const Options& o) {
  if (o.search == "measure") return Search::measure;
  return o.search == "off" ? Search::off : Search::estimate;
}

PlanOptions plan_options(const Options& o) {
  return {.fuse = !o.no_fuse,
          .reassociate = !o.no_reassociate,
          .move_rounding = !o.no_move_rounding,
          .deterministic = !o.no_deterministic,
          .batch_invariant = o.batch_invariant,
          .max_workspace = o.max_workspace.value_or(SIZE_MAX),
          .check = o.check,
          .search = search_of(o),
          .search_limits = o.search_limits,
          .expand_differences = o.expand_differences};
}

/// The kernels in the order in which they run: those for parameters first.
std::vector<PlannedKernel> kernels_of(const Plan& plan) {
  std::vector<PlannedKernel> all = plan.parameter_kernels(Here());
  for (PlannedKernel& k : plan.kernels(Here())) all.push_back(std::move(k));
  return all;
}

/// The kernel that --kernel names, or all.
std::vector<PlannedKernel> chosen_kernels(const Plan& plan, const std::string& name) {
  std::vector<PlannedKernel> all = kernels_of(plan);
  if (name.empty()) return all;
  const auto spell = [](const PlannedKernel& k) -> std::string_view { return k.name; };
  for (PlannedKernel& k : all)
    if (k.name == name) return {std::move(k)};
  std::vector<std::string> names;
  for (const PlannedKernel& k : all) names.push_back(k.name);
  throw UsageError(
      fmt::format("the plan has no kernel '{}'{}; it has '{}'", name, ir::suggestion(name, all, spell), fmt::join(names, "', '")));
}

std::string ptx(const Plan& plan, const Options& options) {
  const std::vector<PlannedKernel> kernels = chosen_kernels(plan, options.kernel);
  if (kernels.size() == 1) return kernels[0].ptx;
  std::vector<std::string> names;
  for (const PlannedKernel& k : kernels) names.push_back(k.name);
  throw UsageError(
      fmt::format("--emit ptx: the plan has {} kernels; name one with --kernel: '{}'", kernels.size(), fmt::join(names, "', '")));
}

/// A form that needs no plan.
std::string text_of(const std::string& form, const graph::Graph& g, const Options& options) {
  namespace search = passes::search;
  if (form == "graph") return graph::print(g, {.locations = options.locations});
  search::GraphTerms terms = search::graph_to_terms(g);
  if (form == "terms") return search::text(terms, g);
  const search::SaturatedGraph saturated(g, terms,
                                         {.nodes = options.search_limits.nodes, .expand_differences = options.expand_differences});
  return search::text(terms, g, saturated.classes()) + fmt::format("{} nodes, {} after {} rounds\n", saturated.classes().nodes(),
                                                                   saturated.is_complete() ? "complete" : "at a limit", saturated.rounds());
}

std::string text_of(const std::string& form, const Plan& plan, const Options& options) {
  if (form == "svg") return plan.explain_svg(Here());
  if (form == "explain") return plan.explain(Here());
  if (form == "rewritten") return plan.rewritten(Here());
  if (form == "ptx") return ptx(plan, options);
  std::string text;
  for (const PlannedKernel& k : chosen_kernels(plan, options.kernel)) text += k.tile_ir;
  return text;
}

struct OutputFile {
  std::string name, path;
};

std::vector<OutputFile> parse_outputs(const graph::Graph& g, const Options& options) {
  std::vector<OutputFile> files;
  const auto spell = [](const graph::Output& o) -> std::string_view { return o.name; };
  for (const std::string& text : options.outputs) {
    const auto [name, path] = split_assignment(text, "--out");
    const auto is_named = [&, &wanted = name](const graph::Output& o) { return o.name == wanted; };
    if (std::none_of(g.outputs().begin(), g.outputs().end(), is_named))
      throw UsageError(fmt::format("--out '{}': the graph has no output '{}'{}", text, name, ir::suggestion(name, g.outputs(), spell)));
    files.push_back({name, path});
  }
  return files;
}

void write_results(const std::vector<GraphResult>& results, const std::vector<OutputFile>& outputs, Session& session) {
  for (const OutputFile& file : outputs)
    for (const GraphResult& r : results)
      if (r.name == file.name) session.files.write(file.path, write_npy(r.element, r.shape, r.bytes));
}

/// Prints the error of each output. Throws Failure if an element is beyond the tolerance.
void compare(const graph::Graph& g, const GraphArguments& arguments, const std::vector<GraphResult>& results, double tolerance,
             bool multiplies_in_tf32) {
  std::string wrong;
  for (const ComparedResult& r : compare_with_graph(g, arguments, results, tolerance, multiplies_in_tf32)) {
    fmt::print(stderr, "{}\n", r.text());
    if (!r.is_right()) wrong += fmt::format("{}'{}'", wrong.empty() ? "" : ", ", r.name);
  }
  if (!wrong.empty()) throw Failure(fmt::format("elements of {} are beyond --compare {}", wrong, tolerance));
}

void print_report(const rt::Device& device, GraphExecution& execution, double first_ms) {
  fmt::print(stderr, "graph on {}: {}\n", device.name(), device.description());
  // Only the first run's counters: the timed runs have the same.
  const std::string counted = device.name().starts_with("emulator:") ? rt::take_counters_text(device.name(), 0) : "";
  fmt::print(stderr, "  {:<9} {}\n{}", "run", timing_text([] {}, [&] { execution.launch(); }, first_ms), counted);
}

void interpret(const graph::Graph& g, const Options& options, Session& session) {
  const std::vector<OutputFile> outputs = parse_outputs(g, options);
  if (options.runs()) {
    const GraphArguments arguments = parse_graph_arguments(g, options.arguments, options.random, session.files);
    const std::vector<GraphResult> results = interpret_graph(g, arguments, graph::Rounding::as_typed);
    write_results(results, outputs, session);
    if (options.compare) compare(g, arguments, results, *options.compare, false);
  }
  if (is_form_of_graph(options.form())) session.files.write(options.output, text_of(options.form(), g, options));
}

void run(const graph::Graph& g, const Plan& plan, const std::shared_ptr<rt::Device>& device, const Options& options, Session& session) {
  const std::vector<OutputFile> outputs = parse_outputs(g, options);
  const GraphArguments arguments = parse_graph_arguments(g, options.arguments, options.random, session.files);
  GraphExecution execution(g, plan, device, arguments);
  const double first_ms = timed([&] { execution.launch(); });
  const std::vector<GraphResult> results = execution.results();
  write_results(results, outputs, session);
  if (options.report) print_report(*device, execution, first_ms);
  if (options.compare) compare(g, arguments, results, *options.compare, find_target(device->target()).is_gpu());
}

void execute(const Options& options, Session& session) {
  check(options);
  const auto g = std::make_shared<const graph::Graph>(session.files.read_graph(options.file));
  if (options.is_interpreted()) return interpret(*g, options, session);
  const EmulatorLaunches launches(options.device, options.limit);
  std::shared_ptr<rt::Device> device;
  if (!options.device.empty() || options.runs() || options.search == "measure")
    device = open_named_device(options.device.empty() ? "cpu" : options.device);
  const std::string target = device ? device->target() : options.target.empty() ? "cpu" : options.target;
  if (const ir::TargetDesc facts = find_target(target); options.emit == "ptx" && !facts.is_gpu())
    throw UsageError(fmt::format("--emit ptx: target '{}' is not a GPU; there are {}", target, kGpuTargets));
  const Plan plan = detail::compile_graph(g, device, target, plan_options(options), Here());
  if (options.runs()) run(*g, plan, device, options, session);
  const std::string form = options.form();
  if (form.empty()) return;
  session.files.write(options.output, is_form_of_graph(form) ? text_of(form, *g, options) : text_of(form, plan, options));
}

void add_plan_options(CLI::App& c, Options& o) {
  c.add_flag("--no-fuse", o.no_fuse, "Node by node: what the fused plan is compared with");
  c.add_flag("--no-reassociate", o.no_reassociate, "Take sums in the order of the formulas, and no factor out of them");
  c.add_flag("--no-move-rounding", o.no_move_rounding, "Round every value to its element type, also between fused nodes");
  c.add_flag("--no-deterministic", o.no_deterministic, "Allow float atomics, whose order differs from run to run");
  c.add_flag("--batch-invariant", o.batch_invariant, "A row's bits do not depend on how many rows there are");
  c.add_flag("--check", o.check, "Compile for checked mode: an index outside of a tensor is an error of the run");
  c.add_option("--max-workspace", o.max_workspace, "The most memory for tensors between kernels")->type_name("BYTES");
  c.add_option(
       "--search", o.search,
       "Compile an equal graph that takes less time, if there is one: by the estimate, or as measured on the device; default: estimate")
      ->type_name("off|estimate|measure");
  c.add_option("--search-nodes", o.search_limits.nodes, "The most formulas that the search finds to be equal")->type_name("N");
  c.add_option("--search-candidates", o.search_limits.candidates,
               "Graphs that are estimated beside the one as written, for each part of the graph")
      ->type_name("N");
  c.add_option("--search-gain", o.search_limits.gain,
               "How many times as fast a graph must be to be compiled in place of the written one; below 1: also a slower one")
      ->type_name("X");
  c.add_flag("--expand-differences", o.expand_differences,
             "The search may make a c - b c of (a - b) c, which loses digits where a and b are close");
}

}  // namespace

void add_graph(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(
      root, session, "graph", "Compile a graph of whole tensors to fused kernels, explain them, and run them on NumPy files",
      "Examples: what becomes of a graph on a GPU, as text and as a picture; a run that is checked; the PTX of one kernel\n"
      "  tilewright graph attention.graph --target sm_90a\n"
      "  tilewright graph attention.graph --emit svg -o attention.svg\n"
      "  tilewright graph attention.graph --arg q=q.npy --arg k=k.npy --arg v=v.npy --out out=out.npy --compare 1e-3\n"
      "  tilewright graph attention.graph --device emulator:sm_80 --random 1 --arg n=100 --compare 1e-3\n"
      "  tilewright graph attention.graph --target sm_80 --emit ptx --kernel out -o out.ptx\n"
      "TILEWRIGHT_DUMP=DIR makes C++ programs leave the graphs that they compile in DIR/plan-*/formulas.graph. Symbols get their values\n"
      "from the shapes of files, or by --arg n=100. After a run, explain and svg have the sizes of its symbols, else their least values.",
      o, execute);
  c->add_option("FILE", o->file, "A textual graph; - is standard input")->required()->type_name("");
  c->add_option("--target", o->target, "What to compile for, without running; cpu, this machine, if not given")->type_name(kTargetNames);
  add_device_option(*c, o->device, "The device of a run, or the interpreter; cpu if not given", Interpreter::is_device);
  c->add_option("--emit", o->emit,
                "explain if there is no run; tileir: the kernels as derived; graph: the graph as it was read; terms: its labelled terms; "
                "classes: what rules make equal to them; rewritten: the graph after the search")
      ->type_name("explain|svg|tileir|ptx|graph|terms|classes|rewritten");
  c->add_option("--kernel", o->kernel, "Which kernel of the plan; default: all, or the only one")->type_name("NAME");
  c->add_option("-o,--output", o->output, "The file for --emit; default: standard output")->type_name("OUT");
  add_plan_options(*c, *o);
  add_argument_option(*c, o->arguments, "Run: FILE.npy or zeros:f32:N for an input, a number for a scalar or a symbol");
  c->add_option("--random", o->random, "Run: random numbers for the inputs that no --arg gives; normally distributed, integers 0 or 1")
      ->type_name("SEED");
  add_output_option(*c, o->outputs, "Run: write an output; - is standard output");
  c->add_option("--compare", o->compare,
                "Run: compare each element with the graph in double precision; fail if one differs by more than this relative error and by "
                "more than rounding in the types of the graph may move it; 0: fail if one differs")
      ->type_name("NUMBER");
  add_limit_option(*c, o->limit);
  c->add_flag("--report", o->report, "Run: print the device and times on standard error, and what emulators counted");
  c->add_flag("--locations", o->locations, "Print the location of each node with --emit graph");
}

}  // namespace tilewright::cli
