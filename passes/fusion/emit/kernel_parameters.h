// The parameters of a kernel: pointers to tensors, scalars and extents, each made when it is first needed.
#pragma once
#include <vector>

#include "passes/fusion/expr/expr.h"
#include "tileir/ir.h"

namespace tilewright::passes::fusion {

class KernelParameters {
 public:
  struct Parameter {
    Tensor tensor = nullptr;  // a pointer to its memory, or the number of a scalar
    Dim extent;               // if there is no tensor: an extent
    ir::ValueId value;
  };
  explicit KernelParameters(ir::Function& f) : function_(f) {}

  /// In the order in which they were made, which is that of the function's parameters.
  const std::vector<Parameter>& all() const { return all_; }
  /// Declares a tensor that the kernel writes: no other parameter points to its memory.
  void set_written(Tensor t) { written_.push_back(t); }

  /// A pointer to a tensor's memory, or the number of a scalar.
  ir::ValueId tensor(Tensor);
  /// The value of an extent that is not constant, an i32 if every value fits, else an i64.
  ir::ValueId extent(const Dim&);

 private:
  ir::Function& function_;
  std::vector<Parameter> all_;
  std::vector<Tensor> written_;
};

}  // namespace tilewright::passes::fusion
