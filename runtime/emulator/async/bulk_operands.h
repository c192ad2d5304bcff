// The operands of bulk copies, which are the only instructions with several addresses that have offsets of their own.
#pragma once
#include <array>
#include <utility>
#include <vector>

#include "runtime/emulator/async/bulk_copy.h"
#include "runtime/emulator/memory/atomic_update.h"
#include "runtime/emulator/program/decoder.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

struct BulkOptions {
  bool is_multicast = false, reduces = false;
  std::array<bool, 3> has_short_base{};  // for each address: its base register has 32 bits
  AtomicOp op = AtomicOp::add;           // of a reduction on a tensor's elements, whose type the map contains
  u32 update = 0;                        // a number for atomic_update(), if the type is known
};

enum class BulkSpace : u8 { none, global, block, cluster };
/// Takes the spaces of destination and source, which come in this order: `.shared::cluster.global`.
std::pair<BulkSpace, BulkSpace> take_bulk_spaces(Decoder&);

/// The meaning of a copy's modifiers: its destination, and its further operands (for a multicast, the options have them).
struct BulkForm {
  bool is_load = false, is_move = false, is_store = false, has_hint = false;
};
BulkForm take_bulk_form(Decoder&, bool reduces);

/// Decodes "[base + offset]" as address `k`, which takes two extra slots. Called in order, before other extras are added.
void take_bulk_address(Decoder&, const Operand&, int k);
/// Reserves the slots of address `k`, which the instruction does not have.
void skip_bulk_address(Decoder&, int k);
/// The value of address `k` for a lane.
u64 bulk_address(const Warp&, const Instruction&, int k, int lane);
/// The value of an extra operand of 32 bits for a lane.
u32 bulk_value(const Warp&, const Instruction&, int extra, int lane);
/// The destinations of a load or of a copy between blocks: address 0, and address 2 of the mbarrier; for a multicast, the same offsets in
/// all blocks of the mask, which is extra `mask_extra`. Empty, with a diagnostic, if there is no such location.
std::vector<Destination> destinations_of(Warp&, const Instruction&, int lane, u64 bytes, u64 align, int mask_extra);

/// How the instruction combines its data with the destination's old value; none if it is not a reduction.
std::optional<Reduction> reduction_of(const Instruction&);
/// Takes the operation of a reduction; such copies are atomic with respect to each other.
AtomicOp take_reduction(Decoder&);

}  // namespace tilewright::rt::emulator
