// Matrix products: matmul, matvec, gated_mlp.
#include <cmath>

#include "frontend/cli/bench/kernel_row.h"
#include "tilewright/kernels/gated_mlp.h"
#include "tilewright/kernels/matmul.h"
#include "tilewright/kernels/matvec.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

ir::Element sum_type(ir::Element e) { return e == ir::Element::i8 ? ir::Element::i32 : e; }

/// The C++ type of the result of a product of T.
template <class T>
using ProductOf = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, T>;

/// Calls f with the C++ type of factors.
template <class F>
auto with_factor(ir::Element e, F&& f) {
  return e == ir::Element::i8 ? f(std::type_identity<std::int8_t>()) : with_float(e, f);
}

Problem matmul(const Shape& s, ir::Element e) {
  const std::int64_t m = s[0], n = s[1], k = s[2];
  Problem p;
  p.tensors = {random_input("a", e, {m, k}), random_input("b", e, {k, n}), result("c", sum_type(e), {m, n})};
  p.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  p.multiplies = true;
  with_factor(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::matmul(t.view<const T, 2>("a"), t.view<const T, 2>("b"), t.view<ProductOf<T>, 2>("c"), o);
    };
  });
  p.reference = {"c", n, static_cast<double>(n * k), [n, k](const Values& v, std::int64_t row, std::span<double> to) {
                   const Reader a = v.at("a"), b = v.at("b");
                   std::fill(to.begin(), to.end(), 0.0);
                   for (std::int64_t i = 0; i < k; ++i) {
                     const double factor = a[row * k + i];
                     for (std::int64_t j = 0; j < n; ++j) to[static_cast<std::size_t>(j)] += factor * b[i * n + j];
                   }
                 }};
  return p;
}

Problem matvec(const Shape& s, ir::Element e) {
  const std::int64_t m = s[0], k = s[1];
  Problem p;
  p.tensors = {random_input("a", e, {m, k}), random_input("x", e, {k}), result("y", sum_type(e), {m})};
  p.flops = 2.0 * static_cast<double>(m) * static_cast<double>(k);
  p.multiplies = true;
  with_factor(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::matvec(t.view<const T, 2>("a"), t.view<const T, 1>("x"), t.view<ProductOf<T>, 1>("y"), o);
    };
  });
  p.reference = {"y", 1, static_cast<double>(k), [k](const Values& v, std::int64_t row, std::span<double> to) {
                   const Reader a = v.at("a"), x = v.at("x");
                   to[0] = 0;
                   for (std::int64_t i = 0; i < k; ++i) to[0] += a[row * k + i] * x[i];
                 }};
  return p;
}

/// A row of (silu(x wg) * (x wu)) wd.
void gated_row(const Values& v, std::int64_t k, std::int64_t f, std::int64_t n, std::int64_t row, std::span<double> to) {
  const Reader x = v.at("x"), wg = v.at("wg"), wu = v.at("wu"), wd = v.at("wd");
  std::fill(to.begin(), to.end(), 0.0);
  std::vector<double> gate(static_cast<std::size_t>(f)), up(static_cast<std::size_t>(f));
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < f; ++j) {
      gate[static_cast<std::size_t>(j)] += x[row * k + i] * wg[i * f + j];
      up[static_cast<std::size_t>(j)] += x[row * k + i] * wu[i * f + j];
    }
  for (std::int64_t j = 0; j < f; ++j) {
    const double g = gate[static_cast<std::size_t>(j)], hidden = g / (1 + std::exp(-g)) * up[static_cast<std::size_t>(j)];
    for (std::int64_t c = 0; c < n; ++c) to[static_cast<std::size_t>(c)] += hidden * wd[j * n + c];
  }
}

Problem gated_mlp(const Shape& s, ir::Element e) {
  const std::int64_t m = s[0], k = s[1], f = s[2];
  Problem p;
  p.tensors = {random_input("x", e, {m, k}), random_input("wg", e, {k, f}), random_input("wu", e, {k, f}), random_input("wd", e, {f, k}),
               result("out", e, {m, k})};
  p.flops = 6.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(f);
  p.multiplies = true;
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::gated_mlp(t.view<const T, 2>("x"), t.view<const T, 2>("wg"), t.view<const T, 2>("wu"), t.view<const T, 2>("wd"),
                         t.view<T, 2>("out"), o);
    };
  });
  p.reference = {"out", k, static_cast<double>(3 * k * f),
                 [k, f](const Values& v, std::int64_t row, std::span<double> to) { gated_row(v, k, f, k, row, to); }};
  return p;
}

}  // namespace

void add_products(KernelRows& rows) {
  std::vector<ir::Element> types = kFloatTypes;
  types.push_back(ir::Element::i8);
  rows.push_back({"matmul",
                  "c = a b",
                  {"M", "N", "K"},
                  types,
                  {.emulator = {{64, 64, 64}, {128, 128, 256}},
                   .cpu = {{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {1000, 1000, 1000}},
                   .gpu = {{1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}, {4095, 4097, 4001}, {128, 8192, 8192}}},
                  matmul});
  rows.push_back({"matvec",
                  "y = a x",
                  {"M", "K"},
                  types,
                  {.emulator = {{128, 256}}, .cpu = {{1024, 1024}, {4096, 4096}}, .gpu = {{4096, 4096}, {16384, 16384}}},
                  matvec});
  rows.push_back({"gated_mlp",
                  "out = (silu(x wg) * (x wu)) wd",
                  {"M", "K", "F"},
                  kFloatTypes,
                  {.emulator = {{64, 64, 128}}, .cpu = {{128, 512, 1024}}, .gpu = {{2048, 4096, 11008}}},
                  gated_mlp});
}

}  // namespace tilewright::cli::bench
