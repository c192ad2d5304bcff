// Separates dependence on data from dependence on pending reductions: the derivation of one-pass kernels.
//
// A loop walks an axis L. A reduction over L is pending until the loop ends, but other values may need it: in sum of exp(s - m) v, the
// maximum m of s is pending. A form of a value is
//
//   value = sum over i of  c_i(pending) * exp(a_i(pending) - a_i(reference)) * body_i(data, reference)
//
// The references stand for the pending values. Any number may serve as a reference; a loop uses the value so far. An accumulator
// holds the reduction of body_i, and is multiplied by exp(a_i(new) - a_i(old)) when its reference changes. c_i is applied after the
// loop.
//   exp(s - m) / l * v   has one term:  c = 1 / l,  a = -m,  body = exp(s - reference(m)) v
//
// A value without a form is computed in a further pass over L, when the reductions in it are complete. The same is done if its form would
// leave the range of the formula (magnitude.h), or if its terms would cancel where the formula subtracts numbers that are near each other:
// (x - m)^2 has a form for an average m of x, since its body contains an estimate of m, but (y - a - b x)^2 has none.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/fusion/derivation_failed.h"
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// factor * exp(exponent - exponent at the reference) * body.
struct FormTerm {
  Expr factor;    // depends only on pending values
  Expr exponent;  // depends only on pending values
  Expr body;      // depends on data and references
};
using Form = std::vector<FormTerm>;

/// Why a value has no form.
struct NoForm : DerivationFailed {
  NoForm(std::string why, Expr by, Expr inside) : DerivationFailed(std::move(why)), node(by), pending(inside) {}

  Expr node;     // the expression that prevents a form
  Expr pending;  // a pending reduction inside of it
};

class Forms {
 public:
  /// shift: data + pending becomes (data + reference) + (pending - reference), which loses less by cancellation than two terms.
  Forms(ExprBuilder&, Axis loop, std::vector<Expr> pending, bool shift = true);

  /// The form of a value. Throws NoForm.
  const Form& form(Expr);
  /// The form of the operand of a reduction over the loop's axis. A maximum must have one term that is monotone in its body; a maximum that
  /// an exponential subtracts must be one of the values, as they are computed after the loop. Throws NoForm.
  Form reduction(Expr reduce, bool is_exponent = false);
  /// Whether a value depends on a pending reduction. References do not.
  bool has_pending(Expr);

 private:
  Form make(Expr);
  Form sum(Expr);
  Expr shift_of(const std::vector<Expr>& pending);
  Form product(Expr);
  void check_power(Expr sum, Expr product);
  void check_operand(Expr reduce, const Form&);
  Form exponential(Expr, const std::vector<Expr>& conditions);
  Form selection(Expr);
  Expr hidden_where_not(Expr mask, Expr factor);
  Form logarithm(Expr);
  Form inner_reduction(Expr);
  FormTerm with_positive_factor(FormTerm);
  Form multiply(const Form&, const Form&, Expr product);
  Form merge(Form, Expr value);
  bool is_pending(Expr) const;
  Expr first_pending(Expr);
  /// Forms of the same values without shifts. All exponents and extremes inside use them, since they would otherwise visit common parts
  /// again.
  Forms& without_shift();
  [[noreturn]] void refuse(std::string reason, Expr node);

  ExprBuilder& b_;
  Axis loop_;
  std::vector<Expr> pending_;
  bool shift_;
  std::unordered_map<Expr, Form, ExprHash> forms_;
  std::unordered_map<Expr, bool, ExprHash> has_pending_;
  std::unique_ptr<Forms> without_shift_;
};

}  // namespace tilewright::passes::fusion
