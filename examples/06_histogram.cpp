// How often each byte occurs. The idea: atomics, and how to need few of them: a program counts a share of the bytes on its own, in a
// tile, and adds that to what all programs share once.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "example.h"

namespace tw = tilewright;

void histogram(tw::Ptr<const std::uint8_t> in, tw::Ptr<std::int32_t> bins, tw::I32 count, int BLOCK) {
  auto counts = tw::zeros<std::int32_t>({256});
  for (auto block : tw::range(tw::program_id(0), tw::cdiv(count, BLOCK), tw::num_programs(0))) {
    auto at = block * BLOCK + tw::arange(0, BLOCK);
    auto mask = at < count;
    counts += tw::histogram(tw::load(in + at, mask), 256, mask);
  }
  // Nobody waits for another program's bins here, so the order of other accesses around the additions does not matter.
  tw::atomic_add(bins + tw::arange(0, 256), counts, {}, {.order = tw::Order::relaxed});
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const int count = options.quick ? 100'003 : 64 << 20;
  std::vector<std::uint8_t> bytes(count);
  const auto draws = example::normal(1 << 16, 11, 40.0f);
  for (int i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(static_cast<int>(draws[(i * 7919ll) & 0xffff]) + i / 4096);
  std::vector<std::int64_t> plain_bins(256);
  std::vector<double> want(256);
  for (std::uint8_t b : bytes) ++want[b];

  tw::Device device = options.open();
  auto in = device.upload(bytes);
  auto bins = device.allocate<std::int32_t>(256);
  tw::Kernel kernel("histogram", histogram);
  const int block = 4096, programs = 64;

  const auto as_floats = [](const auto& counts) { return std::vector<float>(counts.begin(), counts.end()); };
  return example::report(options, device,
                         {.kernel = "histogram",
                          .size = std::to_string(count) + " u8",
                          .bytes = 1.0 * count,
                          .tolerance = 1e-7,
                          .tile =
                              [&] {
                                bins.fill(0);
                                kernel({.grid = programs}, in, bins, count, block);
                                device.synchronize();
                              },
                          .plain =
                              [&] {
                                std::fill(plain_bins.begin(), plain_bins.end(), 0);
                                example::parallel(count, 1 << 16, [&](int begin, int end) {
                                  std::int32_t mine[256] = {};
                                  for (int i = begin; i < end; ++i) ++mine[bytes[i]];
                                  for (int b = 0; b < 256; ++b)
                                    std::atomic_ref(plain_bins[b]).fetch_add(mine[b], std::memory_order_relaxed);
                                });
                              },
                          .tile_result = [&] { return as_floats(bins.download()); },
                          .plain_result = [&] { return as_floats(plain_bins); },
                          .want = want});
}
