// Bulk copies of contiguous bytes (PTX ISA, "cp.async.bulk"), and groups of bulk copies.
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/async/bulk_operands.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/cluster.h"

namespace tilewright::rt::emulator {
namespace {

// Extra operands: the destination, the source and the mbarrier, two slots each, then the size and the mask of a multicast.
constexpr int kSize = 6, kMask = 7;

/// Whether the size is not zero and the engine can copy that many bytes.
bool check_size(Warp& warp, const Instruction& i, int lane, u32 bytes) {
  if (bytes % 16 == 0) return bytes > 0;
  report(warp, i, DiagnosticKind::bad_operand, lane, [&] { return fmt::format("{} bytes: expected a multiple of 16", bytes); });
  return false;
}

bool check_alignment(Warp& warp, const Instruction& i, int lane, u64 address) {
  if (address % 16 == 0) return true;
  report(warp, i, DiagnosticKind::misaligned, lane,
         [&] { return fmt::format("address 0x{:x} of global memory: expected a multiple of 16", address); });
  return false;
}

/// How many groups of a lane a wait leaves unfinished, and whether it only waits for reads.
struct WaitOptions {
  u32 groups = 0;
  bool only_reads = false;
};

void load(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    const u32 bytes = bulk_value(warp, i, kSize, lane);
    const u64 from = bulk_address(warp, i, 1, lane);
    if (!check_size(warp, i, lane, bytes) || !check_alignment(warp, i, lane, from)) continue;
    const auto destinations = destinations_of(warp, i, lane, bytes, 16, kMask);
    if (destinations.empty()) continue;
    begin_load({warp, i, lane, {{{destinations.front().to.offset, from, bytes}}}}, destinations);
  }
}

void move(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    const u32 bytes = bulk_value(warp, i, kSize, lane);
    if (!check_size(warp, i, lane, bytes)) continue;
    const auto from = shared_location(warp, i, lane, bulk_address(warp, i, 1, lane), false, bytes, 16);
    const auto destinations = destinations_of(warp, i, lane, bytes, 16, kMask);
    if (!from || destinations.empty()) continue;
    const Destination& destination = destinations.front();
    begin_move({warp, i, lane, {{{destination.to.offset, from->offset, bytes}}}, 0, 1, reduction_of(i)}, destination);
  }
}

void store(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    const u32 bytes = bulk_value(warp, i, kSize, lane);
    const u64 to = bulk_address(warp, i, 0, lane);
    if (!check_size(warp, i, lane, bytes) || !check_alignment(warp, i, lane, to)) continue;
    const auto from = shared_location(warp, i, lane, bulk_address(warp, i, 1, lane), false, bytes, 16);
    if (!from) continue;
    begin_store({warp, i, lane, {{{from->offset, to, bytes}}}, 0, 1, reduction_of(i)});
  }
}

/// Only checks its operands.
void prefetch(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    check_size(warp, i, lane, bulk_value(warp, i, kSize, lane));
    check_alignment(warp, i, lane, bulk_address(warp, i, 1, lane));
  }
}

void commit(Warp& warp, const Instruction&, Mask mask) { commit_bulk_group(warp, mask); }
void wait(Warp& warp, const Instruction& i, Mask mask) {
  const auto& options = i.options<WaitOptions>();
  wait_for_bulk_groups(warp, mask, options.groups, options.only_reads);
}

Operand zero() {
  Operand operand;
  operand.kind = OperandKind::integer;
  return operand;
}

}  // namespace

void take_bulk_address(Decoder& d, const Operand& operand, int k) {
  if (operand.kind != OperandKind::address) d.fail("expected brackets around an address");
  const Operand& base = operand.parts[0];
  int bytes = 8;
  if (d.is_register(base)) bytes = d.bytes_of_register(base);
  if (bytes != 4 && bytes != 8) d.fail("an address has 32 or 64 bits");
  d.options<BulkOptions>().has_short_base[k] = bytes == 4;
  d.extra_source(base, bytes);
  Operand offset = zero();
  offset.bits = operand.bits;
  d.extra_source(offset, 8);
}

u64 bulk_address(const Warp& warp, const Instruction& i, int k, int lane) {
  const s32* slots = warp.kernel->extra.data() + i.first + 2 * k;
  u64 offset = 0;
  std::memcpy(&offset, warp.registers + slots[1] + lane * 8, 8);
  if (!i.options<BulkOptions>().has_short_base[k]) {
    u64 base = 0;
    std::memcpy(&base, warp.registers + slots[0] + lane * 8, 8);
    return base + offset;
  }
  u32 base = 0;
  std::memcpy(&base, warp.registers + slots[0] + lane * 4, 4);
  return static_cast<u32>(base + static_cast<u32>(offset));
}

u32 bulk_value(const Warp& warp, const Instruction& i, int extra, int lane) {
  u32 value = 0;
  std::memcpy(&value, warp.registers + warp.kernel->extra[i.first + static_cast<u32>(extra)] + lane * 4, 4);
  return value;
}

std::pair<BulkSpace, BulkSpace> take_bulk_spaces(Decoder& d) {
  const auto next = [&] {
    for (std::string_view modifier : d.modifiers()) {
      if (modifier == "global" && d.take(modifier)) return BulkSpace::global;
      if (modifier == "shared::cta" && d.take(modifier)) return BulkSpace::block;
      if (modifier == "shared::cluster" && d.take(modifier)) return BulkSpace::cluster;
    }
    return BulkSpace::none;
  };
  const BulkSpace to = next();
  return {to, next()};
}

void skip_bulk_address(Decoder& d, int k) {
  Operand operand;
  operand.kind = OperandKind::address;
  operand.parts.push_back(zero());
  take_bulk_address(d, operand, k);
}

std::vector<Destination> destinations_of(Warp& warp, const Instruction& i, int lane, u64 bytes, u64 align, int mask_extra) {
  const auto to = shared_location(warp, i, lane, bulk_address(warp, i, 0, lane), true, bytes, align);
  const auto mbarrier = shared_location(warp, i, lane, bulk_address(warp, i, 2, lane), true, 8, 8);
  if (!to || !mbarrier) return {};
  if (!i.options<BulkOptions>().is_multicast) {
    if (to->block == mbarrier->block) return {{*to, *mbarrier}};
    report(warp, i, DiagnosticKind::bad_operand, lane, [&] {
      return fmt::format("the destination is in the block of rank {}, its mbarrier in that of rank {}", to->block->rank,
                         mbarrier->block->rank);
    });
    return {};
  }
  u16 mask = 0;
  std::memcpy(&mask, warp.registers + warp.kernel->extra[i.first + static_cast<u32>(mask_extra)] + lane * 2, 2);
  const auto& blocks = warp.block->cluster->blocks;
  if (mask == 0 || mask >> blocks.size() != 0) {
    report(warp, i, DiagnosticKind::bad_operand, lane,
           [&] { return fmt::format("blocks 0x{:x} of a cluster of {} blocks", mask, blocks.size()); });
    return {};
  }
  std::vector<Destination> destinations;
  for (const auto& block : blocks) {
    if (!(mask >> block->rank & 1)) continue;
    if (block->running == 0) {
      report(warp, i, DiagnosticKind::exited_block, lane, [&] { return fmt::format("a multicast to the block of rank {}", block->rank); });
      continue;
    }
    destinations.push_back({{block.get(), to->offset}, {block.get(), mbarrier->offset}});
  }
  return destinations;
}

std::optional<Reduction> reduction_of(const Instruction& i) {
  const auto& options = i.options<BulkOptions>();
  return options.reduces ? std::optional(Reduction{options.update, i.width}) : std::nullopt;
}

BulkForm take_bulk_form(Decoder& d, bool reduces) {
  d.out.category = Category::bulk_copy;
  BulkOptions& options = d.options<BulkOptions>();
  const auto [to, from] = take_bulk_spaces(d);
  BulkForm form;
  form.is_store = to == BulkSpace::global && from == BulkSpace::block;
  form.is_move = to == BulkSpace::cluster && from == BulkSpace::block;
  form.is_load = (to == BulkSpace::cluster || to == BulkSpace::block) && from == BulkSpace::global && !reduces;
  if (!form.is_store && !form.is_move && !form.is_load) d.fail("no copy between these spaces");
  if (!d.take(form.is_store ? "bulk_group" : "mbarrier::complete_tx::bytes")) d.fail("the completion mechanism is missing");
  options.reduces = reduces;
  options.is_multicast = form.is_load && d.take("multicast::cluster");
  form.has_hint = d.take("L2::cache_hint");
  return form;
}

AtomicOp take_reduction(Decoder& d) {
  const int op = d.take_one({"add", "min", "max", "and", "or", "xor", "inc", "dec"}, "an operation is missing");
  d.out.is_strong = d.out.whole_gpu = true;  // "relaxed semantics at .gpu scope" (PTX ISA, cp.reduce.async.bulk)
  constexpr AtomicOp kOps[] = {AtomicOp::add,    AtomicOp::min,     AtomicOp::max,       AtomicOp::bit_and,
                               AtomicOp::bit_or, AtomicOp::bit_xor, AtomicOp::increment, AtomicOp::decrement};
  return kOps[op];
}

namespace {

void decode_copy(Decoder& d, bool reduces) {
  const auto [is_load, is_move, is_store, has_hint] = take_bulk_form(d, reduces);
  if (is_move && has_hint) d.fail("no cache hint here");
  BulkOptions& options = d.options<BulkOptions>();
  if (reduces) {
    const AtomicOp op = take_reduction(d);
    d.take("noftz");
    const Type type = d.take_type();
    const auto update = find_update(op, type);
    if (!update) d.fail("no instruction of this type");
    options.update = is_store ? in_global_memory(*update) : *update;
    d.out.width = static_cast<u8>(bytes_of(type));
  }
  d.expect_operands(std::size_t{3} + !is_store + options.is_multicast + has_hint);
  take_bulk_address(d, d.operand(0), 0);
  take_bulk_address(d, d.operand(1), 1);
  is_store ? skip_bulk_address(d, 2) : take_bulk_address(d, d.operand(3), 2);
  d.extra_source(d.operand(2), 4);
  if (options.is_multicast) d.extra_source(d.operand(4), 2);
  d.out.execute = is_store ? store : is_move ? move : load;
}

}  // namespace

void decode_bulk_copy(Decoder& d) { decode_copy(d, false); }
void decode_bulk_reduce(Decoder& d) { decode_copy(d, true); }

void decode_bulk_prefetch(Decoder& d) {
  d.out.category = Category::async_copy;
  if (!d.take("L2") || !d.take("global")) d.fail("expected '.prefetch.L2.global'");
  const bool has_hint = d.take("L2::cache_hint");
  d.expect_operands(has_hint ? 3 : 2);
  skip_bulk_address(d, 0);
  take_bulk_address(d, d.operand(0), 1);
  skip_bulk_address(d, 2);
  d.extra_source(d.operand(1), 4);
  d.out.execute = prefetch;
}

void decode_commit_bulk(Decoder& d) {
  d.out.category = Category::async_copy;
  d.expect_operands(0);
  d.out.execute = commit;
}

void decode_wait_for_bulk(Decoder& d) {
  d.out.category = Category::async_copy;
  d.options<WaitOptions>().only_reads = d.take("read");
  d.expect_operands(1);
  d.options<WaitOptions>().groups = static_cast<u32>(d.constant(d.operand(0)));
  d.out.execute = wait;
}

}  // namespace tilewright::rt::emulator
