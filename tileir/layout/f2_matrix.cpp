// Gaussian elimination over F2; a vector is a machine word.
#include "tileir/layout/f2_matrix.h"

#include <bit>

#include "tileir/diagnostics.h"
#include "tileir/layout/f2_span.h"

namespace tilewright::ir {

F2Span::Remainder F2Span::reduce(std::uint32_t v) const {
  std::uint32_t inputs = 0;
  // Later steps change only bits below the leading bits of earlier vectors.
  for (std::uint32_t rest = v; rest != 0;) {
    const auto lead = static_cast<std::size_t>(std::bit_width(rest) - 1);
    v ^= value_[lead];
    inputs ^= inputs_[lead];
    rest = v & ((1u << lead) - 1);
  }
  return {v, inputs};
}

bool F2Span::insert(std::uint32_t v, std::uint32_t input) {
  const Remainder r = reduce(v);
  if (r.value == 0) return false;
  const auto lead = static_cast<std::size_t>(std::bit_width(r.value) - 1);
  value_[lead] = r.value;
  inputs_[lead] = r.inputs ^ input;
  ++dimension_;
  return true;
}

std::vector<std::uint32_t> F2Span::insert(std::span<const std::uint32_t> vectors) {
  std::vector<std::uint32_t> added;
  for (const std::uint32_t v : vectors)
    if (insert(v)) added.push_back(v);
  return added;
}

std::vector<std::uint32_t> intersection(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  F2Span span(a);
  std::vector<std::uint32_t> both;
  // If a vector of b is in the span already, it equals a sum of vectors of a and earlier ones of b. The part from a is in both spans.
  for (const std::uint32_t v : b)
    if (!span.insert(v, v)) both.push_back(v ^ span.reduce(v).inputs);
  return both;
}

namespace {

/// The span of the columns; the input word of each column has the one bit that selects the column.
F2Span span_of(const F2Matrix& m) {
  TW_CHECK(m.width() <= 32, "a matrix has at most 32 columns");
  F2Span span;
  for (int i = 0; i < m.width(); ++i) span.insert(m.columns[static_cast<std::size_t>(i)], 1u << i);
  return span;
}

}  // namespace

std::uint32_t F2Matrix::operator()(std::uint32_t x) const {
  std::uint32_t y = 0;
  for (; x != 0; x &= x - 1) y ^= columns[static_cast<std::size_t>(std::countr_zero(x))];
  return y;
}

std::uint32_t F2Matrix::dependent_columns() const {
  TW_CHECK(width() <= 32, "a matrix has at most 32 columns");
  F2Span span;
  std::uint32_t dependent = 0;
  for (int i = 0; i < width(); ++i)
    if (!span.insert(columns[static_cast<std::size_t>(i)], 1u << i)) dependent |= 1u << i;
  return dependent;
}

int F2Matrix::rank() const { return width() - std::popcount(dependent_columns()); }

std::vector<std::uint32_t> F2Matrix::kernel() const {
  TW_CHECK(width() <= 32, "a matrix has at most 32 columns");
  F2Span span;
  std::vector<std::uint32_t> basis;
  for (int i = 0; i < width(); ++i) {
    const std::uint32_t column = columns[static_cast<std::size_t>(i)];
    if (!span.insert(column, 1u << i)) basis.push_back(span.reduce(column).inputs | 1u << i);
  }
  return basis;
}

std::optional<std::uint32_t> F2Matrix::solve(std::uint32_t y) const {
  const F2Span::Remainder r = span_of(*this).reduce(y);
  if (r.value != 0) return std::nullopt;
  return r.inputs;
}

std::optional<F2Matrix> F2Matrix::solve(const F2Matrix& right) const {
  const F2Span span = span_of(*this);
  F2Matrix inputs;
  inputs.columns.reserve(right.columns.size());
  for (const std::uint32_t y : right.columns) {
    const F2Span::Remainder r = span.reduce(y);
    if (r.value != 0) return std::nullopt;
    inputs.columns.push_back(r.inputs);
  }
  return inputs;
}

std::optional<F2Matrix> F2Matrix::right_inverse(int bits) const { return solve(identity_matrix(bits)); }

F2Matrix compose(const F2Matrix& outer, const F2Matrix& inner) {
  F2Matrix m;
  m.columns.reserve(inner.columns.size());
  for (const std::uint32_t c : inner.columns) m.columns.push_back(outer(c));
  return m;
}

F2Matrix identity_matrix(int bits) {
  TW_CHECK(bits <= 32, "a matrix has at most 32 columns");
  F2Matrix m;
  m.columns.reserve(static_cast<std::size_t>(bits));
  for (int i = 0; i < bits; ++i) m.columns.push_back(1u << i);
  return m;
}

}  // namespace tilewright::ir
