// Chooses the atomics that may be combined, and emits their windows.
#include "backend/host/combined_atomics.h"

#include <algorithm>

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

constexpr std::int64_t kMostBytes = 512 << 10;  // a quarter of a second-level cache
constexpr std::int64_t kLineBytes = 256;        // a window grows by whole lines
constexpr std::int64_t kVectorBytes = 64;       // what is set or read at once
// Credits pay for lines: setting one and reading it takes about as long as one lane saves. Each lane earns one.
constexpr std::int64_t kFirstCredit = 256;
constexpr std::int64_t kMostCredit = 16384;
constexpr std::int64_t kOutside = 2;         // a lane that no window can hold costs two
constexpr std::int64_t kMovingCost = 4;      // credits for each line of the old window, whose values go to memory
constexpr std::int64_t kLanesTogether = 64;  // whether they are combined is decided once

/// Whether an atomic's operation can be applied to two values before memory is.
bool combines(const Function& f, OpId id) {
  if (f.kind(id) != OpKind::atomic_update_) return ir::is_commutative_update(f.kind(id));
  const auto k = single_op(f, id);
  return k == OpKind::add_ || k == OpKind::maximum_ || k == OpKind::minimum_;
}

/// The operation of an atomic for which `combines` holds.
OpKind operation(const Function& f, OpId id) {
  switch (f.kind(id)) {
    case OpKind::atomic_add_: return OpKind::add_;
    case OpKind::atomic_max_: return OpKind::maximum_;
    case OpKind::atomic_min_: return OpKind::minimum_;
    case OpKind::atomic_and_: return OpKind::bit_and_;
    case OpKind::atomic_or_: return OpKind::bit_or_;
    case OpKind::atomic_xor_: return OpKind::bit_xor_;
    case OpKind::atomic_update_: return *single_op(f, id);
    default: TW_UNREACHABLE("an atomic that is not combined");
  }
}

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

Type element_of(Emitter& e, OpId id) { return e.f().type(e.f().result(id)).scalar(); }

/// The identity of an atomic's operation, which no line has where a value came. Memory that is combined with it stays as it is.
std::uint64_t identity_of(Emitter& e, OpId id) {
  const auto bits = identity_bits(operation(e.f(), id), element_of(e, id));
  TW_CHECK(bits.has_value(), "an atomic that is combined has no identity");
  return *bits;
}

/// The type of the bits of an atomic's elements.
llvm::Type* word_type(Emitter& e, OpId id) { return e.b().getIntNTy(static_cast<unsigned>(ir::bits(element_of(e, id).element()))); }

/// The offset in a window's copy of an address; of scalars or vectors. Addresses of one window have different offsets.
Value* offset_of(Emitter& e, Value* address) { return e.b().CreateAnd(address, static_cast<std::uint64_t>(kMostBytes - 1)); }

/// Emits a branch that runs the body if the condition holds.
void if_true(Emitter& e, Value* condition, const std::function<void()>& body) {
  llvm::BasicBlock *yes = e.new_block("yes"), *after = e.new_block("after");
  e.b().CreateCondBr(condition, yes, after);
  e.b().SetInsertPoint(yes);
  body();
  e.b().CreateBr(after);
  e.b().SetInsertPoint(after);
}

/// The combination of two values for one address.
Value* combined(Emitter& e, OpId id, Value* x, Value* y) {
  llvm::IRBuilder<>& b = e.b();
  const Type t = element_of(e, id);
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

CombinedAtomics::Window& CombinedAtomics::window_of(const Function& f, OpId id) {
  return windows_[{operation(f, id), f.type(f.result(id)).element(), passes::base_parameter(f, f.operand(id, 0)).index}];
}

void CombinedAtomics::begin(Emitter& e) {
  for (OpId id : ops_) {
    Window& w = window_of(e.f(), id);
    if (w.op) continue;
    w.op = id;
    // Inactive lanes have offsets behind all others.
    w.values = e.allocate_scratch(kMostBytes + kLanesTogether * 8).offset;
    w.offsets = e.allocate_scratch(kLanesTogether * 8).offset;
    w.first = e.allocate_scratch(8).offset;
    w.bytes = e.allocate_scratch(8).offset;
    w.credit = e.allocate_scratch(8).offset;
    set(e, w.first, e.i64(0));
    set(e, w.bytes, e.i64(0));
    set(e, w.credit, e.i64(kFirstCredit));
  }
}

Value* CombinedAtomics::get(Emitter& e, std::int64_t offset) {
  return e.b().CreateLoad(e.b().getInt64Ty(), in_scratch(e, offset, e.b().getInt64Ty(), e.i64(0)));
}

void CombinedAtomics::set(Emitter& e, std::int64_t offset, Value* value) {
  e.b().CreateStore(value, in_scratch(e, offset, e.b().getInt64Ty(), e.i64(0)));
}

void CombinedAtomics::for_each_lane(Emitter& e, OpId id, const Read& read, const Update& update) {
  llvm::IRBuilder<>& b = e.b();
  const Window& w = window_of(e.f(), id);
  const std::int64_t lanes = e.f().type(e.f().result(id)).elements(), together = std::min(lanes, kLanesTogether);
  e.loop(lanes, together, [&](Value* first) {
    Value* credit = get(e, w.credit);
    llvm::BasicBlock *combine = e.new_block("combine"), *direct = e.new_block("direct"), *done = e.new_block("done");
    b.CreateCondBr(b.CreateICmpSLT(credit, e.i64(0)), direct, combine);
    b.SetInsertPoint(combine);
    set(e, w.credit, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(credit, e.i64(together)), e.i64(kMostCredit)));
    combine_together(e, id, first, together, read, update);
    b.CreateBr(done);
    b.SetInsertPoint(direct);
    e.loop(together, 1, [&](Value* lane) { update(b.CreateAdd(first, lane, "", true, true), false); });
    b.CreateBr(done);
    b.SetInsertPoint(done);
  });
}

void CombinedAtomics::combine_together(Emitter& e, OpId id, Value* first, std::int64_t lanes, const Read& read, const Update& update) {
  llvm::IRBuilder<>& b = e.b();
  const Window& w = window_of(e.f(), id);
  const auto each_lane = [&] { e.loop(lanes, 1, [&](Value* lane) { update(b.CreateAdd(first, lane, "", true, true), true); }); };
  const auto vector = static_cast<unsigned>(std::min<std::int64_t>(lanes, e.target().lanes()));
  if (vector < 4) return each_lane();
  Value *begin = get(e, w.first), *bytes = get(e, w.bytes), *are_inside = nullptr;
  for (std::int64_t at = 0; at < lanes; at += vector) {
    Value* from = b.CreateAdd(first, e.i64(at), "", true, true);
    Value* address = read(0, from, vector);
    Value* is_inside = b.CreateICmpULT(b.CreateSub(address, b.CreateVectorSplat(vector, begin)), b.CreateVectorSplat(vector, bytes));
    Value* offset = offset_of(e, address);
    if (ir::mask_of(e.f(), id)) {
      Value* is_active = read(e.f().op(id).operands.size() - 1, from, vector);
      std::vector<llvm::Constant*> unused;
      for (unsigned i = 0; i < vector; ++i) unused.push_back(b.getInt64(static_cast<std::uint64_t>(kMostBytes + i * 8)));
      is_inside = b.CreateOr(is_inside, b.CreateNot(is_active));
      offset = b.CreateSelect(is_active, offset, llvm::ConstantVector::get(unused));
    }
    const llvm::Align align(std::min<std::uint64_t>(64, vector * 8));
    b.CreateAlignedStore(offset, in_scratch(e, w.offsets, b.getInt64Ty(), e.i64(at)), align);
    are_inside = are_inside ? b.CreateAnd(are_inside, is_inside) : is_inside;
  }
  llvm::BasicBlock *inside = e.new_block("inside"), *some_outside = e.new_block("some_outside"), *done = e.new_block("combined");
  b.CreateCondBr(b.CreateAndReduce(are_inside), inside, some_outside);
  b.SetInsertPoint(some_outside);
  each_lane();
  b.CreateBr(done);
  b.SetInsertPoint(inside);
  constexpr unsigned kUnrolled = 16;
  llvm::Type* element = register_type(e.context(), element_of(e, id));
  const auto unrolled = static_cast<unsigned>(std::min<std::int64_t>(lanes, kUnrolled));
  e.loop(lanes, unrolled, [&](Value* group) {
    for (unsigned i = 0; i < unrolled; ++i) {
      Value* lane = b.CreateAdd(group, e.i64(i), "", true, true);
      Value* offset = b.CreateLoad(b.getInt64Ty(), in_scratch(e, w.offsets, b.getInt64Ty(), lane));
      Value* value = in_scratch(e, w.values, b.getInt8Ty(), offset);
      b.CreateStore(combined(e, id, b.CreateLoad(element, value), read(1, b.CreateAdd(first, lane, "", true, true), 1)), value);
    }
  });
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void CombinedAtomics::add(Emitter& e, OpId id, const Values& x) {
  llvm::IRBuilder<>& b = e.b();
  const Window& w = window_of(e.f(), id);
  llvm::BasicBlock *inside = e.new_block("inside"), *outside = e.new_block("outside"), *direct = e.new_block("direct"),
                   *added = e.new_block("added");
  Value *begin = get(e, w.first), *bytes = get(e, w.bytes);
  b.CreateCondBr(b.CreateICmpULT(b.CreateSub(x[0], begin), bytes), inside, outside);

  b.SetInsertPoint(outside);
  Value *line = b.CreateAnd(x[0], e.i64(-kLineBytes)), *line_end = b.CreateAdd(line, e.i64(kLineBytes));
  Value *is_empty = b.CreateICmpEQ(bytes, e.i64(0)), *end = b.CreateAdd(begin, bytes);
  const auto either = [&](llvm::Intrinsic::ID extreme, Value* old, Value* now) {
    return b.CreateSelect(is_empty, now, b.CreateBinaryIntrinsic(extreme, old, now));
  };
  Value* wider_begin = either(llvm::Intrinsic::umin, begin, line);
  Value* wider_bytes = b.CreateSub(either(llvm::Intrinsic::umax, end, line_end), wider_begin);
  Value *is_too_wide = b.CreateICmpUGT(wider_bytes, e.i64(kMostBytes)), *credit = get(e, w.credit);
  Value* new_bytes = b.CreateSelect(is_too_wide, e.i64(kLineBytes), b.CreateSub(wider_bytes, bytes));
  Value* per_byte = b.CreateSelect(is_too_wide, b.CreateMul(bytes, e.i64(kMovingCost)), new_bytes);
  Value* cost = b.CreateSDiv(per_byte, e.i64(kLineBytes));
  llvm::BasicBlock *pay = e.new_block("pay"), *charge = e.new_block("charge");
  b.CreateCondBr(b.CreateICmpSLE(cost, credit), pay, charge);
  b.SetInsertPoint(charge);
  set(e, w.credit, b.CreateSub(credit, b.CreateSelect(is_too_wide, e.i64(kOutside), e.i64(0))));
  b.CreateBr(direct);

  b.SetInsertPoint(pay);
  set(e, w.credit, b.CreateSub(credit, cost));
  if_true(e, is_too_wide, [&] { flush(e, w); });
  Value* new_begin = b.CreateSelect(b.CreateOr(is_too_wide, b.CreateOr(is_empty, b.CreateICmpULT(line, begin))), line, end);
  auto* nothing = llvm::ConstantInt::get(llvm::FixedVectorType::get(word_type(e, id), kVectorBytes / element_of(e, id).element_bytes()),
                                         identity_of(e, id));
  e.loop(e.i64(0), new_bytes, e.i64(kVectorBytes), {}, false, [&](Value* i, const Values&) {
    b.CreateAlignedStore(nothing, in_scratch(e, w.values, b.getInt8Ty(), offset_of(e, b.CreateAdd(new_begin, i))),
                         llvm::Align(kVectorBytes));
    return Values{};
  });
  set(e, w.first, b.CreateSelect(is_too_wide, line, wider_begin));
  set(e, w.bytes, b.CreateSelect(is_too_wide, e.i64(kLineBytes), wider_bytes));
  b.CreateBr(inside);

  b.SetInsertPoint(inside);
  Value* value = in_scratch(e, w.values, b.getInt8Ty(), offset_of(e, x[0]));
  b.CreateStore(combined(e, id, b.CreateLoad(register_type(e.context(), element_of(e, id)), value), x[1]), value);
  b.CreateBr(added);
  b.SetInsertPoint(direct);
  update_memory(e, id, x);
  b.CreateBr(added);
  b.SetInsertPoint(added);
}

void CombinedAtomics::flush(Emitter& e, const Window& w) {
  llvm::IRBuilder<>& b = e.b();
  const std::int64_t bytes = element_of(e, w.op).element_bytes(), together = kVectorBytes / bytes;
  llvm::Type *word = word_type(e, w.op), *words = llvm::FixedVectorType::get(word, static_cast<unsigned>(together));
  const auto is_value = [&](Value* x) { return b.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), identity_of(e, w.op))); };
  Value* begin = get(e, w.first);
  e.loop(e.i64(0), get(e, w.bytes), e.i64(kVectorBytes), {}, true, [&](Value* i, const Values&) {
    Value* first = b.CreateAdd(begin, i);
    Value* values = in_scratch(e, w.values, b.getInt8Ty(), offset_of(e, first));
    if_true(e, b.CreateOrReduce(is_value(b.CreateAlignedLoad(words, values, llvm::Align(kVectorBytes)))), [&] {
      e.loop(together, 1, [&](Value* lane) {
        Value* x = b.CreateLoad(word, b.CreateInBoundsGEP(word, values, lane));
        if_true(e, is_value(x), [&] {
          Value* address = b.CreateAdd(first, b.CreateMul(lane, e.i64(bytes)));
          update_memory(e, w.op, {address, b.CreateBitCast(x, register_type(e.context(), element_of(e, w.op)))});
        });
      });
    });
    return Values{};
  });
}

void CombinedAtomics::finish(Emitter& e) {
  for (const auto& [key, w] : windows_) flush(e, w);
}

}  // namespace tilewright::backend::host
