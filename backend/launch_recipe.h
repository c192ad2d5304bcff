// Launch recipes: numbers, and from them by-value parameters, that the host computes at each launch from the arguments of the kernel. No
// LLVM and no driver here: the compiler writes recipes, devices follow them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tileir/type.h"

namespace tilewright::backend {

inline constexpr int kMostParameterBytes = 4096;  // of all parameters of a kernel, which every target takes
inline constexpr int kMostRecipeSteps = 64;

/// Numbers in the closure of parameters, grid and constants under +, -, *, /, min, max and shifts, each computed once, in order. All are
/// 64-bit integers, of arguments sign- or zero-extended by their type; pointers are their addresses. Arithmetic wraps, as tile IR's does.
///
/// Example: parameter 2 (k); constant 63; add 0, 1; constant 6; shr 2, 3: the number of k-tiles.
struct LaunchRecipe {
  enum class Kind : std::uint8_t { constant, parameter, grid, add, sub, mul, div, minimum, maximum, shl, shr };
  struct Step {
    Kind kind = Kind::constant;
    std::int64_t value = 0;  // of a constant; of a parameter its number; of grid the axis
    int a = -1, b = -1;      // earlier steps
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Step> steps;
  friend bool operator==(const LaunchRecipe&, const LaunchRecipe&) = default;
};

/// A by-value parameter whose bytes are numbers of the recipe.
struct PackedParameter {
  struct Field {
    int offset, bytes;  // 1, 2, 4 or 8
    int step;
    friend bool operator==(const Field&, const Field&) = default;
  };
  int bytes = 0;  // those that no field covers are 0
  std::vector<Field> fields;
  friend bool operator==(const PackedParameter&, const PackedParameter&) = default;
};

/// A by-value parameter that describes a tensor to bulk copies: 128 bytes, which the driver encodes. Innermost axis first.
struct TensorMapParameter {
  ir::Element element{};
  int address = -1;          // a step
  std::vector<int> extents;  // steps, of elements; 1 to 5
  std::vector<int> strides;  // steps, of elements, from axis 1 on
  std::vector<int> box;      // elements
  int swizzle_bytes = 0;     // 0, 32, 64, 128
  friend bool operator==(const TensorMapParameter&, const TensorMapParameter&) = default;
};
inline constexpr int kTensorMapBytes = 128;

using HostParameter = std::variant<PackedParameter, TensorMapParameter>;

/// What a launch of the kernel passes and sets besides the arguments.
struct LaunchPlan {
  LaunchRecipe recipe;
  std::vector<HostParameter> parameters;  // behind those of the function, before those of the runtime (nvptx_abi.h)
  std::array<int, 3> grid{-1, -1, -1};    // steps: the programs that are launched; -1: as many as the user says
  bool is_empty() const { return parameters.empty() && grid == std::array{-1, -1, -1}; }
  friend bool operator==(const LaunchPlan&, const LaunchPlan&) = default;
};

/// Bytes and alignment of a parameter of a plan.
int parameter_bytes(const HostParameter&);
int parameter_alignment(const HostParameter&);

/// What is wrong with a plan for a kernel of so many parameters; empty: nothing.
std::string plan_problem(const LaunchPlan&, std::size_t params);

/// Why arguments have no launch.
struct RecipeError {
  std::string text;
};

/// Writes the number of each step. `params`: the types of the arguments, one word each; `grid`: the user's. Requires: a valid recipe.
/// Throws RecipeError for a division by 0.
void evaluate(const LaunchRecipe&, std::span<const ir::Type> params, std::span<const std::uint64_t> arguments,
              const std::array<std::int32_t, 3>& grid, std::span<std::int64_t> numbers);

/// Writes a packed parameter.
void pack(const PackedParameter&, std::span<const std::int64_t> numbers, std::span<std::byte> to);

}  // namespace tilewright::backend
