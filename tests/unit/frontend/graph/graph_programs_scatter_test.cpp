// Programs that add at places that are data, as users write them.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

std::vector<int32_t> places(int count, int extent) {
  std::vector<int32_t> all;
  for (int i = 0; i < count; ++i) all.push_back(i * i * 7 % extent);
  return all;
}

TEST_CASE("graph programs: the gradient of an embedding") {
  for (const int width : {1, 24, 300}) {
    CAPTURE(width);
    const int vocabulary = 37, batch = 3, length = 20;
    const auto tokens = places(batch * length, vocabulary);
    const auto hg = normal(static_cast<std::size_t>(batch * length * width), 1);
    Numbers want(static_cast<std::size_t>(vocabulary * width));
    for (int i = 0; i < batch * length; ++i)
      for (int c = 0; c < width; ++c) want[tokens[i] * width + c] += 0.5 * hg[i * width + c];
    Program p;
    const tw::Dim n = p.graph.dim("n");
    p.set_number("n", length);
    auto t = p.input("tokens", {batch, n}, tokens);
    auto g = p.input("g", {batch, n, width}, hg);
    p.output("gradient", tw::scatter_add(tw::full<float>(p.graph, {vocabulary, width}, 0), t, g * 0.5f), want);
    p.check();
    p.check({.deterministic = false});
  }
}

TEST_CASE("graph programs: a histogram, and weights summed in groups along the last axis") {
  const int count = 500, bins = 19, rows = 6;
  const auto hb = places(count, bins);
  const auto hw = normal(rows * count, 2);
  Numbers histogram(bins), weights(rows * bins, 1);
  for (int i = 0; i < count; ++i) {
    ++histogram[hb[i]];
    for (int r = 0; r < rows; ++r) weights[r * bins + hb[i]] += hw[r * count + i];
  }
  Program p;
  auto b = p.input("bins", {count}, hb);
  auto w = p.input("weights", {rows, count}, hw);
  auto zeros = tw::full<int32_t>(p.graph, {bins}, 0);
  p.output("histogram", tw::scatter_add(zeros, b, tw::full<int32_t>(p.graph, {count}, 1)), histogram, 0);
  p.output("groups", tw::scatter_add(tw::full<float>(p.graph, {rows, bins}, 1), b, w, -1), weights);
  p.check();
  p.check({.deterministic = false});
}

TEST_CASE("graph programs: NaN and infinity stay in their rows, other places add nothing") {
  const int rows = 5, columns = 4;
  const std::vector<int32_t> hi{0, 2, -1, 2, 5, 1};
  auto hu = normal(6 * columns, 3);
  hu[0] = NAN, hu[columns] = HUGE_VALF;
  Numbers want(rows * columns);
  for (int i = 0; i < 6; ++i)
    for (int c = 0; c < columns && hi[i] >= 0 && hi[i] < rows; ++c) want[hi[i] * columns + c] += hu[i * columns + c];
  Program p;
  p.output("y", tw::scatter_add(tw::full<float>(p.graph, {rows, columns}, 0), p.input("i", {6}, hi), p.input("u", {6, columns}, hu)), want);
  p.check();
  p.check({.deterministic = false});
}

TEST_CASE("graph programs: messages between nodes, twice, in front of a norm") {
  const int nodes = 30, edges = 90, width = 16;
  const auto from = places(edges, nodes), to = places(edges, nodes - 7);
  const auto hx = normal(nodes * width, 4);
  Numbers x = numbers_of(hx);
  for (int layer = 0; layer < 2; ++layer) {
    Numbers sum = x;
    for (int e = 0; e < edges; ++e)
      for (int c = 0; c < width; ++c) sum[to[e] * width + c] += x[from[e] * width + c];
    for (int i = 0; i < nodes; ++i) {
      double squares = 0;
      for (int c = 0; c < width; ++c) squares += sum[i * width + c] * sum[i * width + c];
      for (int c = 0; c < width; ++c) x[i * width + c] = sum[i * width + c] / std::sqrt(squares / width + double(1e-6f));
    }
  }
  Program p;
  auto s = p.input("from", {edges}, from), d = p.input("to", {edges}, to);
  auto h = p.input("x", {nodes, width}, hx);
  auto gamma = p.input("gamma", {width}, std::vector<float>(width, 1));
  for (int layer = 0; layer < 2; ++layer) h = tw::rms_norm(tw::scatter_add(h, d, tw::gather(h, s)), gamma);
  p.output("y", h, x);
  p.check();
}

TEST_CASE("graph programs: sums at places give the same bits at every run") {
  const int count = 2000;
  const auto hu = normal(count, 5, 100);
  tw::Graph graph;
  auto u = graph.input<float>("u", {count});
  auto i = graph.input<int32_t>("i", {count});
  graph.output("y", tw::scatter_add(tw::full<float>(graph, {3}, 0), i, u));
  tw::Device device = tw::Device::open("cpu");
  const tw::Plan plan = graph.compile(device);
  auto bu = device.upload(hu);
  auto bi = device.upload(places(count, 3));
  std::vector<std::vector<float>> seen;
  for (int run = 0; run < 4; ++run) {
    auto out = device.allocate<float>(3);
    plan.run({{"u", bu}, {"i", bi}, {"y", out}});
    seen.push_back(out.download());
  }
  for (const auto& values : seen) CHECK(values == seen[0]);
  CHECK(plan.proof().text.find("scatter_add") != std::string::npos);
  CHECK(plan.explain().find("scatter_add") != std::string::npos);
}

// A value that is already in memory is not computed again before a run for kernels that can read it there.
TEST_CASE("graph programs: a parameter is an output and is added to or from") {
  const int rows = 5, updates = 9, width = 4;
  const auto hb = normal(rows * width, 1), hu = normal(updates * width, 2);
  const auto at = places(updates, rows);
  Numbers sum = numbers_of(hb);
  for (int i = 0; i < updates; ++i)
    for (int c = 0; c < width; ++c) sum[at[i] * width + c] += double(hu[i * width + c]);
  for (const bool is_base : {true, false}) {
    CAPTURE(is_base);
    Program p;
    p.set("base", hb), p.set("update", hu);
    auto base = p.graph.parameter<float>("base", {rows, width}), update = p.graph.parameter<float>("update", {updates, width});
    p.output("sum", tw::pad(tw::scatter_add(base, p.input("at", {updates}, at), update), 0, 0, 0), sum);
    if (is_base)
      p.output("same", base, numbers_of(hb));
    else
      p.output("same", update, numbers_of(hu));
    p.check();
  }
}

}  // namespace
}  // namespace graph_program
