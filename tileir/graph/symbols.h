// The symbols of a graph: names and bounds of extents that become known at a run, and quotients that are not polynomials of symbols.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tileir/graph/polynomial.h"
#include "tilewright/dim.h"
#include "tilewright/error.h"

namespace tilewright {

struct Symbol {
  std::string name;
  DimBounds bounds;
  Location where;
};

/// The symbols of one graph, by number. Extents with symbols share their table.
class SymbolTable : public std::enable_shared_from_this<SymbolTable> {
 public:
  /// n / d as a variable. If its value is not an integer, it is rounded up, or else the run is in error.
  struct Quotient {
    graph::Polynomial numerator, denominator;
    bool rounds_up = false;
  };

  /// Makes a new symbol. Requires: the name is new, 0 <= min <= max, multiple_of >= 1, and a value exists within the bounds. The table is
  /// owned by a shared_ptr, here and below.
  Dim add(std::string name, const DimBounds&, Location where);
  /// The extent that consists of this symbol or quotient alone.
  Dim dim(graph::Variable) const;
  std::optional<std::uint32_t> find(const std::string& name) const;
  const Symbol& operator[](std::uint32_t symbol) const { return symbols_[symbol]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(symbols_.size()); }

  const Quotient& quotient(graph::Variable v) const { return quotients_[v - graph::kFirstQuotient]; }
  /// The variable of n / d: that of an equal quotient if one exists, else a new one.
  graph::Variable quotient(const graph::Polynomial& numerator, const graph::Polynomial& denominator, bool rounds_up);

  /// A ratio of polynomials of symbols and of quotients that are rounded up.
  struct Ratio {
    graph::Polynomial numerator, denominator;
  };
  Ratio expand(const graph::Polynomial&) const;
  /// The value for these values of the symbols, by number. None if the result, or a quotient inside it that is not rounded, is not an
  /// integer of 64 bits.
  std::optional<std::int64_t> evaluate(const graph::Polynomial&, const std::vector<std::int64_t>& symbols) const;
  /// Whether the two are equal for all values of the symbols.
  bool equal(const graph::Polynomial&, const graph::Polynomial&) const;

 private:
  std::vector<Symbol> symbols_;
  std::vector<Quotient> quotients_;
};

namespace detail {

/// An extent with symbols: never a constant.
struct DimExpression {
  std::shared_ptr<SymbolTable> table;
  graph::Polynomial polynomial;
};

}  // namespace detail
}  // namespace tilewright
