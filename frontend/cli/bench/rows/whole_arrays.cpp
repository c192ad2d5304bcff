// Kernels over whole arrays: reductions, scans, sorts, histograms, groups, compaction.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/compact.h"
#include "tilewright/kernels/group_by.h"
#include "tilewright/kernels/histogram.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/kernels/sort.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

constexpr auto kSum = [](auto a, auto b) { return a + b; };
using Summands = ElementTypes<float, f16, double, std::int32_t>;

/// The typical size of the sum of n numbers uniform in [-1, 1): its standard deviation.
double size_of_sum(std::int64_t n) { return std::sqrt(static_cast<double>(n) / 3); }

constexpr auto reduce = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0];
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("total", {1})};
  p.launch = [](DeviceTensors& t, const Options& o) { t.keep("total", kernels::reduce(t.view<const T, 1>("x"), kSum, T(0), o)); };
  Reference total = whole("total", 1, [n](const Values& v, std::span<double> to) {
    const Reader x = v.at("x");
    for (std::int64_t i = 0; i < n; ++i) to[0] += x[i];
  });
  total.terms = static_cast<double>(n), total.least_size = size_of_sum(n);
  p.references = {total};
  return p;
};

/// y = the sums along an axis of a matrix.
template <class T, int Axis>
Problem reduce_axis(const Shape& s) {
  const std::int64_t sums = s[1 - Axis], terms = s[Axis], step = Axis == 1 ? 1 : s[1], first = Axis == 1 ? s[1] : 1;
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("y", {sums})};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::reduce(t.view<const T, 2>("x"), Axis, t.view<T, 1>("y"), o); };
  p.references = {{.tensor = "y",
                   .rows = sums,
                   .operations_a_row = static_cast<double>(terms),
                   .row =
                       [=](const Values& v, std::int64_t row, std::span<double> to) {
                         const Reader x = v.at("x");
                         to[0] = 0;
                         for (std::int64_t i = 0; i < terms; ++i) to[0] += x[row * first + i * step];
                       },
                   .terms = static_cast<double>(terms)}};
  return p;
}

constexpr auto scan = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0];
  Problem p;
  p.tensors = {random_input<T>("x", s), result<T>("y", s)};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::scan(t.view<const T, 1>("x"), t.view<T, 1>("y"), kSum, T(0), o); };
  Reference sums = whole("y", n, [](const Values& v, std::span<double> to) {
    const Reader x = v.at("x");
    double sum = 0;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = sum += x[static_cast<std::int64_t>(i)];
  });
  sums.terms = static_cast<double>(n);
  p.references = {sums};
  return p;
};

/// Keys from the whole range of integers, or uniform in [-1, 1).
template <class T>
Tensor random_keys(const Shape& s) {
  if constexpr (std::is_integral_v<T>)
    return input<T>("keys", s, [seed = seed_of("keys")](std::int64_t i) { return scrambled(seed + static_cast<std::uint64_t>(i)); });
  else
    return random_input<T>("keys", s);
}

Reference sorted_keys(std::int64_t n) {
  return exactly(whole("sorted", n, [](const Values& v, std::span<double> to) {
    const Reader keys = v.at("keys");
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = keys[static_cast<std::int64_t>(i)];
    std::sort(to.begin(), to.end());
  }));
}

/// The values number the keys. They are right if each is the number of the key beside it and equal keys have ascending values; then no
/// value occurs twice.
void check_moved(const Values& v, std::span<double> to) {
  const Reader keys = v.at("keys"), sorted = v.at("sorted"), moved = v.at("moved");
  const auto n = static_cast<std::int64_t>(to.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = moved[i];
    const bool is_key = value >= 0 && value < static_cast<double>(n) && keys[static_cast<std::int64_t>(value)] == sorted[i];
    const bool is_stable = i == 0 || sorted[i - 1] < sorted[i] || moved[i - 1] < value;
    to[static_cast<std::size_t>(i)] = is_key && is_stable ? value : NAN;
  }
}

template <class T, bool WithValues>
Problem sort(const Shape& s) {
  const std::int64_t n = s[0];
  Problem p;
  p.tensors = {random_keys<T>(s), result<T>("sorted", s)};
  p.references = {sorted_keys(n)};
  if (WithValues) {
    p.tensors.push_back(input<std::int32_t>("values", s, [](std::int64_t i) { return i; }));
    p.tensors.push_back(result<std::int32_t>("moved", s));
    p.references.push_back(exactly({.tensor = "moved",
                                    .columns = n,
                                    .operations_a_row = static_cast<double>(n),
                                    .row = [](const Values& v, std::int64_t, std::span<double> to) { check_moved(v, to); }}));
  }
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::copy(t.view<const T, 1>("keys"), t.view<T, 1>("sorted"), o);
    if constexpr (WithValues) {
      kernels::copy(t.view<const std::int32_t, 1>("values"), t.view<std::int32_t, 1>("moved"), o);
      kernels::sort(t.view<T, 1>("sorted"), t.view<std::int32_t, 1>("moved"), false, o);
    } else {
      kernels::sort(t.view<T, 1>("sorted"), {}, false, o);
    }
  };
  return p;
}

constexpr auto histogram = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0], bins = s[1];
  Problem p;
  p.tensors = {random_below<T>("x", {n}, std::min(bins, std::int64_t{std::numeric_limits<T>::max()} + 1)),
               result<std::int32_t>("counts", {bins})};
  p.launch = [](DeviceTensors& t, const Options& o) { kernels::histogram(t.view<const T, 1>("x"), t.view<std::int32_t, 1>("counts"), o); };
  p.references = {exactly(whole("counts", bins, [n](const Values& v, std::span<double> to) {
    const Reader x = v.at("x");
    for (std::int64_t i = 0; i < n; ++i) ++to[static_cast<std::size_t>(x[i])];
  }))};
  return p;
};

constexpr auto group_by = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0], groups = s[1];
  Problem p;
  p.tensors = {random_below<std::int32_t>("keys", {n}, groups), random_input<T>("values", {n})};
  // It is known which keys exist, and so how many groups there must be.
  std::vector<bool> is_there(static_cast<std::size_t>(groups));
  const Reader keys(p.tensors[0].bytes.data(), ir::Element::i32);
  for (std::int64_t i = 0; i < n; ++i) is_there[static_cast<std::size_t>(keys[i])] = true;
  const std::int64_t count = std::count(is_there.begin(), is_there.end(), true);
  p.tensors.push_back(result<std::int32_t>("group_keys", {count}));
  p.tensors.push_back(result<T>("sums", {count}));
  p.launch = [](DeviceTensors& t, const Options& o) {
    auto got = kernels::group_by(t.view<const std::int32_t, 1>("keys"), t.view<const T, 1>("values"), kSum, o);
    t.keep("group_keys", std::move(got.keys));
    t.keep("sums", std::move(got.values));
  };
  Reference sums = whole("sums", count, [n, groups, is_there](const Values& v, std::span<double> to) {
    const Reader keys = v.at("keys"), values = v.at("values");
    std::vector<double> of_key(static_cast<std::size_t>(groups));
    for (std::int64_t i = 0; i < n; ++i) of_key[static_cast<std::size_t>(keys[i])] += values[i];
    for (std::size_t key = 0, at = 0; key < of_key.size(); ++key)
      if (is_there[key]) to[at++] = of_key[key];
  });
  sums.terms = static_cast<double>(n) / static_cast<double>(count);
  p.references = {exactly(whole("group_keys", count,
                                [is_there](const Values&, std::span<double> to) {
                                  for (std::size_t key = 0, at = 0; key < is_there.size(); ++key)
                                    if (is_there[key]) to[at++] = static_cast<double>(key);
                                })),
                  sums};
  return p;
};

constexpr auto compact = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0];
  Problem p;
  p.tensors = {random_input<T>("x", s), random_below<bool>("mask", s, 2), result<T>("y", s), result<std::int64_t>("count", {1})};
  const std::vector<std::byte>& mask = p.tensors[1].bytes;
  const std::int64_t kept = std::count(mask.begin(), mask.end(), std::byte{1});
  p.launch = [](DeviceTensors& t, const Options& o) {
    t.keep("count", kernels::compact(t.view<const T, 1>("x"), t.view<const bool, 1>("mask"), t.view<T, 1>("y"), o));
  };
  p.references = {exactly(whole("y", kept,
                                [n](const Values& v, std::span<double> to) {
                                  const Reader x = v.at("x"), mask = v.at("mask");
                                  for (std::int64_t i = 0, at = 0; i < n; ++i)
                                    if (mask[i] != 0) to[static_cast<std::size_t>(at++)] = x[i];
                                })),
                  exactly(whole("count", 1, [kept](const Values&, std::span<double> to) { to[0] = static_cast<double>(kept); }))};
  return p;
};

}  // namespace

void add_whole_arrays(KernelRows& rows) {
  const DefaultShapes lines{.emulator = {{5000}}, .cpu = {{1 << 20}, {1 << 24}}, .gpu = {{1 << 22}, {1 << 25}}};
  const DefaultShapes matrices{.emulator = {{32, 256}}, .cpu = {{4096, 1000}, {4096, 4096}}, .gpu = {{65536, 1024}, {16384, 16384}}};
  const DefaultShapes sorts{.emulator = {{3000}}, .cpu = {{1 << 20}, {1 << 22}}, .gpu = {{1 << 22}, {1 << 25}}};
  rows.push_back({"reduce", "total = the sum of x", {"N"}, lines, problems(Summands(), reduce)});
  rows.push_back({"reduce_rows",
                  "y = the sums of the rows of x",
                  {"ROWS", "N"},
                  matrices,
                  problems(Summands(), []<class T>(std::type_identity<T>, const Shape& s) { return reduce_axis<T, 1>(s); })});
  rows.push_back({"reduce_columns",
                  "y = the sums of the columns of x",
                  {"ROWS", "N"},
                  matrices,
                  problems(Summands(), []<class T>(std::type_identity<T>, const Shape& s) { return reduce_axis<T, 0>(s); })});
  rows.push_back({"scan", "y[i] = the sum of x[0] to x[i]", {"N"}, lines, problems(Summands(), scan)});
  rows.push_back({"sort",
                  "keys in ascending order, values with them, from copies of both",
                  {"N"},
                  sorts,
                  problems(Summands(), []<class T>(std::type_identity<T>, const Shape& s) { return sort<T, true>(s); }),
                  "integers over their whole range; values are the keys' numbers"});
  rows.push_back({"sort_keys",
                  "keys in ascending order, from a copy",
                  {"N"},
                  sorts,
                  problems(Summands(), []<class T>(std::type_identity<T>, const Shape& s) { return sort<T, false>(s); }),
                  "integers over their whole range"});
  rows.push_back({"histogram",
                  "counts[b] = how many elements of x are b",
                  {"N", "BINS"},
                  {.emulator = {{5000, 64}}, .cpu = {{1 << 24, 256}, {1 << 24, 65536}}, .gpu = {{1 << 26, 256}, {1 << 26, 65536}}},
                  problems(ElementTypes<std::int32_t, std::uint8_t>(), histogram),
                  "uniform over the bins; for u8 over at most 256 of them"});
  rows.push_back({"group_by",
                  "the different keys in order, and the sum of the values of each",
                  {"N", "GROUPS"},
                  {.emulator = {{3000, 40}}, .cpu = {{1 << 20, 1000}, {1 << 22, 100000}}, .gpu = {{1 << 22, 1000}, {1 << 25, 1 << 20}}},
                  problems(Summands(), group_by),
                  "keys of i32, uniform over GROUPS values"});
  rows.push_back({"compact",
                  "y = the elements of x whose mask is true, and their count",
                  {"N"},
                  lines,
                  problems(Summands(), compact),
                  "the mask is true for half of them, at random"});
}

}  // namespace tilewright::cli::bench
