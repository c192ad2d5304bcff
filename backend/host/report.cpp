// device_print and device_assert: calls of HostLaunch::report with where the operands lie.
#include "backend/host/lowering.h"
#include "backend/host_abi.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

/// Where operand i lies: a tile in its buffer, a scalar in a slot of the frame.
Value* HostLowering::report_operand(OpId id, int i) {
  const ValueId v = f_.operand(id, i);
  const Type t = f_.type(v);
  if (!t.is_scalar()) return buffer(plan_.operand_class(id, i));
  llvm::Type* element = memory_type(c_, t);
  Value* slot = alloca_in_entry(element, 1, 8);
  b_.CreateStore(to_memory(scalar(v), t), slot);
  return slot;
}

/// Whether some element of the condition is false where the mask is true: an or over vectors of bytes.
Value* HostLowering::some_lane_fails(const Type& t, Value* condition, Value* mask) {
  const std::int64_t bytes = t.elements();
  const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(bytes, target_.vector_bits / 8));
  llvm::Type* byte = b_.getInt8Ty();
  llvm::Type* part = lanes > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(byte, lanes)) : byte;
  const auto failing =
      emit_loop(i64(0), i64(bytes), i64(lanes), {llvm::Constant::getNullValue(part)}, false, [&](Value* at, const Values& carried) {
        const auto load = [&](Value* base) { return b_.CreateAlignedLoad(part, b_.CreateInBoundsGEP(byte, base, at), llvm::Align(lanes)); };
        Value* fails = b_.CreateXor(load(condition), llvm::ConstantInt::get(part, 1));
        if (mask) fails = b_.CreateAnd(fails, load(mask));
        return Values{b_.CreateOr(carried[0], fails)};
      });
  return b_.CreateICmpNE(lanes > 1 ? b_.CreateOrReduce(failing[0]) : failing[0], b_.getInt8(0));
}

void HostLowering::emit_report(OpId id) {
  const auto& op = f_.op(id);
  const bool is_print = op.kind == OpKind::device_print_;
  ReportSite site{
      f_.where(id), is_print, f_.attr_text(id, ir::AttrName::text), static_cast<ir::Reason>(f_.attr(id, ir::AttrName::reason)), {}};
  Values operands;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    site.operands.push_back(f_.type(op.operands[i]));
    operands.push_back(report_operand(id, static_cast<int>(i)));
  }
  const auto number = static_cast<std::uint32_t>(reports_.size());
  reports_.push_back(std::move(site));

  const auto field = [&](std::size_t offset) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), launch_, offset));
  };
  // Whoever calls kernels without the runtime may not listen.
  Value* function = field(offsetof(HostLaunch, report));
  Value* speaks = b_.CreateICmpNE(function, llvm::Constant::getNullValue(b_.getPtrTy()));
  if (!is_print)
    speaks = b_.CreateAnd(speaks, some_lane_fails(f_.type(op.operands[0]), operands[0], operands.size() > 1 ? operands[1] : nullptr));
  auto* speak = llvm::BasicBlock::Create(c_, "report", function_);
  auto* done = llvm::BasicBlock::Create(c_, "reported", function_);
  b_.CreateCondBr(speaks, speak, done);
  b_.SetInsertPoint(speak);
  Value* program = alloca_in_entry(b_.getInt32Ty(), 3, 4);
  for (unsigned i = 0; i < 3; ++i) b_.CreateStore(program_[i], b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), program, i));
  Value* table = alloca_in_entry(b_.getPtrTy(), std::max<unsigned>(1, static_cast<unsigned>(operands.size())), 8);
  for (std::size_t i = 0; i < operands.size(); ++i) b_.CreateStore(operands[i], b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), table, i));
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty()}, false);
  b_.CreateCall(type, function, {field(offsetof(HostLaunch, report_context)), program, table, b_.getInt32(number)});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace tilewright::backend::host
