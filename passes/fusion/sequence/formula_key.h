// Compares the formulas that the kernels of two graphs compute, by a text.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "passes/fusion/expr/kernel_output.h"

namespace tilewright::passes::fusion {

/// A text that is equal for outputs of two pools if they write the same formulas of the same tensors, whatever graphs they were made of.
/// None for formulas with a function of the user, whose number only its pool knows.
std::optional<std::string> formula_key(std::span<const KernelOutput>);

}  // namespace tilewright::passes::fusion
