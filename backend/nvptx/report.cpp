// Writes report records: the first thread reserves space in the buffer, then every thread writes its elements.
#include "backend/nvptx/report.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/nvptx/global_memory.h"
#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx_abi.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

void emit_device_print(Emitter& e, Reports& reports, OpId id) { reports.emit(e, id, nullptr); }

void emit_device_assert(Emitter& e, Reports& reports, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  Value* fails = nullptr;
  for (std::size_t r = 0; r < e.registers(operands[0]).size(); ++r) {
    Value* here = b.CreateNot(e.registers(operands[0])[r]);
    if (operands.size() > 1) here = b.CreateAnd(here, e.registers(operands[1])[r]);
    fails = fails ? b.CreateOr(fails, here) : here;
  }
  if (!f.type(operands[0]).is_scalar()) fails = e.any_thread(fails);
  reports.emit(e, id, fails);
}

void Reports::emit(Emitter& e, OpId id, Value* condition) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const auto& operands = f.op(id).operands;
  const bool is_print = f.kind(id) == OpKind::device_print_;
  ReportSite site{
      f.where(id), is_print, f.attr_text(id, ir::AttrName::text), static_cast<ir::Reason>(f.attr(id, ir::AttrName::reason)), {}};
  for (ValueId v : operands) site.operands.push_back(f.type(v));
  const auto number = static_cast<std::uint32_t>(sites_.size());

  llvm::BasicBlock *body = e.new_block("report"), *done = e.new_block("reported");
  Value* has_buffer = b.CreateICmpNE(buffer_, b.getInt64(0));
  b.CreateCondBr(condition ? b.CreateAnd(has_buffer, condition) : has_buffer, body, done);
  b.SetInsertPoint(body);

  // The space for the record: its offset in words, or ~0 if there is none.
  const std::int64_t bytes = report_offset(site.operands, operands.size());
  llvm::Type *word = b.getInt32Ty(), *wide = b.getInt64Ty();
  Value* first = e.is_first_thread();
  llvm::Type* outputs[] = {wide};
  Value* reserve[] = {b.getInt64(0), buffer_, b.getInt64(static_cast<std::uint64_t>(bytes / 4)), first};
  Value* at = inline_ptx(b, fmt::format("@$3 atom.relaxed.gpu.global.add.u64 $0, [$1 + {}], $2;", offsetof(NvptxReportHeader, used_words)),
                         outputs, reserve, kMemory, 1)[0];
  Value* capacity = b.CreateZExt(
      inline_ptx(b, fmt::format("ld.global.b32 $0, [$1 + {}];", offsetof(NvptxReportHeader, capacity_words)), word, {buffer_}, kMemory),
      wide);
  Value* fits = b.CreateICmpULE(b.CreateAdd(at, b.getInt64(static_cast<std::uint64_t>(bytes / 4))), capacity);
  Value* lost = b.CreateAnd(first, b.CreateNot(fits));
  inline_ptx(b, fmt::format("@$2 red.relaxed.gpu.global.add.u32 [$0 + {}], $1;", offsetof(NvptxReportHeader, lost)),
             {buffer_, e.i32(1), lost}, kMemory);
  const auto address_of = [&](Value* words) {
    return b.CreateAdd(b.CreateAdd(buffer_, b.getInt64(sizeof(NvptxReportHeader))), b.CreateShl(words, 2));
  };
  inline_ptx(b, "@$2 st.global.b32 [$0], $1;", {address_of(at), b.getInt32(kReportEnd), b.CreateAnd(lost, b.CreateICmpULT(at, capacity))},
             kMemory);

  Value* offset = b.CreateSelect(fits, b.CreateTrunc(at, word), b.getInt32(kReportEnd));
  if (e.warps() > 1) {
    Value* scratch = e.shared_address(e.scratch_offset(id));
    e.store_shared(Type(ir::Element::u32), scratch, 0, std::span(&offset, 1), first);
    e.barrier();
    offset = e.load_shared(Type(ir::Element::u32), scratch, 0, 1)[0];
  } else {
    offset = e.shuffle(Shuffle::idx, offset, e.i32(0));
  }
  Value* writes = b.CreateICmpNE(offset, b.getInt32(kReportEnd));
  Value* record = address_of(b.CreateZExt(offset, wide));

  Value* header[] = {b.getInt32(number), nullptr, nullptr, nullptr};
  constexpr llvm::Intrinsic::ID kProgram[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                              llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  for (int axis = 0; axis < 3; ++axis) header[axis + 1] = b.CreateIntrinsic(word, kProgram[axis], {});
  Value* first_writes = b.CreateAnd(writes, first);
  for (int i = 0; i < 4; ++i) store_global(b, Type(ir::Element::u32), record, 4 * i, std::span(&header[i], 1), first_writes, ".global");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Type element = site.operands[i].scalar();
    const Registers& values = e.registers(operands[i]);
    const std::int64_t begin = report_offset(site.operands, i);
    if (site.operands[i].is_scalar()) {
      store_global(b, element, record, begin, values, first_writes, ".global");
      continue;
    }
    const LinearLayout& l = e.layout(operands[i]);
    const std::uint32_t copies = l.free_bits(HardwareDim::reg);
    Value* acts = e.redundant_thread_predicate(l);
    Value* predicate = acts ? b.CreateAnd(writes, acts) : writes;
    for (std::uint32_t r = 0; r < values.size(); ++r) {
      if (r & copies) continue;
      Value* distance =
          b.CreateMul(b.CreateZExt(e.flat_index(l, r), wide), b.getInt64(static_cast<std::uint64_t>(element.element_bytes())));
      store_global(b, element, b.CreateAdd(record, distance), begin, std::span(&values[r], 1), predicate, ".global");
    }
  }
  b.CreateBr(done);
  b.SetInsertPoint(done);
  sites_.push_back(std::move(site));
}

}  // namespace tilewright::backend::nvptx
