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

class Dim;
class SymbolTable;

namespace detail {

struct DimExpression;
/// One side of an operator on extents, and its line.
struct DimOperand;

}  // namespace detail

/// A number of elements along an axis: a constant, or a sum of products of symbols with rational coefficients, kept in one canonical form:
/// (n + 1) * 2 - n == n + 2. A quotient that is not such a sum becomes a symbol of its own, which every equal quotient shares. Symbols
/// belong to one graph.
class Dim {
 public:
  Dim() : Dim(0) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Dim(I value) : value_(static_cast<std::int64_t>(value)) {}

  bool is_constant() const { return expression_ == nullptr; }
  /// Throws Error if the extent has a symbol: its value is known only to a run.
  std::int64_t value(Here at = Here::current()) const {
    if (expression_) refuse_value(at);
    return value_;
  }

  /// Throw Error if the two have symbols of different graphs, on overflow of 64 bits, and for division by zero. A quotient that is not an
  /// integer is an error of the run that computes it; for two integers it is an error at once.
  friend Dim operator+(const detail::DimOperand& a, const detail::DimOperand& b);
  friend Dim operator-(const detail::DimOperand& a, const detail::DimOperand& b);
  friend Dim operator*(const detail::DimOperand& a, const detail::DimOperand& b);
  friend Dim operator/(const detail::DimOperand& a, const detail::DimOperand& b);
  friend Dim cdiv(const detail::DimOperand& a, const detail::DimOperand& b);
  Dim& operator+=(const detail::DimOperand& b);
  Dim& operator-=(const detail::DimOperand& b);
  Dim& operator*=(const detail::DimOperand& b);
  Dim& operator/=(const detail::DimOperand& b);
  /// Whether the two are equal for all values of the symbols.
  friend bool operator==(const Dim& a, const Dim& b);

  /// "n", "2 n + 1", "n m / 2", "cdiv(n, 64)".
  std::string text() const;
  /// a / b if it is an integer for all values of the symbols: 4 n m / n, or n / 4 for an n that is a multiple of 4; none for other
  /// values. Does not make a symbol.
  static std::optional<Dim> divide_exactly(const Dim& a, const Dim& b);
  /// The least and the greatest value when each symbol is within its bounds; saturates at the limits of 64 bits.
  std::int64_t least() const;
  std::int64_t greatest() const;
  /// The greatest known constant that divides every value; 0 for the constant 0.
  std::int64_t known_divisor() const;
  /// The value for these values of the symbols, by symbol number. None if the result, or a quotient inside it, is not an integer of 64
  /// bits. Requires: a value for each symbol of the expression.
  std::optional<std::int64_t> evaluate(const std::vector<std::int64_t>& symbols) const;
  /// The numbers of the symbols that the expression contains, also inside quotients, ascending.
  std::vector<std::uint32_t> symbols() const;
  /// Null for a constant.
  const SymbolTable* table() const;
  // For the library itself. Null for a constant.
  const detail::DimExpression* expression() const { return expression_.get(); }

 private:
  friend class SymbolTable;
  [[noreturn]] void refuse_value(const Here&) const;
  static Dim combine(char op, const Dim& a, const Dim& b, const Location&);
  static Dim make(detail::DimExpression, const Location&);

  std::int64_t value_ = 0;
  std::shared_ptr<const detail::DimExpression> expression_;
};

/// a / b rounded up: the number of blocks of b elements that cover a elements.
Dim cdiv(const detail::DimOperand& a, const detail::DimOperand& b);

/// The bounds of a symbol; every value is a multiple of `multiple_of`.
struct DimBounds {
  std::int64_t min = 1, max = INT64_MAX, multiple_of = 1;
};

// ---- For the library itself. ----

//! @cond
namespace detail {

struct DimOperand {
  DimOperand(const Dim& dim, Here here = Here::current()) : value(dim), at(here) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  DimOperand(I integer, Here here = Here::current()) : value(integer), at(here) {}
  Dim value;
  Here at;
};

}  // namespace detail

inline Dim operator+(const detail::DimOperand& a, const detail::DimOperand& b) {
  return Dim::combine('+', a.value, b.value, detail::location_of(a.at));
}
inline Dim operator-(const detail::DimOperand& a, const detail::DimOperand& b) {
  return Dim::combine('-', a.value, b.value, detail::location_of(a.at));
}
inline Dim operator*(const detail::DimOperand& a, const detail::DimOperand& b) {
  return Dim::combine('*', a.value, b.value, detail::location_of(a.at));
}
inline Dim operator/(const detail::DimOperand& a, const detail::DimOperand& b) {
  return Dim::combine('/', a.value, b.value, detail::location_of(a.at));
}
inline Dim& Dim::operator+=(const detail::DimOperand& b) { return *this = Dim::combine('+', *this, b.value, detail::location_of(b.at)); }
inline Dim& Dim::operator-=(const detail::DimOperand& b) { return *this = Dim::combine('-', *this, b.value, detail::location_of(b.at)); }
inline Dim& Dim::operator*=(const detail::DimOperand& b) { return *this = Dim::combine('*', *this, b.value, detail::location_of(b.at)); }
inline Dim& Dim::operator/=(const detail::DimOperand& b) { return *this = Dim::combine('/', *this, b.value, detail::location_of(b.at)); }
//! @endcond

}  // namespace tilewright
