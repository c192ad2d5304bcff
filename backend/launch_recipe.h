// Launch recipes: numbers that the host computes at each launch from the arguments of the kernel, and by-value parameters made from them.
// Uses neither LLVM nor a driver: the compiler writes recipes, devices follow them.
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

inline constexpr int kMostParameterBytes = 4096;  // for all parameters of a kernel together: every target accepts this much
inline constexpr int kMostRecipeSteps = 128;

/// Numbers computed from parameters, grid and constants by +, -, *, /, %, min, max, shifts, comparisons (1 or 0) and bitwise and, each once, in
/// order. All are 64-bit integers:
/// arguments are sign- or zero-extended by their type, pointers are their addresses. Arithmetic wraps, as in tile IR.
///
/// Example: parameter 2 (k); constant 63; add 0, 1; constant 6; shr 2, 3: the number of k-tiles.
struct LaunchRecipe {
  enum class Kind : std::uint8_t {
    constant,
    parameter,
    grid,
    add,
    sub,
    mul,
    div,
    minimum,
    maximum,
    shl,
    shr,
    rem,
    bit_and,
    eq,
    ne,
    lt,
    le
  };
  struct Step {
    Kind kind = Kind::constant;
    std::int64_t value = 0;  // constant: its value; parameter: its number; grid: the axis
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
  int bytes = 0;  // bytes that no field covers are 0
  std::vector<Field> fields;
  friend bool operator==(const PackedParameter&, const PackedParameter&) = default;
};

/// A by-value parameter that describes a tensor to bulk copies: 128 bytes, which the driver encodes. The innermost axis comes first.
struct TensorMapParameter {
  ir::Element element{};
  int address = -1;          // a step of the recipe
  std::vector<int> extents;  // steps; in elements; 1 to 5 axes
  std::vector<int> strides;  // steps; in elements; from axis 1 on
  std::vector<int> box;      // in elements
  int swizzle_bytes = 0;     // 0, 32, 64, 128
  friend bool operator==(const TensorMapParameter&, const TensorMapParameter&) = default;
};
inline constexpr int kTensorMapBytes = 128;

using HostParameter = std::variant<PackedParameter, TensorMapParameter>;

/// The values that a launch of the kernel passes and sets in addition to the arguments.
struct LaunchPlan {
  LaunchRecipe recipe;
  std::vector<HostParameter> parameters;  // after the function's parameters, before the runtime's (nvptx_abi.h)
  std::array<int, 3> grid{-1, -1, -1};    // steps: the number of programs; -1: the user's
  std::vector<int> positive;              // steps: the kernel is right only if these are positive
  bool is_empty() const { return parameters.empty() && grid == std::array{-1, -1, -1}; }
  friend bool operator==(const LaunchPlan&, const LaunchPlan&) = default;
};

/// Bytes and alignment of a parameter of a plan.
int parameter_bytes(const HostParameter&);
int parameter_alignment(const HostParameter&);

/// The error in a plan for a kernel with this number of parameters; empty if there is none.
std::string plan_problem(const LaunchPlan&, std::size_t params);

/// Why a kernel cannot be launched with its arguments.
struct RecipeError {
  std::string text;
};

/// Writes the number of each step. `params`: the types of the arguments, which have one word each; `grid`: the user's. Requires: a valid
/// recipe. Throws RecipeError for a division by 0.
void evaluate(const LaunchRecipe&, std::span<const ir::Type> params, std::span<const std::uint64_t> arguments,
              const std::array<std::int32_t, 3>& grid, std::span<std::int64_t> numbers);

/// Throws RecipeError if a number that must be positive is not.
void check_positive(const LaunchPlan&, std::span<const std::int64_t> numbers);

/// Writes the bytes of a packed parameter.
void pack(const PackedParameter&, std::span<const std::int64_t> numbers, std::span<std::byte> to);

}  // namespace tilewright::backend
