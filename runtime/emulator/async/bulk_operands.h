// The operands of bulk copies: several addresses with offsets of their own, which no other instruction has.
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
  std::array<bool, 3> has_short_base{};  // of each address: its base has 32 bits
  AtomicOp op = AtomicOp::add;           // of a reduction of a tensor's elements, whose map says their type
  u32 update = 0;                        // of atomic_update(), where the type is known
};

enum class BulkSpace : u8 { none, global, block, cluster };
/// The spaces of destination and source, which come in this order: `.shared::cluster.global`.
std::pair<BulkSpace, BulkSpace> take_bulk_spaces(Decoder&);

/// What the modifiers of a copy say: where it goes, and the further operands that it has (of a multicast, the options say it).
struct BulkForm {
  bool is_load = false, is_move = false, is_store = false, has_hint = false;
};
BulkForm take_bulk_form(Decoder&, bool reduces);

/// Takes "[base + offset]" as address `k`, whose two extras it becomes; in order, and ahead of other extras.
void take_bulk_address(Decoder&, const Operand&, int k);
/// The instruction has no such address.
void skip_bulk_address(Decoder&, int k);
/// A lane's address `k`.
u64 bulk_address(const Warp&, const Instruction&, int k, int lane);
/// A lane's value of an extra of 32 bits.
u32 bulk_value(const Warp&, const Instruction&, int extra, int lane);
/// Where a load or a copy between blocks goes: address 0, and address 2 of the mbarrier; of a multicast, the same offsets in all blocks
/// of the mask, extra `mask_extra`. Empty, and a diagnostic, if that is nowhere.
std::vector<Destination> destinations_of(Warp&, const Instruction&, int lane, u64 bytes, u64 align, int mask_extra);

/// What the instruction does with what memory holds.
std::optional<Reduction> reduction_of(const Instruction&);
/// The operation of a reduction, whose copies are atomic to each other.
AtomicOp take_reduction(Decoder&);

}  // namespace tilewright::rt::emulator
