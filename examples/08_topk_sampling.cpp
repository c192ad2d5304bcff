// The next token of each row of logits: softmax with a temperature over the k largest, and one draw of it. The ideas: topk with indices, a
// cumulative sum as a distribution, and random numbers that depend on a seed and a counter only.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "example.h"

namespace tw = tilewright;

// A program draws for one row; `stride` from row to row, 0 to draw from the same one again and again. VOCABULARY and K are powers of two.
void sample(tw::Ptr<const float> logits, tw::Ptr<int> tokens, tw::I64 stride, tw::F32 temperature, tw::U64 seed, int VOCABULARY, int K) {
  auto row = tw::program_id(0);
  auto [value, token] = tw::topk(tw::load(logits + row * stride + tw::arange(0, VOCABULARY)), K);
  auto weight = tw::exp((value - tw::max(value, 0)) / temperature);
  auto reach = tw::cumsum(weight, 0);  // rank r is drawn where the draw falls between reach[r - 1] and reach[r]
  auto uniform = (tw::philox(seed, row)[0] >> 8).to<float>() * 0x1p-24f;
  auto rank = tw::sum((reach <= uniform * tw::max(reach, 0)).to<int>(), 0);
  auto chosen = tw::gather(token, tw::reshape(tw::minimum(rank, K - 1), {1}), 0);
  tw::store(tokens + row, tw::reshape(chosen, {}));
}

namespace {

/// The k largest of a row, the lower index first among equals.
std::vector<int> largest(const float* logits, int vocabulary, int k) {
  std::vector<int> order(vocabulary);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int a, int b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  order.resize(k);
  return order;
}

template <class Real>
std::vector<Real> weights(const float* logits, const std::vector<int>& order, Real temperature) {
  std::vector<Real> w;
  for (int t : order) w.push_back(std::exp((Real(logits[t]) - Real(logits[order[0]])) / temperature));
  return w;
}

template <class Real>
int draw(const float* logits, int row, std::uint64_t seed, int vocabulary, int k, Real temperature) {
  const auto order = largest(logits, vocabulary, k);
  auto reach = weights(logits, order, temperature);
  std::partial_sum(reach.begin(), reach.end(), reach.begin());
  const Real at = Real(example::philox(seed, row)[0] >> 8) * Real(0x1p-24) * reach.back();
  return order[std::min<std::size_t>(std::upper_bound(reach.begin(), reach.end(), at) - reach.begin(), k - 1)];
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int rows = options.quick ? 41 : 512, vocabulary = options.quick ? 1024 : 32768, k = 64;
  const float temperature = 0.7f;
  const std::uint64_t seed = 0x0123456789abcdef;
  const auto logits = example::normal(std::size_t(rows) * vocabulary, 21, 2.0f);
  std::vector<double> want(rows);
  example::parallel(rows, 1, [&](int begin, int end) {
    for (int r = begin; r < end; ++r) want[r] = draw<double>(&logits[std::size_t(r) * vocabulary], r, seed, vocabulary, k, temperature);
  });

  tw::Device device = options.open();
  auto in = device.upload(logits);
  auto tokens = device.upload(std::vector<int>(rows, -1));
  tw::Kernel kernel("topk_sampling", sample);
  const auto as_float = [](const std::vector<int>& v) { return std::vector<float>(v.begin(), v.end()); };
  std::vector<int> plain_tokens(rows, -1);

  // Many draws from one row: as often as their probability says, within five deviations, and the same ones each time.
  const int draws = options.quick ? 2000 : 20000, small = 1024;
  auto many = device.allocate<int>(draws), again = device.allocate<int>(draws);
  kernel({.grid = draws}, in, many, 0, temperature, seed + 1, small, k);
  kernel({.grid = draws}, in, again, 0, temperature, seed + 1, small, k);
  const std::vector<int> drawn = many.download();
  const auto order = largest(logits.data(), small, k);
  const auto w = weights<double>(logits.data(), order, temperature);
  const double total = std::accumulate(w.begin(), w.end(), 0.0);
  bool right = again.download() == drawn;
  std::size_t counted = 0;
  for (int r = 0; r < k; ++r) {
    const double p = w[r] / total, expected = p * draws;
    const auto seen = std::count(drawn.begin(), drawn.end(), order[r]);
    counted += seen;
    right = right && std::fabs(seen - expected) <= 5 * std::sqrt(expected * (1 - p)) + 1;
  }
  if (!right || counted != drawn.size()) {
    std::printf("WRONG: the draws do not follow the distribution, or are not the same in a second run\n");
    return 1;
  }

  return example::report(options, device,
                         {.kernel = "top-k sampling",
                          .size = std::to_string(rows) + " x " + std::to_string(vocabulary) + " f32, k = " + std::to_string(k),
                          .bytes = 1.0 * sizeof(float) * logits.size(),
                          .tolerance = 0,  // the very same tokens
                          .tile =
                              [&] {
                                kernel({.grid = rows}, in, tokens, vocabulary, temperature, seed, vocabulary, k);
                                device.synchronize();
                              },
                          .plain =
                              [&] {
                                example::parallel(rows, 1, [&](int begin, int end) {
                                  for (int r = begin; r < end; ++r)
                                    plain_tokens[r] =
                                        draw<float>(&logits[std::size_t(r) * vocabulary], r, seed, vocabulary, k, temperature);
                                });
                              },
                          .tile_result = [&] { return as_float(tokens.download()); },
                          .plain_result = [&] { return as_float(plain_tokens); },
                          .want = want});
}
