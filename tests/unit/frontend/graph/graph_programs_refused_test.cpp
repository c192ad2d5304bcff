// Formulas that no single pass computes. Each needs a further pass, and explain() names the line of the operation that cannot be computed
// and the line of the reduction that it would need first.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

struct Lines {
  int reduction = 0, operation = 0;
};

/// The operand of a product with w, made from x and gamma, whose reduction and operation stand on lines of their own.
template <class Build>
void check_refused(const std::string& operation, const std::string& reduction, Build&& build) {
  CAPTURE(operation);
  for (const char* target : {"cpu", "sm_80"}) {
    CAPTURE(target);
    tw::Graph graph;
    Lines lines;
    auto x = graph.input<float>("x", {70, 96}), gamma = graph.input<float>("gamma", {96}), w = graph.input<float>("w", {96, 48});
    graph.output("out", tw::matmul(build(x, gamma, lines), w));
    const tw::Plan plan = graph.compile(target);
    const std::string text = plan.explain();
    CAPTURE(text);
    CHECK((plan.kernels().size() > 1 || plan.kernels()[0].passes > 1));
    CHECK(plan.proof().exact);
    const auto place = [](int line) { return "graph_programs_refused_test.cpp:" + std::to_string(line) + ")"; };
    const auto refusal = text.find("\nnot fused: ");
    REQUIRE(refusal != std::string::npos);
    const std::string line = text.substr(refusal + 1, text.find('\n', refusal + 1) - refusal - 1);
    const auto at = line.find(" in " + operation + " ("), because = line.find(" because " + reduction + " (");
    REQUIRE(at != std::string::npos);
    REQUIRE(because != std::string::npos);
    CHECK(line.substr(at, because - at).ends_with(place(lines.operation)));
    CHECK(line.substr(because).find(place(lines.reduction)) != std::string::npos);
  }
}

}  // namespace

// Each operation stands on the line of its __LINE__.
// clang-format off
TEST_CASE("graph programs: what no single pass computes is refused by the right two lines") {
  check_refused("exp", "mean", [](const auto& s, const auto&, Lines& lines) {
    auto sigma = tw::sqrt(tw::mean(s * s, -1, true)); lines.reduction = __LINE__;
    auto e = tw::exp(s / sigma); lines.operation = __LINE__;
    return e;
  });
  check_refused("rint", "max", [](const auto& x, const auto&, Lines& lines) {
    auto amax = tw::max(tw::abs(x), -1, true); lines.reduction = __LINE__;
    auto quantised = tw::rint(x / amax * 127.0f); lines.operation = __LINE__;
    return quantised;
  });
  check_refused("silu", "mean", [](const auto& x, const auto&, Lines& lines) {
    auto rstd = tw::rsqrt(tw::mean(x * x, -1, true) + 1e-6f); lines.reduction = __LINE__;
    auto gate = tw::silu(x * rstd); lines.operation = __LINE__;
    return gate;
  });
  // The composite function brings its reduction with it: both on one line.
  check_refused("silu", "rms_norm", [](const auto& x, const auto& gamma, Lines& lines) {
    auto n = tw::rms_norm(x, gamma); lines.reduction = __LINE__;
    auto gate = tw::silu(n); lines.operation = __LINE__;
    return gate;
  });
  check_refused("silu", "softmax", [](const auto& x, const auto&, Lines& lines) {
    auto n = tw::softmax(x, -1); lines.reduction = __LINE__;
    auto gate = tw::silu(n); lines.operation = __LINE__;
    return gate;
  });
}
// clang-format on

}  // namespace graph_program
