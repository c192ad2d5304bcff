// Instructions on pairs, and the ops and registers for which they can be used.
#include "backend/nvptx/packed.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/ptx_asm.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

using ir::Element;

namespace {

bool is_small(Element e) { return e == Element::f16 || e == Element::bf16; }

/// Whether there is an instruction on pairs (PTX ISA: f16x2 from sm_53, bf16x2 and casts from sm_80, sums and products of bf16x2 from
/// sm_90).
bool has_pairs(OpKind k, Element from, Element to, int sm) {
  if (k == OpKind::cast_) return from == Element::f32 && is_small(to) && sm >= 80;
  if (!is_small(from)) return false;
  switch (k) {
    case OpKind::add_:
    case OpKind::sub_:
    case OpKind::mul_: return sm >= (from == Element::f16 ? 75 : 90);
    case OpKind::fma_: return sm >= (from == Element::f16 ? 75 : 80);
    case OpKind::minimum_:
    case OpKind::maximum_:
    case OpKind::fmin_:
    case OpKind::fmax_: return sm >= 80;
    default: return false;
  }
}

Value* pair_instruction(Emitter& e, OpId id, std::span<Value* const> low, std::span<Value* const> high) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const Element from = f.type(f.operand(id, 0)).element(), to = f.type(f.result(id)).element();
  if (f.kind(id) == OpKind::cast_) {
    const char* text = to == Element::f16 ? "cvt.rn.f16x2.f32 $0, $1, $2;" : "cvt.rn.bf16x2.f32 $0, $1, $2;";
    return inline_ptx(b, text, b.getInt32Ty(), {high[0], low[0]});
  }
  auto* type = llvm::FixedVectorType::get(from == Element::f16 ? b.getHalfTy() : b.getBFloatTy(), 2);
  std::vector<Value*> x;
  for (std::size_t i = 0; i < low.size(); ++i) {
    Value* both = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt16Ty(), 2));
    both = b.CreateInsertElement(b.CreateInsertElement(both, low[i], std::uint64_t{0}), high[i], std::uint64_t{1});
    x.push_back(b.CreateBitCast(both, type));
  }
  namespace ID = llvm::Intrinsic;
  const bool is_f16 = from == Element::f16;
  const auto call = [&](llvm::Intrinsic::ID intrinsic) { return b.CreateIntrinsic(intrinsic, {}, x); };
  switch (f.kind(id)) {
    case OpKind::add_: return b.CreateFAdd(x[0], x[1]);
    case OpKind::sub_: return b.CreateFSub(x[0], x[1]);
    case OpKind::mul_: return b.CreateFMul(x[0], x[1]);
    // As in math.cpp, LLVM's own intrinsics are not used.
    case OpKind::minimum_: return call(is_f16 ? ID::nvvm_fmin_nan_f16x2 : ID::nvvm_fmin_nan_bf16x2);
    case OpKind::maximum_: return call(is_f16 ? ID::nvvm_fmax_nan_f16x2 : ID::nvvm_fmax_nan_bf16x2);
    case OpKind::fmin_: return call(is_f16 ? ID::nvvm_fmin_f16x2 : ID::nvvm_fmin_bf16x2);
    case OpKind::fmax_: return call(is_f16 ? ID::nvvm_fmax_f16x2 : ID::nvvm_fmax_bf16x2);
    default: return b.CreateIntrinsic(ID::fma, {type}, x);
  }
}

}  // namespace

bool emit_pairs(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const ValueId result = f.result(id);
  if (f.type(result).is_scalar() || f.type(operands[0]).is_pointer() || f.type(result).is_pointer()) return false;
  if (!has_pairs(f.kind(id), f.type(operands[0]).element(), f.type(result).element(), e.target().sm)) return false;
  const LinearLayout& l = e.layout(result);
  // If neighbouring registers are copies, it is better to compute each value once.
  if (l.bits(HardwareDim::reg) == 0 || (l.free_bits(HardwareDim::reg) & 1) != 0) return false;
  // If only one register of a pair is a constant and negative, ptxas (12.9 to 13.4) puts the sign on one factor of fma.f16x2 but not on
  // both.
  for (ValueId v : operands)
    for (std::size_t r = 0; r < l.size(HardwareDim::reg); r += 2)
      if (llvm::isa<llvm::Constant>(e.registers(v)[r]) != llvm::isa<llvm::Constant>(e.registers(v)[r + 1])) return false;
  Registers out;
  for (std::size_t r = 0; r < l.size(HardwareDim::reg); r += 2) {
    std::vector<Value*> low, high;
    for (ValueId v : operands) {
      low.push_back(e.registers(v)[r]);
      high.push_back(e.registers(v)[r + 1]);
    }
    Value* both = b.CreateBitCast(pair_instruction(e, id, low, high), llvm::FixedVectorType::get(b.getInt16Ty(), 2));
    for (std::uint64_t i = 0; i < 2; ++i) out.push_back(b.CreateExtractElement(both, i));
  }
  e.set(result, std::move(out));
  return true;
}

}  // namespace tilewright::backend::nvptx
