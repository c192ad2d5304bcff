// The logarithm of a quotient of numbers that are near each other is exact however great they are, as it is written.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

TEST_CASE("graph logarithms: quotients and products of great and small numbers") {
  for (const float size : {1e-15f, 1.0f, 1e15f})
    for (const int columns : {33, 3000}) {
      CAPTURE(size);
      CAPTURE(columns);
      const int rows = 3, count = rows * columns;
      std::vector<float> ha = normal(count, 1, 0.01f), hb = normal(count, 2, 0.01f);
      for (float& x : ha) x = (1 + x) * size;
      for (float& x : hb) x = (1.02f + x) * size;
      Numbers each, sums, greatest, of_mean, scaled;
      for (int r = 0; r < rows; ++r) {
        double sum = 0, most = -HUGE_VAL, mean = 0, by_mean = 0, by_number = 0;
        for (int c = 0; c < columns; ++c) mean += double(ha[r * columns + c]) / columns;
        for (int c = 0; c < columns; ++c) {
          const double x = std::log(double(ha[r * columns + c]) / double(hb[r * columns + c]));
          each.push_back(x);
          sum += x, most = std::max(most, -x);
          by_mean += std::pow(std::log(double(ha[r * columns + c]) / mean), 2);
          by_number += std::log(double(1.01f / size) * double(hb[r * columns + c]));
        }
        sums.push_back(sum), greatest.push_back(most), of_mean.push_back(by_mean), scaled.push_back(by_number);
      }
      Program p;
      const auto a = p.input("a", {rows, columns}, ha), b = p.input("b", {rows, columns}, hb);
      const auto x = tw::log(a / b);
      p.output("each", x, each, 3e-5);
      p.output("sums", tw::sum(x, {1}), sums, 3e-5);
      p.output("greatest", tw::max(-x, {1}), greatest, 3e-5);
      const auto y = tw::log(a / tw::mean(a, {1}, true));
      p.output("of_mean", tw::sum(y * y, {1}), of_mean, 1e-4);
      p.output("scaled", tw::sum(tw::log(b * (1.01f / size)), {1}), scaled, 3e-5);
      p.check();
    }
}

// A maximum of values that contain a logarithm is rounded with it, so the exponent takes the logarithm, too: a step of a hidden Markov model.
TEST_CASE("graph logarithms: the log-sum-exp of log-sum-exps of great numbers") {
  for (const float size : {1.0f, 1e4f, 1e10f, 1e30f})
    for (const int columns : {2, 33}) {
      CAPTURE(size);
      CAPTURE(columns);
      const int rows = 17;
      const std::vector<float> hw = normal(rows * columns, 1, size), he = normal(rows, 2, size);
      const auto log_sum_exp = [](const Numbers& x) {
        const double most = *std::max_element(x.begin(), x.end());
        double sum = 0;
        for (double v : x) sum += std::exp(v - most);
        return most + std::log(sum);
      };
      Numbers of_rows;
      for (int r = 0; r < rows; ++r)
        of_rows.push_back(log_sum_exp(Numbers(hw.begin() + r * columns, hw.begin() + (r + 1) * columns)) + he[r]);
      Program p;
      const auto w = p.input("w", {rows, columns}, hw), e = p.input("e", {rows, 1}, he);
      const auto m = tw::max(w, {1}, true);
      const auto z = m + tw::log(tw::sum(tw::exp(w - m), {1}, true)) + e;
      const auto most = tw::max(z, {0}, true);
      p.output("y", most + tw::log(tw::sum(tw::exp(z - most), {0}, true)), {log_sum_exp(of_rows)}, 1e-5);
      p.check_on_all();
    }
}

// As above, but another kernel stores the maximum, and each value from which it is chosen has logarithms of its own.
TEST_CASE("graph logarithms: a stored maximum of log-sum-exps of great numbers") {
  for (const float size : {1.0f, 1e4f, 1e10f, 1e30f})
    for (const int columns : {2, 33}) {
      CAPTURE(size);
      CAPTURE(columns);
      const int rows = 17;
      const std::vector<float> hw = normal(columns * rows, 1, size), he = normal(columns * rows, 2, size),
                               ha = normal(rows * columns, 3, size);
      Numbers of_columns, sums, most_of_rows;
      for (int c = 0; c < columns; ++c) {
        const auto begin = hw.begin() + c * rows;
        const double most = *std::max_element(begin, begin + rows);
        double sum = 0;
        for (int k = 0; k < rows; ++k) sum += std::exp(begin[k] - most);
        of_columns.push_back(most + std::log(sum));
      }
      for (int r = 0; r < rows; ++r) {
        Numbers z;
        for (int c = 0; c < columns; ++c) z.push_back(of_columns[c] + he[c * rows + r] + ha[r * columns + c]);
        most_of_rows.push_back(*std::max_element(z.begin(), z.end()));
        double sum = 0;
        for (double v : z) sum += std::exp(v - most_of_rows.back());
        sums.push_back(sum);
      }
      Program p;
      const auto w = p.input("w", {columns, rows}, hw), e = p.input("e", {columns, rows}, he), a = p.input("a", {rows, columns}, ha);
      const auto m = tw::max(w, {1}, true);
      const auto z = tw::transpose(m + tw::log(tw::sum(tw::exp(w - m), {1}, true)) + e) + a;
      const auto most = tw::max(z, {1}, true);
      p.output("most", most, most_of_rows, 1e-5);
      p.output("sum", tw::sum(tw::exp(z - most), {1}, true), sums, size == 1e4f ? 1e-2 : 1e-5);
      p.check_on_all();
    }
}

}  // namespace
}  // namespace graph_program
