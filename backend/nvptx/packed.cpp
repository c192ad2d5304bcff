// Two elements of 16 bits in one instruction: arithmetic of f16 and bf16 on neighbouring registers, and casts to them from f32. Such pairs
// mostly come from one word of memory or go to one, and then nothing takes them apart or puts them together.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

using ir::Element;

namespace {

bool is_small(Element e) { return e == Element::f16 || e == Element::bf16; }

/// Whether there is an instruction for two (PTX ISA: f16x2 from sm_53, bf16x2 and casts from sm_80, sums and products of bf16x2 from sm_90).
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

}  // namespace

Value* NvptxLowering::pair_instruction(OpId id, std::span<Value* const> low, std::span<Value* const> high) {
  const Element from = f_.type(f_.operand(id, 0)).element(), to = f_.type(f_.result(id)).element();
  if (f_.kind(id) == OpKind::cast_) {
    const char* text = to == Element::f16 ? "cvt.rn.f16x2.f32 $0, $1, $2;" : "cvt.rn.bf16x2.f32 $0, $1, $2;";
    return inline_ptx(b_, text, b_.getInt32Ty(), {high[0], low[0]});
  }
  auto* type = llvm::FixedVectorType::get(from == Element::f16 ? b_.getHalfTy() : b_.getBFloatTy(), 2);
  std::vector<Value*> x;
  for (std::size_t i = 0; i < low.size(); ++i) {
    Value* both = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt16Ty(), 2));
    both = b_.CreateInsertElement(b_.CreateInsertElement(both, low[i], std::uint64_t{0}), high[i], std::uint64_t{1});
    x.push_back(b_.CreateBitCast(both, type));
  }
  namespace ID = llvm::Intrinsic;
  const bool is_f16 = from == Element::f16;
  const auto call = [&](llvm::Intrinsic::ID intrinsic) { return b_.CreateIntrinsic(intrinsic, {}, x); };
  switch (f_.kind(id)) {
    case OpKind::add_: return b_.CreateFAdd(x[0], x[1]);
    case OpKind::sub_: return b_.CreateFSub(x[0], x[1]);
    case OpKind::mul_: return b_.CreateFMul(x[0], x[1]);
    // As in math.cpp, not by LLVM's own.
    case OpKind::minimum_: return call(is_f16 ? ID::nvvm_fmin_nan_f16x2 : ID::nvvm_fmin_nan_bf16x2);
    case OpKind::maximum_: return call(is_f16 ? ID::nvvm_fmax_nan_f16x2 : ID::nvvm_fmax_nan_bf16x2);
    case OpKind::fmin_: return call(is_f16 ? ID::nvvm_fmin_f16x2 : ID::nvvm_fmin_bf16x2);
    case OpKind::fmax_: return call(is_f16 ? ID::nvvm_fmax_f16x2 : ID::nvvm_fmax_bf16x2);
    default: return b_.CreateIntrinsic(ID::fma, {type}, x);
  }
}

bool NvptxLowering::emit_pairs(OpId id) {
  const auto& operands = f_.op(id).operands;
  const ValueId result = f_.result(id);
  if (f_.type(result).is_scalar() || f_.type(operands[0]).is_pointer() || f_.type(result).is_pointer()) return false;
  if (!has_pairs(f_.kind(id), f_.type(operands[0]).element(), f_.type(result).element(), target_.sm)) return false;
  const LinearLayout& l = layout(result);
  // Registers that are copies of their neighbours are better computed once.
  if (l.bits(HardwareDim::reg) == 0 || (l.free_bits(HardwareDim::reg) & 1) != 0) return false;
  // Of a negative constant beside something else ptxas (12.9 to 13.4) makes fma.f16x2 with the sign on one factor and not on the other.
  for (ValueId v : operands)
    for (std::size_t r = 0; r < l.size(HardwareDim::reg); r += 2)
      if (llvm::isa<llvm::Constant>(registers(v)[r]) != llvm::isa<llvm::Constant>(registers(v)[r + 1])) return false;
  Registers out;
  for (std::size_t r = 0; r < l.size(HardwareDim::reg); r += 2) {
    std::vector<Value*> low, high;
    for (ValueId v : operands) {
      low.push_back(registers(v)[r]);
      high.push_back(registers(v)[r + 1]);
    }
    Value* both = b_.CreateBitCast(pair_instruction(id, low, high), llvm::FixedVectorType::get(b_.getInt16Ty(), 2));
    for (std::uint64_t i = 0; i < 2; ++i) out.push_back(b_.CreateExtractElement(both, i));
  }
  set(result, std::move(out));
  return true;
}

}  // namespace tilewright::backend::nvptx
