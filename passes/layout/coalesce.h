// Coalescing: chooses load and store layouts so that a warp makes wide accesses and touches whole sectors (after Triton's Coalesce).
#pragma once
#include <string>
#include <vector>

#include "passes/layout/rematerializable.h"
#include "passes/plans/access_plan.h"

namespace tilewright::passes {

///   1. Collect: every load, store and atomic of a tile is an access. Its solo layout is the best layout for this access alone.
///   2. Group: accesses whose tiles are connected by ops of one layout (element-wise ops, permutes, loops) are one group.
///   3. Choose: the group layout is the blocked layout of least cost among those that differ in vector width, order of axes and spread
///      of warps. For rows of matrix operands that cp.async cannot copy, each thread gets 8 bytes.
///
/// The cost counts the group's accesses and its reductions (a row within a warp needs no shared memory), weighted by loop depth. An access
/// counts with its solo layout and a conversion if that is cheaper. For accesses along two axes, as in a transposition, it always is:
/// blocks in each thread would need no conversion, but would touch parts of lines, which took 4 to 8 % longer on an H100.
class Coalescing {
 public:
  Coalescing(const ir::Function&, const AxisInfoAnalysis&, const RematerializableValues&, int log2_warps);

  struct Access {
    ir::OpId op;
    AccessInfo info;
    ir::LinearLayout group_layout;  // the group's layout, with axes permuted to those of the op's tile
    ir::LinearLayout solo_layout;   // the best layout for this op alone
    int weight = 1;                 // how often it is executed; 0: in an unlikely branch
  };
  /// Null: not an access of a tile.
  const Access* access(ir::OpId) const;
  /// The layout of the tile's group. A tile without a group gets a blocked layout along rows with 16 bytes for each thread.
  ir::LinearLayout preferred(ir::ValueId) const;

  /// A few lines for each group: its accesses, each with its elements per instruction and its cost.
  std::string print() const;

 private:
  struct Member {
    int access;
    std::vector<std::int64_t> axes;  // axis i of the op's tile is axis axes[i] of the group's
  };
  struct Reduction {
    int axis;  // an axis of the group's tile
    int results, weight;
  };
  struct Group {
    std::vector<int> log2_extents;
    std::vector<Member> members;
    std::vector<Reduction> reductions;
    ir::LinearLayout layout;
  };
  struct GroupMembership {
    int group = -1;
    std::vector<std::int64_t> axes;
  };
  class GroupBuilder;

  ir::LinearLayout best_solo_layout(const AccessInfo&) const;
  void choose(Group&);
  bool chooses_narrow_operands(Group&);
  int cost(const Group&, const ir::LinearLayout&) const;

  const ir::Function& f_;
  int log2_warps_;
  std::vector<Access> accesses_;
  std::vector<int> access_of_;  // indexed by op
  std::vector<Group> groups_;
  std::vector<GroupMembership> membership_;  // indexed by value
};

}  // namespace tilewright::passes
