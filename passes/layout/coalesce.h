// Which layouts make accesses to global memory wide and whole: a choice for each group of accesses whose tiles meet.
#pragma once
#include <string>
#include <vector>

#include "passes/layout/rematerializable.h"
#include "passes/plans/access_plan.h"

namespace tilewright::passes {

/// Loads, stores and atomics whose tiles meet in element-wise ops, permutes and loops are one group, with one layout: the blocked one of
/// least cost among those that differ in vector width, order of axes and spread of warps. The cost counts the group's accesses and its
/// reductions (a row that a warp holds needs no shared memory), weighted by loop depth. An access that this serves so badly that a
/// conversion is cheaper counts with the layout that is best for it alone. Accesses along two axes, as of a transposition, always end so:
/// threads that held small blocks would need no conversion, but touch parts of lines, which took an H100 4 to 8 % longer.
class Coalescing {
 public:
  Coalescing(const ir::Function&, const AxisInfoAnalysis&, const RematerializableValues&, int log2_warps);

  struct Access {
    ir::OpId op;
    AccessInfo info;
    ir::LinearLayout group_layout, solo_layout;  // the group's layout as the op's tile lies in it; the best for this op alone
    int weight = 1;             // how often it runs; 0: hardly ever
  };
  /// Null: not an access of a tile.
  const Access* access(ir::OpId) const;
  /// The layout of the group that a tile is in; without a group, blocked in rows with 16 bytes a thread.
  ir::LinearLayout preferred(ir::ValueId) const;

  /// A few lines for each group: its accesses, with the elements of one instruction and the cost.
  std::string print() const;

 private:
  struct Member {
    int access;
    std::vector<std::int64_t> axes;  // axis i of the op's tile is axis axes[i] of the group's
  };
  struct Reduction {
    int axis;  // of the group's tile
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
  int cost(const Group&, const ir::LinearLayout&) const;

  const ir::Function& f_;
  int log2_warps_;
  std::vector<Access> accesses_;
  std::vector<int> access_of_;  // by op
  std::vector<Group> groups_;
  std::vector<GroupMembership> membership_;  // by value
};

}  // namespace tilewright::passes
