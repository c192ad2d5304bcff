// Integer division of many numbers by one that is known only when the kernel runs: one division, and two products for each number.
//
// m = floor((2^w - 1) / d) is at most 1 below 2^w / d, so q' = floor(x m / 2^w) is the quotient or 1 less, for any x < 2^w: what is left,
// x - q' d, says which. Magnitudes are divided so, signs are put back. (Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication", choose m so that nothing is left to correct, which takes a wider one.)
#include <bit>
#include <set>

#include "backend/nvptx/lowering.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

namespace {

// A division of one number costs as much as preparing a divisor and dividing one number by it.
constexpr int kFewestDivisions = 2;
// So many at least are in a loop.
constexpr int kDivisionsOfLoop = 8;

/// The scalar that all elements of a divisor are; none: they may differ.
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

bool is_in_loop_beyond(const Function& f, BlockId b, BlockId outer) {
  for (; b != outer; b = f.op(f.block(b).parent).parent)
    if (f.kind(f.block(b).parent) == OpKind::for_ || f.kind(f.block(b).parent) == OpKind::while_) return true;
  return false;
}

/// Behind what makes v.
llvm::IRBuilder<> behind(Value* v, llvm::Function& function) {
  auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  if (!i) return {&function.getEntryBlock(), function.getEntryBlock().getFirstInsertionPt()};
  if (llvm::isa<llvm::PHINode>(i)) return {i->getParent(), i->getParent()->getFirstInsertionPt()};
  return {i->getParent(), std::next(i->getIterator())};
}

}  // namespace

void NvptxLowering::count_divisions() {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // a quotient and its rest are one
  f_.walk([&](OpId id) {
    if (!is_division(f_, id)) return;
    const ValueId x = f_.operand(id, 0), d = uniform_divisor(f_, f_.operand(id, 1));
    if (!d || !seen.emplace(x.index, d.index).second) return;
    int numbers = 1;
    if (!f_.type(x).is_scalar())
      numbers = static_cast<int>(layout(x).size(HardwareDim::reg)) >> std::popcount(layout(x).free_bits(HardwareDim::reg));
    if (is_in_loop_beyond(f_, f_.op(id).parent, f_.defining_block(d))) numbers *= kDivisionsOfLoop;
    divisions_[d.index] += numbers;
  });
}

const NvptxLowering::Divisor& NvptxLowering::divisor(ValueId v) {
  Value* d = scalar(v);
  Divisor& known = divisors_[d];
  if (known.size) return known;
  llvm::IRBuilder<> b = behind(d, *function_);
  b.SetCurrentDebugLocation(b_.getCurrentDebugLocation());
  auto* zero = llvm::ConstantInt::get(d->getType(), 0);
  if (ir::is_signed(f_.type(v).element()) && !axes_.range(v).is_nonnegative()) {
    known.is_negative = b.CreateICmpSLT(d, zero);
    known.size = b.CreateSelect(known.is_negative, b.CreateNeg(d), d);
  } else {
    known.size = d;
  }
  // Of 0 there is no quotient: every bit of it is set, and the rest is what was divided.
  known.is_zero = b.CreateICmpEQ(d, zero);
  Value* safe = b.CreateSelect(known.is_zero, llvm::ConstantInt::get(d->getType(), 1), known.size);
  known.inverse = b.CreateUDiv(llvm::Constant::getAllOnesValue(d->getType()), safe);
  return known;
}

bool NvptxLowering::emit_division(OpId id) {
  if (!is_division(f_, id)) return false;
  const ValueId dividend = f_.operand(id, 0), v = uniform_divisor(f_, f_.operand(id, 1));
  if (!v || llvm::isa<llvm::Constant>(scalar(v)) || divisions_[v.index] < kFewestDivisions) return false;
  const Divisor d = divisor(v);
  const bool has_sign = ir::is_signed(f_.type(dividend).element()) && !axes_.range(dividend).is_nonnegative();
  llvm::Type* type = d.size->getType();
  llvm::Type* wide = b_.getIntNTy(2 * type->getIntegerBitWidth());
  std::map<Value*, Value*> same;
  Registers out;
  for (Value* x : registers(dividend)) {
    Value*& y = same[x];
    if (!y) {
      Value* is_negative = has_sign ? b_.CreateICmpSLT(x, llvm::ConstantInt::get(type, 0)) : nullptr;
      Value* size = has_sign ? b_.CreateSelect(is_negative, b_.CreateNeg(x), x) : x;
      Value* product = b_.CreateMul(b_.CreateZExt(size, wide), b_.CreateZExt(d.inverse, wide));
      Value* low = b_.CreateTrunc(b_.CreateLShr(product, type->getIntegerBitWidth()), type);
      Value* left = b_.CreateSub(size, b_.CreateMul(low, d.size));
      Value* is_low = b_.CreateICmpUGE(left, d.size);
      if (f_.kind(id) == OpKind::div_) {
        y = b_.CreateSelect(is_low, b_.CreateAdd(low, llvm::ConstantInt::get(type, 1)), low);
        Value* changes = is_negative && d.is_negative ? b_.CreateXor(is_negative, d.is_negative)
                         : is_negative                ? is_negative
                                                      : d.is_negative;
        if (changes) y = b_.CreateSelect(changes, b_.CreateNeg(y), y);
        y = b_.CreateSelect(d.is_zero, llvm::Constant::getAllOnesValue(type), y);
      } else {
        y = b_.CreateSelect(is_low, b_.CreateSub(left, d.size), left);
        if (is_negative) y = b_.CreateSelect(is_negative, b_.CreateNeg(y), y);
      }
    }
    out.push_back(y);
  }
  set(f_.result(id), std::move(out));
  return true;
}

}  // namespace tilewright::backend::nvptx
