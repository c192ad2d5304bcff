// The extent of a tensor's axis: an integer, or an exact expression over symbols whose values are known when a plan runs.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/here.h"

namespace tilewright {

namespace detail {
struct DimExpression;
}
class SymbolTable;

/// A number of elements along an axis: a constant, or a sum of products of symbols with rational coefficients, kept in one canonical form:
/// (n + 1) * 2 - n == n + 2. A quotient that is no such sum is a symbol of its own, which every equal quotient shares. Symbols belong to
/// one graph.
class Dim {
 public:
  Dim() : Dim(0) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Dim(I value) : value_(static_cast<std::int64_t>(value)) {}

  bool is_constant() const { return expression_ == nullptr; }
  /// Requires: is_constant().
  std::int64_t value() const { return value_; }

  /// Throw Error if the two have symbols of different graphs, on overflow of 64 bits, and / by zero. A quotient that does not come out even
  /// is an error of the run that finds it, or at once for two integers.
  friend Dim operator+(const Dim& a, const Dim& b) { return combine('+', a, b); }
  friend Dim operator-(const Dim& a, const Dim& b) { return combine('-', a, b); }
  friend Dim operator*(const Dim& a, const Dim& b) { return combine('*', a, b); }
  friend Dim operator/(const Dim& a, const Dim& b) { return combine('/', a, b); }
  Dim& operator+=(const Dim& b) { return *this = *this + b; }
  Dim& operator-=(const Dim& b) { return *this = *this - b; }
  Dim& operator*=(const Dim& b) { return *this = *this * b; }
  Dim& operator/=(const Dim& b) { return *this = *this / b; }
  /// Whether the two are equal for all values of the symbols.
  friend bool operator==(const Dim& a, const Dim& b);

  /// "n", "2 n + 1", "n m / 2".
  std::string text() const;
  /// a / b if that is an expression without a quotient of its own for all values of the symbols: the constant divides it exactly, or the
  /// polynomial does. None otherwise. Makes no symbol.
  static std::optional<Dim> divide_exactly(const Dim& a, const Dim& b);
  /// The least and the greatest value for symbols within their bounds; saturates at the limits of 64 bits.
  std::int64_t least() const;
  std::int64_t greatest() const;
  /// The greatest known constant that divides every value.
  std::int64_t known_divisor() const;
  /// The value for these values of the symbols, by symbol number. None if it, or a quotient inside it, is no integer. Requires: a value for
  /// each symbol of the expression.
  std::optional<std::int64_t> evaluate(const std::vector<std::int64_t>& symbols) const;
  /// The numbers of the symbols in it, quotients taken apart, ascending.
  std::vector<std::uint32_t> symbols() const;
  /// Null for a constant.
  const SymbolTable* table() const;

 private:
  static Dim combine(char op, const Dim& a, const Dim& b);

  std::int64_t value_ = 0;
  std::shared_ptr<const detail::DimExpression> expression_;
};

/// The bounds of a symbol; every value is a multiple of `multiple_of`.
struct DimBounds {
  std::int64_t min = 1, max = INT64_MAX, multiple_of = 1;
};

}  // namespace tilewright
