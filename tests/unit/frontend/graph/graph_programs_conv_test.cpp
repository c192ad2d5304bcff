// Convolutions, pools, batch norms and splits: element types, strides, borders, dilations, groups, odd extents and symbols, against plain
// loops in double precision.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

/// An image [n, h, w, c] or a filter [kh, kw, c, o].
struct Array4 {
  std::array<std::int64_t, 4> extents;
  Numbers values;
  explicit Array4(std::array<std::int64_t, 4> e, Numbers v = {}) : extents(e), values(std::move(v)) {
    values.resize(static_cast<std::size_t>(e[0] * e[1] * e[2] * e[3]));
  }
  double& at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return values[static_cast<std::size_t>(((a * extents[1] + b) * extents[2] + c) * extents[3] + d)];
  }
  double at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const { return const_cast<Array4*>(this)->at(a, b, c, d); }
  bool has(std::int64_t y, std::int64_t x) const { return y >= 0 && y < extents[1] && x >= 0 && x < extents[2]; }
};

std::int64_t positions(std::int64_t extent, std::int64_t size, std::int64_t stride, std::int64_t pad, std::int64_t dilation) {
  return (extent + 2 * pad - dilation * (size - 1) - 1) / stride + 1;
}

Array4 convolved(const Array4& x, const Array4& w, const tw::ConvOptions& o) {
  const auto& [kh, kw, channels, out] = w.extents;
  Array4 y({x.extents[0], positions(x.extents[1], kh, o.stride, o.pad, o.dilation),
            positions(x.extents[2], kw, o.stride, o.pad, o.dilation), out});
  for (std::int64_t n = 0; n < y.extents[0]; ++n)
    for (std::int64_t i = 0; i < y.extents[1]; ++i)
      for (std::int64_t j = 0; j < y.extents[2]; ++j)
        for (std::int64_t k = 0; k < out; ++k)
          for (std::int64_t u = 0; u < kh; ++u)
            for (std::int64_t v = 0; v < kw; ++v) {
              const std::int64_t r = i * o.stride + u * o.dilation - o.pad, s = j * o.stride + v * o.dilation - o.pad;
              const std::int64_t first = k / (out / o.groups) * channels;  // of the group's channels
              for (std::int64_t c = 0; c < channels; ++c)
                y.at(n, i, j, k) += (x.has(r, s) ? x.at(n, r, s, first + c) : 0) * w.at(u, v, c, k);
            }
  return y;
}

template <class F>
Array4 pooled(const Array4& x, std::int64_t size, std::int64_t stride, std::int64_t pad, double start, F&& combine) {
  Array4 y({x.extents[0], positions(x.extents[1], size, stride, pad, 1), positions(x.extents[2], size, stride, pad, 1), x.extents[3]});
  for (std::int64_t n = 0; n < y.extents[0]; ++n)
    for (std::int64_t i = 0; i < y.extents[1]; ++i)
      for (std::int64_t j = 0; j < y.extents[2]; ++j)
        for (std::int64_t c = 0; c < y.extents[3]; ++c) {
          double& result = y.at(n, i, j, c) = start;
          for (std::int64_t u = 0; u < size; ++u)
            for (std::int64_t v = 0; v < size; ++v)
              if (x.has(i * stride + u - pad, j * stride + v - pad))
                result = combine(result, x.at(n, i * stride + u - pad, j * stride + v - pad, c));
        }
  return y;
}
double greater(double a, double b) { return std::isnan(a) || b < a ? a : b; }
Array4 max_pooled(const Array4& x, std::int64_t size, std::int64_t stride, std::int64_t pad) {
  return pooled(x, size, stride, pad, -HUGE_VAL, greater);
}
Array4 avg_pooled(const Array4& x, std::int64_t size, std::int64_t stride, std::int64_t pad) {
  return pooled(x, size, stride, pad, 0, [&](double a, double b) { return a + b / static_cast<double>(size * size); });
}

std::vector<tw::Dim> dims(const std::array<std::int64_t, 4>& extents) { return {extents.begin(), extents.end()}; }
std::size_t count(const std::array<std::int64_t, 4>& e) { return static_cast<std::size_t>(e[0] * e[1] * e[2] * e[3]); }

struct ConvCase {
  std::array<std::int64_t, 4> x, w;
  tw::ConvOptions options;
};
const ConvCase kConvCases[] = {
    {{2, 7, 9, 5}, {3, 3, 5, 6}, {}},
    {{1, 14, 14, 16}, {3, 3, 16, 24}, {.pad = 1}},
    {{2, 9, 8, 4}, {3, 3, 4, 5}, {.stride = 2, .pad = 1}},
    {{1, 11, 13, 3}, {5, 3, 3, 7}, {.stride = 3, .pad = 2, .dilation = 2}},
    {{1, 6, 5, 8}, {1, 1, 8, 12}, {}},
    {{1, 7, 9, 8}, {1, 1, 8, 3}, {.stride = 2}},
    {{1, 3, 4, 2}, {1, 1, 2, 3}, {.pad = 1}},
    {{1, 7, 6, 6}, {3, 2, 3, 4}, {.pad = 1, .groups = 2}},
    {{2, 5, 6, 8}, {3, 3, 1, 8}, {.pad = 1, .groups = 8}},  // one filter for each channel
    {{1, 6, 6, 4}, {3, 3, 2, 6}, {.stride = 2, .dilation = 2, .groups = 2}},
    {{1, 5, 6, 3}, {5, 6, 3, 2}, {}},  // one position
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
    {{1, 1, 1, 2}, {3, 3, 2, 2}, {.pad = 1}},
    {{0, 5, 5, 3}, {3, 3, 3, 2}, {}},
    {{1, 5, 5, 0}, {3, 3, 0, 2}, {.pad = 1}},  // sums of nothing
    {{1, 5, 5, 2}, {3, 3, 2, 0}, {}},
};

template <class T>
void add_convolutions(Program& p, const std::string& type, double tolerance, std::size_t cases = std::size(kConvCases)) {
  for (std::size_t i = 0; i < cases; ++i) {
    const ConvCase& c = kConvCases[i];
    const std::string name = type + " " + std::to_string(i);
    const auto hx = rounded_to<T>(normal(count(c.x), 1)), hw = rounded_to<T>(normal(count(c.w), 2));
    const auto x = p.input("x " + name, dims(c.x), hx), w = p.input("w " + name, dims(c.w), hw);
    p.output(name, tw::conv(x, w, c.options), convolved(Array4(c.x, numbers_of(hx)), Array4(c.w, numbers_of(hw)), c.options).values,
             tolerance);
  }
}

TEST_CASE("graph programs: convolutions of each kind of float, with strides, borders, dilations and groups") {
  Program p;
  add_convolutions<float>(p, "f32", 2e-3);  // tf32 on GPUs
  add_convolutions<tw::f16>(p, "f16", 2e-3, 5);
  add_convolutions<double>(p, "f64", 1e-12, 5);
  p.check();
}

TEST_CASE("graph programs: convolutions of f32 on a host are as exact as f32") {
  Program p;
  add_convolutions<float>(p, "f32", 1e-6);
  tw::Device cpu = tw::Device::open("cpu");
  p.check_on(cpu);
}

TEST_CASE("graph programs: convolutions along one axis and along three, and without a batch") {
  const Array4 x({1, 1, 12, 4}, numbers_of(normal(48, 1))), w({1, 3, 4, 5}, numbers_of(normal(60, 2)));
  Program p;
  const auto floats = [](const Numbers& v) { return std::vector<float>(v.begin(), v.end()); };
  const auto tx = p.input("x", {12, 4}, floats(x.values)), tw_ = p.input("w", {3, 4, 5}, floats(w.values));
  Array4 padded({1, 1, 14, 4});
  for (int i = 0; i < 12; ++i)
    for (int c = 0; c < 4; ++c) padded.at(0, 0, i + 1, c) = x.at(0, 0, i, c);
  p.output(
      "one axis", tw::conv(tx, tw_, {.stride = 2, .pad = 1}),
      [&] {
        const Numbers all = convolved(padded, w, {}).values;
        Numbers even;
        for (std::size_t i = 0; i < 12; i += 2)
          even.insert(even.end(), all.begin() + static_cast<std::ptrdiff_t>(i * 5), all.begin() + static_cast<std::ptrdiff_t>(i * 5 + 5));
        return even;
      }(),
      2e-3);
  const auto hx = normal(4 * 5 * 6 * 3, 3), hw = normal(2 * 3 * 2 * 3 * 4, 4);
  Numbers three;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 5; ++c)
        for (int o = 0; o < 4; ++o) {
          double sum = 0;
          for (int u = 0; u < 2; ++u)
            for (int v = 0; v < 3; ++v)
              for (int t = 0; t < 2; ++t)
                for (int k = 0; k < 3; ++k)
                  sum += double(hx[(((a + u) * 5 + b + v) * 6 + c + t) * 3 + k]) * double(hw[(((u * 3 + v) * 2 + t) * 3 + k) * 4 + o]);
          three.push_back(sum);
        }
  p.output("three axes", tw::conv(p.input("x3", {4, 5, 6, 3}, hx), p.input("w3", {2, 3, 2, 3, 4}, hw)), three, 2e-3);
  const Array4 image({1, 5, 6, 3}, numbers_of(std::vector<float>(hx.begin(), hx.begin() + 90))),
      filter({3, 3, 3, 4}, numbers_of(std::vector<float>(hw.begin(), hw.begin() + 108)));
  p.output("no batch",
           tw::conv(p.input("x2", {5, 6, 3}, floats(image.values)), p.input("w2", {3, 3, 3, 4}, floats(filter.values)), {.pad = 1}),
           convolved(image, filter, {.pad = 1}).values, 2e-3);
  // Two axes of a batch, three of positions and groups: the formula has ten axes.
  const auto hg = normal(2 * 2 * 3 * 4 * 4 * 4, 5), hf = normal(2 * 2 * 2 * 2 * 4, 6);
  Numbers grouped;
  for (int n = 0; n < 4; ++n)
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 3; ++b)
        for (int c = 0; c < 3; ++c)
          for (int o = 0; o < 4; ++o) {
            double sum = 0;
            for (int u = 0; u < 8; ++u)
              for (int k = 0; k < 2; ++k)
                sum += double(hg[(((n * 3 + a + u / 4) * 4 + b + u / 2 % 2) * 4 + c + u % 2) * 4 + o / 2 * 2 + k]) *
                       double(hf[(u * 2 + k) * 4 + o]);
            grouped.push_back(sum);
          }
  p.output("all axes", tw::conv(p.input("xg", {2, 2, 3, 4, 4, 4}, hg), p.input("wg", {2, 2, 2, 2, 4}, hf), {.groups = 2}), grouped, 2e-3);
  p.check();
}

TEST_CASE("graph programs: convolutions of 8-bit integers sum in 32 bits") {
  const auto x = rounded_to<std::int8_t>(normal(6 * 6 * 5, 1, 40)), w = rounded_to<std::int8_t>(normal(3 * 3 * 5 * 4, 2, 40));
  Program p;
  p.output("y", tw::conv(p.input("x", {1, 6, 6, 5}, x), p.input("w", {3, 3, 5, 4}, w), {.pad = 1}),
           convolved(Array4({1, 6, 6, 5}, numbers_of(x)), Array4({3, 3, 5, 4}, numbers_of(w)), {.pad = 1}).values, 0);
  p.check();
}

TEST_CASE("graph programs: infinities and NaN of an image are in the windows that have them, and borders hide none") {
  auto hx = normal(7 * 8 * 3, 1);
  const auto hw = normal(3 * 3 * 3 * 4, 2);
  hx[5] = INFINITY, hx[40] = -INFINITY, hx[100] = NAN;
  const Array4 x({1, 7, 8, 3}, numbers_of(hx)), w({3, 3, 3, 4}, numbers_of(hw));
  Program p;
  const auto tx = p.input("x", {1, 7, 8, 3}, hx), filter = p.input("w", {3, 3, 3, 4}, hw);
  p.output("conv", tw::conv(tx, filter, {.pad = 1}), convolved(x, w, {.pad = 1}).values, 2e-3);
  p.output("max", tw::max_pool(tx, 3, {.stride = 1, .pad = 1}), max_pooled(x, 3, 1, 1).values, 0);
  p.output("average", tw::avg_pool(tx, 3, {.stride = 2, .pad = 1}), avg_pooled(x, 3, 2, 1).values);
  p.check();
}

struct PoolCase {
  std::int64_t size, stride, pad;
};
const PoolCase kPoolCases[] = {{2, 2, 0}, {3, 1, 1}, {3, 2, 1}, {1, 1, 0}, {4, 3, 2}};

template <class T>
void add_pools(Program& p, const std::string& type, double tolerance) {
  const std::array<std::int64_t, 4> extents[] = {{2, 7, 9, 5}, {1, 6, 6, 16}, {1, 1, 1, 1}, {0, 4, 4, 2}, {1, 4, 4, 0}};
  for (std::size_t i = 0; i < std::size(extents); ++i) {
    const auto h = rounded_to<T>(normal(count(extents[i]), 3));
    const auto x = p.input("x " + type + std::to_string(i), dims(extents[i]), h);
    const Array4 image(extents[i], numbers_of(h));
    for (const PoolCase& c : kPoolCases) {
      if (extents[i][1] + 2 * c.pad < c.size) continue;
      const std::string name = type + std::to_string(i) + " " + std::to_string(&c - kPoolCases);
      const tw::PoolOptions options{.stride = c.stride, .pad = c.pad};
      p.output("max " + name, tw::max_pool(x, c.size, options), max_pooled(image, c.size, c.stride, c.pad).values, 0);
      p.output("average " + name, tw::avg_pool(x, c.size, options), avg_pooled(image, c.size, c.stride, c.pad).values, tolerance);
    }
    if (extents[i][1] >= 2) p.output("by size " + type + std::to_string(i), tw::max_pool(x, 2), max_pooled(image, 2, 2, 0).values, 0);
  }
}

TEST_CASE("graph programs: pools of each kind of float, with strides and borders") {
  Program p;
  add_pools<float>(p, "f32", 1e-6);
  add_pools<tw::f16>(p, "f16", 1e-3);
  add_pools<double>(p, "f64", 1e-14);
  p.check();
}

TEST_CASE("graph programs: a batch norm, a convolution before it and a pool behind it, and a residual connection") {
  constexpr int kSize = 8, kChannels = 6;
  const auto hx = normal(2 * kSize * kSize * kChannels, 1), hw = normal(9 * kChannels * kChannels, 2, 0.2f), hm = normal(kChannels, 3),
             hg = normal(kChannels, 5), hb = normal(kChannels, 6);
  auto hv = normal(kChannels, 4);
  for (float& v : hv) v = std::fabs(v) + 0.1f;
  Program p;
  const auto x = p.input("x", {2, kSize, kSize, kChannels}, hx), w = p.input("w", {3, 3, kChannels, kChannels}, hw);
  const auto m = p.input("m", {kChannels}, hm), v = p.input("v", {kChannels}, hv), g = p.input("g", {kChannels}, hg),
             b = p.input("b", {kChannels}, hb);
  const auto normed = [&](Array4 t) {
    for (std::size_t i = 0; i < t.values.size(); ++i) {
      const std::size_t c = i % kChannels;
      t.values[i] = (t.values[i] - double(hm[c])) / std::sqrt(double(hv[c]) + 1e-5) * double(hg[c]) + double(hb[c]);
    }
    return t;
  };
  const auto relu = [](Array4 t) {
    for (double& e : t.values) e = std::max(e, 0.0);
    return t;
  };
  const Array4 image({2, kSize, kSize, kChannels}, numbers_of(hx)), filter({3, 3, kChannels, kChannels}, numbers_of(hw));
  p.output("norm", tw::batch_norm(x, m, v, g, b), normed(image).values, 1e-5);
  const Array4 once = relu(normed(convolved(image, filter, {.pad = 1})));
  const auto layer = [&](const tw::Tensor<float>& t) { return tw::relu(tw::batch_norm(tw::conv(t, w, {.pad = 1}), m, v, g, b)); };
  p.output("layer", layer(x), once.values, 2e-3);
  Array4 twice = relu(normed(convolved(once, filter, {.pad = 1})));
  p.output("layers", layer(layer(x)), twice.values, 5e-3);
  for (std::size_t i = 0; i < twice.values.size(); ++i) twice.values[i] += image.values[i];
  p.output("residual", layer(layer(x)) + x, twice.values, 5e-3);
  p.output("pooled", tw::max_pool(layer(x), 2), max_pooled(once, 2, 2, 0).values, 2e-3);
  p.output("pooled before", layer(tw::avg_pool(x, 2)), relu(normed(convolved(avg_pooled(image, 2, 2, 0), filter, {.pad = 1}))).values,
           2e-3);
  const std::vector<tw::Tensor<float>> pieces = tw::split(layer(x), {1, 3, 2}, -1);
  CHECK(pieces.size() == 3);
  p.output(
      "joined", tw::concat({pieces[2], pieces[0], pieces[1]}, -1),
      [&] {
        Numbers all;
        for (std::size_t at = 0; at < once.values.size(); at += kChannels)
          for (int c : {4, 5, 0, 1, 2, 3}) all.push_back(once.values[at + static_cast<std::size_t>(c)]);
        return all;
      }(),
      2e-3);
  p.check();
}

TEST_CASE("graph programs: one plan convolves and pools images of every size") {
  tw::Graph graph;
  const tw::Dim n = graph.dim("n", {.min = 0}), h = graph.dim("h", {.min = 2}), w = graph.dim("w", {.min = 2});
  const auto x = graph.input<float>("x", {n, h, w, 3});
  const auto filter = graph.input<float>("f", {3, 3, 3, 5});
  graph.output("conv", tw::conv(x, filter, {.pad = 1}));
  graph.output("peak", tw::max_pool(x, 2, {.stride = 1}));
  const auto hf = normal(135, 2);
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    const tw::Plan plan = graph.compile(device);
    CHECK(plan.proof().exact);
    auto bf = device.upload(hf);
    const std::array<std::int64_t, 4> sizes[] = {{1, 2, 2, 3}, {2, 5, 3, 3}, {1, 16, 17, 3}, {0, 4, 4, 3}, {3, 33, 7, 3}};
    for (const std::array<std::int64_t, 4>& extents : sizes) {
      const auto hx = normal(count(extents), 1);
      const Array4 image(extents, numbers_of(hx)), conv = convolved(image, Array4({3, 3, 3, 5}, numbers_of(hf)), {.pad = 1}),
                                                   peak = max_pooled(image, 2, 1, 0);
      auto bx = device.upload(hx);
      auto bc = device.upload(std::vector<float>(conv.values.size(), NAN)), bp = device.upload(std::vector<float>(peak.values.size(), NAN));
      plan.run({{"x", bx}, {"f", bf}, {"conv", bc}, {"peak", bp}, {"n", extents[0]}, {"h", extents[1]}, {"w", extents[2]}});
      CHECK(relative_error(numbers_of(bc.download()), conv.values) <= 2e-3);
      CHECK(numbers_of(bp.download()) == peak.values);
    }
  }
}

}  // namespace
}  // namespace graph_program
