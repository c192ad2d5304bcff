// Attention over whole sequences, one query at a time, and the rotary embedding before it.
#include "tilewright/kernels/attention.h"

#include <cmath>

#include "frontend/cli/bench/kernel_row.h"
#include "tilewright/kernels/decode_attention.h"
#include "tilewright/kernels/rotary.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

/// softmax(q k^T / sqrt(d)) v of the query in row `query` of q, over keys first_key .. first_key + keys of k and v.
void attend(const Values& v, std::int64_t query, std::int64_t first_key, std::int64_t keys, std::int64_t d, std::span<double> to,
            const char* k_name, const char* v_name) {
  const Reader q = v.at("q"), k = v.at(k_name), values = v.at(v_name);
  std::vector<double> scores(static_cast<std::size_t>(keys));
  double largest = -INFINITY, sum = 0;
  for (std::int64_t n = 0; n < keys; ++n) {
    double& score = scores[static_cast<std::size_t>(n)];
    for (std::int64_t i = 0; i < d; ++i) score += q[query * d + i] * k[(first_key + n) * d + i];
    score /= std::sqrt(static_cast<double>(d));
    largest = std::max(largest, score);
  }
  std::fill(to.begin(), to.end(), 0.0);
  for (std::int64_t n = 0; n < keys; ++n) {
    const double weight = std::exp(scores[static_cast<std::size_t>(n)] - largest);
    sum += weight;
    for (std::int64_t i = 0; i < d; ++i) to[static_cast<std::size_t>(i)] += weight * values[(first_key + n) * d + i];
  }
  for (double& x : to) x /= sum;
}

Problem attention(const Shape& s, ir::Element e, bool causal) {
  const std::int64_t length = s[2], d = s[3];
  Problem p;
  p.tensors = {random_input("q", e, s), random_input("k", e, s), random_input("v", e, s), result("out", e, s)};
  const double pairs = causal ? static_cast<double>(length) * static_cast<double>(length + 1) / 2 : static_cast<double>(length) * length;
  p.flops = 4.0 * static_cast<double>(s[0] * s[1]) * pairs * static_cast<double>(d);
  p.multiplies = true;
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [causal](DeviceTensors& t, const Options& o) {
      kernels::attention(t.view<const T, 4>("q"), t.view<const T, 4>("k"), t.view<const T, 4>("v"), t.view<T, 4>("out"), {.causal = causal},
                         o);
    };
  });
  p.reference = {"out", d, static_cast<double>(2 * length * d), [=](const Values& v, std::int64_t row, std::span<double> to) {
                   attend(v, row, row / length * length, causal ? row % length + 1 : length, d, to, "k", "v");
                 }};
  return p;
}

Problem decode_attention(const Shape& s, ir::Element e) {
  const std::int64_t batch = s[0], heads = s[1], keys = s[2], d = s[3];
  Problem p;
  p.tensors = {random_input("q", e, {batch, heads, d}), random_input("k_cache", e, s), random_input("v_cache", e, s),
               integer_input("lengths", {batch}, [keys](std::int64_t) { return keys; }), result("out", e, {batch, heads, d})};
  p.flops = 4.0 * static_cast<double>(batch * heads) * static_cast<double>(keys * d);
  p.multiplies = true;
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::decode_attention(t.view<const T, 3>("q"), t.view<const T, 4>("k_cache"), t.view<const T, 4>("v_cache"),
                                t.view<const std::int32_t, 1>("lengths"), t.view<T, 3>("out"), {}, o);
    };
  });
  p.reference = {"out", d, static_cast<double>(2 * keys * d), [=](const Values& v, std::int64_t row, std::span<double> to) {
                   attend(v, row, row * keys, keys, d, to, "k_cache", "v_cache");
                 }};
  return p;
}

Problem rotary(const Shape& s, ir::Element e) {
  const std::int64_t length = s[2], d = s[3];
  Problem p;
  Tensor x = random_input("x", e, s);
  x.written = true;  // in place
  p.bytes = 2.0 * static_cast<double>(x.bytes.size());
  p.tensors = {std::move(x), integer_input("positions", {length}, [](std::int64_t i) { return i; })};
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::rotary(t.view<T, 4>("x"), t.view<const std::int32_t, 1>("positions"), 10000, o);
    };
  });
  p.reference = {"x", d, static_cast<double>(10 * d), [length, d](const Values& v, std::int64_t row, std::span<double> to) {
                   const Reader x = v.at("x before");
                   const double position = v.at("positions")[row % length];
                   for (std::int64_t i = 0; i < d / 2; ++i) {
                     const double angle = position * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
                     const double a = x[row * d + i], b = x[row * d + i + d / 2];
                     to[static_cast<std::size_t>(i)] = a * std::cos(angle) - b * std::sin(angle);
                     to[static_cast<std::size_t>(i + d / 2)] = b * std::cos(angle) + a * std::sin(angle);
                   }
                 }};
  return p;
}

std::string head_too_large(const Shape& s) { return s[3] <= 256 ? "" : "D is at most 256"; }

}  // namespace

void add_attention(KernelRows& rows) {
  const std::vector<std::string> axes = {"BATCH", "HEADS", "LENGTH", "D"};
  const DefaultShapes shapes{.emulator = {{1, 1, 64, 32}},
                             .cpu = {{1, 8, 256, 64}, {1, 8, 1024, 64}},
                             .gpu = {{4, 32, 1024, 64}, {4, 32, 2048, 128}, {1, 16, 8192, 128}}};
  rows.push_back({"attention", "out = softmax(q k^T / sqrt(D)) v", axes, kFloatTypes, shapes,
                  [](const Shape& s, ir::Element e) { return attention(s, e, false); }, head_too_large});
  rows.push_back({"attention_causal", "the same, each query sees the keys up to its own", axes, kFloatTypes, shapes,
                  [](const Shape& s, ir::Element e) { return attention(s, e, true); }, head_too_large});
  rows.push_back(
      {"decode_attention",
       "the same for one query a sequence, with LENGTH keys in a cache",
       axes,
       kFloatTypes,
       {.emulator = {{1, 2, 128, 32}}, .cpu = {{4, 8, 1024, 64}, {1, 8, 8192, 128}}, .gpu = {{16, 32, 4096, 128}, {1, 32, 65536, 128}}},
       decode_attention,
       head_too_large});
  rows.push_back({"rotary",
                  "rotary position embedding of x, in place",
                  axes,
                  kFloatTypes,
                  {.emulator = {{1, 2, 32, 32}}, .cpu = {{1, 8, 2048, 64}}, .gpu = {{4, 32, 4096, 128}}},
                  rotary,
                  [](const Shape& s) { return s[3] % 2 == 0 ? "" : "D is even"; }});
}

}  // namespace tilewright::cli::bench
