// Plans that are searched: what they compute, what they tell, what forbids it, and mistakes.
#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/messages.h"
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr tw::PlanOptions kSearched, kAsWritten{.search = tw::Search::off};

using tilewright::test::has;

double flops(const tw::Plan& plan) {
  double sum = 0;
  for (const tw::PlannedKernel& k : plan.kernels()) sum += k.flops;
  return sum;
}

/// (q k') v of a sequence.
struct Attention {
  static constexpr int kSeq = 300, kDim = 8;
  Program p;
  int scores = 0, product = 0;

  Attention() {
    const auto size = static_cast<std::size_t>(kSeq) * kDim;
    const std::vector<float> q = normal(size, 1), k = normal(size, 2), v = normal(size, 3);
    Numbers kv(kDim * kDim), want(size);
    for (int j = 0; j < kSeq; ++j)
      for (int c = 0; c < kDim; ++c)
        for (int e = 0; e < kDim; ++e) kv[c * kDim + e] += double(k[j * kDim + c]) * double(v[j * kDim + e]);
    for (int i = 0; i < kSeq; ++i)
      for (int c = 0; c < kDim; ++c)
        for (int e = 0; e < kDim; ++e) want[i * kDim + e] += double(q[i * kDim + c]) * kv[c * kDim + e];
    auto a = p.input<float>("q", {kSeq, kDim}, q), b = p.input<float>("k", {kSeq, kDim}, k), c = p.input<float>("v", {kSeq, kDim}, v);
    auto s = tw::matmul(a, tw::transpose(b));
    scores = __LINE__ - 1;
    p.output("out", tw::matmul(s, c), want, 2e-3);
    product = __LINE__ - 1;
  }
};

TEST_CASE("graph programs: two values never have one name in what a search says") {
  tw::Graph g;
  const auto a = g.input<float>("a", {512, 512}), b = g.input<float>("b", {512, 512}), v = g.input<float>("v", {512, 1});
  const auto of_a = tw::exp(a), of_b = tw::exp(b), of_v = tw::exp(v).name("exp_2");
  g.output("y", tw::matmul(tw::matmul(of_a, of_b), of_v));
  const tw::Plan plan = g.compile("cpu");
  REQUIRE(plan.rewrites().size() == 1);
  CHECK(plan.rewrites()[0].before == "(exp exp_3) exp_2");
  CHECK(plan.rewrites()[0].after == "exp (exp_3 exp_2)");
  CHECK(has(plan.explain(), "(exp exp_3) exp_2  ->  exp (exp_3 exp_2)"));
}

TEST_CASE("graph programs: a search takes the cheaper order of products, and says so at the lines of the calls") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const Attention a;
    const tw::Plan plan = a.p.check_on(device), as_written = a.p.check_on(device, kAsWritten);
    CHECK(as_written.rewrites().empty());
    CHECK(as_written.search_report().regions == 0);
    CHECK_FALSE(has(as_written.explain(), "rewritten"));
    const tw::SearchReport report = plan.search_report();
    CHECK(report.regions == 1);
    CHECK(report.complete);
    CHECK(report.optimal);
    if (device.name() != "cpu") continue;  // a GPU may rather compute more in one launch
    CHECK(flops(as_written) > 8 * flops(plan));
    CHECK(report.seconds_before > 1.2 * report.seconds_after);
    REQUIRE(plan.rewrites().size() == 1);
    const tw::Rewrite r = plan.rewrites()[0];
    CHECK(r.rule == "order");
    CHECK(r.before == "(q k) v");
    CHECK(r.after == "q (k v)");
    CHECK(r.saved_seconds > 0);
    std::vector<int> lines;
    for (const tw::CoveredNode& n : r.covers) lines.push_back(n.where.line);
    CHECK(lines == std::vector<int>{a.scores, a.product});
    CHECK(plan.explain().rfind("rewritten: about ", 0) == 0);
    CHECK(has(plan.explain(), "order: (q k) v  ->  q (k v); saves about "));
    CHECK(has(plan.proof().text, "agree with the graph as written at small instances"));
    CHECK(plan.rewritten().rfind("graph {", 0) == 0);
    CHECK(has(plan.rewritten(), "output \"out\""));
    CHECK(plan.rewritten() != as_written.rewritten());
    for (int i = 0; i < 3; ++i) CHECK(a.p.graph.compile(device, kSearched).rewritten() == plan.rewritten());
  }
}

TEST_CASE("graph programs: what forbids a search, and what does not") {
  const Attention a;
  tw::Device cpu = tw::Device::open("cpu");
  for (tw::PlanOptions o :
       {tw::PlanOptions{.fuse = false}, tw::PlanOptions{.reassociate = false}, tw::PlanOptions{.batch_invariant = true}}) {
    o.search = tw::Search::estimate;
    const tw::Plan plan = a.p.check_on(cpu, o);
    CHECK(plan.rewrites().empty());
    CHECK(plan.search_report().regions == 0);
    CHECK(has(plan.explain(), "rewritten: nothing\n  not done: all of it: PlanOptions::"));
  }
  for (tw::PlanOptions o :
       {tw::PlanOptions{.move_rounding = false}, tw::PlanOptions{.deterministic = false}, tw::PlanOptions{.check = true}}) {
    o.search = tw::Search::estimate;
    CHECK(a.p.check_on(cpu, o).rewrites().size() == 1);
  }
  // What the chosen graph keeps between its kernels does not fit.
  tw::Graph large;
  auto q = large.input<float>("q", {4096, 64}), k = large.input<float>("k", {4096, 64}), v = large.input<float>("v", {4096, 64});
  large.output("out", tw::matmul(tw::matmul(q, tw::transpose(k)), v));
  tw::PlanOptions small = kSearched;
  CHECK(large.compile("cpu", small).workspace_bytes() > 16);
  small.max_workspace = 16;
  const tw::Plan plan = large.compile("cpu", small);
  CHECK(plan.rewrites().empty());
  CHECK(has(plan.explain(), "not done: all of it: it needs more than max_workspace, 16 bytes"));
  tw::PlanOptions careful = kSearched;
  careful.search_limits.gain = 1e6;
  CHECK(a.p.check_on(cpu, careful).rewrites().empty());
  CHECK(has(a.p.graph.compile(cpu, careful).explain(), "less than 1e+06"));
}

TEST_CASE("graph programs: a searched plan serves every value of its symbols") {
  tw::Device cpu = tw::Device::open("cpu");
  Program p;
  const tw::Dim n = p.graph.dim("n", {.min = 2});
  const auto size = static_cast<std::size_t>(Attention::kSeq) * Attention::kDim;
  auto q = p.graph.input<float>("q", {n, 8}), k = p.graph.input<float>("k", {n, 8}), v = p.graph.input<float>("v", {n, 8});
  p.graph.output("out", tw::matmul(tw::matmul(q, tw::transpose(k)), v));
  const tw::Plan plan = p.graph.compile(cpu, kSearched);
  CHECK(plan.rewrites().size() == 1);
  for (const int rows : {2, 33, Attention::kSeq}) {
    const auto count = static_cast<std::size_t>(rows) * 8;
    std::vector<float> x = normal(size, 1);
    x.resize(count);
    auto bx = cpu.upload(x), out = cpu.allocate<float>(count);
    plan.run({{"q", bx}, {"k", bx}, {"v", bx}, {"out", out}});
    Numbers want(count);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < rows; ++j) {
        double s = 0;
        for (int c = 0; c < 8; ++c) s += double(x[i * 8 + c]) * double(x[j * 8 + c]);
        for (int e = 0; e < 8; ++e) want[i * 8 + e] += s * double(x[j * 8 + e]);
      }
    CHECK(relative_error(numbers_of(out.download()), want) < 1e-4);
  }
}

TEST_CASE("graph programs: a launch or two more where symbols are small do not forbid what is many times faster elsewhere") {
  for (const int columns : {16, 32, 64}) {
    CAPTURE(columns);
    tw::Graph g;
    const tw::Dim n = g.dim("n");
    const auto q = g.input<float>("q", {n, columns}), k = g.input<float>("k", {n, columns}), v = g.input<float>("v", {n, columns});
    g.output("out", tw::matmul(tw::matmul(q, tw::transpose(k)), v));
    CHECK(g.compile("cpu").rewrites().size() == 1);
  }
  // Four heads lose more than two launches at one row, but less than 1/400 of what they gain at 1024 rows.
  {
    tw::Graph heads;
    const tw::Dim n = heads.dim("n");
    const auto q = heads.input<float>("q", {4, n, 64}), k = heads.input<float>("k", {4, n, 64}), v = heads.input<float>("v", {4, n, 64});
    heads.output("out", tw::matmul(tw::matmul(q, tw::transpose(k)), v));
    CHECK(heads.compile("cpu").rewrites().size() == 1);
  }
  // With 256 columns, q (k v) takes much longer at one row.
  tw::Graph g;
  const tw::Dim n = g.dim("n");
  const auto q = g.input<float>("q", {n, 256}), k = g.input<float>("k", {n, 256}), v = g.input<float>("v", {n, 256});
  g.output("out", tw::matmul(tw::matmul(q, tw::transpose(k)), v));
  const tw::Plan plan = g.compile("cpu");
  CHECK(plan.rewrites().empty());
  CHECK(has(plan.explain(), "where symbols have their least values, it takes "));
  CHECK(has(plan.explain(), "(greater least values, dim(\"n\", {.min = ...}), allow more)"));
}

TEST_CASE("graph programs: sums of products of integers of each type are searched, or stay as written") {
  const auto check = []<class T>(T) {
    tw::Graph g;
    const tw::Dim n = g.dim("n");
    const auto x = g.input<T>("x", {5, 1}), k = g.input<T>("k", {5, n});
    g.output("y", tw::sum((x + x) * k, {0}));
    g.output("z", tw::sum((x + x) * k, {0, 1}));
    CHECK(g.compile("cpu").proof().exact);
  };
  check(std::int8_t()), check(std::uint8_t()), check(std::int16_t()), check(std::uint16_t());
  check(std::int32_t()), check(std::uint32_t()), check(std::int64_t()), check(std::uint64_t());
}

TEST_CASE("graph programs: a searched plan keeps products of parameters until one is given again") {
  constexpr int kRows = 512, kWide = 256, kNarrow = 32;
  tw::Device cpu = tw::Device::open("cpu");
  tw::Graph g;
  auto x = g.input<float>("x", {kRows, kNarrow});
  auto v = g.parameter<float>("v", {kNarrow, kWide}), w = g.parameter<float>("w", {kWide, kNarrow});
  g.output("out", tw::matmul(tw::matmul(x, v), w));
  const tw::Plan plan = g.compile(cpu, kSearched), as_written = g.compile(cpu, kAsWritten);
  CHECK(plan.rewrites().size() == 1);
  CHECK(plan.parameter_kernels().size() == 1);
  CHECK(flops(as_written) > 8 * flops(plan));
  auto bx = cpu.upload(normal(kRows * kNarrow, 1)), bw = cpu.upload(normal(kWide * kNarrow, 2));
  auto out = cpu.allocate<float>(kRows * kNarrow), want = cpu.allocate<float>(kRows * kNarrow);
  for (unsigned seed : {3u, 4u}) {
    auto bv = cpu.upload(normal(kNarrow * kWide, seed));
    plan.run({{"x", bx}, {"v", bv}, {"w", bw}, {"out", out}});
    as_written.run({{"x", bx}, {"v", bv}, {"w", bw}, {"out", want}});
    CHECK(relative_error(numbers_of(out.download()), numbers_of(want.download())) < 1e-4);
    out.fill(0.0f);
    plan.run({{"x", bx}, {"out", out}});
    CHECK(relative_error(numbers_of(out.download()), numbers_of(want.download())) < 1e-4);
  }
}

TEST_CASE("graph programs: the mean of a projection is the projection of the mean, with any axis and a bias") {
  constexpr int kRows = 400, kIn = 48, kOut = 80;
  tw::Device cpu = tw::Device::open("cpu");
  Program p;
  const std::vector<float> x = normal(kRows * kIn, 7), w = normal(kIn * kOut, 8), b = normal(kOut, 9);
  Numbers want(b.begin(), b.end());
  for (int i = 0; i < kRows; ++i)
    for (int c = 0; c < kIn; ++c)
      for (int j = 0; j < kOut; ++j) want[j] += double(x[i * kIn + c]) * double(w[c * kOut + j]) / kRows;
  auto a = p.input<float>("x", {kRows, kIn}, x), m = p.input<float>("w", {kIn, kOut}, w), bias = p.input<float>("b", {kOut}, b);
  p.output("out", tw::mean(tw::matmul(a, m) + bias, 0), want, 1e-3);
  const tw::Plan plan = p.check_on(cpu, kSearched), as_written = p.check_on(cpu, kAsWritten);
  CHECK(plan.rewrites().size() >= 1);
  CHECK(flops(as_written) > 8 * flops(plan));
}

TEST_CASE("graph programs: an image is pooled before a product of its channels, since means of windows are linear") {
  constexpr int kSize = 32, kIn = 64, kOut = 128;
  tw::Device cpu = tw::Device::open("cpu");
  Program p;
  const std::vector<float> x = normal(kSize * kSize * kIn, 1), w = normal(kIn * kOut, 2);
  Numbers want(kSize / 2 * kSize / 2 * kOut);
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j)
      for (int c = 0; c < kIn; ++c)
        for (int o = 0; o < kOut; ++o)
          want[(i / 2 * kSize / 2 + j / 2) * kOut + o] += double(x[(i * kSize + j) * kIn + c]) * double(w[c * kOut + o]) / 4;
  auto a = p.input<float>("x", {kSize, kSize, kIn}, x), filter = p.input<float>("w", {1, 1, kIn, kOut}, w);
  p.output("out", tw::avg_pool(tw::conv(a, filter), 2), want, 1e-4);
  const tw::Plan plan = p.check_on(cpu, kSearched), as_written = p.check_on(cpu, kAsWritten);
  CHECK(plan.rewrites().size() >= 1);
  CHECK(flops(as_written) > 3 * flops(plan));
}

// TILEWRIGHT_SAME_PLANS: how often each graph is compiled on each of the threads, beside the default.
TEST_CASE("graph programs: the same graph has the same text of plan each time, also on a busy machine") {
  const char* const wanted = std::getenv("TILEWRIGHT_SAME_PLANS");
  const int times = wanted ? std::atoi(wanted) : 4;
  tw::Graph graph;
  const auto x = graph.input<float>("x", {1, 12, 12, 16});
  const auto filter = [&](const char* name, int size, int in, int out) { return graph.parameter<float>(name, {size, size, in, out}); };
  const auto stem = tw::relu(tw::conv(x, filter("stem", 1, 16, 16)));
  const auto one = tw::relu(tw::conv(stem, filter("one", 1, 16, 8))), reduced = tw::relu(tw::conv(stem, filter("reduce", 1, 16, 12)));
  const auto block =
      tw::concat(std::vector<tw::Tensor<float>>{one, tw::relu(tw::conv(reduced, filter("three", 3, 12, 16), {.pad = 1}))}, -1);
  graph.output("block", block);
  graph.output("out", tw::avg_pool(tw::conv(block, filter("down", 1, 24, 40)), 2));
  const Attention attention;
  const std::array<const tw::Graph*, 2> graphs = {&graph, &attention.p.graph};
  for (const tw::Graph* g : graphs)
    for (const char* target : {"cpu", "sm_90a"}) {
      CAPTURE(target);
      const auto text = [&] {
        const tw::Plan plan = g->compile(target);
        std::string all = plan.explain() + plan.rewritten();
        for (const tw::PlannedKernel& k : plan.kernels()) all += k.tile_ir;
        return all;
      };
      const std::string first = text();
      std::vector<std::jthread> busy;
      std::atomic<int> different = 0;
      for (int thread = 0; thread < 3; ++thread)
        busy.emplace_back([&] {
          for (int i = 0; i < times; ++i) different += text() == first ? 0 : 1;
        });
      busy.clear();
      CHECK(different == 0);
    }
}

TEST_CASE("graph programs: a search does not look past what is materialized") {
  tw::Device cpu = tw::Device::open("cpu");
  tw::Graph graph;
  auto q = graph.input<float>("q", {300, 8}), k = graph.input<float>("k", {300, 8}), v = graph.input<float>("v", {300, 8});
  graph.output("out", tw::matmul(tw::materialize(tw::matmul(q, tw::transpose(k))), v));
  const tw::Plan plan = graph.compile(cpu, kSearched);
  CHECK(plan.rewrites().empty());
  CHECK(plan.intermediate_bytes() >= std::size_t{300 * 300 * 4});
}

TEST_CASE("graph programs: limits of a search that are none are mistakes at the line of the call") {
  const Attention a;
  tw::PlanOptions o = kSearched;
  const auto mistake = [&](const tw::SearchLimits& limits, const char* text) {
    o.search_limits = limits;
    int line = 0;
    try {
      line = __LINE__ + 1;
      a.p.graph.compile("cpu", o);
      CHECK_MESSAGE(false, text);
    } catch (const tw::Error& e) {
      CHECK(e.where().line == line);
      CHECK_MESSAGE(has(e.what(), text), e.what());
    }
  };
  mistake({.nodes = 0}, "search_limits.nodes is 0");
  mistake({.candidates = 0}, "search_limits.candidates is 0");
  mistake({.gain = -1}, "search_limits.gain is -1");
  o.search = static_cast<tw::Search>(7);
  mistake({}, "compile: search = 7; it must be an enumerator of Search, 0 to 2");
}

}  // namespace
}  // namespace graph_program
