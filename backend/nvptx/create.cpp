// Emits program ids, constants and ranges.
#include "backend/nvptx/create.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/elementwise.h"

namespace tilewright::backend::nvptx {

void emit_program_id(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                          llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  e.set(f.result(id), {b.CreateIntrinsic(b.getInt32Ty(), kIds[f.attr(id, ir::AttrName::axis)], {})});
}

void emit_num_programs(Emitter& e, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                          llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  e.set(f.result(id), {b.CreateIntrinsic(b.getInt32Ty(), kIds[f.attr(id, ir::AttrName::axis)], {})});
}

void emit_constant(Emitter& e, IndexArithmetic&, OpId id) {
  const Function& f = e.f();
  const ValueId v = f.result(id);
  Value* c = constant_lanes(e.b().getContext(), f.type(v), static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value)), 0);
  e.set(v, Registers(f.type(v).is_scalar() ? 1 : e.layout(v).size(HardwareDim::reg), c));
}

void emit_arange(Emitter& e, IndexArithmetic& index, OpId id) {
  llvm::IRBuilder<>& b = e.b();
  const Function& f = e.f();
  const ValueId v = f.result(id);
  const LinearLayout& l = e.layout(v);
  const std::int64_t lo = f.attr(id, ir::AttrName::lo);
  Registers out;
  for (std::uint32_t r = 0; r < l.size(HardwareDim::reg); ++r) {
    Value* at = e.flat_index(l, r);
    out.push_back(lo == 0 ? at : b.CreateAdd(at, e.i32(lo)));
    const std::uint32_t part = l.apply(HardwareDim::reg, r);
    if (are_register_bits(l, part)) index.define(out.back(), {e.thread_part(l), nullptr, static_cast<std::int64_t>(part) + lo});
  }
  e.set(v, std::move(out));
}

}  // namespace tilewright::backend::nvptx
