// Arithmetic of extents: canonical polynomials over symbols; a quotient that is not a polynomial becomes a variable.
#include "tilewright/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tileir/graph/symbols.h"
#include "tileir/text/lexer.h"

namespace tilewright {

using graph::Factor;
using graph::kFirstQuotient;
using graph::Monomial;
using graph::Polynomial;
using graph::Variable;
using ir::Int128;
using ir::Rational;

namespace {

Int128 gcd(Int128 a, Int128 b) {
  a = a < 0 ? -a : a, b = b < 0 ? -b : b;
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// The operator that stands for cdiv.
constexpr char kRoundedUp = 'c';

/// The greatest rational number that divides both into integers.
Rational gcd(const Rational& a, const Rational& b) {
  const Int128 denominator = a.denominator() / gcd(a.denominator(), b.denominator()) * b.denominator();
  return {gcd(a.numerator() * (denominator / a.denominator()), b.numerator() * (denominator / b.denominator())), denominator};
}

std::optional<std::int64_t> in_64_bits(Int128 v) {
  if (v < INT64_MIN || v > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(v);
}

Polynomial polynomial_of(const Dim& d, const detail::DimExpression* e) { return e ? e->polynomial : Polynomial(Rational(d.value())); }

/// The greatest number that divides every value of the polynomial.
Rational step_of(const SymbolTable& table, const Polynomial& p) {
  Rational step;
  for (const auto& [monomial, coefficient] : p.terms()) {
    Rational term = coefficient;
    for (const Factor& f : monomial)
      if (f.variable < kFirstQuotient) term *= ir::power(table[f.variable].bounds.multiple_of, f.exponent);
    step = gcd(step, term);
  }
  return step;
}

/// q d + r -> n + r for a quotient q = n / d that is not rounded: so (n / d) * d == n reads as n.
Polynomial cancel_quotients(const SymbolTable& table, Polynomial p) {
  std::set<Variable, std::greater<>> quotients;
  for (const auto& [monomial, coefficient] : p.terms())
    for (const Factor& f : monomial)
      if (f.variable >= kFirstQuotient && !table.quotient(f.variable).rounds_up) quotients.insert(f.variable);
  for (Variable q : quotients) {
    const Polynomial &numerator = table.quotient(q).numerator, &denominator = table.quotient(q).denominator;
    Polynomial multiples, rest;  // p = q * multiples + rest
    for (const auto& [monomial, coefficient] : p.terms()) {
      Monomial without = monomial;
      const auto at = std::find_if(without.begin(), without.end(), [&](const Factor& f) { return f.variable == q; });
      if (at == without.end()) {
        rest.add_term(monomial, coefficient);
        continue;
      }
      if (--at->exponent == 0) without.erase(at);
      multiples.add_term(without, coefficient);
    }
    if (const auto times = Polynomial::divide(multiples, denominator)) return cancel_quotients(table, numerator * *times + rest);
  }
  return p;
}

/// Scales both to integral coefficients without a common divisor, and cancels common variables.
void reduce(Polynomial& numerator, Polynomial& denominator) {
  if (const auto inverse = Polynomial::divide(denominator, numerator)) numerator = Polynomial(Rational(1)), denominator = *inverse;
  Rational common;
  std::map<Variable, std::int32_t> shared;
  bool is_first = true;
  for (const Polynomial* p : {&numerator, &denominator})
    for (const auto& [monomial, coefficient] : p->terms()) {
      common = gcd(common, coefficient);
      std::map<Variable, std::int32_t> both;
      for (const Factor& f : monomial)
        if (is_first || shared.contains(f.variable)) both[f.variable] = is_first ? f.exponent : std::min(f.exponent, shared[f.variable]);
      shared = both;
      is_first = false;
    }
  if (denominator.terms().begin()->second.is_negative()) common = -common;
  Polynomial divisor;
  Monomial variables;
  for (const auto& [variable, exponent] : shared) variables.push_back({variable, exponent});
  divisor.add_term(variables, common);
  numerator = *Polynomial::divide(numerator, divisor);
  denominator = *Polynomial::divide(denominator, divisor);
}

/// The quotient as a polynomial, after quotient variables are cancelled; none if it is not a polynomial.
std::optional<Polynomial> exact_quotient(const SymbolTable& table, const Polynomial& a, const Polynomial& b) {
  if (auto q = Polynomial::divide(a, b)) return q;
  const SymbolTable::Ratio x = table.expand(a), y = table.expand(b);
  return Polynomial::divide(x.numerator * y.denominator, x.denominator * y.numerator);
}

std::int64_t combine_integers(char op, std::int64_t a, std::int64_t b, const Location& at) {
  if (op == kRoundedUp) {
    const auto quotient = in_64_bits(ir::ceil(Rational(a, b)));
    if (!quotient) throw Error(at, fmt::format("extent cdiv({}, {}) overflows 64 bits", a, b));
    return *quotient;
  }
  if (op == '/') {
    if (Int128{a} % b != 0) throw Error(at, fmt::format("extent {} / {} is not an integer", a, b));
  }
  const Int128 x = a, y = b;
  const auto result = in_64_bits(op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y);
  if (!result) throw Error(at, fmt::format("extent {} {} {} overflows 64 bits", a, op, b));
  return *result;
}

}  // namespace

void Dim::refuse_value(const Here& at) const {
  throw Error(
      detail::location_of(at),
      fmt::format("value: extent '{}' has a symbol, so its value is known only to a run; in a formula it is extent<T>(graph, n), and "
                  "least() and greatest() are its bounds",
                  text()));
}

Dim Dim::make(detail::DimExpression e, const Location& at) {
  if (!e.polynomial.is_constant()) {
    Dim d;
    d.expression_ = std::make_shared<const detail::DimExpression>(std::move(e));
    return d;
  }
  const Rational value = e.polynomial.constant();
  const auto integer = in_64_bits(value.numerator());
  if (!value.is_integer()) throw Error(at, fmt::format("extent {} is not an integer", value.text()));
  if (!integer) throw Error(at, fmt::format("extent {} overflows 64 bits", value.text()));
  return Dim(*integer);
}

Dim Dim::combine(char op, const Dim& a, const Dim& b, const Location& at) {
  if (op == '/' && b == Dim(0)) throw Error(at, fmt::format("extent {} / 0: a division by zero", a.text()));
  if (op == kRoundedUp && b == Dim(0)) throw Error(at, fmt::format("extent cdiv({}, 0): a division by zero", a.text()));
  if (a.is_constant() && b.is_constant()) return Dim(combine_integers(op, a.value_, b.value_, at));
  if (!a.is_constant() && !b.is_constant() && a.table() != b.table())
    throw Error(at, fmt::format("extents '{}' and '{}' have symbols of two graphs", a.text(), b.text()));
  const std::shared_ptr<SymbolTable>& table = (a.expression_ ? a : b).expression_->table;
  const Polynomial x = polynomial_of(a, a.expression_.get()), y = polynomial_of(b, b.expression_.get());
  const auto expression = [&](const Polynomial& p) { return make({table, cancel_quotients(*table, p)}, at); };
  try {
    if (op == '+') return expression(x + y);
    if (op == '-') return expression(x - y);
    if (op == '*') return expression(x * y);
    if (x.is_zero()) return Dim(0);
    const bool rounds_up = op == kRoundedUp;
    // n / 4: a polynomial whose values may be fractions is not an exact quotient.
    if (const auto q = exact_quotient(*table, x, y); q && (!rounds_up || step_of(*table, *q).is_integer())) return expression(*q);
    Polynomial numerator = x, denominator = y;
    reduce(numerator, denominator);
    return expression(Polynomial::variable(table->quotient(numerator, denominator, rounds_up)));
  } catch (const ir::RationalOverflow&) {
    if (op == kRoundedUp) throw Error(at, fmt::format("extent cdiv({}, {}) overflows", a.text(), b.text()));
    throw Error(at, fmt::format("extent ({}) {} ({}) overflows", a.text(), op, b.text()));
  }
}

Dim cdiv(const detail::DimOperand& a, const detail::DimOperand& b) {
  return Dim::combine(kRoundedUp, a.value, b.value, detail::location_of(a.at));
}

std::optional<Dim> Dim::divide_exactly(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return std::nullopt;
  if (a.is_constant() && b.is_constant()) {
    const Int128 x = a.value_, y = b.value_;
    const auto quotient = x % y == 0 ? in_64_bits(x / y) : std::nullopt;
    return quotient ? std::optional(Dim(*quotient)) : std::nullopt;
  }
  if (!a.is_constant() && !b.is_constant() && a.table() != b.table()) return std::nullopt;
  const std::shared_ptr<SymbolTable>& table = (a.expression_ ? a : b).expression_->table;
  try {
    const auto q = exact_quotient(*table, polynomial_of(a, a.expression_.get()), polynomial_of(b, b.expression_.get()));
    if (!q || !step_of(*table, *q).is_integer()) return std::nullopt;
    return make({table, cancel_quotients(*table, *q)}, {});
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.value_ == b.value_;
  if (!a.is_constant() && !b.is_constant() && a.table() != b.table()) return false;
  const SymbolTable& table = *(a.expression_ ? a : b).table();
  try {
    return table.equal(polynomial_of(a, a.expression_.get()), polynomial_of(b, b.expression_.get()));
  } catch (const ir::RationalOverflow&) {
    return false;
  }
}

const SymbolTable* Dim::table() const { return expression_ ? expression_->table.get() : nullptr; }

// ---- values ----------------------------------------------------------------------------------------------------------

namespace {

/// A range of rational numbers; a missing bound means unbounded.
struct Range {
  std::optional<Rational> least, greatest;
};

Range multiply(const Range& a, const Range& b) {
  const auto never_negative = [](const Range& r) { return r.least && !r.least->is_negative(); };
  if (never_negative(a) && never_negative(b)) {
    Range r{*a.least * *b.least, std::nullopt};
    if (a.greatest && b.greatest) r.greatest = *a.greatest * *b.greatest;
    return r;
  }
  if (!a.least || !a.greatest || !b.least || !b.greatest) return {};
  const Rational ends[] = {*a.least * *b.least, *a.least * *b.greatest, *a.greatest * *b.least, *a.greatest * *b.greatest};
  return {*std::min_element(std::begin(ends), std::end(ends)), *std::max_element(std::begin(ends), std::end(ends))};
}

Range range_of(const SymbolTable&, const Polynomial&);

Range range_of(const SymbolTable& table, Variable v) {
  if (v >= kFirstQuotient) {
    const SymbolTable::Quotient& q = table.quotient(v);
    const Range n = range_of(table, q.numerator), d = range_of(table, q.denominator);
    if (!n.least || n.least->is_negative() || !d.least || *d.least <= Rational(0)) return {};
    Range r{Rational(), std::nullopt};
    if (d.greatest) r.least = *n.least / *d.greatest;
    if (n.greatest) r.greatest = *n.greatest / *d.least;
    // A quotient above 0 is rounded up to at least 1, however great the denominator is.
    if (q.rounds_up) r.least = Rational(!d.greatest && !n.least->is_zero() ? Int128{1} : ir::ceil(*r.least), 1);
    if (q.rounds_up && r.greatest) r.greatest = Rational(ir::ceil(*r.greatest), 1);
    return r;
  }
  const DimBounds& b = table[v].bounds;
  Range r{Rational((Int128{b.min} + b.multiple_of - 1) / b.multiple_of * b.multiple_of, 1), std::nullopt};
  if (b.max != INT64_MAX) r.greatest = Rational(b.max / b.multiple_of * b.multiple_of);
  return r;
}

Range range_of(const SymbolTable& table, const Polynomial& p) {
  Range sum{Rational(), Rational()};
  for (const auto& [monomial, coefficient] : p.terms()) {
    Range term{Rational(1), Rational(1)};
    for (const Factor& f : monomial)
      for (std::int32_t i = 0; i < f.exponent; ++i) term = multiply(term, range_of(table, f.variable));
    if (coefficient.is_negative()) std::swap(term.least, term.greatest);
    const auto add = [&](std::optional<Rational>& end, const std::optional<Rational>& value) {
      end = end && value ? std::optional(*end + *value * coefficient) : std::nullopt;
    };
    add(sum.least, term.least);
    add(sum.greatest, term.greatest);
  }
  return sum;
}

Range range_or_unbounded(const detail::DimExpression& e) {
  try {
    return range_of(*e.table, e.polynomial);
  } catch (const ir::RationalOverflow&) {
    return {};
  }
}

void collect_symbols(const SymbolTable& table, const Polynomial& p, std::set<std::uint32_t>& found) {
  for (const auto& [monomial, coefficient] : p.terms())
    for (const Factor& f : monomial) {
      if (f.variable < kFirstQuotient) {
        found.insert(f.variable);
        continue;
      }
      collect_symbols(table, table.quotient(f.variable).numerator, found);
      collect_symbols(table, table.quotient(f.variable).denominator, found);
    }
}

}  // namespace

std::int64_t Dim::least() const {
  if (is_constant()) return value_;
  const Range r = range_or_unbounded(*expression_);
  return r.least ? static_cast<std::int64_t>(std::clamp<Int128>(ir::ceil(*r.least), INT64_MIN, INT64_MAX)) : INT64_MIN;
}

std::int64_t Dim::greatest() const {
  if (is_constant()) return value_;
  const Range r = range_or_unbounded(*expression_);
  return r.greatest ? static_cast<std::int64_t>(std::clamp<Int128>(ir::floor(*r.greatest), INT64_MIN, INT64_MAX)) : INT64_MAX;
}

std::int64_t Dim::known_divisor() const {
  if (is_constant()) return value_ == INT64_MIN ? INT64_MAX : std::abs(value_);
  try {
    // Every value is an integer and a multiple of the step p / q in lowest terms, so it is a multiple of p.
    return in_64_bits(step_of(*expression_->table, expression_->polynomial).numerator()).value_or(1);
  } catch (const ir::RationalOverflow&) {
    return 1;
  }
}

std::optional<std::int64_t> Dim::evaluate(const std::vector<std::int64_t>& symbols) const {
  return is_constant() ? value_ : expression_->table->evaluate(expression_->polynomial, symbols);
}

std::vector<std::uint32_t> Dim::symbols() const {
  std::set<std::uint32_t> found;
  if (expression_) collect_symbols(*expression_->table, expression_->polynomial, found);
  return {found.begin(), found.end()};
}

// ---- text ------------------------------------------------------------------------------------------------------------

namespace {

std::string text_of(const SymbolTable&, const Polynomial&);

bool is_one_word(const Polynomial& p) {
  return p.is_constant() || (p.terms().size() == 1 && p.terms().begin()->second.is_one() && p.terms().begin()->first.size() == 1 &&
                             p.terms().begin()->first[0].exponent == 1);
}

/// A name is quoted if it is not a word or if it equals the function's name.
std::string text_of(const SymbolTable& table, Variable v) {
  if (v < kFirstQuotient) return ir::is_word(table[v].name) && table[v].name != "cdiv" ? table[v].name : "'" + table[v].name + "'";
  const Polynomial &n = table.quotient(v).numerator, &d = table.quotient(v).denominator;
  const std::string numerator = text_of(table, n), denominator = text_of(table, d);
  if (table.quotient(v).rounds_up) return fmt::format("cdiv({}, {})", numerator, denominator);
  return fmt::format("{} / {}", n.terms().size() > 1 ? "(" + numerator + ")" : numerator,
                     is_one_word(d) ? denominator : "(" + denominator + ")");
}

/// A term without its sign. The coefficient is an integer.
std::string text_of(const SymbolTable& table, const Monomial& m, const Rational& coefficient, bool alone) {
  const Rational magnitude = coefficient.is_negative() ? -coefficient : coefficient;
  std::string text = magnitude.is_one() && !m.empty() ? "" : magnitude.text();
  for (const Factor& f : m) {
    const bool bare = f.variable < kFirstQuotient || table.quotient(f.variable).rounds_up ||
                      (alone && m.size() == 1 && f.exponent == 1 && magnitude.is_one());
    text += (text.empty() ? "" : " ") + (bare ? text_of(table, f.variable) : "(" + text_of(table, f.variable) + ")");
    if (f.exponent > 1) text += fmt::format("^{}", f.exponent);
  }
  return text;
}

std::string text_of(const SymbolTable& table, const Polynomial& p) {
  Rational step;
  for (const auto& [monomial, coefficient] : p.terms()) step = gcd(step, coefficient);
  const Rational denominator(step.denominator(), 1);
  const bool alone = p.terms().size() == 1 && denominator.is_one();
  std::string text;
  for (const auto& [monomial, coefficient] : p.terms()) {
    const bool negative = coefficient.is_negative();
    text += text.empty() ? (negative ? "-" : "") : negative ? " - " : " + ";
    text += text_of(table, monomial, coefficient * denominator, alone && !negative);
  }
  if (denominator.is_one()) return text;
  return fmt::format("{} / {}", p.terms().size() > 1 ? "(" + text + ")" : text, denominator.text());
}

}  // namespace

std::string Dim::text() const { return expression_ ? text_of(*expression_->table, expression_->polynomial) : fmt::format("{}", value_); }

}  // namespace tilewright
