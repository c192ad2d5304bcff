// Looks up rows of an embedding table by token, and computes the gradient of the table from the gradients of the tokens. The idea:
// addresses that come from data. Reading through them is a load. Several tokens may name one row, so writing through them is an atomic
// addition.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>

#include "example.h"

namespace tw = tilewright;

// Rows of [WIDTH] elements; a program has TOKENS of them.
void look_up(tw::Ptr<const std::int32_t> tokens, tw::Ptr<const float> table, tw::Ptr<float> out, tw::I32 count, int TOKENS, int WIDTH) {
  auto token = tw::program_id(0) * TOKENS + tw::arange(0, TOKENS);
  auto mask = tw::column(token < count);
  auto row = tw::column(tw::load(tokens + token, token < count));
  auto lanes = tw::row(tw::arange(0, WIDTH));
  tw::store(out + tw::column(token) * WIDTH + lanes, tw::load(table + row * WIDTH + lanes, mask), mask);
}

void add_gradients(tw::Ptr<const std::int32_t> tokens, tw::Ptr<const float> gradients, tw::Ptr<float> table_gradient, tw::I32 count,
                   int TOKENS, int WIDTH) {
  auto token = tw::program_id(0) * TOKENS + tw::arange(0, TOKENS);
  auto mask = tw::column(token < count);
  auto row = tw::column(tw::load(tokens + token, token < count));
  auto lanes = tw::row(tw::arange(0, WIDTH));
  auto gradient = tw::load(gradients + tw::column(token) * WIDTH + lanes, mask);
  tw::atomic_add(table_gradient + row * WIDTH + lanes, gradient, mask, {.order = tw::Order::relaxed});
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int count = options.quick ? 301 : 20'001, rows = options.quick ? 50 : 8192;
  constexpr int kWidth = 256, kTokens = 8;
  const auto table = example::normal(std::size_t(rows) * kWidth, 1), gradients = example::normal(std::size_t(count) * kWidth, 2);
  std::vector<std::int32_t> tokens(count);
  std::mt19937 engine(3);
  for (auto& t : tokens) t = std::min(static_cast<int>(std::exponential_distribution(8.0 / rows)(engine)), rows - 1);  // few are frequent

  // First what the tokens look up, then the gradient of the table.
  const std::size_t looked_up = gradients.size();
  std::vector<double> want(looked_up + table.size());
  std::vector<float> plain(want.size(), NAN);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < kWidth; ++k) {
      want[std::size_t(i) * kWidth + k] = table[std::size_t(tokens[i]) * kWidth + k];
      want[looked_up + std::size_t(tokens[i]) * kWidth + k] += gradients[std::size_t(i) * kWidth + k];
    }

  tw::Device device = options.open();
  auto t = device.upload(tokens);
  auto e = device.upload(table), g = device.upload(gradients);
  auto out = device.upload(std::vector<float>(looked_up, NAN));
  auto table_gradient = device.allocate<float>(table.size());
  tw::Kernel forward("look_up", look_up), backward("add_gradients", add_gradients);

  return example::report(options, device,
                         {.kernel = "embedding",
                          .size = std::to_string(count) + " x " + std::to_string(kWidth) + " of " + std::to_string(rows),
                          .bytes = sizeof(float) * (5.0 * looked_up + table.size()),
                          .tolerance = 1e-6,
                          .tile =
                              [&] {
                                const auto grid = tw::cdiv(count, kTokens);
                                forward({.grid = grid}, t, e, out, count, kTokens, kWidth);
                                table_gradient.fill(0);
                                backward({.grid = grid}, t, g, table_gradient, count, kTokens, kWidth);
                                device.synchronize();
                              },
                          .plain =
                              [&] {
                                float* sums = plain.data() + looked_up;
                                example::parallel(count, kTokens, [&](int begin, int end) {
                                  for (int i = begin; i < end; ++i)
                                    std::copy_n(&table[std::size_t(tokens[i]) * kWidth], kWidth, &plain[std::size_t(i) * kWidth]);
                                });
                                std::fill_n(sums, table.size(), 0.0f);
                                example::parallel(count, kTokens, [&](int begin, int end) {
                                  for (int i = begin; i < end; ++i)
                                    for (int k = 0; k < kWidth; ++k)
                                      std::atomic_ref(sums[std::size_t(tokens[i]) * kWidth + k])
                                          .fetch_add(gradients[std::size_t(i) * kWidth + k], std::memory_order_relaxed);
                                });
                              },
                          .tile_result =
                              [&] {
                                auto result = out.download();
                                const auto sums = table_gradient.download();
                                result.insert(result.end(), sums.begin(), sums.end());
                                return result;
                              },
                          .plain_result = [&] { return plain; },
                          .want = want});
}
