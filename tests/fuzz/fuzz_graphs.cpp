// fuzz_graphs: random graphs of whole tensors, compiled and run on devices, compared with the interpreter in double precision.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "frontend/cli/execution/execution.h"
#include "frontend/cli/execution/graph_comparison.h"
#include "frontend/cli/execution/graph_execution.h"
#include "frontend/graph/compile.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/isolation.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/builder.h"
#include "tileir/graph/text/graph_text.h"

using namespace tilewright;
using namespace tilewright::passes::fusion::test;

namespace {

struct Settings {
  fuzz::Campaign campaign;
  std::vector<std::string> devices = {"cpu", "emulator:sm_80", "emulator:sm_90a"};
  bool every_device = false, isolate = false;
  std::optional<double> search_gain;  // none: the search as one trial of eight has it
};

/// A graph, and how it is compiled and run.
struct Trial {
  std::shared_ptr<const graph::Graph> graph;
  std::map<std::string, std::int64_t> symbols;
  PlanOptions options;
  std::string options_text;  // as `tilewright graph` takes them
  double tolerance = 0;      // the relative error that rounding may cause
  bool is_typed = false;     // each element is compared with the graph with each op in its type
};

/// The text of a graph with another type in place of f32.
std::string with_floats(std::string text, const std::string& type) {
  for (std::size_t at = text.find("f32"); at != text.npos; at = text.find("f32", at + type.size())) text.replace(at, 3, type);
  return text;
}

bool holds(const graph::Graph& g, ir::Element e) {
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (g.node({i}).element == e) return true;
  return false;
}

/// The text of a graph in which some of the inputs are parameters.
std::string with_parameters(std::string text, std::mt19937_64& engine) {
  static constexpr std::string_view kInput = " = input :", kParameter = " = input {is_parameter} :";
  for (std::size_t at = text.find(kInput); at != text.npos; at = text.find(kInput, at + 1))
    if (engine() % 2 == 0) text.replace(at, kInput.size(), kParameter);
  return text;
}

/// `search_gain`: each graph is searched, and rewritten if its estimated time becomes so many times shorter.
Trial make_trial(std::uint64_t seed, std::optional<double> search_gain) {
  std::mt19937_64 engine(seed);
  const auto pick = [&](std::uint64_t n) { return engine() % n; };
  Trial t;
  const auto g = std::make_shared<graph::Graph>();
  t.graph = g;
  if (seed % 16 == 12) {
    random_graph_of_constants(*g, seed / 16);
    t.is_typed = true;
  } else if (seed % 4 == 0) {
    static constexpr std::int64_t kExtents[] = {1, 2, 7, 64, 131};
    random_graph_of_all_types(*g, seed / 4);
    t.symbols["n"] = seed / 4 % 2 == 1 && pick(6) == 0 ? 0 : kExtents[pick(5)];
  } else {
    random_graph_of_each_kind(*g, seed - seed / 4);
    static const std::string kTypes[] = {"f16", "bf16", "f64"};
    if (pick(2) == 0) *g = graph::parse(with_floats(graph::print(*g), kTypes[pick(3)]), "random");
  }
  t.tolerance = holds(*g, ir::Element::bf16) ? 0.1 : holds(*g, ir::Element::f16) ? 0.02 : holds(*g, ir::Element::f32) ? 1e-3 : 1e-10;
  switch (pick(8)) {
    case 0: t.options.fuse = false, t.options_text = "--no-fuse"; break;
    case 1: t.options.reassociate = false, t.options_text = "--no-reassociate"; break;
    case 2: t.options.move_rounding = false, t.options_text = "--no-move-rounding"; break;
    case 3: t.options.batch_invariant = true, t.options_text = "--batch-invariant"; break;
    case 4: t.options.check = true, t.options_text = "--check"; break;
    case 5:
      t.options.search = Search::estimate, t.options.search_limits.gain = 0;
      t.options_text = "--search estimate --search-gain 0";
      break;
    default: break;
  }
  if (search_gain) {
    t.options = {.search = Search::estimate, .search_limits = {.gain = *search_gain}};
    t.options_text = fmt::format("--search estimate --search-gain {:g}", *search_gain);
  }
  if (!t.is_typed && pick(2) == 0) *g = graph::parse(with_parameters(graph::print(*g), engine), "random");
  return t;
}

cli::GraphArguments arguments_of(const graph::Graph& g, const graph::Arguments& values) {
  cli::GraphArguments all;
  for (std::uint32_t i = 0; i < g.symbols()->size(); ++i) all.symbols.push_back(values.symbols.at((*g.symbols())[i].name));
  for (const auto& [name, words] : values.arrays) {
    const graph::NodeId node = *g.find_input(name);
    const ir::Element e = g.node(node).element;
    const auto width = static_cast<std::size_t>(ir::bytes(e));
    cli::Argument a{.name = name, .type = ir::Type::pointer(e, false), .elements = static_cast<std::int64_t>(words.size())};
    a.bytes.resize(words.size() * width);
    for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&a.bytes[i * width], &words[i], width);
    all.given.push_back({node, std::move(a)});
  }
  return all;
}

/// The first element that differs from the graph with each op in its type, but for the last digits of floats.
std::optional<std::string> typed_difference(const cli::GraphResult& got, const cli::GraphResult& want) {
  const auto width = static_cast<std::size_t>(ir::bytes(want.element));
  for (std::size_t i = 0; i < want.bytes.size() / width; ++i) {
    if (std::memcmp(&got.bytes[i * width], &want.bytes[i * width], width) == 0) continue;
    const auto g = static_cast<double>(got.number(i)), w = static_cast<double>(want.number(i));
    const bool is_same = g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) <= 1e-5 * std::fabs(w);
    if (!is_same || !ir::is_float(want.element))
      return fmt::format("'{}': element {} is {:.9g}, and {:.9g} with each op in its type", got.name, i, g, w);
  }
  return std::nullopt;
}

/// What is wrong on a device; nothing if all is right.
std::optional<std::string> problem(const Trial& t, const std::string& device_name, std::uint64_t seed) {
  const graph::Graph& g = *t.graph;
  const std::shared_ptr<rt::Device> device = cli::open_named_device(device_name);
  const Plan plan = detail::compile_graph(t.graph, device, device->target(), t.options, Here());
  const PlanProof proof = plan.proof();
  const auto says = [&](const char* why) { return proof.text.find(why) != proof.text.npos; };
  if (!proof.exact && !says("rounding leaves all of them open") && !says("small instances do not visit one by one"))
    return "the proof is not exact: " + proof.text;
  const cli::GraphArguments values = arguments_of(g, full_range_arguments(g, t.symbols, seed));
  cli::GraphExecution execution(g, plan, device, values);
  execution.launch();
  const std::vector<cli::GraphResult> results = execution.results();
  if (t.is_typed) {
    const std::vector<cli::GraphResult> typed = cli::interpret_graph(g, values, graph::Rounding::as_typed);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (auto difference = typed_difference(results[i], typed[i])) return difference;
    return std::nullopt;
  }
  for (const cli::ComparedResult& r : cli::compare_with_graph(g, values, results, t.tolerance, !device_name.starts_with("cpu")))
    if (!r.is_right()) return r.text();
  return std::nullopt;
}

/// As above; an exception is a problem, too.
std::optional<std::string> found_problem(const Trial& t, const std::string& device, std::uint64_t seed) {
  try {
    return problem(t, device, seed);
  } catch (const std::exception& e) {
    return e.what();
  }
}

int run(Settings& s) {
  const auto check = [&](std::uint64_t seed) {
    const Trial t = make_trial(seed, s.search_gain);
    fuzz::Finding finding;
    for (std::size_t i = 0; i < s.devices.size(); ++i) {
      if (!s.every_device && seed / 4 % s.devices.size() != i) continue;
      const auto check = [&] { return found_problem(t, s.devices[i], seed); };
      const std::optional<std::string> found = s.isolate ? fuzz::isolated(check) : check();
      if (!found) continue;
      ++finding.failures;
      fmt::print("\nseed {} on {} {}{}: {}\n{}\n", seed, s.devices[i], t.options_text,
                 t.symbols.empty() ? "" : fmt::format(" with n = {}", t.symbols.at("n")), *found, graph::print(*t.graph));
      std::fflush(stdout);
    }
    return finding;
  };
  const fuzz::CampaignResult result = fuzz::run(s.campaign, check);
  fmt::print("{}\n", result.text(s.campaign, "graphs", fmt::format("{}", fmt::join(s.devices, ", "))));
  return result.failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Compares random graphs, compiled and run on devices, with the interpreter in double precision");
  s.campaign.add_options(app, "graphs");
  app.add_option("--device", s.devices, "cpu, cpu:x86-64-v3, emulator:sm_80, cuda:0, ...");
  app.add_flag("--every-device", s.every_device, "each graph on all devices, and not on one in turn");
  app.add_flag("--isolate", s.isolate, "each graph in a process of its own: crashes and endless loops are reported");
  app.add_option("--search-gain", s.search_gain, "search each graph with this gain, such as 0: rewritten however slow it becomes");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(s);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
