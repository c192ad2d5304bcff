// Blocks, scalars and structured control flow; the frame of the entry point.
#include <llvm/IR/Constants.h>

#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

HostLowering::HostLowering(llvm::Module& m, const Function& f, const ir::TargetDesc& target, bool check)
    : m_(m), c_(m.getContext()), b_(c_), f_(f), target_(target), check_(check), axes_(f), plan_(f), scalars_(f.value_capacity(), nullptr) {}

Value* HostLowering::alloca_in_entry(llvm::Type* type, unsigned count, unsigned align) {
  llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* a = at_entry.CreateAlloca(type, at_entry.getInt32(count));
  a->setAlignment(llvm::Align(align));
  return a;
}

void HostLowering::run(const std::string& entry) {
  llvm::Type *ptr = b_.getPtrTy(), *i64t = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, i64t, i64t, ptr}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry, m_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-trapping-math", "true");
  if (target_.vector_bits >= 512) {
    // Otherwise some CPU models are tuned to split 512-bit vectors.
    function_->addFnAttr("prefer-vector-width", "512");
    function_->addFnAttr("min-legal-vector-width", "512");
  }
  for (int i : {0, 1, 4}) function_->addParamAttr(i, llvm::Attribute::NoUndef);
  function_->addParamAttr(4, llvm::Attribute::getWithAlignment(c_, llvm::Align(64)));
  arguments_ = function_->getArg(0), launch_ = function_->getArg(1), scratch_base_ = function_->getArg(4);
  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", function_));
  for (int i = 0; i < 3; ++i) grid_[i] = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), launch_, i), "grid");
  const auto& params = f_.block(f_.body()).args;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Type t = f_.type(params[i]);
    Value* raw = b_.CreateLoad(memory_type(c_, t), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), arguments_, i), f_.params[i].name);
    scalars_[params[i].index] = from_memory(raw, t);
  }
  // Extents of a grid are positive, which LLVM does not know.
  unknown_zero_ = b_.CreateZExt(b_.CreateLShr(grid_[0], 31), b_.getInt64Ty());
  streaming_ = output_exceeds_caches();
  emit_loop(function_->getArg(2), function_->getArg(3), i64(1), {}, true, [&](Value* program, const Values&) {
    Value* gx = b_.CreateZExt(grid_[0], b_.getInt64Ty());
    Value* gy = b_.CreateZExt(grid_[1], b_.getInt64Ty());
    Value* rest = b_.CreateUDiv(program, gx);
    program_[0] = b_.CreateTrunc(b_.CreateURem(program, gx), b_.getInt32Ty(), "pid");
    program_[1] = b_.CreateTrunc(b_.CreateURem(rest, gy), b_.getInt32Ty(), "pid");
    program_[2] = b_.CreateTrunc(b_.CreateUDiv(rest, gy), b_.getInt32Ty(), "pid");
    emit_block(f_.body());
    return Values{};
  });
  finish_streaming();
  b_.CreateRetVoid();
  frame_bytes_ = outline_parts(*function_, split_points_, scratch_base_, scratch_.high_water());
}

HostLowering::Values HostLowering::emit_loop(Value* lo, Value* hi, Value* step, const Values& init, bool may_be_empty,
                                             const std::function<Values(Value*, const Values&)>& body) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(hi);
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (first && end && by && first->getSExtValue() < end->getSExtValue() &&
      first->getSExtValue() + by->getSExtValue() >= end->getSExtValue())
    return body(lo, init);  // once
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(c_, "loop", function_);
  auto* exit = llvm::BasicBlock::Create(c_, "after", function_);
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
  const Values next = body(index, Values(phis.begin(), phis.end()));
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

Value* HostLowering::buffer(ClassId c) {
  const auto [it, fresh] = offsets_.try_emplace(c, 0);
  if (fresh) it->second = scratch_.allocate(plan_.class_bytes(c));
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), scratch_base_, static_cast<std::uint64_t>(it->second));
}

Value* HostLowering::scalar(ValueId v) {
  Value* s = scalars_[v.index];
  TW_CHECK(s != nullptr, "a scalar is used before it is emitted");
  return s;
}

void HostLowering::emit_block(BlockId block) {
  const std::size_t sequence = split_points_.begin(b_);
  for (const Step& step : plan_.block(block).steps) {
    for (OpId id : step.scalars_before) {
      emit_scalar(id);
      split_points_.add(sequence, b_);
    }
    if (step.is_loops) emit_loops(step);
    if (step.op) emit_single(step);
    split_points_.add(sequence, b_);
    for (ClassId c : step.freed) {
      const auto it = offsets_.find(c);
      if (it == offsets_.end()) continue;
      scratch_.free(it->second);
      offsets_.erase(it);
    }
  }
}

void HostLowering::emit_copies(const Step& step) {
  for (const Copy& copy : step.copies) {
    const ClassId from = copy.from, to = copy.to;
    // Planning may have made them one buffer after it noted the copy.
    if (plan_.same_class(from, to)) continue;
    Value* source = buffer(plan_.root(from));
    Value* target = buffer(plan_.root(to));
    b_.CreateMemCpy(target, llvm::Align(64), source, llvm::Align(64), static_cast<std::uint64_t>(plan_.class_bytes(to)));
  }
}

void HostLowering::emit_single(const Step& step) {
  emit_copies(step);
  switch (f_.kind(step.op)) {
    case OpKind::for_: emit_for(step.op); break;
    case OpKind::if_: emit_if(step.op); break;
    case OpKind::while_: emit_while(step.op); break;
    case OpKind::dot_: emit_dot(step.op); break;
    case OpKind::flip_: emit_flip(step.op); break;
    case OpKind::join_:
    case OpKind::cat_: emit_pair(step.op); break;
    case OpKind::split_: emit_split(step.op); break;
    case OpKind::scan_: emit_scan(step.op); break;
    case OpKind::sort_: emit_sort(step.op); break;
    case OpKind::gather_: emit_gather(step.op); break;
    case OpKind::histogram_: emit_histogram(step.op); break;
    case OpKind::device_print_:
    case OpKind::device_assert_: emit_report(step.op); break;
    case OpKind::reshape_:  // its result lies where its operand does
    case OpKind::yield_:
    case OpKind::condition_: break;  // their copies are all there is to do here
    default: TW_CHECK(ir::info(f_.kind(step.op)).family == ir::Family::atomic, "an op that is no step of its own"); emit_atomic(step.op);
  }
}

void HostLowering::emit_scalar(OpId id) {
  const auto& op = f_.op(id);
  const auto axis = static_cast<std::size_t>(f_.attr(id, ir::AttrName::axis));
  Value* result = nullptr;
  switch (op.kind) {
    case OpKind::load_: scalar_load(id); return;
    case OpKind::store_: scalar_store(id); return;
    case OpKind::program_id_: result = program_[axis]; break;
    case OpKind::num_programs_: result = grid_[axis]; break;
    case OpKind::constant_:
      result = constant_lanes(c_, f_.type(op.results[0]), static_cast<std::uint64_t>(f_.attr(id, ir::AttrName::value)), 0);
      break;
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: result = scalar(op.operands[0]); break;
    case OpKind::reshape_:
    case OpKind::broadcast_:
      if (f_.type(op.operands[0]).is_scalar()) {
        result = scalar(op.operands[0]);
      } else {  // the one element of a tile
        Step none;
        Nest nest;
        nest.step = &none;
        nest.scopes.resize(1);
        result = evaluate(nest, op.operands[0], kNoAxes, false);
      }
      break;
    default: {
      std::vector<Type> types;
      Values operands;
      for (ValueId x : op.operands) types.push_back(f_.type(x)), operands.push_back(scalar(x));
      result = lower_elementwise(b_, target_, op.kind, types, f_.type(op.results[0]), operands);
    }
  }
  scalars_[op.results[0].index] = result;
}

void HostLowering::emit_for(OpId id) {
  const auto& op = f_.op(id);
  const BlockId body = op.regions[0];
  const auto& args = f_.block(body).args;
  const Type index_type = f_.type(op.operands[0]);
  llvm::Type* word = register_type(c_, index_type);
  Value *lo = scalar(op.operands[0]), *hi = scalar(op.operands[1]), *step = scalar(op.operands[2]);
  Value* zero = llvm::ConstantInt::get(word, 0);
  // The number of trips, unsigned in the index's own width, where no difference overflows: ceil(|hi - lo| / |step|).
  Value* up = b_.CreateICmpSGT(step, zero);
  Value* down = b_.CreateICmpSLT(step, zero);
  Value* runs = b_.CreateOr(b_.CreateAnd(up, b_.CreateICmpSLT(lo, hi)), b_.CreateAnd(down, b_.CreateICmpSGT(lo, hi)));
  Value* distance = b_.CreateSelect(up, b_.CreateSub(hi, lo), b_.CreateSub(lo, hi));
  Value* stride = b_.CreateSelect(up, step, b_.CreateNeg(step));
  stride = b_.CreateSelect(b_.CreateICmpEQ(stride, zero), llvm::ConstantInt::get(word, 1), stride);
  Value* trips =
      b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(distance, llvm::ConstantInt::get(word, 1)), stride), llvm::ConstantInt::get(word, 1));
  trips = b_.CreateSelect(runs, b_.CreateZExt(trips, b_.getInt64Ty()), i64(0), "trips");

  Values init;
  for (std::size_t i = 3; i < op.operands.size(); ++i)
    if (f_.type(op.operands[i]).is_scalar()) init.push_back(scalar(op.operands[i]));
  const Values out = emit_loop(i64(0), trips, i64(1), init, true, [&](Value* trip, const Values& carried) {
    scalars_[args[0].index] = b_.CreateAdd(lo, b_.CreateMul(b_.CreateTrunc(trip, word), step));
    std::size_t n = 0;
    for (std::size_t i = 1; i < args.size(); ++i)
      if (f_.type(args[i]).is_scalar()) scalars_[args[i].index] = carried[n++];
    emit_block(body);
    Values next;
    for (ValueId v : f_.op(f_.terminator(body)).operands)
      if (f_.type(v).is_scalar()) next.push_back(scalar(v));
    return next;
  });
  std::size_t n = 0;
  for (ValueId r : op.results)
    if (f_.type(r).is_scalar()) scalars_[r.index] = out[n++];
}

void HostLowering::emit_if(OpId id) {
  const auto& op = f_.op(id);
  llvm::BasicBlock* arms[2] = {llvm::BasicBlock::Create(c_, "then", function_), llvm::BasicBlock::Create(c_, "else", function_)};
  auto* join = llvm::BasicBlock::Create(c_, "join", function_);
  b_.CreateCondBr(scalar(op.operands[0]), arms[0], arms[1]);
  Values yielded[2];
  llvm::BasicBlock* ends[2];
  for (int a = 0; a < 2; ++a) {
    b_.SetInsertPoint(arms[a]);
    emit_block(op.regions[a]);
    for (ValueId v : f_.op(f_.terminator(op.regions[a])).operands)
      if (f_.type(v).is_scalar()) yielded[a].push_back(scalar(v));
    ends[a] = b_.GetInsertBlock();
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
  std::size_t n = 0;
  for (ValueId r : op.results) {
    if (!f_.type(r).is_scalar()) continue;
    auto* phi = b_.CreatePHI(register_type(c_, f_.type(r)), 2);
    for (int a = 0; a < 2; ++a) phi->addIncoming(yielded[a][n], ends[a]);
    ++n;
    scalars_[r.index] = phi;
  }
}

void HostLowering::emit_while(OpId id) {
  const auto& op = f_.op(id);
  const BlockId condition = op.regions[0], body = op.regions[1];
  auto* head = llvm::BasicBlock::Create(c_, "while", function_);
  auto* inside = llvm::BasicBlock::Create(c_, "do", function_);
  auto* exit = llvm::BasicBlock::Create(c_, "done", function_);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  std::vector<llvm::PHINode*> phis;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId arg = f_.arg(condition, static_cast<int>(i));
    if (!f_.type(arg).is_scalar()) continue;
    phis.push_back(b_.CreatePHI(register_type(c_, f_.type(arg)), 2));
    phis.back()->addIncoming(scalar(op.operands[i]), before);
    scalars_[arg.index] = phis.back();
  }
  emit_block(condition);
  const auto& test = f_.op(f_.terminator(condition));
  for (std::size_t i = 1; i < test.operands.size(); ++i) {
    if (!f_.type(test.operands[i]).is_scalar()) continue;
    Value* v = scalar(test.operands[i]);
    scalars_[f_.arg(body, static_cast<int>(i) - 1).index] = v;
    scalars_[op.results[i - 1].index] = v;
  }
  b_.CreateCondBr(scalar(test.operands[0]), inside, exit);
  b_.SetInsertPoint(inside);
  emit_block(body);
  std::size_t n = 0;
  for (ValueId v : f_.op(f_.terminator(body)).operands)
    if (f_.type(v).is_scalar()) phis[n++]->addIncoming(scalar(v), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
}

}  // namespace tilewright::backend::host
