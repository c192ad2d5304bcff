// Rules for comparisons, for select, and for bit_not of either.
#include "passes/canonicalize/rules.h"
#include "tileir/comparison.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

/// The negation of a comparison `k`. For floats only == and != have a negation, since NaN is neither < nor >=.
std::optional<OpKind> inverse(OpKind k, bool is_float) {
  switch (k) {
    case OpKind::eq_: return OpKind::ne_;
    case OpKind::ne_: return OpKind::eq_;
    default: break;
  }
  if (is_float) return std::nullopt;
  switch (k) {
    case OpKind::lt_: return OpKind::ge_;
    case OpKind::ge_: return OpKind::lt_;
    case OpKind::gt_: return OpKind::le_;
    case OpKind::le_: return OpKind::gt_;
    default: return std::nullopt;
  }
}

ValueId truth(Rewriter& rw, const Binary& x, bool value) { return rw.constant_bits(x.type.with_element(ir::Element::boolean), value); }

ValueId fold_integer_comparison(Rewriter& rw, OpKind k, const Binary& x) {
  const Function& f = rw.ir();
  if (!x.c) return {};
  const std::uint64_t mask = element_mask(x.element), top = std::uint64_t{1} << (x.width - 1);
  const std::uint64_t least = ir::is_signed(x.element) ? top : 0, greatest = ir::is_signed(x.element) ? top - 1 : mask;
  const auto next = [&] { return rw.constant_bits(x.type, (*x.c + 1) & mask); };
  switch (k) {
    case OpKind::lt_: return x.is(least) ? truth(rw, x, false) : ValueId{};  // x < least -> false
    case OpKind::ge_:
      return x.is(least) ? truth(rw, x, true) : ValueId{};  // x >= least -> true
    // x <= c -> x < c + 1, x > c -> x >= c + 1: one form for all bounds
    case OpKind::le_: return x.is(greatest) ? truth(rw, x, true) : rw.binary(OpKind::lt_, x.a, next());
    case OpKind::gt_: return x.is(greatest) ? truth(rw, x, false) : rw.binary(OpKind::ge_, x.a, next());
    default: break;
  }
  if (const OpId sum = f.defined_by(x.a, OpKind::add_)) {
    const Binary in(f, sum);
    if (in.c)  // x + c1 == c2 -> x == c2 - c1
      return rw.binary(k, in.a, rw.constant_bits(x.type, (*x.c - *in.c) & mask));
  }
  return {};
}

ValueId fold_comparison(Rewriter& rw, OpKind k, const Binary& x) {
  const bool equal_operands = x.a == x.b;
  if (x.type.is_float())  // x < x -> false, NaN or not
    return equal_operands && (k == OpKind::lt_ || k == OpKind::gt_) ? truth(rw, x, false) : ValueId{};
  if (equal_operands) return truth(rw, x, k == OpKind::eq_ || k == OpKind::le_ || k == OpKind::ge_);
  if (x.type.is_bool()) {
    if (!x.c) return {};
    // x == true, x != false -> x; x == false, x != true -> ~x
    return (k == OpKind::eq_) == x.is(1) ? x.a : rw.unary(OpKind::bit_not_, x.a);
  }
  return x.type.is_integer() ? fold_integer_comparison(rw, k, x) : ValueId{};
}

ValueId fold_not(Rewriter& rw, ValueId x) {
  const Function& f = rw.ir();
  const OpId compare = f.value(x).op;
  if (!compare || !ir::is_comparison(f.kind(compare))) return {};
  const auto k = inverse(f.kind(compare), f.type(f.operand(compare, 0)).is_float());
  // ~(x < y) -> x >= y
  return k ? rw.binary(*k, f.operand(compare, 0), f.operand(compare, 1)) : ValueId{};
}

ValueId fold_select(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId c = f.operand(id, 0), a = f.operand(id, 1), b = f.operand(id, 2);
  if (const auto known = f.constant_bits(c)) return *known != 0 ? a : b;                        // true ? x : y -> x
  if (a == b) return a;                                                                         // c ? x : x -> x
  if (const ValueId not_c = operand_of(f, c, OpKind::bit_not_)) return rw.select(not_c, b, a);  // ~c ? x : y -> c ? y : x
  const auto ca = f.constant_bits(a), cb = f.constant_bits(b);
  if (ca && cb && *ca == *cb) return a;
  if (!f.type(a).is_bool()) return {};
  if (ca)
    return *ca != 0 ? rw.binary(OpKind::bit_or_, c, b)                                // c ? true : x -> c | x
                    : rw.binary(OpKind::bit_and_, rw.unary(OpKind::bit_not_, c), b);  // c ? false : x -> ~c & x
  if (cb)
    return *cb != 0 ? rw.binary(OpKind::bit_or_, rw.unary(OpKind::bit_not_, c), a)  // c ? x : true -> ~c | x
                    : rw.binary(OpKind::bit_and_, c, a);                            // c ? x : false -> c & x
  return {};
}

}  // namespace

ValueId fold_choice(Rewriter& rw, OpId id) {
  const OpKind k = rw.ir().kind(id);
  if (ir::is_comparison(k)) return fold_comparison(rw, k, Binary(rw.ir(), id));
  if (k == OpKind::bit_not_) return fold_not(rw, rw.ir().operand(id, 0));
  if (k == OpKind::select_) return fold_select(rw, id);
  return {};
}

}  // namespace tilewright::passes::canonical
