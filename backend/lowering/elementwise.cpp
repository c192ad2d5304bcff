// One function for each op: lower_<name>. The op table generates the dispatch, so a missing function does not compile.
#include "backend/lowering/elementwise.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend {

using ir::Element;
using ir::OpKind;
using ir::Type;
using llvm::Value;
using llvm::Intrinsic::ID;

llvm::Type* register_type(llvm::LLVMContext& c, Type t) {
  if (t.is_pointer()) return llvm::Type::getInt64Ty(c);
  switch (t.element()) {
    case Element::f32: return llvm::Type::getFloatTy(c);
    case Element::f64: return llvm::Type::getDoubleTy(c);
    default: return llvm::Type::getIntNTy(c, ir::bits(t.element()));
  }
}

llvm::Type* memory_type(llvm::LLVMContext& c, Type t) { return t.is_bool() ? llvm::Type::getInt8Ty(c) : register_type(c, t); }

llvm::Type* with_lanes_of(llvm::Type* scalar, const Value* like) {
  const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return v ? llvm::FixedVectorType::get(scalar, v->getNumElements()) : scalar;
}

unsigned lane_count(const Value* v) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? vector->getNumElements() : 1;
}

llvm::Constant* constant_lanes(llvm::LLVMContext& c, Type t, std::uint64_t bits, unsigned lanes) {
  llvm::Type* type = register_type(c, t);
  llvm::Constant* one =
      type->isFloatTy() ? llvm::ConstantFP::get(c, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu)))
      : type->isDoubleTy()
          ? llvm::ConstantFP::get(c, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)))
          : static_cast<llvm::Constant*>(llvm::ConstantInt::get(type, llvm::APInt(64, bits).trunc(type->getIntegerBitWidth())));
  return lanes == 0 ? one : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), one);
}

namespace {

/// One op, as its lower_<name> sees it.
struct Lanes {
  llvm::IRBuilder<>& b;
  const ir::TargetDesc& target;
  std::span<const Type> types;
  Type result;
  std::span<Value* const> x;

  Element element() const { return types[0].element(); }
  bool floating() const { return types[0].is_float(); }
  bool is_signed() const { return ir::is_signed(element()); }
  llvm::Type* lanes_of(llvm::Type* scalar) const { return with_lanes_of(scalar, x[0]); }
  llvm::Type* result_type() const { return lanes_of(register_type(b.getContext(), result)); }
  Value* integer(std::uint64_t v) const { return llvm::ConstantInt::get(x[0]->getType(), v); }
  Value* all_ones() const { return llvm::Constant::getAllOnesValue(x[0]->getType()); }
  Value* call(ID id) const { return b.CreateIntrinsic(id, {x[0]->getType()}, llvm::ArrayRef(x.data(), x.size())); }
  Value* call(ID id, std::initializer_list<Value*> args) const {
    return b.CreateIntrinsic(id, {(*args.begin())->getType()}, llvm::ArrayRef(args.begin(), args.size()));
  }
};

// ---- one operand ----

Value* lower_neg(const Lanes& e) { return e.floating() ? e.b.CreateFNeg(e.x[0]) : e.b.CreateNeg(e.x[0]); }
Value* lower_abs(const Lanes& e) {
  if (e.floating()) return e.call(llvm::Intrinsic::fabs);
  return e.is_signed() ? e.call(llvm::Intrinsic::abs, {e.x[0], e.b.getFalse()}) : e.x[0];
}
Value* lower_bit_not(const Lanes& e) { return e.b.CreateNot(e.x[0]); }
Value* lower_ceil(const Lanes& e) { return e.call(llvm::Intrinsic::ceil); }
Value* lower_floor(const Lanes& e) { return e.call(llvm::Intrinsic::floor); }
Value* lower_round(const Lanes& e) { return e.call(llvm::Intrinsic::round); }
Value* lower_rint(const Lanes& e) { return e.call(llvm::Intrinsic::rint); }
Value* lower_trunc(const Lanes& e) { return e.call(llvm::Intrinsic::trunc); }
Value* lower_sqrt(const Lanes& e) { return e.call(llvm::Intrinsic::sqrt); }
Value* lower_isnan(const Lanes& e) { return e.b.CreateFCmpUNO(e.x[0], e.x[0]); }
Value* lower_isinf(const Lanes& e) {
  return e.b.CreateFCmpOEQ(e.call(llvm::Intrinsic::fabs), llvm::ConstantFP::getInfinity(e.x[0]->getType()));
}
Value* to_i32(const Lanes& e, Value* v) { return e.b.CreateZExtOrTrunc(v, e.result_type()); }
Value* lower_popcount(const Lanes& e) { return to_i32(e, e.call(llvm::Intrinsic::ctpop)); }
Value* lower_clz(const Lanes& e) { return to_i32(e, e.call(llvm::Intrinsic::ctlz, {e.x[0], e.b.getFalse()})); }
Value* lower_ffs(const Lanes& e) {
  Value* at = e.b.CreateAdd(e.call(llvm::Intrinsic::cttz, {e.x[0], e.b.getFalse()}), e.integer(1));
  return to_i32(e, e.b.CreateSelect(e.b.CreateICmpEQ(e.x[0], e.integer(0)), e.integer(0), at));
}

Value* lower_reverse_bits(const Lanes& e) { return e.call(llvm::Intrinsic::bitreverse); }

// These never reach the back end of a target without an instruction for them: passes::expand_math has replaced them.
Value* expanded(const Lanes&) { TW_UNREACHABLE("a function that expand_math replaces reached the lowering"); }
Value* lower_rsqrt(const Lanes& e) { return expanded(e); }
Value* lower_exp(const Lanes& e) { return expanded(e); }
Value* lower_exp2(const Lanes& e) { return expanded(e); }
Value* lower_log(const Lanes& e) { return expanded(e); }
Value* lower_log2(const Lanes& e) { return expanded(e); }
Value* lower_sin(const Lanes& e) { return expanded(e); }
Value* lower_cos(const Lanes& e) { return expanded(e); }
Value* lower_tan(const Lanes& e) { return expanded(e); }
Value* lower_tanh(const Lanes& e) { return expanded(e); }
Value* lower_erf(const Lanes& e) { return expanded(e); }
Value* lower_pow(const Lanes& e) { return expanded(e); }
Value* lower_exp10(const Lanes& e) { return expanded(e); }
Value* lower_expm1(const Lanes& e) { return expanded(e); }
Value* lower_log10(const Lanes& e) { return expanded(e); }
Value* lower_log1p(const Lanes& e) { return expanded(e); }
Value* lower_asin(const Lanes& e) { return expanded(e); }
Value* lower_acos(const Lanes& e) { return expanded(e); }
Value* lower_atan(const Lanes& e) { return expanded(e); }
Value* lower_sinh(const Lanes& e) { return expanded(e); }
Value* lower_cosh(const Lanes& e) { return expanded(e); }
Value* lower_cbrt(const Lanes& e) { return expanded(e); }
Value* lower_atan2(const Lanes& e) { return expanded(e); }
Value* lower_hypot(const Lanes& e) { return expanded(e); }

// ---- two operands ----

Value* lower_add(const Lanes& e) { return e.floating() ? e.b.CreateFAdd(e.x[0], e.x[1]) : e.b.CreateAdd(e.x[0], e.x[1]); }
Value* lower_sub(const Lanes& e) { return e.floating() ? e.b.CreateFSub(e.x[0], e.x[1]) : e.b.CreateSub(e.x[0], e.x[1]); }
Value* lower_mul(const Lanes& e) { return e.floating() ? e.b.CreateFMul(e.x[0], e.x[1]) : e.b.CreateMul(e.x[0], e.x[1]); }

/// A divisor for which LLVM's division is defined, and the lanes in which it replaces the operand: x / 0, and least / -1; null if there are
/// none.
struct SafeDivisor {
  Value* divisor;
  Value* zero;
  Value* overflow;
};
SafeDivisor safe_divisor(const Lanes& e) {
  const auto* c = llvm::dyn_cast<llvm::Constant>(e.x[1]);
  const llvm::Constant* splat = c && c->getType()->isVectorTy() ? c->getSplatValue() : c;
  if (const auto* n = llvm::dyn_cast_or_null<llvm::ConstantInt>(splat); n && !n->isZero() && !(e.is_signed() && n->isMinusOne()))
    return {e.x[1], nullptr, nullptr};
  Value* zero = e.b.CreateICmpEQ(e.x[1], e.integer(0));
  Value* overflow = nullptr;
  Value* bad = zero;
  if (e.is_signed()) {
    const unsigned width = e.x[0]->getType()->getScalarSizeInBits();
    Value* least = llvm::ConstantInt::get(e.x[0]->getType(), llvm::APInt::getSignedMinValue(width));
    overflow = e.b.CreateAnd(e.b.CreateICmpEQ(e.x[0], least), e.b.CreateICmpEQ(e.x[1], e.all_ones()));
    bad = e.b.CreateOr(zero, overflow);
  }
  return {e.b.CreateSelect(bad, e.integer(1), e.x[1]), zero, overflow};
}

Value* lower_div(const Lanes& e) {
  if (e.floating()) return e.b.CreateFDiv(e.x[0], e.x[1]);
  const SafeDivisor d = safe_divisor(e);
  Value* q = e.is_signed() ? e.b.CreateSDiv(e.x[0], d.divisor) : e.b.CreateUDiv(e.x[0], d.divisor);
  // The replaced division least / 1 = least is also the result of least / -1, so only zero needs another result.
  return d.zero ? e.b.CreateSelect(d.zero, e.all_ones(), q) : q;
}
Value* lower_div_rn(const Lanes& e) { return e.b.CreateFDiv(e.x[0], e.x[1]); }
Value* lower_rem(const Lanes& e) {
  const SafeDivisor d = safe_divisor(e);
  Value* r = e.is_signed() ? e.b.CreateSRem(e.x[0], d.divisor) : e.b.CreateURem(e.x[0], d.divisor);
  // The replaced remainder least % 1 = 0 is also the result of least % -1.
  return d.zero ? e.b.CreateSelect(d.zero, e.x[0], r) : r;
}
Value* lower_bit_and(const Lanes& e) { return e.b.CreateAnd(e.x[0], e.x[1]); }
Value* lower_bit_or(const Lanes& e) { return e.b.CreateOr(e.x[0], e.x[1]); }
Value* lower_bit_xor(const Lanes& e) { return e.b.CreateXor(e.x[0], e.x[1]); }
Value* lower_shl(const Lanes& e) {
  // Shifts by the width or more are undefined in LLVM.
  const unsigned width = e.x[0]->getType()->getScalarSizeInBits();
  Value* inside = e.b.CreateICmpULT(e.x[1], e.integer(width));
  return e.b.CreateSelect(inside, e.b.CreateShl(e.x[0], e.b.CreateAnd(e.x[1], e.integer(width - 1))), e.integer(0));
}
Value* lower_shr(const Lanes& e) {
  const unsigned width = e.x[0]->getType()->getScalarSizeInBits();
  Value* inside = e.b.CreateICmpULT(e.x[1], e.integer(width));
  if (e.is_signed()) return e.b.CreateAShr(e.x[0], e.b.CreateSelect(inside, e.x[1], e.integer(width - 1)));
  return e.b.CreateSelect(inside, e.b.CreateLShr(e.x[0], e.b.CreateAnd(e.x[1], e.integer(width - 1))), e.integer(0));
}
/// The greater or the lesser of two vectors of at least 128 bits by the instruction vrange, which takes -0 for less than +0 and NaN for no
/// operand.
Value* by_range(llvm::IRBuilder<>& b, bool greater, Value* x, Value* y) {
  auto* type = llvm::cast<llvm::FixedVectorType>(x->getType());
  const unsigned lanes = type->getNumElements();
  const bool single = type->getElementType()->isFloatTy();
  const unsigned bits = lanes * type->getScalarSizeInBits();
  const auto part = [&](Value* v, unsigned first, unsigned count) {
    llvm::SmallVector<int, 64> taken;
    for (unsigned i = 0; i < count; ++i) taken.push_back(static_cast<int>(first + i));
    return b.CreateShuffleVector(v, taken);
  };
  if (bits > 512) {
    llvm::SmallVector<int, 64> all;
    for (unsigned i = 0; i < lanes; ++i) all.push_back(static_cast<int>(i));
    Value* low = by_range(b, greater, part(x, 0, lanes / 2), part(y, 0, lanes / 2));
    return b.CreateShuffleVector(low, by_range(b, greater, part(x, lanes / 2, lanes / 2), part(y, lanes / 2, lanes / 2)), all);
  }
  namespace in = llvm::Intrinsic;
  const ID id = bits == 512   ? (single ? in::x86_avx512_mask_range_ps_512 : in::x86_avx512_mask_range_pd_512)
                : bits == 256 ? (single ? in::x86_avx512_mask_range_ps_256 : in::x86_avx512_mask_range_pd_256)
                              : (single ? in::x86_avx512_mask_range_ps_128 : in::x86_avx512_mask_range_pd_128);
  constexpr unsigned kSignOfResult = 1 << 2, kGreater = 1, kCurrentRounding = 4;
  llvm::SmallVector<Value*, 6> arguments = {x, y, b.getInt32(kSignOfResult | (greater ? kGreater : 0)), llvm::PoisonValue::get(type),
                                            llvm::ConstantInt::getAllOnesValue(b.getIntNTy(std::max(8u, lanes)))};
  if (bits == 512) arguments.push_back(b.getInt32(kCurrentRounding));
  return b.CreateIntrinsic(id, {}, arguments);
}

/// by_range for any number of lanes.
Value* by_range_of_lanes(const Lanes& e, bool greater, Value* x, Value* y) {
  const unsigned lanes = lane_count(x), least = 128 / x->getType()->getScalarSizeInBits();
  if (lanes >= least) return by_range(e.b, greater, x, y);
  auto* wide = llvm::FixedVectorType::get(x->getType()->getScalarType(), least);
  if (!x->getType()->isVectorTy()) {
    const auto in_vector = [&](Value* v) { return e.b.CreateInsertElement(llvm::PoisonValue::get(wide), v, std::uint64_t{0}); };
    return e.b.CreateExtractElement(by_range(e.b, greater, in_vector(x), in_vector(y)), std::uint64_t{0});
  }
  llvm::SmallVector<int, 4> widened(least, llvm::PoisonMaskElem), narrowed;
  for (unsigned i = 0; i < lanes; ++i) {
    widened[i] = static_cast<int>(i);
    narrowed.push_back(static_cast<int>(i));
  }
  return e.b.CreateShuffleVector(by_range(e.b, greater, e.b.CreateShuffleVector(x, widened), e.b.CreateShuffleVector(y, widened)),
                                 narrowed);
}

/// Whether the target has vrange, which is in all processors that have vectors of 512 bits for floats.
bool has_range(const Lanes& e) { return !e.target.is_gpu() && e.target.vector_bits >= 512; }

/// max or min of floats. In max(max(a, b), f(a, b)), LLVM's simplifier (19, foldMinimumMaximumSharedOp) takes any intrinsic f, such as fma,
/// for one of max or min, and crashes: so f is behind a fence, which costs nothing. (The GPU's min and max are other intrinsics.)
Value* extreme(const Lanes& e, ID id, Value* a, Value* b) {
  const auto is = [&](Value* v, bool same) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
    return call && (call->getIntrinsicID() == id) == same;
  };
  const auto fenced = [&](Value* v) { return e.b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {v->getType()}, {v}); };
  if (is(a, true) && is(b, false))
    b = fenced(b);
  else if (is(a, false) && is(b, true))
    a = fenced(a);
  return e.call(id, {a, b});
}
/// NaN if one operand is NaN.
Value* nan_wins(const Lanes& e, ID id) {
  if (!has_range(e)) return extreme(e, id, e.x[0], e.x[1]);
  Value* numbers = by_range_of_lanes(e, id == llvm::Intrinsic::maximum, e.x[0], e.x[1]);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(e.x[0], e.x[1]), llvm::ConstantFP::getNaN(e.x[0]->getType()), numbers);
}
Value* lower_minimum(const Lanes& e) {
  if (e.floating()) return nan_wins(e, llvm::Intrinsic::minimum);
  return e.call(e.is_signed() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
}
Value* lower_maximum(const Lanes& e) {
  if (e.floating()) return nan_wins(e, llvm::Intrinsic::maximum);
  return e.call(e.is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
}
/// A number wins over NaN: each NaN operand is first replaced by the other operand.
Value* number_wins(const Lanes& e, ID id) {
  Value* a = e.b.CreateSelect(e.b.CreateFCmpUNO(e.x[0], e.x[0]), e.x[1], e.x[0]);
  Value* b = e.b.CreateSelect(e.b.CreateFCmpUNO(e.x[1], e.x[1]), e.x[0], e.x[1]);
  return has_range(e) ? by_range_of_lanes(e, id == llvm::Intrinsic::maximum, a, b) : extreme(e, id, a, b);
}
Value* lower_fmin(const Lanes& e) { return number_wins(e, llvm::Intrinsic::minimum); }
Value* lower_fmax(const Lanes& e) { return number_wins(e, llvm::Intrinsic::maximum); }
Value* lower_copysign(const Lanes& e) { return e.call(llvm::Intrinsic::copysign); }
Value* lower_umulhi(const Lanes& e) {
  const unsigned width = e.x[0]->getType()->getScalarSizeInBits();
  llvm::Type* wide = e.lanes_of(e.b.getIntNTy(2 * width));
  Value* product = e.b.CreateMul(e.b.CreateZExt(e.x[0], wide), e.b.CreateZExt(e.x[1], wide));
  return e.b.CreateTrunc(e.b.CreateLShr(product, width), e.x[0]->getType());
}

Value* compare(const Lanes& e, llvm::CmpInst::Predicate floats, llvm::CmpInst::Predicate signeds, llvm::CmpInst::Predicate unsigneds) {
  if (e.floating()) return e.b.CreateFCmp(floats, e.x[0], e.x[1]);
  return e.b.CreateICmp(e.is_signed() ? signeds : unsigneds, e.x[0], e.x[1]);
}
Value* lower_eq(const Lanes& e) { return compare(e, llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, llvm::CmpInst::ICMP_EQ); }
Value* lower_ne(const Lanes& e) { return compare(e, llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, llvm::CmpInst::ICMP_NE); }
Value* lower_lt(const Lanes& e) { return compare(e, llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT); }
Value* lower_le(const Lanes& e) { return compare(e, llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULE); }
Value* lower_gt(const Lanes& e) { return compare(e, llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_UGT); }
Value* lower_ge(const Lanes& e) { return compare(e, llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, llvm::CmpInst::ICMP_UGE); }

// ---- three operands ----

/// f32 on a machine without FMA: the product is exact in f64, and the sum is rounded to odd there, so that rounding it to f32 is the
/// only rounding that shows (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
Value* fma_by_double(const Lanes& e) {
  llvm::Type* wide = e.lanes_of(e.b.getDoubleTy());
  llvm::Type* bits = e.lanes_of(e.b.getInt64Ty());
  Value* p = e.b.CreateFMul(e.b.CreateFPExt(e.x[0], wide), e.b.CreateFPExt(e.x[1], wide));
  Value* c = e.b.CreateFPExt(e.x[2], wide);
  // TwoSum: s + error = p + c exactly.
  Value* s = e.b.CreateFAdd(p, c);
  Value* c_part = e.b.CreateFSub(s, p);
  Value* error = e.b.CreateFAdd(e.b.CreateFSub(p, e.b.CreateFSub(s, c_part)), e.b.CreateFSub(c, c_part));
  // If the sum was inexact and even, the odd neighbour in the direction of the error is the result of rounding to odd.
  Value* zero = llvm::ConstantFP::getZero(wide);
  Value* up = e.b.CreateFCmpOGT(error, zero);
  Value* inexact = e.b.CreateFCmpONE(error, zero);
  Value* raw = e.b.CreateBitCast(s, bits);
  Value* even = e.b.CreateICmpEQ(e.b.CreateAnd(raw, llvm::ConstantInt::get(bits, 1)), llvm::ConstantInt::get(bits, 0));
  Value* away = e.b.CreateICmpEQ(up, e.b.CreateFCmpOGT(s, zero));  // the error points away from zero
  Value* moved = e.b.CreateAdd(raw, e.b.CreateSelect(away, llvm::ConstantInt::get(bits, 1), llvm::ConstantInt::getSigned(bits, -1)));
  Value* odd = e.b.CreateSelect(e.b.CreateAnd(inexact, even), moved, raw);
  return e.b.CreateFPTrunc(e.b.CreateBitCast(odd, wide), e.x[0]->getType());
}
Value* lower_fma(const Lanes& e) {
  if (e.element() == Element::f32 && !e.target.has_fma) return fma_by_double(e);
  return e.call(llvm::Intrinsic::fma);
}
Value* lower_select(const Lanes& e) { return e.b.CreateSelect(e.x[0], e.x[1], e.x[2]); }

// ---- conversions ----

/// The only conversion of a 16-bit float that is still an instruction; passes have turned the others into bit operations.
llvm::Type* half_lanes(const Lanes& e) { return e.lanes_of(e.b.getHalfTy()); }

/// Vectors of floats as saturated integers; NaN is 0. LLVM (19) converts by fptosi.sat on x86 lane by lane, with branches of data flow around
/// each: 1.8 ns an element where a vector takes 0.1 ns. A select takes no poison from the value that it does not choose.
Value* saturated_lanes(const Lanes& e) {
  Value* x = e.x[0];
  const bool sign = ir::is_signed(e.result.element());
  const unsigned bits = static_cast<unsigned>(ir::bits(e.result.element()));
  const auto of_float = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
  const double least = sign ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
  const double behind = std::ldexp(1.0, static_cast<int>(sign ? bits - 1 : bits));  // the first number that is too great
  if (bits < 32) {
    x = e.b.CreateSelect(e.b.CreateFCmpOLT(x, of_float(least)), of_float(least), x);
    x = e.b.CreateSelect(e.b.CreateFCmpOGT(x, of_float(behind - 1)), of_float(behind - 1), x);
    x = e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), of_float(0), x);
    return e.b.CreateTrunc(e.b.CreateFPToSI(x, e.lanes_of(e.b.getInt32Ty())), e.result_type());
  }
  llvm::Type* type = e.result_type();
  const auto of_integer = [&](const llvm::APInt& v) { return llvm::ConstantInt::get(type, v); };
  Value* i = sign ? e.b.CreateFPToSI(x, type) : e.b.CreateFPToUI(x, type);
  const llvm::APInt smallest = sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0);
  const llvm::APInt greatest = sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  i = e.b.CreateSelect(e.b.CreateFCmpOGE(x, of_float(behind)), of_integer(greatest), i);
  i = e.b.CreateSelect(e.b.CreateFCmpOLT(x, of_float(least)), of_integer(smallest), i);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(type), i);
}

Value* lower_cast(const Lanes& e) {
  const Type from = e.types[0];
  const Type to = e.result;
  llvm::Type* type = e.result_type();
  Value* x = e.x[0];
  if (from.element() == Element::f16) {
    TW_CHECK(to.element() == Element::f32 && e.target.has_f16_conversion, "a cast that legalize_floats replaces");
    return e.b.CreateFPExt(e.b.CreateBitCast(x, half_lanes(e)), type);
  }
  if (to.element() == Element::f16) {
    TW_CHECK(from.element() == Element::f32 && e.target.has_f16_conversion, "a cast that legalize_floats replaces");
    return e.b.CreateBitCast(e.b.CreateFPTrunc(x, half_lanes(e)), type);
  }
  if (to.is_bool()) {
    return from.is_float() ? e.b.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType())) : e.b.CreateICmpNE(x, e.integer(0));
  }
  if (from.is_float() && to.is_float()) return e.b.CreateFPCast(x, type);
  if (from.is_float()) {
    if (!e.target.is_gpu() && llvm::isa<llvm::VectorType>(x->getType())) return saturated_lanes(e);
    const ID id = ir::is_signed(to.element()) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return e.b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  const bool sign = !from.is_bool() && ir::is_signed(from.element());
  if (to.is_float()) return sign ? e.b.CreateSIToFP(x, type) : e.b.CreateUIToFP(x, type);
  return e.b.CreateIntCast(x, type, sign);
}
Value* lower_bitcast(const Lanes& e) { return e.b.CreateBitCast(e.x[0], e.result_type()); }
Value* lower_add_ptr(const Lanes& e) {
  Value* offset = e.b.CreateIntCast(e.x[1], e.x[0]->getType(), ir::is_signed(e.types[1].element()));
  const int size = ir::bytes(e.result.element());
  if (size > 1) offset = e.b.CreateMul(offset, e.integer(static_cast<std::uint64_t>(size)));
  return e.b.CreateAdd(e.x[0], offset);
}

}  // namespace

Value* lower_elementwise(llvm::IRBuilder<>& b, const ir::TargetDesc& target, OpKind kind, std::span<const Type> operand_types, Type result,
                         std::span<Value* const> operands) {
  const Lanes e{b, target, operand_types, result, operands};
  switch (kind) {
#define TW_ELEMENTWISE_OP(name) \
  case OpKind::name##_: return lower_##name(e);
#define TW_OTHER_OP(name) \
  case OpKind::name##_: break;
#include "tileir/dispatch.def"
  }
  TW_UNREACHABLE("not an element-wise op");
}

}  // namespace tilewright::backend
