// for, if and while. Their tiles are in buffers; their scalars are phis.
#include "backend/host/contraction_loop.h"
#include "backend/host/step_ops.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

void emit_for(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = f.op(id);
  const BlockId body = op.regions[0];
  const auto& args = f.block(body).args;
  const Type index_type = f.type(op.operands[0]);
  llvm::Type* word = register_type(e.context(), index_type);
  Value* lo = e.scalar(op.operands[0]);
  Value* hi = e.scalar(op.operands[1]);
  Value* step = e.scalar(op.operands[2]);
  Value* zero = llvm::ConstantInt::get(word, 0);
  // The number of iterations, in the unsigned type of the index, where no difference overflows: ceil(|hi - lo| / |step|).
  Value* up = b.CreateICmpSGT(step, zero);
  Value* down = b.CreateICmpSLT(step, zero);
  Value* runs = b.CreateOr(b.CreateAnd(up, b.CreateICmpSLT(lo, hi)), b.CreateAnd(down, b.CreateICmpSGT(lo, hi)));
  Value* distance = b.CreateSelect(up, b.CreateSub(hi, lo), b.CreateSub(lo, hi));
  Value* stride = b.CreateSelect(up, step, b.CreateNeg(step));
  stride = b.CreateSelect(b.CreateICmpEQ(stride, zero), llvm::ConstantInt::get(word, 1), stride);
  Value* trips = b.CreateAdd(b.CreateUDiv(b.CreateSub(distance, llvm::ConstantInt::get(word, 1)), stride), llvm::ConstantInt::get(word, 1));
  trips = b.CreateSelect(runs, b.CreateZExt(trips, b.getInt64Ty()), e.i64(0), "trips");

  Values init;
  for (std::size_t i = 3; i < op.operands.size(); ++i)
    if (f.type(op.operands[i]).is_scalar()) init.push_back(e.scalar(op.operands[i]));
  const auto iteration = [&](Value* trip, const Values& carried) {
    e.set_scalar(args[0], b.CreateAdd(lo, b.CreateMul(b.CreateTrunc(trip, word), step)));
    std::size_t n = 0;
    for (std::size_t i = 1; i < args.size(); ++i)
      if (f.type(args[i]).is_scalar()) e.set_scalar(args[i], carried[n++]);
    e.emit_block(body);
    Values next;
    for (ValueId v : f.op(f.terminator(body)).operands)
      if (f.type(v).is_scalar()) next.push_back(e.scalar(v));
    return next;
  };
  const Contraction* contraction = e.plan().contraction(id);
  const Values out =
      contraction ? emit_contraction(e, *contraction, trips, init, iteration) : e.loop(e.i64(0), trips, e.i64(1), init, true, iteration);
  std::size_t n = 0;
  for (ValueId r : op.results)
    if (f.type(r).is_scalar()) e.set_scalar(r, out[n++]);
}

void emit_if(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = f.op(id);
  llvm::BasicBlock* arms[2] = {e.new_block("then"), e.new_block("else")};
  auto* join = e.new_block("join");
  b.CreateCondBr(e.scalar(op.operands[0]), arms[0], arms[1]);
  Values yielded[2];
  llvm::BasicBlock* ends[2];
  for (int a = 0; a < 2; ++a) {
    b.SetInsertPoint(arms[a]);
    e.emit_block(op.regions[a]);
    for (ValueId v : f.op(f.terminator(op.regions[a])).operands)
      if (f.type(v).is_scalar()) yielded[a].push_back(e.scalar(v));
    ends[a] = b.GetInsertBlock();
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
  std::size_t n = 0;
  for (ValueId r : op.results) {
    if (!f.type(r).is_scalar()) continue;
    auto* phi = b.CreatePHI(register_type(e.context(), f.type(r)), 2);
    for (int a = 0; a < 2; ++a) phi->addIncoming(yielded[a][n], ends[a]);
    ++n;
    e.set_scalar(r, phi);
  }
}

void emit_while(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = f.op(id);
  const BlockId condition = op.regions[0];
  const BlockId body = op.regions[1];
  auto* head = e.new_block("while");
  auto* inside = e.new_block("do");
  auto* exit = e.new_block("done");
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateBr(head);
  b.SetInsertPoint(head);
  std::vector<llvm::PHINode*> phis;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId arg = f.arg(condition, static_cast<int>(i));
    if (!f.type(arg).is_scalar()) continue;
    phis.push_back(b.CreatePHI(register_type(e.context(), f.type(arg)), 2));
    phis.back()->addIncoming(e.scalar(op.operands[i]), before);
    e.set_scalar(arg, phis.back());
  }
  e.emit_block(condition);
  const auto& test = f.op(f.terminator(condition));
  for (std::size_t i = 1; i < test.operands.size(); ++i) {
    if (!f.type(test.operands[i]).is_scalar()) continue;
    Value* v = e.scalar(test.operands[i]);
    e.set_scalar(f.arg(body, static_cast<int>(i) - 1), v);
    e.set_scalar(op.results[i - 1], v);
  }
  b.CreateCondBr(e.scalar(test.operands[0]), inside, exit);
  b.SetInsertPoint(inside);
  e.emit_block(body);
  std::size_t n = 0;
  for (ValueId v : f.op(f.terminator(body)).operands)
    if (f.type(v).is_scalar()) phis[n++]->addIncoming(e.scalar(v), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(exit);
}

}  // namespace tilewright::backend::host
