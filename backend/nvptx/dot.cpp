// dot by fused multiply-adds: each thread has a block of the accumulator in registers; its rows of a and columns of b are in registers as
// well, or are read from shared memory.
#include "backend/nvptx/dot.h"

#include <map>

#include "backend/nvptx/shared_tile.h"
#include "tileir/diagnostics.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::backend::nvptx {

namespace {

Value* multiply_add(llvm::IRBuilder<>& b, Type from, Value* x, Value* y, Value* sum) {
  if (sum->getType()->isFloatingPointTy()) return b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
  const auto wide = [&](Value* v) {
    return ir::is_signed(from.element()) ? b.CreateSExt(v, sum->getType()) : b.CreateZExt(v, sum->getType());
  };
  return b.CreateAdd(sum, b.CreateMul(wide(x), wide(y)));
}

/// The registers of an operand, indexed by the flat index of their element in lane 0 of warp 0.
std::map<std::uint32_t, Value*> by_flat_index(Emitter& e, ValueId v) {
  std::map<std::uint32_t, Value*> all;
  for (std::uint32_t r = 0; r < e.registers(v).size(); ++r) all.emplace(e.layout(v).apply(HardwareDim::reg, r), e.registers(v)[r]);
  return all;
}

void emit_dot_in_registers(Emitter& e, OpId id, const passes::DotPlan& plan) {
  const Function& f = e.f();
  const std::map<std::uint32_t, Value*> a = by_flat_index(e, f.operand(id, 0)), b = by_flat_index(e, f.operand(id, 1));
  const LinearLayout& accumulator = e.layout(f.result(id));
  Registers sums = e.registers(f.operand(id, 2));
  for (std::uint32_t k = 0; k < 1u << plan.log2_k; ++k)
    for (std::uint32_t r = 0; r < sums.size(); ++r) {
      const std::uint32_t flat = accumulator.apply(HardwareDim::reg, r);
      Value *x = a.at(plan.index_in_a(flat, k)), *y = b.at(plan.index_in_b(flat, k));
      sums[r] = multiply_add(e.b(), f.type(f.operand(id, 0)), x, y, sums[r]);
    }
  e.set(f.result(id), std::move(sums));
}

}  // namespace

void emit_dot(Emitter& e, OpId id) {
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const passes::DotPlan& plan = e.plans().dot(id);
  if (plan.in_registers) return emit_dot_in_registers(e, id, plan);
  struct Side {
    Type type;
    const passes::DotOperand& plan;
    ir::SharedAccesses accesses;
  };
  std::vector<Side> sides;
  for (int i : {0, 1}) {
    const passes::DotOperand& o = i == 0 ? plan.a : plan.b;
    const ValueId v = operands[static_cast<std::size_t>(i)];
    const Registers held = select_registers(e.registers(v), e.layout(v), o.source);
    const Type type = f.type(v).scalar();
    store_tile_to_shared(e, type, held, o.source, o.shared, e.scratch_offset(id) + o.offset, e.redundant_thread_predicate(o.source));
    sides.push_back({type, o, ir::shared_accesses(o.reader, o.shared.shared, o.shared.log2_load_vector)});
  }
  e.barrier();

  /// The elements of an operand that a thread needs in one step.
  struct Fragment {
    SharedTileAddresses addresses;
    std::map<std::uint32_t, std::uint32_t> positions;  // SharedAccesses::positions, indexed by flat index in lane 0 of warp 0
    std::vector<std::vector<Value*>> vectors;          // empty: not read yet
  };
  const LinearLayout& accumulator = e.layout(f.result(id));
  const auto read = [&](const Side& side, Value* step) {
    SharedTileAddresses addresses(e, side.type, side.accesses.thread_offset, 0, e.scratch_offset(id) + side.plan.offset);
    if (step) addresses.xor_thread_offset(side.plan.step_offset, step);
    Fragment fragment{addresses, {}, std::vector<std::vector<Value*>>(side.accesses.offsets.size())};
    for (std::uint32_t r = 0; r < side.accesses.positions.size(); ++r)
      fragment.positions.emplace(side.plan.reader.apply(HardwareDim::reg, r), side.accesses.positions[r]);
    return fragment;
  };
  // Vectors are read at their first use: a thread has too few registers for all vectors of a step.
  const auto element = [&](const Side& side, Fragment& fragment, std::uint32_t flat) {
    const std::uint32_t position = fragment.positions.at(flat);
    const int log2_vector = side.accesses.log2_vector;
    std::vector<Value*>& vector = fragment.vectors[position >> log2_vector];
    if (vector.empty()) {
      const SharedAccess access = fragment.addresses.at(side.accesses.offsets[position >> log2_vector]);
      vector = e.load_shared(side.type, access.base, access.displacement, std::size_t{1} << log2_vector);
    }
    return vector[position & ((1u << log2_vector) - 1)];
  };
  const auto add_step = [&](Registers sums, Value* step) {
    Fragment a = read(sides[0], step), b = read(sides[1], step);
    for (std::uint32_t k = 0; k < 1u << plan.log2_step; ++k)
      for (std::uint32_t r = 0; r < sums.size(); ++r) {
        const std::uint32_t flat = accumulator.apply(HardwareDim::reg, r);
        Value *x = element(sides[0], a, plan.index_in_a(flat, k)), *y = element(sides[1], b, plan.index_in_b(flat, k));
        sums[r] = multiply_add(e.b(), sides[0].type, x, y, sums[r]);
      }
    return sums;
  };

  const Registers init = e.registers(operands[2]);
  if (plan.log2_steps == 0) return e.set(f.result(id), add_step(init, nullptr));
  llvm::BasicBlock *before = e.b().GetInsertBlock(), *body = e.new_block("k"), *after = e.new_block("k_done");
  e.b().CreateBr(body);
  e.b().SetInsertPoint(body);
  auto* step = e.b().CreatePHI(e.b().getInt32Ty(), 2);
  const Registers carried[] = {init};
  const std::vector<Registers> sums = make_phis(e.b(), carried, 2);
  step->addIncoming(e.i32(0), before);
  add_incoming(sums, carried, before);
  const Registers next[] = {add_step(sums[0], step)};
  Value* following = e.b().CreateAdd(step, e.i32(1));
  llvm::BasicBlock* last = e.b().GetInsertBlock();
  step->addIncoming(following, last);
  add_incoming(sums, next, last);
  // ptxas would unroll the loop, load all registers ahead, and spill the values that are live across it.
  disable_unroll(e.b().CreateCondBr(e.b().CreateICmpULT(following, e.i32(std::int64_t{1} << plan.log2_steps)), body, after));
  e.b().SetInsertPoint(after);
  e.set(f.result(id), next[0]);
}

void emit_dot_scaled(Emitter&, OpId) { TW_UNREACHABLE("expand_dot_scaled replaces dot_scaled"); }

}  // namespace tilewright::backend::nvptx
