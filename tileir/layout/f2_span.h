// The span of vectors over F2, kept in echelon form: what Gaussian elimination is done with here.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::ir {

/// A subspace of the bit vectors of 32 bits. Each vector comes with a word, its input, and sums of vectors with the sum of their inputs:
/// give vector i the input 2^i, and reduce says which vectors a sum is made of.
class F2Span {
 public:
  struct Remainder {
    std::uint32_t value;   // what no sum takes away: 0 of a vector in the span
    std::uint32_t inputs;  // of the sum that was taken away
  };

  F2Span() = default;
  explicit F2Span(std::span<const std::uint32_t> vectors) { insert(vectors); }

  int dimension() const { return dimension_; }
  bool contains(std::uint32_t v) const { return reduce(v).value == 0; }
  Remainder reduce(std::uint32_t v) const;
  /// False if v is there already; then nothing changes.
  bool insert(std::uint32_t v, std::uint32_t input = 0);
  /// Those of the vectors that were not there, nor depend on those before them.
  std::vector<std::uint32_t> insert(std::span<const std::uint32_t> vectors);

 private:
  int dimension_ = 0;
  std::array<std::uint32_t, 32> value_{}, inputs_{};  // by leading bit
};

/// A basis of the vectors in the spans of both. Requires: b is independent.
std::vector<std::uint32_t> intersection(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace tilewright::ir
