// Runs graphs in turns. An entry of the wisdom file is the time of the graph as written, and the text of the fastest graph.
#include "frontend/graph/measure_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "frontend/graph/random_arguments.h"
#include "frontend/tuning/measure.h"
#include "runtime/device_failure.h"
#include "runtime/log.h"
#include "runtime/wisdom/wisdom.h"
#include "tileir/graph/text/graph_text.h"
#include "tilewright/kernel_key.h"

namespace tilewright::detail {

namespace {

using passes::search::Measurement;

constexpr std::string_view kName = "graph search";    // reports name it in place of a kernel
constexpr std::string_view kWritten = "as written ";  // begins an entry
constexpr double kNoise =
    1.05;  // a graph must be faster by this share than as written; a choice, which no measurement of noise supports yet
constexpr std::size_t kLongestText = std::size_t{1} << 16;  // bytes of an entry; a longer text has its hash instead

std::uint64_t hash_of(const std::string& text) {
  KernelKey key;
  key.add_bytes(text.data(), text.size());
  return key.hash();
}

/// The text of a graph without what only reports read.
std::string structure_of(const graph::Graph& g) {
  graph::Graph plain(g.symbols());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    graph::Node n = g.node({i});
    n.name.clear();
    n.composite.reset();
    plain.append(std::move(n));
  }
  for (const graph::Output& o : g.outputs()) plain.add_output(o);
  const std::string text = graph::print(plain);
  return text.size() <= kLongestText ? text : fmt::format("{:016x}, a graph of {} bytes", hash_of(text), text.size());
}

std::string text_of(const PlanOptions& o) {
  return fmt::format("nodes={},candidates={},gain={:g},expand_differences={},move_rounding={},deterministic={},max_workspace={},check={}",
                     o.search_limits.nodes, o.search_limits.candidates, o.search_limits.gain, o.expand_differences, o.move_rounding,
                     o.deterministic, o.max_workspace, o.check);
}

/// A plan, and whether it has its parameters.
class MeasuredPlan {
 public:
  MeasuredPlan(Plan plan, const RandomArguments& arguments, const Here& at) : plan_(std::move(plan)), arguments_(arguments), at_(at) {
    if (arguments.parameters().empty()) return;
    std::vector<RunArgument> all = arguments.each_run();
    all.insert(all.end(), arguments.parameters().begin(), arguments.parameters().end());
    plan_.run(all, {}, at_);
  }
  void run() const { plan_.run(arguments_.each_run(), {}, at_); }

 private:
  const Plan plan_;
  const RandomArguments& arguments_;
  const Here at_;
};

}  // namespace

struct GraphMeasurer::Texts {
  std::string problem;              // the key of wisdom
  std::vector<std::string> graphs;  // structures
};

GraphMeasurer::GraphMeasurer(std::shared_ptr<rt::Device> device, const PlanOptions& options, Compile compile, const Here& at)
    : device_(std::move(device)), options_(text_of(options)), compile_(std::move(compile)), at_(at) {}

std::optional<Measurement> GraphMeasurer::operator()(std::span<const graph::Graph> graphs) const {
  Texts texts;
  for (const graph::Graph& g : graphs) texts.graphs.push_back(structure_of(g));
  texts.problem = fmt::format("{:016x} of {} nodes; {}", hash_of(texts.graphs[0]), graphs[0].size(), options_);
  if (const auto known = find_known(texts)) return known;
  const auto skip = [&](std::string_view why) {
    rt::log(LogLevel::warning, fmt::format("a graph is not measured, and estimates decide: {}", why));
    return std::nullopt;
  };
  if (const std::string problem = RandomArguments::problem_of(graphs[0], *device_); !problem.empty()) return skip(problem);
  if (rt::is_sealed())
    throw Error(location_of(at_),
                fmt::format("compile: Search::measure: nothing is known of graph {} on device '{}', and tw::seal() was called, after which "
                            "nothing is measured",
                            texts.problem, device_->name()));
  if (tuning::Turn::is_own()) return skip("it is compiled inside of a measured call");
  if (device_->default_stream().is_capturing()) return skip("the device's stream is being captured");
  const tuning::Turn turn;
  rt::Wisdom::instance().refresh();  // another thread or process may have measured it meanwhile
  if (const auto known = find_known(texts)) return known;
  return rt::at_line(at_, [&] { return measure(graphs, texts); });
}

std::optional<Measurement> GraphMeasurer::find_known(const Texts& texts) const {
  const std::optional<rt::WisdomEntry> entry = rt::Wisdom::instance().find(kName, texts.problem, *device_);
  if (!entry) return std::nullopt;
  const auto ignore = [&](std::string_view why) {
    rt::log(LogLevel::info, fmt::format("wisdom of '{}' for {} is ignored: {}", kName, texts.problem, why));
    return std::nullopt;
  };
  const std::string_view text = entry->configuration;
  double written = 0;
  const std::size_t end = text.find(" us\n");
  if (!text.starts_with(kWritten) || end == text.npos) return ignore("it is no graph");
  const std::string_view digits = text.substr(kWritten.size(), end - kWritten.size());
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), written);
  if (error != std::errc() || rest != digits.data() + digits.size() || !(written > 0)) return ignore("it is no graph");
  const auto found = std::find(texts.graphs.begin(), texts.graphs.end(), text.substr(end + 4));
  if (found == texts.graphs.end()) return ignore("its graph is none that the search finds now");
  const auto fastest = static_cast<std::size_t>(found - texts.graphs.begin());
  return Measurement{fastest, written * 1e-6, (fastest == 0 ? written : std::min(entry->microseconds, written)) * 1e-6};
}

std::optional<Measurement> GraphMeasurer::measure(std::span<const graph::Graph> graphs, const Texts& texts) const {
  const RandomArguments arguments(graphs[0], device_, at_);
  std::vector<std::unique_ptr<MeasuredPlan>> plans(graphs.size());
  std::vector<std::string> names = {"as written"};
  for (std::size_t i = 1; i < graphs.size(); ++i) names.push_back(fmt::format("graph {}", i));
  const auto prepare = [&](std::size_t i) {
    if (!plans[i]) plans[i] = std::make_unique<MeasuredPlan>(compile_(std::make_shared<const graph::Graph>(graphs[i])), arguments, at_);
  };
  tuning::Measurement measurement({.kernel = std::string(kName),
                                   .problem = texts.problem,
                                   .configurations = names,
                                   .prepare = prepare,
                                   .launch = [&](std::size_t i) { plans[i]->run(); }},
                                  *device_, device_->default_stream());
  const std::optional<tuning::SearchResult> result = measurement.run(0, static_cast<std::int64_t>(graphs.size()));
  device_->synchronize();
  const std::optional<double> written = result ? result->microseconds_of(0) : std::nullopt;
  if (!written) {
    rt::log(LogLevel::warning, "a graph is not measured, and estimates decide: as written, it needs more resources than the device has");
    return std::nullopt;
  }
  const std::size_t fastest = result->microseconds * kNoise < *written ? result->index : 0;
  const double least = *result->microseconds_of(fastest);
  measurement.keep(*result, fastest, fmt::format("{}{:.6g} us\n{}", kWritten, *written, texts.graphs[fastest]));
  return Measurement{fastest, *written * 1e-6, least * 1e-6};
}

}  // namespace tilewright::detail
