// Graphs of whole models: attention, a transformer block with a symbolic length, cross entropy. Values against plain loops.
#include "tests/unit/frontend/graph/graph_run.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/graph/verifier.h"

namespace graph_run {
namespace {

using Matrix = std::vector<double>;

Matrix product(const Matrix& a, const std::vector<float>& b, int inner, int columns) {
  const int rows = static_cast<int>(a.size()) / inner;
  Matrix c(static_cast<std::size_t>(rows * columns));
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < inner; ++k)
      for (int j = 0; j < columns; ++j) c[i * columns + j] += a[i * inner + k] * double(b[k * columns + j]);
  return c;
}

/// The graph is well-formed, and its text reads back as the same graph.
void check_text(const tw::detail::tensor::Handle& t) {
  const tw::graph::Graph& graph = *t.nodes();
  CHECK(tw::graph::verify(graph).empty());
  const std::string text = tw::graph::print(graph, {.locations = true});
  CHECK(tw::graph::print(tw::graph::parse(text, "a.graph"), {.locations = true}) == text);
}

TEST_CASE("graph: attention") {
  const int heads = 2, seq = 9, d = 8;
  tw::Graph graph;
  auto q = graph.input<float>("q", {heads, seq, d});
  auto k = graph.input<float>("k", {heads, seq, d});
  auto v = graph.input<float>("v", {heads, seq, d});
  auto scores = tw::matmul(q, tw::transpose(k)) * 0.125f;
  auto out = tw::matmul(tw::softmax(scores, -1), v);
  graph.output("out", out);
  check_text(out);

  const std::size_t count = heads * seq * d;
  const auto hq = normal(count, 4), hk = normal(count), hv = normal(count);
  Matrix want(count);
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < seq; ++i) {
      Matrix p(seq);
      double biggest = -HUGE_VAL, total = 0;
      for (int j = 0; j < seq; ++j) {
        double dot = 0;
        for (int c = 0; c < d; ++c) dot += double(hq[(h * seq + i) * d + c]) * double(hk[(h * seq + j) * d + c]);
        biggest = std::max(biggest, p[j] = dot * 0.125);
      }
      for (double& value : p) total += value = std::exp(value - biggest);
      for (int c = 0; c < d; ++c)
        for (int j = 0; j < seq; ++j) want[(h * seq + i) * d + c] += p[j] / total * double(hv[(h * seq + j) * d + c]);
    }
  Values values;
  values.set("q", hq).set("k", hk).set("v", hv);
  check_close(numbers(out, values, Rounding::double_precision), want, 1e-12);
  check_close(numbers(out, values, Rounding::as_typed), want, 1e-4);
}

constexpr int kModel = 16, kHeads = 4, kKv = 2, kDim = 4, kHidden = 24;

Matrix rms_norm(const Matrix& x, const std::vector<float>& gamma) {
  Matrix y = x;
  for (std::size_t i = 0; i < x.size(); i += kModel) {
    double squares = 0;
    for (int c = 0; c < kModel; ++c) squares += x[i + c] * x[i + c];
    for (int c = 0; c < kModel; ++c) y[i + c] = x[i + c] / std::sqrt(squares / kModel + double(1e-6f)) * double(gamma[c]);
  }
  return y;
}

void rope(Matrix& x, int heads) {
  for (std::size_t row = 0; row < x.size() / kDim; ++row)
    for (int i = 0; i < kDim / 2; ++i) {
      const double angle = double(row / heads) * std::pow(10000.0, -2.0 * i / kDim);
      double &a = x[row * kDim + i], &b = x[row * kDim + i + kDim / 2];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle), a = turned;
    }
}

Matrix causal_attention(const Matrix& q, const Matrix& k, const Matrix& v, int seq) {
  Matrix out(q.size());
  for (int h = 0; h < kHeads; ++h)
    for (int i = 0; i < seq; ++i) {
      const int g = h / (kHeads / kKv);
      Matrix p(i + 1);
      double biggest = -HUGE_VAL, total = 0;
      for (int j = 0; j <= i; ++j) {
        for (int c = 0; c < kDim; ++c) p[j] += q[(i * kHeads + h) * kDim + c] * k[(j * kKv + g) * kDim + c] / 4;
        biggest = std::max(biggest, p[j]);
      }
      for (double& value : p) total += value = std::exp(value - biggest);
      for (int j = 0; j <= i; ++j)
        for (int c = 0; c < kDim; ++c) out[(i * kHeads + h) * kDim + c] += p[j] / total * v[(j * kKv + g) * kDim + c];
    }
  return out;
}

TEST_CASE("graph: a transformer block of any length") {
  tw::Graph graph;
  const tw::Dim seq = graph.dim("seq", {.max = 4096});
  auto x = graph.input<float>("x", {seq, kModel});
  auto gamma1 = graph.parameter<float>("gamma1", {kModel}), gamma2 = graph.parameter<float>("gamma2", {kModel});
  auto wq = graph.parameter<float>("wq", {kModel, kHeads * kDim}), wo = graph.parameter<float>("wo", {kHeads * kDim, kModel});
  auto wk = graph.parameter<float>("wk", {kModel, kKv * kDim}), wv = graph.parameter<float>("wv", {kModel, kKv * kDim});
  auto wg = graph.parameter<float>("wg", {kModel, kHidden}), wu = graph.parameter<float>("wu", {kModel, kHidden});
  auto wd = graph.parameter<float>("wd", {kHidden, kModel});

  auto position = tw::iota<int32_t>(graph, {seq}, 0);
  auto n = tw::rms_norm(x, gamma1);
  auto heads = [&](auto t, int each) { return tw::permute(tw::reshape(t, {seq, kKv, each, kDim}), {1, 2, 0, 3}); };
  auto q = tw::rope(heads(tw::matmul(n, wq), kHeads / kKv), position);
  auto k = tw::rope(heads(tw::matmul(n, wk), 1), position);
  auto v = heads(tw::matmul(n, wv), 1);
  auto scores = tw::matmul(q, tw::transpose(k)) / 4.0f;
  auto causal = tw::expand_dims(position, 1) >= tw::expand_dims(position, 0);
  auto attended = tw::matmul(tw::softmax(tw::where(causal, scores, -tw::inf), -1), v);
  auto h = x + tw::matmul(tw::reshape(tw::permute(attended, {2, 0, 1, 3}), {seq, kHeads * kDim}), wo);
  auto m = tw::rms_norm(h, gamma2);
  auto y = h + tw::matmul(tw::silu(tw::matmul(m, wg)) * tw::matmul(m, wu), wd);
  graph.output("y", y);
  check_text(y);
  CHECK(shape_of(scores.shape()) == "[2, 2, seq, seq]");
  CHECK(shape_of(y.shape()) == "[seq, 16]");

  const auto weights = [](int rows, int columns) { return normal(std::size_t(rows) * columns, 1 / std::sqrt(float(rows))); };
  const auto hq = weights(kModel, kHeads * kDim), hk = weights(kModel, kKv * kDim), hv = weights(kModel, kKv * kDim),
             ho = weights(kHeads * kDim, kModel), hg = weights(kModel, kHidden), hu = weights(kModel, kHidden),
             hd = weights(kHidden, kModel), g1 = normal(kModel), g2 = normal(kModel);
  for (const int length : {5, 12}) {
    const auto hx = normal(std::size_t(length) * kModel);
    const Matrix dx(hx.begin(), hx.end()), dn = rms_norm(dx, g1);
    Matrix dq = product(dn, hq, kModel, kHeads * kDim), dk = product(dn, hk, kModel, kKv * kDim);
    const Matrix dv = product(dn, hv, kModel, kKv * kDim);
    rope(dq, kHeads), rope(dk, kKv);
    Matrix dh = product(causal_attention(dq, dk, dv, length), ho, kHeads * kDim, kModel);
    for (std::size_t i = 0; i < dh.size(); ++i) dh[i] += dx[i];
    const Matrix dm = rms_norm(dh, g2), up = product(dm, hu, kModel, kHidden);
    Matrix gate = product(dm, hg, kModel, kHidden);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    Matrix want = product(gate, hd, kHidden, kModel);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += dh[i];

    Values values;
    values.symbol("seq", length).set("x", hx).set("gamma1", g1).set("gamma2", g2).set("wq", hq).set("wk", hk).set("wv", hv);
    values.set("wo", ho).set("wg", hg).set("wu", hu).set("wd", hd);
    // The angle's step is a constant of f32 under either rounding.
    check_close(numbers(y, values, Rounding::double_precision), want, 1e-5);
    check_close(numbers(y, values, Rounding::as_typed), want, 1e-3);
  }
}

TEST_CASE("graph: cross entropy of each row, and its mean") {
  const int rows = 7, d = 6, vocabulary = 30;
  tw::Graph graph;
  auto x = graph.input<float>("x", {rows, d});
  auto w = graph.parameter<float>("w", {vocabulary, d});
  auto targets = graph.input<int32_t>("targets", {rows});
  auto losses = tw::cross_entropy(tw::matmul(x, tw::transpose(w)).name("logits"), targets);
  auto loss = tw::mean(losses, 0);
  graph.output("losses", losses);
  graph.output("loss", loss);
  check_text(loss);

  auto hx = normal(std::size_t(rows) * d);
  const auto hw = normal(std::size_t(vocabulary) * d);
  for (int c = 0; c < d; ++c) hx[2 * d + c] *= 60;  // logits beyond 88, where exp alone overflows
  std::vector<int32_t> ht(rows);
  for (int i = 0; i < rows; ++i) ht[i] = i == 0 ? 0 : i == 1 ? vocabulary - 1 : i * 7919 % vocabulary;
  Matrix want(rows);
  double mean = 0;
  for (int i = 0; i < rows; ++i) {
    Matrix logits(vocabulary);
    double biggest = -HUGE_VAL, total = 0;
    for (int j = 0; j < vocabulary; ++j) {
      for (int c = 0; c < d; ++c) logits[j] += double(hx[i * d + c]) * double(hw[j * d + c]);
      biggest = std::max(biggest, logits[j]);
    }
    for (double value : logits) total += std::exp(value - biggest);
    want[i] = biggest + std::log(total) - logits[ht[i]];
    mean += want[i] / rows;
  }
  Values values;
  values.set("x", hx).set("w", hw).set("targets", ht);
  check_close(numbers(losses, values, Rounding::double_precision), want, 1e-10);
  check_close(numbers(loss, values, Rounding::double_precision), {mean}, 1e-10);
  check_close(numbers(losses, values, Rounding::as_typed), want, 1e-3);
  const auto outputs = interpret(*losses.nodes(), values, Rounding::double_precision);
  CHECK(outputs.size() == 2);
  CHECK(outputs.at("loss").number(0) == doctest::Approx(mean));
}

TEST_CASE("graph: a plain formula is the graph of the composite function") {
  tw::Graph graph;
  auto x = graph.input<float>("x", {3, 4});
  auto composite = tw::softmax(x, 1);
  const std::size_t size = composite.nodes()->size();
  auto power = tw::exp(x - tw::max(x, 1, true));
  auto plain = power / tw::sum(power, 1, true);
  const tw::graph::Graph& nodes = *plain.nodes();
  const std::uint32_t shift = static_cast<std::uint32_t>(size) - 1;
  REQUIRE(nodes.size() == size + shift);
  for (std::uint32_t i = 1; i < size; ++i) {
    const tw::graph::Node &a = nodes.node({i}), &b = nodes.node({i + shift});
    CHECK(a.op == b.op);
    CHECK(a.function == b.function);
    CHECK(a.axes == b.axes);
    CHECK(nodes.composite(a.composite.value()).name == "softmax");
    CHECK_FALSE(b.composite.has_value());
  }
}

}  // namespace
}  // namespace graph_run
