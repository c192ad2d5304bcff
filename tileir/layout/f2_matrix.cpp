// Gaussian elimination over F2, a machine word a vector.
#include "tileir/layout/f2_matrix.h"

#include <array>
#include <bit>

#include "tileir/diagnostics.h"

namespace tilewright::ir {

namespace {

/// Independent vectors in echelon form, at most one for each leading bit, each with the inputs that it is the sum of.
class Echelon {
 public:
  struct Remainder {
    std::uint32_t value;   // what no sum of vectors takes away: 0 where there is nothing left
    std::uint32_t inputs;  // of the vectors that were taken away
  };

  Echelon() = default;
  explicit Echelon(const F2Matrix& m) {
    TW_CHECK(m.width() <= 32, "a matrix has at most 32 columns");
    for (int i = 0; i < m.width(); ++i) insert(m.columns[static_cast<std::size_t>(i)], 1u << i);
  }

  Remainder reduce(std::uint32_t v) const {
    std::uint32_t inputs = 0;
    // Leading bits of vectors to come stay as they are, so this goes on below them.
    for (std::uint32_t rest = v; rest != 0;) {
      const int lead = std::bit_width(rest) - 1;
      if (value_[static_cast<std::size_t>(lead)] != 0) {
        v ^= value_[static_cast<std::size_t>(lead)];
        inputs ^= inputs_[static_cast<std::size_t>(lead)];
      }
      rest = v & ((1u << lead) - 1);
    }
    return {v, inputs};
  }

  /// False if v depends on what is there; then nothing changes.
  bool insert(std::uint32_t v, std::uint32_t input) {
    const Remainder r = reduce(v);
    if (r.value == 0) return false;
    const auto lead = static_cast<std::size_t>(std::bit_width(r.value) - 1);
    value_[lead] = r.value;
    inputs_[lead] = r.inputs ^ input;
    return true;
  }

 private:
  std::array<std::uint32_t, 32> value_{}, inputs_{};
};

}  // namespace

std::uint32_t F2Matrix::operator()(std::uint32_t x) const {
  std::uint32_t y = 0;
  for (; x != 0; x &= x - 1) y ^= columns[static_cast<std::size_t>(std::countr_zero(x))];
  return y;
}

std::uint32_t F2Matrix::dependent_columns() const {
  TW_CHECK(width() <= 32, "a matrix has at most 32 columns");
  Echelon echelon;
  std::uint32_t dependent = 0;
  for (int i = 0; i < width(); ++i)
    if (!echelon.insert(columns[static_cast<std::size_t>(i)], 1u << i)) dependent |= 1u << i;
  return dependent;
}

int F2Matrix::rank() const { return width() - std::popcount(dependent_columns()); }

std::vector<std::uint32_t> F2Matrix::kernel() const {
  TW_CHECK(width() <= 32, "a matrix has at most 32 columns");
  Echelon echelon;
  std::vector<std::uint32_t> basis;
  for (int i = 0; i < width(); ++i) {
    const std::uint32_t column = columns[static_cast<std::size_t>(i)];
    if (!echelon.insert(column, 1u << i)) basis.push_back(echelon.reduce(column).inputs | 1u << i);
  }
  return basis;
}

std::optional<std::uint32_t> F2Matrix::solve(std::uint32_t y) const {
  const Echelon::Remainder r = Echelon(*this).reduce(y);
  if (r.value != 0) return std::nullopt;
  return r.inputs;
}

std::optional<F2Matrix> F2Matrix::solve(const F2Matrix& right) const {
  const Echelon echelon(*this);
  F2Matrix inputs;
  inputs.columns.reserve(right.columns.size());
  for (const std::uint32_t y : right.columns) {
    const Echelon::Remainder r = echelon.reduce(y);
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
