// Steps that differ in numbers only: their kernels, which they share, get the numbers as arguments.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr std::size_t kRows = 6, kColumns = 32;

TEST_CASE("graph programs: the steps of a solver have times of their own") {
  constexpr int kSteps = 400;
  Program p;
  const std::vector<float> start = normal(kRows * kColumns, 1);
  const tw::Dim n = p.graph.dim("n");
  p.set_number("n", static_cast<int>(kRows));
  tw::Tensor<float> y = p.input<float>("x", {n, kColumns}, start);
  Numbers want = numbers_of(start);
  for (int i = 0; i < kSteps; ++i) {
    const float time = 0.05f * static_cast<float>(i) + 0.01f, scale = 0.25f / static_cast<float>(i + 3);
    y = y + tw::sin(y + time) * 0.125f - tw::tanh(y) * scale;
    for (double& v : want) v += std::sin(v + time) * 0.125 - std::tanh(v) * scale;
  }
  p.output("y", y, want, 1e-3);
  p.check();
}

TEST_CASE("graph programs: the blocks of a loop that is written out are slices of one tensor") {
  constexpr std::size_t kBlocks = 12, kBlock = 16;
  Program p;
  const std::vector<float> table = normal(kRows * kBlocks * kBlock, 2);
  const std::vector<float> start = normal(kRows * kBlock, 3);
  const tw::Tensor<float> x = p.input<float>("x", {kRows, kBlocks * kBlock}, table);
  tw::Tensor<float> y = p.input<float>("y0", {kRows, kBlock}, start);
  Numbers want = numbers_of(start);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const float scale = 0.3f + 0.01f * static_cast<float>(i);
    y = tw::materialize(tw::sin(y * scale + tw::slice(x, 1, i * kBlock, (i + 1) * kBlock)));
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t k = 0; k < kBlock; ++k) {
        double& v = want[row * kBlock + k];
        v = std::sin(v * scale + table[row * kBlocks * kBlock + i * kBlock + k]);
      }
  }
  p.output("y", y, want, 1e-5);
  p.check();
}

}  // namespace
}  // namespace graph_program
