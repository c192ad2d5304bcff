// Rows joined to rows that were divided or shifted by what was reduced along them, before a product: one kernel, and what a mask hides may
// be anything.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

constexpr int kRows = 19, kInner = 24, kColumns = 10;

enum class Norm { centred, rms, softmax, greatest };
enum class Join { behind_a_row, before_rows, padded, selected };

tw::Tensor<float> normed(const tw::Tensor<float>& x, Norm norm) {
  switch (norm) {
    case Norm::centred: return x - tw::mean(x, -1, true);
    case Norm::rms: return x * tw::rsqrt(tw::mean(x * x, -1, true));  // of a row of zeros, inf
    case Norm::softmax: return tw::softmax(x, -1);
    case Norm::greatest: break;
  }
  return x / tw::max(tw::abs(x), -1, true);
}

void norm_row(double* x, Norm norm) {
  double sum = 0, squares = 0, exponentials = 0, greatest = -HUGE_VAL, magnitude = 0;
  for (int k = 0; k < kInner; ++k)
    sum += x[k], squares += x[k] * x[k], greatest = std::max(greatest, x[k]), magnitude = std::max(magnitude, std::abs(x[k]));
  for (int k = 0; k < kInner; ++k) exponentials += std::exp(x[k] - greatest);
  for (int k = 0; k < kInner; ++k) {
    if (norm == Norm::centred) x[k] -= sum / kInner;
    if (norm == Norm::rms) x[k] /= std::sqrt(squares / kInner);
    if (norm == Norm::softmax) x[k] = std::exp(x[k] - greatest) / exponentials;
    if (norm == Norm::greatest) x[k] /= magnitude;
  }
}

void check_joined(Norm norm, Join join, bool is_product, const std::string& device_name) {
  auto hx = normal(kRows * kInner, 1), hf = normal(2 * kInner, 2), hw = normal(kInner * kColumns, 3);
  // Rows that are not selected hold no numbers.
  if (join == Join::selected)
    for (int k = 0; k < 5 * kInner; ++k) hx[k] = k % 2 == 0 ? NAN : HUGE_VALF;
  Numbers rows = numbers_of(hx);
  for (int i = join == Join::selected ? 5 : 0; i < kRows; ++i) norm_row(&rows[i * kInner], norm);
  Numbers joined;
  const auto add = [&](const Numbers& more) { joined.insert(joined.end(), more.begin(), more.end()); };
  const Numbers first = numbers_of(hf);
  switch (join) {
    case Join::behind_a_row: add({first.begin(), first.begin() + kInner}), add(rows); break;
    case Join::before_rows: add(rows), add(first); break;
    case Join::padded: add(Numbers(kInner, 0.5)), add(rows), add(Numbers(2 * kInner, 0.5)); break;
    case Join::selected: add(rows), std::fill_n(joined.begin(), 5 * kInner, -2.0); break;
  }
  const int count = static_cast<int>(joined.size()) / kInner, columns = is_product ? kColumns : 1;
  Numbers want(count * columns);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < kInner; ++k)
      for (int j = 0; j < columns; ++j) want[i * columns + j] += joined[i * kInner + k] * hw[k * kColumns + j];

  Program p;
  auto n = p.graph.dim("n");
  auto x = p.input("x", {n, kInner}, hx), w = p.input("w", {kInner, kColumns}, hw), y = normed(x, norm);
  switch (join) {
    case Join::behind_a_row: y = tw::concat({tw::slice(p.input("f", {2, kInner}, hf), 0, 0, 1), y}, 0); break;
    case Join::before_rows: y = tw::concat({y, p.input("f", {2, kInner}, hf)}, 0); break;
    case Join::padded: y = tw::pad(y, 0, 1, 2, 0.5f); break;
    case Join::selected: y = tw::where(tw::expand_dims(tw::iota<int>(p.graph, {n}, 0), 1) >= 5, y, -2.0f); break;
  }
  const auto column = tw::reshape(tw::slice(w, 1, 0, 1), {1, kInner});
  p.output("o", is_product ? tw::matmul(y, w, tw::Precision::ieee) : tw::sum(y * column, 1, true), want, 3e-6);
  tw::Device device = tw::Device::open(device_name);
  CHECK(p.check_on(device).kernels().size() <= 2);
}

}  // namespace

TEST_CASE("graph programs: rows joined to rows that are normalised") {
  for (const std::string device : {"cpu", "emulator:sm_80"})
    for (const Norm norm : {Norm::centred, Norm::rms, Norm::softmax, Norm::greatest})
      for (const Join join : {Join::behind_a_row, Join::before_rows, Join::padded, Join::selected})
        for (const bool is_product : {false, true}) {
          CAPTURE(device);
          CAPTURE(static_cast<int>(norm));
          CAPTURE(static_cast<int>(join));
          CAPTURE(is_product);
          check_joined(norm, join, is_product, device);
        }
}

}  // namespace graph_program
