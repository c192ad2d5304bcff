// The span of vectors over F2 in echelon form, for Gaussian elimination.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::ir {

/// A subspace of the vectors of 32 bits. Each inserted vector has an input word, and a sum of vectors has the sum (XOR) of their inputs:
/// with input 2^i for vector i, reduce() says which vectors add up to a given one.
///
/// Example: insert(0b011, 1), insert(0b110, 2); reduce(0b101) -> {value 0, inputs 3}, since 0b101 = 0b011 ^ 0b110.
class F2Span {
 public:
  struct Remainder {
    std::uint32_t value;   // the vector minus a sum of inserted vectors; 0 if the span contains the vector
    std::uint32_t inputs;  // the inputs of that sum
  };

  F2Span() = default;
  explicit F2Span(std::span<const std::uint32_t> vectors) { insert(vectors); }

  int dimension() const { return dimension_; }
  bool contains(std::uint32_t v) const { return reduce(v).value == 0; }
  Remainder reduce(std::uint32_t v) const;
  /// Returns false and changes nothing if the span already contains v.
  bool insert(std::uint32_t v, std::uint32_t input = 0);
  /// Inserts the vectors and returns those that increased the dimension.
  std::vector<std::uint32_t> insert(std::span<const std::uint32_t> vectors);

 private:
  int dimension_ = 0;
  std::array<std::uint32_t, 32> value_{}, inputs_{};  // indexed by the position of the leading bit
};

/// A basis of the intersection of the two spans. Requires: b is linearly independent.
std::vector<std::uint32_t> intersection(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace tilewright::ir
