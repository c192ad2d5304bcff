// The instructions of an access of a tile in global memory.
#pragma once
#include <span>
#include <vector>

#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

/// An access of a tile: its registers in groups of neighbours, one instruction for each group, and each group's base address.
struct Access {
  Type element;
  struct Group {
    std::vector<std::uint32_t> registers;  // lowest address first
    std::uint32_t base;                    // the register of the address to which the group is relative
    std::int64_t displacement;             // in bytes
  };
  std::vector<Group> groups;
};
/// Requires: the op's first operand is a tile of pointers. `memory`: the layout of the buffer in shared memory to which the tile is copied;
/// the elements of a group must be neighbours there too.
Access plan_access(Emitter&, OpId, const LinearLayout* memory = nullptr);

/// The predicate of an instruction that accesses several neighbours; null: always true. One mask bit holds for all of them, but in checked
/// mode each element has its own predicate.
Value* predicate_of(Emitter&, const Registers& active, std::span<const std::uint32_t> neighbours);

}  // namespace tilewright::backend::nvptx
