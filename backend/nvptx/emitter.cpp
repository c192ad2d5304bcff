// Implements registers of values, regions, thread indices, predicates, shared memory and communication.
#include "backend/nvptx/emitter.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <bit>

#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx/words.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

namespace {

/// The alignment of the program's shared memory: the greatest that its buffers require.
std::int64_t shared_alignment(const Function& f) {
  std::int64_t most = 128;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::alloc_buffer_) most = std::max(most, f.attr(id, ir::AttrName::alignment));
  });
  return most;
}

}  // namespace

void disable_unroll(llvm::Instruction* back) {
  llvm::LLVMContext& context = back->getContext();
  llvm::MDNode* no_unroll = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, no_unroll});
  loop->replaceOperandWith(0, loop);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

Emitter::Emitter(llvm::Function& kernel, const Function& f, const passes::LoweringPlans& plans, const ir::TargetDesc& target,
                 Options options, std::function<void(OpId)> lower_op)
    : kernel_(kernel),
      b_(&kernel.getEntryBlock()),
      f_(f),
      plans_(plans),
      target_(target),
      options_(options),
      lower_op_(std::move(lower_op)),
      axes_(f),
      registers_(f.value_capacity()) {}

llvm::BasicBlock* Emitter::new_block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, &kernel_); }

// ---- registers of values, blocks and regions ----

void Emitter::set(ValueId v, Registers values) {
  const std::size_t expected = f_.type(v).is_scalar() ? 1 : layout(v).size(HardwareDim::reg);
  TW_CHECK(values.size() == expected, "a tile has another number of registers than its layout says");
  registers_[v.index] = std::move(values);
}

void Emitter::emit_block(BlockId block) {
  for (OpId id : f_.ops(block)) {
    if (ir::info(f_.kind(id)).has(ir::kTerminator)) break;
    lower_op_(id);
  }
}

std::vector<Registers> Emitter::yielded(BlockId block, int skip) const {
  std::vector<Registers> out;
  const auto& values = f_.op(f_.terminator(block)).operands;
  for (std::size_t i = static_cast<std::size_t>(skip); i < values.size(); ++i) out.push_back(registers(values[i]));
  return out;
}

std::vector<Value*> Emitter::combine(OpId id, std::span<Value* const> earlier, std::span<Value* const> later) {
  const BlockId region = f_.region(id);
  int arg = 0;
  for (const auto& side : {earlier, later})
    for (Value* v : side) set(f_.arg(region, arg++), {v});
  emit_block(region);
  std::vector<Value*> out;
  for (const Registers& r : yielded(region)) out.push_back(r[0]);
  return out;
}

// ---- roles ----

void Emitter::emit_role(BlockId region, const ActiveRole& role) {
  TW_CHECK(!role_, "a role in a role");
  role_ = &role;
  // What is computed from the thread's number in one role must not be used in another.
  OfThread outer = std::exchange(of_thread_, {});
  emit_block(region);
  of_thread_ = std::move(outer);
  role_ = nullptr;
}

// ---- thread indices ----

Value* Emitter::thread() {
  if (role_) return role_->thread;
  if (!thread_) {
    llvm::CallInst* tid = b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    tid->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<std::uint64_t>(32 * options_.num_warps))));
    thread_ = tid;
  }
  return thread_;
}

Value* Emitter::lane() { return warps() == 1 ? thread() : b_.CreateAnd(thread(), i32(31)); }

Value* Emitter::apply(const ir::F2Matrix& map, Value* x) {
  Value* sum = nullptr;
  std::uint32_t used = 0;
  for (int i = 0; i < map.width();) {
    const std::uint32_t first = map.columns[i];
    if (first == 0) {
      ++i;
      continue;
    }
    if (!std::has_single_bit(first)) {
      // Extends one bit to several: all ones if it is set.
      Value* bit = b_.CreateAnd(b_.CreateLShr(x, i32(i)), i32(1));
      Value* part = b_.CreateAnd(b_.CreateNeg(bit), i32(first));
      sum = sum ? b_.CreateXor(sum, part) : part;
      used |= first;
      ++i;
      continue;
    }
    // Bits that move by the same distance are handled together.
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

Value* Emitter::thread_part(const LinearLayout& l) {
  ir::F2Matrix map;
  for (int i = 0; i < ir::TargetDesc::kLog2WarpLanes; ++i)
    map.columns.push_back(i < l.bits(HardwareDim::lane) ? l.bases(HardwareDim::lane)[i] : 0);
  for (std::uint32_t basis : l.bases(HardwareDim::warp)) map.columns.push_back(basis);
  Value*& known = of_thread_.parts[map.columns];
  if (!known) known = emit_after(thread(), [&] { return apply(map, thread()); });
  return known;
}

Value* Emitter::emit_after(Value* instruction, const std::function<Value*()>& emit) {
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  auto* at = llvm::cast<llvm::Instruction>(instruction);
  b_.SetInsertPoint(at->getParent(), std::next(at->getIterator()));
  b_.SetCurrentDebugLocation(at->getDebugLoc());
  return emit();
}

Value* Emitter::uniform_warp() {
  if (!of_thread_.warp) of_thread_.warp = emit_after(thread(), [&] { return shuffle(Shuffle::idx, b_.CreateLShr(thread(), 5), i32(0)); });
  return of_thread_.warp;
}

Value* Emitter::unknown_constant(std::uint32_t bits) {
  Value* const warp = uniform_warp();
  Value*& known = of_thread_.unknown_constants[bits];
  // ptxas folds the shuffle of a constant, but not of one that is hidden.
  if (!known) known = emit_after(warp, [&] { return b_.CreateXor(shuffle(Shuffle::idx, b_.CreateXor(warp, i32(bits)), i32(0)), warp); });
  return known;
}

bool are_register_bits(const LinearLayout& l, std::uint32_t bits) {
  std::uint32_t used = 0;
  for (HardwareDim d : {HardwareDim::lane, HardwareDim::warp})
    for (std::uint32_t basis : l.bases(d)) used |= basis;
  return (used & bits) == 0;
}

Value* Emitter::flat_index(const LinearLayout& l, std::uint32_t r) {
  const std::uint32_t part = l.apply(HardwareDim::reg, r);
  Value* of_thread = thread_part(l);
  if (part == 0) return of_thread;
  if (!are_register_bits(l, part)) return b_.CreateXor(of_thread, i32(part));
  Value* sum = b_.CreateOr(of_thread, i32(part));
  if (auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(sum)) disjoint->setIsDisjoint(true);
  return sum;
}

// ---- predicates ----

Value* Emitter::is_first_thread() { return b_.CreateICmpEQ(thread(), i32(0)); }

Value* Emitter::redundant_thread_predicate(const LinearLayout& l) {
  const std::uint32_t free = l.free_bits(HardwareDim::lane) | l.free_bits(HardwareDim::warp) << ir::TargetDesc::kLog2WarpLanes;
  if (free == 0) return nullptr;
  return b_.CreateICmpEQ(b_.CreateAnd(thread(), i32(free)), i32(0));
}

Value* Emitter::parity_of_thread(std::uint32_t mask) {
  Value* bits = b_.CreateAnd(thread(), i32(mask));
  if (std::has_single_bit(mask)) return b_.CreateICmpNE(bits, i32(0));
  return b_.CreateTrunc(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b_.getInt1Ty());
}

// ---- shared memory ----

Value* Emitter::shared_address(std::int64_t offset) {
  if (!shared_) {
    // The launch sets its size: more than 48 KiB cannot be declared (PTX ISA, "State spaces: .shared"; cuFuncSetAttribute).
    auto* array =
        new llvm::GlobalVariable(*kernel_.getParent(), llvm::ArrayType::get(b_.getInt8Ty(), 0), false, llvm::GlobalValue::ExternalLinkage,
                                 nullptr, "tilewright_shared", nullptr, llvm::GlobalValue::NotThreadLocal, 3);
    array->setAlignment(llvm::Align(static_cast<std::uint64_t>(shared_alignment(f_))));
    shared_ = llvm::ConstantExpr::getPtrToInt(array, b_.getInt32Ty());
  }
  Value* address = offset == 0 ? shared_ : b_.CreateAdd(shared_, i32(offset));
  if (!role_ || role_->scratch_stride == 0 || offset < role_->scratch_begin) return address;
  return b_.CreateAdd(address, b_.CreateMul(role_->instance, i32(role_->scratch_stride)));
}

std::int64_t Emitter::scratch_offset(OpId id) const {
  TW_CHECK(plans_.has_plan(id), "an op without a lowering plan has no scratch");
  return f_.attr(id, ir::AttrName::shared);
}

void Emitter::store_shared(Type element, Value* address, std::int64_t displacement, std::span<Value* const> elements, Value* predicate) {
  std::vector<Value*> words = pack(b_, element, elements);
  const std::vector<llvm::Type*> types = word_types(b_, element, elements.size());
  const std::string text =
      fmt::format("{}st.shared{} [${} + {}], {};", predicate ? fmt::format("@${} ", words.size() + 1) : "",
                  word_suffix(types, element, elements.size()), words.size(), displacement, operand_vector(words.size()));
  words.push_back(address);
  if (predicate) words.push_back(predicate);
  inline_ptx(b_, text, std::span<llvm::Type* const>(), words, kMemory);
}

std::vector<Value*> Emitter::load_shared(Type element, Value* address, std::int64_t displacement, std::size_t count, Value* predicate) {
  const std::vector<llvm::Type*> words = word_types(b_, element, count);
  const std::string text = fmt::format("{}ld.shared{} {}, [${} + {}];", predicate ? fmt::format("@${} ", words.size() + 1) : "",
                                       word_suffix(words, element, count), operand_vector(words.size()), words.size(), displacement);
  std::vector<Value*> inputs;
  if (predicate)
    for (llvm::Type* t : words) inputs.push_back(llvm::Constant::getNullValue(t));
  const std::size_t tied = inputs.size();
  inputs.push_back(address);
  if (predicate) inputs.push_back(predicate);
  return unpack(b_, element, inline_ptx(b_, text, words, inputs, kMemory, tied), count);
}

// ---- communication of threads ----

void Emitter::barrier() {
  if (warps() == 1) return warp_barrier();
  if (role_) return inline_ptx(b_, fmt::format("bar.sync $0, {};", threads()), {role_->barrier}, kCollective);
  b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_barrier0, {});
}

Value* Emitter::any_thread(Value* holds) {
  if (warps() == 1) return b_.CreateIntrinsic(b_.getInt1Ty(), llvm::Intrinsic::nvvm_vote_any_sync, {b_.getInt32(UINT32_MAX), holds});
  if (role_)
    return inline_ptx(b_, fmt::format("bar.red.or.pred $0, $1, {}, $2;", threads()), b_.getInt1Ty(), {role_->barrier, holds}, kCollective);
  Value* any = b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_barrier0_or, {b_.CreateZExt(holds, b_.getInt32Ty())});
  return b_.CreateICmpNE(any, i32(0));
}

void Emitter::warp_barrier() { b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_bar_warp_sync, {b_.getInt32(UINT32_MAX)}); }

Value* Emitter::shuffle(Shuffle mode, Value* v, Value* x) {
  constexpr llvm::Intrinsic::ID kIds[] = {llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                                          llvm::Intrinsic::nvvm_shfl_sync_up_i32, llvm::Intrinsic::nvvm_shfl_sync_down_i32};
  // PTX ISA, "shfl.sync": the segment is the whole warp; `up` has a lower bound.
  Value* clamp = i32(mode == Shuffle::up ? 0 : 31);
  const auto move = [&](Value* word) {
    return b_.CreateIntrinsic(b_.getInt32Ty(), kIds[static_cast<int>(mode)], {b_.getInt32(UINT32_MAX), word, x, clamp});
  };
  llvm::Type* type = v->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  if (bits == 64) {
    Value* halves = b_.CreateBitCast(v, llvm::FixedVectorType::get(b_.getInt32Ty(), 2));
    Value* out = llvm::PoisonValue::get(halves->getType());
    for (std::uint64_t i = 0; i < 2; ++i) out = b_.CreateInsertElement(out, move(b_.CreateExtractElement(halves, i)), i);
    return b_.CreateBitCast(out, type);
  }
  if (bits == 32) return b_.CreateBitCast(move(b_.CreateBitCast(v, b_.getInt32Ty())), type);
  return b_.CreateTrunc(move(b_.CreateZExt(v, b_.getInt32Ty())), type);
}

}  // namespace tilewright::backend::nvptx
