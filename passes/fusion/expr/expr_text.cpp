// Prints expressions.
#include "passes/fusion/expr/expr_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

std::string_view combine_name(graph::Combine c) {
  switch (c) {
    case graph::Combine::sum: return "sum";
    case graph::Combine::prod: return "prod";
    case graph::Combine::max: return "max";
    case graph::Combine::min: return "min";
    case graph::Combine::argmax: return "argmax";
    case graph::Combine::argmin: return "argmin";
    case graph::Combine::any: return "any";
    case graph::Combine::all: return "all";
    case graph::Combine::combine: return "reduce";
  }
  return "";
}

std::string number_text(const Rational& r) {
  if (r.is_integer() || (r.denominator() < kLeastLongNumber && r.numerator() < kLeastLongNumber)) return r.text();
  return fmt::format("{:.9g}", r.to_double());
}

class Printer {
 public:
  explicit Printer(const ExprNames& names) : names_(names) {}

  std::string operator()(Expr e) const {
    if (const auto named = names_.find(e); named != names_.end()) return named->second;
    const auto inner = [&](std::size_t i) { return (*this)(e->operands[i]); };
    switch (e->kind) {
      case ExprKind::number: return number_text(e->number);
      case ExprKind::infinity: return e->number.is_negative() ? "-inf" : "inf";
      case ExprKind::constant: return fmt::format("{:.9g}", std::bit_cast<double>(e->bits));
      case ExprKind::extent: return e->extent.text();
      case ExprKind::random: return fmt::format("rand({}, {})", e->bits, inner(0));
      case ExprKind::index: return e->axis->name;
      case ExprKind::load: return e->operands.empty() ? e->tensor->name : fmt::format("{}[{}]", e->tensor->name, list(e->operands, ", "));
      case ExprKind::add: return sum(e);
      case ExprKind::mul: return product(e);
      case ExprKind::exp: return fmt::format("exp({})", inner(0));
      case ExprKind::log: return fmt::format("log({})", inner(0));
      case ExprKind::function: return fmt::format("{}({})", ir::text(e->function), list(e->operands, ", "));
      case ExprKind::select: return fmt::format("({} ? {} : {})", inner(0), inner(1), inner(2));
      case ExprKind::at_least_zero: return inner(0) + " >= 0";
      case ExprKind::equal: return inner(0) + " == " + inner(1);
      case ExprKind::conjunction: return list(e->operands, " and ");
      case ExprKind::negation: return fmt::format("not ({})", inner(0));
      case ExprKind::indicator: return fmt::format("[{}]", inner(0));
      case ExprKind::reduce: return fmt::format("{} over {} of ({})", combine_name(e->combine), text(e->bound), list(e->operands, ", "));
      case ExprKind::scan:
        return fmt::format("{} over {} of ({}) {} {}", combine_name(e->combine), text(e->bound), inner(0), e->bits != 0 ? "from" : "to",
                           inner(1));
      case ExprKind::reference: return fmt::format("ref({})", inner(0));
      case ExprKind::shift_reference: return fmt::format("shift({})", inner(0));
      case ExprKind::delta: return fmt::format("delta({})", inner(0));
    }
    return "";
  }

 private:
  std::string list(const std::vector<Expr>& all, std::string_view separator) const {
    std::string joined;
    for (Expr e : all) joined += (joined.empty() ? "" : std::string(separator)) + (*this)(e);
    return joined;
  }

  // Terms are sorted by text; numbers come last.
  std::string sum(Expr e) const {
    std::vector<std::pair<std::string, Rational>> terms;
    for (const Term& t : e->terms) terms.emplace_back(t.value->is_number(1) ? "" : (*this)(t.value), t.coefficient);
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.first.empty(), a.second.is_negative(), a.first) < std::tuple(b.first.empty(), b.second.is_negative(), b.first);
    });
    std::string joined;
    for (const auto& [value, coefficient] : terms) {
      const Rational magnitude = coefficient.is_negative() ? -coefficient : coefficient;
      joined += coefficient.is_negative() ? (joined.empty() ? "-" : " - ") : joined.empty() ? "" : " + ";
      if (value.empty() || !magnitude.is_one()) joined += number_text(magnitude) + (value.empty() ? "" : " ");
      joined += value;
    }
    return "(" + joined + ")";
  }

  std::string product(Expr e) const {
    std::vector<std::string> factors;
    for (const Factor& f : e->factors)
      factors.push_back((*this)(f.base) + (f.exponent.is_one()       ? ""
                                           : f.exponent.is_integer() ? "^" + f.exponent.text()
                                                                     : "^(" + f.exponent.text() + ")"));
    std::sort(factors.begin(), factors.end());
    std::string joined = e->number.is_one() ? "" : e->number == Rational(-1) ? "-" : number_text(e->number) + " ";
    for (std::size_t i = 0; i < factors.size(); ++i) joined += (i == 0 ? "" : " ") + factors[i];
    return joined;
  }

  const ExprNames& names_;
};

// The parts of a formula, each once and after its own parts, with the number of its uses and its length as a tree.
class Parts {
 public:
  Parts(Expr root, const ExprNames& names) {
    const auto enter = [&](Expr e) {
      const auto [at, is_new] = facts_.emplace(e, Facts());
      ++at->second.uses;
      return is_new && !names.contains(e);
    };
    walk(root, enter, [&](Expr e) {
      double& length = facts_.at(e).length;
      for (Expr x : children(e)) length += facts_.at(x).length;
      order_.push_back(e);
    });
  }

  double length(Expr e) const { return facts_.at(e).length; }
  /// The parts that are used several times and are more than an element of memory at a short index.
  std::vector<Expr> repeated() const {
    std::vector<Expr> found;
    for (Expr e : order_)
      if (facts_.at(e).uses > 1 && e->height > 0 && !(e->is(ExprKind::load) && length(e) <= kLongestElementText)) found.push_back(e);
    return found;
  }

 private:
  struct Facts {
    int uses = 0;
    double length = 1;
  };

  std::unordered_map<Expr, Facts, ExprHash> facts_;
  std::vector<Expr> order_;
};

}  // namespace

std::string text(Expr e, const ExprNames& names) {
  // Printed as a tree, a formula that uses its parts several times would grow exponentially with its depth.
  const Parts parts(e, names);
  if (parts.length(e) <= kLongestText) return Printer(names)(e);
  ExprNames all = names;
  std::string definitions;
  for (Expr x : parts.repeated()) {
    if (x == e) continue;
    const std::string name = fmt::format("v{}", all.size() - names.size());
    definitions += fmt::format("{}{} = {}", definitions.empty() ? " where " : ", ", name, Printer(all)(x));
    all.emplace(x, name);
  }
  return Printer(all)(e) + definitions;
}

std::string text(const AxisSet& axes) {
  std::string joined;
  for (Axis a : axes) joined += (joined.empty() ? "" : " ") + a->name;
  return joined;
}

}  // namespace tilewright::passes::fusion
