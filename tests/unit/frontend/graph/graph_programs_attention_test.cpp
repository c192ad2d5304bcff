// Attention as users write it: masks by position and by document, caps, biases, caches, shared keys, and the backward formulas.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

/// q[heads, queries, d], k[heads / group, keys, d], v[heads / group, keys, e]; score(h, i, j, q k) may be -infinity.
struct Attention {
  int heads, queries, keys, d, e, group = 1;
  std::vector<float> q, k, v;

  Attention(int heads_, int queries_, int keys_, int d_, int e_, int group_ = 1)
      : heads(heads_), queries(queries_), keys(keys_), d(d_), e(e_), group(group_) {
    const auto size = [](int a, int b, int c) {
      return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
    };
    q = normal(size(heads, queries, d), 11), k = normal(size(heads / group, keys, d), 12), v = normal(size(heads / group, keys, e), 13);
  }
  using Score = std::function<double(int h, int i, int j, double product)>;
  /// The weights of a row, and its log-sum-exp.
  Numbers weights(int h, int i, const Score& score, double* lse = nullptr) const {
    Numbers p(keys);
    double most = -HUGE_VAL, total = 0;
    for (int j = 0; j < keys; ++j) {
      double dot = 0;
      for (int c = 0; c < d; ++c) dot += double(q[(h * queries + i) * d + c]) * double(k[(h / group * keys + j) * d + c]);
      most = std::max(most, p[j] = score(h, i, j, dot));
    }
    for (double& x : p) total += x = std::exp(x - most);
    for (double& x : p) x /= total;
    if (lse) *lse = most + std::log(total);
    return p;
  }
  Numbers result(const Score& score) const {
    Numbers out;
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < queries; ++i) {
        const Numbers p = weights(h, i, score);
        for (int c = 0; c < e; ++c) {
          double sum = 0;
          for (int j = 0; j < keys; ++j) sum += p[j] * double(v[(h / group * keys + j) * e + c]);
          out.push_back(sum);
        }
      }
    return out;
  }
};

}  // namespace

TEST_CASE("graph programs: attention in a sliding window, with a cap and ALiBi") {
  const Attention a(2, 45, 45, 16, 16);
  Program p;
  auto q = p.input("q", {2, 45, 16}, a.q), k = p.input("k", {2, 45, 16}, a.k), v = p.input("v", {2, 45, 16}, a.v);
  auto position = tw::iota<int32_t>(p.graph, {45}, 0);
  auto i = tw::expand_dims(position, 1), j = tw::expand_dims(position, 0);
  auto slopes = p.graph.constant(std::vector<float>{0.5f, 0.25f}, {2, 1, 1});
  auto scores = 20.0f * tw::tanh(tw::matmul(q, tw::transpose(k)) * 0.25f / 20.0f) + slopes * (j - i).to<float>();
  auto visible = i >= j && i - j < 12;
  auto out = tw::matmul(tw::softmax(tw::where(visible, scores, -tw::inf), -1), v);
  p.output("out", out, a.result([](int h, int i, int j, double s) {
    return i >= j && i - j < 12 ? 20 * std::tanh(s * 0.25 / 20) + (h == 0 ? 0.5 : 0.25) * (j - i) : -HUGE_VAL;
  }),
           2e-3);
  const tw::Plan plan = p.check_on_all();
  CHECK(plan.kernels().size() == 1);
  CHECK(plan.intermediate_bytes() == 0);
}

TEST_CASE("graph programs: attention within documents, of any length") {
  for (const int n : {1, 37}) {
    const Attention a(2, n, n, 8, 24);
    Program p;
    const tw::Dim seq = p.graph.dim("seq", {.max = 4096});
    std::vector<int32_t> documents;
    for (int i = 0; i < n; ++i) documents.push_back(i / 9);
    auto q = p.input("q", {2, seq, 8}, a.q), k = p.input("k", {2, seq, 8}, a.k);
    auto v = p.input("v", {2, seq, 24}, a.v);
    auto document = p.input("document", {seq}, documents);
    auto same = tw::expand_dims(document, 1) == tw::expand_dims(document, 0);
    auto position = tw::iota<int32_t>(p.graph, {seq}, 0);
    auto causal = tw::expand_dims(position, 1) >= position;
    auto scores = tw::where(same && causal, tw::matmul(q, tw::transpose(k)) / tw::sqrt(tw::full<float>(p.graph, {}, 8.0f)), -tw::inf);
    p.output("out", tw::matmul(tw::softmax(scores, -1), v),
             a.result([&](int, int i, int j, double s) { return documents[i] == documents[j] && i >= j ? s / std::sqrt(8.0) : -HUGE_VAL; }),
             2e-3);
    CHECK(p.check_on_all().kernels().size() == 1);
  }
}

TEST_CASE("graph programs: attention of grouped heads by einsum, layout [batch, seq, heads, d]") {
  const Attention a(6, 20, 33, 8, 8, 3);
  const auto swapped = [](const std::vector<float>& x, int heads, int n, int d) {
    std::vector<float> y(x.size());
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < d; ++c) y[(i * heads + h) * d + c] = x[(h * n + i) * d + c];
    return y;
  };
  Program p;
  auto q = p.input("q", {1, 20, 2, 3, 8}, swapped(a.q, 6, 20, 8));
  auto k = p.input("k", {1, 33, 2, 8}, swapped(a.k, 2, 33, 8)), v = p.input("v", {1, 33, 2, 8}, swapped(a.v, 2, 33, 8));
  auto probabilities = tw::softmax(tw::einsum("bqhgd,bkhd->bhgqk", q, k), -1);
  Numbers want = a.result([](int, int, int, double s) { return s; });
  Numbers turned(want.size());
  for (int h = 0; h < 6; ++h)
    for (int i = 0; i < 20; ++i)
      for (int c = 0; c < 8; ++c) turned[(i * 6 + h) * 8 + c] = want[(h * 20 + i) * 8 + c];
  p.output("out", tw::einsum("bhgqk,bkhd->bqhgd", probabilities, v), turned, 2e-3);
  const tw::Plan plan = p.check_on_all();
  CHECK(plan.kernels().size() == 1);
}

TEST_CASE("graph programs: attention backward, given the log-sum-exp") {
  const int n = 26, d = 16;
  const Attention a(2, n, n, d, d);
  const auto score = [](int, int i, int j, double s) { return i >= j ? s * 0.25 : -HUGE_VAL; };
  const std::vector<float> hdo = normal(2 * n * d, 14);
  std::vector<float> lse, o = rounded_to<float>({});
  for (double x : a.result(score)) o.push_back(static_cast<float>(x));
  Numbers dq(2 * n * d), dk(2 * n * d), dv(2 * n * d);
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < n; ++i) {
      double l = 0, delta = 0;
      const Numbers w = a.weights(h, i, score, &l);
      lse.push_back(static_cast<float>(l));
      const auto at = [&](int row, int c) { return (h * n + row) * d + c; };
      for (int c = 0; c < d; ++c) delta += double(hdo[at(i, c)]) * double(o[at(i, c)]);
      for (int j = 0; j <= i; ++j) {
        double dp = 0;
        for (int c = 0; c < d; ++c) dp += double(hdo[at(i, c)]) * double(a.v[at(j, c)]), dv[at(j, c)] += w[j] * double(hdo[at(i, c)]);
        const double ds = w[j] * (dp - delta) * 0.25;
        for (int c = 0; c < d; ++c) dq[at(i, c)] += ds * double(a.k[at(j, c)]), dk[at(j, c)] += ds * double(a.q[at(i, c)]);
      }
    }
  Program p;
  auto q = p.input("q", {2, n, d}, a.q), k = p.input("k", {2, n, d}, a.k), v = p.input("v", {2, n, d}, a.v);
  auto out = p.input("o", {2, n, d}, o), dout = p.input("do", {2, n, d}, hdo), l = p.input("lse", {2, n}, lse);
  auto position = tw::iota<int32_t>(p.graph, {n}, 0);
  auto causal = tw::expand_dims(position, 1) >= tw::expand_dims(position, 0);
  auto s = tw::where(causal, tw::matmul(q, tw::transpose(k)) * 0.25f, -tw::inf);
  auto weights = tw::exp(s - tw::expand_dims(l, 2));
  auto delta = tw::sum(dout * out, -1, true);
  auto ds = weights * (tw::matmul(dout, tw::transpose(v)) - delta) * 0.25f;
  p.output("dq", tw::matmul(ds, k), dq, 2e-3);
  p.output("dk", tw::matmul(tw::transpose(ds), q), dk, 2e-3);
  p.output("dv", tw::matmul(tw::transpose(weights), dout), dv, 2e-3);
  const tw::Plan plan = p.check_on_all();
  CHECK(plan.kernels().size() <= 3);
  CHECK(plan.intermediate_bytes() <= 2 * n * sizeof(float));
}

TEST_CASE("graph programs: latent attention with shared keys and values, and rotated parts") {
  const int heads = 4, n = 19, latent = 32, rotated = 8;
  const auto hq = normal(heads * n * latent, 1), hc = normal(n * latent, 2), hqr = normal(heads * n * rotated, 3),
             hkr = normal(n * rotated, 4);
  Numbers want;
  const auto turned = [&](const std::vector<float>& x, int at, int position, int c) {
    const int half = rotated / 2, i = c % half;
    const double angle = position * std::pow(10000.0, -2.0 * i / rotated);
    const double a = x[at + i], b = x[at + i + half];
    return c < half ? a * std::cos(angle) - b * std::sin(angle) : b * std::cos(angle) + a * std::sin(angle);
  };
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < n; ++i) {
      Numbers w(n);
      double most = -HUGE_VAL, total = 0;
      for (int j = 0; j < n; ++j) {
        double dot = 0;
        for (int c = 0; c < latent; ++c) dot += double(hq[(h * n + i) * latent + c]) * double(hc[j * latent + c]);
        for (int c = 0; c < rotated; ++c) dot += turned(hqr, (h * n + i) * rotated, i, c) * turned(hkr, j * rotated, j, c);
        most = std::max(most, w[j] = dot * 0.15);
      }
      for (double& x : w) total += x = std::exp(x - most);
      for (int c = 0; c < latent; ++c) {
        double sum = 0;
        for (int j = 0; j < n; ++j) sum += w[j] / total * double(hc[j * latent + c]);
        want.push_back(sum);
      }
    }
  Program p;
  auto q = p.input("q", {heads, n, latent}, hq), c = p.input("c", {n, latent}, hc);
  auto qr = p.input("qr", {heads, n, rotated}, hqr), kr = p.input("kr", {n, rotated}, hkr);
  auto position = tw::iota<int32_t>(p.graph, {n}, 0);
  auto scores = (tw::matmul(q, tw::transpose(c)) + tw::matmul(tw::rope(qr, position), tw::transpose(tw::rope(kr, position)))) * 0.15f;
  p.output("out", tw::matmul(tw::softmax(scores, -1), c), want, 2e-3);
  p.check_on_all();
}

TEST_CASE("graph programs: attention over a paged cache of keys and values") {
  // The keys of two sequences lie in pages of 4 tokens; a table says which.
  const int heads = 2, d = 16, page = 4, pages = 9, used = 3, batch = 2, keys = used * page;
  const auto hq = normal(batch * heads * d, 1), hk = normal(pages * page * heads * d, 2), hv = normal(pages * page * heads * d, 3);
  const std::vector<int32_t> table{7, 0, 3, 2, 8, 5}, lengths{10, 5};
  Numbers want;
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h) {
      Numbers w(lengths[b]);
      double total = 0;
      const auto at = [&](int j, int c) { return ((table[b * used + j / page] * page + j % page) * heads + h) * d + c; };
      for (int j = 0; j < lengths[b]; ++j) {
        for (int c = 0; c < d; ++c) w[j] += double(hq[(b * heads + h) * d + c]) * double(hk[at(j, c)]);
        total += w[j] = std::exp(w[j] * 0.25);
      }
      for (int c = 0; c < d; ++c) {
        double sum = 0;
        for (int j = 0; j < lengths[b]; ++j) sum += w[j] / total * double(hv[at(j, c)]);
        want.push_back(sum);
      }
    }
  Program p;
  auto q = p.input("q", {batch, heads, d}, hq);
  auto k = p.input("k", {pages, page, heads, d}, hk), v = p.input("v", {pages, page, heads, d}, hv);
  auto pages_of = p.input("table", {batch, used}, table);
  auto length = p.input("length", {batch}, lengths);
  auto keys_of = tw::reshape(tw::gather(k, pages_of), {batch, keys, heads, d});
  auto values_of = tw::reshape(tw::gather(v, pages_of), {batch, keys, heads, d});
  auto scores = tw::einsum("bhd,bkhd->bhk", q, keys_of) * 0.25f;
  auto inside = tw::iota<int32_t>(p.graph, {keys}, 0) < tw::reshape(length, {batch, 1, 1});
  auto out = tw::einsum("bhk,bkhd->bhd", tw::softmax(tw::where(inside, scores, -tw::inf), -1), values_of);
  p.output("out", out, want, 2e-3);
  const tw::Plan plan = p.check_on_all();
  CHECK(plan.kernels().size() == 1);
  CHECK(plan.intermediate_bytes() == 0);
}

TEST_CASE("graph programs: attention over a cache with an appended key, and a sink") {
  const int heads = 3, d = 8, n = 21;
  const Attention a(heads, 1, n, d, d);
  const auto hk = normal(heads * d, 5), hv = normal(heads * d, 6);
  Attention whole(heads, 1, n + 1, d, d);
  whole.q = a.q;
  for (int h = 0; h < heads; ++h)
    for (int j = 0; j <= n; ++j)
      for (int c = 0; c < d; ++c) {
        whole.k[(h * (n + 1) + j) * d + c] = j < n ? a.k[(h * n + j) * d + c] : hk[h * d + c];
        whole.v[(h * (n + 1) + j) * d + c] = j < n ? a.v[(h * n + j) * d + c] : hv[h * d + c];
      }
  const double sink = 0.7;
  Numbers want = whole.result([](int, int, int, double s) { return s; });
  for (int h = 0; h < heads; ++h) {
    double lse = 0;
    whole.weights(h, 0, [](int, int, int, double s) { return s; }, &lse);
    for (int c = 0; c < d; ++c) want[h * d + c] *= std::exp(lse) / (std::exp(lse) + std::exp(sink));
  }
  Program p;
  auto q = p.input("q", {heads, 1, d}, a.q);
  auto k = tw::concat({p.input("k", {heads, n, d}, a.k), p.input("k1", {heads, 1, d}, hk)}, 1);
  auto v = tw::concat({p.input("v", {heads, n, d}, a.v), p.input("v1", {heads, 1, d}, hv)}, 1);
  auto scores = tw::matmul(q, tw::transpose(k));
  auto with_sink = tw::concat({scores, tw::broadcast_to(p.graph.scalar<float>("sink"), {heads, 1, 1})}, -1);
  p.set_number("sink", 0.7f);
  p.output("out", tw::matmul(tw::slice(tw::softmax(with_sink, -1), -1, 0, n + 1), v), want, 2e-3);
  p.check_on_all();
}

TEST_CASE("graph programs: attention in f16, bf16 and f64") {
  const Attention a(1, 30, 34, 32, 16);
  const auto score = [](int, int, int, double s) { return s * 0.25; };
  const auto run = [&]<class T>(T, double tolerance) {
    Program p;
    const auto narrow = [](const std::vector<float>& x) {
      std::vector<T> y;
      for (float v : x) y.push_back(T(v));
      return y;
    };
    auto q = p.input("q", {30, 32}, narrow(a.q)), k = p.input("k", {34, 32}, narrow(a.k)), v = p.input("v", {34, 16}, narrow(a.v));
    Attention seen = a;
    for (std::vector<float>* x : {&seen.q, &seen.k, &seen.v})
      for (float& value : *x) value = static_cast<float>(number_of(T(value)));
    p.output("out", tw::matmul(tw::softmax(tw::matmul(q, tw::transpose(k)) * 0.25f, -1), v), seen.result(score), tolerance);
    p.check_on_all();
  };
  run(tw::f16(), 4e-3);
  run(tw::bf16(), 2e-2);
  run(double(), 1e-10);
}

TEST_CASE("graph programs: attention of wide heads fits GPUs with little shared memory") {
  const Attention a(1, 64, 72, 128, 128);
  const auto score = [](int, int, int, double s) { return s * 0.09; };
  const auto run = [&]<class T>(T, double tolerance) {
    Program p;
    Attention seen = a;
    for (std::vector<float>* x : {&seen.q, &seen.k, &seen.v})
      for (float& value : *x) value = static_cast<float>(number_of(T(value)));
    auto q = p.input("q", {64, 128}, rounded_to<T>(a.q)), k = p.input("k", {72, 128}, rounded_to<T>(a.k)),
         v = p.input("v", {72, 128}, rounded_to<T>(a.v));
    p.output("out", tw::matmul(tw::softmax(tw::matmul(q, tw::transpose(k)) * 0.09f, -1), v), seen.result(score), tolerance);
    for (const char* name : {"emulator:sm_86", "emulator:sm_100", "emulator:sm_120"}) {
      CAPTURE(name);
      tw::Device device = tw::Device::open(name);
      p.check_on(device);
    }
  };
  run(tw::f16(), 4e-3);
  run(float(), 4e-3);
}

// Scores whose product with log2(e) loses up to its last 8 bits: weights that are rounded to f16, or great values, need them.
TEST_CASE("graph programs: softmax of great scores, before narrow weights and before great values") {
  constexpr int m = 18, n = 70, d = 16;
  for (const float size : {1e6f, 1.7e8f, 6e8f, 3e38f})
    for (const float value : {1.0f, 1e31f}) {
      CAPTURE(size);
      CAPTURE(value);
      std::vector<float> scores, values;
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) scores.push_back(size * (1 - 0.015f * static_cast<float>(i)) * (j % 3 ? 0.875f : 1.0f));
      for (int j = 0; j < n * d; ++j) values.push_back(value * static_cast<float>(j / d % 7 + 1));
      std::vector<double> want;
      for (int i = 0; i < m; ++i)
        for (int c = 0; c < d; ++c) {
          double sum = 0, count = 0;
          for (int j = 0; j < n; j += 3) sum += values[static_cast<std::size_t>(j * d)], count += 1;
          want.push_back(sum / count);
        }
      Program p;
      auto x = p.input("x", {m, n}, scores);
      auto weights = tw::softmax(x, -1);
      if (value == 1)
        p.output("narrow", tw::matmul<float>(weights.to<tw::f16>(), p.input("v", {n, d}, rounded_to<tw::f16>(values))), want, 2e-3);
      else
        p.output("wide", tw::matmul(weights, p.input("v", {n, d}, values), tw::Precision::ieee), want, 2e-3);
      p.check_on_all();
    }
}

}  // namespace graph_program
