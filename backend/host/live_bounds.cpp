// Emits the bounds of live indices.
#include "backend/host/live_bounds.h"

#include "backend/host/emitter.h"
#include "backend/host/prefix_masks.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

// LLVM folds selects of constants, but not the intrinsics smin and smax.
Value* least(llvm::IRBuilder<>& b, Value* x, Value* y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }
Value* greatest(llvm::IRBuilder<>& b, Value* x, Value* y) { return b.CreateSelect(b.CreateICmpSGT(x, y), x, y); }

}  // namespace

LiveBounds::LiveBounds(const ir::Function& f, const passes::AxisInfoAnalysis& axes) : live_(f, axes) {}

void LiveBounds::begin_program(Emitter& e) {
  begin_ = e.b().GetInsertBlock();
  llvm::BasicBlock* program = e.new_block("program");
  e.b().CreateBr(program);
  e.b().SetInsertPoint(program);
}

Value* LiveBounds::count(Emitter& e, passes::LiveIndices live, std::int64_t extent) {
  if (live.is_all || live.bounds == 0 || e.check()) return nullptr;
  const auto [at, is_new] = counts_.try_emplace({live.bounds, extent}, nullptr);
  if (!is_new) return at->second;
  llvm::IRBuilder<>& b = e.b();
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(begin_->getTerminator());
  Value* most = nullptr;
  for (int i = 0; i < 64; ++i) {
    if ((live.bounds >> i & 1) == 0) continue;
    Value* before = nullptr;
    for (ir::OpId id : live_.bound(i).comparisons) {
      Value* each = compared(e, id, extent);
      before = before ? least(b, before, each) : each;
    }
    most = most ? greatest(b, most, before) : before;
  }
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(most);
  if (known && known->getSExtValue() == extent) most = nullptr;
  return at->second = most;
}

Value* LiveBounds::compared(Emitter& e, ir::OpId id, std::int64_t extent) {
  llvm::IRBuilder<>& b = e.b();
  const passes::PrefixComparison c = passes::prefix_comparison(e.f(), id);
  const bool is_signed = ir::is_signed(e.f().type(c.index).element());
  const auto wide = [&](ValueId v) { return b.CreateIntCast(first_element(e, v), b.getInt64Ty(), is_signed); };
  Value *index = wide(c.index), *bound = wide(c.bound);
  // For 64-bit indices the distance may overflow; then comparing the two decides between 0 and the extent.
  Value* distance = b.CreateAdd(b.CreateSub(bound, index), e.i64(c.or_equal ? 1 : 0));
  if (e.f().type(c.index).element_bytes() == 8) {
    distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, bound, index);
    if (c.or_equal) distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, distance, e.i64(1));
  }
  // An index that wraps may be below the bound again, so every index may be live.
  return b.CreateSelect(wraps(b, e.f().type(c.index).element(), index, extent), e.i64(extent),
                        greatest(b, least(b, distance, e.i64(extent)), e.i64(0)));
}

Value* LiveBounds::first_element(Emitter& e, ValueId v) {
  if (const auto at = first_.find(v.index); at != first_.end()) return at->second;
  const Function& f = e.f();
  const Type t = f.type(v);
  const OpId id = f.value(v).op;
  if (!id) return first_[v.index] = e.scalar(v);  // the value is a parameter
  const auto& op = f.op(id);
  switch (op.kind) {
    case OpKind::program_id_: return first_[v.index] = e.program_id(static_cast<std::size_t>(f.attr(id, ir::AttrName::axis)));
    case OpKind::num_programs_: return first_[v.index] = e.grid_extent(static_cast<std::size_t>(f.attr(id, ir::AttrName::axis)));
    case OpKind::constant_: {
      const auto bits = static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value));
      return first_[v.index] = constant_lanes(e.context(), t, bits, 0);
    }
    case OpKind::arange_: return first_[v.index] = e.b().getInt32(static_cast<std::uint32_t>(f.attr(id, ir::AttrName::lo)));
    case OpKind::broadcast_:
    case OpKind::reshape_:
    case OpKind::permute_:
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return first_[v.index] = first_element(e, op.operands[0]);
    default: break;
  }
  std::vector<Type> types;
  Values operands;
  for (ValueId x : op.operands) {
    types.push_back(f.type(x));
    operands.push_back(first_element(e, x));
  }
  return first_[v.index] = lower_elementwise(e.b(), e.target(), op.kind, types, t, operands);
}

}  // namespace tilewright::backend::host
