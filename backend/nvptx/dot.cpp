// dot by fused multiply-adds: a block of the accumulator in each thread's registers, its rows of a and columns of b read from shared
// memory.
#include <map>

#include "backend/nvptx/lowering.h"
#include "passes/plans/dot_plan.h"
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

}  // namespace

void NvptxLowering::emit_dot(OpId id) {
  const auto& operands = f_.op(id).operands;
  const passes::DotPlan plan = passes::plan_dot(f_, id);
  const auto same = [](std::uint32_t flat) { return flat; };
  struct Side {
    Type type;
    const passes::DotOperand& plan;
    ir::SharedAccesses accesses;
  };
  std::vector<Side> sides;
  for (int i : {0, 1}) {
    const passes::DotOperand& o = i == 0 ? plan.a : plan.b;
    const ValueId v = operands[static_cast<std::size_t>(i)];
    Registers held;
    for (std::uint32_t r : match_registers(layout(v), o.source, same)) held.push_back(registers(v)[r]);
    const Type type = f_.type(v).scalar();
    put_shared(type, held, o.source, o.shared, shared_offset(id) + o.offset, is_canonical(o.source));
    sides.push_back({type, o, ir::shared_accesses(o.reader, o.shared.shared, o.shared.log2_load_vector)});
  }
  emit_barrier();

  /// What a thread reads of an operand in a step.
  struct Fragment {
    SharedAddresses addresses;
    std::map<std::uint32_t, std::uint32_t> places;  // by flat index as seen from lane 0 of warp 0
    std::vector<std::vector<Value*>> vectors;       // empty: not read yet
  };
  const LinearLayout& accumulator = layout(f_.result(id));
  const auto read = [&](const Side& side, Value* step) {
    SharedAddresses addresses = shared_addresses(side.type, side.accesses.thread_offset, 0, shared_offset(id) + side.plan.offset);
    if (step) {
      ir::F2Matrix bytes = side.plan.step_offset;
      for (std::uint32_t& column : bytes.columns) addresses.touched |= column <<= addresses.log2_bytes;
      addresses.of_thread = b_.CreateXor(addresses.of_thread, apply(bytes, step));
    }
    Fragment fragment{addresses, {}, std::vector<std::vector<Value*>>(side.accesses.offsets.size())};
    for (std::uint32_t r = 0; r < side.accesses.places.size(); ++r)
      fragment.places.emplace(side.plan.reader.apply(HardwareDim::reg, r), side.accesses.places[r]);
    return fragment;
  };
  // Vectors are read where they are first needed: all of a step at once is more than a thread has registers for.
  const auto element = [&](const Side& side, Fragment& fragment, std::uint32_t flat) {
    const std::uint32_t place = fragment.places.at(flat);
    const int log2_vector = side.accesses.log2_vector;
    std::vector<Value*>& vector = fragment.vectors[place >> log2_vector];
    if (vector.empty()) {
      const auto [base, displacement] = shared_place(fragment.addresses, side.accesses.offsets[place >> log2_vector]);
      vector = load_shared(side.type, base, displacement, std::size_t{1} << log2_vector);
    }
    return vector[place & ((1u << log2_vector) - 1)];
  };
  const auto add_step = [&](Registers sums, Value* step) {
    Fragment a = read(sides[0], step), b = read(sides[1], step);
    for (std::uint32_t k = 0; k < 1u << plan.log2_step; ++k)
      for (std::uint32_t r = 0; r < sums.size(); ++r) {
        const std::uint32_t flat = accumulator.apply(HardwareDim::reg, r);
        Value *x = element(sides[0], a, plan.index_in_a(flat, k)), *y = element(sides[1], b, plan.index_in_b(flat, k));
        sums[r] = multiply_add(b_, sides[0].type, x, y, sums[r]);
      }
    return sums;
  };

  const Registers init = registers(operands[2]);
  if (plan.log2_steps == 0) return set(f_.result(id), add_step(init, nullptr));
  llvm::BasicBlock *before = b_.GetInsertBlock(), *body = new_block("k"), *after = new_block("k_done");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  auto* step = b_.CreatePHI(b_.getInt32Ty(), 2);
  const Registers carried[] = {init};
  const std::vector<Registers> sums = phis(carried, 2);
  step->addIncoming(i32(0), before);
  add_incoming(sums, carried, before);
  const Registers next[] = {add_step(sums[0], step)};
  Value* following = b_.CreateAdd(step, i32(1));
  llvm::BasicBlock* last = b_.GetInsertBlock();
  step->addIncoming(following, last);
  add_incoming(sums, next, last);
  // ptxas would unroll it, fill all registers with what it then reads ahead, and spill what lives through it.
  keep_loop(b_.CreateCondBr(b_.CreateICmpULT(following, i32(std::int64_t{1} << plan.log2_steps)), body, after));
  b_.SetInsertPoint(after);
  set(f_.result(id), next[0]);
}

void NvptxLowering::emit_dot_scaled(OpId) { TW_UNREACHABLE("expand_dot_scaled replaces dot_scaled"); }

}  // namespace tilewright::backend::nvptx
