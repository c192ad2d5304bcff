// Reassociates addresses in loops: the terms that do not change in the loop are added first, before the loop.
//
//   add_ptr(broadcast(add_ptr(b, (i + r) * n)), c)   ->   base = add_ptr(b, c), rows = r * n in front of the loop;
//                                                         add_ptr(base, broadcast(i * n) + rows) in the loop on i
//
//   1. Terms of an address: the offsets of a chain of add_ptr and broadcasts, down to a pointer that does not change in the loop.
//   2. Split each offset into a uniform part, a scalar that changes in the loop, and an invariant part, a tile that does not change.
//   3. Emit the invariant terms before the loop, and in the loop the others, each as the sum of a scalar and an invariant tile.
//
// Input, output: traced IR. Numerics: integers and addresses wrap, so no bit changes. See tests/files/passes/reassociate/.
#include <algorithm>
#include <optional>

#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

/// The address computations of one loop.
class LoopAddresses {
 public:
  LoopAddresses(Rewriter& rw, OpId loop) : rw_(rw), f_(rw.function()), loop_(loop), body_(f_.region(loop)) {}

  void run() {
    std::vector<OpId> addresses;
    for (OpId id : f_.ops(body_))
      if (is_last_of_chain(id)) addresses.push_back(id);
    for (OpId id : addresses) reassociate(id);
  }

 private:
  /// uniform + invariant; none stands for 0. The uniform part is a scalar.
  struct Split {
    ValueId uniform, invariant;
  };

  bool is_invariant(ValueId v) const { return !is_defined_in(f_, v, body_); }

  /// Whether the op is the address of an access, and not a term of another address.
  bool is_last_of_chain(OpId id) const {
    if (f_.kind(id) != OpKind::add_ptr_ || f_.type(f_.result(id)).is_scalar()) return false;
    const auto& users = f_.value(f_.result(id)).users;
    return std::any_of(users.begin(), users.end(), [&](OpId user) {
      return f_.kind(user) != OpKind::add_ptr_ && f_.kind(user) != OpKind::broadcast_ && f_.kind(user) != OpKind::yield_;
    });
  }

  // ---- 1. terms ----

  void reassociate(OpId id) {
    std::vector<ValueId> terms;  // last one first
    ValueId base = f_.result(id);
    while (!is_invariant(base)) {
      const OpId op = f_.value(base).op;
      if (!op) return;
      if (f_.kind(op) == OpKind::add_ptr_)
        terms.push_back(f_.operand(op, 1));
      else if (f_.kind(op) != OpKind::broadcast_)
        return;
      base = f_.operand(op, 0);
    }
    std::reverse(terms.begin(), terms.end());
    bool changes = false, varies = false;
    for (ValueId t : terms) {
      if (!is_invariant(t) && !can_split(t)) return;
      changes = changes || (is_invariant(t) ? varies : multiplies(t));
      varies = varies || !is_invariant(t);
    }
    if (changes) emit(id, base, terms);
  }

  // ---- 2. split offsets ----

  bool can_split(ValueId v) const {
    if (is_invariant(v) || is_splat(f_, v)) return true;
    const OpId id = f_.value(v).op;
    if (!id || !f_.type(v).is_integer()) return false;
    switch (f_.kind(id)) {
      case OpKind::add_: return can_split(f_.operand(id, 0)) && can_split(f_.operand(id, 1));
      case OpKind::mul_: return scaled_operand(id) >= 0 && can_split(f_.operand(id, scaled_operand(id)));
      case OpKind::broadcast_:
      case OpKind::reshape_: return can_split(f_.operand(id, 0));
      default: return false;
    }
  }
  /// The operand of a product whose other operand is an invariant splat; -1 if there is none.
  int scaled_operand(OpId id) const {
    for (int i : {0, 1})
      if (const ValueId scale = f_.operand(id, 1 - i); is_splat(f_, scale) && is_invariant(scale)) return i;
    return -1;
  }
  /// Whether the loop multiplies the tile, which the split avoids.
  bool multiplies(ValueId v) const {
    const OpId id = f_.value(v).op;
    if (is_invariant(v) || is_splat(f_, v) || !id) return false;
    if (f_.kind(id) == OpKind::mul_) return true;
    const auto& operands = f_.op(id).operands;
    return std::any_of(operands.begin(), operands.end(), [&](ValueId x) { return multiplies(x); });
  }

  Split split(ValueId v, OpId at) {
    if (is_invariant(v)) return {{}, v};
    const Element e = f_.type(v).element();
    if (is_splat(f_, v)) {
      rw_.at(at);
      return {splat_scalar(rw_, v, e), {}};
    }
    const OpId id = f_.value(v).op;
    const auto& operands = f_.op(id).operands;
    switch (f_.kind(id)) {
      case OpKind::add_: {
        const ValueId second = operands[1];
        const Split a = split(operands[0], at), b = split(second, at);
        return {sum(a.uniform, b.uniform, at), sum(a.invariant, b.invariant, loop_)};
      }
      case OpKind::mul_: {
        const int i = scaled_operand(id);
        const ValueId scale = operands[static_cast<std::size_t>(1 - i)];
        const Split x = split(operands[static_cast<std::size_t>(i)], at);
        rw_.at(loop_);
        const ValueId scalar = splat_scalar(rw_, scale, e);
        const ValueId invariant =
            x.invariant ? rw_.binary(OpKind::mul_, x.invariant, rw_.broadcast(scalar, f_.type(v).shape())) : ValueId{};
        rw_.at(at);
        return {x.uniform ? rw_.binary(OpKind::mul_, x.uniform, scalar) : ValueId{}, invariant};
      }
      default: {
        const bool is_broadcast = f_.kind(id) == OpKind::broadcast_;
        Split x = split(operands[0], at);
        rw_.at(loop_);
        if (x.invariant)
          x.invariant = is_broadcast ? rw_.broadcast(x.invariant, f_.type(v).shape()) : rw_.reshape(x.invariant, f_.type(v).shape());
        return x;
      }
    }
  }

  ValueId sum(ValueId a, ValueId b, OpId at) {
    if (!a || !b) return a ? a : b;
    rw_.at(at);
    return rw_.binary(OpKind::add_, a, b);
  }

  // ---- 3. emit ----

  void emit(OpId id, ValueId base, const std::vector<ValueId>& terms) {
    const Type type = f_.type(f_.result(id));
    const auto add = [&](ValueId pointer, ValueId offset, OpId at) {
      rw_.at(at);
      const auto whole = [&](ValueId v) { return f_.type(v).shape() == type.shape() ? v : rw_.broadcast(v, type.shape()); };
      const ValueId x = whole(pointer), y = whole(offset);
      return rw_.add_ptr(x, y);
    };
    for (ValueId t : terms)
      if (is_invariant(t)) base = add(base, t, loop_);
    ValueId address = base;
    for (ValueId t : terms) {
      if (is_invariant(t)) continue;
      const Split s = split(t, id);
      ValueId offset = s.invariant;
      if (s.uniform) {
        rw_.at(id);
        const ValueId uniform = offset ? rw_.broadcast(s.uniform, f_.type(offset).shape()) : s.uniform;
        offset = offset ? rw_.binary(OpKind::add_, uniform, offset) : uniform;
      }
      address = add(address, offset, id);
    }
    rw_.replace(id, address);
  }

  Rewriter& rw_;
  Function& f_;
  const OpId loop_;
  const BlockId body_;
};

}  // namespace

bool reassociate(Function& f, const PassContext&) {
  Rewriter rw(f);
  std::vector<OpId> loops;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::for_) loops.push_back(id);
  });
  for (OpId loop : loops) LoopAddresses(rw, loop).run();
  if (rw.changed()) canonical::remove_dead(rw);
  return rw.changed();
}

}  // namespace tilewright::passes
