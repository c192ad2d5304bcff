// The kernels of a plan are compiled on several threads: errors, code and what is left of the threads are as if it were one.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "tests/unit/frontend/graph/fake_program.h"

namespace fake_program {
namespace {

/// TILEWRIGHT_THREADS while this lives.
class Threads {
 public:
  explicit Threads(int count) {
    if (const char* text = std::getenv("TILEWRIGHT_THREADS")) before_ = text;
    setenv("TILEWRIGHT_THREADS", std::to_string(count).c_str(), 1);
  }
  ~Threads() { before_ ? setenv("TILEWRIGHT_THREADS", before_->c_str(), 1) : unsetenv("TILEWRIGHT_THREADS"); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  std::optional<std::string> before_;
};

std::ptrdiff_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Kernels that differ, of which some have an op that no host compiles.
tw::Plan compiled(const std::vector<int>& wrong, tw::Here at = tw::Here::current()) {
  tw::Graph graph;
  auto x = graph.input<float>("x", {64});
  constexpr int kKernels = 20;
  for (int i = 0; i < kKernels; ++i) graph.output("y" + std::to_string(i), x + x);
  FakeProgram program(graph);
  for (int i = 0; i < kKernels; ++i) {
    fusion::SequenceKernel& k = program.kernel("y" + std::to_string(i), static_cast<float>(i + 1), "x", "x");
    if (std::find(wrong.begin(), wrong.end(), i) == wrong.end()) continue;
    k.function = tw::ir::parse("kernel @wrong(%a: ptr<const f32>, %b: ptr<const f32>, %to: ptr<f32>, %n: i32) {\n  barrier\n}\n",
                               "kernel" + std::to_string(i) + ".tile")
                     .functions.front();
  }
  return program.plan(tw::Device::open("cpu"), SIZE_MAX, at);
}

}  // namespace

TEST_CASE("plan: the error is that of the first kernel that has one, on any number of threads") {
  for (const int threads : {1, 2, 8})
    for (int time = 0; time < 5; ++time) {
      CAPTURE(threads);
      const Threads here(threads);
      try {
        compiled({17, 6, 7, 12});
        FAIL("no error");
      } catch (const tw::Error& e) {
        CHECK(e.where().file == "kernel6.tile");
        CHECK(e.where().line == 2);
      }
    }
}

TEST_CASE("plan: kernels are the same on any number of threads, and no thread is left") {
  const auto before = threads_of_process();
  std::vector<std::string> texts;
  for (const int threads : {1, 2, 8}) {
    const Threads here(threads);
    tw::Graph graph;
    auto x = graph.input<float>("x", {64, 32});
    for (int i = 1; i < 8; ++i) {
      auto w = graph.input<float>("w" + std::to_string(i), {32, 32});
      x = tw::softmax(tw::matmul(x * static_cast<float>(i), w), -1);
    }
    graph.output("y", x);
    std::string& text = texts.emplace_back();
    for (const tw::PlannedKernel& k : graph.compile("sm_80").kernels()) text += k.name + k.tile_ir + k.ptx;
    compiled({});
  }
  CHECK(texts[0].find(".visible .entry") != std::string::npos);
  CHECK(texts[1] == texts[0]);
  CHECK(texts[2] == texts[0]);
  CHECK(threads_of_process() == before);
}

}  // namespace fake_program
