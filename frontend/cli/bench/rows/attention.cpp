// Attention over whole sequences, attention of one query at a time, and the rotary embedding before them.
#include "tilewright/kernels/attention.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/decode_attention.h"
#include "tilewright/kernels/rotary.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

/// Maps a key that a query sees to the row of its key and value in matrices with d columns.
using KeyRow = std::function<std::int64_t(std::int64_t key)>;

/// softmax(q k^T / sqrt(d)) v for the query in row `query` of q, over `keys` keys.
void attend(const Values& v, std::int64_t query, const KeyRow& row_of, std::int64_t keys, std::span<double> to, const char* k_name,
            const char* v_name) {
  const Reader q = v.at("q"), k = v.at(k_name), values = v.at(v_name);
  const auto d = static_cast<std::int64_t>(to.size());
  std::vector<double> scores(static_cast<std::size_t>(keys));
  double largest = -INFINITY, sum = 0;
  for (std::int64_t n = 0; n < keys; ++n) {
    double& score = scores[static_cast<std::size_t>(n)];
    for (std::int64_t i = 0; i < d; ++i) score += q[query * d + i] * k[row_of(n) * d + i];
    score /= std::sqrt(static_cast<double>(d));
    largest = std::max(largest, score);
  }
  std::fill(to.begin(), to.end(), 0.0);
  for (std::int64_t n = 0; n < keys; ++n) {
    const double weight = std::exp(scores[static_cast<std::size_t>(n)] - largest);
    sum += weight;
    for (std::int64_t i = 0; i < d; ++i) to[static_cast<std::size_t>(i)] += weight * values[row_of(n) * d + i];
  }
  for (double& x : to) x /= sum;
}

template <class T, bool Causal>
Problem attention(const Shape& s) {
  const std::int64_t length = s[2], d = s[3];
  Problem p;
  p.tensors = {random_input<T>("q", s), random_input<T>("k", s), random_input<T>("v", s), result<T>("out", s)};
  const double keys = Causal ? static_cast<double>(length + 1) / 2 : static_cast<double>(length);
  p.flops = 4.0 * static_cast<double>(elements_of(s)) * keys;
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::attention(t.view<const T, 4>("q"), t.view<const T, 4>("k"), t.view<const T, 4>("v"), t.view<T, 4>("out"), {.causal = Causal},
                       o);
  };
  p.references = {{.tensor = "out",
                   .rows = elements_of(s) / d,
                   .columns = d,
                   .operations_a_row = static_cast<double>(2 * length * d),
                   .row = [=](const Values& v, std::int64_t row, std::span<double> to) {
                     const auto row_of = [=](std::int64_t key) { return row / length * length + key; };
                     attend(v, row, row_of, Causal ? row % length + 1 : length, to, "k", "v");
                   }}};
  return p;
}

constexpr std::int64_t kPageSize = 16;  // keys in a page

/// One query for each sequence. Keys are in the caches in order, or in pages in arbitrary order.
template <class T, bool Paged>
Problem decode_attention(const Shape& s) {
  const std::int64_t batch = s[0], heads = s[1], keys = s[2], d = s[3], pages = Paged ? keys / kPageSize : 1, size = keys / pages;
  // Page p is at position p * step modulo the number of pages, where step and that number have no common divisor. Without pages, keys are in
  // order.
  const std::int64_t all = batch * pages;
  std::int64_t step = Paged ? all / 2 + 1 : 1;
  while (std::gcd(step, all) != 1) ++step;
  const auto position_of_page = [=](std::int64_t sequence, std::int64_t page) { return (sequence * pages + page) * step % all; };
  const Shape cache = {all, heads, size, d};
  Problem p;
  p.tensors = {random_input<T>("q", {batch, heads, d}), random_input<T>("k_cache", cache), random_input<T>("v_cache", cache),
               input<std::int32_t>("lengths", {batch}, [keys](std::int64_t) { return keys; }), result<T>("out", {batch, heads, d})};
  if (Paged)
    p.tensors.push_back(
        input<std::int32_t>("pages", {batch, pages}, [=](std::int64_t i) { return position_of_page(i / pages, i % pages); }));
  p.flops = 4.0 * static_cast<double>(batch * heads) * static_cast<double>(keys * d);
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::DecodeOptions decode;
    if (Paged) decode.pages = t.view<const std::int32_t, 2>("pages");
    kernels::decode_attention(t.view<const T, 3>("q"), t.view<const T, 4>("k_cache"), t.view<const T, 4>("v_cache"),
                              t.view<const std::int32_t, 1>("lengths"), t.view<T, 3>("out"), decode, o);
  };
  p.references = {{.tensor = "out",
                   .rows = batch * heads,
                   .columns = d,
                   .operations_a_row = static_cast<double>(2 * keys * d),
                   .row = [=](const Values& v, std::int64_t row, std::span<double> to) {
                     const auto row_of = [=](std::int64_t key) {
                       return (position_of_page(row / heads, key / size) * heads + row % heads) * size + key % size;
                     };
                     attend(v, row, row_of, keys, to, "k_cache", "v_cache");
                   }}};
  return p;
}

constexpr auto rotary = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t length = s[2], d = s[3];
  Problem p;
  Tensor x = changed(random_input<T>("x", s));
  p.bytes = 2.0 * static_cast<double>(x.bytes.size());
  p.tensors = {std::move(x), input<std::int32_t>("positions", {length}, [](std::int64_t i) { return i; })};
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::rotary(t.view<T, 4>("x"), t.view<const std::int32_t, 1>("positions"), 10000, o);
  };
  p.references = {{.tensor = "x",
                   .rows = elements_of(s) / d,
                   .columns = d,
                   .operations_a_row = static_cast<double>(10 * d),
                   .row = [length, d](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader before = v.at("x before");
                     const double position = v.at("positions")[row % length];
                     for (std::int64_t i = 0; i < d / 2; ++i) {
                       const double angle = position * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
                       const double a = before[row * d + i], b = before[row * d + i + d / 2];
                       to[static_cast<std::size_t>(i)] = a * std::cos(angle) - b * std::sin(angle);
                       to[static_cast<std::size_t>(i + d / 2)] = b * std::cos(angle) + a * std::sin(angle);
                     }
                   }}};
  return p;
};

std::string head_too_large(const Shape& s) { return s[3] <= 256 ? "" : "D is at most 256"; }

}  // namespace

void add_attention(KernelRows& rows) {
  const std::vector<std::string> axes = {"BATCH", "HEADS", "LENGTH", "D"};
  const DefaultShapes shapes{.emulator = {{1, 1, 64, 32}},
                             .cpu = {{1, 8, 256, 64}, {1, 8, 1024, 64}},
                             .gpu = {{4, 32, 1024, 64}, {4, 32, 2048, 128}, {1, 16, 8192, 128}}};
  const auto attention_of = []<bool Causal>(std::bool_constant<Causal>) {
    return problems(Floats(), []<class T>(std::type_identity<T>, const Shape& s) { return attention<T, Causal>(s); });
  };
  rows.push_back({"attention", "out = softmax(q k^T / sqrt(D)) v", axes, shapes, attention_of(std::false_type()), {}, head_too_large});
  rows.push_back({"attention_causal",
                  "the same, each query sees the keys up to its own",
                  axes,
                  shapes,
                  attention_of(std::true_type()),
                  {},
                  head_too_large});
  const DefaultShapes caches{
      .emulator = {{1, 2, 128, 32}}, .cpu = {{4, 8, 1024, 64}, {1, 8, 8192, 128}}, .gpu = {{16, 32, 4096, 128}, {1, 32, 65536, 128}}};
  const auto decode_of = []<bool Paged>(std::bool_constant<Paged>) {
    return problems(Floats(), []<class T>(std::type_identity<T>, const Shape& s) { return decode_attention<T, Paged>(s); });
  };
  rows.push_back({"decode_attention",
                  "attention of one query a sequence, with LENGTH keys in a cache",
                  axes,
                  caches,
                  decode_of(std::false_type()),
                  {},
                  head_too_large});
  rows.push_back({"decode_attention_paged", "the same with a cache in pages of 16 keys", axes, caches, decode_of(std::true_type()),
                  "pages in any order",
                  [](const Shape& s) { return s[2] % kPageSize == 0 ? head_too_large(s) : "LENGTH is a multiple of 16"; }});
  rows.push_back({"rotary",
                  "rotary position embedding of x, in place",
                  axes,
                  {.emulator = {{1, 2, 32, 32}}, .cpu = {{1, 8, 2048, 64}}, .gpu = {{4, 32, 4096, 128}}},
                  problems(Floats(), rotary),
                  {},
                  [](const Shape& s) { return s[3] % 2 == 0 ? "" : "D is even"; }});
}

}  // namespace tilewright::cli::bench
