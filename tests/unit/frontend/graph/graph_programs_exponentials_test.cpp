// Products of exponentials, and exponents of which one part is much greater than the other: each keeps the reference that it has in the
// formula, so that what is small beside scores of 1e6 is not lost in them.
#include <algorithm>
#include <type_traits>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 3;

// Data x, of which multiples are scores, numbers z near 1, and y near the scores: as tensors, and of one row.
template <class T>
struct Data {
  tw::Tensor<T> x, y, z;
  T scale;
};
struct Row {
  Numbers x, y, z;
  double scale;
};

Numbers logarithms_of_softmax(const Numbers& t) {
  const double most = *std::max_element(t.begin(), t.end());
  double sum = 0;
  for (double v : t) sum += std::exp(v - most);
  Numbers all;
  for (double v : t) all.push_back(v - most - std::log(sum));
  return all;
}

Numbers of_each(const Numbers& x, const Numbers& z, const std::function<double(double, double)>& f) {
  Numbers all;
  for (std::size_t i = 0; i < x.size(); ++i) all.push_back(f(x[i], z[i]));
  return all;
}
double sum_of(const Numbers& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}

// A formula, and its values for a row.
template <class T>
struct Formula {
  const char* name;
  std::function<tw::Tensor<T>(const Data<T>&)> of;
  std::function<Numbers(const Row&)> at;
};

double product_of_exponentials(double a, double b) { return std::exp(a) * std::exp(b); }

template <class T>
std::vector<Formula<T>> formulas() {
  using Given = const Data<T>&;
  const auto scores = [](const Row& r) { return of_each(r.x, r.x, [&](double x, double) { return x * r.scale; }); };
  const auto weights = [scores](const Row& r) { return logarithms_of_softmax(scores(r)); };
  const auto of_numbers = [](const Row& r) { return logarithms_of_softmax(r.z); };
  const auto times_exp = [=](const Row& r) { return of_each(weights(r), r.z, product_of_exponentials); };
  const auto of_both = [=](const Row& r) { return of_each(weights(r), of_numbers(r), product_of_exponentials); };
  return {
      {"sum of softmax(t) exp(z)", [](Given d) { return tw::sum(tw::softmax(d.x * d.scale, 1) * tw::exp(d.z), 1); },
       [=](const Row& r) { return Numbers{sum_of(times_exp(r))}; }},
      {"softmax(t) exp(z)", [](Given d) { return tw::softmax(d.x * d.scale, 1) * tw::exp(d.z); }, times_exp},
      {"sum of softmax(t) softmax(z)", [](Given d) { return tw::sum(tw::softmax(d.x * d.scale, 1) * tw::softmax(d.z, 1), 1); },
       [=](const Row& r) { return Numbers{sum_of(of_both(r))}; }},
      {"softmax(t) softmax(z)", [](Given d) { return tw::softmax(d.x * d.scale, 1) * tw::softmax(d.z, 1); }, of_both},
      {"softmax(t) softmax(z) over its sum",
       [](Given d) {
         const auto p = tw::softmax(d.x * d.scale, 1) * tw::softmax(d.z, 1);
         return p / tw::sum(p, 1, true);
       },
       [=](const Row& r) {
         const Numbers p = of_both(r);
         return of_each(p, p, [&](double v, double) { return v / sum_of(p); });
       }},
      {"exp(z + log_softmax(t))", [](Given d) { return tw::exp(d.z + tw::log_softmax(d.x * d.scale, 1)); }, times_exp},
      {"sum of exp(log_softmax(t) + log_softmax(z))",
       [](Given d) { return tw::sum(tw::exp(tw::log_softmax(d.x * d.scale, 1) + tw::log_softmax(d.z, 1)), 1); },
       [=](const Row& r) { return Numbers{sum_of(of_both(r))}; }},
      {"exp(t - max t) exp(z) exp(z)",
       [](Given d) {
         const auto t = d.x * d.scale;
         return tw::exp(t - tw::max(t, 1, true)) * tw::exp(d.z) * tw::exp(d.z);
       },
       [=](const Row& r) {
         const Numbers t = scores(r);
         const double most = *std::max_element(t.begin(), t.end());
         return of_each(t, r.z, [&](double v, double z) { return std::exp(v - most) * std::exp(2 * z); });
       }},
      {"exp(t - y) exp(z)", [](Given d) { return tw::exp(d.x * d.scale - d.y) * tw::exp(d.z); },
       [=](const Row& r) {
         const Numbers e = of_each(scores(r), r.y, [](double t, double y) { return std::exp(t - y); });
         return of_each(e, r.z, [](double v, double z) { return v * std::exp(z); });
       }},
  };
}

template <class T>
void check_formulas(double scale, int n, bool is_symbolic, double tolerance) {
  CAPTURE(scale);
  CAPTURE(n);
  CAPTURE(is_symbolic);
  // Products with the scale are exact, and each row has its greatest score twice.
  Numbers hx, hy, hz;
  const std::vector<float> x = normal(std::size_t(kRows * n), 1), z = normal(std::size_t(kRows * n), 2);
  for (int i = 0; i < kRows * n; ++i) {
    hx.push_back(std::clamp(std::round(x[std::size_t(i)] * 64), -150.0f, 150.0f) / 64);
    if (i % n == n / 2 || i % n == n - 1) hx.back() = 3;
    hy.push_back(number_of(T(float(hx.back() * scale + double(z[std::size_t(i)])))));
    hz.push_back(number_of(T(z[std::size_t(i)])));
  }
  const auto typed = [](const Numbers& values) {
    std::vector<T> all;
    for (double v : values) all.push_back(T(float(v)));
    if constexpr (std::is_same_v<T, double>) all.assign(values.begin(), values.end());
    return all;
  };
  for (const Formula<T>& f : formulas<T>()) {
    CAPTURE(f.name);
    Numbers want;
    for (int r = 0; r < kRows; ++r) {
      const auto row = [&](const Numbers& v) { return Numbers(v.begin() + r * n, v.begin() + (r + 1) * n); };
      const Numbers part = f.at({row(hx), row(hy), row(hz), scale});
      want.insert(want.end(), part.begin(), part.end());
    }
    Program p;
    const tw::Dim m = is_symbolic ? p.graph.dim("n") : tw::Dim(n);
    if (is_symbolic) p.set_number("n", n);
    const auto input = [&](const char* name, const Numbers& values) { return p.input(name, {kRows, m}, typed(values)); };
    p.output("result", f.of({input("x", hx), input("y", hy), input("z", hz), T(float(scale))}), want, tolerance);
    p.check();
  }
}

TEST_CASE("graph programs: what an exponential multiplies is not lost in great scores") {
  check_formulas<float>(1, 40, true, 2e-6);
  check_formulas<float>(300, 40, false, 2e-6);
  check_formulas<float>(1e4, 300, true, 2e-6);
  check_formulas<float>(1e6, 40, false, 2e-6);
}

TEST_CASE("graph programs: what an exponential multiplies is not lost in great scores of f16 and f64") {
  check_formulas<double>(1e6, 40, true, 1e-14);
  check_formulas<tw::f16>(256, 40, false, 4e-3);
}

}  // namespace
}  // namespace graph_program
