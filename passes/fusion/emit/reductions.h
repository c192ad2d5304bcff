// Emits reductions and scans of tiles, with loops over axes that a tile does not cover.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/emit/matrix_products.h"

namespace tilewright::passes::fusion {

class Reductions {
 public:
  Reductions(EmitContext& context, IntegerValues& integers, MemoryAccesses& memory, ValueSource& values)
      : context_(context),
        exprs_(context.exprs),
        ir_(context.ir),
        scopes_(context.scopes),
        build_(context.build),
        folds_(context.folds),
        integers_(integers),
        products_(context, integers, memory, values),
        values_(values) {}

  /// The tile of an axis that reductions bind; is_looped: it does not cover the axis, along which reductions walk in a loop.
  void set_inner_tile(Axis a, std::int64_t size, bool is_looped) { inner_tiles_[a] = {size, is_looped}; }
  /// Sets TileSizes::is_short.
  void set_is_short(std::function<bool(std::int64_t, std::int64_t)> is_short) { is_short_ = std::move(is_short); }

  /// The value of a reduction over axes that no loop of the kernel walks.
  Part value(Expr reduction, const Order&);
  /// Combines a body along axes that have whole or masked tiles, by the fold and in the types of a reduction, and adds the result to
  /// `accumulator` if there is one. The result has the axes of `order`.
  Part combine(const Fold&, Expr reduction, const AxisSet& along, Expr body, const Order& order, std::optional<Part> accumulator);
  /// The running combinations of a body along an axis, and the value with which the next tile begins.
  struct Running {
    Part values, next;
  };
  Running running(const Fold&, bool is_reverse, Axis along, Expr body, ir::Element, const Order&, const std::optional<Part>& before);

 private:
  struct InnerTile {
    std::int64_t size;
    bool is_looped;
  };
  std::vector<Axis> looped_axes(const AxisSet&) const;
  EmitScope inner_scope(const AxisSet& bound);
  Part emit_loops(Expr reduction, const Order&, std::span<const Axis>, const std::optional<Part>& start);
  Folds::End end_of_reduced(Expr body, const AxisSet& along) const;

  EmitContext& context_;
  ExprBuilder& exprs_;
  ir::Builder& ir_;
  Scopes& scopes_;
  TileBuilder& build_;
  Folds& folds_;
  IntegerValues& integers_;
  MatrixProducts products_;
  ValueSource& values_;
  AxisMap<InnerTile> inner_tiles_;
  std::function<bool(std::int64_t, std::int64_t)> is_short_ = [](std::int64_t, std::int64_t) { return false; };
};

}  // namespace tilewright::passes::fusion
