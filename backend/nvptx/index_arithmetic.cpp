// Index arithmetic of a thread's registers: what they have in common is computed once, and each adds its constant.
//
// A thread's elements lie apart by constants: of row indices i + k, offsets (i + k) * ld are i * ld + k * ld, an instruction each instead
// of two, and sums of pointers take first what all registers have in common. Integers wrap, so no bit changes.
#include <algorithm>

#include "backend/nvptx/lowering.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::nvptx {

namespace {

/// Whether a thread's elements are all one value.
bool is_common(const Registers& v) {
  return std::all_of(v.begin(), v.end(), [&](Value* x) { return x == v[0]; });
}

std::int64_t wrapped(OpKind k, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(k == OpKind::add_ ? x + y : k == OpKind::sub_ ? x - y : x * y);
}

}  // namespace

NvptxLowering::Linear NvptxLowering::linear(Value* v) const {
  if (const auto known = linear_.find(v); known != linear_.end()) return known->second;
  if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v)) return {nullptr, nullptr, c->getSExtValue()};
  return {v, nullptr, 0};
}

Value* NvptxLowering::value_of(const Linear& l, llvm::Type* type) {
  if (l.number == 0) return l.leader ? l.leader : llvm::Constant::getNullValue(type);
  Value* number = llvm::ConstantInt::getSigned(type, l.number);
  Value* part = l.scale ? b_.CreateMul(l.scale, number) : number;
  Value* sum = l.leader ? b_.CreateAdd(l.leader, part) : part;
  if (!llvm::isa<llvm::Constant>(sum)) linear_[sum] = l;
  return sum;
}

std::optional<NvptxLowering::Linear> NvptxLowering::combined(OpKind k, Linear a, Linear b, Leaders& leaders) {
  const auto leader = [&](Value* x, Value* y) -> Value* {
    Value*& known = leaders[{x, y}];
    if (known) return known;
    if (k == OpKind::mul_) return known = b_.CreateMul(x, y);
    if (k == OpKind::add_) return known = !x ? y : !y ? x : b_.CreateAdd(x, y);
    return known = !y ? x : !x ? b_.CreateNeg(y) : b_.CreateSub(x, y);
  };
  if (k != OpKind::mul_) {
    if (a.number != 0 && b.number != 0 && a.scale != b.scale) return std::nullopt;
    Value* scale = a.number != 0 ? a.scale : b.scale;
    Value* sum = a.leader || b.leader ? leader(a.leader, b.leader) : nullptr;
    return Linear{sum, scale, wrapped(k, a.number, b.number)};
  }
  const auto is_constant = [](const Linear& l) { return !l.leader && !l.scale; };
  const auto is_one = [](const Linear& l) { return l.leader && l.number == 0; };
  if (is_constant(a)) std::swap(a, b);
  if (is_constant(b)) {
    Value* product = a.leader ? leader(a.leader, llvm::ConstantInt::getSigned(a.leader->getType(), b.number)) : nullptr;
    return Linear{product, a.scale, wrapped(k, a.number, b.number)};
  }
  if (is_one(a)) std::swap(a, b);
  if (!is_one(b) || (a.scale && a.number != 0)) return std::nullopt;
  return Linear{a.leader ? leader(a.leader, b.leader) : nullptr, b.leader, a.number};
}

bool NvptxLowering::emit_index_arithmetic(OpId id) {
  const OpKind k = f_.kind(id);
  const ValueId y = f_.result(id);
  if (f_.type(y).is_scalar()) return false;
  if (k == OpKind::add_ptr_) return emit_address(id);
  if ((k != OpKind::add_ && k != OpKind::sub_ && k != OpKind::mul_) || !f_.type(y).is_integer()) return false;
  const Registers &a = registers(f_.operand(id, 0)), &b = registers(f_.operand(id, 1));
  if (k == OpKind::add_ && is_common(a) != is_common(b) && emit_sum(id)) return true;
  const auto is_apart = [&](Value* v) { return linear_.count(v) != 0; };
  if (std::none_of(a.begin(), a.end(), is_apart) && std::none_of(b.begin(), b.end(), is_apart)) return false;
  Leaders leaders;
  std::vector<Linear> all;
  for (std::size_t r = 0; r < a.size(); ++r) {
    const std::optional<Linear> l = combined(k, linear(a[r]), linear(b[r]), leaders);
    if (!l) return false;
    all.push_back(*l);
  }
  std::map<std::pair<Value*, std::int64_t>, Value*> same;
  Registers out;
  for (const Linear& l : all) {
    Value*& v = same[{l.leader, l.number}];
    if (!v) v = value_of(l, type_of(y));
    out.push_back(v);
  }
  set(y, std::move(out));
  return true;
}

bool NvptxLowering::emit_sum(OpId id) {
  const Registers &a = registers(f_.operand(id, 0)), &b = registers(f_.operand(id, 1));
  const bool first = is_common(a);
  const Registers& rest = first ? b : a;
  // What lies apart by constants is better added up as that.
  if (std::any_of(rest.begin(), rest.end(), [&](Value* v) { return linear_.count(v) != 0; })) return false;
  Registers out;
  for (Value* v : rest) {
    out.push_back(b_.CreateAdd((first ? a : b)[0], v));
    if (!llvm::isa<llvm::Constant>(out.back())) sums_[out.back()] = {(first ? a : b)[0], v};
  }
  set(f_.result(id), std::move(out));
  return true;
}

bool NvptxLowering::emit_address(OpId id) {
  const ValueId y = f_.result(id);
  const Registers &p = registers(f_.operand(id, 0)), &offsets = registers(f_.operand(id, 1));
  if (is_common(p) && is_common(offsets)) return false;
  const std::int64_t bytes = f_.type(y).pointee().element_bytes();
  const bool is_signed = ir::is_signed(f_.type(f_.operand(id, 1)).element());
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
  const bool is_whole = offsets[0]->getType()->isIntegerTy(64);  // a narrower sum wraps before it is a distance
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
  set(y, std::move(out));
  return true;
}

}  // namespace tilewright::backend::nvptx
