// Uses the unit for bulk copies of tensors (TMA): in a pipelined loop of asynchronous products, one thread starts the copies of tiles that are
// boxes of a tensor.
//
//   for i = lo to hi step s                         m = make_tensor_map p, extents, strides; full = alloc_mbarriers of S slots
//     x = load p + offsets(i), mask                 expect full[0]; copy m at c(lo) to slot 0; ... to slot S - 2
//     b = alloc_buffer; buffer_store b, x     ->    for i = lo to hi step s (slot = 0, phase = 0)
//     d = mma_async b, ...                            wait for this phase of full[slot]; barrier
//     yield mma_wait d                                d = mma_async slot of b, ...
//                                                     if i < limit: expect full[before]; copy m at c(i + (S - 1) s) to the slot before this one
//                                                     yield mma_wait d; slot += 1, of S slots; the phase changes behind the last slot
//
// No thread computes addresses or masks of such a tile: elements outside of the tensor are 0. The barrier is for the slot that is written, which
// the iteration before has read. Tiles that are no boxes are copied by threads in the same loop, as pipeline_loops does it.
//
//   1. find_tensor_box: whether a load reads a box (passes/pipeline/tensor_box.h).
//   2. replace_addresses: the coordinates, instead of the pointers and the mask.
//   3. expand_loop: the form above (passes/pipeline/loop_expander.h).
//
// Loops in other loops stay as they are: the phases of their mbarriers would go on from one execution to the next. In checked mode accesses are
// checked where they are made, and there are no bulk copies. Remarks tell why a load is no box. Input, output: distributed. Numerics do not
// change. See tests/files/passes/use_tma/.
#include <fmt/format.h>

#include <algorithm>

#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/pipeline/loop_expander.h"
#include "passes/pipeline/tensor_box.h"
#include "passes/plans/lowering_plans.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

/// Whether asynchronous products read the buffer, or another one to which its tile is written.
bool is_multiplied(const Function& f, ValueId buffer) {
  bool found = false;
  ir::forward_uses(f, buffer, [&](OpId user, ValueId used) {
    const OpKind k = f.kind(user);
    found = found || k == OpKind::mma_async_ ||
            (k == OpKind::buffer_store_ && f.operand(user, 1) == used && is_multiplied(f, f.operand(user, 0)));
    return k == OpKind::buffer_permute_ || k == OpKind::buffer_load_ ? ir::WalkResult::advance : ir::WalkResult::skip;
  });
  return found;
}

/// Whether the loop is executed once at most.
bool is_outermost(const Function& f, OpId loop) {
  for (OpId at = ir::parent_op(f, loop); at; at = ir::parent_op(f, at))
    if (f.kind(at) != OpKind::if_) return false;
  return true;
}

struct FoundBox {
  OpId load;
  TensorBox box;
};

/// The loads of a loop that are boxes; adds remarks about others that products read.
std::vector<FoundBox> find_boxes(const Function& f, OpId loop, std::vector<Remark>& remarks) {
  std::vector<FoundBox> found;
  const AxisInfoAnalysis info(f);
  for (OpId id : f.ops(f.region(loop))) {
    if (f.kind(id) != OpKind::buffer_store_) continue;
    const OpId load = f.defined_by(f.operand(id, 1), OpKind::load_), alloc = f.defined_by(f.operand(id, 0), OpKind::alloc_buffer_);
    if (!load || !alloc || f.op(load).parent != f.region(loop) || f.op(alloc).parent != f.region(loop)) continue;
    if (f.value(f.result(load)).users.size() > 1 || !is_multiplied(f, f.result(alloc))) continue;
    const auto box = is_outermost(f, loop) ? find_tensor_box(f, loop, load, f.layout(f.result(alloc)), info)
                                           : std::variant<TensorBox, std::string>("its loop is in another loop");
    if (const auto* why = std::get_if<std::string>(&box))
      remarks.push_back({f.where(load), fmt::format("load: threads copy the tile, and no bulk copy does: {}", *why)});
    else
      found.push_back({load, std::get<TensorBox>(box)});
  }
  return found;
}

/// Erases the pure ops from which a value is computed that have no other use, but for those in `kept`.
void erase_chain(Rewriter& rw, ValueId v, const std::vector<ValueId>& kept) {
  const Function& f = rw.ir();
  const OpId id = f.value(v).op;
  if (!id || f.has_uses(v) || !ir::info(f.kind(id)).has(ir::kPure) || f.op(id).results.size() > 1 || std::ranges::count(kept, v) > 0)
    return;
  const std::vector<ValueId> operands = f.op(id).operands;
  rw.erase(id);
  for (ValueId x : operands) erase_chain(rw, x, kept);
}

/// Gives the loads a pointer that does not change in the loop, and no mask: what was computed for these is computed no more.
BulkLoads replace_addresses(Rewriter& rw, OpId loop, const std::vector<FoundBox>& boxes) {
  Function& f = rw.function();
  BulkLoads bulk;
  std::vector<ValueId> kept;
  for (const auto& [load, box] : boxes) {
    rw.set_loc(f.op(load).loc);
    BulkLoad& b = bulk[load];
    b.map = make_tensor_map(rw, loop, box, f.type(f.result(load)).element());
    b.coordinates = make_coordinates(rw, loop, load, box);
    b.is_turned = box.is_turned;
    kept.insert(kept.end(), b.coordinates.begin(), b.coordinates.end());
  }
  for (const auto& [load, box] : boxes) {
    const std::vector<ValueId> operands = f.op(load).operands;
    const ir::Type pointers = f.type(operands[0]);
    rw.at(loop);
    const ValueId base = f.result(rw.create(OpKind::broadcast_, std::span(&box.base, 1), {}, std::span(&pointers, 1)));
    f.set_layout(base, f.layout_id(operands[0]));
    rw.set_operand(load, 0, base);
    for (std::size_t i = operands.size(); i-- > 1;) rw.erase_operand(load, static_cast<int>(i));
    for (ValueId v : operands) erase_chain(rw, v, kept);
  }
  return bulk;
}

/// Expands the loop if bulk copies can fetch some of its tiles.
bool expand_with_bulk_copies(Function& f, const PassContext& context, OpId loop) {
  std::vector<Remark> remarks;
  const std::vector<FoundBox> boxes = find_boxes(f, loop, remarks);
  if (context.remarks) context.remarks->insert(context.remarks->end(), remarks.begin(), remarks.end());
  if (boxes.empty()) return false;
  // On a copy: a loop that is not pipelined keeps its addresses.
  Function copy = f;
  Rewriter rw(copy);
  std::vector<Remark> of_plan;
  PassContext quiet = context;
  if (context.remarks) quiet.remarks = &of_plan;
  const BulkLoads bulk = replace_addresses(rw, loop, boxes);
  PlanCache plans;
  quiet.plans = &plans;
  std::optional<LoopPlan> plan = plan_loop(rw, quiet, loop, bulk);
  if (!plan || std::ranges::none_of(plan->found.loads, [](const PipelinedLoad& l) { return l.bulk.has_value(); })) return false;
  expand_loop(rw, loop, *std::move(plan));
  canonical::remove_dead(rw);
  if (context.remarks) context.remarks->insert(context.remarks->end(), of_plan.begin(), of_plan.end());
  f = std::move(copy);
  return true;
}

}  // namespace

bool use_tma(Function& f, const PassContext& context) {
  if (!context.target.has_wgmma || context.check) return false;
  bool changed = false;
  for (OpId loop : counted_loops(f)) changed = expand_with_bulk_copies(f, context, loop) || changed;
  return changed;
}

}  // namespace tilewright::passes
