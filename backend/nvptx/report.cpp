// device_print and device_assert: records in a buffer that the launch passes (backend/nvptx_abi.h). One thread reserves room, all write
// what they hold.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "backend/nvptx_abi.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

void NvptxLowering::emit_device_assert(OpId id) {
  const auto& operands = f_.op(id).operands;
  Value* fails = nullptr;
  for (std::size_t r = 0; r < registers(operands[0]).size(); ++r) {
    Value* here = b_.CreateNot(registers(operands[0])[r]);
    if (operands.size() > 1) here = b_.CreateAnd(here, registers(operands[1])[r]);
    fails = fails ? b_.CreateOr(fails, here) : here;
  }
  if (!f_.type(operands[0]).is_scalar()) {
    if (num_warps_ > 1) {
      Value* any = b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_barrier0_or, {b_.CreateZExt(fails, b_.getInt32Ty())});
      fails = b_.CreateICmpNE(any, i32(0));
    } else {
      fails = b_.CreateIntrinsic(b_.getInt1Ty(), llvm::Intrinsic::nvvm_vote_any_sync, {b_.getInt32(UINT32_MAX), fails});
    }
  }
  emit_report(id, fails);
}

void NvptxLowering::emit_report(OpId id, Value* speaks) {
  const auto& operands = f_.op(id).operands;
  const bool is_print = f_.kind(id) == OpKind::device_print_;
  ReportSite site{
      f_.where(id), is_print, f_.attr_text(id, ir::AttrName::text), static_cast<ir::Reason>(f_.attr(id, ir::AttrName::reason)), {}};
  for (ValueId v : operands) site.operands.push_back(f_.type(v));
  const auto number = static_cast<std::uint32_t>(reports_.size());

  llvm::BasicBlock *speak = new_block("report"), *done = new_block("reported");
  Value* listens = b_.CreateICmpNE(report_buffer_, b_.getInt64(0));
  b_.CreateCondBr(speaks ? b_.CreateAnd(listens, speaks) : listens, speak, done);
  b_.SetInsertPoint(speak);

  // Room for the record: where it begins, in words, or ~0.
  const std::int64_t bytes = report_offset(site.operands, operands.size());
  llvm::Type *word = b_.getInt32Ty(), *wide = b_.getInt64Ty();
  Value* first = is_first_thread();
  llvm::Type* outputs[] = {wide};
  Value* reserve[] = {b_.getInt64(0), report_buffer_, b_.getInt64(static_cast<std::uint64_t>(bytes / 4)), first};
  Value* at = inline_ptx(b_, fmt::format("@$3 atom.relaxed.gpu.global.add.u64 $0, [$1 + {}], $2;", offsetof(NvptxReportHeader, used_words)),
                         outputs, reserve, kMemory, 1)[0];
  Value* capacity = b_.CreateZExt(
      inline_ptx(b_, fmt::format("ld.global.b32 $0, [$1 + {}];", offsetof(NvptxReportHeader, capacity_words)), word, {report_buffer_}, kMemory), wide);
  Value* fits = b_.CreateICmpULE(b_.CreateAdd(at, b_.getInt64(static_cast<std::uint64_t>(bytes / 4))), capacity);
  Value* lost = b_.CreateAnd(first, b_.CreateNot(fits));
  inline_ptx(b_, fmt::format("@$2 red.relaxed.gpu.global.add.u32 [$0 + {}], $1;", offsetof(NvptxReportHeader, lost)),
             {report_buffer_, i32(1), lost}, kMemory);
  const auto address_of = [&](Value* words) {
    return b_.CreateAdd(b_.CreateAdd(report_buffer_, b_.getInt64(sizeof(NvptxReportHeader))), b_.CreateShl(words, 2));
  };
  inline_ptx(b_, "@$2 st.global.b32 [$0], $1;", {address_of(at), b_.getInt32(kReportEnd), b_.CreateAnd(lost, b_.CreateICmpULT(at, capacity))}, kMemory);

  Value* place = b_.CreateSelect(fits, b_.CreateTrunc(at, word), b_.getInt32(kReportEnd));
  if (num_warps_ > 1) {
    Value* scratch = shared_address(shared_offset(id));
    store_shared(Type(ir::Element::u32), scratch, 0, std::span(&place, 1), first);
    emit_barrier();
    place = load_shared(Type(ir::Element::u32), scratch, 0, 1)[0];
  } else {
    place = shuffle(Shuffle::idx, place, i32(0));
  }
  Value* writes = b_.CreateICmpNE(place, b_.getInt32(kReportEnd));
  Value* record = address_of(b_.CreateZExt(place, wide));

  Value* header[] = {b_.getInt32(number), nullptr, nullptr, nullptr};
  constexpr llvm::Intrinsic::ID kProgram[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                              llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  for (int axis = 0; axis < 3; ++axis) header[axis + 1] = b_.CreateIntrinsic(word, kProgram[axis], {});
  Value* first_writes = b_.CreateAnd(writes, first);
  for (int i = 0; i < 4; ++i) store_global(Type(ir::Element::u32), record, 4 * i, std::span(&header[i], 1), first_writes, ".global");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Type element = site.operands[i].scalar();
    const Registers& values = registers(operands[i]);
    const std::int64_t begin = report_offset(site.operands, i);
    if (site.operands[i].is_scalar()) {
      store_global(element, record, begin, values, first_writes, ".global");
      continue;
    }
    const LinearLayout& l = layout(operands[i]);
    const std::uint32_t copies = l.free_bits(HardwareDim::reg);
    Value* canonical = is_canonical(l);
    Value* predicate = canonical ? b_.CreateAnd(writes, canonical) : writes;
    for (std::uint32_t r = 0; r < values.size(); ++r) {
      if (r & copies) continue;
      Value* offset = b_.CreateMul(b_.CreateZExt(flat_index(l, r), wide), b_.getInt64(static_cast<std::uint64_t>(element.element_bytes())));
      store_global(element, b_.CreateAdd(record, offset), begin, std::span(&values[r], 1), predicate, ".global");
    }
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  reports_.push_back(std::move(site));
}

}  // namespace tilewright::backend::nvptx
