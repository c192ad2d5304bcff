// Decides, before any code is made, how each tile of a function is computed on the host: again wherever it is used, as an index
// mapping of another tile, or in a loop nest that it shares with others, in registers or through a buffer.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::backend::host {

using ir::BlockId;
using ir::Function;
using ir::OpId;
using ir::ValueId;

/// For each axis of a tile, an axis of something else that runs with it, or -1 (an extent of 1, always index 0).
using AxisMap = std::array<std::int8_t, ir::kMaxRank>;
inline constexpr AxisMap kNoAxes{-1, -1, -1, -1, -1};

/// How a value comes to be.
enum class Place : std::uint8_t {
  scalar,      // rank 0: one SSA value
  recomputed,  // cheap, of scalars and index ranges alone: made again at each use
  view,        // an index mapping of another tile; never made
  looped,      // made by a loop nest, where it is in registers; stored if it is used elsewhere
  stored,      // made by an op of its own (dot, flip, control flow), or an argument of a block: always in a buffer
};

/// Buffers, numbered; values that share one have the same class.
using ClassId = std::int32_t;
inline constexpr ClassId kNoClass = -1;

/// One thing a loop nest does at each index: an op, or writing a value that nobody else makes into a buffer.
struct Item {
  OpId op;
  ValueId fill;
  ClassId target = kNoClass;  // of a fill
};

struct Copy {
  ClassId from, to;
};

/// A loop nest, or an op that is emitted by itself.
struct Step {
  std::vector<OpId> scalars_before;
  bool is_loops = false;
  // Of loops:
  std::vector<std::int64_t> extents;  // without those of 1; the last one is vectorised
  bool sequential = false;            // one lane at a time: an order-keeping reduce along the last extent
  std::vector<Item> items;
  // Of a single op:
  OpId op;
  std::vector<Copy> copies;  // of a terminator: done in order when it is reached
  std::vector<ClassId> freed;  // buffers whose last use is this step
};

struct BlockPlan {
  std::vector<Step> steps;  // the last one holds the terminator, or trailing scalars with no op
};

/// Where a chain of views ends.
struct Source {
  ValueId value;
  AxisMap map = kNoAxes;  // axis of `value` -> axis of the value asked about
};

class Plan {
 public:
  explicit Plan(const Function&);

  Place place(ValueId v) const { return place_[v.index]; }
  const BlockPlan& block(BlockId b) const { return blocks_[b.index]; }
  /// The buffer a value lies in; kNoClass if it has none.
  ClassId class_of(ValueId v) const { return find(class_[v.index]); }
  std::int64_t class_bytes(ClassId c) const { return class_bytes_[find(c)]; }
  ClassId root(ClassId c) const { return find(c); }
  bool same_class(ClassId a, ClassId b) const { return find(a) == find(b); }
  /// Whether a looped value must be written to its buffer.
  bool is_stored(ValueId v) const { return class_[v.index] != kNoClass; }
  Source resolve(ValueId) const;
  /// The buffer that holds `v` for an op that reads it whole: its own, or the one it was filled into for this op.
  ClassId operand_class(OpId op, int operand) const;

 private:
  friend class BlockPlanner;
  ClassId new_class(std::int64_t bytes);
  ClassId ensure_class(ValueId);
  ClassId find(ClassId c) const;
  void unite(ClassId a, ClassId b);
  void place_values();
  void plan_lifetimes();

  const Function& f_;
  std::vector<Place> place_;
  std::vector<int> cost_;           // of recomputing a value at each use
  std::vector<ClassId> class_;
  mutable std::vector<ClassId> parent_;
  std::vector<std::int64_t> class_bytes_;
  std::vector<BlockPlan> blocks_;
  std::vector<std::int32_t> step_of_;  // by op: the step of its block that it belongs to
  struct Filled {
    OpId op;
    int operand;
    ClassId into;
  };
  std::vector<Filled> filled_;
};

/// Ops that are a step of their own: from whole operands in buffers to whole results in buffers (scalars: values).
bool works_on_buffers(ir::OpKind);
/// The op that maps indices only: broadcast of a tile, permute, reshape that moves extents of 1, reduce along an extent of 1, hints.
bool is_view(const Function&, OpId);
/// Extents other than 1, in order.
std::vector<std::int64_t> squeezed(const ir::Type&);
/// The axes with extents other than 1, in order, numbered 0, 1, ...
AxisMap squeezed_axes(const ir::Type&);

}  // namespace tilewright::backend::host
