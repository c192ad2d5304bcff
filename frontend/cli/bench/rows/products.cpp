// Matrix products: matmul and its variants, matvec, gated_mlp.
#include <algorithm>
#include <cmath>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/gated_mlp.h"
#include "tilewright/kernels/grouped_matmul.h"
#include "tilewright/kernels/matmul.h"
#include "tilewright/kernels/matmul_scaled.h"
#include "tilewright/kernels/matvec.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

/// The C++ type of the result of a product of T.
template <class T>
using ProductOf = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, T>;
using Factors = ElementTypes<float, f16, bf16, double, std::int8_t>;

double product_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// to = row a_row of matrix a, times matrix b from its row b_row on. a has k columns; b has one column for each element of `to`.
void add_up(const Reader& a, std::int64_t a_row, const Reader& b, std::int64_t b_row, std::int64_t k, std::span<double> to) {
  const auto n = static_cast<std::int64_t>(to.size());
  std::fill(to.begin(), to.end(), 0.0);
  for (std::int64_t i = 0; i < k; ++i) {
    const double factor = a[a_row * k + i];
    for (std::int64_t j = 0; j < n; ++j) to[static_cast<std::size_t>(j)] += factor * b[(b_row + i) * n + j];
  }
}

/// The reference of result `c` of `batch` products of a [m, k] and b [k, n]; `change` is applied to the sum of each column.
template <class F>
Reference product_of(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, F change) {
  return {.tensor = "c",
          .rows = batch * m,
          .columns = n,
          .operations_a_row = static_cast<double>(n * k),
          .row = [=](const Values& v, std::int64_t row, std::span<double> to) {
            add_up(v.at("a"), row, v.at("b"), row / m * k, k, to);
            for (std::int64_t j = 0; j < n; ++j) change(v, row, j, to[static_cast<std::size_t>(j)]);
          }};
}
constexpr auto kUnchanged = [](const Values&, std::int64_t, std::int64_t, double&) {};

constexpr auto matmul = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t m = s[0], n = s[1], k = s[2];
  Problem p;
  p.tensors = {random_input<T>("a", {m, k}), random_input<T>("b", {k, n}), result<ProductOf<T>>("c", {m, n})};
  p.flops = product_flops(m, n, k);
  p.multiplies = true;
  p.product = {"a", "b", "c", m, n, k};
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::matmul(t.view<const T, 2>("a"), t.view<const T, 2>("b"), t.view<ProductOf<T>, 2>("c"), o);
  };
  p.references = {product_of(1, m, n, k, kUnchanged)};
  return p;
};

constexpr auto matmul_bias_relu = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t m = s[0], n = s[1], k = s[2];
  Problem p;
  p.tensors = {random_input<T>("a", {m, k}), random_input<T>("b", {k, n}), random_input<T>("bias", {n}), result<T>("c", {m, n})};
  p.flops = product_flops(m, n, k);
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::matmul(
        t.view<const T, 2>("a"), t.view<const T, 2>("b"), t.view<T, 2>("c"),
        [](auto sum, auto, auto column, auto bias) {
          const auto added = load(bias.pointer({column.template to<std::int64_t>()}), column < bias.extent(0));
          return relu(sum + added.template to<kernels::Accumulator<T>>());
        },
        t.view<const T, 1>("bias"), o);
  };
  p.references = {product_of(1, m, n, k, [](const Values& v, std::int64_t, std::int64_t column, double& sum) {
    sum = std::max(sum + v.at("bias")[column], 0.0);
  })};
  return p;
};

constexpr auto matmul_batched = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t batch = s[0], m = s[1], n = s[2], k = s[3];
  Problem p;
  p.tensors = {random_input<T>("a", {batch, m, k}), random_input<T>("b", {batch, k, n}), result<ProductOf<T>>("c", {batch, m, n})};
  p.flops = product_flops(batch * m, n, k);
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::matmul(t.view<const T, 3>("a"), t.view<const T, 3>("b"), t.view<ProductOf<T>, 3>("c"), o);
  };
  p.references = {product_of(batch, m, n, k, kUnchanged)};
  return p;
};

constexpr auto matmul_scaled = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t m = s[0], n = s[1], k = s[2];
  Problem p;
  p.tensors = {random_input<T>("a", {m, k}), random_input<float>("a_scale", {m}), random_input<T>("b", {k, n}),
               random_input<float>("b_scale", {n}), result<float>("c", {m, n})};
  p.flops = product_flops(m, n, k);
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::matmul_scaled(t.view<const T, 2>("a"), t.view<const float, 1>("a_scale"), t.view<const T, 2>("b"),
                           t.view<const float, 1>("b_scale"), t.view<float, 2>("c"), o);
  };
  p.references = {product_of(1, m, n, k, [](const Values& v, std::int64_t row, std::int64_t column, double& sum) {
    sum *= v.at("a_scale")[row] * v.at("b_scale")[column];
  })};
  return p;
};

constexpr auto grouped_matmul = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t groups = s[0], rows = s[1], n = s[2], k = s[3];
  std::vector<std::int64_t> ends;
  for (std::int64_t g = 0; g + 1 < groups; ++g)
    ends.push_back(static_cast<std::int64_t>(scrambled(static_cast<std::uint64_t>(g)) % static_cast<std::uint64_t>(rows + 1)));
  ends.push_back(rows);
  std::sort(ends.begin(), ends.end());
  Problem p;
  p.tensors = {random_input<T>("a", {rows, k}), random_input<T>("b", {groups, k, n}),
               input<std::int32_t>("group_ends", {groups}, [&](std::int64_t g) { return ends[static_cast<std::size_t>(g)]; }),
               result<ProductOf<T>>("c", {rows, n})};
  p.flops = product_flops(rows, n, k);
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::grouped_matmul(t.view<const T, 2>("a"), t.view<const T, 3>("b"), t.view<const std::int32_t, 1>("group_ends"),
                            t.view<ProductOf<T>, 2>("c"), o);
  };
  p.references = {{.tensor = "c",
                   .rows = rows,
                   .columns = n,
                   .operations_a_row = static_cast<double>(n * k),
                   .row = [=](const Values& v, std::int64_t row, std::span<double> to) {
                     const std::int64_t group = std::upper_bound(ends.begin(), ends.end(), row) - ends.begin();
                     add_up(v.at("a"), row, v.at("b"), group * k, k, to);
                   }}};
  return p;
};

constexpr auto matvec = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t m = s[0], k = s[1];
  Problem p;
  p.tensors = {random_input<T>("a", {m, k}), random_input<T>("x", {k}), result<ProductOf<T>>("y", {m})};
  p.flops = product_flops(m, 1, k);
  p.multiplies = true;
  p.product = {"a", "x", "y", m, 1, k};
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::matvec(t.view<const T, 2>("a"), t.view<const T, 1>("x"), t.view<ProductOf<T>, 1>("y"), o);
  };
  p.references = {{.tensor = "y",
                   .rows = m,
                   .operations_a_row = static_cast<double>(k),
                   .row = [k](const Values& v, std::int64_t row, std::span<double> to) { add_up(v.at("a"), row, v.at("x"), 0, k, to); }}};
  return p;
};

/// Computes a row of (silu(x wg) * (x wu)) wd.
void gated_row(const Values& v, std::int64_t k, std::int64_t f, std::int64_t row, std::span<double> to) {
  std::vector<double> hidden(static_cast<std::size_t>(f)), up(hidden.size());
  add_up(v.at("x"), row, v.at("wg"), 0, k, hidden);
  add_up(v.at("x"), row, v.at("wu"), 0, k, up);
  for (std::size_t j = 0; j < hidden.size(); ++j) hidden[j] = hidden[j] / (1 + std::exp(-hidden[j])) * up[j];
  add_up(Reader(reinterpret_cast<const std::byte*>(hidden.data()), ir::Element::f64), 0, v.at("wd"), 0, f, to);
}

constexpr auto gated_mlp = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t m = s[0], k = s[1], f = s[2];
  Problem p;
  p.tensors = {random_input<T>("x", {m, k}), random_input<T>("wg", {k, f}), random_input<T>("wu", {k, f}), random_input<T>("wd", {f, k}),
               result<T>("out", {m, k})};
  p.flops = product_flops(m, k, 3 * f);
  p.multiplies = true;
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::gated_mlp(t.view<const T, 2>("x"), t.view<const T, 2>("wg"), t.view<const T, 2>("wu"), t.view<const T, 2>("wd"),
                       t.view<T, 2>("out"), o);
  };
  p.references = {{.tensor = "out",
                   .rows = m,
                   .columns = k,
                   .operations_a_row = static_cast<double>(3 * k * f),
                   .row = [k, f](const Values& v, std::int64_t row, std::span<double> to) { gated_row(v, k, f, row, to); }}};
  return p;
};

}  // namespace

void add_products(KernelRows& rows) {
  const DefaultShapes square{.emulator = {{64, 64, 64}, {128, 128, 256}},
                             .cpu = {{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {1000, 1000, 1000}},
                             .gpu = {{1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}, {4095, 4097, 4001}, {128, 8192, 8192}}};
  const DefaultShapes layers{
      .emulator = {{64, 64, 64}}, .cpu = {{512, 512, 512}, {1000, 1000, 1000}}, .gpu = {{4096, 4096, 4096}, {2048, 11008, 4096}}};
  rows.push_back({"matmul", "c = a b", {"M", "N", "K"}, square, problems(Factors(), matmul)});
  rows.push_back(
      {"matmul_bias_relu", "c = relu(a b + bias), in one kernel", {"M", "N", "K"}, layers, problems(Floats(), matmul_bias_relu)});
  rows.push_back({"matmul_batched",
                  "c = a b of each matrix of a batch",
                  {"BATCH", "M", "N", "K"},
                  {.emulator = {{2, 32, 64, 32}}, .cpu = {{64, 128, 128, 128}}, .gpu = {{64, 1024, 1024, 128}}},
                  problems(Factors(), matmul_batched)});
  rows.push_back({"matmul_scaled",
                  "c = (a b) * a_scale[row] * b_scale[column], c of f32",
                  {"M", "N", "K"},
                  layers,
                  problems(ElementTypes<std::int8_t, f8e4m3>(), matmul_scaled)});
  rows.push_back({"grouped_matmul",
                  "c[r] = a[r] b[g], rows of a in groups g",
                  {"GROUPS", "ROWS", "N", "K"},
                  {.emulator = {{3, 64, 32, 32}}, .cpu = {{8, 1024, 512, 256}}, .gpu = {{8, 8192, 4096, 4096}}},
                  problems(Factors(), grouped_matmul),
                  "ends of groups uniform over the rows"});
  rows.push_back({"matvec",
                  "y = a x",
                  {"M", "K"},
                  {.emulator = {{128, 256}}, .cpu = {{1024, 1024}, {4096, 4096}}, .gpu = {{4096, 4096}, {16384, 16384}}},
                  problems(Factors(), matvec)});
  rows.push_back({"gated_mlp",
                  "out = (silu(x wg) * (x wu)) wd",
                  {"M", "K", "F"},
                  {.emulator = {{64, 64, 128}}, .cpu = {{128, 512, 1024}}, .gpu = {{2048, 4096, 11008}}},
                  problems(Floats(), gated_mlp)});
}

}  // namespace tilewright::cli::bench
