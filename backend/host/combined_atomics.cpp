// Chooses the atomics that may be combined, and emits their tables.
#include "backend/host/combined_atomics.h"

#include <algorithm>
#include <bit>

#include "backend/host/atomics.h"
#include "backend/host/combine.h"
#include "backend/host/emitter.h"
#include "backend/lowering/elementwise.h"
#include "passes/analysis/address_form.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::AttrName;

namespace {

constexpr std::int64_t kSlots = 2048;  // half of a first-level cache
// A table may evict so many values, and one more for each eighth lane: an eviction takes about as long as eight combinations save.
constexpr std::int64_t kFirstCredit = 512;
constexpr std::int64_t kLanesPerEviction = 8;
constexpr std::int64_t kLanesTogether = 64;  // whether they are combined is decided once
constexpr std::int64_t kNoCredit = std::int64_t{-1} << 62;

/// Whether an atomic's operation can be applied to two values before memory is.
bool combines(const Function& f, OpId id) {
  if (f.kind(id) != OpKind::atomic_update_) return ir::is_commutative_update(f.kind(id));
  const auto k = single_op(f, id);
  return k == OpKind::add_ || k == OpKind::maximum_ || k == OpKind::minimum_;
}

/// The operation of an atomic for which `combines` holds.
OpKind operation(const Function& f, OpId id) { return f.kind(id) == OpKind::atomic_update_ ? *single_op(f, id) : f.kind(id); }

class Accesses {
 public:
  explicit Accesses(const Function& f) : f_(f) {
    f.walk([&](OpId id) {
      const ir::OpInfo& info = ir::info(f.kind(id));
      if (info.family == ir::Family::atomic) {
        const bool is_used = !f.value(f.result(id)).users.empty();
        if (is_used || f.attr(id, AttrName::order) != static_cast<std::int64_t>(ir::Order::relaxed)) may_signal_ = true;
        if (!is_used && combines(f, id) && !f.type(f.result(id)).is_scalar()) atomics_.push_back(id);
      } else if (info.family == ir::Family::memory) {
        if (f.attr(id, AttrName::is_volatile)) may_signal_ = true;
      } else if (!info.has(ir::kReads) && !info.has(ir::kWrites)) {
        return;
      }
      accesses_.push_back(id);
    });
  }

  std::set<OpId> combinable() const {
    std::set<OpId> found;
    if (!may_signal_)
      for (OpId id : atomics_)
        if (may_be_late(id)) found.insert(id);
    return found;
  }

 private:
  bool may_be_late(OpId id) const {
    bool is_later = false;
    for (OpId other : accesses_) {
      if (other == id) {
        is_later = true;
        continue;
      }
      if ((is_later || share_loop(id, other)) && may_meet(id, other) && !are_alike(id, other)) return false;
    }
    return true;
  }
  /// Whether two atomics may be exchanged.
  bool are_alike(OpId a, OpId b) const {
    const auto is_atomic = [&](OpId id) { return ir::info(f_.kind(id)).family == ir::Family::atomic; };
    return is_atomic(a) && is_atomic(b) && combines(f_, a) && combines(f_, b) && operation(f_, a) == operation(f_, b) &&
           f_.type(f_.result(a)).element() == f_.type(f_.result(b)).element();
  }
  bool may_meet(OpId a, OpId b) const { return passes::may_share_memory(f_, base_of(a), base_of(b)); }
  ValueId base_of(OpId id) const { return f_.op(id).operands.empty() ? ValueId{} : passes::base_parameter(f_, f_.operand(id, 0)); }
  bool share_loop(OpId a, OpId b) const {
    for (OpId around = f_.block(f_.op(a).parent).parent; around; around = f_.block(f_.op(around).parent).parent) {
      if (f_.kind(around) != OpKind::for_ && f_.kind(around) != OpKind::while_) continue;
      for (BlockId region : f_.op(around).regions)
        if (f_.encloses(region, f_.op(b).parent)) return true;
    }
    return false;
  }

  const Function& f_;
  bool may_signal_ = false;
  std::vector<OpId> accesses_, atomics_;
};

Value* in_scratch(Emitter& e, std::int64_t offset, llvm::Type* type, Value* index) {
  llvm::IRBuilder<>& b = e.b();
  Value* base = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), e.function().getArg(4), static_cast<std::uint64_t>(offset));
  return b.CreateInBoundsGEP(type, base, index);
}

llvm::Type* register_type_of(Emitter& e, OpId id) { return register_type(e.context(), e.f().type(e.f().result(id)).scalar()); }

/// What two values for one address amount to.
Value* combined(Emitter& e, OpId id, Value* x, Value* y) {
  llvm::IRBuilder<>& b = e.b();
  const Type t = e.f().type(e.f().result(id)).scalar();
  const bool is_signed = t.is_integer() && ir::is_signed(t.element());
  switch (e.f().kind(id)) {
    case OpKind::atomic_add_: return t.is_float() ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case OpKind::atomic_max_: return b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case OpKind::atomic_min_: return b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case OpKind::atomic_and_: return b.CreateAnd(x, y);
    case OpKind::atomic_or_: return b.CreateOr(x, y);
    case OpKind::atomic_xor_: return b.CreateXor(x, y);
    case OpKind::atomic_update_: return combine(e, id, {x}, {y})[0];
    default: TW_UNREACHABLE("an atomic that is not combined");
  }
}

}  // namespace

std::set<OpId> combinable_atomics(const Function& f) { return Accesses(f).combinable(); }

CombinedAtomics::Table& CombinedAtomics::table_of(const Function& f, OpId id) {
  return tables_[{operation(f, id), f.type(f.result(id)).element()}];
}

void CombinedAtomics::begin(Emitter& e) {
  llvm::IRBuilder<>& b = e.b();
  for (OpId id : ops_) {
    Table& t = table_of(e.f(), id);
    if (t.op) continue;
    t.op = id;
    t.keys = e.allocate_scratch(kSlots * 8).offset;
    t.values = e.allocate_scratch(kSlots * 8).offset;
    t.filled = e.allocate_scratch(kSlots * 4).offset;
    t.count = e.allocate_scratch(8).offset;
    t.credit = e.allocate_scratch(8).offset;
    b.CreateMemSet(in_scratch(e, t.keys, b.getInt64Ty(), e.i64(0)), b.getInt8(0), kSlots * 8, llvm::Align(64));
    b.CreateStore(e.i64(0), in_scratch(e, t.count, b.getInt64Ty(), e.i64(0)));
    b.CreateStore(e.i64(kFirstCredit), in_scratch(e, t.credit, b.getInt64Ty(), e.i64(0)));
  }
}

void CombinedAtomics::for_each_lane(Emitter& e, OpId id, const std::function<void(Value*, bool)>& update) {
  llvm::IRBuilder<>& b = e.b();
  const std::int64_t lanes = e.f().type(e.f().result(id)).elements(), together = std::min(lanes, kLanesTogether);
  e.loop(lanes, together, [&](Value* first) {
    Value* address = in_scratch(e, table_of(e.f(), id).credit, b.getInt64Ty(), e.i64(0));
    Value* credit = b.CreateLoad(b.getInt64Ty(), address);
    llvm::BasicBlock *combine = e.new_block("combine"), *direct = e.new_block("direct"), *done = e.new_block("done");
    b.CreateCondBr(b.CreateICmpSLT(credit, e.i64(0)), direct, combine);
    b.SetInsertPoint(combine);
    b.CreateStore(b.CreateAdd(credit, e.i64(together / kLanesPerEviction)), address);
    const auto each = [&](bool is_combined) {
      e.loop(together, 1, [&](Value* lane) { update(b.CreateAdd(first, lane, "", true, true), is_combined); });
      b.CreateBr(done);
    };
    each(true);
    b.SetInsertPoint(direct);
    each(false);
    b.SetInsertPoint(done);
  });
}

void CombinedAtomics::add(Emitter& e, OpId id, const Values& x) {
  llvm::IRBuilder<>& b = e.b();
  const Table& t = table_of(e.f(), id);
  llvm::Type* element = register_type_of(e, id);
  llvm::BasicBlock *hit = e.new_block("hit"), *miss = e.new_block("miss"), *empty = e.new_block("empty"), *evict = e.new_block("evict"),
                   *fill = e.new_block("fill"), *added = e.new_block("added");
  // Rows of a power of two bytes would all have the same low bits.
  const auto bytes = static_cast<unsigned>(e.f().type(e.f().result(id)).element_bytes());
  Value* word = b.CreateLShr(x[0], static_cast<std::uint64_t>(std::countr_zero(bytes)));
  Value* slot =
      b.CreateAnd(b.CreateXor(word, b.CreateLShr(word, static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(kSlots))))),
                  e.i64(kSlots - 1));
  Value *key = in_scratch(e, t.keys, b.getInt64Ty(), slot), *value = in_scratch(e, t.values, element, slot);
  Value* held = b.CreateLoad(b.getInt64Ty(), key);
  b.CreateCondBr(b.CreateICmpEQ(held, x[0]), hit, miss);

  b.SetInsertPoint(hit);
  b.CreateStore(combined(e, id, b.CreateLoad(element, value), x[1]), value);
  b.CreateBr(added);

  b.SetInsertPoint(miss);
  b.CreateCondBr(b.CreateICmpEQ(held, e.i64(0)), empty, evict);
  b.SetInsertPoint(empty);
  Value* end = in_scratch(e, t.count, b.getInt64Ty(), e.i64(0));
  Value* number = b.CreateLoad(b.getInt64Ty(), end);
  b.CreateStore(b.CreateTrunc(slot, b.getInt32Ty()), in_scratch(e, t.filled, b.getInt32Ty(), number));
  b.CreateStore(b.CreateAdd(number, e.i64(1)), end);
  b.CreateBr(fill);
  b.SetInsertPoint(evict);
  update_memory(e, id, {held, b.CreateLoad(element, value)});
  Value* credit = in_scratch(e, t.credit, b.getInt64Ty(), e.i64(0));
  Value* left = b.CreateSub(b.CreateLoad(b.getInt64Ty(), credit), e.i64(1));
  b.CreateStore(b.CreateSelect(b.CreateICmpSLT(left, e.i64(0)), e.i64(kNoCredit), left), credit);
  b.CreateBr(fill);
  b.SetInsertPoint(fill);
  b.CreateStore(x[0], key);
  b.CreateStore(x[1], value);
  b.CreateBr(added);
  b.SetInsertPoint(added);
}

void CombinedAtomics::finish(Emitter& e) {
  llvm::IRBuilder<>& b = e.b();
  for (const auto& [kind, t] : tables_) {
    llvm::Type* element = register_type_of(e, t.op);
    Value* count = b.CreateLoad(b.getInt64Ty(), in_scratch(e, t.count, b.getInt64Ty(), e.i64(0)));
    e.loop(e.i64(0), count, e.i64(1), {}, true, [&, of = t](Value* number, const Values&) {
      Value* slot = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), in_scratch(e, of.filled, b.getInt32Ty(), number)), b.getInt64Ty());
      Value* held = b.CreateLoad(b.getInt64Ty(), in_scratch(e, of.keys, b.getInt64Ty(), slot));
      update_memory(e, of.op, {held, b.CreateLoad(element, in_scratch(e, of.values, element, slot))});
      return Values{};
    });
  }
}

}  // namespace tilewright::backend::host
