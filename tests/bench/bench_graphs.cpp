// Kernels that are derived from formulas beside kernels by hand that compute the same: the time of both on one device. Also writes the PTX
// of both and the derived tile IR to files on request. And a transformer block, fused beside node by node and beside NumPy.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "tests/bench/fused.h"
#include "tests/bench/graphs.h"
#include "tests/bench/kernels.h"
#include "tests/bench/numpy_block.h"
#include "tests/bench/report.h"

namespace {

namespace tw = tilewright;
using namespace bench;

class GraphBench {
 public:
  GraphBench(const Options& options, std::vector<std::string> targets, std::string folder)
      : options_(options),
        targets_(std::move(targets)),
        folder_(std::move(folder)),
        device_(options.device.empty() ? tw::Device::open() : tw::Device::open(options.device)),
        report_(options, "graphs", device_.name()) {}

  void run() {
    attention();
    norm_product();
    cross_entropy();
    product_with_epilogue();
    softmax();
    for (int rows : {1, 128, 1024})
      for (bool is_known : {true, false}) transformer_block(rows, is_known);
    report_.finish();
  }

 private:
  using Buffer = tw::Buffer<float>;

  void attention() {
    constexpr int kHeads = 8, kLength = 1024, kDepth = 64, kTile = 64;
    const std::size_t n = std::size_t(kHeads) * kLength * kDepth;
    Buffer q = filled(n), k = filled(n), v = filled(n), out = empty(n);
    tw::Graph graph;
    const std::vector<tw::Dim> shape{kHeads, kLength, kDepth};
    auto tq = graph.input<float>("q", shape), tk = graph.input<float>("k", shape), tv = graph.input<float>("v", shape);
    graph.output("out", tw::matmul(tw::softmax(tw::matmul(tq, tw::transpose(tk)) * 0.125f, -1), tv));
    tw::Kernel kernel("attention", bench::attention);
    const auto launch = [&] { kernel({.grid = {tw::cdiv(kLength, kTile), kHeads}}, q, k, v, out, kLength, 0.125f, kTile); };
    compare("attention", graph, {{"q", q}, {"k", k}, {"v", v}, {"out", out}}, launch,
            [&](const std::string& target) { return kernel.compile(target, {}, in_, in_, in_, out_, kLength, 0.125f, kTile); });
  }

  void norm_product() {
    constexpr int kRows = 1024, kInner = 1024, kColumns = 1024;
    Buffer x = filled(kRows * kInner), gamma = filled(kInner), w = filled(kInner * kColumns), y = empty(kRows * kColumns);
    tw::Graph graph;
    auto tx = graph.input<float>("x", {kRows, kInner}), tg = graph.input<float>("gamma", {kInner}),
         tw_ = graph.input<float>("w", {kInner, kColumns});
    graph.output("y", tw::matmul(tw::rms_norm(tx, tg), tw_));
    tw::Kernel kernel("norm_product", bench::norm_product);
    const auto launch = [&] { kernel({.grid = {kRows / 64, kColumns / 64}}, x, gamma, w, y, kRows, kColumns, kInner, 64, 32); };
    compare("norm + product", graph, {{"x", x}, {"gamma", gamma}, {"w", w}, {"y", y}}, launch,
            [&](const std::string& target) { return kernel.compile(target, {}, in_, in_, in_, out_, kRows, kColumns, kInner, 64, 32); });
  }

  void cross_entropy() {
    constexpr int kRows = 1024, kDepth = 128, kVocabulary = 8192;
    Buffer x = filled(kRows * kDepth), w = filled(kVocabulary * kDepth), loss = empty(kRows);
    auto targets = device_.upload(std::vector<std::int32_t>(kRows, 7));
    tw::Graph graph;
    auto tx = graph.input<float>("x", {kRows, kDepth}), tw_ = graph.input<float>("w", {kVocabulary, kDepth});
    auto tt = graph.input<std::int32_t>("targets", {kRows});
    graph.output("loss", tw::cross_entropy(tw::matmul(tx, tw::transpose(tw_)), tt));
    tw::Kernel kernel("cross_entropy", bench::cross_entropy);
    const auto launch = [&] { kernel({.grid = kRows / 64}, x, w, targets, loss, kRows, kVocabulary, 64, 64); };
    compare("projection + cross entropy", graph, {{"x", x}, {"w", w}, {"targets", targets}, {"loss", loss}}, launch,
            [&](const std::string& target) {
              return kernel.compile(target, {}, in_, in_, tw::pointer<const std::int32_t>(), out_, kRows, kVocabulary, 64, 64);
            });
  }

  void product_with_epilogue() {
    constexpr int kSize = 1024;
    Buffer a = filled(kSize * kSize), b = filled(kSize * kSize), bias = filled(kSize), c = empty(kSize * kSize);
    tw::Graph graph;
    auto ta = graph.input<float>("a", {kSize, kSize}), tb = graph.input<float>("b", {kSize, kSize});
    auto tbias = graph.input<float>("bias", {kSize});
    graph.output("c", tw::silu(tw::matmul(ta, tb) + tbias));
    tw::Kernel kernel("product_silu", bench::product_silu);
    const auto launch = [&] { kernel({.grid = {kSize / 64, kSize / 64}}, a, b, bias, c, kSize, kSize, kSize, 64, 32); };
    compare("product + bias + silu", graph, {{"a", a}, {"b", b}, {"bias", bias}, {"c", c}}, launch,
            [&](const std::string& target) { return kernel.compile(target, {}, in_, in_, in_, out_, kSize, kSize, kSize, 64, 32); });
  }

  void softmax() {
    constexpr int kRows = 4096, kColumns = 1000, kTile = 1024;
    Buffer x = filled(kRows * kColumns), y = empty(kRows * kColumns);
    tw::Graph graph;
    graph.output("y", tw::softmax(graph.input<float>("x", {kRows, kColumns}), -1));
    tw::Kernel kernel("softmax", bench::softmax);
    const auto launch = [&] { kernel({.grid = kRows}, x, y, kColumns, kTile); };
    compare("softmax", graph, {{"x", x}, {"y", y}}, launch,
            [&](const std::string& target) { return kernel.compile(target, {}, in_, out_, kColumns, kTile); });
  }

  /// The block fused, node by node, and in NumPy, which has half of the repeats before it and half after it. The number of rows is known to
  /// the compiler, or a symbol.
  void transformer_block(int rows, bool is_known) {
    const std::string name = fmt::format("transformer block, {} row{}{}", rows, rows == 1 ? "" : "s", is_known ? "" : ", a symbol");
    if (!options_.wants(name)) return;
    constexpr int kModel = 1024;
    tw::Graph graph;
    graphs::transformer(graph, 1, is_known ? tw::Dim(rows) : graph.dim("seq", {.max = 4096}));
    std::vector<Buffer> buffers;
    std::vector<tw::RunArgument> weights, rest;
    NumpyBlock numpy_block;
    std::mt19937 random(1);
    const auto add = [&](std::vector<tw::RunArgument>& to, const std::string& argument, const std::string& file, std::size_t count,
                         float scale) {
      std::vector<float> values(count);
      for (float& value : values) value = std::uniform_real_distribution(-scale, scale)(random);
      numpy_block.write(file, values);
      to.emplace_back(argument, buffers.emplace_back(device_.upload(values)));
    };
    buffers.reserve(2 + graphs::transformer_weights().size());
    const std::size_t count = static_cast<std::size_t>(rows) * kModel;
    add(rest, "x", "x", count, 1);
    for (const auto& [weight, size] : graphs::transformer_weights())
      add(weights, weight + "0_", weight, size, size > kModel ? 1 / std::sqrt(float{kModel}) : 1);
    Buffer& y = buffers.emplace_back(empty(count));
    rest.emplace_back("y", y);

    const tw::Plan fused = graph.compile(device_), unfused = graph.compile(device_, {.fuse = false});
    // Weights stay from the first run on, and so does what is computed from them alone.
    std::vector<tw::RunArgument> all = rest;
    all.insert(all.end(), weights.begin(), weights.end());
    for (const tw::Plan* plan : {&fused, &unfused}) plan->run(all);
    double fused_ms = 1e30, unfused_ms = 1e30;
    const auto measure = [&] {
      for (int i = 0; i < (options_.repeats + 1) / 2; ++i)
        for (const auto& [plan, least] : {std::pair(&fused, &fused_ms), std::pair(&unfused, &unfused_ms)})
          *least = std::min(*least, time_ms(1, [&] {
                                      plan->run(rest);
                                      device_.synchronize();
                                    }).least);
    };
    measure();
    const auto numpy = numpy_block.run(options_.repeats);
    measure();
    std::vector<std::pair<std::string, double>> values{{"fused ms", fused_ms},
                                                       {"kernels", static_cast<double>(fused.kernels().size())},
                                                       {"unfused ms", unfused_ms},
                                                       {"unfused kernels", static_cast<double>(unfused.kernels().size())}};
    if (numpy) {
      fused.run(rest);
      values.emplace_back("numpy ms", numpy->ms);
      values.emplace_back("relative difference", relative_difference(y.download(), numpy->result));
    }
    report_.row(numpy ? name + ", " + numpy->blas : name, values);
  }

  Buffer filled(std::size_t n) { return device_.upload(sample_values(n)); }
  Buffer empty(std::size_t n) { return device_.allocate<float>(n); }

  // Both in turn, so that what else the machine does meets both.
  template <class Launch, class Compile>
  void compare(const std::string& name, const tw::Graph& graph, const std::vector<tw::RunArgument>& arguments, Launch&& launch,
               Compile&& compile) {
    if (!options_.wants(name)) return;
    const tw::Plan plan = graph.compile(device_);
    const auto derived = [&] {
      plan.run(arguments);
      device_.synchronize();
    };
    const auto by_hand = [&] {
      launch();
      device_.synchronize();
    };
    derived(), by_hand();
    double least_derived = 1e30, least_by_hand = 1e30;
    for (int i = 0; i < options_.repeats; ++i) {
      least_derived = std::min(least_derived, time_ms(1, derived).least);
      least_by_hand = std::min(least_by_hand, time_ms(1, by_hand).least);
    }
    report_.row(name, {{"derived ms", least_derived},
                       {"by hand ms", least_by_hand},
                       {"derived / by hand", least_derived / least_by_hand},
                       {"kernels", static_cast<double>(plan.kernels().size())}});
    if (folder_.empty()) return;
    std::filesystem::create_directories(folder_);
    std::string file = name;
    std::erase_if(file, [](char c) { return c == ' ' || c == '+'; });
    std::ofstream(folder_ + "/" + file + ".derived.tile") << plan.kernels()[0].tile_ir;
    std::ofstream(folder_ + "/" + file + ".by_hand.tile") << compile("cpu").tile_ir();
    for (const std::string& target : targets_) {
      std::ofstream(folder_ + "/" + file + ".derived." + target + ".ptx") << graph.compile(target).kernels()[0].ptx;
      std::ofstream(folder_ + "/" + file + ".by_hand." + target + ".ptx") << compile(target).ptx();
    }
  }

  const tw::detail::CompileArgument<tw::Ptr<const float>> in_ = tw::pointer<const float>();
  const tw::detail::CompileArgument<tw::Ptr<float>> out_ = tw::pointer<float>();
  Options options_;
  std::vector<std::string> targets_;
  std::string folder_;
  tw::Device device_;
  Report report_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> targets = {"sm_80", "sm_90a"};
  std::string folder;
  const auto options = bench::parse(
      argc, argv, "Kernels derived from formulas beside kernels by hand",
      {{"--target", "what PTX is written for; default: sm_80 sm_90a", &targets}, {"--ptx", "a folder for the PTX", nullptr, &folder}});
  try {
    GraphBench(options, targets, folder).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
