// Equations between extents and the numbers that a run finds in views and buffers.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tileir/graph/symbols.h"

namespace tilewright::detail {

/// extent = value, solved for one symbol when the others have values.
///
/// Example: the extent is 8 n, the value 40: n = 5.
class ExtentEquation {
 public:
  ExtentEquation(const Dim& extent, const SymbolTable&);

  const Dim& extent() const { return extent_; }
  /// Ascending.
  std::span<const std::uint32_t> symbols() const { return symbols_; }

  struct Solution {
    enum class Kind {
      found,
      none,  // no integer from 0 on
      open,  // the equation is not of the form a x^k = b in this symbol
    } kind;
    std::int64_t value = 0;
  };
  /// Requires: values for all other symbols of the extent. Allocates nothing, unless a quotient in it is rounded up.
  Solution solve(std::uint32_t unknown, std::span<const std::int64_t> values, std::int64_t value) const;

 private:
  struct Term {
    ir::Rational coefficient;
    graph::Monomial monomial;
  };
  std::optional<std::int64_t> rounded_value(graph::Variable quotient, std::uint32_t unknown, std::span<const std::int64_t> values) const;

  Dim extent_;
  std::vector<std::uint32_t> symbols_;
  std::vector<Term> numerator_, denominator_;  // of the extent, in symbols and quotients that are rounded up
};

}  // namespace tilewright::detail
