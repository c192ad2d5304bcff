// Loops of two chained products at the edges of what the passes for sm_90a assume, beside the cpu.
#include <doctest/doctest.h>

#include <vector>

#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

template <class T>
tw::View<T, 2> matrix(tw::Buffer<std::remove_const_t<T>>& b, std::int64_t rows, std::int64_t columns) {
  return tw::view(b, {rows, columns});
}

void sums_of_ones(tw::View<const tw::f16, 2> q, tw::View<const tw::f16, 2> k, tw::View<const tw::f16, 2> v, tw::View<float, 2> out,
                  tw::I32 lo, tw::I32 hi) {
  auto queries = q.load({0, 0}, {128, 64});
  auto sums = tw::zeros<float>({128, 64});
  for (auto at : tw::range(lo, hi, 128, {.num_stages = 3})) {
    auto s = tw::dot(queries, tw::transposed(k).load({0, at - lo}, {64, 128}));
    sums = tw::dot(tw::cast<tw::f16>(tw::exp(s)), v.load({at - lo, 0}, {128, 64}), sums);
  }
  out.store({0, 0}, sums);
}

void carried_factor(tw::View<const tw::bf16, 2> q, tw::View<const tw::bf16, 2> k, tw::View<const tw::bf16, 2> v, tw::View<float, 2> out,
                    tw::I32 n) {
  auto queries = q.load({0, 0}, {256, 32});
  auto sums = tw::zeros<float>({256, 64});
  auto last = tw::zeros<tw::bf16>({256, 256});
  for (auto at : tw::range(0, n, 256, {.num_stages = 4})) {
    last = tw::cast<tw::bf16>(tw::dot(queries, tw::transposed(k).load({0, at}, {32, 256})) * 0.25f);
    sums = tw::dot(last, v.load({at, 0}, {256, 64}), sums);
  }
  out.store({0, 0}, sums + tw::column(tw::sum(tw::cast<float>(last), 1)));
}

}  // namespace

TEST_CASE("chained_products: loops whose second number wraps, and those that end at the greatest number") {
  const tw::Kernel kernel("sums_of_ones", sums_of_ones);
  const tw::Device device = tw::Device::open("emulator:sm_90a");
  auto q = device.upload(std::vector<tw::f16>(128 * 64)), k = device.upload(std::vector<tw::f16>(256 * 64)),
       v = device.upload(std::vector<tw::f16>(256 * 64, tw::f16(1.0f)));
  constexpr int kMost = 2147483647;
  for (const auto& [lo, hi] :
       {std::pair{kMost - 100, kMost}, {kMost - 128, kMost}, {kMost - 129, kMost}, {kMost, kMost}, {kMost - 1, -5}}) {
    CAPTURE(lo);
    CAPTURE(hi);
    auto out = device.upload(std::vector<float>(128 * 64));
    kernel({.num_warps = 8}, matrix<const tw::f16>(q, 128, 64), matrix<const tw::f16>(k, 256, 64), matrix<const tw::f16>(v, 256, 64),
           matrix<float>(out, 128, 64), lo, hi);
    const std::int64_t blocks = hi <= lo ? 0 : (std::int64_t{hi} - lo + 127) / 128;
    CHECK(out.download() == std::vector<float>(128 * 64, static_cast<float>(128 * blocks)));
  }
}

TEST_CASE("chained_products: a factor in registers is used behind the product") {
  const tw::Kernel kernel("carried_factor", carried_factor);
  std::vector<float> results[2];
  for (const int which : {0, 1}) {
    const tw::Device device = tw::Device::open(which == 0 ? "cpu" : "emulator:sm_90a");
    auto q = device.upload(std::vector<tw::bf16>(256 * 32, tw::bf16(0.25f))),
         k = device.upload(std::vector<tw::bf16>(300 * 32, tw::bf16(0.5f))),
         v = device.upload(std::vector<tw::bf16>(300 * 64, tw::bf16(1.0f)));
    auto out = device.upload(std::vector<float>(256 * 64));
    kernel({.num_warps = 16}, matrix<const tw::bf16>(q, 256, 32), matrix<const tw::bf16>(k, 300, 32), matrix<const tw::bf16>(v, 300, 64),
           matrix<float>(out, 256, 64), 300);
    results[which] = out.download();
  }
  CHECK(results[0] == results[1]);
}
