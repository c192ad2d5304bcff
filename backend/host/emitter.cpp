// The function's frame, and its loops, scalars, buffers and elements.
#include "backend/host/emitter.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>

#include "backend/host_abi.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

Emitter::Emitter(llvm::Module& m, const Function& f, const Machine& machine, bool check, const std::string& entry)
    : b_(m.getContext()),
      f_(f),
      machine_(machine),
      check_(check),
      axes_(f),
      plan_(f, check ? std::nullopt : std::optional(MemoryAxes{axes_, target().lanes(), machine.products})),
      live_(f, axes_),
      combined_atomics_(check ? std::set<OpId>() : combinable_atomics(f)),
      scalars_(f.value_capacity(), nullptr) {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i64t = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, i64t, i64t, ptr}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry, m);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-trapping-math", "true");
  if (target().vector_bits >= 512) {
    // Otherwise LLVM splits 512-bit vectors on CPU models that are tuned for it.
    function_->addFnAttr("prefer-vector-width", "512");
    function_->addFnAttr("min-legal-vector-width", "512");
  }
  for (int i : {0, 1, 4}) function_->addParamAttr(i, llvm::Attribute::NoUndef);
  function_->addParamAttr(4, llvm::Attribute::NoAlias);
  function_->addParamAttr(4, llvm::Attribute::getWithAlignment(context(), llvm::Align(64)));
  b_.SetInsertPoint(new_block("entry"));
  Value* launch = function_->getArg(1);
  for (int i = 0; i < 3; ++i) grid_[i] = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), launch, i), "grid");
  const auto& params = f_.block(f_.body()).args;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Type t = f_.type(params[i]);
    Value* address = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), i);
    Value* raw = b_.CreateLoad(memory_type(context(), t), address, f_.params[i].name);
    set_scalar(params[i], from_memory(raw, t));
  }
  // What is kept for the next program shares no memory with other buffers.
  for (ClassId c : plan_.kept_classes()) buffer(c);
  // Extents of a grid are positive, but LLVM does not know that.
  unknown_zero_ = b_.CreateZExt(b_.CreateLShr(grid_[0], 31), b_.getInt64Ty());
}

Value* Emitter::alloca_in_entry(llvm::Type* type, unsigned count, unsigned align) {
  llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* a = at_entry.CreateAlloca(type, at_entry.getInt32(count));
  a->setAlignment(llvm::Align(align));
  return a;
}

// ---- the launch ----

Value* Emitter::launch_field(llvm::Type* type, std::size_t offset) {
  return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(1), offset));
}

void Emitter::set_program(Value* number) {
  Value* gx = b_.CreateZExt(grid_[0], b_.getInt64Ty());
  Value* gy = b_.CreateZExt(grid_[1], b_.getInt64Ty());
  Value* rest = b_.CreateUDiv(number, gx);
  program_[0] = b_.CreateTrunc(b_.CreateURem(number, gx), b_.getInt32Ty(), "pid");
  program_[1] = b_.CreateTrunc(b_.CreateURem(rest, gy), b_.getInt32Ty(), "pid");
  program_[2] = b_.CreateTrunc(b_.CreateUDiv(rest, gy), b_.getInt32Ty(), "pid");
}

namespace {

/// Moves what does not change in an innermost loop before it. Nests place what does not depend on their own indices before them, but within
/// the loop around them: an unrolled nest would compute the addresses and masks of its rows in each iteration.
void hoist_invariants(llvm::Function& function, const llvm::DominatorTree& tree) {
  const llvm::LoopInfo loops(tree);
  for (llvm::BasicBlock& block : function) {
    llvm::Loop* loop = loops.getLoopFor(&block);
    if (!loop || !loop->isInnermost() || !loop->getLoopPredecessor()) continue;
    llvm::Instruction* before = loop->getLoopPredecessor()->getTerminator();
    bool changed = false;
    for (llvm::Instruction& each : llvm::make_early_inc_range(block)) loop->makeLoopInvariant(&each, changed, before);
  }
}

}  // namespace

std::int64_t Emitter::finish() {
  b_.CreateRetVoid();
  // Elements without effect may be read before they are written. They may have any value, but not an undefined one, which could be 0 in a
  // division and not 0 in the test before it. Outlining needs all variables before the first other instruction.
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> after_variables(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  for (const auto& [c, parts] : register_parts_)
    for (llvm::AllocaInst* part : parts)
      if (part) after_variables.CreateStore(llvm::Constant::getNullValue(part->getAllocatedType()), part);
  const std::int64_t frame_bytes = outline_parts(*function_, split_points_, function_->getArg(4), buffer_bytes());
  // Variables that outlined parts share stay in memory.
  std::vector<llvm::AllocaInst*> promotable;
  for (const auto& [c, parts] : register_parts_)
    for (llvm::AllocaInst* part : parts)
      if (part && llvm::isAllocaPromotable(part)) promotable.push_back(part);
  if (!promotable.empty()) {
    llvm::DominatorTree tree(*function_);
    llvm::PromoteMemToReg(promotable, tree);
    hoist_invariants(*function_, tree);
  }
  return frame_bytes;
}

// ---- loops ----

Values Emitter::loop(Value* lo, Value* hi, Value* step, const Values& init, bool may_be_empty,
                     const std::function<Values(Value*, const Values&)>& body) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(hi);
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool runs_once = first && end && by && first->getSExtValue() < end->getSExtValue() &&
                         first->getSExtValue() + by->getSExtValue() >= end->getSExtValue();
  if (runs_once) return body(lo, init);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("loop");
  llvm::BasicBlock* exit = new_block("after");
  if (may_be_empty)
    b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), loop, exit);
  else
    b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto* index = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  index->addIncoming(lo, before);
  std::vector<llvm::PHINode*> phis;
  for (Value* v : init) {
    phis.push_back(b_.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
  }
  Values next = body(index, Values(phis.begin(), phis.end()));
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  Value* following = b_.CreateAdd(index, step, "", true, true);
  index->addIncoming(following, latch);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  b_.CreateCondBr(b_.CreateICmpSLT(following, hi), loop, exit);
  b_.SetInsertPoint(exit);
  if (!may_be_empty) return next;
  Values out;
  for (std::size_t i = 0; i < init.size(); ++i) {
    auto* phi = b_.CreatePHI(init[i]->getType(), 2);
    phi->addIncoming(init[i], before);
    phi->addIncoming(next[i], latch);
    out.push_back(phi);
  }
  return out;
}

void Emitter::loop_over_live(passes::LiveIndices live, std::int64_t extent, const std::function<void(Value*)>& body) {
  loop_over_first(live_count(live, extent), extent, 1, body);
}

void Emitter::loop_over_first(Value* count, std::int64_t extent, std::int64_t step, const std::function<void(Value*)>& body) {
  if (!count) return loop(extent, step, body);
  loop(i64(0), count, i64(step), {}, true, [&](Value* index, const Values&) {
    body(index);
    return Values{};
  });
}

void Emitter::loop(std::int64_t end, std::int64_t step, const std::function<void(Value*)>& body) {
  loop(i64(0), i64(end), i64(step), {}, false, [&](Value* index, const Values&) {
    body(index);
    return Values{};
  });
}

// ---- values ----

Value* Emitter::scalar(ValueId v) const {
  Value* s = scalars_[v.index];
  TW_CHECK(s != nullptr, "a scalar is used before it is emitted");
  return s;
}

Value* Emitter::buffer(ClassId c) {
  TW_CHECK(!plan_.in_registers(c), "a tile in registers has no address");
  const std::int64_t bytes = plan_.class_bytes(c), in_block = plan_.iterations(c);
  const auto [it, fresh] = offsets_.try_emplace(c, 0);
  if (fresh) it->second = scratch_.allocate(bytes * in_block * std::max<std::int64_t>(plan_.kept_blocks(c), 1));
  const auto advanced = [&](Value* address, Value* number, std::int64_t by) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), address, b_.CreateMul(number, i64(by)));
  };
  Value* address = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(4), static_cast<std::uint64_t>(it->second));
  if (kept_block_ && plan_.kept_blocks(c) > 0) address = advanced(address, kept_block_, bytes * in_block);
  // An iteration has some rows of each panel, or a whole tile.
  const Panels* panels = plan_.panels(c);
  if (iteration_ && in_block > 1) address = advanced(address, iteration_, panels ? panels->iteration_bytes : bytes);
  return address;
}

unsigned Emitter::register_lanes(ClassId c) const {
  const auto extents = squeezed(plan_.register_tile(c));
  return extents.empty() ? 1 : static_cast<unsigned>(std::min<std::int64_t>(extents.back(), target().lanes()));
}

llvm::AllocaInst* Emitter::register_part(ClassId c, std::int64_t part) {
  const Type t = plan_.register_tile(c);
  const unsigned lanes = register_lanes(c);
  auto& parts = register_parts_[plan_.root(c)];
  parts.resize(static_cast<std::size_t>(t.elements() / lanes));
  llvm::AllocaInst*& variable = parts.at(static_cast<std::size_t>(part));
  if (!variable) {
    llvm::Type* element = register_type(context(), t);
    if (element->isFloatingPointTy() && element->getScalarSizeInBits() < 32) element = b_.getIntNTy(element->getScalarSizeInBits());
    llvm::Type* type = lanes > 1 ? llvm::FixedVectorType::get(element, lanes) : element;
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    variable = at_entry.CreateAlloca(type);
  }
  return variable;
}

void Emitter::copy_registers(ClassId from, ClassId to) {
  const std::int64_t parts = plan_.register_tile(to).elements() / register_lanes(to);
  for (std::int64_t i = 0; i < parts; ++i) {
    llvm::AllocaInst* source = register_part(from, i);
    b_.CreateStore(b_.CreateLoad(source->getAllocatedType(), source), register_part(to, i));
  }
}

void Emitter::release(ClassId c) {
  const auto it = offsets_.find(c);
  if (it == offsets_.end() || plan_.kept_blocks(c) > 0) return;
  scratch_.free(it->second);
  offsets_.erase(it);
}

Emitter::ScratchRange Emitter::allocate_scratch(std::int64_t bytes) {
  const std::int64_t offset = scratch_.allocate(bytes);
  return {offset, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(4), static_cast<std::uint64_t>(offset))};
}

// ---- elements ----

Value* Emitter::to_memory(Value* v, Type t) { return t.is_bool() ? b_.CreateZExt(v, with_lanes_of(b_.getInt8Ty(), v)) : v; }

Value* Emitter::from_memory(Value* v, Type t) { return t.is_bool() ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v; }

Value* Emitter::read_lanes(Value* base, Type t, Value* index, unsigned lanes) {
  llvm::Type* element = memory_type(context(), t);
  llvm::Type* type = lanes > 1 ? llvm::FixedVectorType::get(element, lanes) : element;
  const llvm::Align align(std::min<std::uint64_t>(64, static_cast<std::uint64_t>(t.element_bytes()) * lanes));
  return from_memory(b_.CreateAlignedLoad(type, b_.CreateInBoundsGEP(element, base, index), align), t);
}

void Emitter::write_lanes(Value* base, Type t, Value* index, Value* v) {
  llvm::Type* element = memory_type(context(), t);
  const std::uint64_t bytes = static_cast<std::uint64_t>(t.element_bytes()) * lane_count(v);
  const llvm::Align align(std::min<std::uint64_t>(64, bytes));
  b_.CreateAlignedStore(to_memory(v, t), b_.CreateInBoundsGEP(element, base, index), align);
}

void Emitter::move_block(Type t, std::int64_t elements, Value* to, Value* to_block, Value* from, Value* from_block) {
  llvm::Type* element = memory_type(context(), t);
  const std::int64_t bytes = elements * t.element_bytes();
  const llvm::Align align(static_cast<std::uint64_t>(std::min<std::int64_t>(64, bytes)));
  Value* target = b_.CreateInBoundsGEP(element, to, b_.CreateMul(to_block, i64(elements), "", true, true));
  Value* source = b_.CreateInBoundsGEP(element, from, b_.CreateMul(from_block, i64(elements), "", true, true));
  if (elements == 1)
    b_.CreateAlignedStore(b_.CreateAlignedLoad(element, source, align), target, align);
  else
    b_.CreateMemCpy(target, align, source, align, static_cast<std::uint64_t>(bytes));
}

Value* Emitter::dummy() {
  if (!dummy_) dummy_ = alloca_in_entry(b_.getInt64Ty(), 1, 8);
  return dummy_;
}

// ---- what the runtime is told ----

std::uint32_t Emitter::add_site(AccessSite site) {
  sites_.push_back(std::move(site));
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

std::uint32_t Emitter::add_report(ReportSite site) {
  reports_.push_back(std::move(site));
  return static_cast<std::uint32_t>(reports_.size() - 1);
}

}  // namespace tilewright::backend::host
