// Computes the polynomial of an extent anew.
#include "passes/fusion/graph/replaced_symbols.h"

#include <numeric>

#include "tileir/graph/symbols.h"

namespace tilewright::passes::fusion {

namespace {

class Replacement {
 public:
  Replacement(const SymbolTable& table, const std::function<Dim(std::uint32_t)>& symbol) : table_(table), symbol_(symbol) {}

  Dim of(const graph::Polynomial& p) const {
    std::int64_t denominator = 1;
    for (const auto& [monomial, coefficient] : p.terms())
      denominator = std::lcm(denominator, static_cast<std::int64_t>(coefficient.denominator()));
    Dim sum = 0;
    for (const auto& [monomial, coefficient] : p.terms()) {
      Dim term = static_cast<std::int64_t>(coefficient.numerator()) * (denominator / static_cast<std::int64_t>(coefficient.denominator()));
      for (const graph::Factor& f : monomial)
        for (std::int32_t i = 0; i < f.exponent; ++i) term *= variable(f.variable);
      sum += term;
    }
    return denominator == 1 ? sum : sum / denominator;
  }

 private:
  Dim variable(graph::Variable v) const {
    if (v < graph::kFirstQuotient) return symbol_(v);
    const SymbolTable::Quotient q = table_.quotient(v);
    return q.rounds_up ? cdiv(of(q.numerator), of(q.denominator)) : of(q.numerator) / of(q.denominator);
  }

  const SymbolTable& table_;
  const std::function<Dim(std::uint32_t)>& symbol_;
};

}  // namespace

Dim with_symbols(const Dim& d, const std::function<Dim(std::uint32_t)>& symbol) {
  return d.is_constant() ? d : Replacement(*d.table(), symbol).of(d.expression()->polynomial);
}

}  // namespace tilewright::passes::fusion
