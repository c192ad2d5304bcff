// device_print and device_assert call HostLaunch::report with the addresses of the operands.
#include "backend/host/step_ops.h"
#include "backend/host_abi.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// The address of operand i: for a tile its buffer, for a scalar a slot on the stack.
Value* report_operand(Emitter& e, OpId id, int i) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const ValueId v = f.operand(id, i);
  const Type t = f.type(v);
  if (!t.is_scalar()) return e.operand_buffer(id, i);
  llvm::Type* element = memory_type(e.context(), t);
  Value* slot = e.alloca_in_entry(element, 1, 8);
  b.CreateStore(e.to_memory(e.scalar(v), t), slot);
  return slot;
}

/// Whether some element of the condition is false where the mask is true; computed by an `or` over vectors of bytes.
Value* some_lane_fails(Emitter& e, const Type& t, Value* condition, Value* mask) {
  llvm::IRBuilder<>& b = e.b();
  const std::int64_t bytes = t.elements();
  const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(bytes, e.target().vector_bits / 8));
  llvm::Type* byte = b.getInt8Ty();
  llvm::Type* part = lanes > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(byte, lanes)) : byte;
  const auto failing =
      e.loop(e.i64(0), e.i64(bytes), e.i64(lanes), {llvm::Constant::getNullValue(part)}, false, [&](Value* at, const Values& carried) {
        const auto load = [&](Value* base) { return b.CreateAlignedLoad(part, b.CreateInBoundsGEP(byte, base, at), llvm::Align(lanes)); };
        Value* fails = b.CreateXor(load(condition), llvm::ConstantInt::get(part, 1));
        if (mask) fails = b.CreateAnd(fails, load(mask));
        return Values{b.CreateOr(carried[0], fails)};
      });
  return b.CreateICmpNE(lanes > 1 ? b.CreateOrReduce(failing[0]) : failing[0], b.getInt8(0));
}

void emit_report(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = f.op(id);
  const bool is_print = op.kind == OpKind::device_print_;
  ReportSite site{
      f.where(id), is_print, f.attr_text(id, ir::AttrName::text), static_cast<ir::Reason>(f.attr(id, ir::AttrName::reason)), {}};
  Values operands;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    site.operands.push_back(f.type(op.operands[i]));
    operands.push_back(report_operand(e, id, static_cast<int>(i)));
  }
  const std::uint32_t number = e.add_report(std::move(site));

  // The function is null if a kernel is called without the runtime.
  Value* function = e.launch_field(b.getPtrTy(), offsetof(HostLaunch, report));
  Value* reports = b.CreateICmpNE(function, llvm::Constant::getNullValue(b.getPtrTy()));
  if (!is_print)
    reports = b.CreateAnd(reports, some_lane_fails(e, f.type(op.operands[0]), operands[0], operands.size() > 1 ? operands[1] : nullptr));
  llvm::BasicBlock* report = e.new_block("report");
  llvm::BasicBlock* done = e.new_block("reported");
  b.CreateCondBr(reports, report, done);
  b.SetInsertPoint(report);
  Value* program = e.alloca_in_entry(b.getInt32Ty(), 3, 4);
  for (unsigned i = 0; i < 3; ++i) b.CreateStore(e.program_id(i), b.CreateConstInBoundsGEP1_64(b.getInt32Ty(), program, i));
  Value* table = e.alloca_in_entry(b.getPtrTy(), std::max<unsigned>(1, static_cast<unsigned>(operands.size())), 8);
  for (std::size_t i = 0; i < operands.size(); ++i) b.CreateStore(operands[i], b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, i));
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getInt32Ty()}, false);
  b.CreateCall(type, function, {e.launch_field(b.getPtrTy(), offsetof(HostLaunch, report_context)), program, table, b.getInt32(number)});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace

void emit_device_print(Emitter& e, OpId id) { emit_report(e, id); }
void emit_device_assert(Emitter& e, OpId id) { emit_report(e, id); }

}  // namespace tilewright::backend::host
