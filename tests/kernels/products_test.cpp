// The other products against double precision: with a vector, with scales, of groups of rows, and the gated feed-forward part.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

template <class T, class Y>
void check_matvec(tw::Device& device, std::int64_t m, std::int64_t k, Placement placement) {
  INFO(m, " x ", k);
  Array<T, 3> a(device, {3, m, k}, 1, placement);
  Array<T, 2> x(device, {1, k}, 2, placement);
  Array<Y, 2> y(device, {3, m}, 3, placement);
  kernels::matvec(a.view(), x.view(), y.view());
  const auto as = a.values(), xs = x.values();
  std::vector<double> want(static_cast<std::size_t>(3 * m));
  for (std::size_t i = 0; i < as.size(); ++i) want[i / static_cast<std::size_t>(k)] += as[i] * xs[i % static_cast<std::size_t>(k)];
  CHECK(error(y.values(), want) <= epsilon<Y>());
  CHECK(y.gaps_untouched());
}

}  // namespace

TEST_CASE("matvec: shapes, strides, types and batches") {
  on_every_device([](tw::Device& device) {
    check_matvec<float, float>(device, 1, 1, Placement::dense);
    check_matvec<float, float>(device, 37, 700, Placement::dense);
    check_matvec<tw::f16, float>(device, 13, 67, Placement::padded);
    check_matvec<tw::bf16, tw::bf16>(device, 13, 67, Placement::reversed);
    check_matvec<std::int8_t, std::int32_t>(device, 13, 67, Placement::dense);
    check_matvec<double, double>(device, 13, 67, Placement::dense);
    Array<float, 2> a(device, {9, 20}, 1);
    Array<float, 1> x(device, {20}, 2), y(device, {9}, 3);
    kernels::matvec(a.view(), x.view(), y.view());
    double want = 0;
    for (std::size_t i = 0; i < 20; ++i) want += a.values()[160 + i] * x.values()[i];
    CHECK(y.values()[8] == doctest::Approx(want));
  });
}

namespace {

template <class T, class C>
void check_scaled(tw::Device& device) {
  Array<T, 2> a(device, {35, 70}, 1), b(device, {70, 21}, 2, Placement::padded);
  Array<float, 1> a_scale(device, {35}, 3), b_scale(device, {21}, 4, Placement::padded);
  Array<C, 2> c(device, {35, 21}, 5, Placement::reversed);
  kernels::matmul_scaled(a.view(), a_scale.view(), b.view(), b_scale.view(), c.view());
  const auto as = a.values(), bs = b.values(), sa = a_scale.values(), sb = b_scale.values();
  std::vector<double> want;
  for (std::size_t i = 0; i < 35; ++i)
    for (std::size_t j = 0; j < 21; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 70; ++k) sum += as[i * 70 + k] * bs[k * 21 + j];
      want.push_back(sum * sa[i] * sb[j]);
    }
  CHECK(error(c.values(), want) <= epsilon<C>());
}

}  // namespace

TEST_CASE("matmul_scaled: scales of rows and columns") {
  on_every_device([](tw::Device& device) {
    check_scaled<std::int8_t, float>(device);
    check_scaled<std::int8_t, tw::bf16>(device);
    check_scaled<tw::f8e4m3, float>(device);
    check_scaled<tw::f8e5m2, tw::f16>(device);
  });
}

TEST_CASE("matmul_scaled: scales of 32 elements along K") {
  on_every_device([](tw::Device& device) {
    Array<tw::f8e4m3, 2> a(device, {18, 70}, 1), b(device, {70, 21}, 2);
    std::vector<std::uint8_t> sa(18 * 3), sb(21 * 3);
    for (std::size_t i = 0; i < sa.size(); ++i) sa[i] = static_cast<std::uint8_t>(124 + i % 7);
    for (std::size_t i = 0; i < sb.size(); ++i) sb[i] = static_cast<std::uint8_t>(125 + i % 5);
    auto a_scale = device.upload(sa), b_scale = device.upload(sb);
    Array<float, 2> c(device, {18, 21}, 5);
    kernels::matmul_scaled(a.view(), tw::view(a_scale, {18, 3}), b.view(), tw::view(b_scale, {21, 3}), c.view());
    const auto as = a.values(), bs = b.values();
    std::vector<double> want;
    for (std::size_t i = 0; i < 18; ++i)
      for (std::size_t j = 0; j < 21; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 70; ++k)
          sum += as[i * 70 + k] * bs[k * 21 + j] * std::exp2(sa[i * 3 + k / 32] - 127) * std::exp2(sb[j * 3 + k / 32] - 127);
        want.push_back(sum);
      }
    CHECK(error(c.values(), want) < 2e-6);

    // Two e2m1 in a byte, the low half first.
    const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const auto value = [&](std::uint8_t bits) { return (bits & 8 ? -1 : 1) * e2m1[bits & 7]; };
    std::vector<std::uint8_t> pa(18 * 32), pb(32 * 21);
    for (std::size_t i = 0; i < pa.size(); ++i) pa[i] = static_cast<std::uint8_t>(i * 37);
    for (std::size_t i = 0; i < pb.size(); ++i) pb[i] = static_cast<std::uint8_t>(i * 59);
    auto packed_a = device.upload(pa), packed_b = device.upload(pb);
    kernels::matmul_scaled(tw::view(packed_a, {18, 32}), tw::view(a_scale, {18, 2}), tw::view(packed_b, {32, 21}),
                           tw::view(b_scale, {21, 2}), c.view());
    want.clear();
    for (std::size_t i = 0; i < 18; ++i)
      for (std::size_t j = 0; j < 21; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 64; ++k)
          sum += value((pa[i * 32 + k / 2] >> (k % 2 * 4)) & 15) * value((pb[k / 2 * 21 + j] >> (k % 2 * 4)) & 15) *
                 std::exp2(sa[i * 2 + k / 32] - 127) * std::exp2(sb[j * 2 + k / 32] - 127);
        want.push_back(sum);
      }
    CHECK(error(c.values(), want) < 2e-6);
  });
}

TEST_CASE("grouped_matmul: groups of any size, empty ones too") {
  on_every_device([](tw::Device& device) {
    for (const std::vector<int>& end : {std::vector<int>{5, 5, 40, 57}, {0, 57, 57, 57}, {1, 2, 3, 4}}) {
      auto ends = device.upload(end);
      Array<float, 2> a(device, {57, 40}, 1, Placement::padded), c(device, {57, 19}, 3);
      Array<float, 3> b(device, {4, 40, 19}, 2);
      const auto untouched = c.values();
      kernels::grouped_matmul(a.view(), b.view(), tw::view(ends, {4}), c.view());
      const auto as = a.values(), bs = b.values();
      std::vector<double> want;
      for (std::size_t i = 0; i < 57; ++i)
        for (std::size_t j = 0; j < 19; ++j) {
          std::size_t g = 0;
          while (g < 4 && static_cast<int>(i) >= end[g]) ++g;
          double sum = g == 4 ? untouched[i * 19 + j] : 0;
          for (std::size_t k = 0; k < 40 && g < 4; ++k) sum += as[i * 40 + k] * bs[(g * 40 + k) * 19 + j];
          want.push_back(sum);
        }
      CHECK(error(c.values(), want) < (is_gpu(device) ? 2e-3 : 2e-6));
    }
  });
}

TEST_CASE("gated_mlp: against the formula") {
  on_every_device([](tw::Device& device) {
    Array<float, 2> x(device, {21, 30}, 1), wg(device, {30, 50}, 2, Placement::dense, 0.3), wu(device, {30, 50}, 3),
        wd(device, {50, 17}, 4);
    Array<float, 2> out(device, {21, 17}, 5, Placement::padded);
    kernels::gated_mlp(x.view(), wg.view(), wu.view(), wd.view(), out.view());
    const auto xs = x.values(), gs = wg.values(), us = wu.values(), ds = wd.values();
    std::vector<double> want(21 * 17);
    for (std::size_t i = 0; i < 21; ++i)
      for (std::size_t f = 0; f < 50; ++f) {
        double gate = 0, up = 0;
        for (std::size_t k = 0; k < 30; ++k) gate += xs[i * 30 + k] * gs[k * 50 + f], up += xs[i * 30 + k] * us[k * 50 + f];
        for (std::size_t j = 0; j < 17; ++j) want[i * 17 + j] += gate / (1 + std::exp(-gate)) * up * ds[f * 17 + j];
      }
    CHECK(error(out.values(), want) < (is_gpu(device) ? 2e-3 : 4e-6));
    CHECK(out.gaps_untouched());
  });
}
