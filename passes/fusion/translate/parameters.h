// Finds values that depend only on parameters and constants: they are computed when a parameter is given, and not in every run.
//
//   x (A B)      with parameters A and B                   x C,   C = A B
//   x (W + D)                                              x V,   V = W + D
//   x cast(W)    to a narrower type                        x V,   V = cast(W)
//
//   (x g + b) W                                            x g W + c,   c = b W
//
// Factors of a product, or terms of a sum, are combined if one of them has the axes of all. A value is stored if each run then reads fewer
// bytes, by at least the stored bytes. So a gain g beside a weight W stays, since g W would be a second copy of W to save |g| bytes; views,
// broadcasts, functions of one weight, and weights that a kernel widens stay too. A mask also stays: where it does not hold, the whole
// product is 0, whatever the other factors are. Together, the stored values take at most kMostParameterCopies times the memory of the
// parameters and constants that they read. A product of narrow matrices, which is larger than its factors, is stored only up to that size.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

class ParameterFolding {
 public:
  struct Options {
    bool move_rounding = true;                 // products of parameters may be rounded to the type in which they are multiplied
    std::function<bool(Tensor)> is_known;      // whether the contents of a tensor are known before a run
    std::function<bool(const Dim&)> is_fixed;  // see KnownNodes
    std::function<std::string(const std::vector<Tensor>&)> name_tensor;  // returns a new name for a value that reads these tensors
  };
  ParameterFolding(ExprBuilder& b, Options options) : b_(b), options_(std::move(options)) {}

  /// The value with loads instead of the parts that are computed before a run. Substituting the parts for the loads gives the formula
  /// again; otherwise nothing would be folded.
  Expr fold(Expr value);
  /// The values to compute before a run, and the tensors that hold them, which folded values load.
  const std::vector<KernelOutput>& ahead() const { return ahead_; }

 private:
  Expr distribute(Expr);
  Expr distribute_product(Expr);
  Expr visit(Expr);
  Expr fold_parts(Expr);
  Expr fold_sum(Expr);
  Expr fold_product(Expr product, const AxisSet& bound, ProductElement operand_element);
  Expr fold_reduction(Expr);
  Expr stored(Expr value, ir::Element);
  ir::Element stored_element(Expr value, Expr product, const AxisSet& bound, ir::Element operand_element) const;
  bool is_known(Expr);
  bool holds_known_load(Expr);
  bool pays(Expr value, ir::Element) const;
  bool has_room(Expr value, ir::Element) const;
  void count_read_memory(Expr value);

  ExprBuilder& b_;
  const Options options_;
  std::vector<KernelOutput> ahead_;
  std::vector<graph::NodeId> calls_;  // the calls to which the visited expression belongs
  ExprMap distributed_, folded_, definitions_;
  std::map<std::pair<const ExprData*, ir::Element>, Expr> stored_;
  std::unordered_map<Expr, bool, ExprHash> known_, has_load_;
  std::set<Tensor> read_;  // parameters and constants that the values read
  double read_bytes_ = 0, stored_bytes_ = 0;
};

}  // namespace tilewright::passes::fusion
