// Scores of great magnitude that are products as they are written: softmax, logsumexp and averages subtract their maximum, which is one of
// them. A score that is rounded in another way than its maximum is far from it: a unit in the last place of 1e10 is 1024.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"
#include "tests/unit/frontend/graph/open_proof.h"

namespace graph_program {
namespace {

constexpr int kRows = 3, kInner = 3;

// Rows of data, a number for each row, a number for each column, queries and keys.
template <class T>
struct Data {
  tw::Tensor<T> x, of_row, of_column, queries, keys;
};
// The result at one place, with the mean and the maximum of its row.
struct Place {
  double x, of_row, of_column, dot, mean, most;
};

template <class T>
struct Scores {
  const char* name;
  std::function<tw::Tensor<T>(const Data<T>&, T)> of;
  std::function<double(const Place&, double)> at;
};

template <class T>
std::vector<Scores<T>> scores() {
  using Given = const Data<T>&;
  using At = const Place&;
  const auto dot = [](Given d) { return tw::matmul(d.queries, tw::transpose(d.keys), tw::Precision::ieee); };
  return {
      {"x c", [](Given d, T c) { return d.x * c; }, [](At p, double c) { return p.x * c; }},
      {"x / t", [](Given d, T c) { return d.x / (T(1) / c); }, [](At p, double c) { return p.x * c; }},
      {"x s", [](Given d, T) { return d.x * d.of_row; }, [](At p, double) { return p.x * p.of_row; }},
      {"x / s", [](Given d, T) { return d.x / (T(1) / d.of_row); }, [](At p, double) { return p.x * p.of_row; }},
      {"c x + b", [](Given d, T c) { return d.x * c + d.of_column; }, [](At p, double c) { return p.x * c + p.of_column; }},
      {"s x + b", [](Given d, T) { return d.x * d.of_row + d.of_column; }, [](At p, double) { return p.x * p.of_row + p.of_column; }},
      {"(x - mean) c", [](Given d, T c) { return (d.x - tw::mean(d.x, 1, true)) * c; }, [](At p, double c) { return (p.x - p.mean) * c; }},
      {"(x - max) s", [](Given d, T) { return (d.x - tw::max(d.x, 1, true)) * d.of_row; },
       [](At p, double) { return (p.x - p.most) * p.of_row; }},
      {"q k c", [dot](Given d, T c) { return dot(d) * c; }, [](At p, double c) { return p.dot * c; }},
      {"q k s", [dot](Given d, T) { return dot(d) * d.of_row; }, [](At p, double) { return p.dot * p.of_row; }},
  };
}

template <class T>
std::vector<T> values(int count, unsigned seed, double size) {
  std::vector<T> all;
  for (float v : normal(static_cast<std::size_t>(count), seed)) all.push_back(T(size * double(v)));
  return all;
}

// The greatest score is all that counts.
template <class T>
void check_scores(const char* device_name, int n, double scale, const tw::PlanOptions& options) {
  const auto hx = values<T>(kRows * n, 1, 1), hb = values<T>(n, 3, scale), hq = values<T>(kRows * kInner, 4, 1),
             hk = values<T>(n * kInner, 5, 1);
  std::vector<T> hs = values<T>(kRows, 2, scale);
  for (T& s : hs) s = std::fabs(s);
  tw::Device device = tw::Device::open(device_name);
  for (const Scores<T>& s : scores<T>()) {
    CAPTURE(s.name);
    Numbers weights, logarithms, averages;
    for (int r = 0; r < kRows; ++r) {
      Numbers t;
      Place p{0, double(hs[r]), 0, 0, 0, *std::max_element(hx.begin() + r * n, hx.begin() + (r + 1) * n)};
      for (int i = 0; i < n; ++i) p.mean += double(hx[r * n + i]) / n;
      for (int i = 0; i < n; ++i) {
        p.x = hx[r * n + i], p.of_column = hb[i], p.dot = 0;
        for (int k = 0; k < kInner; ++k) p.dot += double(hq[r * kInner + k]) * double(hk[i * kInner + k]);
        t.push_back(s.at(p, scale));
      }
      const auto most = std::max_element(t.begin(), t.end()) - t.begin();
      for (int i = 0; i < n; ++i) weights.push_back(i == most ? 1 : 0);
      for (int k = 0; k < kInner; ++k) averages.push_back(hk[most * kInner + k]);
      logarithms.push_back(t[most] / scale);
    }
    Program p;
    const tw::Dim m = p.graph.dim("n");
    p.set_number("n", n);
    const Data<T> d{p.input("x", {kRows, m}, hx), p.input("s", {kRows, 1}, hs), p.input("b", {1, m}, hb), p.input("q", {kRows, kInner}, hq),
                    p.input("k", {m, kInner}, hk)};
    const auto t = s.of(d, T(scale));
    p.output("weights", tw::softmax(t, 1), weights, 1e-5);
    p.output("logarithm", tw::logsumexp(t, 1) * T(1 / scale), logarithms, 1e-5);
    p.output("average", tw::matmul(tw::softmax(t, 1), d.keys, tw::Precision::ieee), averages, 1e-5);
    p.may_leave_open = true;
    CHECK(is_exact_or_compares_nothing(p.check_on(device, options).proof()));
  }
}

TEST_CASE("graph programs: great scores are rounded as their maximum is") {
  struct Case {
    const char* device;
    int positions;  // positions in a row: one tile, or many
  };
  for (const Case& c : {Case{"cpu", 3000}, Case{"cpu", 37}, Case{"emulator:sm_80", 300}})
    for (const bool reassociate : {true, false}) {
      CAPTURE(c.device);
      CAPTURE(c.positions);
      CAPTURE(reassociate);
      check_scores<float>(c.device, c.positions, 1e10, {.reassociate = reassociate});
      if (c.positions > 1000) check_scores<float>(c.device, c.positions, 1e17, {.reassociate = reassociate});
      check_scores<double>(c.device, c.positions, 1e30, {.reassociate = reassociate});
    }
}

}  // namespace
}  // namespace graph_program
