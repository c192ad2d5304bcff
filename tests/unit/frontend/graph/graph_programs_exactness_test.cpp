// Formulas that subtract numbers near to each other: fused or not, their results have the error of the formula as it is written.
#include <algorithm>
#include <numeric>

#include "tests/unit/frontend/graph/graph_program.h"
#include "tests/unit/frontend/graph/open_proof.h"

namespace graph_program {
namespace {

// Fused on each device, with many tiles, and node by node on a host.
struct Place {
  const char* device;
  int positions;  // more than one tile
};
constexpr Place kPlaces[] = {{"cpu", 3000}, {"emulator:sm_80", 400}};

void check_at(const Program& p, const Place& place) {
  tw::Device device = tw::Device::open(place.device);
  p.check_on(device);
  if (std::string(place.device) == "cpu") p.check_on(device, {.fuse = false});
}

// The weights of an average: a mask, a mask with a count of at least 1, numbers; or squares of all elements.
enum class Weights : std::uint8_t { mask, clamped_mask, numbers, mask_of_mean };

// Columns of `positions` elements, of which the first ones are hidden: one tile and more.
template <class T>
Program variance(Weights kind, int positions, float mean) {
  const int n = positions, columns = 64, hidden = n / 3;
  std::vector<float> hx = normal(static_cast<std::size_t>(n * columns), 1), hw = normal(static_cast<std::size_t>(n * columns), 2);
  for (float& x : hx) x += mean;
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < columns; ++c) {
      float& w = hw[static_cast<std::size_t>(i * columns + c)];
      w = i < hidden + c ? 0 : kind == Weights::numbers ? std::fabs(w) : 1;
    }
  const std::vector<T> narrow = rounded_to<T>(hx);
  Numbers want;
  for (int c = 0; c < columns; ++c) {
    double count = 0, sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i * columns + c);
      count += double(hw[at]), sum += double(hw[at]) * number_of(narrow[at]);
    }
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i * columns + c);
      const double d = number_of(narrow[at]) - sum / count;
      squares += (kind == Weights::mask_of_mean ? 1 : double(hw[at])) * d * d;
    }
    want.push_back(squares / count);
  }
  Program p;
  const tw::Dim rows = p.graph.dim("n");
  p.set_number("n", n);
  auto x = p.input("x", {rows, columns}, narrow).template to<float>();
  auto w = p.input("w", {rows, columns}, hw);
  auto mask = w > 0.0f;
  auto count = kind == Weights::numbers ? tw::sum(w, 0, true) : tw::sum(mask.template to<float>(), 0, true);
  if (kind == Weights::clamped_mask) count = tw::maximum(count, 1.0f);
  auto centred = x - tw::sum(kind == Weights::numbers ? w * x : tw::where(mask, x, 0.0f), 0, true) / count;
  auto squares = centred * centred;
  if (kind == Weights::numbers) squares = w * squares;
  if (kind == Weights::mask) squares = tw::where(mask, squares, 0.0f);
  if (kind == Weights::clamped_mask) {
    auto kept = tw::where(mask, centred, 0.0f);
    squares = kept * kept;
  }
  // The mean itself is off by 2^-24 of its magnitude; with other weights than those of the squares that is of first order.
  p.output("variance", tw::sum(squares, 0) / tw::squeeze(count, 0), want, mean < 1e4f ? 1e-5 : 1e-4);
  return p;
}

TEST_CASE("graph programs: a variance whose first tile is hidden") {
  for (const Place& place : kPlaces)
    for (const Weights kind : {Weights::mask, Weights::clamped_mask, Weights::numbers, Weights::mask_of_mean})
      for (const float mean : {1.0f, 100.0f, 1000.0f, 1e4f}) {
        CAPTURE(place.device);
        CAPTURE(int(kind));
        CAPTURE(mean);
        check_at(variance<float>(kind, place.positions, mean), place);
      }
  for (const Place& place : kPlaces) {
    CAPTURE(place.device);
    check_at(variance<tw::f16>(Weights::mask, place.positions, 1000), place);
    check_at(variance<tw::bf16>(Weights::numbers, place.positions, 100), place);
  }
}

TEST_CASE("graph programs: a variance with weights is one pass, since its shift follows the mean") {
  const Program p = variance<float>(Weights::numbers, 100, 1);
  for (const char* target : {"cpu", "sm_90a"}) {
    const tw::Plan plan = p.graph.compile(target);
    CHECK(plan.kernels().size() == 1);
    CHECK(plan.kernels()[0].passes == 1);
  }
}

TEST_CASE("graph programs: squares of the residuals of a line") {
  for (const Place& place : kPlaces) {
    CAPTURE(place.device);
    const int n = place.positions;
    std::vector<float> ht(static_cast<std::size_t>(n)), hy = normal(static_cast<std::size_t>(n), 3, 1e-3f);
    for (int i = 0; i < n; ++i) ht[i] = float(i) / 256, hy[i] += 5 + 3 * ht[i];
    const double mt = std::accumulate(ht.begin(), ht.end(), 0.0) / n, my = std::accumulate(hy.begin(), hy.end(), 0.0) / n;
    double tt = 0, ty = 0, squares = 0;
    for (int i = 0; i < n; ++i) tt += (ht[i] - mt) * (ht[i] - mt), ty += (ht[i] - mt) * (hy[i] - my);
    for (int i = 0; i < n; ++i) squares += std::pow(hy[i] - (my - ty / tt * mt) - ty / tt * ht[i], 2);
    Program p;
    auto t = p.input("t", {n}, ht), y = p.input("y", {n}, hy);
    auto from_t = t - tw::mean(t), from_y = y - tw::mean(y);
    auto slope = tw::sum(from_t * from_y) / tw::sum(from_t * from_t);
    auto residual = y - (tw::mean(y) - slope * tw::mean(t)) - slope * t;
    p.output("squares", tw::sum(residual * residual), {squares}, 2e-3);
    check_at(p, place);
  }
}

TEST_CASE("graph programs: squares of the residuals of a line through data far from 0, either way around") {
  for (const Place& place : kPlaces)
    for (const bool is_opposite : {false, true}) {
      CAPTURE(place.device);
      CAPTURE(is_opposite);
      const int n = place.positions;
      const std::vector<float> ht = normal(static_cast<std::size_t>(n), 3);
      std::vector<float> hy = normal(static_cast<std::size_t>(n), 4);
      for (float& y : hy) y += 1e4f;
      const double mt = std::accumulate(ht.begin(), ht.end(), 0.0) / n, my = std::accumulate(hy.begin(), hy.end(), 0.0) / n;
      double tt = 0, ty = 0, squares = 0;
      for (int i = 0; i < n; ++i) tt += (ht[i] - mt) * (ht[i] - mt), ty += (ht[i] - mt) * (hy[i] - my);
      for (int i = 0; i < n; ++i) squares += std::pow((hy[i] - my) - ty / tt * (ht[i] - mt), 2);
      Program p;
      auto t = p.input("t", {n}, ht), y = p.input("y", {n}, hy);
      auto from_t = t - tw::mean(t), from_y = y - tw::mean(y);
      auto on_line = tw::sum(from_t * from_y) / tw::sum(from_t * from_t) * from_t;
      auto residual = is_opposite ? on_line - from_y : from_y - on_line;
      p.output("squares", tw::sum(residual * residual), {squares}, 1e-5);
      check_at(p, place);
    }
}

TEST_CASE("graph programs: squares of data that is centred twice, of constant and of symbolic lengths") {
  for (const char* device_name : {"cpu", "emulator:sm_80"})
    for (const int n : {10, 70, 300})
      for (const bool is_symbolic : {false, true}) {
        CAPTURE(device_name);
        CAPTURE(n);
        CAPTURE(is_symbolic);
        std::vector<float> hy = normal(static_cast<std::size_t>(n), 3);
        for (float& y : hy) y += 1e4f;
        const double mean = std::accumulate(hy.begin(), hy.end(), 0.0) / n;
        double squares = 0;
        for (float y : hy) squares += std::pow(double(1.1f) * (double(y) - mean), 2);
        Program p;
        const tw::Dim extent = is_symbolic ? p.graph.dim("n") : tw::Dim(n);
        auto y = p.input("y", {extent}, hy);
        auto scaled = 1.1f * (y - tw::mean(y)), centred = scaled - tw::mean(scaled);
        p.output("squares", tw::sum(centred * centred), {squares}, 1e-5);
        tw::Device device = tw::Device::open(device_name);
        p.check_on(device);
      }
}

TEST_CASE("graph programs: the remainder of a Gram-Schmidt step") {
  for (const Place& place : kPlaces) {
    CAPTURE(place.device);
    const int n = place.positions;
    const auto hu = normal(static_cast<std::size_t>(n), 4);
    auto hv = normal(static_cast<std::size_t>(n), 5, 1e-2f);
    for (int i = 0; i < n; ++i) hv[i] += 3 * hu[i];
    double uu = 0, uv = 0, rr = 0;
    for (int i = 0; i < n; ++i) uu += double(hu[i]) * hu[i], uv += double(hu[i]) * hv[i];
    Numbers remainder;
    for (int i = 0; i < n; ++i) remainder.push_back(hv[i] - uv / uu * hu[i]), rr += remainder.back() * remainder.back();
    for (double& r : remainder) r /= std::sqrt(rr);
    Program p;
    auto u = p.input("u", {n}, hu), v = p.input("v", {n}, hv);
    auto unit = u * tw::rsqrt(tw::sum(u * u));
    auto rest = v - tw::sum(unit * v) * unit;
    p.output("next", rest * tw::rsqrt(tw::sum(rest * rest)), remainder, 1e-3);
    check_at(p, place);
  }
}

TEST_CASE("graph programs: a difference times a number is exact where the difference is") {
  const int n = 700;
  auto ha = normal(n + 2, 8, 1e-2f);
  for (float& x : ha) x += 1e4f;
  Numbers scaled, second;
  for (int i = 0; i < n; ++i) {
    scaled.push_back((double(ha[i + 1]) - ha[i]) * double(0.1f));
    second.push_back((double(ha[i + 2]) - 2 * double(ha[i + 1]) + ha[i]) / double(0.3f));
  }
  Program p;
  auto a = p.input("a", {n + 2}, ha);
  auto at = [&](int i) { return tw::slice(a, 0, i, n + i); };
  p.output("scaled", (at(1) - at(0)) * 0.1f, scaled, 1e-6);
  p.output("second", (at(2) - 2.0f * at(1) + at(0)) / 0.3f, second, 1e-6);
  p.check();
}

// Rows whose values lie about a mean that is far greater than their differences.
std::vector<Numbers> rows_of(const Numbers& all, int columns) {
  std::vector<Numbers> rows;
  for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(columns))
    rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at) + columns);
  return rows;
}
Numbers log_softmax_of(const Numbers& row) {
  const double most = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double v : row) sum += std::exp(v - most);
  Numbers all;
  for (double v : row) all.push_back(v - most - std::log(sum));
  return all;
}

template <class T>
struct MaximumFormula {
  std::string name;
  std::function<tw::Tensor<T>(tw::Tensor<T> x, tw::Tensor<T> z)> of;
  std::function<double(const Numbers& x, const Numbers& z)> want;
};
template <class F>
double sum_over(const Numbers& row, F term) {
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += term(i);
  return sum;
}
template <class T>
std::vector<MaximumFormula<T>> maximum_formulas() {
  return {
      {"entropy", [](auto x, auto) { return -tw::sum(tw::softmax(x, -1) * tw::log_softmax(x, -1), -1); },
       [](const Numbers& x, const Numbers&) {
         const Numbers l = log_softmax_of(x);
         return -sum_over(x, [&](std::size_t i) { return std::exp(l[i]) * l[i]; });
       }},
      {"divergence", [](auto x, auto z) { return tw::sum(tw::softmax(x, -1) * (tw::log_softmax(x, -1) - tw::log_softmax(z, -1)), -1); },
       [](const Numbers& x, const Numbers& z) {
         const Numbers l = log_softmax_of(x), k = log_softmax_of(z);
         return sum_over(x, [&](std::size_t i) { return std::exp(l[i]) * (l[i] - k[i]); });
       }},
      {"cross entropy with soft labels", [](auto x, auto z) { return -tw::sum(tw::softmax(z, -1) * tw::log_softmax(x, -1), -1); },
       [](const Numbers& x, const Numbers& z) {
         const Numbers l = log_softmax_of(x), k = log_softmax_of(z);
         return -sum_over(x, [&](std::size_t i) { return std::exp(k[i]) * l[i]; });
       }},
      {"mean of the logarithm", [](auto x, auto) { return tw::mean(tw::log_softmax(x, -1), -1); },
       [](const Numbers& x, const Numbers&) {
         const Numbers l = log_softmax_of(x);
         return sum_over(l, [&](std::size_t i) { return l[i]; }) / double(l.size());
       }},
      {"least logarithm", [](auto x, auto) { return tw::min(tw::log_softmax(x, -1), -1); },
       [](const Numbers& x, const Numbers&) {
         const Numbers l = log_softmax_of(x);
         return *std::min_element(l.begin(), l.end());
       }},
      {"variance of the logarithm",
       [](auto x, auto) {
         auto p = tw::softmax(x, -1), l = tw::log_softmax(x, -1);
         auto d = l - tw::sum(p * l, -1, true);
         return tw::sum(p * (d * d), -1);
       },
       [](const Numbers& x, const Numbers&) {
         const Numbers l = log_softmax_of(x);
         const double mean = sum_over(l, [&](std::size_t i) { return std::exp(l[i]) * l[i]; });
         return sum_over(l, [&](std::size_t i) { return std::exp(l[i]) * (l[i] - mean) * (l[i] - mean); });
       }},
      {"distance from a minimum and a mean",
       [](auto x, auto z) {
         auto w = z - tw::min(z, -1, true);
         return tw::mean(w * (x - tw::min(x, -1, true) + tw::mean(w, -1, true)), -1);
       },
       [](const Numbers& x, const Numbers& z) {
         const double least = *std::min_element(x.begin(), x.end()), other = *std::min_element(z.begin(), z.end());
         const double mean = sum_over(z, [&](std::size_t i) { return z[i] - other; }) / double(z.size());
         return sum_over(x, [&](std::size_t i) { return (z[i] - other) * (x[i] - least + mean) / double(z.size()); });
       }},
  };
}

template <class T>
void check_maxima(const Place& place, float mean, float deviation, double tolerance) {
  constexpr int kRows = 2;
  const int n = place.positions;
  const auto about_mean = [&](unsigned seed) {
    auto values = normal(static_cast<std::size_t>(kRows * n), seed, deviation);
    for (float& v : values) v += mean;
    return rounded_to<T>(values);
  };
  const std::vector<T> hx = about_mean(11), hz = about_mean(12);
  const std::vector<Numbers> rx = rows_of(numbers_of(hx), n), rz = rows_of(numbers_of(hz), n);
  for (const MaximumFormula<T>& f : maximum_formulas<T>()) {
    CAPTURE(f.name);
    Numbers want;
    for (int r = 0; r < kRows; ++r) want.push_back(f.want(rx[r], rz[r]));
    Program p;
    auto x = p.input("x", {kRows, n}, hx), z = p.input("z", {kRows, n}, hz);
    p.output("y", f.of(x, z), want, tolerance);
    tw::Device device = tw::Device::open(place.device);
    CHECK(p.check_on(device).kernels().size() == 1);
  }
}

// A maximum has no rounding error. In x - m - log l, the maximum m is subtracted from the data first, and not added to log l before.
TEST_CASE("graph programs: differences from a maximum are exact where the values are far from 0") {
  for (const Place& place : {Place{"cpu", 5000}, Place{"cpu", 40}, Place{"emulator:sm_80", 200}}) {
    CAPTURE(place.device);
    CAPTURE(place.positions);
    for (const float mean : {1e4f, -1e6f}) {
      CAPTURE(mean);
      check_maxima<float>(place, mean, 2, 2e-5);
    }
    check_maxima<double>(place, 1e6f, 2, 1e-13);
    check_maxima<tw::f16>(place, 1000, 4, 2e-3);
    check_maxima<tw::bf16>(place, 300, 6, 2e-2);
  }
}

// A maximum of 1e10 or 1e30: if a value is computed again in another order, it is far above its maximum, or far below.
template <class T>
void check_great_exponents(const Place& place, float scale) {
  constexpr int kRows = 3;
  const int n = place.positions;
  const std::vector<T> hx = rounded_to<T>(normal(static_cast<std::size_t>(kRows * n), 21));
  Numbers want(hx.size());
  for (int r = 0; r < kRows; ++r)
    want[static_cast<std::size_t>(std::max_element(hx.begin() + r * n, hx.begin() + (r + 1) * n) - hx.begin())] = 1;
  using Tensor = tw::Tensor<T>;
  const std::vector<std::pair<std::string, std::function<Tensor(Tensor)>>> formulas{
      {"softmax", [](Tensor x) { return tw::softmax(x, -1); }},
      {"norm", [](Tensor x) { return x * tw::rsqrt(tw::mean(x * x, -1, true)); }},
      {"centred", [](Tensor x) { return x - tw::mean(x, -1, true); }},
      {"logarithm", [](Tensor x) { return tw::log(tw::softmax(x, -1)); }},
  };
  for (const auto& [name, normalized] : formulas) {
    CAPTURE(name);
    Program p;
    auto x = p.input("x", {kRows, n}, hx);
    p.output("y", tw::softmax(normalized(x) * T(scale), -1), want, 1e-5);
    p.may_leave_open = true;
    tw::Device device = tw::Device::open(place.device);
    CHECK(is_exact_or_compares_nothing(p.check_on(device).proof()));
  }
}

TEST_CASE("graph programs: the maximum of a computed exponent is one of its values") {
  for (const Place& place : {Place{"cpu", 3000}, Place{"cpu", 37}, Place{"emulator:sm_80", 37}}) {
    CAPTURE(place.device);
    CAPTURE(place.positions);
    for (const float scale : {1e10f, 1e30f}) {
      CAPTURE(scale);
      check_great_exponents<float>(place, scale);
    }
    check_great_exponents<double>(place, 1e30f);
  }
}

// Sums of products of small integers have no rounding error in any order.
TEST_CASE("graph programs: sums of small integers are exact") {
  const int rows = 5, columns = 25;
  std::vector<float> hx(rows * columns), hz(rows * columns);
  for (int i = 0; i < rows * columns; ++i) hx[i] = static_cast<float>(i % 7 - 3), hz[i] = static_cast<float>(i * 5 % 11 - 3);
  const auto sums = [&](double c, double d) {
    Numbers all(columns);
    for (int i = 0; i < rows * columns; ++i) all[i % columns] += c * double(hx[i]) + d * double(hz[i]);
    return all;
  };
  const auto product = [&](const Numbers& s) {
    Numbers all(rows);
    for (int i = 0; i < rows * columns; ++i) all[i / columns] += double(hx[i]) * s[i % columns];
    return all;
  };
  Program p;
  auto n = p.graph.dim("n"), m = p.graph.dim("m");
  p.set_number("n", rows), p.set_number("m", columns);
  auto x = p.input("x", {n, m}, hx), z = p.input("z", {n, m}, hz);
  const auto times = [&](const tw::Tensor<float>& s) { return tw::matmul(x, tw::transpose(s), tw::Precision::ieee); };
  const auto sum = [](const tw::Tensor<float>& t) { return tw::sum(t, 0, true); };
  p.output("sums", times(3.0f * sum(x) + sum(z)), product(sums(3, 1)), 0);
  p.output("further sums", times(sum(x) - 7.0f * sum(z)), product(sums(1, -7)), 0);
  p.output("halves", times(2.5f * sum(x) + 0.75f * sum(z)), product(sums(2.5, 0.75)), 0);
  p.output("sum of terms", times(sum(3.0f * x + z)), product(sums(3, 1)), 0);
  p.output("other terms", times(sum(x * 6.0f - 10.0f * z)), product(sums(6, -10)), 0);
  p.check();
}

// Logits far from 0: what the loss adds to the greatest one has all digits, in one kernel.
template <class T>
void check_far_logits(const Place& place, float mean, float deviation, double tolerance) {
  const int rows = 5, classes = place.positions;
  std::vector<float> logits = normal(static_cast<std::size_t>(rows * classes), 31, deviation);
  for (float& x : logits) x += mean;
  const std::vector<T> narrow = rounded_to<T>(logits);
  const Numbers x = numbers_of(narrow);
  std::vector<int> targets;
  Numbers losses, logs;
  for (int r = 0; r < rows; ++r) {
    const auto row = x.begin() + r * classes, end = row + classes;
    targets.push_back(r * 7 % classes);
    const double greatest = *std::max_element(row, end);
    const double sum = std::accumulate(row, end, 0.0, [&](double s, double v) { return s + std::exp(v - greatest); });
    for (auto v = row; v != end; ++v) logs.push_back(*v - greatest - std::log(sum));
    losses.push_back(-logs[static_cast<std::size_t>(r * classes + targets.back())]);
  }
  Program loss, log;
  loss.output("loss", tw::cross_entropy(loss.input("x", {rows, classes}, narrow), loss.input("t", {rows}, targets)), losses, tolerance);
  log.output("log", tw::log_softmax(log.input("x", {rows, classes}, narrow), -1), logs, tolerance);
  check_at(loss, place);
  check_at(log, place);
  CHECK(loss.graph.compile(tw::Device::open(place.device)).kernels().size() == 1);
}

TEST_CASE("graph programs: cross entropy and log softmax of logits far from 0 have the digits of those near 0") {
  for (const Place& place : {Place{"cpu", 3000}, Place{"cpu", 37}, Place{"emulator:sm_80", 400}}) {
    CAPTURE(place.device);
    for (const float mean : {-1e6f, 0.0f, 1e4f, 1e6f}) {
      CAPTURE(mean);
      check_far_logits<float>(place, mean, 1, 2e-7);
      check_far_logits<double>(place, mean, 1, 2e-15);
      check_far_logits<tw::bf16>(place, mean, std::max(1.0f, std::fabs(mean) / 50), 8e-3);
    }
    for (const float mean : {0.0f, 1e4f}) check_far_logits<tw::f16>(place, mean, mean == 0 ? 1 : 8, 1e-3);
  }
}

// Two images: rows of one number, whose squares cancel exactly, and rows of -2 and 2. A small number keeps what divides away from 0.
template <class T>
void check_guards(float level, float guard, double tolerance, int columns, bool is_symbolic) {
  CAPTURE(columns);
  CAPTURE(is_symbolic);
  constexpr int kRows = 5;
  const double g = number_of(T(guard));
  std::vector<float> hx, hy;
  Numbers quotients, roots, similarities;
  for (int r = 0; r < kRows; ++r) {
    const bool is_level = r < 3;
    for (int c = 0; c < columns; ++c) {
      hx.push_back(is_level ? level * static_cast<float>(1 + r % 2) : c % 2 == 0 ? 2.0f : -2.0f);
      hy.push_back(is_level ? level : 0.0f);
    }
    const double mx = is_level ? level * (1 + r % 2) : 0, my = is_level ? level : 0, vx = is_level ? 0 : 4;
    quotients.push_back((mx + 1) / (vx + g));
    roots.push_back(1 / std::sqrt(vx + g));
    similarities.push_back((2 * mx * my + g) * g / ((mx * mx + my * my + g) * (vx + g)));
  }
  Program p;
  const tw::Dim n = is_symbolic ? p.graph.dim("n") : tw::Dim(columns);
  if (is_symbolic) p.set_number("n", columns);
  const auto x = p.input("x", {kRows, n}, rounded_to<T>(hx)), y = p.input("y", {kRows, n}, rounded_to<T>(hy));
  const auto mean = [&](const tw::Tensor<T>& t) { return tw::mean(t, 1); };
  const tw::Tensor<T> one = tw::full<T>(p.graph, {}, T(1)), c = tw::full<T>(p.graph, {}, T(guard));
  const auto mx = mean(x), my = mean(y);
  const auto vx = mean(x * x) - mx * mx, vy = mean(y * y) - my * my, vxy = mean(x * y) - mx * my;
  p.output("quotient", (mx + one) / (vx + c), quotients, tolerance);
  p.output("root", tw::rsqrt(c + vx), roots, tolerance);
  p.output("similarity", ((mx * my + mx * my + c) * (vxy + vxy + c)) / ((mx * mx + my * my + c) * ((vx + vy) + c)), similarities,
           tolerance);
  p.check();
}

TEST_CASE("graph programs: a number beside a difference of sums is added to the difference") {
  for (const int columns : {2, 64, 1024})
    for (const bool is_symbolic : {false, true}) {
      check_guards<float>(1024, 1e-3f, 1e-5, columns, is_symbolic);
      check_guards<double>(0x1p30f, 1e-3f, 1e-12, columns, is_symbolic);
      check_guards<tw::bf16>(1024, 1e-3f, 2e-2, columns, is_symbolic);
    }
}

}  // namespace
}  // namespace graph_program
