// out = softmax(Q K^T * scale) V for each head, without ever holding the matrix of scores (flash attention). The ideas: views, which know
// their extents and so need no masks; two dots in one loop, with a softmax whose maximum and sum are carried along; and a plain C++ `if`,
// which decides what is compiled.
#include <algorithm>
#include <cmath>

#include "example.h"

namespace tw = tilewright;

struct Sizes {
  int queries = 64, keys = 64, depth = 64;
  bool causal = false;
};

// q, k, v, out: [heads, length, depth].
void attention(tw::View<const float, 3> q, tw::View<const float, 3> k, tw::View<const float, 3> v, tw::View<float, 3> out, tw::F32 scale,
               Sizes t) {
  auto first = tw::program_id(0) * t.queries, head = tw::program_id(1);
  auto length = q.extent(1).to<std::int32_t>();
  auto i = tw::column(first + tw::arange(0, t.queries));
  auto rows = tw::reshape(q.load({head, first, 0}, {1, t.queries, t.depth}), {t.queries, t.depth});

  auto biggest = tw::full<float>({t.queries}, -tw::inf);
  auto total = tw::zeros<float>({t.queries});
  auto sum = tw::zeros<float>({t.queries, t.depth});
  auto end = t.causal ? tw::minimum(first + t.queries, length) : length;
  for (auto at : tw::range(0, end, t.keys)) {
    auto j = tw::row(at + tw::arange(0, t.keys));
    auto keys = tw::reshape(k.load({head, at, 0}, {1, t.keys, t.depth}), {t.keys, t.depth});
    auto scores = tw::dot(rows, tw::transpose(keys)) * scale;
    auto seen = j < length;
    if (t.causal) seen = seen && j <= i;
    scores = tw::where(seen, scores, -tw::inf);

    auto bigger = tw::maximum(biggest, tw::max(scores, 1));
    auto weights = tw::exp(scores - tw::column(bigger));
    auto rescale = tw::exp(biggest - bigger);  // the sums so far are relative to a smaller maximum
    auto values = tw::reshape(v.load({head, at, 0}, {1, t.keys, t.depth}), {t.keys, t.depth});
    total = total * rescale + tw::sum(weights, 1);
    sum = tw::dot(weights, values, sum * tw::column(rescale));
    biggest = bigger;
  }
  out.store({head, first, 0}, tw::reshape(sum / tw::column(total), {1, t.queries, t.depth}));
}

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const Sizes t{.causal = true};
  const int heads = options.quick ? 2 : 8, length = options.quick ? 150 : 1024, depth = t.depth;
  const float scale = 1 / std::sqrt(float(depth));
  const std::size_t count = std::size_t(heads) * length * depth;
  const auto qs = example::normal(count, 10), ks = example::normal(count, 11), vs = example::normal(count, 12);
  std::vector<float> plain_out(count, NAN);
  std::vector<double> want(count);

  // One row of one head; Real is double for the reference and float for the plain loops.
  const auto attend = [&]<class Real>(std::vector<Real>& out, int begin, int end) {
    std::vector<Real> p(length), acc(depth);
    for (int at = begin; at < end; ++at) {
      const int last = t.causal ? at % length + 1 : length;
      const std::size_t head = std::size_t(at / length) * length * depth, row = std::size_t(at) * depth;
      for (int j = 0; j < last; ++j) {
        Real dot = 0;
        for (int c = 0; c < depth; ++c) dot += Real(qs[row + c]) * Real(ks[head + std::size_t(j) * depth + c]);
        p[j] = dot * scale;
      }
      const Real biggest = *std::max_element(p.begin(), p.begin() + last);
      Real total = 0;
      std::fill(acc.begin(), acc.end(), Real(0));
      for (int j = 0; j < last; ++j) {
        const Real weight = std::exp(p[j] - biggest);
        total += weight;
        for (int c = 0; c < depth; ++c) acc[c] += weight * Real(vs[head + std::size_t(j) * depth + c]);
      }
      for (int c = 0; c < depth; ++c) out[row + c] = acc[c] / total;
    }
  };
  example::parallel(heads * length, 1, [&](int begin, int end) { attend(want, begin, end); });

  tw::Device device = options.open();
  auto q = device.upload(qs), k = device.upload(ks), v = device.upload(vs);
  auto out = device.upload(std::vector<float>(count, NAN));
  const auto as_view = [&](tw::Buffer<float>& buffer) { return tw::view(buffer, {heads, length, depth}); };
  const auto q_view = as_view(q), k_view = as_view(k), v_view = as_view(v), out_view = as_view(out);
  tw::Kernel kernel("attention", attention);
  const double pairs = t.causal ? 0.5 * length * (length + 1.0) : double(length) * length;

  return example::report(
      options, device,
      {.kernel = "attention",
       .size = std::to_string(heads) + " x " + std::to_string(length) + " x " + std::to_string(depth) + " causal",
       .flops = 4.0 * heads * pairs * depth,
       .tolerance = 1e-3,  // a device that multiplies in tf32 reaches this
       .tile =
           [&] {
             kernel({.grid = {tw::cdiv(length, t.queries), heads}}, q_view, k_view, v_view, out_view, scale, t);
             device.synchronize();
           },
       .plain = [&] { example::parallel(heads * length, 1, [&](int begin, int end) { attend(plain_out, begin, end); }); },
       .tile_result = [&] { return out.download(); },
       .plain_result = [&] { return plain_out; },
       .want = want});
}
