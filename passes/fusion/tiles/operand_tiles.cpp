// Counts the positions of operands, and halves their largest tiles.
#include "passes/fusion/tiles/operand_tiles.h"

#include <vector>

#include "passes/fusion/expr/products.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/tiles/choose_tiles.h"
#include "passes/fusion/tiles/footprint.h"

namespace tilewright::passes::fusion {

namespace {

// The axes of each operand of a product, those with tiles and those that it contracts.
std::vector<AxisSet> axes_of_operands(Expr product, const Footprint& footprint, const ExprBuilder& b) {
  std::vector<AxisSet> all;
  const auto is_tiled = [&](Axis a) { return footprint.tile(a) > 1; };
  for (const Operand& operand : operands_of(b.factors(product->operands[0]), product->bound, is_tiled).operands) {
    all.push_back(operand.axes);
    for (const Factor& f : operand.factors) all.back().insert(f.base->axes.common(product->bound));
  }
  return all;
}

}  // namespace

bool fit_operands(TileSizes& sizes, const LoopPlan& plan, const ExprBuilder& b, const ir::TargetDesc& target) {
  if (!plan.loop) return true;
  const Footprint footprint(plan, sizes);
  const std::int64_t most = target.shared_bytes / kShareOfOperand;
  for (Expr r : computed_reductions(plan)) {
    if (!is_product(r, b)) continue;
    const std::int64_t bytes = std::max(ir::bits(r->operand_element.element) / 8, 1);
    for (const AxisSet& axes : axes_of_operands(r, footprint, b)) {
      const Halving halving{.least = kLeastOfMatrix, .has_loop = axes.contains(plan.loop), .within = &axes};
      if (!halve_until(sizes, halving, [&] { return footprint.positions(axes) <= most / bytes; })) return false;
    }
  }
  return true;
}

}  // namespace tilewright::passes::fusion
