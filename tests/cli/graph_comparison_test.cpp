// The two witnesses of a run: the graph in double precision, and in its own types where that differs.
#include "frontend/cli/execution/graph_comparison.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tests/cli/program.h"
#include "tileir/builder.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::cli {
namespace {

constexpr double kTolerance = 1e-3;

struct Example {
  graph::Graph graph;
  GraphArguments arguments;
  std::vector<GraphResult> results;  // as the interpreter has them in the types of the graph

  Example(const char* text, const std::vector<float>& x) : graph(graph::parse(text, "test")) {
    Argument a{.name = "x", .type = ir::Type::pointer(ir::Element::f32, false), .elements = static_cast<std::int64_t>(x.size())};
    a.bytes.resize(x.size() * sizeof(float));
    std::memcpy(a.bytes.data(), x.data(), a.bytes.size());
    arguments.given.push_back({*graph.find_input("x"), std::move(a)});
    results = interpret_graph(graph, arguments, graph::Rounding::as_typed);
  }

  ComparedResult compared() const { return compare_with_graph(graph, arguments, results, kTolerance)[0]; }
  void set(std::size_t i, double value) {
    GraphResult& r = results[0];
    const auto width = static_cast<std::size_t>(ir::bytes(r.element));
    const std::uint64_t bits = ir::element_bits(r.element, value);
    std::memcpy(&r.bytes[i * width], &bits, width);
  }
};

const char* const kHalves = R"(graph {
  %x = input : f32[3]
  %0 = cast %x : f16[3]
  output "y" %0
}
)";
const char* const kDifference = R"(graph {
  %x = input : f32[3]
  %0 = cast %x : bf16[3]
  %1 = constant {data = [1]} : bf16
  %2 = add %0, %1 : bf16[3]
  %3 = sub %2, %1 : bf16[3]
  output "y" %3
}
)";

TEST_CASE("graph_comparison: a result near the graph in double precision needs no other witness") {
  const Example e(kHalves, {1, 2, 3});
  const ComparedResult r = e.compared();
  CHECK(r.is_right);
  CHECK_FALSE(r.typed);
  CHECK(r.text() == "y: relative error 0 from the graph in double precision");
}

TEST_CASE("graph_comparison: what overflows as it is written is right, and nothing else that is not finite is") {
  Example e(kHalves, {1, 70000, -70000});
  const ComparedResult r = e.compared();
  CHECK(r.is_right);
  REQUIRE(r.typed);
  CHECK(r.text() == "y: relative error inf from the graph in double precision, 0 from the graph in its own types; these two differ by inf");
  e.set(2, HUGE_VAL);  // of the other sign
  CHECK_FALSE(e.compared().is_right);
  e = Example(kHalves, {1, 70000, 3});
  e.set(0, 2);  // beside an overflow
  CHECK_FALSE(e.compared().is_right);
  e = Example(kHalves, {1, 70000, 3});
  e.set(2, std::nan(""));
  CHECK_FALSE(e.compared().is_right);
}

TEST_CASE("graph_comparison: a result is as good as the graph in its own types, where these lose digits") {
  Example e(kDifference, {1e-3f, 2e-3f, 3e-3f});
  const ComparedResult r = e.compared();
  CHECK(r.is_right);
  REQUIRE(r.typed);
  CHECK(r.typed->error == 0);
  CHECK(r.typed->lost > kTolerance);
  for (std::size_t i = 0; i < 3; ++i) e.set(i, 0.05);
  CHECK_FALSE(e.compared().is_right);
}

TEST_CASE("graph_comparison: squares of the numbers overflow or underflow") {
  for (const char* scale : {"1e200", "1e-200"}) {
    Example e(fmt::format(R"(graph {{
  %x = input : f32[3]
  %0 = cast %x : f64[3]
  %1 = constant {{data = [{}]}} : f64
  %2 = mul %0, %1 : f64[3]
  output "y" %2
}}
)",
                          scale)
                  .c_str(),
              {1, 2, 3});
    CHECK(e.compared().is_right);
    e.set(1, e.results[0].number(1) * 1.01);
    CHECK_FALSE(e.compared().is_right);
  }
}

}  // namespace
}  // namespace tilewright::cli

namespace tilewright::test {
namespace {

TEST_CASE("graph_comparison: --compare says which graph it compared with") {
  const char* const kGreat = R"(graph {
  %x = input : f32[40]
  %0 = constant {data = [1e7]} : f32
  %1 = mul %x, %0 : f32[40]
  %2 = cast %1 : f16[40]
  output "y" %2
}
)";
  for (const char* device : {"cpu", "interpreter"}) {
    CAPTURE(device);
    const Outcome o = tilewright({"graph", "-", "--device", device, "--random", "1", "--compare", "1e-2"}, kGreat, ".");
    CAPTURE(o.err);
    CHECK(o.code == 0);
    CHECK(o.err.find(" from the graph in its own types; these two differ by inf") != o.err.npos);
  }
}

}  // namespace
}  // namespace tilewright::test
