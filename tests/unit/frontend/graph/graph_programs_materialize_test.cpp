// Tensors that the program wants in memory: kernels end there, and values are those of the operand.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

TEST_CASE("graph programs: kernels end at what is materialized") {
  constexpr int kRows = 5, kColumns = 33;
  const auto h = normal(kRows * kColumns, 1);
  Numbers powers, sums;
  for (int r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int c = 0; c < kColumns; ++c) {
      powers.push_back(std::exp(double(h[static_cast<std::size_t>(r * kColumns + c)])));
      sum += powers.back();
    }
    for (int c = 0; c < kColumns; ++c) sums.push_back(powers[static_cast<std::size_t>(r * kColumns + c)] / sum);
  }
  for (const bool is_materialized : {false, true}) {
    CAPTURE(is_materialized);
    Program p;
    const auto x = p.input("x", {kRows, kColumns}, h);
    auto t = tw::exp(x);
    if (is_materialized) t = tw::materialize(t);
    p.output("y", t / tw::sum(t, 1, true), sums);
    const tw::Plan plan = p.check();
    CHECK(plan.kernels().size() == (is_materialized ? 2 : 1));
    CHECK(plan.intermediate_bytes() == (is_materialized ? std::size_t{kRows * kColumns * 4} : 0));
  }
}

TEST_CASE("graph programs: what is in memory is read there by all that need it") {
  constexpr int kRows = 5, kColumns = 33;
  const auto h = normal(kRows * kColumns, 3);
  Numbers twice;
  for (int r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int c = 0; c < kColumns; ++c) sum += std::exp(double(h[static_cast<std::size_t>(r * kColumns + c)]));
    for (int c = 0; c < kColumns; ++c) twice.push_back(2 * std::exp(double(h[static_cast<std::size_t>(r * kColumns + c)])) / sum);
  }
  Program p;
  const auto x = p.input("x", {kRows, kColumns}, h);
  const auto before = tw::softmax(x, 1), y = before * 1.4375f, kept = tw::materialize(before), again = tw::materialize(before);
  p.output("none", kept * 1.4375f - y, Numbers(h.size(), 0), 0);
  p.output("twice", before + again, twice);
  const tw::Plan plan = p.check();
  const auto kernels = plan.kernels();
  REQUIRE(kernels.size() == 2);
  for (const tw::CoveredNode& c : kernels[1].covers) CHECK(c.name.find("softmax") == std::string::npos);
  CHECK(plan.intermediate_bytes() == std::size_t{kRows * kColumns * 4});
}

template <class T>
void add_all(Program& p, const std::string& type, const std::vector<float>& data) {
  const auto h = rounded_to<T>(data);
  const auto x = p.input(type, {3, 4}, h);
  const Numbers want = numbers_of(h);
  Numbers turned;
  for (int c = 0; c < 4; ++c)
    for (int r = 0; r < 3; ++r) turned.push_back(want[static_cast<std::size_t>(r * 4 + c)]);
  p.output(type + " of an input", tw::materialize(x), want, 0);
  p.output(type + " turned", tw::materialize(tw::transpose(x)), turned, 0);
  p.output(type + " twice", tw::transpose(tw::materialize(tw::materialize(tw::transpose(x)))), want, 0);
  p.output(type + " of nothing", tw::materialize(tw::slice(x, 0, 1, 1)), {}, 0);
  p.output(type + " of a part", tw::materialize(tw::slice(x, 0, 2, 3)), {want[8], want[9], want[10], want[11]}, 0);
}

TEST_CASE("graph programs: views, parts, inputs and tensors without elements are materialized, of each element type") {
  const auto h = normal(12, 2, 20);
  Program p;
  add_all<float>(p, "f32", h);
  add_all<tw::f16>(p, "f16", h);
  add_all<double>(p, "f64", h);
  add_all<std::int8_t>(p, "i8", h);
  p.output("a number", tw::materialize(tw::sum(p.input("z", {2}, std::vector<float>{1, 2}))) + 1.0f, {4});
  p.output("of parameters",
           [&] {
             p.set("w", std::vector<float>{1, 2, 3});
             return tw::materialize(tw::sum(p.graph.parameter<float>("w", {3})) * 2.0f);
           }(),
           {12});
  p.check();
}

TEST_CASE("graph programs: one plan materializes tensors of every size") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 0});
  const auto x = graph.input<float>("x", {n, 3});
  graph.output("y", tw::sum(tw::materialize(x * x), 1));
  for (const std::string& name : devices()) {
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = graph.compile(device);
    CHECK(plan.proof().exact);
    for (const int extent : {0, 1, 7, 100}) {
      CAPTURE(extent);
      const auto h = normal(static_cast<std::size_t>(3 * extent), 1);
      Numbers want;
      for (std::size_t i = 0; i < h.size(); i += 3)
        want.push_back(double(h[i]) * double(h[i]) + double(h[i + 1]) * double(h[i + 1]) + double(h[i + 2]) * double(h[i + 2]));
      auto in = device.upload(h);
      auto out = device.upload(std::vector<float>(want.size(), NAN));
      plan.run({{"x", in}, {"y", out}, {"n", extent}});
      CHECK(relative_error(numbers_of(out.download()), want) <= 1e-6);
    }
  }
}

}  // namespace
}  // namespace graph_program
