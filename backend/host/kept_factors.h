// Right factors that the programs of a thread share: those of a column of tiles, which neighbouring programs multiply by other rows.
#pragma once
#include <optional>
#include <set>
#include <vector>

#include "backend/host/evaluation_plan.h"

namespace tilewright::backend::host {

/// What the right factors of a contraction are computed from.
struct RightInputs {
  std::vector<ValueId> key;       // scalars that differ between programs; all else is the same in a launch
  std::set<ValueId> right, left;  // values of the loop's body from which right, and left, factors are computed

  bool is_of_right(const Function&, OpId) const;
  bool is_only_of_right(const Function&, OpId) const;
};

/// None if a right factor may be another one although the key is the same: a store of the launch may write what it is loaded from, or
/// programs may wait for each other.
std::optional<RightInputs> inputs_of_right_factors(const Function&, const Contraction&, OpId loop);

/// The number of blocks with this many bytes of right factors that are kept.
std::int64_t blocks_to_keep(std::int64_t bytes);

}  // namespace tilewright::backend::host
