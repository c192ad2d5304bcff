// A launch plan that has one of everything, for tests.
#pragma once
#include "backend/launch_recipe.h"

namespace tilewright::backend {

/// For a kernel of two parameters.
inline LaunchPlan sample_plan() {
  using Kind = LaunchRecipe::Kind;
  LaunchPlan plan;
  plan.recipe.steps = {{Kind::parameter, 0}, {Kind::parameter, 1}, {Kind::grid, 2}, {Kind::constant, -7}, {Kind::mul, 0, 1, 2}};
  plan.parameters = {PackedParameter{8, {{0, 4, 4}, {4, 4, 3}}}, TensorMapParameter{ir::Element::bf16, 0, {1, 2}, {1}, {64, 16}, 128}};
  plan.grid = {4, -1, 2};
  plan.positive = {4, 1};
  return plan;
}

}  // namespace tilewright::backend
