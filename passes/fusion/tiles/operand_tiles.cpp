// Counts the positions of operands, and halves their longest tiles.
#include "passes/fusion/tiles/operand_tiles.h"

#include <algorithm>

#include "passes/fusion/expr/products.h"
#include "passes/fusion/tiles/choose_tiles.h"

namespace tilewright::passes::fusion {

namespace {

// A number of positions that is certainly too large to fit.
constexpr std::int64_t kMany = std::int64_t{1} << 20;

class OperandTiles {
 public:
  OperandTiles(TileSizes& sizes, const LoopPlan& plan, const ExprBuilder& b) : sizes_(sizes), plan_(plan), b_(b) {}

  // The axes of each operand of a product, those with tiles and those that it contracts.
  std::vector<AxisSet> operands(Expr product) const {
    std::vector<AxisSet> all;
    const auto is_tiled = [&](Axis a) { return size(a) > 1; };
    for (const Operand& operand : operands_of(b_.factors(product->operands[0]), product->bound, is_tiled).operands) {
      all.push_back(operand.axes);
      for (const Factor& f : operand.factors) all.back().insert(f.base->axes.common(product->bound));
    }
    return all;
  }

  std::int64_t positions(const AxisSet& axes) const {
    std::int64_t all = 1;
    for (Axis a : axes) all = std::min(all * std::min(size(a), kMany), kMany);
    return all;
  }

  // Halves the larger one of the loop's tile and the tile of a distributed axis. Returns false if no tile can be halved.
  bool halve(const AxisSet& axes) {
    std::int64_t* largest = axes.contains(plan_.loop) ? &sizes_.loop : nullptr;
    for (auto& [axis, size] : sizes_.grid)
      if (axes.contains(axis) && (!largest || size > *largest)) largest = &size;
    if (!largest || *largest <= kLeastOfMatrix) return false;
    *largest /= 2;
    return true;
  }

 private:
  // A reduction may bind an axis with the name of a result's axis; the size here is that of the result's axis.
  std::int64_t size(Axis a) const {
    const auto grid = sizes_.grid.find(a);
    return grid != sizes_.grid.end() ? grid->second : tile_of(a, plan_, sizes_);
  }

  TileSizes& sizes_;
  const LoopPlan& plan_;
  const ExprBuilder& b_;
};

}  // namespace

bool fit_operands(TileSizes& sizes, const LoopPlan& plan, const ExprBuilder& b, const ir::TargetDesc& target) {
  if (!plan.loop) return true;
  OperandTiles tiles(sizes, plan, b);
  const std::int64_t most = target.shared_bytes / 4;
  for (Expr r : computed_reductions(plan)) {
    if (!is_product(r, b)) continue;
    const std::int64_t bytes = std::max(ir::bits(r->operand_element.element) / 8, 1);
    for (const AxisSet& axes : tiles.operands(r))
      while (tiles.positions(axes) > most / bytes)
        if (!tiles.halve(axes)) return false;
  }
  return true;
}

}  // namespace tilewright::passes::fusion
