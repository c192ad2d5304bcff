// Reports of plans with equal layers, with symbols and with partial proofs.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/messages.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace plan_layers {
namespace {

using tilewright::test::has;
std::size_t count_of(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (auto at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

tw::Plan layers(int count) {
  tw::Graph graph;
  auto x = graph.input<float>("x", {16, 32});
  for (int i = 0; i < count; ++i) {
    auto up = graph.input<float>("up" + std::to_string(i), {32, 64});
    auto down = graph.input<float>("down" + std::to_string(i), {64, 32});
    x = x + tw::matmul(tw::tanh(tw::matmul(x, up)), down);
  }
  graph.output("y", x);
  return graph.compile("sm_80");
}

TEST_CASE("plan report: equal layers are described once, and are one box") {
  const tw::Plan few = layers(3), many = layers(24);
  const std::string text = many.explain(), picture = many.explain_svg();
  INFO(text);
  CHECK(has(text, " times what kernel"));
  CHECK(has(text, ", with other tensors\n"));
  CHECK(count_of(text, "\n") <= count_of(few.explain(), "\n") + 10);
  CHECK(count_of(picture, "class=\"kernel\"") <= count_of(few.explain_svg(), "class=\"kernel\"") + 2);
  CHECK(has(picture, " % of the time</text>"));
}

TEST_CASE("plan report: no arrow ends under a box, and an output that is read again is not an input") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {512, 512}), w = graph.input<float>("w", {512, 512});
  auto h = tw::tanh(tw::matmul(x, w));
  auto y = tw::tanh(tw::matmul(h, w)) + h;
  graph.output("h", h), graph.output("y", y + tw::matmul(y, w));
  const tw::Plan plan = graph.compile("sm_80", {.fuse = false});
  const std::string picture = plan.explain_svg();
  CHECK(picture.rfind("<rect class=") < picture.find("marker-end"));
  // x and w at the left, h and y at the right.
  CHECK(count_of(picture, "class=\"tensor\"") == 4);
}

TEST_CASE("plan report: estimates and sizes are for one value of each symbol") {
  tw::Device device = tw::Device::open("cpu");
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  auto x = graph.input<float>("x", {n, 16});
  graph.output("y", tw::softmax(x, -1));
  const tw::Plan plan = graph.compile(device);
  const std::string before = plan.explain();
  INFO(before);
  CHECK(has(before, "; estimates and sizes are for n = 1024\n"));
  CHECK(has(before, "reads 64.0 KiB (x), writes 64.0 KiB (y)"));
  CHECK(has(before, "estimate   128.0 KiB through memory"));
  CHECK(!has(before, "the latest run"));
  auto bx = device.upload(std::vector<float>(3 * 16, 1)), by = device.allocate<float>(3 * 16);
  plan.run({{"x", bx}, {"y", by}});
  const std::string after = plan.explain();
  CHECK(has(after, "; estimates and sizes are for n = 1024\n"));
  CHECK(has(after, "\nthe latest run had n = 3 and moved 384 B\n"));
}

TEST_CASE("plan report: a partial proof comes first") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {8, 64});
  graph.output("y", tw::cummax(x, 1));
  const std::string text = graph.compile("cpu").explain();
  CHECK(text.starts_with("proof: exact"));
  CHECK(has(text.substr(0, text.find('\n')), "running maxima and minima are compared with the graph alone"));
  tw::Graph proved;
  proved.output("y", tw::softmax(proved.input<float>("x", {8, 64}), -1));
  CHECK(proved.compile("cpu").explain().starts_with("plan for cpu: "));
}

}  // namespace
}  // namespace plan_layers
