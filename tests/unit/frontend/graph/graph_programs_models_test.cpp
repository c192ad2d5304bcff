// Pieces of models beside attention: recurrent steps, products of several tensors, positions, gates, metrics.
#include <algorithm>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

using Index = std::size_t;

/// Row-major a [m, k] times b [k, n].
Numbers product(const Numbers& a, const std::vector<float>& b, int m, int k, int n) {
  Numbers c(static_cast<Index>(m * n));
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * double(b[l * n + j]);
  return c;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("graph programs: three steps of a recurrent cell with gates") {
  const int batch = 5, d = 12, hidden = 16, steps = 3;
  const auto hx = normal(steps * batch * d, 1), hw = normal(d * 3 * hidden, 2, 0.3f), hu = normal(hidden * 3 * hidden, 3, 0.3f),
             hb = normal(3 * hidden, 4);
  Numbers h(batch * hidden);
  for (int t = 0; t < steps; ++t) {
    const Numbers xt(hx.begin() + t * batch * d, hx.begin() + (t + 1) * batch * d);
    const Numbers a = product(xt, hw, batch, d, 3 * hidden), b = product(h, hu, batch, hidden, 3 * hidden);
    for (int i = 0; i < batch; ++i)
      for (int j = 0; j < hidden; ++j) {
        const auto at = [&](int gate) { return i * 3 * hidden + gate * hidden + j; };
        const double z = sigmoid(a[at(0)] + b[at(0)] + hb[j]), r = sigmoid(a[at(1)] + b[at(1)] + hb[hidden + j]);
        const double n = std::tanh(a[at(2)] + hb[2 * hidden + j] + r * b[at(2)]);
        h[i * hidden + j] = (1 - z) * n + z * h[i * hidden + j];
      }
  }
  Program p;
  auto x = p.input("x", {steps, batch, d}, hx);
  auto w = p.input("w", {d, 3 * hidden}, hw), u = p.input("u", {hidden, 3 * hidden}, hu), bias = p.input("b", {3 * hidden}, hb);
  auto state = tw::full<float>(p.graph, {batch, hidden}, 0.0f);
  for (int t = 0; t < steps; ++t) {
    auto a = tw::matmul(tw::squeeze(tw::slice(x, 0, t, t + 1), 0), w) + bias, b = tw::matmul(state, u);
    const auto gate = [&](auto v, int i) { return tw::slice(v, 1, i * hidden, (i + 1) * hidden); };
    auto z = tw::sigmoid(gate(a, 0) + gate(b, 0)), r = tw::sigmoid(gate(a, 1) + gate(b, 1));
    auto n = tw::tanh(gate(a, 2) + r * gate(b, 2));
    state = (1.0f - z) * n + z * state;
  }
  p.output("h", state, h, 2e-3);
  p.check();
}

TEST_CASE("graph programs: einsum of three tensors, with one tensor twice, and traces") {
  const int n = 14, m = 9;
  const auto ha = normal(n * n, 1), hb = normal(n * m, 2), hc = normal(m, 3);
  Numbers chain(n), gram(n * n), quadratic(m), diagonal, outer(n * n * m), cube(n * n);
  double trace = 0, total = 0;
  for (int i = 0; i < n; ++i) {
    trace += double(ha[i * n + i]), diagonal.push_back(ha[i * n + i]);
    for (int j = 0; j < n; ++j) {
      total += double(ha[i * n + j]) * double(ha[j * n + i]);
      for (int k = 0; k < m; ++k) {
        chain[i] += double(ha[i * n + j]) * double(hb[j * m + k]) * double(hc[k]);
        quadratic[k] += double(hb[i * m + k]) * double(ha[i * n + j]) * double(hb[j * m + k]);
        outer[(i * n + j) * m + k] = double(ha[i * n + j]) * double(hb[i * m + k]);
      }
      for (int k = 0; k < n; ++k) gram[i * n + k] += double(ha[i * n + j]) * double(ha[k * n + j]);
    }
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        for (int l = 0; l < n; ++l) cube[i * n + l] += double(ha[i * n + j]) * double(ha[j * n + k]) * double(ha[k * n + l]);
  Program p;
  auto a = p.input("a", {n, n}, ha), b = p.input("b", {n, m}, hb), c = p.input("c", {m}, hc);
  p.output("chain", tw::einsum("ij,jk,k->i", a, b, c), chain, 2e-3);
  p.output("gram", tw::einsum("ij,kj->ik", a, a), gram, 2e-3);
  p.output("quadratic", tw::einsum("ik,ij,jk->k", b, a, b), quadratic, 2e-3);
  p.output("trace", tw::einsum("ii->", a), {trace}, 1e-5);
  p.output("diagonal", tw::einsum("ii->i", a), diagonal, 0);
  p.output("square's trace", tw::einsum("ij,ji->", a, a), {total}, 1e-3);
  p.output("outer", tw::einsum("ij,ik->ijk", a, b), outer, 2e-3);
  p.output("cube", tw::matmul(tw::matmul(a, a), a), cube, 2e-3);
  p.output(
      "turned", tw::einsum("ij->ji", a),
      [&] {
        Numbers t;
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) t.push_back(ha[i * n + j]);
        return t;
      }(),
      0);
  p.output(
      "sums", tw::einsum("ij->j", a),
      [&] {
        Numbers t(n);
        for (int i = 0; i < n * n; ++i) t[i % n] += double(ha[i]);
        return t;
      }(),
      1e-5);
  p.check();
}

TEST_CASE("graph programs: batched einsum with an ellipsis") {
  const int b = 2, h = 3, n = 7, d = 5;
  const auto hx = normal(b * h * n * d, 1), hy = normal(d * 6, 2);
  Numbers want;
  for (int i = 0; i < b * h * n; ++i)
    for (int e = 0; e < 6; ++e) {
      double sum = 0;
      for (int c = 0; c < d; ++c) sum += double(hx[i * d + c]) * double(hy[c * 6 + e]);
      want.push_back(sum);
    }
  Program p;
  p.output("y", tw::einsum("...d,de->...e", p.input("x", {b, h, n, d}, hx), p.input("y_", {d, 6}, hy)), want, 2e-3);
  p.check();
}

TEST_CASE("graph programs: rotary positions with an offset, of a batch, and another base") {
  const int batch = 2, n = 6, heads = 3, d = 8;
  const auto hx = normal(batch * n * heads * d, 1);
  const std::vector<int64_t> offsets{100, 7};
  Numbers want(hx.size());
  for (int b = 0; b < batch; ++b)
    for (int t = 0; t < n; ++t)
      for (int h = 0; h < heads; ++h)
        for (int i = 0; i < d / 2; ++i) {
          const int at = ((b * n + t) * heads + h) * d + i;
          const double angle = static_cast<double>(offsets[b] + t) * std::pow(500.0, -2.0 * i / d);
          want[at] = hx[at] * std::cos(angle) - hx[at + d / 2] * std::sin(angle);
          want[at + d / 2] = hx[at + d / 2] * std::cos(angle) + hx[at] * std::sin(angle);
        }
  Program p;
  auto x = p.input("x", {batch, n, heads, d}, hx);
  auto offset = p.input("offset", {batch}, offsets);
  auto positions = tw::reshape(offset, {batch, 1, 1}) + tw::iota<int64_t>(p.graph, {n, 1}, 0);
  p.output("y", tw::rope(x, positions, 500), want, 1e-4);
  p.check();
}

TEST_CASE("graph programs: several outputs share their work") {
  const int rows = 31, d = 24;
  const auto hx = normal(rows * d, 1), hw = normal(d * d, 2, 0.2f);
  const Numbers y = product(Numbers(hx.begin(), hx.end()), hw, rows, d, d);
  Numbers squares(rows), normed, most;
  for (int r = 0; r < rows; ++r) {
    double top = -HUGE_VAL;
    for (int c = 0; c < d; ++c) squares[r] += y[r * d + c] * y[r * d + c], top = std::max(top, y[r * d + c]);
    most.push_back(top);
    for (int c = 0; c < d; ++c) normed.push_back(y[r * d + c] / std::sqrt(squares[r]));
  }
  Program p;
  auto h = tw::matmul(p.input("x", {rows, d}, hx), p.input("w", {d, d}, hw));
  auto norm = tw::sqrt(tw::sum(h * h, -1, true));
  p.output("h", h, y, 2e-3);
  p.output("normed", h / norm, normed, 2e-3);
  p.output("squares", tw::squeeze(norm * norm, 1), squares, 3e-3);
  p.output("most", tw::max(h, 1), most, 2e-3);
  const tw::Plan plan = p.check();
  CHECK(plan.kernels().size() <= 2);
}

TEST_CASE("graph programs: accuracy, perplexity, and a histogram by comparison") {
  const int rows = 40, classes = 10;
  const auto hx = normal(rows * classes, 1);
  std::vector<int32_t> targets;
  Numbers histogram(classes);
  double correct = 0, loss = 0;
  for (int r = 0; r < rows; ++r) {
    targets.push_back(r * 3 % classes);
    const auto row = hx.begin() + r * classes;
    const auto best = std::max_element(row, row + classes) - row;
    correct += best == targets[r], histogram[best] += 1;
    double total = 0;
    for (int c = 0; c < classes; ++c) total += std::exp(double(row[c]));
    loss += std::log(total) - row[targets[r]];
  }
  Program p;
  auto x = p.input("x", {rows, classes}, hx);
  auto t = p.input("t", {rows}, targets);
  auto best = tw::argmax(x, 1);
  p.output("accuracy", tw::mean((best == t).to<float>()), {correct / rows});
  p.output("perplexity", tw::exp(tw::mean(tw::cross_entropy(x, t))), {std::exp(loss / rows)});
  p.output("histogram", tw::sum((tw::expand_dims(best, 1) == tw::iota<int32_t>(p.graph, {classes}, 0)).to<int32_t>(), 0), histogram, 0);
  p.output("some", tw::any(best == t), {double(correct > 0)}, 0);
  p.check();
}

TEST_CASE("graph programs: distances between all rows, and soft nearest neighbours") {
  const int n = 25, m = 40, d = 6;
  const auto hx = normal(n * d, 1), hy = normal(m * d, 2), hv = normal(m, 3);
  Numbers distances, nearest, soft, least;
  for (int i = 0; i < n; ++i) {
    double best = HUGE_VAL, total = 0, sum = 0;
    int at = 0;
    for (int j = 0; j < m; ++j) {
      double s = 0;
      for (int c = 0; c < d; ++c) s += (double(hx[i * d + c]) - double(hy[j * d + c])) * (double(hx[i * d + c]) - double(hy[j * d + c]));
      distances.push_back(std::sqrt(s));
      total += std::exp(-s), sum += std::exp(-s) * double(hv[j]);
      if (s < best) best = s, at = j;
    }
    nearest.push_back(at), least.push_back(best), soft.push_back(sum / total);
  }
  Program p;
  auto x = tw::expand_dims(p.input("x", {n, d}, hx), 1), y = p.input("y", {m, d}, hy);
  auto squares = tw::sum((x - y) * (x - y), -1);
  p.output("distances", tw::sqrt(squares), distances, 1e-4);
  p.output("nearest", tw::argmin(squares, 1), nearest, 0);
  p.output("least", tw::min(squares, 1), least, 1e-4);
  p.output("soft", tw::sum(tw::softmax(-squares, 1) * p.input("v", {m}, hv), 1), soft, 1e-3);
  p.check();
}

TEST_CASE("graph programs: moving averages by slices, differences by flips, cumulative sums by a triangle") {
  const int rows = 4, n = 37;
  const auto hx = normal(rows * n, 1);
  Numbers average, difference, running;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i + 4 <= n; ++i)
      average.push_back((double(hx[r * n + i]) + hx[r * n + i + 1] + hx[r * n + i + 2] + hx[r * n + i + 3]) / 4);
    for (int i = 0; i < n; ++i) {
      difference.push_back(double(hx[r * n + i]) - double(hx[r * n + n - 1 - i]));
      running.push_back(sum += double(hx[r * n + i]));
    }
  }
  Program p;
  auto x = p.input("x", {rows, n}, hx);
  auto sum = tw::slice(x, 1, 0, n - 3);
  for (int i = 1; i < 4; ++i) sum = sum + tw::slice(x, 1, i, n - 3 + i);
  auto i = tw::iota<int32_t>(p.graph, {n}, 0);
  p.output("average", sum / 4.0f, average);
  p.output("difference", x - tw::flip(x, 1), difference);
  p.output("running", tw::matmul(x, (tw::expand_dims(i, 1) <= i).to<float>()), running, 2e-3);
  p.check();
}

TEST_CASE("graph programs: a product whose operand is padded, sliced and gathered") {
  const int n = 12, d = 16, m = 10;
  const auto hx = normal(n * d, 1), hw = normal(d * m, 2);
  const std::vector<int32_t> index{5, 0, 11, 3};
  Numbers want;
  for (int r = -1; r < 5; ++r)
    for (int j = 0; j < m; ++j) {
      double sum = 0;
      if (r >= 0 && r < 4)
        for (int c = 0; c < d; c += 2) sum += double(hx[index[r] * d + c]) * double(hw[(c / 2) * m + j]);
      want.push_back(sum);
    }
  Program p;
  auto x = p.input("x", {n, d}, hx), w = p.input("w", {d, m}, hw);
  auto rows = tw::pad(tw::gather(x, p.input("index", {4}, index) + 0), 0, 1, 1);
  p.output("y", tw::matmul(tw::slice(rows, 1, 0, d, 2), tw::slice(w, 0, 0, d / 2)), want, 2e-3);
  auto before = tw::pad(tw::gather(x, tw::iota<int32_t>(p.graph, {n - 1}, 0) + 1), 0, 2, 1, -1.0f);
  Numbers moved;
  for (int r = -2; r < n; ++r)
    for (int c = 0; c < d; ++c) moved.push_back(r >= 0 && r < n - 1 ? double(hx[(r + 1) * d + c]) : -1);
  p.output("moved", before, moved, 0);
  p.check();
}

}  // namespace graph_program
