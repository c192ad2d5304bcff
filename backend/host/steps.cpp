// Emits the steps of a block (Step in plan.h) in order: scalars, then a loop nest or a single op.
#include "backend/host/steps.h"

#include "backend/host/factor_rows.h"
#include "backend/host/loop_nest.h"
#include "backend/host/memory.h"
#include "backend/host/nest.h"
#include "backend/host/step_ops.h"
#include "backend/host/transposition.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// The element of a tile whose extents are all 1, as a scalar.
Value* only_element(Emitter& e, ValueId v) {
  const Step no_loops;
  Nest nest(e, no_loops);
  return nest.evaluate(v, kNoAxes, false);
}

void emit_scalar(Emitter& e, OpId id) {
  const Function& f = e.f();
  const auto& op = f.op(id);
  const auto axis = static_cast<std::size_t>(f.attr(id, ir::AttrName::axis));
  switch (op.kind) {
    case OpKind::load_: return load_scalar(e, id);
    case OpKind::store_: return store_scalar(e, id);
    case OpKind::program_id_: return e.set_scalar(op.results[0], e.program_id(axis));
    case OpKind::num_programs_: return e.set_scalar(op.results[0], e.grid_extent(axis));
    case OpKind::constant_: {
      const auto bits = static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value));
      return e.set_scalar(op.results[0], constant_lanes(e.context(), f.type(op.results[0]), bits, 0));
    }
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return e.set_scalar(op.results[0], e.scalar(op.operands[0]));
    case OpKind::reshape_:
    case OpKind::broadcast_: {
      const ValueId x = op.operands[0];
      return e.set_scalar(op.results[0], f.type(x).is_scalar() ? e.scalar(x) : only_element(e, x));
    }
    default: break;
  }
  std::vector<Type> types;
  Values operands;
  for (ValueId x : op.operands) {
    types.push_back(f.type(x));
    operands.push_back(e.scalar(x));
  }
  e.set_scalar(op.results[0], lower_elementwise(e.b(), e.target(), op.kind, types, f.type(op.results[0]), operands));
}

/// Copies the values that a terminator passes on to the buffers of the carried values or results that receive them.
void emit_copies(Emitter& e, const Step& step) {
  for (const Copy& copy : step.copies) {
    // The planner may have merged the two buffers after it recorded the copy.
    if (e.plan().same_class(copy.from, copy.to)) continue;
    if (e.plan().in_registers(copy.to)) {
      e.copy_registers(copy.from, copy.to);
      continue;
    }
    Value* source = e.buffer(e.plan().root(copy.from));
    Value* target = e.buffer(e.plan().root(copy.to));
    // Scratch aligns every buffer to 64 bytes.
    e.b().CreateMemCpy(target, llvm::Align(64), source, llvm::Align(64), static_cast<std::uint64_t>(e.plan().class_bytes(copy.to)));
  }
}

/// i1: whether a step must be executed; null: always.
Value* emit_is_needed(Emitter& e, const Step& step) {
  if (!step.right_of) return e.is_needed(step);
  Value* const reads = is_whole_in_memory(e, *e.plan().right_in_memory(step.right_of));
  e.set_reads_right(step.right_of, reads);
  return e.b().CreateNot(reads);
}

void emit_op(Emitter& e, OpId id) {
  switch (e.f().kind(id)) {
#define TW_ELEMENTWISE_OP(name) \
  case OpKind::name##_: break;
#define TW_OP_atomic(name) \
  case OpKind::name##_: return emit_atomic(e, id);
#define TW_OTHER_OP(name) \
  case OpKind::name##_: return emit_##name(e, id);
#include "tileir/dispatch.def"
  }
  TW_UNREACHABLE("an element-wise op is not a step of its own");
}

}  // namespace

void emit_steps(Emitter& e, NonTemporalStores& non_temporal, BlockId block) {
  // Outlining may split the function after each scalar and after each step.
  SplitPoints& points = e.split_points();
  const std::size_t sequence = points.begin(e.b());
  for (const Step& step : e.plan().block(block).steps) {
    for (OpId id : step.scalars_before) {
      emit_scalar(e, id);
      points.add(sequence, e.b());
    }
    Value* const is_needed = emit_is_needed(e, step);
    llvm::BasicBlock* const kept = is_needed ? e.new_block("kept") : nullptr;
    if (kept) {
      llvm::BasicBlock* refill = e.new_block("refill");
      e.b().CreateCondBr(is_needed, refill, kept);
      e.b().SetInsertPoint(refill);
    }
    if (step.transposed)
      emit_transposed_access(e, non_temporal, step);
    else if (step.is_loops)
      emit_loop_nest(e, non_temporal, step);
    if (kept) {
      e.b().CreateBr(kept);
      e.b().SetInsertPoint(kept);
    }
    if (step.op) {
      emit_copies(e, step);
      emit_op(e, step.op);
    }
    points.add(sequence, e.b());
    for (ClassId c : step.freed) e.release(c);
  }
}

// These ops emit nothing beyond the copies of their steps: a reshape's result is its operand's buffer, and the op that owns a region reads
// the operands of the region's terminator.
void emit_reshape(Emitter&, OpId) {}
void emit_yield(Emitter&, OpId) {}
void emit_condition(Emitter&, OpId) {}

// Each op of the table must have a definition (steps.h); the planner makes no steps for the following ops.
#define TW_NO_STEP(name) \
  void emit_##name(Emitter&, OpId) { TW_UNREACHABLE(#name " is not a step of its own"); }
// Scalars, and values that are computed at their uses: emit_scalar and nest.cpp.
TW_NO_STEP(program_id)
TW_NO_STEP(num_programs)
TW_NO_STEP(constant)
TW_NO_STEP(arange)
TW_NO_STEP(broadcast)
TW_NO_STEP(multiple_of)
TW_NO_STEP(max_contiguous)
// Items of loop nests: loop_nest.cpp.
TW_NO_STEP(load)
TW_NO_STEP(store)
TW_NO_STEP(reduce)
// Passes replace or remove these.
TW_NO_STEP(assume)
TW_NO_STEP(dot_scaled)
TW_NO_STEP(inline_ptx)
// These occur only in functions for GPUs.
TW_NO_STEP(convert_layout)
TW_NO_STEP(barrier)
TW_NO_STEP(extract_slice)
TW_NO_STEP(alloc_buffer)
TW_NO_STEP(buffer_slot)
TW_NO_STEP(buffer_permute)
TW_NO_STEP(buffer_store)
TW_NO_STEP(buffer_load)
TW_NO_STEP(copy_async)
TW_NO_STEP(async_commit)
TW_NO_STEP(async_wait)
TW_NO_STEP(proxy_fence)
TW_NO_STEP(roles)
TW_NO_STEP(role_instance)
TW_NO_STEP(alloc_mbarriers)
TW_NO_STEP(mbarrier_slot)
TW_NO_STEP(mbarrier_arrive)
TW_NO_STEP(copy_arrive)
TW_NO_STEP(mbarrier_wait)
TW_NO_STEP(make_tensor_map)
TW_NO_STEP(mbarrier_expect)
TW_NO_STEP(bulk_copy)
TW_NO_STEP(bulk_store)
TW_NO_STEP(bulk_commit)
TW_NO_STEP(bulk_wait)
TW_NO_STEP(mma)
TW_NO_STEP(mma_async)
TW_NO_STEP(mma_wait)
#undef TW_NO_STEP

}  // namespace tilewright::backend::host
