// A builder of formulas with two axes, for tests of the normal form.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

struct ExprFixture {
  ExprPool pool;
  ExprBuilder b{pool};
  Axis k = pool.axis("k", 53), r = pool.axis("r", 7);

  /// An element of a tensor of f32 at the positions of the axes.
  Expr data(const char* name, std::initializer_list<Axis> axes) {
    TensorInfo info;
    info.name = name;
    info.element = ir::Element::f32;
    std::vector<Expr> index;
    for (Axis a : axes) info.shape.push_back(a->extent), index.push_back(b.index(a));
    info.strides.assign(info.shape.size(), 1);
    return b.load(pool.add_tensor(std::move(info)), std::move(index));
  }
};

}  // namespace tilewright::passes::fusion
