// Counts the bytes of slots, and the other bytes of shared memory that a program needs.
#include "passes/pipeline/stage_count.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "passes/plans/lowering_plans.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// Bytes of shared memory besides the slots: those of other buffers, and the scratch of an op of the loop.
std::int64_t other_bytes(const Function& f, const PassContext& context, OpId loop, const std::vector<PipelinedLoad>& loads) {
  std::int64_t buffers = 0, scratch = 0;
  for (const PipelinedLoad& l : loads)
    if (l.alloc) buffers -= slot_bytes(f, l);
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::alloc_buffer_) buffers += ir::buffer_bytes(f.type(f.result(id)));
  });
  const LoweringPlans& plans = context.plans->get(f, context.num_warps);
  f.walk(f.region(loop), [&](OpId id) {
    if (f.kind(id) != OpKind::alloc_buffer_) scratch = std::max(scratch, plans.scratch_bytes(id));
  });
  return buffers + scratch;
}

/// Bytes of the tiles that loops behind this one, in its block, fetch for asynchronous products: they need slots, too.
std::int64_t bytes_of_later_loops(const Function& f, OpId loop) {
  std::int64_t bytes = 0;
  for (OpId later = f.op(loop).next; later; later = f.op(later).next) {
    if (f.kind(later) != OpKind::for_) continue;
    for (OpId id : f.ops(f.region(later))) {
      const OpId alloc = f.kind(id) == OpKind::buffer_store_ ? f.defined_by(f.operand(id, 0), OpKind::alloc_buffer_) : OpId{};
      if (alloc && f.op(alloc).parent == f.region(later) && f.defined_by(f.operand(id, 1), OpKind::load_))
        bytes += ir::buffer_bytes(f.type(f.result(alloc)));
    }
  }
  return bytes;
}

}  // namespace

std::int64_t slot_bytes(const Function& f, const PipelinedLoad& l) {
  const ir::Type t = f.type(f.result(l.load));
  return t.elements() * t.element_bytes();
}

std::int64_t registers_of_sums(const Function& f, const PassContext& context, OpId loop) {
  std::int64_t bytes = 0;
  const auto add = [&](ValueId v) {
    if (!f.type(v).is_scalar()) bytes += f.type(v).elements() * std::max(f.type(v).element_bytes(), 4);
  };
  for (ValueId v : f.op(loop).results) add(v);
  for (OpId id : f.ops(f.region(loop)))
    if (f.kind(id) == OpKind::mma_async_ && !f.encloses(f.region(loop), f.defining_block(f.operand(id, 2)))) add(f.result(id));
  return bytes / (4 * 32 * context.num_warps);
}

bool has_room_for_two(const Function& f, const PassContext& context, const std::vector<OpId>& loops, std::int64_t bytes) {
  std::int64_t sums = 0;
  for (OpId loop : loops) sums = std::max(sums, registers_of_sums(f, context, loop));
  const std::int64_t registers = 32 * context.num_warps * (sums + kOtherRegisters);
  return 2 * bytes <= context.target.shared_bytes && 2 * registers <= context.target.registers_per_sm;
}

int stages_that_fit(const Function& f, const PassContext& context, OpId loop, const std::vector<PipelinedLoad>& loads, int asked) {
  std::int64_t slot = 0;
  for (const PipelinedLoad& l : loads) slot += slot_bytes(f, l);
  constexpr std::int64_t kMbarriers = 128;  // as allocate_shared rounds them up
  const bool has_bulk = std::ranges::any_of(loads, [](const PipelinedLoad& l) { return l.bulk.has_value(); });
  const std::int64_t others = other_bytes(f, context, loop, loads) + (has_bulk ? kMbarriers : 0);
  // Slots that bulk copies fill are not shared with loops behind this one: each gets as many.
  const std::int64_t later = has_bulk ? bytes_of_later_loops(f, loop) : 0;
  int stages = asked;
  while (stages > 1 && others + stages * slot + (stages - 1) * later > context.target.shared_bytes) --stages;
  if (stages == 1)
    for (stages = asked; stages > 1 && others + stages * slot > context.target.shared_bytes;) --stages;
  if (stages == asked || !context.remarks) return stages;
  std::vector<std::string> tiles;
  for (const PipelinedLoad& l : loads) tiles.push_back(ir::text(f.type(f.result(l.load))));
  context.remarks->push_back(
      {f.where(loop),
       fmt::format("for: {} of {} stages are used: a stage of {} takes {} bytes of shared memory{}, and a program of {} has {}; smaller "
                   "tiles make room, or lower num_stages",
                   stages, asked, fmt::join(tiles, " and "), slot,
                   others > 0 ? fmt::format(" beside {} bytes of other buffers", others) : "", context.target.name,
                   context.target.shared_bytes)});
  return stages;
}

}  // namespace tilewright::passes
