// The program of docs/kernels.md that tunes a kernel.
#include "tests/tuner/tuning.h"

namespace {

// [example]
struct Block {
  int size, num_warps;
};
void scale(tw::Ptr<float> x, float factor, tw::I32 n, Block block) {
  auto i = tw::program_id(0) * block.size + tw::arange(0, block.size);
  tw::store(x + i, tw::load(x + i, i < n) * factor, i < n);
}

void scale_tuned(tw::Buffer<float>& x) {
  static const tw::Kernel kernel("scale", scale);
  const auto n = static_cast<int>(x.size());
  tw::Tuner tuner(kernel, {{256, 4}, {1024, 4}, {4096, 8}}, {.key = {tw::next_power_of_two(n)}, .tune = true});
  tuner([&](const Block& b) { return tw::Launch{.grid = tw::cdiv(n, b.size)}; }, x, 3.0f, n);
}
// [/example]

}  // namespace

TEST_CASE("example: the page's tuner") {
  tuner_tests::OwnWisdom wisdom;
  auto x = tw::Device::open("cpu").upload(std::vector<float>(1000, 2.0f));
  scale_tuned(x);
  for (const float v : x.download()) CHECK(v == 6);
}
