// What a thread holds of tiles that are made, reshaped or computed lane by lane: no element changes its thread here.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <bit>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/lowering.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

// ---- who am I ----

Value* NvptxLowering::thread() {
  if (!thread_) {
    llvm::CallInst* tid = b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    tid->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<std::uint64_t>(32 * num_warps_))));
    thread_ = tid;
  }
  return thread_;
}

Value* NvptxLowering::lane() { return num_warps_ == 1 ? thread() : b_.CreateAnd(thread(), i32(31)); }

Value* NvptxLowering::warp() { return b_.CreateLShr(thread(), i32(5)); }

Value* NvptxLowering::apply(const ir::F2Matrix& map, Value* x) {
  Value* sum = nullptr;
  std::uint32_t used = 0;
  for (int i = 0; i < map.width();) {
    const std::uint32_t first = map.columns[i];
    if (first == 0) {
      ++i;
      continue;
    }
    if (!std::has_single_bit(first)) {
      // One bit to several: all ones where it is set.
      Value* bit = b_.CreateAnd(b_.CreateLShr(x, i32(i)), i32(1));
      Value* part = b_.CreateAnd(b_.CreateNeg(bit), i32(first));
      sum = sum ? b_.CreateXor(sum, part) : part;
      used |= first;
      ++i;
      continue;
    }
    // Bits that move by one distance move together.
    int n = 1;
    while (i + n < map.width() && map.columns[i + n] == first << n && (first << n) != 0) ++n;
    const std::uint32_t bits = ((n == 32 ? 0 : 1u << n) - 1) << i;
    const int shift = std::countr_zero(first) - i;
    Value* part = b_.CreateAnd(x, i32(bits));
    if (shift > 0) part = b_.CreateShl(part, i32(shift), "", /*HasNUW=*/true, /*HasNSW=*/true);
    if (shift < 0) part = b_.CreateLShr(part, i32(-shift));
    const std::uint32_t image = shift >= 0 ? bits << shift : bits >> -shift;
    if (!sum) {
      sum = part;
    } else if (used & image) {
      sum = b_.CreateXor(sum, part);
    } else {
      sum = b_.CreateOr(sum, part);
      if (auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(sum)) disjoint->setIsDisjoint(true);
    }
    used |= image;
    i += n;
  }
  return sum ? sum : i32(0);
}

Value* NvptxLowering::thread_part(const LinearLayout& l, std::uint32_t mask) {
  ir::F2Matrix map;
  for (int i = 0; i < ir::TargetDesc::kLog2WarpLanes; ++i)
    map.columns.push_back(i < l.bits(HardwareDim::lane) ? l.bases(HardwareDim::lane)[i] & mask : 0);
  for (std::uint32_t basis : l.bases(HardwareDim::warp)) map.columns.push_back(basis & mask);
  Value*& known = thread_parts_[map.columns];
  if (!known) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    if (auto* tid = llvm::dyn_cast<llvm::Instruction>(thread())) b_.SetInsertPoint(tid->getParent(), std::next(tid->getIterator()));
    b_.SetCurrentDebugLocation(llvm::cast<llvm::Instruction>(thread())->getDebugLoc());
    known = apply(map, thread());
  }
  return known;
}

bool NvptxLowering::is_thread_apart(const LinearLayout& l, std::uint32_t part) {
  std::uint32_t used = 0;
  for (HardwareDim d : {HardwareDim::lane, HardwareDim::warp})
    for (std::uint32_t basis : l.bases(d)) used |= basis;
  return (used & part) == 0;
}

Value* NvptxLowering::flat_index(const LinearLayout& l, std::uint32_t reg) {
  const std::uint32_t part = l.apply(HardwareDim::reg, reg);
  Value* of_thread = thread_part(l);
  if (part == 0) return of_thread;
  if (!is_thread_apart(l, part)) return b_.CreateXor(of_thread, i32(part));
  Value* sum = b_.CreateOr(of_thread, i32(part));
  if (auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(sum)) disjoint->setIsDisjoint(true);
  return sum;
}

Value* NvptxLowering::is_canonical(const LinearLayout& l) {
  const std::uint32_t free = l.free_bits(HardwareDim::lane) | l.free_bits(HardwareDim::warp) << ir::TargetDesc::kLog2WarpLanes;
  if (free == 0) return nullptr;
  return b_.CreateICmpEQ(b_.CreateAnd(thread(), i32(free)), i32(0));
}

Value* NvptxLowering::is_first_thread() { return b_.CreateICmpEQ(thread(), i32(0)); }

// ---- create ----

void NvptxLowering::emit_program_id(OpId id) {
  constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                          llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  set(f_.result(id), {b_.CreateIntrinsic(b_.getInt32Ty(), kIds[f_.attr(id, ir::AttrName::axis)], {})});
}

void NvptxLowering::emit_num_programs(OpId id) {
  constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                          llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
  set(f_.result(id), {b_.CreateIntrinsic(b_.getInt32Ty(), kIds[f_.attr(id, ir::AttrName::axis)], {})});
}

void NvptxLowering::emit_constant(OpId id) {
  const ValueId v = f_.result(id);
  Value* c = constant_lanes(c_, f_.type(v), static_cast<std::uint64_t>(f_.attr(id, ir::AttrName::value)), 0);
  set(v, Registers(f_.type(v).is_scalar() ? 1 : layout(v).size(HardwareDim::reg), c));
}

void NvptxLowering::emit_arange(OpId id) {
  const ValueId v = f_.result(id);
  const LinearLayout& l = layout(v);
  const std::int64_t lo = f_.attr(id, ir::AttrName::lo);
  Registers out;
  for (std::uint32_t r = 0; r < l.size(HardwareDim::reg); ++r) {
    Value* at = flat_index(l, r);
    out.push_back(lo == 0 ? at : b_.CreateAdd(at, i32(lo)));
    const std::uint32_t part = l.apply(HardwareDim::reg, r);
    if (is_thread_apart(l, part) && !llvm::isa<llvm::Constant>(out.back()))
      linear_[out.back()] = {thread_part(l), nullptr, static_cast<std::int64_t>(part) + lo};
  }
  set(v, std::move(out));
}

// ---- shape ----

std::vector<std::uint32_t> NvptxLowering::match_registers(const LinearLayout& from, const LinearLayout& to,
                                                          const std::function<std::uint32_t(std::uint32_t)>& map) {
  std::map<std::uint32_t, std::uint32_t> holder;
  for (std::uint32_t r = 0; r < from.size(HardwareDim::reg); ++r) holder.emplace(from.apply(HardwareDim::reg, r), r);
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
    const auto it = holder.find(map(to.apply(HardwareDim::reg, r)));
    TW_CHECK(it != holder.end(), "layouts that were to agree do not");
    out.push_back(it->second);
  }
  return out;
}

void NvptxLowering::emit_reshape(OpId id) {
  const ValueId x = f_.operand(id, 0), y = f_.result(id);
  // A tile of one element may become a scalar, and the reverse; otherwise the registers stay as they are.
  if (!f_.type(y).is_scalar() && f_.type(x).is_scalar()) return set(y, Registers(layout(y).size(HardwareDim::reg), scalar(x)));
  if (f_.type(y).is_scalar()) return set(y, {registers(x)[0]});
  set(y, registers(x));
}

void NvptxLowering::emit_broadcast(OpId id) {
  const ValueId x = f_.operand(id, 0), y = f_.result(id);
  const LinearLayout& to = layout(y);
  if (f_.type(x).is_scalar()) return set(y, Registers(to.size(HardwareDim::reg), scalar(x)));
  const std::vector<int> extents = ir::log2_extents(f_.type(x));
  const LinearLayout narrow = to.narrowed(extents);
  Registers out;
  std::uint32_t r = 0;
  // Register r of the result, seen in the operand's coordinates, is register r of the narrowed layout.
  std::map<std::uint32_t, std::uint32_t> holder;
  const LinearLayout& from = layout(x);
  for (std::uint32_t i = 0; i < from.size(HardwareDim::reg); ++i) holder.emplace(from.apply(HardwareDim::reg, i), i);
  for (; r < to.size(HardwareDim::reg); ++r) {
    const auto it = holder.find(narrow.apply(HardwareDim::reg, r));
    TW_CHECK(it != holder.end(), "the operand of a broadcast does not lie as its result asks");
    out.push_back(registers(x)[it->second]);
  }
  set(y, std::move(out));
}

void NvptxLowering::emit_permute(OpId id) { set(f_.result(id), registers(f_.operand(id, 0))); }

void NvptxLowering::emit_join(OpId id) {
  const Registers &a = registers(f_.operand(id, 0)), &b = registers(f_.operand(id, 1));
  const ValueId y = f_.result(id);
  const LinearLayout& l = layout(y);
  Registers out;
  for (std::uint32_t r = 0; r < l.size(HardwareDim::reg); ++r) {
    const bool second = (l.apply(HardwareDim::reg, r) & 1) != 0;
    // Of scalars each thread holds both: its part of the index says which one register 0 is.
    if (a.size() == 1 && f_.type(f_.operand(id, 0)).is_scalar()) {
      Value* is_second = b_.CreateICmpNE(b_.CreateAnd(flat_index(l, r), i32(1)), i32(0));
      out.push_back(b_.CreateSelect(is_second, b[0], a[0]));
    } else {
      out.push_back((second ? b : a)[r >> 1]);
    }
  }
  set(y, std::move(out));
}

void NvptxLowering::emit_split(OpId id) {
  const Registers& x = registers(f_.operand(id, 0));
  Registers halves[2];
  for (std::size_t r = 0; r < x.size(); ++r) halves[r & 1].push_back(x[r]);
  for (int i = 0; i < 2; ++i) set(f_.result(id, i), halves[i]);
}

void NvptxLowering::emit_cat(OpId id) {
  Registers out = registers(f_.operand(id, 0));
  const Registers& b = registers(f_.operand(id, 1));
  out.insert(out.end(), b.begin(), b.end());
  set(f_.result(id), std::move(out));
}

// ---- element-wise ----

void NvptxLowering::emit_elementwise(OpId id) {
  if (emit_index_arithmetic(id) || emit_division(id) || emit_pairs(id)) return;
  const ir::OpData& op = f_.op(id);
  std::vector<Type> types;
  for (ValueId v : op.operands) types.push_back(f_.type(v).scalar());
  const Type result = f_.type(op.results[0]).scalar();
  Registers out;
  std::vector<Value*> operands(op.operands.size());
  const std::size_t count = registers(op.operands[0]).size();
  std::map<std::vector<Value*>, Value*> same;  // registers that hold one value are computed once
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = registers(op.operands[i])[r];
    Value*& y = same[operands];
    if (!y) y = target_instruction(id, operands);
    if (!y) y = lower_elementwise(b_, target_, op.kind, types, result, operands);
    out.push_back(y);
  }
  set(op.results[0], std::move(out));
}

}  // namespace tilewright::backend::nvptx
