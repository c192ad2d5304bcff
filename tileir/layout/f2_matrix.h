// Matrices over F2, the field of two elements: linear maps of bit vectors, where addition is XOR.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::ir {

/// A map of bit vectors of columns.size() bits to bit vectors of at most 32 bits: bit i of the input contributes columns[i].
///   {1, 2, 4} is the identity on 3 bits; {1, 3} maps 0b10 to 0b11.
struct F2Matrix {
  std::vector<std::uint32_t> columns;

  int width() const { return static_cast<int>(columns.size()); }
  /// The XOR of the columns that x selects. Requires: x < 2^width().
  std::uint32_t operator()(std::uint32_t x) const;
  /// How many columns are linearly independent.
  int rank() const;
  /// Bit i is set if column i is a sum of columns before it: lower input bits can undo a change of input bit i.
  std::uint32_t dependent_columns() const;
  /// A basis of the inputs that map to 0.
  std::vector<std::uint32_t> kernel() const;
  /// An x with (*this)(x) == y that uses no dependent column; none if there is no x.
  std::optional<std::uint32_t> solve(std::uint32_t y) const;
  /// X with right.width() columns and (*this)(X(e)) == right(e) for every e; none if there is no such X. Uses no dependent column.
  std::optional<F2Matrix> solve(const F2Matrix& right) const;
  /// R with `bits` columns and (*this)(R(y)) == y for every y < 2^bits; none unless this matrix maps some input to each of these y.
  std::optional<F2Matrix> right_inverse(int bits) const;

  friend bool operator==(const F2Matrix&, const F2Matrix&) = default;
};

/// x -> outer(inner(x)). Requires: inner's results are below 2^outer.width().
F2Matrix compose(const F2Matrix& outer, const F2Matrix& inner);
F2Matrix identity_matrix(int bits);

}  // namespace tilewright::ir
