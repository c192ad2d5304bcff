// Follows the factor through the function, from definitions to uses: a value contains the factor, its inverse, or neither.
#include "passes/combine/row_factor.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "passes/combine/reductions.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

enum class Power : std::uint8_t { none, one, inverse, logarithm };

class FactorWalk {
 public:
  FactorWalk(const Function& f, ValueId reference) : f_(f), origin_(origin_of_maximum(f, reference)) {}

  bool is_hidden() {
    // A loop-carried value has the factor if the yielded value has it: once found, it has the factor from the start.
    do {
      has_changed_ = false, is_seen_ = false;
      powers_.clear();
      walk(f_.body());
    } while (has_changed_);
    return !is_seen_;
  }

 private:
  Power of(ValueId v) const {
    const auto known = powers_.find(v.index);
    return known == powers_.end() ? Power::none : known->second;
  }
  bool is_zero(ValueId v) const {
    const std::optional<std::uint64_t> bits = f_.constant_bits(v);
    return bits && *bits == 0;
  }
  bool has_or_is_zero(ValueId v) const { return of(v) == Power::one || is_zero(v); }

  void walk(BlockId block) {
    for (OpId id : f_.ops(block)) {
      const ir::OpData& op = f_.op(id);
      const bool is_loop = op.kind == OpKind::for_;
      if (is_loop) enter(id);
      for (BlockId region : op.regions) walk(region);
      if (is_loop) {
        leave(id);
      } else if (is_weight(id)) {
        powers_[op.results[0].index] = Power::one;
      } else if (std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return of(v) != Power::none; })) {
        const Power power = visit(id);
        if (power != Power::none) powers_[op.results[0].index] = power;
      }
    }
  }

  // Operands of a loop: first its bounds, then the initial values of the carried values.
  static constexpr std::size_t kBounds = 3;

  void enter(OpId loop) {
    const ir::OpData& op = f_.op(loop);
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const bool is_carried = i >= kBounds && carried_.contains({loop.index, i - kBounds});
      if (is_carried ? !has_or_is_zero(op.operands[i]) : of(op.operands[i]) != Power::none) is_seen_ = true;
      if (is_carried) powers_[f_.arg(f_.region(loop), static_cast<int>(i - kBounds) + 1).index] = Power::one;
    }
  }
  void leave(OpId loop) {
    const OpId end = f_.terminator(f_.region(loop));
    for (std::size_t i = 0; i < f_.op(end).operands.size(); ++i) {
      const ValueId v = f_.op(end).operands[i];
      const bool is_carried = carried_.contains({loop.index, i});
      if (of(v) == Power::one && !is_carried) carried_.insert({loop.index, i}), has_changed_ = true;
      if (is_carried && !has_or_is_zero(v)) is_seen_ = true;
      if (is_carried) powers_[f_.op(loop).results[i].index] = Power::one;
    }
  }

  // The power of the factor in an op's result if an operand has the factor. Any op not known to keep the factor separate observes it.
  Power visit(OpId id) {
    const ir::OpData& op = f_.op(id);
    const auto& x = op.operands;
    const auto seen = [&] { return is_seen_ = true, Power::none; };
    switch (op.kind) {
      case OpKind::reshape_:
      case OpKind::permute_:
      case OpKind::broadcast_: return of(x[0]);
      case OpKind::cast_: return of(x[0]) == Power::one && has_range(f_.type(op.results[0])) ? Power::one : seen();
      case OpKind::reduce_: return of(x[0]) == Power::one && reduction_by(f_, op.results[0], {OpKind::add_}) ? Power::one : seen();
      case OpKind::add_:
        for (int i : {0, 1})
          if (of(x[i]) == Power::logarithm) return is_reference(x[1 - i]) ? Power::none : seen();
        [[fallthrough]];
      case OpKind::sub_: return sum_of(x[0], x[1]);
      case OpKind::mul_: return product(of(x[0]), of(x[1]), seen);
      case OpKind::div_: return quotient(of(x[0]), of(x[1]), seen);
      case OpKind::fma_:
      case OpKind::dot_: {
        const Power factors = product(of(x[0]), of(x[1]), seen);
        if (factors == Power::inverse || (factors == Power::none && !is_zero(x[2]) && of(x[2]) != Power::one)) return seen();
        is_seen_ = is_seen_ || factors == Power::none || !has_or_is_zero(x[2]);
        return Power::one;
      }
      case OpKind::select_:
        if (of(x[0]) != Power::none) return seen();
        return is_comparison_with_zero(x[0]) ? Power::one : sum_of(x[1], x[2]);
      case OpKind::eq_:
      case OpKind::gt_: return is_comparison_with_zero(op.results[0]) ? Power::none : seen();
      case OpKind::log_: return of(x[0]) == Power::one ? Power::logarithm : seen();
      case OpKind::yield_: return is_of_for(id) ? Power::none : seen();
      default: return seen();
    }
  }

  // The other operand may turn out to have the factor when more is known about loop-carried values.
  Power sum_of(ValueId a, ValueId b) {
    is_seen_ = is_seen_ || !has_or_is_zero(a) || !has_or_is_zero(b);
    return of(a) == Power::one || of(b) == Power::one ? Power::one : Power::none;
  }

  template <class Seen>
  static Power product(Power a, Power b, Seen seen) {
    if (a == Power::logarithm || b == Power::logarithm) return seen();
    if (a == Power::none) return b;
    if (b == Power::none) return a;
    return a != b ? Power::none : seen();
  }
  template <class Seen>
  static Power quotient(Power a, Power b, Seen seen) {
    if (a == Power::logarithm || b == Power::logarithm || b == Power::inverse) return seen();
    if (b == Power::none) return a;
    if (a == Power::none) return Power::inverse;
    return a == Power::one ? Power::none : seen();
  }

  // Weights up to 1, times a factor between 2^-8 and 2^8, are in the range of the type and as precise as without it; 8 bits are not enough.
  static bool has_range(Type t) { return t.is_float() && t.element_bytes() >= 2; }
  // A sum that is 0 remains 0 under any factor.
  bool is_comparison_with_zero(ValueId v) const {
    const OpId op = f_.value(before_reshapes(f_, v)).op;
    if (!op || (f_.kind(op) != OpKind::eq_ && f_.kind(op) != OpKind::gt_)) return false;
    return of(f_.operand(op, 0)) == Power::one && is_zero(f_.operand(op, 1));
  }
  bool is_of_for(OpId yield) const {
    const OpId parent = f_.block(f_.op(yield).parent).parent;
    return parent && f_.kind(parent) == OpKind::for_;
  }
  bool is_reference(ValueId v) const { return origin_of_maximum(f_, v) == origin_; }
  bool is_weight(OpId id) const {
    if (f_.kind(id) != OpKind::exp_) return false;
    const OpId sub = f_.defined_by(f_.operand(id, 0), OpKind::sub_);
    const OpId broadcast = sub ? f_.defined_by(f_.operand(sub, 1), OpKind::broadcast_) : OpId{};
    return broadcast && is_reference(f_.operand(broadcast, 0));
  }

  const Function& f_;
  const std::pair<OpId, int> origin_;
  std::map<std::uint32_t, Power> powers_;
  std::set<std::pair<std::uint32_t, std::size_t>> carried_;  // values that have the factor: by loop and index
  bool has_changed_ = false, is_seen_ = false;
};

}  // namespace

bool is_row_factor_hidden(const Function& f, ValueId reference) { return FactorWalk(f, reference).is_hidden(); }

std::pair<OpId, int> origin_of_maximum(const Function& f, ValueId v) {
  constexpr int kMostLoops = 16;
  for (int i = 0; i < kMostLoops; ++i) {
    v = maximum_of_reference(f, v);
    // The result of a loop is the value that its last iteration yielded.
    if (const OpId loop = f.defined_by(v, OpKind::for_)) {
      const auto& results = f.op(loop).results;
      const auto at = std::find(results.begin(), results.end(), v) - results.begin();
      v = before_reshapes(f, f.operand(f.terminator(f.region(loop)), static_cast<int>(at)));
    }
    const OpId maximum = f.defined_by(v, OpKind::maximum_);
    if (!maximum) return {f.value(v).op, -1};
    const BlockId body = f.op(maximum).parent;
    const OpId loop = f.block(body).parent;
    ValueId carried;
    for (ValueId x : f.op(maximum).operands)
      if (!f.value(x).op && f.value(x).block == body && f.value(x).number > 0) carried = x;
    if (!carried || !loop || f.kind(loop) != OpKind::for_) return {maximum, -1};
    const int number = static_cast<int>(f.value(carried).number) - 1;
    const ValueId start = f.operand(loop, 3 + number);
    if (!f.defined_by(before_reshapes(f, start), OpKind::for_)) return {loop, number};
    v = start;
  }
  return {f.value(v).op, -1};
}

}  // namespace tilewright::passes
