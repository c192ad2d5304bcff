// Dropout, forward and backward. The idea: the mask is a function of a seed and the element's number, so the backward kernel computes it
// again and nothing is stored between them.
#include <cmath>
#include <cstdio>

#include "example.h"

namespace tw = tilewright;

// Whether each of the BLOCK elements from `first` on is kept, with probability 1 - p. Philox gives four words for a counter, so a counter
// serves four elements that follow each other.
tw::Bool kept(tw::U64 seed, tw::I32 first, tw::F32 p, int BLOCK) {
  auto [w0, w1, w2, w3] = tw::philox(seed, first / 4 + tw::arange(0, BLOCK / 4));
  auto words = tw::interleave(tw::interleave(w0, w2), tw::interleave(w1, w3));  // w0[0], w1[0], w2[0], w3[0], w0[1], ...
  return (words >> 8).to<float>() * 0x1p-24f >= p;
}

// out = x / (1 - p) where kept, else 0. Forward with the inputs as x; backward with the gradient, which takes the same way.
void dropout(tw::Ptr<const float> x, tw::Ptr<float> out, tw::I32 n, tw::F32 p, tw::U64 seed, int BLOCK) {
  auto first = tw::program_id(0) * BLOCK;
  auto at = first + tw::arange(0, BLOCK);
  auto value = tw::load(x + at, at < n) / (1 - p);
  tw::store(out + at, tw::where(kept(seed, first, p, BLOCK), value, 0), at < n);
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int n = options.quick ? 10001 : (1 << 22) + 43, block = 1024;
  const float p = 0.25f;
  const std::uint64_t seed = 0xfedcba9876543210;
  const auto inputs = example::normal(n, 41), gradients = example::normal(n, 42);
  std::vector<float> plain_result(2 * std::size_t(n), NAN);
  std::vector<double> want(plain_result.size());
  const auto both = [&](auto* result, int begin, int end) {
    using Real = std::remove_pointer_t<decltype(result)>;
    for (int k = begin; k < end; ++k) {
      const bool keep = float(example::philox(seed, k / 4)[k % 4] >> 8) * 0x1p-24f >= p;
      result[k] = keep ? inputs[k] / (1 - Real(p)) : 0;
      result[n + k] = keep ? gradients[k] / (1 - Real(p)) : 0;
    }
  };
  example::parallel(n, 1024, [&](int begin, int end) { both(want.data(), begin, end); });

  tw::Device device = options.open();
  auto x = device.upload(inputs), dy = device.upload(gradients);
  auto y = device.upload(std::vector<float>(n, NAN)), dx = device.upload(std::vector<float>(n, NAN));
  tw::Kernel kernel("dropout", dropout);
  const auto forward_and_backward = [&] {
    kernel({.grid = tw::cdiv(n, block)}, x, y, n, p, seed, block);
    kernel({.grid = tw::cdiv(n, block)}, dy, dx, n, p, seed, block);
    device.synchronize();
  };

  // A quarter is dropped, within five deviations.
  forward_and_backward();
  double dropped = 0;
  for (float v : y.download()) dropped += v == 0;
  if (std::fabs(dropped - n * double(p)) > 5 * std::sqrt(n * double(p) * (1 - p))) {
    std::printf("WRONG: %.0f of %d were dropped\n", dropped, n);
    return 1;
  }

  return example::report(options, device,
                         {.kernel = "dropout",
                          .size = std::to_string(n) + " f32, both ways",
                          .bytes = 4.0 * sizeof(float) * n,
                          .tolerance = 1e-6,
                          .tile = forward_and_backward,
                          .plain = [&] { example::parallel(n, 1024, [&](int begin, int end) { both(plain_result.data(), begin, end); }); },
                          .tile_result =
                              [&] {
                                auto result = y.download();
                                const auto back = dx.download();
                                result.insert(result.end(), back.begin(), back.end());
                                return result;
                              },
                          .plain_result = [&] { return plain_result; },
                          .want = want});
}
