// The tensors of the values that kernels store, and which of them have a kernel so far.
#pragma once
#include "passes/fusion/cover/other_names.h"
#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

class ValueTensors {
 public:
  /// Keeps the references. first: the number of the first tensor that is added to the pool.
  ValueTensors(ExprBuilder& b, ContainedReductions& held, int first) : b_(b), held_(held), first_(first) {}

  /// Notes an output that contains a reduction, or that is a scan: it is read from memory where another kernel needs its value. A piece of a
  /// concatenation is not: other kernels write to the same tensor.
  void know_output(const KernelOutput&);

  /// The expression that reads a stored value. If another value that is stored is the same along other axes, its tensor is read.
  Expr load_of(Expr value);
  /// As above, for values that have tensors.
  Expr known_load_of(Expr value) const { return loads_.at(value); }
  /// The output of the kernel that stores a value.
  KernelOutput output_of(Expr value) const;
  /// The values that have tensors, and what reads them.
  const ExprMap& all() const { return loads_; }
  /// If several of the values are the same value along different axes, one of them is stored.
  ExprMap without_same(const ExprMap& stored) const;

  /// Whether a value is an output, or has a kernel.
  bool is_started(Expr value) const { return started_.contains(value); }
  /// Notes that a value gets a kernel. Returns false if it has one.
  bool start(Expr value) { return started_.insert(value).second; }
  /// Only outputs are stored.
  void restart() { started_ = outputs_; }

 private:
  /// Whether a value that has a tensor varies along the axes that this one varies along with two of them swapped.
  bool varies_like_known(Expr, const SwappedAxes&) const;

  ExprBuilder& b_;
  ContainedReductions& held_;
  const int first_;
  ExprMap loads_;
  ExprMap same_;     // values that are stored along other axes
  ExprSet outputs_;  // what outputs store
  ExprSet started_;
};

}  // namespace tilewright::passes::fusion
