// Distributes long chains of element-wise ops over several loop nests.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/host/evaluation_plan.h"

namespace tilewright::backend::host {

/// Loop distribution (loop fission). The ops of a nest depend on each other at one index, and on nothing at other indices: a processor
/// computes the next indices while it waits for results, as far as its window of instructions reaches. A chain of dependent ops that fills
/// the window is computed alone, at the latency of each op. Distributed over several nests, it costs a store and a load of each value that
/// crosses from one to another, in the nearest cache.
///
///   a = load; b = tanh a; c = tanh b; store c   ->   part 0: a = load; b = tanh a    part 1: c = tanh b; store c
///
/// 1. find_groups  ops of equal extents that may share a nest
/// 2. cut          each group whose chain is too long, where the fewest values cross
class LoopDistribution {
 public:
  /// Distributes the ops of one block, which are scheduled in this order. `lanes`: of a vector.
  LoopDistribution(const Function&, const EvaluationPlan&, const std::vector<OpId>& ops, int lanes);

  /// Ops of different parts share no nest. All ops before the first cut of their group have part 0.
  int part(OpId) const;

 private:
  struct Group {
    std::vector<OpId> ops;
    std::vector<int> crossing;  // indexed by position: the values that a cut before this op would make cross
  };
  struct OpPosition {
    Group* group = nullptr;
    int position = 0;
    int part = 0;
  };

  void find_groups(const std::vector<OpId>& ops, int lanes);
  bool is_item(OpId) const;
  void count_crossing(Group&);
  void cut(Group&);
  /// The position of the op in the group that makes an operand; -1 if it is made elsewhere.
  int position(const Group&, ValueId operand) const;

  const Function& f_;
  const EvaluationPlan& plan_;
  std::map<std::pair<std::vector<std::int64_t>, int>, Group> groups_;  // by extents, and by the number of nests that must come before
  std::unordered_map<std::uint32_t, OpPosition> positions_;            // by op
  int parts_ = 1;
};

}  // namespace tilewright::backend::host
