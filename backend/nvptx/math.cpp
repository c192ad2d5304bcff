// Emits instructions on floats, small floats and conversions: PTX ISA 8.x, "Floating Point Instructions" and "cvt".
#include "backend/nvptx/math.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cmath>

#include "backend/lowering/elementwise.h"
#include "backend/nvptx/ptx_asm.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

namespace ID = llvm::Intrinsic;
using ir::Element;

namespace {

constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

/// An op on one element: the builder, the operands and their types.
class Instruction {
 public:
  Instruction(llvm::IRBuilder<>& b, const ir::TargetDesc& target, OpKind kind, Element from, Element to, bool fast,
              std::span<Value* const> x)
      : b_(b), target_(target), kind_(kind), from_(from), to_(to), fast_(fast), x_(x) {}

  /// Null if LLVM's own selection is as good.
  Value* emit() {
    if (kind_ == OpKind::cast_) return cast();
    if (kind_ == OpKind::bitcast_ || kind_ == OpKind::add_ptr_ || kind_ == OpKind::select_) return nullptr;
    switch (from_) {
      case Element::f16:
      case Element::bf16: return small();
      case Element::f32: return single();
      case Element::f64: return minimum_or_maximum();
      default: return kind_ == OpKind::ffs_ ? find_first_set() : nullptr;
    }
  }

 private:
  Value* ptx(const char* text, std::initializer_list<Value*> inputs) { return inline_ptx(b_, text, (*inputs.begin())->getType(), inputs); }
  Value* number(double v) { return llvm::ConstantFP::get(x_[0]->getType(), v); }
  Value* intrinsic(llvm::Intrinsic::ID id, std::initializer_list<Value*> args) {
    return b_.CreateIntrinsic(id, {(*args.begin())->getType()}, llvm::ArrayRef(args.begin(), args.size()));
  }

  Value* single();
  Value* exponential();
  Value* quotient();
  Value* minimum_or_maximum();
  Value* small();
  Value* small_extreme(Value* x, Value* y);
  Value* cast();
  Value* float_to_integer();
  Value* to_fp8();
  Value* find_first_set();

  llvm::IRBuilder<>& b_;
  const ir::TargetDesc& target_;
  OpKind kind_;
  Element from_, to_;
  bool fast_;
  std::span<Value* const> x_;
};

/// Functions of f32. Those that may flush subnormals do so (.ftz) where it saves instructions.
Value* Instruction::single() {
  Value* x = x_[0];
  switch (kind_) {
    case OpKind::exp2_: return ptx("ex2.approx.ftz.f32 $0, $1;", {x});
    case OpKind::exp_: return exponential();
    case OpKind::rsqrt_: return ptx("rsqrt.approx.f32 $0, $1;", {x});
    case OpKind::log_: return fast_ ? b_.CreateFMul(ptx("lg2.approx.ftz.f32 $0, $1;", {x}), number(kLn2)) : nullptr;
    case OpKind::sin_: return fast_ ? ptx("sin.approx.ftz.f32 $0, $1;", {x}) : nullptr;
    case OpKind::cos_: return fast_ ? ptx("cos.approx.ftz.f32 $0, $1;", {x}) : nullptr;
    case OpKind::tanh_: return fast_ ? ptx("tanh.approx.f32 $0, $1;", {x}) : nullptr;
    case OpKind::div_: return quotient();
    default: return minimum_or_maximum();
  }
}

/// e^x = 2^n 2^r with n = floor(x log2(e)) and r in [0, 1), with log2(e) in two parts. n is clamped to [-126, 126], so that 2^n can be
/// built from its exponent, and r gets the remainder: infinity, 0 and subnormals result from the last product.
Value* Instruction::exponential() {
  Value* x = x_[0];
  if (fast_) return ptx("ex2.approx.ftz.f32 $0, $1;", {b_.CreateFMul(x, number(kLog2E))});
  constexpr double kSpan = 252, kMagic = 0x1.8p+23;  // floor(252 s) + 1 + 2^23 + 2^22 has n + 127 in its low bits
  Value* s = ptx("fma.rn.sat.f32 $0, $1, $2, $3;", {x, number(kLog2E / kSpan), number(0.5)});
  Value* t = ptx("fma.rm.f32 $0, $1, $2, $3;", {s, number(kSpan), number(kMagic + 1)});
  Value* n = b_.CreateFAdd(t, number(-kMagic - 127));
  constexpr float kHigh = static_cast<float>(kLog2E);
  Value* r = intrinsic(llvm::Intrinsic::fma, {x, number(kHigh), b_.CreateFNeg(n)});
  r = intrinsic(llvm::Intrinsic::fma, {x, number(kLog2E - kHigh), r});
  Value* scale = b_.CreateBitCast(b_.CreateShl(b_.CreateBitCast(t, b_.getInt32Ty()), 23), x->getType());
  return b_.CreateFMul(ptx("ex2.approx.ftz.f32 $0, $1;", {r}), scale);
}

Value* Instruction::quotient() {
  // div.full handles divisors beyond 2^126, whose reciprocals are subnormal; for 1 / x, rcp handles them too.
  const auto* dividend = llvm::dyn_cast<llvm::ConstantFP>(x_[0]);
  if (dividend && dividend->isExactlyValue(1.0)) return ptx(fast_ ? "rcp.approx.ftz.f32 $0, $1;" : "rcp.approx.f32 $0, $1;", {x_[1]});
  if (fast_) return ptx("div.approx.ftz.f32 $0, $1, $2;", {x_[0], x_[1]});
  return ptx("div.full.f32 $0, $1, $2;", {x_[0], x_[1]});
}

/// In PTX, min and max let the number win and order -0 below +0; .NaN lets NaN win (f32 from sm_80 on). LLVM's own intrinsics are not used:
/// in max(max(a, b), f(a, b)) its simplifier (19, foldMinimumMaximumSharedOp) takes any intrinsic f for one of max or min, and crashes.
Value* Instruction::minimum_or_maximum() {
  const bool least = kind_ == OpKind::minimum_ || kind_ == OpKind::fmin_, most = kind_ == OpKind::maximum_ || kind_ == OpKind::fmax_;
  if (!least && !most) return nullptr;
  const bool nan_wins = kind_ == OpKind::minimum_ || kind_ == OpKind::maximum_;
  const auto call = [&](ID::ID min, ID::ID max) { return b_.CreateIntrinsic(least ? min : max, {}, {x_[0], x_[1]}); };
  if (nan_wins && from_ == Element::f32 && target_.sm >= 80) return call(ID::nvvm_fmin_nan_f, ID::nvvm_fmax_nan_f);
  Value* y = from_ == Element::f32 ? call(ID::nvvm_fmin_f, ID::nvvm_fmax_f) : call(ID::nvvm_fmin_d, ID::nvvm_fmax_d);
  if (!nan_wins) return y;
  return b_.CreateSelect(b_.CreateFCmpUNO(x_[0], x_[1]), llvm::ConstantFP::getNaN(y->getType()), y);
}

/// Arithmetic on f16 and bf16 that legalize_floats keeps: one instruction each. bf16 has had fma longer than sums and products, which are
/// special cases of it: a * 1 + b, and a * b + -0, which keeps the sign of every zero.
Value* Instruction::small() {
  llvm::Type* type = from_ == Element::f16 ? b_.getHalfTy() : b_.getBFloatTy();
  std::vector<Value*> x;
  for (Value* v : x_) x.push_back(b_.CreateBitCast(v, type));
  // The instructions are emitted as text, since LLVM would turn intrinsics into sums and products again, and compute those in f32.
  const bool by_fma = from_ == Element::bf16 && target_.sm < 90;
  const auto fma_of = [&](Value* a, Value* b, Value* c) { return ptx("fma.rn.bf16 $0, $1, $2, $3;", {a, b, c}); };
  constexpr std::uint16_t kOne = 0x3f80, kMinusOne = 0xbf80, kMinusZero = 0x8000;
  const auto is_order = [&](llvm::CmpInst::Predicate p) { return b_.CreateFCmp(p, x[0], x[1]); };
  Value* y = nullptr;
  switch (kind_) {
    case OpKind::add_:
      if (by_fma) return fma_of(x_[0], b_.getInt16(kOne), x_[1]);
      y = b_.CreateFAdd(x[0], x[1]);
      break;
    case OpKind::sub_:
      if (by_fma) return fma_of(x_[1], b_.getInt16(kMinusOne), x_[0]);
      y = b_.CreateFSub(x[0], x[1]);
      break;
    case OpKind::mul_:
      if (by_fma) return fma_of(x_[0], x_[1], b_.getInt16(kMinusZero));
      y = b_.CreateFMul(x[0], x[1]);
      break;
    case OpKind::neg_: return b_.CreateXor(x_[0], b_.getInt16(kMinusZero));  // canonicalize rewrites a product with -1 as neg
    case OpKind::fma_: y = intrinsic(llvm::Intrinsic::fma, {x[0], x[1], x[2]}); break;
    case OpKind::minimum_:
    case OpKind::maximum_:
    case OpKind::fmin_:
    case OpKind::fmax_: y = small_extreme(x[0], x[1]); break;
    case OpKind::eq_: return is_order(llvm::CmpInst::FCMP_OEQ);
    case OpKind::ne_: return is_order(llvm::CmpInst::FCMP_UNE);
    case OpKind::lt_: return is_order(llvm::CmpInst::FCMP_OLT);
    case OpKind::le_: return is_order(llvm::CmpInst::FCMP_OLE);
    case OpKind::gt_: return is_order(llvm::CmpInst::FCMP_OGT);
    case OpKind::ge_: return is_order(llvm::CmpInst::FCMP_OGE);
    default: TW_UNREACHABLE("an op on small floats that legalize_floats replaces");
  }
  return b_.CreateBitCast(y, b_.getInt16Ty());
}

/// Instructions that exist from sm_80 on; before, LLVM uses those of f32.
Value* Instruction::small_extreme(Value* x, Value* y) {
  const bool least = kind_ == OpKind::minimum_ || kind_ == OpKind::fmin_, nan_wins = kind_ == OpKind::minimum_ || kind_ == OpKind::maximum_;
  if (target_.sm < 80) {
    const ID::ID id = nan_wins ? (least ? ID::minimum : ID::maximum) : (least ? ID::minnum : ID::maxnum);
    return intrinsic(id, {b_.CreateFreeze(x), b_.CreateFreeze(y)});  // see minimum_or_maximum
  }
  const ID::ID min = from_ == Element::f16 ? (nan_wins ? ID::nvvm_fmin_nan_f16 : ID::nvvm_fmin_f16)
                                           : (nan_wins ? ID::nvvm_fmin_nan_bf16 : ID::nvvm_fmin_bf16);
  const ID::ID max = from_ == Element::f16 ? (nan_wins ? ID::nvvm_fmax_nan_f16 : ID::nvvm_fmax_f16)
                                           : (nan_wins ? ID::nvvm_fmax_nan_bf16 : ID::nvvm_fmax_bf16);
  return b_.CreateIntrinsic(least ? min : max, {}, {x, y});
}

// ---- conversions ----

Value* Instruction::cast() {
  Value* x = x_[0];
  const auto bits16 = [&](Value* v) { return b_.CreateBitCast(v, b_.getInt16Ty()); };
  if (ir::is_fp8(to_)) return to_fp8();
  if (ir::is_fp8(from_)) {
    TW_CHECK(to_ == Element::f32 && target_.sm >= 90, "a cast that legalize_floats replaces");
    const char* text = from_ == Element::f8e4m3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;" : "cvt.rn.f16x2.e5m2x2 $0, $1;";
    Value* pair = inline_ptx(b_, text, b_.getInt32Ty(), {b_.CreateZExt(x, b_.getInt16Ty())});
    return b_.CreateFPExt(b_.CreateBitCast(b_.CreateTrunc(pair, b_.getInt16Ty()), b_.getHalfTy()), b_.getFloatTy());
  }
  if (to_ == Element::bf16) {
    TW_CHECK(from_ == Element::f32 && target_.sm >= 80, "a cast that legalize_floats replaces");
    return bits16(b_.CreateFPTrunc(x, b_.getBFloatTy()));
  }
  if (to_ == Element::f16) {
    if (ir::is_float(from_)) return bits16(b_.CreateFPTrunc(x, b_.getHalfTy()));
    return bits16(ir::is_signed(from_) ? b_.CreateSIToFP(x, b_.getHalfTy()) : b_.CreateUIToFP(x, b_.getHalfTy()));
  }
  if (ir::is_float(from_) && ir::is_integer(to_)) return float_to_integer();
  if (from_ == Element::f16)
    return b_.CreateFPExt(b_.CreateBitCast(x, b_.getHalfTy()), to_ == Element::f32 ? b_.getFloatTy() : b_.getDoubleTy());
  return nullptr;
}

/// cvt.rzi saturates. NaN gives 0, except from f64 and to 64 bits, where it gives the least integer or 2^63. Results of fewer bits go
/// through 32 bits: see assembler_bugs.h.
Value* Instruction::float_to_integer() {
  Value* x = x_[0];
  const bool is_signed = ir::is_signed(to_);
  const unsigned bits = static_cast<unsigned>(ir::bits(to_)), wide = std::max(bits, 32u);
  const std::string from = from_ == Element::f16 ? "f16" : from_ == Element::f32 ? "f32" : "f64";
  const std::string text = std::string("cvt.rzi.") + (is_signed ? "s" : "u") + std::to_string(wide) + "." + from + " $0, $1;";
  Value* y = inline_ptx(b_, text, b_.getIntNTy(wide), {x});
  if (from_ == Element::f64 || bits == 64) {
    Value* value = from_ == Element::f16 ? b_.CreateBitCast(x, b_.getHalfTy()) : x;
    y = b_.CreateSelect(b_.CreateFCmpUNO(value, value), llvm::ConstantInt::get(y->getType(), 0), y);
  }
  if (bits == wide) return y;
  const std::int32_t greatest = (1 << (is_signed ? bits - 1 : bits)) - 1;
  if (is_signed) y = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, y, b_.getInt32(static_cast<std::uint32_t>(-greatest - 1)));
  y = b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, y,
                               b_.getInt32(static_cast<std::uint32_t>(greatest)));
  return b_.CreateTrunc(y, b_.getIntNTy(bits));
}

/// cvt to fp8 saturates, but numbers that round past the greatest one must give NaN (e4m3, which has no infinity) or infinity (e5m2).
Value* Instruction::to_fp8() {
  TW_CHECK(from_ == Element::f32 && target_.sm >= 90, "a cast that legalize_floats replaces");
  Value* x = x_[0];
  const bool e4m3 = to_ == Element::f8e4m3;
  const char* text = e4m3 ? "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;" : "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
  Value* pair = inline_ptx(b_, text, b_.getInt16Ty(), {llvm::ConstantFP::get(x->getType(), 0.0), x});  // the second goes to the low half
  Value* code = b_.CreateTrunc(pair, b_.getInt8Ty());
  // Exactly halfway between the greatest number and the next one, e4m3 rounds down (448 is even) and e5m2 rounds up.
  Value* size = intrinsic(llvm::Intrinsic::fabs, {x});
  Value* inside = e4m3 ? b_.CreateFCmpOLE(size, llvm::ConstantFP::get(x->getType(), 464))
                       : b_.CreateFCmpOLT(size, llvm::ConstantFP::get(x->getType(), 61440));
  Value* beyond = b_.getInt8(0x7f);
  if (!e4m3) beyond = b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.getInt8(0x7f), b_.getInt8(0x7c));
  Value* sign = b_.CreateTrunc(b_.CreateAnd(b_.CreateLShr(b_.CreateBitCast(x, b_.getInt32Ty()), 24), 0x80), b_.getInt8Ty());
  return b_.CreateSelect(inside, code, b_.CreateOr(sign, beyond));
}

/// x ^ (x - 1) has ones up to the lowest set bit. (LLVM would branch around its count of trailing zeros.)
Value* Instruction::find_first_set() {
  Value* x = x_[0];
  Value* count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, b_.CreateXor(x, b_.CreateSub(x, llvm::ConstantInt::get(x->getType(), 1))));
  Value* at = b_.CreateZExtOrTrunc(count, b_.getInt32Ty());
  return b_.CreateSelect(b_.CreateICmpEQ(x, llvm::ConstantInt::get(x->getType(), 0)), b_.getInt32(0), at);
}

}  // namespace

Value* target_instruction(Emitter& e, OpId id, std::span<Value* const> operands) {
  const Function& f = e.f();
  const Type from = f.type(f.operand(id, 0)), to = f.type(f.result(id));
  if (from.is_pointer() || to.is_pointer()) return nullptr;
  return Instruction(e.b(), e.target(), f.kind(id), from.element(), to.element(), f.attr(id, ir::AttrName::fast) != 0, operands).emit();
}

}  // namespace tilewright::backend::nvptx
