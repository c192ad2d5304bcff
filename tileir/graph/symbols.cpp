// The table of symbols and quotients, and the equality of expressions with quotients.
#include "tileir/graph/symbols.h"

#include "tileir/diagnostics.h"

namespace tilewright {

using graph::Factor;
using graph::kFirstQuotient;
using graph::Polynomial;
using graph::Variable;
using ir::Rational;

Dim SymbolTable::add(std::string name, const DimBounds& bounds, Location where) {
  TW_CHECK(!find(name) && bounds.min >= 0 && bounds.min <= bounds.max && bounds.multiple_of >= 1, "a symbol that cannot be");
  symbols_.push_back({std::move(name), bounds, std::move(where)});
  return dim(size() - 1);
}

Dim SymbolTable::dim(Variable v) const {
  // Extents share ownership of the table, which makes quotients when they are divided.
  const auto table = std::const_pointer_cast<SymbolTable>(shared_from_this());
  return Dim::make({table, Polynomial::variable(v)}, {});
}

std::optional<std::uint32_t> SymbolTable::find(const std::string& name) const {
  for (std::uint32_t i = 0; i < size(); ++i)
    if (symbols_[i].name == name) return i;
  return std::nullopt;
}

SymbolTable::Ratio SymbolTable::expand(const Polynomial& p) const {
  Ratio sum{Polynomial(), Polynomial(Rational(1))};
  for (const auto& [monomial, coefficient] : p.terms()) {
    Ratio term{Polynomial(coefficient), Polynomial(Rational(1))};
    for (const Factor& f : monomial) {
      Ratio factor{Polynomial::variable(f.variable), Polynomial(Rational(1))};
      if (f.variable >= graph::kFirstQuotient && !quotient(f.variable).rounds_up) {
        const Ratio n = expand(quotient(f.variable).numerator), d = expand(quotient(f.variable).denominator);
        factor = {n.numerator * d.denominator, n.denominator * d.numerator};
      }
      for (std::int32_t i = 0; i < f.exponent; ++i) term = {term.numerator * factor.numerator, term.denominator * factor.denominator};
    }
    if (sum.denominator == term.denominator)
      sum.numerator = sum.numerator + term.numerator;
    else
      sum = {sum.numerator * term.denominator + term.numerator * sum.denominator, sum.denominator * term.denominator};
  }
  return sum;
}

namespace {
bool has_quotient(const Polynomial& p) {
  for (const auto& [monomial, coefficient] : p.terms())
    if (!monomial.empty() && monomial.back().variable >= graph::kFirstQuotient) return true;
  return false;
}
}  // namespace

bool SymbolTable::equal(const Polynomial& a, const Polynomial& b) const {
  if (a == b) return true;
  if (!has_quotient(a) && !has_quotient(b)) return false;
  const Ratio x = expand(a), y = expand(b);
  return x.numerator * y.denominator == y.numerator * x.denominator;
}

Variable SymbolTable::quotient(const Polynomial& numerator, const Polynomial& denominator, bool rounds_up) {
  for (std::size_t i = 0; i < quotients_.size(); ++i)
    if (rounds_up == quotients_[i].rounds_up && equal(numerator * quotients_[i].denominator, quotients_[i].numerator * denominator))
      return graph::kFirstQuotient + static_cast<Variable>(i);
  quotients_.push_back({numerator, denominator, rounds_up});
  return graph::kFirstQuotient + static_cast<Variable>(quotients_.size() - 1);
}

namespace {

std::optional<Rational> value_of(const SymbolTable& table, const Polynomial& p, const std::vector<std::int64_t>& symbols) {
  Rational sum;
  for (const auto& [monomial, coefficient] : p.terms()) {
    Rational term = coefficient;
    for (const Factor& f : monomial) {
      Rational value;
      if (f.variable >= kFirstQuotient) {
        const SymbolTable::Quotient& q = table.quotient(f.variable);
        const auto n = value_of(table, q.numerator, symbols), d = value_of(table, q.denominator, symbols);
        if (!n || !d || d->is_zero()) return std::nullopt;
        value = q.rounds_up ? Rational(ir::ceil(*n / *d), 1) : *n / *d;
        if (!value.is_integer()) return std::nullopt;
      } else {
        value = symbols.at(f.variable);
      }
      term *= ir::power(value, f.exponent);
    }
    sum += term;
  }
  return sum;
}

}  // namespace

std::optional<std::int64_t> SymbolTable::evaluate(const Polynomial& p, const std::vector<std::int64_t>& symbols) const {
  try {
    const auto value = value_of(*this, p, symbols);
    if (!value || !value->is_integer() || value->numerator() < INT64_MIN || value->numerator() > INT64_MAX) return std::nullopt;
    return static_cast<std::int64_t>(value->numerator());
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
}

}  // namespace tilewright
