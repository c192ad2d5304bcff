// Searches for the buffer that contains an element.
#include "backend/nvptx/bounds.h"

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "backend/lowering/pointer_origin.h"
#include "backend/nvptx/global_memory.h"
#include "backend/nvptx/ptx_asm.h"
#include "backend/nvptx_abi.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

namespace {

// The number of addresses compared with the list of buffers at a time: more would not fit into registers.
constexpr std::size_t kAddressesPerSearch = 16;

}  // namespace

void BoundsCheck::begin(Value* bounds) {
  bounds_ = bounds;
  Value* has_bounds = b_.CreateICmpNE(bounds_, b_.getInt64(0));
  Value* none[] = {b_.getInt64(0), b_.getInt64(0)};
  const auto words = load_global(b_, Type(ir::Element::u64), bounds_, 0, 2, has_bounds, none, ".global");
  intervals_ = words[offsetof(NvptxBounds, intervals) / 8];
  interval_count_ = words[offsetof(NvptxBounds, count) / 8];
}

Registers BoundsCheck::active_elements(OpId id) {
  const Function& f = e_.f();
  const ValueId pointer = f.operand(id, 0), mask = ir::mask_of(f, id);
  const Registers& addresses = e_.registers(pointer);
  Registers active = mask ? e_.registers(mask) : Registers(addresses.size(), e_.options().check ? b_.getTrue() : nullptr);
  if (!e_.options().check) return active;
  // A pipelined loop computes addresses of iterations that do not exist, but does not copy from them.
  if (f.kind(id) == OpKind::copy_async_)
    for (Value*& a : active) a = b_.CreateAnd(a, e_.scalar(f.operand(id, 2)));
  const bool is_scalar = f.type(pointer).is_scalar();
  const std::uint32_t copies = is_scalar ? 0 : e_.layout(pointer).free_bits(HardwareDim::reg);
  Value* reports = is_scalar ? e_.is_first_thread() : e_.redundant_thread_predicate(e_.layout(pointer));
  const ir::OpInfo& info = ir::info(f.kind(id));
  const AccessSite site{.where = f.where(id),
                        .is_store = info.has(ir::kWrites),
                        .element_bytes = f.type(pointer).pointee().element_bytes(),
                        .parameter = pointer_origin(f, pointer),
                        .is_atomic = info.family == ir::Family::atomic,
                        .needs_alignment = true};
  const auto slot = static_cast<std::int64_t>(sizeof(NvptxBounds) + sites_.size() * sizeof(NvptxBadAccesses));
  sites_.push_back(site);
  std::vector<std::uint32_t> some;
  for (std::uint32_t r = 0; r < active.size(); ++r) {
    if (!(r & copies)) some.push_back(r);
    if (some.size() < kAddressesPerSearch && r + 1 < active.size()) continue;
    std::vector<Value*> at, on;
    for (std::uint32_t k : some) at.push_back(addresses[k]), on.push_back(active[k]);
    check_some(site, slot, at, on, reports);
    for (std::size_t k = 0; k < some.size(); ++k) active[some[k]] = on[k];
    some.clear();
  }
  return active;
}

// for (i = 0; i < count && (an element of this warp is not found yet); ++i) found |= (the element is in interval i)
void BoundsCheck::check_some(const AccessSite& site, std::int64_t slot, std::span<Value* const> addresses, std::span<Value*> active,
                             Value* reports) {
  llvm::Type* wide = b_.getInt64Ty();
  const auto bytes = static_cast<std::uint64_t>(site.element_bytes);
  Value* has_no_bounds = b_.CreateICmpEQ(bounds_, b_.getInt64(0));
  std::vector<Value*> start;
  for (Value* a : active) start.push_back(b_.CreateOr(b_.CreateNot(a), has_no_bounds));

  llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = e_.new_block("buffers"), *body = e_.new_block("buffer"),
                   *done = e_.new_block("checked");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto* i = b_.CreatePHI(wide, 2);
  std::vector<llvm::PHINode*> found;
  for (Value* s : start) {
    found.push_back(b_.CreatePHI(b_.getInt1Ty(), 2));
    found.back()->addIncoming(s, before);
  }
  Value* missing = b_.getFalse();
  for (Value* v : found) missing = b_.CreateOr(missing, b_.CreateNot(v));
  // All lanes of a warp must take the same branch: the code after it may need all of them.
  Value* any = b_.CreateIntrinsic(b_.getInt1Ty(), llvm::Intrinsic::nvvm_vote_any_sync, {b_.getInt32(UINT32_MAX), missing});
  b_.CreateCondBr(b_.CreateAnd(any, b_.CreateICmpULT(i, interval_count_)), body, done);

  b_.SetInsertPoint(body);
  Value* address = b_.CreateAdd(intervals_, b_.CreateMul(i, b_.getInt64(sizeof(NvptxInterval))));
  const auto interval = load_global(b_, Type(ir::Element::u64), address, 0, 2, nullptr, {}, ".global");
  Value *begin = interval[offsetof(NvptxInterval, begin) / 8], *size = interval[offsetof(NvptxInterval, bytes) / 8];
  Value *fits = b_.CreateICmpUGE(size, b_.getInt64(bytes)), *last = b_.CreateSub(size, b_.getInt64(bytes));
  for (std::size_t k = 0; k < addresses.size(); ++k) {
    Value* inside = b_.CreateAnd(fits, b_.CreateICmpULE(b_.CreateSub(addresses[k], begin), last));
    found[k]->addIncoming(b_.CreateOr(found[k], inside), body);
  }
  i->addIncoming(b_.getInt64(0), before);
  i->addIncoming(b_.CreateAdd(i, b_.getInt64(1)), body);
  disable_unroll(b_.CreateBr(loop));

  b_.SetInsertPoint(done);
  for (std::size_t k = 0; k < addresses.size(); ++k) {
    Value* good = found[k];
    if (bytes > 1) {
      Value* aligned = b_.CreateICmpEQ(b_.CreateAnd(addresses[k], b_.getInt64(bytes - 1)), b_.getInt64(0));
      good = b_.CreateAnd(good, b_.CreateOr(aligned, has_no_bounds));
    }
    Value* bad = b_.CreateAnd(active[k], b_.CreateNot(good));
    if (reports) bad = b_.CreateAnd(bad, reports);
    inline_ptx(b_, fmt::format("@$2 red.relaxed.gpu.global.min.u64 [$0 + {}], $1;", slot + offsetof(NvptxBadAccesses, lowest_address)),
               {bounds_, addresses[k], bad}, kMemory);
    inline_ptx(b_, fmt::format("@$2 red.relaxed.gpu.global.add.u64 [$0 + {}], $1;", slot + offsetof(NvptxBadAccesses, count)),
               {bounds_, b_.getInt64(1), bad}, kMemory);
    active[k] = b_.CreateAnd(active[k], good);
  }
}

}  // namespace tilewright::backend::nvptx
