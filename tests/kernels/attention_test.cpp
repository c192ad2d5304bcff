// Attention, its gradients and decoding against double precision: masks, groups of heads, lengths, depths, types, score functions and
// pages.
#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

struct Shape {
  std::int64_t batch, heads, key_heads, m, n, d, dv;
};
struct Attention {
  std::vector<double> out, lse, dq, dk, dv;
};
using Score = std::function<double(double, std::int64_t, std::int64_t, std::int64_t)>;

/// Attention and the gradients for dout, as the formula says. `slope`: the derivative of the score function.
Attention attention_of(const Shape& s, const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
                       const std::vector<double>& dout, bool causal, std::int64_t window, double scale, const Score& score = {},
                       const Score& slope = {}) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Attention r;
  r.out.resize(size(s.batch * s.heads * s.m * s.dv)), r.lse.resize(size(s.batch * s.heads * s.m));
  r.dq.resize(q.size()), r.dk.resize(k.size()), r.dv.resize(v.size());
  for (std::int64_t row = 0; row < s.batch * s.heads * s.m; ++row) {
    const std::int64_t i = row % s.m, head = row / s.m % s.heads, batch = row / s.m / s.heads;
    const std::int64_t keys = (batch * s.key_heads + head / (s.heads / s.key_heads)) * s.n, position = i + s.n - s.m;
    std::vector<double> scores(size(s.n), -INFINITY), slopes(size(s.n), 1);
    double most = -INFINITY, total = 0, delta = 0;
    for (std::int64_t j = 0; j < s.n; ++j) {
      if ((causal && j > position) || (window > 0 && std::abs(j - position) >= window)) continue;
      double dot = 0;
      for (std::int64_t l = 0; l < s.d; ++l) dot += q[size(row * s.d + l)] * k[size((keys + j) * s.d + l)];
      scores[size(j)] = score ? score(dot * scale, i, j, head) : dot * scale;
      if (slope) slopes[size(j)] = slope(dot * scale, i, j, head);
      most = std::max(most, scores[size(j)]);
    }
    for (std::int64_t j = 0; j < s.n && most > -INFINITY; ++j) total += std::exp(scores[size(j)] - most);
    r.lse[size(row)] = most + std::log(total);
    if (total == 0) continue;
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t l = 0; l < s.dv; ++l)
        r.out[size(row * s.dv + l)] += std::exp(scores[size(j)] - most) / total * v[size((keys + j) * s.dv + l)];
    for (std::int64_t l = 0; l < s.dv; ++l) delta += dout[size(row * s.dv + l)] * r.out[size(row * s.dv + l)];
    for (std::int64_t j = 0; j < s.n; ++j) {
      const double p = std::exp(scores[size(j)] - most) / total;
      if (p == 0) continue;
      double dp = 0;
      for (std::int64_t l = 0; l < s.dv; ++l) {
        dp += dout[size(row * s.dv + l)] * v[size((keys + j) * s.dv + l)];
        r.dv[size((keys + j) * s.dv + l)] += p * dout[size(row * s.dv + l)];
      }
      const double dproduct = p * (dp - delta) * slopes[size(j)] * scale;
      for (std::int64_t l = 0; l < s.d; ++l) {
        r.dq[size(row * s.d + l)] += dproduct * k[size((keys + j) * s.d + l)];
        r.dk[size((keys + j) * s.d + l)] += dproduct * q[size(row * s.d + l)];
      }
    }
  }
  return r;
}

template <class T>
double tolerance(const tw::Device& device) {
  if (std::is_same_v<T, float>) return is_gpu(device) ? 3e-3 : 2e-6;
  return 4 * epsilon<T>();
}

template <class T>
void check_attention(tw::Device& device, const Shape& s, bool causal = false, std::int64_t window = 0,
                     Placement placement = Placement::dense, const kernels::Options& options = {}, bool with_gradients = true) {
  INFO(s.batch, " ", s.heads, " ", s.key_heads, " ", s.m, " ", s.n, " ", s.d, " ", s.dv, " causal ", causal, " window ", window);
  using S = kernels::Accumulator<T>;
  Array<T, 4> q(device, {s.batch, s.heads, s.m, s.d}, 1, placement), k(device, {s.batch, s.key_heads, s.n, s.d}, 2, placement);
  Array<T, 4> v(device, {s.batch, s.key_heads, s.n, s.dv}, 3, placement), out(device, {s.batch, s.heads, s.m, s.dv}, 4, placement);
  Array<T, 4> dout(device, {s.batch, s.heads, s.m, s.dv}, 5), dq(device, q.extents, 6, placement), dk(device, k.extents, 7),
      dv(device, v.extents, 8);
  Array<S, 3> lse(device, {s.batch, s.heads, s.m}, 9);
  kernels::attention(q.view(), k.view(), v.view(), out.view(), {.causal = causal, .window = window, .scale = 0.3, .lse = lse.view()},
                     options);
  const Attention want = attention_of(s, q.values(), k.values(), v.values(), dout.values(), causal, window, 0.3);
  CHECK(error(out.values(), want.out) < tolerance<T>(device));
  CHECK(error(lse.values(), want.lse) < tolerance<T>(device));
  CHECK(out.gaps_untouched());
  if (!with_gradients) return;
  kernels::attention_backward(q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), dq.view(), dk.view(), dv.view(),
                              {.causal = causal, .window = window, .scale = 0.3}, options);
  // The gradients are compared with dout: where a query sees one key, they are 0 except for rounding errors.
  const double least = norm(dout.values()) / 10;
  CHECK(error(dq.values(), want.dq, least) < 4 * tolerance<T>(device));
  CHECK(error(dk.values(), want.dk, least) < 4 * tolerance<T>(device));
  CHECK(error(dv.values(), want.dv) < 4 * tolerance<T>(device));
  CHECK(dq.gaps_untouched());
}

const kernels::Options kSmall{.configuration = kernels::Configuration{.bm = 16, .bn = 16}};

}  // namespace

TEST_CASE("attention: lengths, depths and groups of heads, with gradients") {
  on_every_device([](tw::Device& device) {
    check_attention<float>(device, {1, 1, 1, 1, 1, 2, 1});
    check_attention<float>(device, {2, 4, 2, 19, 37, 24, 24}, false, 0, Placement::dense, kSmall);
    check_attention<float>(device, {1, 3, 1, 33, 17, 16, 40}, false, 0, Placement::padded, kSmall);
    check_attention<tw::f16>(device, {1, 2, 2, 40, 40, 64, 64});
    check_attention<tw::bf16>(device, {1, 2, 1, 20, 50, 80, 80}, false, 0, Placement::reversed);
  });
  tw::Device cpu = tw::Device::open("cpu");
  check_attention<double>(cpu, {1, 2, 1, 20, 30, 8, 8}, true);
  check_attention<float>(cpu, {1, 1, 1, 70, 130, 256, 256}, true);
}

// Keys and values come by bulk copies, one warp starts these, and the last product of an iteration runs in the next one.
const kernels::Options kHopper{.configuration = kernels::Configuration{.bm = 128, .bn = 64, .num_warps = 8, .num_stages = 3}};
const kernels::Options kHopperWide{.configuration = kernels::Configuration{.bm = 128, .bn = 128, .num_warps = 8, .num_stages = 2}};

TEST_CASE("attention: any number of keys, by warps with roles on Hopper") {
  tw::Device device = tw::Device::open("emulator:sm_90a");
  for (const bool causal : {false, true})
    for (const std::int64_t keys : {1, 63, 64, 128, 200, 385}) {
      check_attention<tw::f16>(device, {1, 2, 1, 130, keys, 128, 128}, causal, 0, Placement::dense, kHopper, false);
      check_attention<tw::bf16>(device, {1, 2, 2, 128, keys, 128, 128}, causal, 0, Placement::dense, kHopperWide, false);
    }
  check_attention<tw::f16>(device, {2, 2, 2, 70, 256, 64, 64}, true, 100, Placement::dense, kHopper, false);
  check_attention<tw::f16>(device, {1, 1, 1, 128, 192, 256, 256}, false, 0, Placement::dense, kHopper, false);
  // Queries that see no key, and no keys at all.
  check_attention<tw::f16>(device, {1, 1, 1, 256, 100, 128, 128}, true, 0, Placement::dense, kHopper, false);
  check_attention<tw::f16>(device, {1, 1, 1, 130, 0, 128, 128}, false, 0, Placement::dense, kHopper, false);
}

TEST_CASE("attention: infinite elements and NaN stay in their rows and columns, by warps with roles on Hopper") {
  constexpr std::int64_t kQueries = 128, kKeys = 300, kDepth = 128;
  const auto run = [&](const char* name, const kernels::Options& options) {
    tw::Device device = tw::Device::open(name);
    const auto elements = [](std::int64_t n, unsigned seed) {
      std::vector<tw::f16> all;
      std::mt19937 engine(seed);
      std::normal_distribution<float> normal;
      for (std::int64_t i = 0; i < n; ++i) all.emplace_back(normal(engine));
      return all;
    };
    std::vector<tw::f16> qs = elements(kQueries * kDepth, 1), ks = elements(kKeys * kDepth, 2), vs = elements(kKeys * kDepth, 3);
    qs[3 * kDepth] = tw::f16(NAN);
    for (std::int64_t i = 0; i < kDepth; ++i) qs[static_cast<std::size_t>(9 * kDepth + i)] = tw::f16(0.0f);
    qs[17 * kDepth + 5] = tw::f16(INFINITY);
    vs[2 * kDepth + 7] = tw::f16(INFINITY);
    vs[290 * kDepth + 11] = tw::f16(NAN);
    tw::Buffer<tw::f16> q = device.upload(qs), k = device.upload(ks), v = device.upload(vs), out = device.upload(qs);
    kernels::attention(tw::view(q, {1, 1, kQueries, kDepth}), tw::view(k, {1, 1, kKeys, kDepth}), tw::view(v, {1, 1, kKeys, kDepth}),
                       tw::view(out, {1, 1, kQueries, kDepth}), {}, options);
    return out.download();
  };
  const std::vector<tw::f16> want = run("cpu", {}), got = run("emulator:sm_90a", kHopper);
  int wrong = 0, special = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double w = number(want[i]), g = number(got[i]);
    special += std::isfinite(w) ? 0 : 1;
    if (std::isfinite(w) ? !(std::abs(w - g) < 4e-3) : std::isnan(w) ? !std::isnan(g) : w != g) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(special > 3 * kDepth);
}

// Each score is a product of two numbers. Keys have three levels, the higher the later, of which one alone counts wherever their scores are
// far from each other; those of one level have equal scores.
template <class T>
void check_great_scores(tw::Device& device, double size, double scale, bool causal) {
  INFO(device.name(), " scores of ", size * size * scale, " scale ", scale, " causal ", causal);
  const Shape s{1, 1, 1, 45, 75, 16, 16};
  const double levels[] = {0.5, 0.875, 1, 0.75};
  std::vector<T> queries(static_cast<std::size_t>(s.m * s.d), T(0.0f)), keys(static_cast<std::size_t>(s.n * s.d), T(0.0f));
  for (std::int64_t i = 0; i < s.m; ++i)
    queries[static_cast<std::size_t>(i * s.d)] = T(static_cast<float>(std::copysign(size, scale) * (i % 3 ? 1 : 1.25)));
  for (std::int64_t j = 0; j < s.n; ++j)
    keys[static_cast<std::size_t>(j * s.d)] = T(static_cast<float>(size * levels[j < 20 ? 0 : 1 + j % 3]));
  Array<T, 4> q(device, {1, 1, s.m, s.d}, 1), k(device, {1, 1, s.n, s.d}, 2), v(device, {1, 1, s.n, s.dv}, 3);
  Array<T, 4> out(device, {1, 1, s.m, s.dv}, 4), dout(device, {1, 1, s.m, s.dv}, 5);
  Array<float, 3> lse(device, {1, 1, s.m}, 9);
  tw::Buffer<T> uploaded_q = device.upload(queries), uploaded_k = device.upload(keys);
  kernels::attention(tw::view(uploaded_q, {1, 1, s.m, s.d}), tw::view(uploaded_k, {1, 1, s.n, s.d}), v.view(), out.view(),
                     {.causal = causal, .scale = scale, .lse = lse.view()}, kSmall);
  std::vector<double> wide_q, wide_k;
  for (T x : queries) wide_q.push_back(number(x));
  for (T x : keys) wide_k.push_back(number(x));
  const Attention want = attention_of(s, wide_q, wide_k, v.values(), dout.values(), causal, 0, scale);
  CHECK(error(out.values(), want.out) < 4 * epsilon<T>());
  CHECK(error(lse.values(), want.lse) < 4 * epsilon<T>());
}

TEST_CASE("attention: scores up to where they lose their last bits, and beyond") {
  on_every_device([](tw::Device& device) {
    for (double scale : {1.0, -0.7, 1e-3})
      for (bool causal : {false, true}) {
        for (double size : {512.0, 4096.0, 6144.0, 8192.0, 12288.0, 16384.0, 24576.0, 40960.0})
          check_great_scores<tw::f16>(device, size, scale, causal);
        for (double size : {0x1p20, 0x1p30, 0x1p60}) check_great_scores<tw::bf16>(device, size, scale, causal);
      }
  });
}

TEST_CASE("attention: causal and windowed, with gradients") {
  on_every_device([](tw::Device& device) {
    for (auto [m, n] : {std::pair{37, 37}, {20, 41}, {41, 20}})
      for (std::int64_t window : {0, 1, 9}) {
        check_attention<float>(device, {1, 2, 1, m, n, 16, 16}, true, window, Placement::dense, kSmall);
        if (window > 0) check_attention<float>(device, {1, 2, 1, m, n, 16, 16}, false, window, Placement::dense, kSmall);
      }
  });
}

TEST_CASE("attention: a function of the scores") {
  on_every_device([](tw::Device& device) {
    const Shape s{1, 4, 2, 21, 33, 16, 16};
    Array<float, 4> q(device, {1, 4, 21, 16}, 1), k(device, {1, 2, 33, 16}, 2), v(device, {1, 2, 33, 16}, 3),
        out(device, {1, 4, 21, 16}, 4);
    kernels::attention(q.view(), k.view(), v.view(), out.view(), {.score = [](auto score, auto query, auto key, auto head) {
                         return score + (query - key).template to<float>() * 0.125f * (head + 1).template to<float>();
                       }});
    const Score score = [](double x, std::int64_t i, std::int64_t j, std::int64_t head) {
      return x + static_cast<double>((i - j) * (head + 1)) * 0.125;
    };
    const Attention want = attention_of(s, q.values(), k.values(), v.values(), std::vector<double>(4 * 21 * 16), false, 0, 0.25, score);
    CHECK(error(out.values(), want.out) < tolerance<float>(device));
    kernels::attention(q.view(), k.view(), v.view(), out.view(),
                       {.score = [](tw::F32 x, tw::I32, tw::I32, tw::I32) { return 5.0f * tw::tanh(x / 5.0f); }});
    const Attention capped = attention_of(s, q.values(), k.values(), v.values(), std::vector<double>(4 * 21 * 16), false, 0, 0.25,
                                          [](double x, std::int64_t, std::int64_t, std::int64_t) { return 5 * std::tanh(x / 5); });
    CHECK(error(out.values(), capped.out) < tolerance<float>(device));
  });
}

TEST_CASE("attention: a function of the scores gets the position of a query, which stands at the last keys") {
  on_every_device([](tw::Device& device) {
    // The mask of causal attention, written as a function: rows are 12 positions before their last key.
    Array<float, 4> q(device, {1, 1, 21, 16}, 1), k(device, {1, 1, 33, 16}, 2), v(device, {1, 1, 33, 16}, 3),
        out(device, {1, 1, 21, 16}, 4), causal(device, {1, 1, 21, 16}, 5);
    kernels::attention(q.view(), k.view(), v.view(), causal.view(), {.causal = true}, kSmall);
    kernels::attention(q.view(), k.view(), v.view(), out.view(),
                       {.score = [](auto x, auto query, auto key, auto) { return tw::where(key <= query, x, -tw::inf); }}, kSmall);
    CHECK(error(out.values(), causal.values()) < tolerance<float>(device));
  });
}

TEST_CASE("attention_backward: gradients through a function of the scores") {
  const auto check = [&]<class T>(T, tw::Device& device, const kernels::AttentionOptionsOf<kernels::Accumulator<T>>& given,
                                  const Score& score, const Score& slope) {
    const Shape s{1, 4, 2, 21, 37, 16, 16};
    Array<T, 4> q(device, {1, 4, 21, 16}, 1), k(device, {1, 2, 37, 16}, 2), v(device, {1, 2, 37, 16}, 3), out(device, {1, 4, 21, 16}, 4),
        dout(device, out.extents, 5), dq(device, q.extents, 6), dk(device, k.extents, 7), dv(device, v.extents, 8);
    Array<kernels::Accumulator<T>, 3> lse(device, {1, 4, 21}, 9);
    auto options = given;
    options.lse = lse.view();
    kernels::attention(q.view(), k.view(), v.view(), out.view(), options, kSmall);
    kernels::attention_backward(q.view(), k.view(), v.view(), out.view(), lse.view(), dout.view(), dq.view(), dk.view(), dv.view(), given,
                                kSmall);
    const Attention want =
        attention_of(s, q.values(), k.values(), v.values(), dout.values(), given.causal, given.window, 0.25, score, slope);
    CHECK(error(out.values(), want.out) < tolerance<T>(device));
    CHECK(error(dq.values(), want.dq) < 4 * tolerance<T>(device));
    CHECK(error(dk.values(), want.dk) < 4 * tolerance<T>(device));
    CHECK(error(dv.values(), want.dv) < 4 * tolerance<T>(device));
  };
  const auto capped = [](auto x, auto, auto, auto) { return 2.0f * tw::tanh(x / 2.0f); };
  const Score cap = [](double x, std::int64_t, std::int64_t, std::int64_t) { return 2 * std::tanh(x / 2); };
  const Score cap_slope = [](double x, std::int64_t, std::int64_t, std::int64_t) { return 1 - std::pow(std::tanh(x / 2), 2); };
  on_every_device([&](tw::Device& device) {
    for (const std::int64_t window : {0, 9}) check(float(), device, {.causal = true, .window = window, .score = capped}, cap, cap_slope);
    check(float(), device, {.score = capped}, cap, cap_slope);
    // A bias of the position, and keys that the function hides: its derivative there does not count.
    check(
        float(), device,
        {.score =
             [](tw::F32 x, tw::I32 query, tw::I32 key, tw::I32) {
               const auto biased = x * x * 0.5f - (query - key).to<float>() * 0.1f;
               return tw::where(key % 3 == 1, -tw::inf, biased);
             }},
        [](double x, std::int64_t i, std::int64_t j, std::int64_t) {
          return j % 3 == 1 ? -INFINITY : x * x * 0.5 - 0.1 * static_cast<double>(i - j);
        },
        [](double x, std::int64_t, std::int64_t, std::int64_t) { return x; });
  });
  tw::Device cpu = tw::Device::open("cpu");
  check(double(), cpu, {.causal = true, .score = [](auto x, auto, auto, auto) { return 2 * tw::tanh(x / 2); }}, cap, cap_slope);
  Array<float, 4> x(cpu, {1, 1, 4, 16}, 1), y(cpu, {1, 1, 4, 16}, 2), dx(cpu, {1, 1, 4, 16}, 3), dk(cpu, {1, 1, 4, 16}, 4),
      dv(cpu, {1, 1, 4, 16}, 5);
  Array<float, 3> lse(cpu, {1, 1, 4}, 6);
  const int line = __LINE__ + 2;
  const std::string text = message_of([&] {
    const auto score = [](auto s, auto, auto, auto) { return s - tw::max(s, 1, true); };
    kernels::attention_backward(x.view(), x.view(), x.view(), x.view(), lse.view(), y.view(), dx.view(), dk.view(), dv.view(),
                                {.score = score});
  });
  const std::string want = "attention_test.cpp:" + std::to_string(line) + ":";
  CHECK_MESSAGE(has(text.substr(0, text.find("error")), want), text);
  CHECK_MESSAGE(has(text, "attention_backward: the score function depends on its score by reduce, which is not differentiated"), text);
}

TEST_CASE("attention: a function of scores in double") {
  tw::Device device = tw::Device::open("cpu");
  const Shape s{1, 2, 1, 21, 33, 16, 16};
  Array<double, 4> q(device, {1, 2, 21, 16}, 1), k(device, {1, 1, 33, 16}, 2), v(device, {1, 1, 33, 16}, 3), out(device, {1, 2, 21, 16}, 4);
  const auto check = [&](const kernels::AttentionOptionsOf<double>& options, const Score& score) {
    kernels::attention(q.view(), k.view(), v.view(), out.view(), options);
    const Attention want = attention_of(s, q.values(), k.values(), v.values(), std::vector<double>(2 * 21 * 16), false, 0, 0.25, score);
    CHECK(error(out.values(), want.out) < tolerance<double>(device));
  };
  check({.score = [](auto x, auto, auto key, auto) { return x + 0.1 * key.template to<double>(); }},
        [](double x, std::int64_t, std::int64_t j, std::int64_t) { return x + 0.1 * static_cast<double>(j); });
  check({.score = [](tw::F64 x, tw::I32, tw::I32, tw::I32) { return 5 * tw::tanh(x / 5); }},
        [](double x, std::int64_t, std::int64_t, std::int64_t) { return 5 * std::tanh(x / 5); });
}

TEST_CASE("decode_attention: contiguous and paged caches, in parts and in one") {
  on_every_device([](tw::Device& device) {
    for (int splits : {1, 3}) {
      const kernels::Options options{.configuration = kernels::Configuration{.bm = 16, .bn = 16, .splits = splits}};
      const std::vector<int> length{70, 1, 0, 33};
      auto lengths = device.upload(length);
      Array<float, 3> q(device, {4, 6, 24}, 1), out(device, {4, 6, 40}, 4, Placement::padded);
      Array<float, 4> k(device, {4, 2, 70, 24}, 2), v(device, {4, 2, 70, 40}, 3, Placement::reversed);
      kernels::decode_attention(q.view(), k.view(), v.view(), tw::view(lengths, {4}), out.view(), {}, options);
      const auto qs = q.values(), ks = k.values(), vs = v.values();
      std::vector<double> want;
      for (std::size_t b = 0; b < 4; ++b) {
        const auto part = [&](const std::vector<double>& x, std::size_t d) {  // the keys of both heads up to the length
          std::vector<double> y;
          for (std::size_t h = 0; h < 2; ++h)
            y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>((b * 2 + h) * 70 * d),
                     x.begin() + static_cast<std::ptrdiff_t>(((b * 2 + h) * 70 + static_cast<std::size_t>(length[b])) * d));
          return y;
        };
        const Attention one =
            attention_of({1, 6, 2, 1, length[b], 24, 40},
                         {qs.begin() + static_cast<std::ptrdiff_t>(b * 144), qs.begin() + static_cast<std::ptrdiff_t>((b + 1) * 144)},
                         part(ks, 24), part(vs, 40), std::vector<double>(240), false, 0, 1 / std::sqrt(24.0));
        want.insert(want.end(), one.out.begin(), one.out.end());
      }
      CHECK(error(out.values(), want) < tolerance<float>(device));
      CHECK(out.gaps_untouched());

      // The keys lie in pages of 20, in arbitrary order.
      const std::vector<int> page{9, 3, 14, 1, 0, 7, 2, 5, 4, 8, 6, 11, 10, 13, 12, 15};
      std::vector<float> paged_k(16 * 2 * 20 * 24, NAN), paged_v(16 * 2 * 20 * 40, NAN);
      for (std::size_t b = 0; b < 4; ++b)
        for (std::size_t h = 0; h < 2; ++h)
          for (std::size_t j = 0; j < 80; ++j) {
            const std::size_t to = (static_cast<std::size_t>(page[b * 4 + j / 20]) * 2 + h) * 20 + j % 20;
            for (std::size_t l = 0; l < 24; ++l)
              paged_k[to * 24 + l] =
                  j < static_cast<std::size_t>(length[b]) ? static_cast<float>(ks[((b * 2 + h) * 70 + j) * 24 + l]) : NAN;
            for (std::size_t l = 0; l < 40; ++l)
              paged_v[to * 40 + l] =
                  j < static_cast<std::size_t>(length[b]) ? static_cast<float>(vs[((b * 2 + h) * 70 + j) * 40 + l]) : NAN;
          }
      auto k_pages = device.upload(paged_k), v_pages = device.upload(paged_v);
      auto pages = device.upload(page);
      Array<float, 3> paged_out(device, {4, 6, 40}, 5);
      kernels::decode_attention(q.view(), tw::view(k_pages, {16, 2, 20, 24}), tw::view(v_pages, {16, 2, 20, 40}), tw::view(lengths, {4}),
                                paged_out.view(), {.pages = tw::view(pages, {4, 4})}, options);
      CHECK(error(paged_out.values(), want) < tolerance<float>(device));
    }
  });
}

TEST_CASE("decode_attention: keys and values of a page outside of the cache are 0") {
  on_every_device([](tw::Device& device) {
    for (const int wrong : {-1, 3, -(1 << 30), 1 << 30}) {
      CAPTURE(wrong);
      Array<float, 3> q(device, {1, 2, 16}, 1), out(device, {1, 2, 16}, 2);
      Array<float, 4> k(device, {3, 1, 16, 16}, 3), v(device, {3, 1, 16, 16}, 4);
      const auto lengths = device.upload(std::vector<int>{40}), pages = device.upload(std::vector<int>{2, wrong, 0});
      kernels::decode_attention(q.view(), k.view(), v.view(), lengths, out.view(), {.pages = tw::view(pages, {1, 3})});
      const auto qs = q.values(), ks = k.values(), vs = v.values();
      std::vector<double> keys(40 * 16, 0.0), values(40 * 16, 0.0);
      for (std::size_t j = 0; j < 40; ++j)
        for (std::size_t d = 0; d < 16 && j / 16 != 1; ++d) {
          const std::size_t from = ((j < 16 ? 2 : 0) * 16 + j % 16) * 16 + d;
          keys[j * 16 + d] = ks[from], values[j * 16 + d] = vs[from];
        }
      const Attention want = attention_of({1, 2, 1, 1, 40, 16, 16}, qs, keys, values, std::vector<double>(32), false, 0, 0.25);
      CHECK(error(out.values(), want.out) < tolerance<float>(device));
    }
  });
}
