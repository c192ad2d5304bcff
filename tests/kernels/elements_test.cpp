// Copies, fills, random numbers, dropout and rotary embedding: any rank, strides and types.
#include <numeric>

#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

TEST_CASE("copy and transpose: ranks, strides and casts") {
  on_every_device([](tw::Device& device) {
    Array<float, 1> x1(device, {100}, 1, Placement::padded), y1(device, {100}, 2);
    kernels::copy(x1.view(), y1.view());
    CHECK(y1.values() == x1.values());
    Array<float, 4> x4(device, {2, 3, 17, 9}, 1, Placement::reversed), y4(device, {2, 3, 17, 9}, 2, Placement::padded);
    kernels::copy(x4.view(), y4.view());
    CHECK(y4.values() == x4.values());
    CHECK(y4.gaps_untouched());
    Array<std::int8_t, 2> x8(device, {70, 70}, 1);
    Array<tw::f16, 2> y16(device, {70, 70}, 2);
    kernels::copy(x8.view(), y16.view());
    CHECK(y16.values() == x8.values());

    Array<double, 3> x(device, {2, 67, 5}, 1), y(device, {2, 5, 67}, 2, Placement::padded);
    kernels::transpose(x.view(), y.view());
    const auto in = x.values(), out = y.values();
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t i = 0; i < 67; ++i)
        for (std::size_t j = 0; j < 5; ++j) CHECK(out[(b * 5 + j) * 67 + i] == in[(b * 67 + i) * 5 + j]);
    CHECK(y.gaps_untouched());
  });
}

TEST_CASE("transpose: every size of an element, at shapes that blocks and tiles do not divide") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class T>(T, std::int64_t m, std::int64_t n, Placement from, Placement to) {
      INFO(sizeof(T), " bytes, ", m, " x ", n);
      Array<T, 2> x(device, {m, n}, 1, from), y(device, {n, m}, 2, to);
      kernels::transpose(x.view(), y.view());
      const auto in = x.values(), out = y.values();
      bool same = true;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          same = same && out[static_cast<std::size_t>(j * m + i)] == in[static_cast<std::size_t>(i * n + j)];
      CHECK(same);
      CHECK(y.gaps_untouched());
    };
    for (const auto& [m, n] :
         {std::pair<std::int64_t, std::int64_t>{0, 5}, {1, 1}, {1, 97}, {97, 1}, {3, 200}, {16, 16}, {67, 131}, {128, 128}}) {
      check(std::int8_t{}, m, n, Placement::dense, Placement::dense);
      check(tw::bf16(), m, n, Placement::dense, Placement::dense);
      check(0.0f, m, n, Placement::dense, Placement::dense);
      check(0.0, m, n, Placement::dense, Placement::dense);
      check(0.0f, m, n, Placement::padded, Placement::reversed);
      check(tw::f16(), m, n, Placement::reversed, Placement::padded);
    }
  });
}

TEST_CASE("fill: every element and no other") {
  on_every_device([](tw::Device& device) {
    Array<tw::bf16, 3> y(device, {3, 5, 40}, 1, Placement::padded);
    kernels::fill(y.view(), tw::bf16(2.5f));
    for (double v : y.values()) CHECK(v == 2.5);
    CHECK(y.gaps_untouched());
    Array<std::int32_t, 1> z(device, {1}, 1);
    kernels::fill(z.view(), 7);
    CHECK(z.values()[0] == 7);
    Array<tw::f16, 1> halves(device, {5}, 1);
    kernels::fill(halves.view(), 1.5f);
    for (double v : halves.values()) CHECK(v == 1.5);
    kernels::fill(halves.view(), 0.1);
    for (double v : halves.values()) CHECK(v == number(tw::f16(0.1)));
    kernels::fill(halves.view(), 3);
    for (double v : halves.values()) CHECK(v == 3);
    kernels::fill(halves.view(), -tw::inf);
    for (double v : halves.values()) CHECK(v == -INFINITY);
  });
}

TEST_CASE("random numbers: uniform ones are never the upper bound, whatever the type rounds to") {
  on_every_device([](tw::Device& device) {
    const auto check = [&]<class T>(T, double low, double high) {
      CAPTURE(low);
      auto y = device.allocate<T>(1 << 16);
      kernels::random_uniform(y, 7, low, high);
      double mean = 0, least = INFINITY, greatest = -INFINITY;
      for (const T& v : y.download()) {
        least = std::min(least, number(v)), greatest = std::max(greatest, number(v));
        mean += number(v) / (1 << 16);
      }
      CHECK(least >= low);
      CHECK(greatest < high);
      CHECK(mean == doctest::Approx((low + high) / 2).epsilon(0.02));
    };
    check(tw::f16(), 0, 1);
    check(tw::bf16(), 0, 1);
    check(tw::bf16(), 0.1, 0.7);
    check(tw::f16(), -3, -2.9);
    check(float(), 0, 1);
    check(float(), 1, 2);
    check(float(), 1, 1 + 4e-7);
    check(double(), 1, 2);
    // There is no number in the range, so the nearest one is used.
    auto y = device.allocate<tw::f16>(16);
    kernels::random_uniform(y, 7, 1.0001, 1.0002);
    for (const tw::f16& v : y.download()) CHECK(number(v) == 1);
  });
}

TEST_CASE("random numbers: moments, and the same on every device and for all strides") {
  std::vector<std::vector<double>> uniform, normal;
  on_every_device([&](tw::Device& device) {
    for (Placement placement : {Placement::dense, Placement::reversed}) {
      Array<float, 2> u(device, {60, 101}, 1, placement), n(device, {60, 101}, 2, placement), other(device, {60, 101}, 3);
      kernels::random_uniform(u.view(), 42, -1, 3);
      kernels::random_uniform(other.view(), 43, -1, 3);
      kernels::random_normal(n.view(), 42, 5, 2);
      uniform.push_back(u.values()), normal.push_back(n.values());
      CHECK(other.values() != u.values());
      const auto moments = [](const std::vector<double>& x) {
        double mean = 0, square = 0;
        for (double v : x) mean += v / static_cast<double>(x.size());
        for (double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
        return std::pair(mean, square);
      };
      const auto [mean_u, square_u] = moments(u.values());
      const auto [mean_n, square_n] = moments(n.values());
      CHECK(mean_u == doctest::Approx(1).epsilon(0.05));
      CHECK(square_u == doctest::Approx(16.0 / 12).epsilon(0.05));
      CHECK(mean_n == doctest::Approx(5).epsilon(0.02));
      CHECK(square_n == doctest::Approx(4).epsilon(0.1));
      for (double v : u.values()) CHECK((v >= -1 && v <= 3));
    }
  });
  for (std::size_t i = 1; i < uniform.size(); ++i) {
    CHECK(error(uniform[i], uniform[0]) < 1e-6);
    CHECK(error(normal[i], normal[0]) < 1e-5);
  }
}

TEST_CASE("dropout: drops a share, scales the rest, and drops the same again") {
  on_every_device([](tw::Device& device) {
    Array<float, 2> x(device, {50, 99}, 1), y(device, {50, 99}, 2, Placement::padded), z(device, {50, 99}, 3);
    kernels::dropout(x.view(), y.view(), 0.25, 7);
    kernels::dropout(x.view(), z.view(), 0.25, 7);
    const auto in = x.values(), out = y.values();
    CHECK(z.values() == out);
    int dropped = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      dropped += out[i] == 0;
      if (out[i] != 0) CHECK(out[i] == doctest::Approx(in[i] / 0.75));
    }
    CHECK(dropped == doctest::Approx(0.25 * 4950).epsilon(0.1));
    kernels::dropout(x.view(), z.view(), 0, 7);
    CHECK(z.values() == in);
    kernels::dropout(x.view(), z.view(), 1, 7);
    for (double v : z.values()) CHECK(v == 0);
  });
}

TEST_CASE("rotary: pairs of halves, far positions too") {
  on_every_device([](tw::Device& device) {
    const std::vector<int> position{0, 1, 7, 100000, 123457};
    auto positions = device.upload(position);
    Array<float, 4> x(device, {2, 3, 5, 12}, 1, Placement::padded);
    const auto before = x.values();
    kernels::rotary(x.view(), tw::view(positions, {5}), 10000);
    const auto after = x.values();
    std::vector<double> want(before.size());
    for (std::size_t row = 0; row < 30; ++row)
      for (std::size_t i = 0; i < 6; ++i) {
        const double angle = position[row % 5] * std::pow(10000.0, -static_cast<double>(i) / 6), a = before[row * 12 + i],
                     b = before[row * 12 + 6 + i];
        want[row * 12 + i] = a * std::cos(angle) - b * std::sin(angle);
        want[row * 12 + 6 + i] = b * std::cos(angle) + a * std::sin(angle);
      }
    CHECK(error(after, want) < 2e-6);
    CHECK(x.gaps_untouched());

    // Positions of each sequence, and no heads.
    const std::vector<int> each{3, 1, 4, 1, 5, 9};
    auto of_each = device.upload(each);
    Array<float, 4> y(device, {2, 1, 3, 8}, 2);
    Array<float, 2> z(device, {3, 8}, 3);
    const auto first = y.values();
    kernels::rotary(y.view(), tw::view(of_each, {2, 3}));
    kernels::rotary(z.view(), tw::view(of_each, {3}));
    const auto turned = y.values();
    for (std::size_t row = 0; row < 6; ++row)
      CHECK(turned[row * 8] ==
            doctest::Approx(first[row * 8] * std::cos(each[row]) - first[row * 8 + 4] * std::sin(each[row])).epsilon(1e-4));
  });
}
