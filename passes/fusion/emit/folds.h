// Combines elements of tiles as reductions and scans do: by an op, or by a user's function.
#pragma once
#include <cstdint>

#include "passes/fusion/emit/scopes.h"
#include "passes/fusion/emit/tile_builder.h"
#include "passes/fusion/expr/expr_pool.h"

namespace tilewright::passes::fusion {

class Folds {
 public:
  Folds(TileBuilder& build, Scopes& scopes, const ExprPool& pool) : build_(build), ir_(build.ir()), scopes_(scopes), pool_(pool) {}

  /// A tile of neutral elements.
  Part neutral(const Fold&, ir::Element, const Order&);
  /// Combines two tiles element by element.
  Part combine(const Fold&, const Part& earlier, const Part& later, const Order&);
  enum class End : std::uint8_t { first, last };
  /// Reduces along the first or the last `axes` axes.
  Part reduce(const Fold&, const Part&, int axes, End = End::last);
  /// The running combinations along an axis.
  ir::ValueId scan(const Fold&, const Part&, Axis along, bool is_reverse);

 private:
  /// Emits the region of a reduce or a scan, which combines an earlier and a later element.
  void emit_region(ir::OpId, const Fold&, ir::Type element);

  TileBuilder& build_;
  ir::Builder& ir_;
  Scopes& scopes_;
  const ExprPool& pool_;
};

}  // namespace tilewright::passes::fusion
