// Evaluates recipes and checks plans.
#include "backend/launch_recipe.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tileir/diagnostics.h"

namespace tilewright::backend {

namespace {

using Kind = LaunchRecipe::Kind;

constexpr int rounded_up(int bytes, int alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// The argument as tile IR reads it: a signed integer is negative if its highest bit is set.
std::int64_t argument_value(const ir::Type& t, std::uint64_t word) {
  const int bits = t.element_bits();
  if (bits == 64) return static_cast<std::int64_t>(word);
  const std::uint64_t low = word & ((std::uint64_t{1} << bits) - 1);
  const bool is_negative = ir::is_signed(t.element()) && (low >> (bits - 1) & 1) != 0;
  return static_cast<std::int64_t>(is_negative ? low | ~std::uint64_t{0} << bits : low);
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw RecipeError{"a division by 0"};
  return b == -1 ? static_cast<std::int64_t>(-static_cast<std::uint64_t>(a)) : a / b;
}

std::int64_t remainder_of(std::int64_t a, std::int64_t b) {
  if (b == 0) throw RecipeError{"a division by 0"};
  return b == -1 ? 0 : a % b;
}

/// Shifts by the width or more give 0, or the sign, as shifts of tile IR do.
std::int64_t shifted_left(std::int64_t a, std::int64_t by) {
  return by < 0 || by > 63 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << by);
}
std::int64_t shifted_right(std::int64_t a, std::int64_t by) { return a >> (by < 0 || by > 63 ? 63 : by); }

std::int64_t combined(Kind k, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (k) {
    case Kind::add: return static_cast<std::int64_t>(x + y);
    case Kind::sub: return static_cast<std::int64_t>(x - y);
    case Kind::mul: return static_cast<std::int64_t>(x * y);
    case Kind::div: return quotient(a, b);
    case Kind::minimum: return std::min(a, b);
    case Kind::maximum: return std::max(a, b);
    case Kind::shl: return shifted_left(a, b);
    case Kind::shr: return shifted_right(a, b);
    case Kind::rem: return remainder_of(a, b);
    case Kind::bit_and: return a & b;
    case Kind::eq: return a == b;
    case Kind::ne: return a != b;
    case Kind::lt: return a < b;
    case Kind::le: return a <= b;
    case Kind::constant:
    case Kind::parameter:
    case Kind::grid: break;
  }
  TW_UNREACHABLE("a step without operands");
}

class PlanChecker {
 public:
  PlanChecker(const LaunchPlan& plan, std::size_t params) : plan_(plan), params_(params) {}

  std::string run() const {
    const auto& steps = plan_.recipe.steps;
    if (steps.size() > kMostRecipeSteps) return fmt::format("{} steps; a recipe has at most {}", steps.size(), kMostRecipeSteps);
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (std::string p = step_problem(steps[i], static_cast<int>(i)); !p.empty()) return fmt::format("step {}: {}", i, p);
    for (const int step : plan_.grid)
      if (step != -1 && !exists(step)) return "the grid names a step that does not exist";
    for (const int step : plan_.positive)
      if (!exists(step)) return "a number that must be positive is a step that does not exist";
    int bytes = static_cast<int>(params_) * 8;
    for (std::size_t i = 0; i < plan_.parameters.size(); ++i) {
      const HostParameter& parameter = plan_.parameters[i];
      const auto* packed = std::get_if<PackedParameter>(&parameter);
      std::string p = packed ? packed_problem(*packed) : map_problem(std::get<TensorMapParameter>(parameter));
      if (!p.empty()) return fmt::format("parameter {} of the host: {}", i, p);
      bytes = rounded_up(bytes, parameter_alignment(parameter)) + parameter_bytes(parameter);
    }
    return bytes > kMostParameterBytes ? fmt::format("{} bytes of parameters; a kernel has at most {}", bytes, kMostParameterBytes) : "";
  }

 private:
  bool exists(int step) const { return step >= 0 && step < static_cast<int>(plan_.recipe.steps.size()); }

  std::string step_problem(const LaunchRecipe::Step& s, int at) const {
    switch (s.kind) {
      case Kind::constant: return "";
      case Kind::parameter:
        return s.value >= 0 && s.value < static_cast<std::int64_t>(params_) ? "" : fmt::format("there is no parameter {}", s.value);
      case Kind::grid: return s.value >= 0 && s.value < 3 ? "" : fmt::format("there is no axis {} of the grid", s.value);
      default: return s.a >= 0 && s.a < at && s.b >= 0 && s.b < at ? "" : "an operand is not an earlier step";
    }
  }

  std::string packed_problem(const PackedParameter& p) const {
    if (p.bytes < 1 || p.bytes % 4 != 0) return fmt::format("{} bytes; it must be a positive multiple of 4", p.bytes);
    for (const PackedParameter::Field& f : p.fields) {
      if (f.bytes != 1 && f.bytes != 2 && f.bytes != 4 && f.bytes != 8) return fmt::format("a field of {} bytes", f.bytes);
      if (f.offset < 0 || f.offset + f.bytes > p.bytes) return "a field is outside of it";
      if (!exists(f.step)) return "a field names a step that does not exist";
    }
    return "";
  }

  std::string map_problem(const TensorMapParameter& m) const {
    const std::size_t rank = m.extents.size();
    if (rank < 1 || rank > 5 || m.strides.size() + 1 != rank || m.box.size() != rank)
      return fmt::format("a tensor map of {} extents, {} strides and a box of {}", rank, m.strides.size(), m.box.size());
    for (const auto* steps : {&m.extents, &m.strides})
      for (const int step : *steps)
        if (!exists(step)) return "a tensor map names a step that does not exist";
    if (!exists(m.address)) return "a tensor map names a step that does not exist";
    for (const int extent : m.box)
      if (extent < 1 || extent > 256) return fmt::format("an extent of a box is {}; it must be 1 to 256", extent);
    if (m.swizzle_bytes != 0 && m.swizzle_bytes != 32 && m.swizzle_bytes != 64 && m.swizzle_bytes != 128)
      return fmt::format("a swizzle of {} bytes", m.swizzle_bytes);
    return "";
  }

  const LaunchPlan& plan_;
  const std::size_t params_;
};

}  // namespace

int parameter_bytes(const HostParameter& p) {
  const auto* packed = std::get_if<PackedParameter>(&p);
  return packed ? packed->bytes : kTensorMapBytes;
}

int parameter_alignment(const HostParameter& p) { return std::holds_alternative<PackedParameter>(p) ? 8 : 128; }

void evaluate(const LaunchRecipe& recipe, std::span<const ir::Type> params, std::span<const std::uint64_t> arguments,
              const std::array<std::int32_t, 3>& grid, std::span<std::int64_t> numbers) {
  for (std::size_t i = 0; i < recipe.steps.size(); ++i) {
    const LaunchRecipe::Step& s = recipe.steps[i];
    const auto at = static_cast<std::size_t>(s.value);
    switch (s.kind) {
      case Kind::constant: numbers[i] = s.value; break;
      case Kind::parameter: numbers[i] = argument_value(params[at], arguments[at]); break;
      case Kind::grid: numbers[i] = grid[at]; break;
      default: numbers[i] = combined(s.kind, numbers[static_cast<std::size_t>(s.a)], numbers[static_cast<std::size_t>(s.b)]);
    }
  }
}

void check_positive(const LaunchPlan& plan, std::span<const std::int64_t> numbers) {
  for (const int step : plan.positive)
    if (const std::int64_t n = numbers[static_cast<std::size_t>(step)]; n < 1)
      throw RecipeError{
          fmt::format("a program may divide a position in a tensor by {}; by bulk copies it can only be divided by positive numbers", n)};
}

std::string plan_problem(const LaunchPlan& plan, std::size_t params) { return PlanChecker(plan, params).run(); }

void pack(const PackedParameter& p, std::span<const std::int64_t> numbers, std::span<std::byte> to) {
  std::fill(to.begin(), to.begin() + p.bytes, std::byte{0});
  for (const PackedParameter::Field& f : p.fields) {
    const std::int64_t number = numbers[static_cast<std::size_t>(f.step)];
    std::memcpy(&to[static_cast<std::size_t>(f.offset)], &number, static_cast<std::size_t>(f.bytes));  // little-endian
  }
}

}  // namespace tilewright::backend
