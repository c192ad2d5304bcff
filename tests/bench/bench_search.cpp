// Graphs as users write them, compiled with the search, beside equal graphs that a person has rewritten, compiled without: the time of a run of
// each, in turns, and the gain that the estimate promises. Then the time in which models are searched, without compiling them.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "backend/compile.h"
#include "frontend/graph/rewrite_graph.h"
#include "frontend/graph/tensor_call.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "tests/bench/compared_plans.h"
#include "tests/bench/formula.h"
#include "tests/bench/graphs.h"
#include "tests/bench/partial_graphs.h"
#include "tests/bench/report.h"
#include "tests/bench/searched_models.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/graph/text/graph_text.h"

namespace {

namespace tw = tilewright;
using namespace bench;
using Tensor = tw::Tensor<float>;

struct Pair {
  std::string name;
  std::function<void(Formula&)> as_written, by_hand;
};

Tensor matmul(const Tensor& a, const Tensor& b) { return tw::matmul(a, b); }

/// The products of a convolution of 3 x 3 with each element of the filter, of images of `width` pixels that have a border of zeros.
Tensor convolution_of_long_rows(const Tensor& rows, const Tensor& w, std::int64_t width, std::int64_t pixels) {
  Tensor sum;
  for (std::int64_t u = 0; u < 3; ++u)
    for (std::int64_t v = 0; v < 3; ++v) {
      const Tensor filter = tw::reshape(tw::slice(tw::slice(w, 0, u, u + 1), 1, v, v + 1), {w.shape()[2], w.shape()[3]});
      const std::int64_t first = u * width + v;
      const Tensor product = matmul(tw::slice(rows, 0, first, first + pixels), filter);
      sum = u + v > 0 ? sum + product : product;
    }
  return sum;
}

/// Some pairs have a second size. At the first one a kernel takes not much longer than a launch on a GPU, so that one kernel of more work may
/// be faster than two.
std::vector<Pair> pairs() {
  std::vector<Pair> all;
  all.push_back({"mean of x W, 512 rows",
                 [](Formula& f) { f.output("y", tw::mean(matmul(f.input("x", {512, 512}), f.parameter("w", {512, 1000})), 0)); },
                 [](Formula& f) { f.output("y", matmul(tw::mean(f.input("x", {512, 512}), 0, true), f.parameter("w", {512, 1000}))); }});
  for (const std::int64_t rows : {2048, 8192}) {
    const auto attention = [=](Formula& f, bool is_rewritten) {
      const Tensor q = tw::relu(f.input("q", {rows, 64})), k = tw::relu(f.input("k", {rows, 64})), v = f.input("v", {rows, 64});
      f.output("y", is_rewritten ? matmul(q, matmul(tw::transpose(k), v)) : matmul(matmul(q, tw::transpose(k)), v));
    };
    all.push_back(
        {fmt::format("(q k') v, {} of 64", rows), [=](Formula& f) { attention(f, false); }, [=](Formula& f) { attention(f, true); }});
  }
  for (const std::int64_t n : {512, 1024})
    all.push_back({fmt::format("trace of A B, {}", n),
                   [=](Formula& f) {
                     const Tensor product = matmul(f.input("a", {n, n}), f.input("b", {n, n}));
                     const auto i = tw::iota<std::int32_t>(f.graph, {n}, 0);
                     f.output("y", tw::sum(tw::where(tw::expand_dims(i, 1) == tw::expand_dims(i, 0), product, 0.0f)));
                   },
                   [=](Formula& f) { f.output("y", tw::sum(f.input("a", {n, n}) * tw::transpose(f.input("b", {n, n})))); }});
  for (const std::int64_t rows : {1000, 8192}) {
    const auto chain = [=](Formula& f, bool is_rewritten) {
      const Tensor a = f.input("a", {rows, 16}), b = f.input("b", {16, rows}), c = f.input("c", {rows, 16});
      f.output("y", is_rewritten ? matmul(a, matmul(b, c)) : matmul(matmul(a, b), c));
    };
    all.push_back({fmt::format("(A B) C, {} x 16", rows), [=](Formula& f) { chain(f, false); }, [=](Formula& f) { chain(f, true); }});
  }
  const auto gram = [](Formula& f, bool is_rewritten) {
    const Tensor x = f.input("x", {8192, 256}), v = f.input("v", {256, 1});
    f.output("y", is_rewritten ? matmul(tw::transpose(x), matmul(x, v)) : matmul(matmul(tw::transpose(x), x), v));
  };
  all.push_back({"(X' X) v, 8192 x 256", [=](Formula& f) { gram(f, false); }, [=](Formula& f) { gram(f, true); }});
  const auto pairs_of_rows = [](Formula& f, bool is_rewritten) {
    const Tensor h = f.input("h", {128, 64}), w = f.parameter("w", {64, 64}), rows = is_rewritten ? matmul(h, w) : h;
    const Tensor sums = tw::expand_dims(rows, 1) + tw::expand_dims(rows, 0);
    f.output("y", tw::sum(tw::relu(is_rewritten ? sums : matmul(sums, w)), 1));
  };
  all.push_back(
      {"relu((h_i + h_j) W), 128 rows", [=](Formula& f) { pairs_of_rows(f, false); }, [=](Formula& f) { pairs_of_rows(f, true); }});
  all.push_back({"four branches concatenated",
                 [](Formula& f) {
                   const Tensor x = f.input("x", {784, 192});
                   std::vector<Tensor> branches;
                   for (std::int64_t columns : {64, 96, 16, 32})
                     branches.push_back(tw::relu(matmul(x, f.parameter(fmt::format("w{}", columns), {192, columns}))));
                   f.output("y", tw::concat(branches, 1));
                 },
                 [](Formula& f) { f.output("y", tw::relu(matmul(f.input("x", {784, 192}), f.parameter("w", {192, 208})))); }});
  const auto of_parameters = [](Formula& f, bool is_rewritten) {
    const Tensor x = f.input("x", {256, 512}), v = f.parameter("v", {512, 512}), w = f.parameter("w", {512, 512});
    f.output("y", is_rewritten ? matmul(x, matmul(v, w)) : matmul(matmul(x, v), w));
  };
  all.push_back({"(x W1) W2, 256 rows", [=](Formula& f) { of_parameters(f, false); }, [=](Formula& f) { of_parameters(f, true); }});
  for (const std::int64_t images : {1, 32}) {
    const auto pool = [=](Formula& f, bool is_rewritten) {
      const std::int64_t channels = images > 1 ? 512 : 256;
      const Tensor x = tw::relu(f.input("x", {images, 28, 28, channels})), w = f.parameter("w", {channels, channels / 2});
      f.output("y", is_rewritten ? matmul(tw::avg_pool(x, 2), w) : tw::avg_pool(matmul(x, w), 2));
    };
    all.push_back({fmt::format("average pool of x W, {} image{}", images, images > 1 ? "s" : ""), [=](Formula& f) { pool(f, false); },
                   [=](Formula& f) { pool(f, true); }});
  }
  const auto sum_of_products = [](Formula& f, bool is_rewritten) {
    const Tensor x = f.input("x", {256, 512}), v = f.parameter("v", {512, 512}), w = f.parameter("w", {512, 512});
    f.output("y", is_rewritten ? matmul(x, v + w) : matmul(x, v) + matmul(x, w));
  };
  all.push_back({"x W1 + x W2, 256 rows", [=](Formula& f) { sum_of_products(f, false); }, [=](Formula& f) { sum_of_products(f, true); }});
  const auto adapter = [](Formula& f, bool is_rewritten) {
    const Tensor x = f.input("x", {64, 1024}), w = f.parameter("w", {1024, 1024}), a = f.input("a", {1024, 16}),
                 b = f.input("b", {16, 1024});
    f.output("y", is_rewritten ? matmul(x, w) + matmul(matmul(x, a), b) : matmul(x, w + matmul(a, b)));
  };
  all.push_back({"x (W + A B), 64 rows", [=](Formula& f) { adapter(f, false); }, [=](Formula& f) { adapter(f, true); }});
  all.push_back({"q, k, v of 16 rows",
                 [](Formula& f) {
                   const Tensor x = f.input("x", {16, 512});
                   for (const std::string name : {"q", "k", "v"}) f.output(name, matmul(x, f.parameter("w" + name, {512, 512})));
                 },
                 [](Formula& f) { f.output("y", matmul(f.input("x", {16, 512}), f.parameter("w", {512, 1536}))); }});
  // By hand, rows of pixels with their border are one long row, and the pixels between images are computed for nothing. The image has its
  // border in memory; as written it is padded.
  all.push_back({"convolution, 8 images of 14 x 14",
                 [](Formula& f) { f.output("y", tw::conv(f.input("x", {8, 14, 14, 64}), f.parameter("w", {3, 3, 64, 64}), {.pad = 1})); },
                 [](Formula& f) {
                   constexpr std::int64_t kWidth = 16, kPixels = 8 * kWidth * kWidth;
                   const Tensor rows = f.input("x", {kPixels + 2 * kWidth + 2, 64});
                   f.output("y", convolution_of_long_rows(rows, f.parameter("w", {3, 3, 64, 64}), kWidth, kPixels));
                 }});
  return all;
}

void measure(const Pair& pair, const tw::Device& device, const Options& options, Report& report) {
  Formula written, by_hand;
  pair.as_written(written), pair.by_hand(by_hand);
  const Run searched(device, written, tw::Search::estimate), unsearched(device, written, tw::Search::off),
      best(device, by_hand, tw::Search::off);
  if (is_emulated(device)) {
    const std::vector<RunCost> costs =
        costs_of(device, {{searched.plan, std::cref(searched)}, {unsearched.plan, std::cref(unsearched)}, {best.plan, std::cref(best)}}, 1);
    report.row(pair.name, {{"instructions, as written / by hand", costs[1].instructions / costs[2].instructions},
                           {"searched / by hand", costs[0].instructions / costs[2].instructions},
                           {"bytes, as written / by hand", costs[1].bytes / costs[2].bytes},
                           {"searched / by hand", costs[0].bytes / costs[2].bytes},
                           {"rewritings", static_cast<double>(searched.plan.rewrites().size())}});
    return;
  }
  std::array<std::vector<double>, 3> ms;
  const std::array<const Run*, 3> runs = {&searched, &unsearched, &best};
  for (int i = 0; i < options.repeats; ++i)
    for (std::size_t r = 0; r < runs.size(); ++r) ms[r].push_back(time_ms(3, [&] { (*runs[r])(); }).least);
  const double of_searched = summarise(ms[0]).median, of_written = summarise(ms[1]).median, of_best = summarise(ms[2]).median;
  const auto found = searched.plan.search_report();
  report.row(pair.name, {{"searched us", of_searched * 1e3},
                         {"as written us", of_written * 1e3},
                         {"by hand us", of_best * 1e3},
                         {"as written / by hand", of_written / of_best},
                         {"searched / by hand", of_searched / of_best},
                         {"estimated gain", found.seconds_after > 0 ? found.seconds_before / found.seconds_after : 1},
                         {"rewritings", static_cast<double>(searched.plan.rewrites().size())}});
}

/// Graphs that are equal only in part, corrected by hand: beside the graph as written, and what the search makes of it.
void measure_partial(const PartialGraph& g, const tw::Device& device, const Options& options, Report& report) {
  Formula written;
  g.as_written(written);
  const auto memory = std::make_shared<const Memory>(device, written);
  const Run searched(device, written, tw::Search::estimate, memory), unsearched(device, written, tw::Search::off, memory);
  const std::vector<float> expected = memory->results();
  for (const PartialGraph::Form& form : g.forms) {
    const std::string name = "partial: " + g.name + ": " + form.name;
    if (!options.wants(name)) continue;
    Formula f;
    form.build(f);
    const Run corrected(device, f, tw::Search::off, memory);
    check_equal(name, memory->results(), expected);
    const std::vector<RunCost> costs = costs_of(
        device, {{corrected.plan, std::cref(corrected)}, {unsearched.plan, std::cref(unsearched)}, {searched.plan, std::cref(searched)}},
        options.repeats);
    std::vector<std::pair<std::string, double>> values = {{"as written us", 1e6 * costs[1].seconds},
                                                          {"searched us", 1e6 * costs[2].seconds},
                                                          {"corrected us", 1e6 * costs[0].seconds},
                                                          {"as written / corrected", times_as_long(costs[1], costs[0])},
                                                          {"kernels as written", static_cast<double>(unsearched.plan.kernels().size())},
                                                          {"kernels", static_cast<double>(corrected.plan.kernels().size())}};
    if (is_emulated(device)) values.emplace_back("instructions, as written / corrected", costs[1].instructions / costs[0].instructions);
    report.row(name, values);
  }
}

struct Model {
  std::string name;
  std::function<void(SearchedModel&)> build;
};
const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"search of NasRNN, 5 steps", [](SearchedModel& m) { m.nas_rnn(5); }},
      {"search of BERT, 8 layers", [](SearchedModel& m) { m.bert(8); }},
      {"search of NasNet-A, 18 cells", [](SearchedModel& m) { m.nasnet_a(); }},
  };
  return all;
}

/// The search of a model for one target, on one processor.
void measure_search(const Model& model, const std::string& target, const Options& options, Report& report) {
  tw::Graph graph;
  SearchedModel build(graph);
  model.build(build);
  const auto written = std::make_shared<const tw::graph::Graph>(*tw::detail::tensor::nodes_of(graph, "compile", {}));
  const tw::ir::TargetDesc facts = tw::backend::describe_target(target);
  tw::detail::RewrittenGraph found;
  const Samples ms = time_ms(std::min(options.repeats, 3), [&] { found = tw::detail::rewrite_graph(written, {}, {}, facts, {}); });
  const tw::SearchReport& r = found.search.report;
  report.row(model.name + ", " + target, {{"ms", ms.median},
                                          {"nodes", static_cast<double>(r.nodes)},
                                          {"graphs estimated", static_cast<double>(r.candidates)},
                                          {"complete", r.complete ? 1.0 : 0.0},
                                          {"estimated gain", r.seconds_after > 0 ? r.seconds_before / r.seconds_after : 1}});
}

/// The time of processors that compiling takes, with the search and without: the search, the derivation of kernels, and both with LLVM.
void measure_compilation(const std::string& name, const tw::Graph& graph, const std::string& target, const Options& options,
                         Report& report) {
  const auto written = std::make_shared<const tw::graph::Graph>(*tw::detail::tensor::nodes_of(graph, "compile", {}));
  const tw::ir::TargetDesc facts = tw::backend::describe_target(target);
  const auto ms_of = [](auto&& work) {
    const std::clock_t start = std::clock();
    work();
    return 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  std::array<std::vector<double>, 5> ms;
  for (int i = 0; i <= options.repeats; ++i) {
    tw::detail::RewrittenGraph found;
    double derivation = 0;  // of the rewritten graph, which is a part of the search
    const auto derive = [&](const tw::graph::Graph& g) {
      std::optional<double> seconds;
      derivation += ms_of([&] { seconds = tw::passes::fusion::build_sequence(g, {}, facts).seconds; });
      return seconds;
    };
    const double searched = ms_of([&] { found = tw::detail::rewrite_graph(written, {}, {}, facts, {}, derive); });
    if (!found.is_rewritten()) derivation = ms_of([&] { tw::passes::fusion::build_sequence(*found.graph, {}, facts); });
    const std::array<double, 5> now = {
        found.is_rewritten() ? searched - derivation : searched,
        derivation,
        ms_of([&] { tw::passes::fusion::build_sequence(*written, {}, facts); }),
        ms_of([&] { graph.compile(target); }),
        ms_of([&] { graph.compile(target, {.search = tw::Search::off}); }),
    };
    for (std::size_t k = 0; i > 0 && k < now.size(); ++k) ms[k].push_back(now[k]);
  }
  std::array<double, 5> median{};
  for (std::size_t k = 0; k < median.size(); ++k) median[k] = summarise(ms[k]).median;
  report.row(name + ", " + target, {{"search ms", median[0]},
                                    {"derive ms", median[1]},
                                    {"derive as written ms", median[2]},
                                    {"compile ms", median[3]},
                                    {"compile as written ms", median[4]},
                                    {"with / without", median[3] / median[4]}});
}

/// The workloads of the tests of fusion, with sizes of models.
void compare_workloads(const tw::Device& device, const Options& options, Report& report) {
  for (const auto& workload : tw::passes::fusion::test::workloads()) {
    const std::string name = "plan of " + workload.name;
    if (!options.wants(name)) continue;
    auto graph = std::make_shared<tw::graph::Graph>();
    tw::passes::fusion::test::Variants first;
    first.at = {.batch = 2,
                .heads = 4,
                .queries = 128,
                .keys = 256,
                .head = 64,
                .value_head = 64,
                .latent = 64,
                .rotary = 16,
                .rows = 128,
                .inner = 512,
                .columns = 256,
                .vocabulary = 1024};
    workload.build(*graph, first);
    compare_with_search(name, graph, device, options, report);
  }
}

std::shared_ptr<const tw::graph::Graph> read_graph(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return std::make_shared<const tw::graph::Graph>(tw::graph::parse(text, file));
}

/// Twelve layers, and a product with a vocabulary.
void layers_with_head(tw::Graph& graph, std::int64_t rows) {
  graphs::transformer(graph, 12, rows, [&](const Tensor& y) {
    graph.output("logits",
                 tw::matmul(tw::rms_norm(y, graph.parameter<float>("gamma", {1024})), graph.parameter<float>("head", {1024, 32000})));
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  const Options options = parse(argc, argv, "Graphs with the search beside graphs that are rewritten by hand",
                                {{.name = "--graphs", .help = "files of graphs: their plans with the search and without", .list = &files}});
  try {
    const tw::Device device = options.device.empty() ? tw::Device::open() : tw::Device::open(options.device);
    Report report(options, "search", device.name());
    for (const std::string& file : files) compare_with_search(file, read_graph(file), device, options, report);
    if (!files.empty()) return report.finish(), 0;
    compare_workloads(device, options, report);
    for (const Pair& pair : pairs())
      if (options.wants(pair.name)) measure(pair, device, options, report);
    for (const PartialGraph& g : partial_graphs())
      if (std::any_of(g.forms.begin(), g.forms.end(), [&](const auto& f) { return options.wants("partial: " + g.name + ": " + f.name); }))
        measure_partial(g, device, options, report);
    for (const Model& model : models())
      for (const char* target : {"cpu", "sm_90a"})
        if (options.wants(model.name)) measure_search(model, target, options, report);
    for (const std::int64_t rows : {16, 1024})
      for (const char* target : {"cpu", "sm_90a"}) {
        const std::string name = fmt::format("compilation of 12 layers of {} rows", rows);
        if (!options.wants(name)) continue;
        tw::Graph graph;
        layers_with_head(graph, rows);
        measure_compilation(name, graph, target, options, report);
      }
    report.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
