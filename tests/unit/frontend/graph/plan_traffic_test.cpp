// Kernels that are derived as one pass move each tensor once between memory and an emulated GPU, and keep nothing else there.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tilewright/tilewright.h"

namespace {

namespace tw = tilewright;
namespace emulator = tw::rt::emulator;

// The sizes of a graph's inputs and outputs, by name.
using Sizes = std::map<std::string, std::vector<std::int64_t>>;

struct Case {
  const char* name;
  std::function<Sizes(tw::Graph&)> build;
};

std::int64_t count(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (std::int64_t n : shape) product *= n;
  return product;
}

tw::Tensor<float> input(tw::Graph& g, Sizes& sizes, const std::string& name, const std::vector<std::int64_t>& shape) {
  sizes[name] = shape;
  return g.input<float>(name, std::vector<tw::Dim>(shape.begin(), shape.end()));
}
void output(tw::Graph& g, Sizes& sizes, const std::string& name, const tw::Tensor<float>& t, const std::vector<std::int64_t>& shape) {
  sizes[name] = shape;
  g.output(name, t);
}

// A gain would be read by each warp of a program: from a cache, but counted each time.
tw::Tensor<float> normed(const tw::Tensor<float>& x) { return x * tw::rsqrt(tw::mean(x * x, -1, true) + 1e-6f); }

Sizes attention(tw::Graph& g, bool causal) {
  Sizes sizes;
  const std::vector<std::int64_t> rows{2, 64, 64}, keys{2, causal ? 64 : 256, 64};
  auto q = input(g, sizes, "q", rows), k = input(g, sizes, "k", keys), v = input(g, sizes, "v", keys);
  auto scores = tw::matmul(q, tw::transpose(k)) * 0.125f;
  if (causal) {
    auto position = tw::iota<std::int32_t>(g, {64}, 0);
    scores = tw::where(tw::expand_dims(position, 1) >= tw::expand_dims(position, 0), scores, -tw::inf);
  }
  output(g, sizes, "o", tw::matmul(tw::softmax(scores, -1), v), rows);
  return sizes;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kAll = {
      {"attention", [](tw::Graph& g) { return attention(g, false); }},
      {"causal attention", [](tw::Graph& g) { return attention(g, true); }},
      {"RMS norm and product",
       [](tw::Graph& g) {
         Sizes sizes;
         auto x = input(g, sizes, "x", {64, 512}), w = input(g, sizes, "w", {512, 64});
         output(g, sizes, "y", tw::matmul(normed(x), w), {64, 64});
         return sizes;
       }},
      {"RMS norm, two products and a gate",
       [](tw::Graph& g) {
         Sizes sizes;
         auto x = input(g, sizes, "x", {64, 512});
         auto w = input(g, sizes, "w", {512, 64}), u = input(g, sizes, "u", {512, 64});
         auto n = normed(x);
         output(g, sizes, "y", tw::silu(tw::matmul(n, w)) * tw::matmul(n, u), {64, 64});
         return sizes;
       }},
      {"projection and cross entropy",
       [](tw::Graph& g) {
         Sizes sizes;
         auto x = input(g, sizes, "x", {16, 64}), w = input(g, sizes, "w", {512, 64});
         output(g, sizes, "lse", tw::logsumexp(tw::matmul(x, tw::transpose(w)), {-1}), {16});
         return sizes;
       }},
      {"largest magnitude and product",
       [](tw::Graph& g) {
         Sizes sizes;
         auto x = input(g, sizes, "x", {64, 512}), w = input(g, sizes, "w", {512, 64});
         output(g, sizes, "y", tw::matmul(x / tw::max(tw::abs(x), -1, true), w), {64, 64});
         return sizes;
       }},
  };
  return kAll;
}

// Bytes of the sectors of global memory that a kernel's accesses touch. Asynchronous copies are counted in both memories.
double moved(const emulator::KernelCounters& c) {
  using emulator::Category;
  constexpr double kSector = 32;
  const auto sectors = c.of(Category::load_global).units + c.of(Category::store_global).units + c.of(Category::bulk_copy).units;
  return kSector * static_cast<double>(sectors) + static_cast<double>(c.of(Category::async_copy).bytes) / 2;
}

}  // namespace

TEST_CASE("plan traffic: one pass moves each tensor once") {
  tw::Device device = tw::Device::open("emulator:sm_80");
  const int ordinal = emulator::emulated_ordinal("sm_80");
  for (const Case& c : cases()) {
    CAPTURE(std::string(c.name));
    tw::Graph graph;
    const Sizes sizes = c.build(graph);
    const tw::Plan plan = graph.compile(device);
    CHECK(plan.kernels().size() == 1);
    CHECK(plan.intermediate_bytes() == 0);
    std::map<std::string, tw::Buffer<float>> buffers;
    std::vector<tw::RunArgument> arguments;
    double least = 0;
    for (const auto& [name, shape] : sizes) {
      std::vector<float> values(static_cast<std::size_t>(count(shape)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) / 13 - 0.4f;
      least += 4.0 * static_cast<double>(values.size());
      buffers.emplace(name, device.upload(values));
    }
    for (auto& [name, buffer] : buffers) arguments.push_back({name, buffer});
    emulator::take_report(ordinal);
    plan.run(arguments);
    device.synchronize();
    double bytes = 0;
    for (const auto& [name, counters] : emulator::take_report(ordinal).counters.kernels) bytes += moved(counters);
    CHECK(bytes >= least);
    CHECK(bytes <= 1.02 * least);
  }
}
