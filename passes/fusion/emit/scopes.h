// Where values are emitted: the scopes of a kernel, its body and the bodies of its loops, with the positions and the values of each.
//
// A value is emitted in the outermost scope that has all it is made of: what does not depend on a loop comes before it. Scopes of one block
// may be nested, such as that of a reduction, which has tiles of its own.
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/fusion/expr/expr.h"
#include "tileir/builder.h"

namespace tilewright::passes::fusion {

using Order = std::vector<Axis>;

/// A tile whose dimensions are these axes; a scalar has none.
struct Part {
  ir::ValueId value;
  Order axes;
};

/// The positions of an axis that belong to a tile.
struct AxisTile {
  std::int64_t size = 1;  // a power of two
  ir::ValueId start;      // i32 or i64 scalar; none: 0
  bool is_whole = false;  // no position is outside of the extent
};

/// Whether consecutive tiles of this size end exactly with the extent. If the axis has no positions, there is no such tile.
inline bool ends_with_tile(const Dim& extent, std::int64_t size) { return extent.known_divisor() % size == 0; }
/// As above for a tile that a program always has, which begins at 0 or at a program's start.
inline bool is_whole_tile(const Dim& extent, std::int64_t size) { return extent.least() >= 1 && ends_with_tile(extent, size); }

/// The tiles that a scope has emitted, by expression and order of axes.
using EmittedTiles = std::map<std::pair<const ExprData*, Order>, Part>;

/// Where values are emitted: the body of the kernel, or of a loop inside of it.
struct EmitScope {
  ir::BlockId block;
  ir::OpId before;                                 // values are inserted before this op; none: at the end of the block
  AxisMap<AxisTile> tiles;                         // the tiles of the axes whose positions this scope defines
  std::unordered_map<Expr, Part, ExprHash> known;  // values that this scope defines: accumulators, references
  EmittedTiles emitted;
  EmittedTiles loads;  // tiles in the element type that they have in memory
  std::unordered_map<Expr, bool, ExprHash> depends;
};

/// The scopes that are open, from the body of the kernel to the innermost one. The builder inserts into the innermost one.
class Scopes {
 public:
  explicit Scopes(ir::Builder& ir) : ir_(ir) {}

  void push(EmitScope);
  void pop();
  EmitScope& innermost() { return open_.back(); }
  EmitScope& outermost() { return open_.front(); }
  EmitScope& operator[](std::size_t depth) { return open_[depth]; }
  /// Moves the builder to where values of the innermost scope are inserted.
  void move_builder();
  /// Inserts values of the innermost scope, and of those around it in its block, before this op; none: at the end of the block.
  void insert_before(ir::OpId);

  /// Sets the value of an expression in the innermost scope.
  void know(Expr, const Part&);
  /// The value that a scope defines for an expression, if there is one; the innermost scope counts.
  const Part* find_known(Expr) const;
  const AxisTile& tile(Axis) const;
  bool is_tiled(Axis a) const { return tile(a).size > 1; }

  /// The depth of the outermost scope in which a value can be computed.
  std::size_t depth_of(Expr);
  /// Calls `emit` with this scope as the innermost one.
  template <class Emit>
  Part emit_at(std::size_t depth, Emit&& emit) {
    std::vector<EmitScope> inner(std::make_move_iterator(open_.begin() + static_cast<std::ptrdiff_t>(depth) + 1),
                                 std::make_move_iterator(open_.end()));
    open_.resize(depth + 1);
    move_builder();
    Part part = emit();
    for (EmitScope& s : inner) open_.push_back(std::move(s));
    move_builder();
    return part;
  }

 private:
  static bool depends_on(Expr, EmitScope&);

  ir::Builder& ir_;
  std::vector<EmitScope> open_;
};

}  // namespace tilewright::passes::fusion
