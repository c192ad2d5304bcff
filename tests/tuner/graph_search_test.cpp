// Search::measure: equal graphs are run once, the wisdom file keeps the fastest one, and later compilations take it from there.
#include "runtime/wisdom/wisdom.h"
#include "tests/scoped_cache.h"
#include "tests/tuner/tuning.h"

using namespace tuner_tests;

namespace {

constexpr tw::PlanOptions kMeasured{.search = tw::Search::measure};

/// (x0 x1') x2, whose inputs and nodes have the names and the order of a region.
struct Products {
  tw::Graph graph;
  explicit Products(int rows = 400) {
    auto a = graph.input<float>("x0", {rows, 8}), b = graph.input<float>("x1", {rows, 8});
    auto scores = tw::einsum("id,jd->ij", a, b);
    auto c = graph.input<float>("x2", {rows, 8});
    graph.output("y0", tw::einsum("ij,je->ie", scores, c));
  }
  std::string as_written() const { return graph.compile("cpu", {.search = tw::Search::off}).rewritten(); }
};

std::vector<tw::rt::WisdomEntry> entries(const OwnWisdom& wisdom) { return tw::rt::read_wisdom(wisdom.path).entries; }

/// The text of the graph of an entry, without the time before it.
std::string graph_of(const tw::rt::WisdomEntry& e) { return e.configuration.substr(e.configuration.find('\n') + 1); }

/// Puts an entry in place of a newer one of the same key.
void replace(tw::rt::WisdomEntry entry, const std::string& configuration) {
  entry.configuration = configuration;
  entry.date = tw::rt::wisdom_date();
  tw::rt::Wisdom::instance().add(entry);
}

std::vector<float> numbers(int count, int seed) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 37 + seed * 11) % 17) / 17 - 0.5f);
  return values;
}

}  // namespace

TEST_CASE("graph search: graphs are run once, and the fastest one is taken from the wisdom file") {
  OwnWisdom wisdom;
  tw::Device cpu = tw::Device::open("cpu");
  const Products products;
  Tried tried;
  const tw::Plan plan = products.graph.compile(cpu, kMeasured);
  REQUIRE(tried.results.size() == 1);
  CHECK(tried.steps.size() >= 2);
  CHECK(tried.steps[0].kernel == "graph search");
  CHECK(tried.steps[0].configuration == "as written");
  const tw::SearchReport report = plan.search_report();
  CHECK(report.measured);
  CHECK(report.candidates >= 1);
  CHECK(report.seconds_after > 0);
  CHECK(report.seconds_after <= report.seconds_before);
  // 400 x 400 values of the written graph, against 8 x 8: 25 times the work.
  REQUIRE(plan.rewrites().size() == 1);
  CHECK(report.seconds_before > 1.05 * report.seconds_after);
  CHECK(plan.rewrites()[0].saved_seconds == doctest::Approx(report.seconds_before - report.seconds_after));
  CHECK(has(plan.explain(), " (measured)\n"));
  CHECK(has(plan.explain(), ", the best ones measured\n"));

  REQUIRE(entries(wisdom).size() == 1);
  const tw::rt::WisdomEntry entry = entries(wisdom)[0];
  CHECK(entry.key.kernel == "graph search");
  CHECK(has(entry.key.problem, "candidates=8"));
  CHECK(entry.microseconds == doctest::Approx(report.seconds_after * 1e6).epsilon(1e-3));
  CHECK(has(entry.configuration, "graph {"));

  const tw::Plan again = products.graph.compile(cpu, kMeasured);
  CHECK(again.rewritten() == plan.rewritten());
  CHECK(again.search_report().measured);
  CHECK(again.search_report().seconds_before == doctest::Approx(report.seconds_before).epsilon(1e-3));
  CHECK(again.search_report().seconds_after == doctest::Approx(report.seconds_after).epsilon(1e-3));
  // Names and lines are not what is measured.
  tw::Graph named;
  auto q = named.input<float>("q", {400, 8}), k = named.input<float>("k", {400, 8}), v = named.input<float>("v", {400, 8});
  named.output("out", tw::einsum("ij,je->ie", tw::einsum("id,jd->ij", q, k).name("scores"), v));
  const tw::Plan other_names = named.compile(cpu, kMeasured);
  CHECK(other_names.search_report().measured);
  REQUIRE(other_names.rewrites().size() == 1);
  CHECK(other_names.rewrites()[0].before == "(q k) v");
  CHECK(tried.results.size() == 1);
  // In another process.
  const std::string text = contents(wisdom.path);
  wisdom.use("copy");
  write(wisdom.path, text);
  CHECK(products.graph.compile(cpu, kMeasured).rewritten() == plan.rewritten());
  CHECK(tried.results.size() == 1);
  // Other options and another extent are another measurement.
  products.graph.compile(cpu, {.search = tw::Search::measure, .search_limits = {.candidates = 2}});
  Products(200).graph.compile(cpu, kMeasured);
  CHECK(tried.results.size() == 3);
  CHECK(entries(wisdom).size() == 3);
}

TEST_CASE("graph search: what is measured has its own memory, and the plan computes the graph") {
  OwnWisdom wisdom;
  tw::Device cpu = tw::Device::open("cpu");
  constexpr int kRows = 64, kWide = 96;
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.max = kRows});
  auto x = graph.input<float>("x", {n, 4});
  auto a = graph.parameter<float>("a", {4, kWide}), b = graph.parameter<float>("b", {kWide, 4});
  auto scale = graph.scalar<float>("scale");
  graph.output("out", tw::matmul(x, tw::matmul(a, b)) * scale + tw::matmul(tw::matmul(x, a), b));
  const tw::Plan as_written = graph.compile(cpu, {.search = tw::Search::off});
  auto bx = cpu.upload(numbers(kRows * 4, 1)), ba = cpu.upload(numbers(4 * kWide, 2)), bb = cpu.upload(numbers(kWide * 4, 3));
  auto want = cpu.allocate<float>(kRows * 4), out = cpu.allocate<float>(kRows * 4);
  as_written.run({{"x", bx}, {"a", ba}, {"b", bb}, {"scale", 2.0f}, {"out", want}});
  out.fill(7.0f);
  Tried tried;
  const tw::Plan plan = graph.compile(cpu, kMeasured);
  CHECK(plan.search_report().measured);
  CHECK(tried.results.size() == 1);
  CHECK(out.download() == std::vector<float>(kRows * 4, 7.0f));
  CHECK(bx.download() == numbers(kRows * 4, 1));
  plan.run({{"x", bx}, {"a", ba}, {"b", bb}, {"scale", 2.0f}, {"out", out}});
  const std::vector<float> expected = want.download(), got = out.download();
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-4));
}

TEST_CASE("graph search: the wisdom file decides, and an entry for another graph, or of none, is ignored with a word") {
  OwnWisdom wisdom;
  tw::Device cpu = tw::Device::open("cpu");
  const Products products;
  Tried tried;
  Notices notices;
  const std::string rewritten = products.graph.compile(cpu, kMeasured).rewritten(), as_written = products.as_written();
  const tw::rt::WisdomEntry entry = entries(wisdom)[0];
  const std::string fastest = graph_of(entry);
  REQUIRE(fastest != as_written);
  replace(entry, "as written 25 us\n" + as_written);
  const tw::Plan kept = products.graph.compile(cpu, kMeasured);
  CHECK(kept.rewrites().empty());
  CHECK(kept.rewritten() == as_written);
  CHECK(kept.search_report().measured);
  CHECK(kept.search_report().seconds_before == doctest::Approx(25e-6));
  CHECK(kept.search_report().seconds_after == kept.search_report().seconds_before);
  CHECK(has(kept.explain(), "it was measured, and is no faster"));
  CHECK(has(kept.explain(), "rewritten: nothing\n"));
  replace(entry, "as written 1e6 us\n" + fastest);
  const tw::Plan taken = products.graph.compile(cpu, kMeasured);
  CHECK(taken.rewritten() == rewritten);
  CHECK(taken.search_report().seconds_before == doctest::Approx(1));
  CHECK(tried.results.size() == 1);

  std::size_t measured = 1;
  for (const std::string& text : {std::string(), fastest, "as written many us\n" + fastest, "as written -1 us\n" + fastest,
                                  "as written 3 us " + fastest, std::string("as written 3 us\ngraph {")}) {
    CAPTURE(text);
    replace(entry, text);
    notices.text.clear();
    CHECK(products.graph.compile(cpu, kMeasured).search_report().measured);
    CHECK(tried.results.size() == ++measured);
    CHECK(has(notices.text, "wisdom of 'graph search' for "));
    CHECK(has(notices.text, " is ignored: "));
  }
}

TEST_CASE("graph search: after tw::seal() nothing is measured, and what is known is compiled") {
  OwnWisdom wisdom;
  const tests::ScopedCache cache;
  tw::Device cpu = tw::Device::open("cpu");
  const Products known, unknown(200);
  const std::string text = known.graph.compile(cpu, kMeasured).rewritten();
  Tried tried;
  tw::seal();
  CHECK(known.graph.compile(cpu, kMeasured).rewritten() == text);
  const std::string message = message_of([&] { unknown.graph.compile(cpu, kMeasured); });
  tw::rt::set_sealed(false);
  CHECK(has(message, "graph_search_test.cpp:"));
  CHECK(has(message, "nothing is known of graph "));
  CHECK(has(message, "tw::seal()"));
  CHECK(tried.steps.empty());
}

TEST_CASE("graph search: an emulated device is measured by its estimate, always with the same result") {
  tw::Device device = tw::Device::open("emulator:sm_80");
  double before = 0;
  std::string text;
  for (int i = 0; i < 2; ++i) {
    OwnWisdom wisdom;
    const tw::Plan plan = Products(32).graph.compile(device, kMeasured);
    const tw::SearchReport report = plan.search_report();
    CHECK(report.measured);
    CHECK(report.seconds_after <= report.seconds_before);
    CHECK(entries(wisdom).size() == 1);
    if (i == 1) {
      CHECK(report.seconds_before == before);
      CHECK(plan.rewritten() == text);
    }
    before = report.seconds_before;
    text = plan.rewritten();
  }
}

TEST_CASE("graph search: indices are inputs that fit their axis, or the graph is not run") {
  OwnWisdom wisdom;
  tw::Device cpu = tw::Device::open("cpu");
  Notices notices;
  for (bool is_computed : {false, true}) {
    CAPTURE(is_computed);
    Tried tried;
    tw::Graph graph;
    auto table = graph.input<float>("table", {3, 8});
    auto at = graph.input<std::int32_t>("at", {400});
    auto k = graph.input<float>("k", {400, 8}), v = graph.input<float>("v", {400, 8});
    auto rows = tw::gather(table, is_computed ? at % 2 : at);
    graph.output("out", tw::matmul(tw::matmul(rows, tw::transpose(k)), v));
    const tw::Plan plan = graph.compile(cpu, kMeasured);
    CHECK(plan.search_report().measured == !is_computed);
    CHECK(tried.results.size() == (is_computed ? 0u : 1u));
    CHECK(has(notices.text, "a graph is not measured, and estimates decide: it computes indices") == is_computed);
    CHECK(plan.rewrites().size() == 1);
  }
}

TEST_CASE("graph search: measuring without a device is a mistake at the line of the call") {
  const Products products;
  int line = 0;
  try {
    line = __LINE__ + 1;
    products.graph.compile("cpu", kMeasured);
    CHECK(false);
  } catch (const tw::Error& e) {
    CHECK(e.where().line == line);
    CHECK(has(e.what(), "compile: Search::measure runs graphs, and needs a device"));
  }
}
