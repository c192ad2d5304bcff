// Prints tiles and states.
#include "passes/fusion/tiles/tiling_text.h"

#include <fmt/format.h>

#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/tiles/loop_bounds.h"

namespace tilewright::passes::fusion {

namespace {

std::string element_text(Expr load) { return fmt::format("{} {}", ir::text(load->tensor->element), text(load)); }

std::string bounds_text(ExprBuilder& b, const LoopPlan& plan) {
  std::string all;
  for (const LoopBound& bound : loop_bounds(b, plan, plan.states[0])) {
    const Expr rest = b.add_terms(bound.rest);
    all += fmt::format(", {} {}", bound.is_upper ? "up to" : "from", text(bound.is_upper ? rest : b.scale(-1, rest)));
  }
  return all;
}

}  // namespace

std::string tiles_text(ExprBuilder& b, const LoopPlan& plan, const TileSizes& sizes, const ir::TargetDesc& target) {
  std::string all;
  const auto line = [&](std::string_view kind, Axis axis, std::int64_t size, std::string_view how) {
    all += fmt::format("  {} {}: {} of {}{}\n", kind, axis->name, size, axis->extent.text(), how);
  };
  for (const auto& [axis, size] : sizes.grid) line("grid", axis, size, "");
  if (plan.loop) line("loop", plan.loop, sizes.loop, bounds_text(b, plan));
  for (const auto& [axis, size] : sizes.payload) line("payload", axis, size, "");
  for (const auto& [axis, inner] : sizes.inner) line("inner", axis, inner.size, inner.is_looped ? ", in a loop" : "");
  if (target.is_gpu()) all += fmt::format("  {} warps\n", sizes.num_warps);
  return all;
}

std::string states_text(const LoopPlan& plan, const SplitLoop& split) {
  ExprNames names;
  for (std::size_t i = 0; i < plan.reductions.size(); ++i) names[plan.reductions[i].value] = fmt::format("r{}", i);
  std::string all;
  for (const auto& [i, element] : split.accumulators) all += fmt::format("  stores T{} in {}\n", i, element_text(element));
  for (const auto& [shift, element] : split.rolling_shifts)
    all += fmt::format("  stores its shift of {} in {}\n", text(shift->operands[0], names), element_text(element));
  for (const auto& [shift, element] : split.fixed_shifts)
    all += fmt::format("  stores its shift of {}, the same in all parts, in {}\n", text(shift->operands[0], names), element_text(element));
  return all;
}

}  // namespace tilewright::passes::fusion
