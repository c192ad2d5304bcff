// Rules for loops that run zero times or once, branches with a known condition, and loop-carried values that do not change.
#include "passes/canonicalize/rules.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes::canonical {

namespace {

/// The operands of an op from index `first` on.
std::vector<ValueId> operands_from(const Function& f, OpId id, int first) {
  const auto& all = f.op(id).operands;
  return {all.begin() + first, all.end()};
}

bool has_any_use(const Function& f, std::initializer_list<ValueId> values) {
  for (ValueId v : values)
    if (f.has_uses(v)) return true;
  return false;
}

bool fold_for(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const auto trips = constant_trip_count(f, id);
  const std::vector<ValueId> init = operands_from(f, id, 3);
  if (trips == 0u) {  // no trip: the initial values
    rw.replace(id, init);
    return true;
  }
  const BlockId body = f.region(id);
  if (trips == 1u) {  // one trip: the body
    std::vector<ValueId> values = init;
    values.insert(values.begin(), f.operand(id, 0));
    rw.replace(id, rw.inline_block(body, values, id));
    return true;
  }
  bool changed = false;
  for (std::size_t k = 0; k < init.size(); ++k) {
    const int i = static_cast<int>(k);
    const ValueId arg = f.arg(body, i + 1), result = f.result(id, i), next = f.operand(f.terminator(body), i);
    // If the next value is the argument or the initial value, the argument is always the initial value.
    if ((next != arg && next != init[k]) || !has_any_use(f, {arg, result})) continue;
    if (next == arg && f.value(arg).users.size() == 1 && !f.has_uses(result)) continue;  // dead, not invariant: left to remove_dead
    rw.replace_uses(arg, init[k]);
    rw.replace_uses(result, init[k]);
    changed = true;
  }
  return changed;
}

/// Whether computing both arms and selecting costs less than branching.
bool is_worth_selecting(const Function& f, OpId id) {
  constexpr int kFewOps = 4;
  for (ValueId v : f.op(id).results)
    if (!f.type(v).is_scalar()) return false;
  int count = 0;
  for (BlockId b : f.op(id).regions)
    for (OpId inner : f.ops(b)) {
      const ir::OpInfo& info = ir::info(f.kind(inner));
      if (info.has(ir::kTerminator)) continue;
      if (!info.has(ir::kPure) || info.regions > 0 || f.kind(inner) == OpKind::dot_) return false;
      for (ValueId v : f.op(inner).results)
        if (!f.type(v).is_scalar()) return false;
      if (++count > kFewOps) return false;
    }
  return true;
}

bool fold_if(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId condition = f.operand(id, 0);
  const BlockId then = f.region(id, 0), otherwise = f.region(id, 1);
  if (const auto c = f.constant_bits(condition)) {  // if true x else y -> x
    rw.replace(id, rw.inline_block(*c != 0 ? then : otherwise, {}, id));
    return true;
  }
  bool changed = false;
  for (std::size_t k = 0; k < f.op(id).results.size(); ++k) {
    const int i = static_cast<int>(k);
    const ValueId result = f.result(id, i);
    const ValueId a = f.operand(f.terminator(then), i), b = f.operand(f.terminator(otherwise), i);
    if (!f.has_uses(result)) continue;
    const auto ca = f.constant_bits(a), cb = f.constant_bits(b);
    if (a == b) {  // both arms yield the same value, which is defined outside
      rw.replace_uses(result, a);
      changed = true;
    } else if (ca && cb && *ca == *cb) {
      rw.replace_uses(result, rw.constant_bits(f.type(a), *ca));
      changed = true;
    }
  }
  if (f.op(id).results.empty() || !is_worth_selecting(f, id)) return changed;
  // if c { x } else { y } -> c ? x : y
  const std::vector<ValueId> a = rw.inline_block(then, {}, id), b = rw.inline_block(otherwise, {}, id);
  std::vector<ValueId> chosen;
  for (std::size_t k = 0; k < a.size(); ++k) chosen.push_back(rw.select(condition, a[k], b[k]));
  rw.replace(id, chosen);
  return true;
}

bool fold_while(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const BlockId before = f.region(id, 0), after = f.region(id, 1);
  const OpId condition = f.terminator(before), yield = f.terminator(after);
  const std::vector<ValueId> init = f.op(id).operands;
  if (const auto c = f.constant_bits(f.operand(condition, 0)); c && *c == 0) {  // while false: the first region runs once
    std::vector<ValueId> out = rw.inline_block(before, init, id);
    out.erase(out.begin());
    rw.replace(id, out);
    return true;
  }
  bool changed = false;
  for (std::size_t k = 0; k < init.size(); ++k) {
    const int i = static_cast<int>(k);
    const ValueId arg = f.arg(before, i), forwarded = f.operand(condition, i + 1), next = f.operand(yield, i);
    // A value that comes back unchanged is always the initial value.
    if (f.has_uses(arg) && (next == init[k] || (forwarded == arg && next == f.arg(after, i)))) {
      rw.replace_uses(arg, init[k]);
      changed = true;
    }
  }
  for (std::size_t k = 0; k < f.op(id).results.size(); ++k) {
    const int i = static_cast<int>(k);
    const ValueId forwarded = f.operand(condition, i + 1), arg = f.arg(after, i), result = f.result(id, i);
    // A forwarded value that is defined outside of the loop need not be forwarded.
    if (f.encloses(before, f.defining_block(forwarded)) || !has_any_use(f, {arg, result})) continue;
    rw.replace_uses(arg, forwarded);
    rw.replace_uses(result, forwarded);
    changed = true;
  }
  return changed;
}

bool fold_reduce(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const int axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  if (f.type(f.operand(id, 0)).log2_extent(axis) > 0) return false;
  // along an extent of 1: reduce(x) -> reshape(x)
  std::vector<ValueId> values;
  for (ValueId v : std::vector<ValueId>(f.op(id).operands)) {
    std::vector<std::int64_t> shape = f.type(v).shape();
    shape.erase(shape.begin() + axis);
    values.push_back(rw.reshape(v, shape));
  }
  rw.replace(id, values);
  return true;
}

bool fold_scan(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const int axis = static_cast<int>(f.attr(id, ir::AttrName::axis));
  if (f.type(f.operand(id, 0)).log2_extent(axis) > 0) return false;
  rw.replace(id, std::vector<ValueId>(f.op(id).operands));  // along an extent of 1: scan(x) -> x
  return true;
}

}  // namespace

std::optional<std::uint64_t> constant_trip_count(const Function& f, OpId loop) {
  const auto lo = constant_integer(f, f.operand(loop, 0)), hi = constant_integer(f, f.operand(loop, 1)),
             step = constant_integer(f, f.operand(loop, 2));
  if (step == 0 || f.operand(loop, 0) == f.operand(loop, 1)) return 0;
  if (!lo || !hi || !step) return std::nullopt;
  const bool up = *step > 0;
  if (up ? *lo >= *hi : *lo <= *hi) return 0;
  // The difference of two 64-bit integers fits into 64 bits unsigned.
  const auto from = static_cast<std::uint64_t>(up ? *lo : *hi), to = static_cast<std::uint64_t>(up ? *hi : *lo);
  const std::uint64_t stride = up ? static_cast<std::uint64_t>(*step) : 0 - static_cast<std::uint64_t>(*step);
  return (to - from - 1) / stride + 1;
}

bool fold_control(Rewriter& rw, OpId id) {
  switch (rw.ir().kind(id)) {
    case OpKind::for_: return fold_for(rw, id);
    case OpKind::if_: return fold_if(rw, id);
    case OpKind::while_: return fold_while(rw, id);
    case OpKind::reduce_: return fold_reduce(rw, id);
    case OpKind::scan_: return fold_scan(rw, id);
    default: return false;
  }
}

}  // namespace tilewright::passes::canonical
