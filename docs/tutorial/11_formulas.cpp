// Step 11 of the tutorial: formulas over whole tensors, and the plans that the compiler derives from them.
#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdio>
#include <regex>
#include <string>
#include <vector>

namespace tw = tilewright;

// [by_hand]
// Softmax in one's own words.
tw::Tensor<float> weights_of(tw::Tensor<float> scores) {
  auto e = tw::exp(scores - tw::max(scores, -1, true));
  return e / tw::sum(e, -1, true);
}
// [/by_hand]

// Prints the lines of a report that say what is not one pass, without folders.
void show_refusals(const std::string& report) {
  for (std::size_t at = report.find("not fused: "); at != std::string::npos; at = report.find("not fused: ", at + 1)) {
    const std::string line = report.substr(at, report.find('\n', at) - at);
    std::printf("%s\n", std::regex_replace(line, std::regex("[^ (]*/"), "").c_str());
  }
}

void show(const tw::Plan& plan) {
  const auto kernels = plan.kernels();
  std::printf("%zu kernel%s; passes of the first: %d; bytes between kernels: %zu\n", kernels.size(), kernels.size() == 1 ? "" : "s",
              kernels[0].passes, plan.intermediate_bytes());
}

std::vector<float> wave(int count, float step) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i) * step);
  return values;
}

/// The largest difference from attention in double precision.
double error_of(const std::vector<float>& out, const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                int n) {
  double largest = 0;
  for (int i = 0; i < n; ++i) {
    std::vector<double> p(n);
    double total = 0;
    for (int j = 0; j < n; ++j) {
      for (int c = 0; c < 64; ++c) p[j] += double(q[i * 64 + c]) * double(k[j * 64 + c]) / 8;
      total += p[j] = std::exp(p[j]);
    }
    for (int c = 0; c < 64; ++c) {
      double want = 0;
      for (int j = 0; j < n; ++j) want += p[j] / total * double(v[j * 64 + c]);
      largest = std::fmax(largest, std::fabs(out[i * 64 + c] - want));
    }
  }
  return largest;
}

int main() {
  tw::Device device = tw::Device::open();

  // [formula]
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");  // an extent that is known when the plan runs
  auto q = graph.input<float>("q", {n, 64}), k = graph.input<float>("k", {n, 64}), v = graph.input<float>("v", {n, 64});
  auto scores = tw::matmul(q, tw::transpose(k)) / 8.0f;
  graph.output("out", tw::matmul(tw::softmax(scores, -1), v));
  tw::Plan plan = graph.compile(device);
  // [/formula]
  show(plan);

  double worst = 0;
  for (const int rows : {100, 333}) {
    const auto host_q = wave(rows * 64, 0.37f), host_k = wave(rows * 64, 0.73f), host_v = wave(rows * 64, 1.1f);
    auto q_buffer = device.upload(host_q), k_buffer = device.upload(host_k), v_buffer = device.upload(host_v);
    // [run]
    auto out = device.allocate<float>(rows * 64);
    plan.run({{"q", q_buffer}, {"k", k_buffer}, {"v", v_buffer}, {"out", out}});
    // [/run]
    worst = std::fmax(worst, error_of(out.download(), host_q, host_k, host_v, rows));
  }
  std::printf("attention of 100 and 333 rows: %s\n", worst < 1e-2 ? "right" : "wrong");

  // [same]
  tw::Graph other;
  auto s = other.input<float>("s", {50, 200});
  auto x = other.parameter<float>("x", {200, 64});  // seldom changes: later runs may leave it out
  other.output("y", tw::matmul(weights_of(s), x));
  tw::Plan by_hand = other.compile(device);
  // [/same]
  show(by_hand);

  // [refused]
  tw::Graph refused;
  auto t = refused.input<float>("t", {50, 200}), w = refused.input<float>("w", {200, 64});
  auto sigma = tw::sqrt(tw::mean(t * t, -1, true));
  refused.output("y", tw::matmul(tw::exp(t / sigma), w));
  tw::Plan two_passes = refused.compile(device);
  // [/refused]
  show(two_passes);
  show_refusals(two_passes.explain());
  return worst < 1e-2 && by_hand.kernels().size() == 1 && plan.compilations() == 0 ? 0 : 1;
}
