// Arithmetic of polynomials, and their exact division.
#include "tileir/graph/polynomial.h"

#include <algorithm>

namespace tilewright::graph {

namespace {

std::int64_t degree(const Monomial& m) {
  std::int64_t sum = 0;
  for (const Factor& f : m) sum += f.exponent;
  return sum;
}

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial result;
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->variable < j->variable))
      result.push_back(*i++);
    else if (i == a.end() || j->variable < i->variable)
      result.push_back(*j++);
    else
      result.push_back({i->variable, i->exponent + j->exponent}), ++i, ++j;
  }
  return result;
}

std::optional<Monomial> quotient(const Monomial& a, const Monomial& b) {
  Monomial result;
  auto j = b.begin();
  for (const Factor& f : a) {
    std::int32_t exponent = f.exponent;
    if (j != b.end() && j->variable == f.variable) exponent -= j++->exponent;
    if (exponent < 0) return std::nullopt;
    if (exponent > 0) result.push_back({f.variable, exponent});
  }
  if (j != b.end()) return std::nullopt;  // a variable that `a` does not have
  return result;
}

}  // namespace

bool MonomialOrder::operator()(const Monomial& a, const Monomial& b) const {
  const std::int64_t degree_a = degree(a), degree_b = degree(b);
  if (degree_a != degree_b) return degree_a > degree_b;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].variable != b[i].variable) return a[i].variable < b[i].variable;
    if (a[i].exponent != b[i].exponent) return a[i].exponent > b[i].exponent;
  }
  return false;  // of equal degree, so neither has further factors
}

Polynomial Polynomial::variable(Variable v) {
  Polynomial p;
  p.add_term({{v, 1}}, 1);
  return p;
}

void Polynomial::add_term(const Monomial& m, const ir::Rational& coefficient) {
  if (coefficient.is_zero()) return;
  const auto [at, is_new] = terms_.try_emplace(m, coefficient);
  if (is_new) return;
  at->second += coefficient;
  if (at->second.is_zero()) terms_.erase(at);
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial sum = a;
  for (const auto& [monomial, coefficient] : b.terms_) sum.add_term(monomial, coefficient);
  return sum;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + b.scaled(-1); }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [m, c] : a.terms_)
    for (const auto& [n, d] : b.terms_) result.add_term(product(m, n), c * d);
  return result;
}

Polynomial Polynomial::scaled(const ir::Rational& factor) const {
  Polynomial result;
  for (const auto& [monomial, coefficient] : terms_) result.add_term(monomial, coefficient * factor);
  return result;
}

std::optional<Polynomial> Polynomial::divide(const Polynomial& dividend, const Polynomial& divisor) {
  const auto& [lead, lead_coefficient] = *divisor.terms_.begin();
  Polynomial rest = dividend, result;
  while (!rest.is_zero()) {
    // If the divisor divides the rest, then its leading term divides that of the rest.
    const auto& [monomial, coefficient] = *rest.terms_.begin();
    const std::optional<Monomial> m = quotient(monomial, lead);
    if (!m) return std::nullopt;
    Polynomial term;
    term.add_term(*m, coefficient / lead_coefficient);
    result = result + term;
    rest = rest - term * divisor;
  }
  return result;
}

}  // namespace tilewright::graph
