// Counts divisions, prepares divisors, and emits quotients.
#include "backend/nvptx/division.h"

#include <bit>
#include <set>

#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::backend::nvptx {

namespace {

// One division costs as much as preparing a divisor and dividing one number by it.
constexpr int kFewestDivisions = 2;
// A division in a loop counts as this many divisions.
constexpr int kDivisionsOfLoop = 8;

/// The scalar that all elements of a divisor equal; none if they may differ.
ValueId uniform_divisor(const Function& f, ValueId v) {
  while (!f.type(v).is_scalar()) {
    const OpId id = f.value(v).op;
    if (!id || (f.kind(id) != OpKind::broadcast_ && f.kind(id) != OpKind::reshape_)) return {};
    v = f.operand(id, 0);
  }
  return v;
}

bool is_division(const Function& f, OpId id) {
  if (f.kind(id) != OpKind::div_ && f.kind(id) != OpKind::rem_) return false;
  const Type t = f.type(f.result(id));
  return t.is_integer() && ir::bits(t.element()) >= 32;
}

/// A builder after the definition of v.
llvm::IRBuilder<> builder_after(Value* v, llvm::Function& function) {
  auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  if (!i) return {&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt()};
  if (llvm::isa<llvm::PHINode>(i)) return {i->getParent(), i->getParent()->getFirstInsertionPt()};
  return {i->getParent(), std::next(i->getIterator())};
}

}  // namespace

UniformDivision::UniformDivision(Emitter& e) : e_(e), b_(e.b()) {
  const Function& f = e.f();
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // a quotient and its remainder are one division
  f.walk([&](OpId id) {
    if (!is_division(f, id)) return;
    const ValueId x = f.operand(id, 0), d = uniform_divisor(f, f.operand(id, 1));
    if (!d || !seen.emplace(x.index, d.index).second) return;
    int numbers = 1;
    if (!f.type(x).is_scalar())
      numbers = static_cast<int>(e_.layout(x).size(HardwareDim::reg)) >> std::popcount(e_.layout(x).free_bits(HardwareDim::reg));
    const OpId loop = enclosing_loop(f, f.op(id).parent);
    if (loop && f.encloses(f.defining_block(d), f.op(loop).parent)) numbers *= kDivisionsOfLoop;
    count_[d.index] += numbers;
  });
}

const UniformDivision::Divisor& UniformDivision::divisor(ValueId v) {
  Value* d = e_.scalar(v);
  Divisor& known = divisors_[d];
  if (known.magnitude) return known;
  llvm::IRBuilder<> b = builder_after(d, e_.kernel());
  b.SetCurrentDebugLocation(b_.getCurrentDebugLocation());
  auto* zero = llvm::ConstantInt::get(d->getType(), 0);
  if (ir::is_signed(e_.f().type(v).element()) && !e_.axes().range(v).is_nonnegative()) {
    known.is_negative = b.CreateICmpSLT(d, zero);
    known.magnitude = b.CreateSelect(known.is_negative, b.CreateNeg(d), d);
  } else {
    known.magnitude = d;
  }
  // For a divisor of 0, every bit of the quotient is set, and the remainder is the dividend.
  known.is_zero = b.CreateICmpEQ(d, zero);
  Value* safe = b.CreateSelect(known.is_zero, llvm::ConstantInt::get(d->getType(), 1), known.magnitude);
  known.inverse = b.CreateUDiv(llvm::Constant::getAllOnesValue(d->getType()), safe);
  return known;
}

bool UniformDivision::emit(OpId id) {
  const Function& f = e_.f();
  if (!is_division(f, id)) return false;
  const ValueId dividend = f.operand(id, 0), v = uniform_divisor(f, f.operand(id, 1));
  if (!v || llvm::isa<llvm::Constant>(e_.scalar(v)) || count_[v.index] < kFewestDivisions) return false;
  const Divisor d = divisor(v);
  const bool has_sign = ir::is_signed(f.type(dividend).element()) && !e_.axes().range(dividend).is_nonnegative();
  llvm::Type* type = d.magnitude->getType();
  llvm::Type* wide = b_.getIntNTy(2 * type->getIntegerBitWidth());
  std::map<Value*, Value*> same;
  Registers out;
  for (Value* x : e_.registers(dividend)) {
    Value*& y = same[x];
    if (!y) {
      Value* is_negative = has_sign ? b_.CreateICmpSLT(x, llvm::ConstantInt::get(type, 0)) : nullptr;
      Value* magnitude = has_sign ? b_.CreateSelect(is_negative, b_.CreateNeg(x), x) : x;
      Value* product = b_.CreateMul(b_.CreateZExt(magnitude, wide), b_.CreateZExt(d.inverse, wide));
      Value* low = b_.CreateTrunc(b_.CreateLShr(product, type->getIntegerBitWidth()), type);
      Value* remainder = b_.CreateSub(magnitude, b_.CreateMul(low, d.magnitude));
      Value* is_low = b_.CreateICmpUGE(remainder, d.magnitude);
      if (f.kind(id) == OpKind::div_) {
        y = b_.CreateSelect(is_low, b_.CreateAdd(low, llvm::ConstantInt::get(type, 1)), low);
        Value* changes = is_negative && d.is_negative ? b_.CreateXor(is_negative, d.is_negative)
                         : is_negative                ? is_negative
                                                      : d.is_negative;
        if (changes) y = b_.CreateSelect(changes, b_.CreateNeg(y), y);
        y = b_.CreateSelect(d.is_zero, llvm::Constant::getAllOnesValue(type), y);
      } else {
        y = b_.CreateSelect(is_low, b_.CreateSub(remainder, d.magnitude), remainder);
        if (is_negative) y = b_.CreateSelect(is_negative, b_.CreateNeg(y), y);
      }
    }
    out.push_back(y);
  }
  e_.set(f.result(id), std::move(out));
  return true;
}

}  // namespace tilewright::backend::nvptx
