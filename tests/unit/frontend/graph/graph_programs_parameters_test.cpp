// Programs of users with parameters: values at every run, what a later run may leave out, and what reports say.
#include "tests/messages.h"
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 5, kModel = 16, kOut = 7;

using tilewright::test::has;

/// y = rms_norm(x) (w + delta), in double.
Numbers norm_product(const std::vector<float>& x, const std::vector<float>& delta, const std::vector<float>& w) {
  Numbers y;
  for (std::size_t r = 0; r < x.size() / kModel; ++r) {
    double squares = 0;
    for (int k = 0; k < kModel; ++k) squares += double{x[r * kModel + k]} * x[r * kModel + k];
    const double scale = 1 / std::sqrt(squares / kModel + 1e-6);
    for (int n = 0; n < kOut; ++n) {
      double sum = 0;
      for (int k = 0; k < kModel; ++k) sum += x[r * kModel + k] * scale * (double{w[k * kOut + n]} + delta[k * kOut + n]);
      y.push_back(sum);
    }
  }
  return y;
}

struct NormProduct {
  tw::Graph graph;
  tw::Dim rows = graph.dim("rows", {.max = 100});
  NormProduct() {
    auto x = graph.input<float>("x", {rows, kModel});
    auto delta = graph.parameter<float>("delta", {kModel, kOut}), w = graph.parameter<float>("w", {kModel, kOut});
    graph.output("y", tw::matmul(x * tw::rsqrt(tw::mean(x * x, -1, true) + 1e-6f), w + delta));
  }
};

}  // namespace

TEST_CASE("graph programs: parameters are folded when one is given, and runs may leave them out") {
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    NormProduct program;
    const tw::Plan plan = program.graph.compile(device);
    CHECK(plan.kernels().size() == 1);
    CHECK(plan.parameter_kernels().size() == 1);
    CHECK(plan.proof().exact);
    CHECK(plan.intermediate_bytes() == 0);
    CHECK(plan.workspace_bytes() == 0);

    const std::vector<float> x = normal(kRows * kModel, 1), other = normal(3 * kModel, 2), delta = normal(kModel * kOut, 3),
                             delta2 = normal(kModel * kOut, 4), w = normal(kModel * kOut, 5), w2 = normal(kModel * kOut, 6);
    auto bx = device.upload(x), bo = device.upload(other), bg = device.upload(delta), bw = device.upload(w),
         y = device.allocate<float>(kRows * kOut), y3 = device.allocate<float>(3 * kOut);
    CHECK_THROWS_WITH_AS(plan.run({{"x", bx}, {"w", bw}, {"y", y}}), doctest::Contains("only later runs may leave it out"), tw::Error);
    const auto is = [&](const tw::Buffer<float>& got, const std::vector<float>& in, const std::vector<float>& g,
                        const std::vector<float>& weight) {
      CHECK(relative_error(numbers_of(got.download()), norm_product(in, g, weight)) < 2e-3);
    };
    plan.run({{"x", bx}, {"delta", bg}, {"w", bw}, {"y", y}});
    is(y, x, delta, w);
    plan.run({{"x", bo}, {"y", y3}});  // another length, nothing computed again
    is(y3, other, delta, w);
    auto bg2 = device.upload(delta2);
    plan.run({{"x", bx}, {"delta", bg2}, {"y", y}});  // the other parameter is that of the first run
    is(y, x, delta2, w);
    bw.upload(w2);  // contents alone: not noticed until it is given again
    plan.run({{"x", bx}, {"y", y}});
    is(y, x, delta2, w);
    plan.run({{"x", bx}, {"w", bw}, {"y", y}});
    is(y, x, delta2, w2);
    CHECK(plan.compilations() == 0);
  }
}

TEST_CASE("graph programs: reports name what is computed ahead") {
  NormProduct program;
  const tw::Plan plan = program.graph.compile("sm_90a");
  const std::string text = plan.explain();
  CAPTURE(text);
  CHECK(has(text, "when a parameter is given"));
  CHECK(has(text, "delta_w"));
  const auto kernels = plan.parameter_kernels();
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].bytes_written == kModel * kOut * 4);
  CHECK(kernels[0].bytes_read == 2 * kModel * kOut * 4);
  REQUIRE(kernels[0].covers.size() == 1);
  CHECK(has(kernels[0].covers[0].name, "add"));
  CHECK(!kernels[0].ptx.empty());
  // The weights that a run reads are the folded ones.
  CHECK(plan.kernels()[0].bytes_read == kModel * kOut * 4 + kModel * 4);
  CHECK(has(plan.explain_svg(), "of parameters"));
}

TEST_CASE("graph programs: outputs of parameters alone are written at every run") {
  for (const std::string& name : {std::string("cpu"), std::string("emulator:sm_80")}) {
    tw::Device device = tw::Device::open(name);
    tw::Graph graph;
    auto a = graph.parameter<float>("a", {4, 4}), b = graph.parameter<float>("b", {4, 4});
    graph.output("product", tw::matmul(a, b));
    graph.output("copy", tw::transpose(a));
    const tw::Plan plan = graph.compile(device);
    std::vector<float> counted(16), identity(16, 0), turned(16);
    for (std::size_t i = 0; i < 16; ++i) counted[i] = static_cast<float>(i), turned[i % 4 * 4 + i / 4] = static_cast<float>(i);
    for (std::size_t i = 0; i < 4; ++i) identity[5 * i] = 1;
    auto ba = device.upload(counted), bb = device.upload(identity), product = device.allocate<float>(16), copy = device.allocate<float>(16);
    plan.run({{"a", ba}, {"b", bb}, {"product", product}, {"copy", copy}});
    for (int i = 0; i < 2; ++i) {
      CHECK(product.download() == counted);
      CHECK(copy.download() == turned);
      product.fill(-1), copy.fill(-1);
      plan.run({{"product", product}, {"copy", copy}});
    }
    CHECK(product.download() == counted);
  }
}

TEST_CASE("graph programs: projections of one norm share a loop, each with its corrected weight") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {40, 64});
  auto n = tw::rms_norm(x, graph.parameter<float>("gamma", {64}));
  graph.output("q", tw::matmul(n, graph.parameter<float>("wq", {64, 48}) + graph.parameter<float>("dq", {64, 48})));
  graph.output("k", tw::matmul(n, graph.parameter<float>("wk", {64, 16}) + graph.parameter<float>("dk", {64, 16})));
  graph.output("v", tw::matmul(n, graph.parameter<float>("wv", {64, 16}) + graph.parameter<float>("dv", {64, 16})));
  const tw::Plan plan = graph.compile("cpu");
  CAPTURE(plan.explain());
  CHECK(plan.kernels().size() == 1);
  CHECK(!plan.parameter_kernels().empty());
  // No two programs of a parameter kernel compute the same element.
  for (const tw::PlannedKernel& k : plan.parameter_kernels()) {
    CAPTURE(k.name);
    CHECK(k.flops <= 2 * static_cast<double>(k.bytes_written) / 4);  // the correction and the gain
  }
}

}  // namespace graph_program
