// Kernels that move elements: copy, transpose, dropout.
#include "tilewright/kernels/elements.h"

#include <cmath>

#include "frontend/cli/bench/kernel_row.h"
#include "tilewright/kernels/random.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

constexpr double kDropped = 0.25;
constexpr std::uint64_t kDropoutSeed = 1;

Problem copy(const Shape& s, ir::Element e) {
  Problem p;
  p.tensors = {random_input("x", e, s), result("y", e, s)};
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) { kernels::copy(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  });
  const std::int64_t n = s[1];
  p.reference = {"y", n, static_cast<double>(n), [n](const Values& v, std::int64_t row, std::span<double> to) {
                   for (std::int64_t i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = v.at("x")[row * n + i];
                 }};
  return p;
}

Problem transpose(const Shape& s, ir::Element e) {
  const std::int64_t m = s[0], n = s[1];
  Problem p;
  p.tensors = {random_input("x", e, s), result("y", e, {n, m})};
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) { kernels::transpose(t.view<const T, 2>("x"), t.view<T, 2>("y"), o); };
  });
  p.reference = {"y", m, static_cast<double>(m), [m, n](const Values& v, std::int64_t row, std::span<double> to) {
                   for (std::int64_t i = 0; i < m; ++i) to[static_cast<std::size_t>(i)] = v.at("x")[i * n + row];
                 }};
  return p;
}

/// An element is either 0 or x / (1 - p), and as many are 0 as p says.
void dropout_row(const Values& v, std::int64_t row, std::span<double> to) {
  const Reader x = v.at("x"), y = v.at("y");
  const auto n = static_cast<std::int64_t>(to.size());
  double zeros = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool dropped = y[row * n + i] == 0;
    zeros += dropped;
    to[static_cast<std::size_t>(i)] = dropped ? 0 : x[row * n + i] / (1 - kDropped);
  }
  const double expected = kDropped * static_cast<double>(n), deviation = std::sqrt(expected * (1 - kDropped));
  if (std::abs(zeros - expected) > 8 * deviation + 1) to[0] = NAN;  // no right answer
}

Problem dropout(const Shape& s, ir::Element e) {
  Problem p;
  p.tensors = {random_input("x", e, s), result("y", e, s)};
  with_float(e, [&]<class T>(std::type_identity<T>) {
    p.launch = [](DeviceTensors& t, const Options& o) {
      kernels::dropout(t.view<const T, 2>("x"), t.view<T, 2>("y"), kDropped, kDropoutSeed, o);
    };
  });
  p.reference = {"y", s[1], static_cast<double>(s[1]), dropout_row};
  return p;
}

}  // namespace

void add_elements(KernelRows& rows) {
  const DefaultShapes shapes{.emulator = {{32, 256}}, .cpu = {{1024, 1024}, {4096, 4096}}, .gpu = {{8192, 8192}, {8191, 8193}}};
  const std::vector<std::string> axes = {"ROWS", "N"};
  rows.push_back({"transpose", "y[j, i] = x[i, j]", axes, kFloatTypes, shapes, transpose});
  rows.push_back({"copy", "y = x", axes, kFloatTypes, shapes, copy});
  rows.push_back({"dropout", "y = x / (1 - p), or 0 with probability p = 1/4", axes, kFloatTypes, shapes, dropout});
}

}  // namespace tilewright::cli::bench
