// Values of labelled terms modulo the prime 2^61 - 1, at small extents and random values of the variables.
//
// Two different polynomials with values in this field agree at a random point with a probability below degree / 2^61. A function of elements
// is a hash, a view a random matrix: nothing is known of either but what holds for all of them.
#pragma once
#include <string>
#include <vector>

#include "passes/search/labelled.h"

namespace tilewright::passes::search {

inline constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

std::uint64_t add_residues(std::uint64_t, std::uint64_t);
std::uint64_t multiply_residues(std::uint64_t, std::uint64_t);
/// A hash whose bits all depend on all bits of its argument.
std::uint64_t scramble(std::uint64_t);

/// An instance of all variables and maps.
struct Sizes {
  int plain = 2, first = 1, second = 1;
  std::uint64_t seed = 1;
  int of(Extent) const;
};

/// The values of the terms of a table, row-major by slots. They are kept.
class Residues {
 public:
  Residues(const TermTable& terms, Sizes sizes) : terms_(terms), sizes_(sizes) {}
  const std::vector<std::uint64_t>& of(int term);
  /// The values of a reference whose axes are ordered by their labels.
  std::vector<std::uint64_t> of(const Ref&);
  /// Extents of a reference ordered by labels, as "[2, 3]".
  std::string shape(const Ref&) const;

 private:
  std::vector<std::uint64_t> evaluate(int term);

  const TermTable& terms_;
  Sizes sizes_;
  std::vector<std::vector<std::uint64_t>> values_;
};

}  // namespace tilewright::passes::search
