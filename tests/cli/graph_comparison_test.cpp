// The witnesses of a run: the graph in double precision, in its own types, and with operands that are moved as rounding moves them.
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

  Example(const std::string& text, const std::vector<float>& x) : graph(graph::parse(text, "test")) {
    give("x", ir::Element::f32, x);
    results = interpret_graph(graph, arguments, graph::Rounding::as_typed);
  }
  Example(const std::string& text, const std::vector<std::int64_t>& x) : graph(graph::parse(text, "test")) {
    give("x", ir::Element::i64, x);
    results = interpret_graph(graph, arguments, graph::Rounding::as_typed);
  }

  ComparedResult compared(double tolerance = kTolerance, bool multiplies_in_tf32 = false) const {
    return compare_with_graph(graph, arguments, results, tolerance, multiplies_in_tf32)[0];
  }
  bool is_right() const { return compared().is_right(); }
  void set(std::size_t i, double value) { set_bits(i, ir::element_bits(results[0].element, value)); }
  void set_bits(std::size_t i, std::uint64_t bits) {
    GraphResult& r = results[0];
    const auto width = static_cast<std::size_t>(ir::bytes(r.element));
    std::memcpy(&r.bytes[i * width], &bits, width);
  }

 private:
  template <class T>
  void give(const std::string& name, ir::Element e, const std::vector<T>& values) {
    Argument a{.name = name, .type = ir::Type::pointer(e, false), .elements = static_cast<std::int64_t>(values.size())};
    a.bytes.resize(values.size() * sizeof(T));
    std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
    arguments.given.push_back({*graph.find_input(name), std::move(a)});
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
  const Example e(kHalves, std::vector<float>{1, 2, 3});
  const ComparedResult r = e.compared();
  CHECK(r.is_right());
  CHECK(r.moved == 0);
  CHECK(r.text() == "y: relative error 0 from the graph in double precision");
}

TEST_CASE("graph_comparison: what overflows as it is written is right, and nothing else that is not finite is") {
  Example e(kHalves, std::vector<float>{1, 70000, -70000});
  CHECK(e.is_right());
  CHECK(e.compared().text() ==
        "y: relative error inf from the graph in double precision; 2 of 3 elements are beyond the tolerance, but no further than rounding "
        "may move them");
  e.set(2, HUGE_VAL);  // of the other sign
  CHECK_FALSE(e.is_right());
  e = Example(kHalves, std::vector<float>{1, 70000, 3});
  e.set(0, 2);  // beside an overflow
  CHECK_FALSE(e.is_right());
  e.set(0, 1), e.set(1, 5);  // in its place
  CHECK_FALSE(e.is_right());
  e = Example(kHalves, std::vector<float>{1, 70000, 3});
  e.set(2, std::nan(""));
  CHECK_FALSE(e.is_right());
  CHECK(e.compared().text().ends_with("; 1 of 3 elements is wrong: element [2] is nan and should be 3, which rounding may move by 0"));
}

TEST_CASE("graph_comparison: a result may lose the digits that the types of the graph lose") {
  Example e(kDifference, std::vector<float>{1e-3f, 2e-3f, 3e-3f});
  CHECK(e.is_right());
  CHECK(e.compared().moved == 3);
  for (std::size_t i = 0; i < 3; ++i) e.set(i, 0.05);
  CHECK_FALSE(e.is_right());
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
                          scale),
              std::vector<float>{1, 2, 3});
    CHECK(e.is_right());
    e.set(1, static_cast<double>(e.results[0].number(1)) * 1.01);
    CHECK_FALSE(e.is_right());
  }
}

TEST_CASE("graph_comparison: one wrong element of many is found, also beside elements without a value") {
  constexpr std::size_t kElements = 1 << 20;
  std::vector<float> x(kElements, 100);
  x[7] = -1;
  x[kElements - 3] = 1e-2f;
  Example e(R"(graph {
  %x = input : f32[1024, 1024]
  %0 = sqrt %x : f32[1024, 1024]
  output "y" %0
}
)",
            x);
  CHECK(e.is_right());
  CHECK(std::isnan(e.results[0].number(7)));
  e.set(kElements - 3, 0.101);
  const ComparedResult r = e.compared();
  CHECK(r.wrong == 1);
  REQUIRE(r.worst);
  CHECK(r.worst->index == std::vector<std::int64_t>{1023, 1021});
  CHECK(r.worst->seen == "0.101000004");
  CHECK(r.worst->expected == "0.0999999989");
}

TEST_CASE("graph_comparison: integers are exact, also those that no double holds") {
  constexpr std::int64_t kGreat = (std::int64_t{1} << 53) + 1;
  Example e(R"(graph {
  %x = input : i64[2]
  %0 = constant {data = [1]} : i64
  %1 = mul %x, %0 : i64[2]
  output "y" %1
}
)",
            std::vector<std::int64_t>{kGreat, 1000000});
  CHECK(e.is_right());
  e.set_bits(0, kGreat - 1);
  CHECK_FALSE(e.is_right());
  e.set_bits(0, kGreat), e.set_bits(1, 1000001);
  CHECK_FALSE(e.is_right());
}

TEST_CASE("graph_comparison: what integers and conditions decide by a rounded number may be either") {
  Example e(R"(graph {
  %x = input : f32[2]
  %0 = constant {data = [0.1]} : f32
  %1 = mul %x, %0 : f32[2]
  %2 = floor %1 : f32[2]
  %3 = cast %2 : i32[2]
  output "y" %3
}
)",
            std::vector<float>{30, 35});
  CHECK(e.is_right());
  for (int at_30 : {2, 3}) {
    e.set_bits(0, static_cast<std::uint64_t>(at_30));
    CHECK(e.is_right());
  }
  e.set_bits(1, 2);
  CHECK_FALSE(e.is_right());
}

TEST_CASE("graph_comparison: a sum that cancels may be a rounding of its terms away from 0, and another one may not") {
  const char* const kCentred = R"(graph {
  %x = input : f32[5]
  %0 = reduce %x {kind = sum, axes = [0], keep_dims} : f32[1]
  %1 = constant {data = [5]} : f32
  %2 = div %0, %1 : f32[1]
  %3 = sub %x, %2 : f32[5]
  output "y" %3
}
)";
  Example e(kCentred, std::vector<float>(5, 17.3f));
  e.set(3, 2e-6);
  CHECK(e.is_right());
  e.set(3, 2e-4);
  CHECK_FALSE(e.is_right());
  Example other(kCentred, std::vector<float>{1, 2, 3, 4, 100});
  other.set(1, static_cast<double>(other.results[0].number(1)) + 2e-6);
  CHECK(other.is_right());
  other.set(1, 21);
  CHECK_FALSE(other.is_right());
}

TEST_CASE("graph_comparison: a value that two kernels compute may round differently in each, as far as its operations round") {
  const std::string text = R"(graph {
  %x = input : f32[3]
  %0 = constant {data = [100]} : f32
  %1 = add %x, %0 : f32[3]
  %2 = sub %1, %0 : f32[3]
  %3 = materialize %2 : f32[3]
  %4 = sub %3, %2 : f32[3]
  output "y" %4
}
)";
  Example e(text, std::vector<float>{0.01f, 0.02f, 0.03f});
  CHECK(e.is_right());
  e.set(1, 0x1p-17);  // the spacing of floats at 100
  CHECK(e.is_right());
  e.set(1, 0x1p-12);
  CHECK_FALSE(e.is_right());
}

TEST_CASE("graph_comparison: what is not a number because finite numbers overflow may be finite, and nothing else may") {
  Example overflow(R"(graph {
  %x = input : f32[2]
  %0 = exp %x : f32[2]
  %1 = log %0 : f32[2]
  output "y" %1
}
)",
                   std::vector<float>{1, 1000});
  CHECK(overflow.is_right());
  overflow.set(1, 1000);
  CHECK(overflow.is_right());
  Example pole(R"(graph {
  %x = input : f32[2]
  %0 = log %x : f32[2]
  %1 = sub %0, %0 : f32[2]
  output "y" %1
}
)",
               std::vector<float>{1, 0});
  CHECK(pole.is_right());
  pole.set(1, 0);
  CHECK_FALSE(pole.is_right());
}

TEST_CASE("graph_comparison: products lose digits in tf32 only on devices that multiply in it") {
  Example e(R"(graph {
  %x = input : f32[4]
  %0 = constant {data = [1, 1, -1, -1]} : f32[4]
  %1 = einsum %x, %0 {text = "k,k->"} : f32
  output "y" %1
}
)",
            std::vector<float>{1.0001f, 2.0003f, 1.0002f, 2.0004f});
  CHECK(e.is_right());
  e.set(0, -1e-3);
  CHECK_FALSE(e.is_right());
  CHECK(e.compared(kTolerance, true).is_right());
}

TEST_CASE("graph_comparison: a tolerance of 0 asks for the values in double precision") {
  const Example e(kDifference, std::vector<float>{1e-3f, 2e-3f, 3e-3f});
  CHECK_FALSE(e.compared(0).is_right());
}

}  // namespace
}  // namespace tilewright::cli

namespace tilewright::test {
namespace {

TEST_CASE("graph_comparison: --compare says how many elements need another witness") {
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
    CHECK(o.err.find(" beyond the tolerance, but no further than rounding may move ") != o.err.npos);
  }
}

TEST_CASE("graph_comparison: a sum of inputs that is rounded once is right, whatever the tolerance is") {
  const char* const kSums = R"(graph {
  %x = input : bf16[64, 40]
  %0 = reduce %x {kind = sum, axes = [1]} : bf16[64]
  output "y" %0
}
)";
  for (const char* tolerance : {"1e-3", "1e-5"}) {
    CAPTURE(tolerance);
    const Outcome o = tilewright({"graph", "-", "--device", "cpu", "--random", "1", "--compare", tolerance}, kSums, ".");
    CAPTURE(o.err);
    CHECK(o.code == 0);
  }
}

}  // namespace
}  // namespace tilewright::test
