// Lowers assumptions: hints become equalities and multiple_of ops that other passes use or, in checked mode, assertions. Inline PTX is
// replaced by its fallback on targets that do not run PTX.
//
// Input: traced IR. Output: traced IR without assume and, unless checked, without device_assert. Numerics do not change if the hints
// hold. See tests/files/passes/lower_assumptions/.
#include <fmt/format.h>

#include <algorithm>

#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/ptx_constraints.h"

namespace tilewright::passes {

namespace {

/// Whether the op is in a combine region, which takes elements one by one: hints about a tile make no sense there.
bool is_in_combine_region(const Function& f, OpId id) {
  for (OpId owner = parent_op(f, id); owner; owner = parent_op(f, owner))
    if (ir::combines(f.kind(owner))) return true;
  return false;
}

// ---- checked mode ----

class HintChecker {
 public:
  explicit HintChecker(Rewriter& rw) : rw_(rw), f_(rw.ir()) {}

  void visit(OpId id) {
    const OpKind k = f_.kind(id);
    rw_.at(id);
    if (k == OpKind::assume_) {
      expect(ir::Reason::assume, "", f_.operand(id, 0), {});
      rw_.erase(id);
    } else if (k == OpKind::multiple_of_ || k == OpKind::max_contiguous_) {
      const ValueId x = f_.operand(id, 0);
      k == OpKind::multiple_of_ ? check_multiple(id, x) : check_contiguous(id, x);
      rw_.replace(id, x);
    } else if (k == OpKind::gather_) {
      check_gather(id);
    }
  }

 private:
  void expect(ir::Reason reason, std::string text, ValueId condition, ValueId seen) {
    std::vector<ValueId> operands{condition};
    if (seen) {
      operands.push_back(rw_.constant(f_.type(condition), 1));  // an all-true mask: `seen` is the operand after the mask
      operands.push_back(seen);
    }
    rw_.create(OpKind::device_assert_, operands,
               {ir::Attr{AttrName::text, 0, {}, std::move(text)}, ir::Attr{AttrName::reason, static_cast<std::int64_t>(reason), {}, {}}});
  }

  /// Integers and addresses as 64-bit integers, so that a divisor or a sum fits.
  ValueId wide(ValueId x) {
    const Type t = f_.type(x);
    if (t.is_pointer()) return rw_.bitcast(x, Type(Element::u64));
    return rw_.cast(x, ir::is_signed(t.element()) ? Element::i64 : Element::u64);
  }

  ValueId splat(ValueId like, std::int64_t v) { return rw_.constant(f_.type(like), v); }

  /// Indices along the last axis, in the shape of x.
  ValueId positions(ValueId x) {
    const Type t = f_.type(x);
    std::vector<std::int64_t> line(static_cast<std::size_t>(t.rank()), 1);
    line.back() = t.extent(t.rank() - 1);
    return rw_.broadcast(rw_.reshape(rw_.arange(0, line.back()), line), t.shape());
  }

  /// Whether an element equals its predecessor along the last axis plus `step`; false at index 0, which is compared with itself.
  ValueId follows(ValueId x, std::int64_t step) {
    const Type t = f_.type(x);
    const ValueId at = positions(x);
    const ValueId before = rw_.binary(OpKind::maximum_, rw_.binary(OpKind::sub_, at, splat(at, 1)), splat(at, 0));
    const ValueId operands[] = {x, before};
    const ValueId neighbour = f_.result(rw_.create(OpKind::gather_, operands, {ir::Attr{AttrName::axis, t.rank() - 1, {}, {}}}));
    return rw_.binary(OpKind::eq_, x, rw_.binary(OpKind::add_, neighbour, splat(x, step)));
  }

  std::int64_t step_of(ValueId x) const { return f_.type(x).is_pointer() ? ir::bytes(f_.type(x).element()) : 1; }

  void check_multiple(OpId id, ValueId x) {
    const std::int64_t divisor = f_.attr(id, AttrName::divisor);
    const ValueId word = wide(x);
    ValueId holds = rw_.binary(OpKind::eq_, rw_.binary(OpKind::rem_, word, splat(word, divisor)), splat(word, 0));
    if (!f_.type(x).is_scalar()) holds = rw_.binary(OpKind::bit_or_, holds, follows(word, step_of(x)));
    expect(ir::Reason::multiple_of, fmt::format("{}", divisor), holds, x);
  }

  void check_contiguous(OpId id, ValueId x) {
    if (f_.type(x).is_scalar()) return;
    const std::int64_t length = f_.attr(id, AttrName::length);
    // A run is at most as long as the tile.
    const std::int64_t run = std::min(length, f_.type(x).extent(f_.type(x).rank() - 1));
    if (run == 1) return;
    const ValueId at = positions(x);
    const ValueId first = rw_.binary(OpKind::eq_, rw_.binary(OpKind::rem_, at, splat(at, run)), splat(at, 0));
    const ValueId holds = rw_.binary(OpKind::bit_or_, first, follows(wide(x), step_of(x)));
    expect(ir::Reason::max_contiguous, fmt::format("{}", length), holds, x);
  }

  void check_gather(OpId id) {
    const ValueId index = f_.operand(id, 1);
    const std::int64_t extent = f_.type(f_.operand(id, 0)).extent(static_cast<int>(f_.attr(id, AttrName::axis)));
    // Read as unsigned numbers, negative indices are large.
    const ValueId word = rw_.cast(rw_.cast(index, Element::i64), Element::u64);
    const ValueId holds = rw_.binary(OpKind::lt_, word, splat(word, extent));
    expect(ir::Reason::gather, fmt::format("0 to {}", extent - 1), holds, index);
  }

  Rewriter& rw_;
  const Function& f_;
};

// ---- otherwise ----

/// Applies an assumption to the ops after it: those later in its block, and those in their regions.
class AssumptionLowering {
 public:
  explicit AssumptionLowering(Rewriter& rw) : rw_(rw), f_(rw.ir()) {}

  void visit(OpId id) {
    if (f_.kind(id) == OpKind::device_assert_) rw_.erase(id);
    if (f_.kind(id) != OpKind::assume_) return;
    rw_.at(id);
    assume_true(id, f_.operand(id, 0));
    rw_.erase(id);
  }

 private:
  void assume_true(OpId assume, ValueId condition) {
    if (const OpId both = f_.defined_by(condition, OpKind::bit_and_)) {
      const ValueId a = f_.operand(both, 0), b = f_.operand(both, 1);
      assume_true(assume, a);
      assume_true(assume, b);
    } else if (const OpId equal = f_.defined_by(condition, OpKind::eq_)) {
      const ValueId a = f_.operand(equal, 0), b = f_.operand(equal, 1);
      if (constant(b))
        assume_equal(assume, a, b);
      else if (constant(a))
        assume_equal(assume, b, a);
    }
    // `if (c)` after assume(c)
    if (!constant(condition)) replace_after(assume, condition, rw_.constant(f_.type(condition), 1));
  }

  void assume_equal(OpId assume, ValueId x, ValueId c) {
    const Type t = f_.type(x);
    if (!t.is_integer()) return;  // floats are excluded: +0 == -0, and NaN != NaN
    if (constant(c) == 0u) {
      if (const OpId rem = f_.defined_by(x, OpKind::rem_)) {  // x % d == 0
        if (const auto d = constant(f_.operand(rem, 1))) assume_multiple(assume, f_.operand(rem, 0), ir::integer_value(t.element(), *d));
      } else if (const OpId masked = f_.defined_by(x, OpKind::bit_and_)) {  // (x & (2^n - 1)) == 0
        for (int i : {0, 1})
          if (const auto m = constant(f_.operand(masked, i)))
            assume_multiple(assume, f_.operand(masked, 1 - i), ir::integer_value(t.element(), ~*m & (*m + 1)));
      }
    }
    replace_after(assume, x, c);
  }

  /// Records that x, and the value that x was cast or bitcast from, are multiples of d.
  void assume_multiple(OpId assume, ValueId x, std::int64_t d) {
    if (d < 2 || constant(x)) return;
    const OpId def = f_.value(x).op;
    if (def && (f_.kind(def) == OpKind::cast_ || f_.kind(def) == OpKind::bitcast_)) {
      const Type from = f_.type(f_.operand(def, 0)), to = f_.type(x);
      // A cast preserves the value modulo a power of two, so only that factor of d divides the operand of the cast.
      if ((from.is_integer() || from.is_pointer()) && from.element_bits() <= to.element_bits())
        assume_multiple(assume, f_.operand(def, 0), d & -d);
    }
    const OpId hint = rw_.create(OpKind::multiple_of_, std::span(&x, 1), {ir::Attr{AttrName::divisor, d, {}, {}}});
    replace_after(assume, x, f_.result(hint), hint);
  }

  /// Replaces uses of `from` by `to` in ops after `where`.
  void replace_after(OpId where, ValueId from, ValueId to, OpId except = {}) {
    const std::vector<OpId> users = f_.value(from).users;
    for (OpId user : users) {
      if (user == except || user == where || !comes_after(user, where)) continue;
      for (std::size_t i = 0; i < f_.op(user).operands.size(); ++i)
        if (f_.operand(user, static_cast<int>(i)) == from) rw_.set_operand(user, static_cast<int>(i), to);
    }
  }

  /// Whether `op`, or an op that contains it, comes after `where` in its block.
  bool comes_after(OpId op, OpId where) const {
    op = ancestor_in(f_, op, f_.op(where).parent);
    if (!op || op == where) return false;
    for (OpId next = f_.op(where).next; next; next = f_.op(next).next)
      if (next == op) return true;
    return false;
  }

  /// The bits of a constant, or of a broadcast of a constant, which traced IR may contain.
  std::optional<std::uint64_t> constant(ValueId v) const {
    while (true) {
      if (const auto bits = f_.constant_bits(v)) return bits;
      const OpId spread = f_.defined_by(v, OpKind::broadcast_);
      if (!spread) return std::nullopt;
      v = f_.operand(spread, 0);
    }
  }

  Rewriter& rw_;
  const Function& f_;
};

/// The front end has checked inline PTX; a kernel that was parsed from text has not been checked.
void check_inline_ptx(const Function& f, OpId id) {
  std::vector<Type> types;
  for (ValueId v : f.op(id).operands) types.push_back(f.type(v));
  if (f.attr(id, AttrName::has_fallback)) types.pop_back();
  const std::string wrong =
      ir::wrong_with_inline_ptx(f.attr_text(id, AttrName::text), f.attr_text(id, AttrName::constraints), f.type(f.result(id)), types);
  if (!wrong.empty()) throw Error(f.where(id), "inline_ptx: " + wrong);
}

}  // namespace

bool lower_assumptions(Function& f, const PassContext& context) {
  Rewriter rw(f);
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::inline_ptx_) return;
    if (context.target.is_gpu()) return check_inline_ptx(f, id);
    if (!f.attr(id, AttrName::has_fallback))
      throw Error(f.where(id),
                  "inline_ptx: this target does not run PTX; add what to compute instead: a last argument that is callable over the tiles");
    rw.replace(id, f.op(id).operands.back());
  });
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    if ((k == OpKind::multiple_of_ || k == OpKind::max_contiguous_) && is_in_combine_region(f, id)) rw.replace(id, f.operand(id, 0));
  });
  if (context.check) {
    HintChecker checker(rw);
    f.walk([&](OpId id) { checker.visit(id); });
  } else {
    AssumptionLowering lowering(rw);
    f.walk([&](OpId id) { lowering.visit(id); });
  }
  return rw.changed();
}

}  // namespace tilewright::passes
