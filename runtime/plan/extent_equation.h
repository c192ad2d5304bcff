// Equations between extents and the numbers that a run finds in views and buffers.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tileir/graph/symbols.h"

namespace tilewright::detail {

/// The equation extent = value. It is solved for one symbol when the others have values.
///
/// Example: for the extent 8 n and the value 40, n is 5.
class ExtentEquation {
 public:
  ExtentEquation(const Dim& extent, const SymbolTable&);

  const Dim& extent() const { return extent_; }
  /// The symbols of the extent, in ascending order.
  std::span<const std::uint32_t> symbols() const { return symbols_; }

  struct Solution {
    enum class Kind {
      found,
      none,  // no integer of at least 0 is a solution
      open,  // the equation is not of the form a x^k = b in this symbol
    } kind;
    std::int64_t value = 0;
  };
  /// Requires values for all other symbols of the extent. Allocates nothing, unless the extent has a quotient that is rounded up.
  Solution solve(std::uint32_t unknown, std::span<const std::int64_t> values, std::int64_t value) const;

 private:
  struct Term {
    ir::Rational coefficient;
    graph::Monomial monomial;
  };
  std::optional<std::int64_t> rounded_value(graph::Variable quotient, std::uint32_t unknown, std::span<const std::int64_t> values) const;

  Dim extent_;
  std::vector<std::uint32_t> symbols_;
  std::vector<Term> numerator_, denominator_;  // the extent, in terms of symbols and of quotients that are rounded up
};

}  // namespace tilewright::detail
