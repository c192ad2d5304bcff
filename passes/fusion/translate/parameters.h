// Finds values that depend on parameters and constants alone: they are computed when a parameter is given, and not at every run.
//
//   x (A B)      with parameters A and B                   x C,   C = A B
//   x (W + D)                                              x V,   V = W + D
//   x cast(W)    to a narrower type                        x V,   V = cast(W)
//
//   (x g + b) W                                            x g W + c,   c = b W
//
// Factors of a product and terms of a sum are taken together where one of them has the axes of all. A value is stored if each run then reads
// fewer bytes, by at least the bytes that are stored: a gain g beside a weight W stays, since g W would be a second copy of W for the sake of
// |g| bytes, and so do views, broadcasts, functions of one weight, and weights that a kernel widens. A mask stays, too: where it does not
// hold, the whole product is 0, whatever the other factors are. Together the stored values take at most twice the memory of the parameters
// and constants that the values read: a product of narrow matrices is not stored at any size.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/plan/plan.h"

namespace tilewright::passes::fusion {

/// Which nodes of a graph are known before a run.
class KnownNodes {
 public:
  explicit KnownNodes(const graph::Graph&);
  /// Whether the value depends on parameters and constants alone.
  bool is_known(graph::NodeId n) const { return known_[n.index]; }
  /// Whether all symbols are those of shapes of parameters: others may change from run to run while the parameters stay.
  bool is_fixed(const Dim&) const;

 private:
  std::vector<bool> known_;
  std::set<std::uint32_t> symbols_;
};

class ParameterFolding {
 public:
  struct Options {
    bool move_rounding = true;                 // products of parameters may round to the type in which they are multiplied
    std::function<bool(Tensor)> is_known;      // whether the tensor has its contents before a run
    std::function<bool(const Dim&)> is_fixed;  // see KnownNodes
    std::function<std::string(const std::vector<Tensor>&)> name_tensor;  // a name that is new in the program, for what reads these
  };
  ParameterFolding(ExprBuilder& b, Options options) : b_(b), options_(std::move(options)) {}

  /// The value with loads in place of what is computed ahead. The values in place of the loads give the formula again; if they did not,
  /// nothing would be folded.
  Expr fold(Expr value);
  /// What the folded values load: the values to compute, and the tensors for them.
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
  std::vector<graph::NodeId> calls_;  // of which the expression being visited is a part
  ExprMap distributed_, folded_, definitions_;
  std::map<std::pair<const ExprData*, ir::Element>, Expr> stored_;
  std::unordered_map<Expr, bool, ExprHash> known_, has_load_;
  std::set<Tensor> read_;  // parameters and constants of the values
  double read_bytes_ = 0, stored_bytes_ = 0;
};

}  // namespace tilewright::passes::fusion
