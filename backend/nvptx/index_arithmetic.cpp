// Rules for affine expressions, and for sums with a part that is common to all registers.
#include "backend/nvptx/index_arithmetic.h"

#include <algorithm>
#include <tuple>

#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

namespace {

/// Whether all elements of a thread are the same value.
bool is_common(const Registers& v) {
  return std::all_of(v.begin(), v.end(), [&](Value* x) { return x == v[0]; });
}

std::int64_t wrapped(OpKind k, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(k == OpKind::add_ ? x + y : k == OpKind::sub_ ? x - y : x * y);
}

}  // namespace

void IndexArithmetic::define(Value* v, const AffineExpression& x) {
  if (!llvm::isa<llvm::Constant>(v)) affine_[v] = x;
}

AffineExpression IndexArithmetic::expression_of(Value* v) const {
  if (const auto known = affine_.find(v); known != affine_.end()) return known->second;
  if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v)) return {nullptr, nullptr, c->getSExtValue()};
  return {v, nullptr, 0};
}

Value* IndexArithmetic::value_of(const AffineExpression& x, llvm::Type* type) {
  if (x.offset == 0) return x.base ? x.base : llvm::Constant::getNullValue(type);
  Value* offset = llvm::ConstantInt::getSigned(type, x.offset);
  Value* part = x.scale ? b_.CreateMul(x.scale, offset) : offset;
  Value* sum = x.base ? b_.CreateAdd(x.base, part) : part;
  define(sum, x);
  return sum;
}

std::optional<AffineExpression> IndexArithmetic::combined(OpKind k, AffineExpression a, AffineExpression b, Bases& bases) {
  const auto base = [&](Value* x, Value* y) -> Value* {
    Value*& known = bases[{x, y}];
    if (known) return known;
    if (k == OpKind::mul_) return known = b_.CreateMul(x, y);
    if (k == OpKind::add_) return known = !x ? y : !y ? x : b_.CreateAdd(x, y);
    return known = !y ? x : !x ? b_.CreateNeg(y) : b_.CreateSub(x, y);
  };
  if (k != OpKind::mul_) {
    if (a.offset != 0 && b.offset != 0 && a.scale != b.scale) return std::nullopt;
    Value* scale = a.offset != 0 ? a.scale : b.scale;
    Value* sum = a.base || b.base ? base(a.base, b.base) : nullptr;
    return AffineExpression{sum, scale, wrapped(k, a.offset, b.offset)};
  }
  const auto is_constant = [](const AffineExpression& x) { return !x.base && !x.scale; };
  const auto is_base = [](const AffineExpression& x) { return x.base && x.offset == 0; };
  if (is_constant(a)) std::swap(a, b);
  if (is_constant(b)) {
    Value* product = a.base ? base(a.base, llvm::ConstantInt::getSigned(a.base->getType(), b.offset)) : nullptr;
    return AffineExpression{product, a.scale, wrapped(k, a.offset, b.offset)};
  }
  if (is_base(a)) std::swap(a, b);
  if (!is_base(b) || (a.scale && a.offset != 0)) return std::nullopt;
  return AffineExpression{a.base ? base(a.base, b.base) : nullptr, b.base, a.offset};
}

bool IndexArithmetic::emit(OpId id) {
  const Function& f = e_.f();
  const OpKind k = f.kind(id);
  const ValueId y = f.result(id);
  if (f.type(y).is_scalar()) return false;
  if (k == OpKind::add_ptr_) return emit_address(id);
  if ((k != OpKind::add_ && k != OpKind::sub_ && k != OpKind::mul_) || !f.type(y).is_integer()) return false;
  const Registers &a = e_.registers(f.operand(id, 0)), &b = e_.registers(f.operand(id, 1));
  if (k == OpKind::add_ && is_common(a) != is_common(b) && emit_sum(id)) return true;
  const auto is_known = [&](Value* v) { return affine_.count(v) != 0; };
  if (std::none_of(a.begin(), a.end(), is_known) && std::none_of(b.begin(), b.end(), is_known)) return false;
  Bases bases;
  std::vector<AffineExpression> all;
  for (std::size_t r = 0; r < a.size(); ++r) {
    const std::optional<AffineExpression> x = combined(k, expression_of(a[r]), expression_of(b[r]), bases);
    if (!x) return false;
    all.push_back(*x);
  }
  std::map<std::tuple<Value*, Value*, std::int64_t>, Value*> same;
  Registers out;
  for (const AffineExpression& x : all) {
    Value*& v = same[{x.base, x.scale, x.offset}];
    if (!v) v = value_of(x, register_type(b_.getContext(), f.type(y)));
    out.push_back(v);
  }
  e_.set(y, std::move(out));
  return true;
}

bool IndexArithmetic::emit_sum(OpId id) {
  const Function& f = e_.f();
  const Registers &a = e_.registers(f.operand(id, 0)), &b = e_.registers(f.operand(id, 1));
  const bool first = is_common(a);
  const Registers& rest = first ? b : a;
  // Sums of affine expressions are better lowered as affine expressions.
  if (std::any_of(rest.begin(), rest.end(), [&](Value* v) { return affine_.count(v) != 0; })) return false;
  Registers out;
  for (Value* v : rest) {
    out.push_back(b_.CreateAdd((first ? a : b)[0], v));
    if (!llvm::isa<llvm::Constant>(out.back())) sums_[out.back()] = {(first ? a : b)[0], v};
  }
  e_.set(f.result(id), std::move(out));
  return true;
}

bool IndexArithmetic::emit_address(OpId id) {
  const Function& f = e_.f();
  const ValueId y = f.result(id);
  const Registers &p = e_.registers(f.operand(id, 0)), &offsets = e_.registers(f.operand(id, 1));
  if (is_common(p) && is_common(offsets)) return false;
  const std::int64_t bytes = f.type(y).pointee().element_bytes();
  const bool is_signed = ir::is_signed(f.type(f.operand(id, 1)).element());
  std::map<Value*, Value*> scaled;
  const auto in_bytes = [&](Value* offset) {
    Value*& v = scaled[offset];
    if (v) return v;
    v = b_.CreateIntCast(offset, b_.getInt64Ty(), is_signed);
    if (bytes > 1) v = b_.CreateMul(v, b_.getInt64(static_cast<std::uint64_t>(bytes)));
    return v;
  };
  std::map<std::pair<Value*, Value*>, Value*> sums;
  const auto sum = [&](Value* a, Value* b) {
    Value*& v = sums[{a, b}];
    if (!v) v = b_.CreateAdd(a, b);
    return v;
  };
  const bool is_whole = offsets[0]->getType()->isIntegerTy(64);  // a narrower sum wraps before it becomes a distance
  Registers out;
  for (std::size_t r = 0; r < p.size(); ++r) {
    const auto pointer = sums_.find(p[r]), offset = sums_.find(offsets[r]);
    Sum s{p[r], in_bytes(offsets[r])};
    if (is_common(offsets) && pointer != sums_.end())
      s = {sum(pointer->second.common, s.rest), pointer->second.rest};
    else if (is_common(p) && is_whole && offset != sums_.end())
      s = {sum(p[r], in_bytes(offset->second.common)), in_bytes(offset->second.rest)};
    out.push_back(sum(s.common, s.rest));
    if (is_common(p) || is_common(offsets)) sums_[out.back()] = s;
  }
  e_.set(y, std::move(out));
  return true;
}

}  // namespace tilewright::backend::nvptx
