// Splits loops in which masks cut only the last iterations: the iterations before run in a loop of their own, without these masks.
//
//   for k = lo to hi step s: load p + k, k + j < n && r < m      (j = 0 ... most)
//     ->   mid = lo + s * (the number of k, from lo, with k < min(hi, n - most)), or lo if not all r < m
//          for k = lo to mid step s: load p + k
//          for k = mid to hi step s: load p + k, k + j < n && r < m
//
// Input, output: traced IR. Numerics do not change. Only on hosts: on GPUs, version_masked_accesses decides at each access. See
// tests/files/passes/split_masked_loops/.
//
// For each loop of small tiles without loops and products in it, and for each one that counts or has atomics:
//   1. find_masks: splits the masks of loads, stores, selects, histograms and atomics into comparisons of the counter, whose last iteration
//      without a cut is computed before the loop, and masks that do not change in the loop and can be tested before it (all_true_mask.h).
//   2. split: clones the loop in front of itself; in the clone these comparisons and masks are true.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/masks/all_true_mask.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

// Ops of a body. A larger one gains little from a mask less, and would make much code twice.
constexpr std::size_t kMaxOps = 96;
// Vectors of a tile. The loop nest of a larger one counts the lanes of each row, and masks only the last of them; but histograms and
// atomics read a mask for each of their elements.
constexpr std::int64_t kMaxVectors = 16;
// Sums and differences of a few such numbers do not wrap.
constexpr std::int64_t kFar = std::int64_t{1} << 60;

bool is_per_element(const Function& f, OpId id) {
  return f.kind(id) == OpKind::histogram_ || ir::info(f.kind(id)).family == ir::Family::atomic;
}

/// The mask, or condition, of an op that can do without if it is all-true.
ValueId condition_of(const Function& f, OpId id) {
  const OpKind k = f.kind(id);
  if (k == OpKind::select_) return f.operand(id, 0);
  if (k == OpKind::histogram_) return f.op(id).operands.size() > 1 ? f.operand(id, 1) : ValueId{};
  return k == OpKind::load_ || k == OpKind::store_ || is_per_element(f, id) ? ir::mask_of(f, id) : ValueId{};
}

/// a * counter + base + [0, most], a sum of parts that are not negative; `base` is a scalar that the loop does not change, or none.
struct Sum {
  std::int64_t a = 0, most = 0;
  ValueId base;
};

/// A comparison in the loop that holds where sum < bound, or sum <= bound; if there is no bound, where the sum does not wrap.
struct Limit {
  ValueId comparison, bound;
  Sum sum;
  bool or_equal = false;
};

struct Masks {
  std::vector<Limit> limits;
  std::vector<ValueId> invariant;
  void merge(const Masks& o) {
    for (const Limit& l : o.limits)
      if (std::none_of(limits.begin(), limits.end(), [&](const Limit& x) { return x.comparison == l.comparison; })) limits.push_back(l);
    for (ValueId v : o.invariant)
      if (std::find(invariant.begin(), invariant.end(), v) == invariant.end()) invariant.push_back(v);
  }
};

class LoopSplitter {
 public:
  explicit LoopSplitter(Function& f) : f_(f), rw_(f), all_true_(rw_), axes_(f) {}

  bool run(const std::vector<OpId>& loops) {
    for (OpId loop : loops) {
      const Masks masks = find_masks(loop);
      const auto is_end = [](const Limit& l) { return l.bound.valid(); };
      if (std::any_of(masks.limits.begin(), masks.limits.end(), is_end)) split(loop, masks);
    }
    return rw_.changed();
  }

 private:
  std::optional<std::int64_t> constant(ValueId v) const { return ir::constant_integer(f_, v); }
  bool is_signed_index(ValueId v) const {
    return f_.type(v).is_integer() && (f_.type(v).element() == Element::i32 || f_.type(v).element() == Element::i64);
  }
  /// Whether a scalar may be a part of a sum: it is certainly not too large, and not negative, or that is tested before the loop.
  bool is_near(ValueId v) const {
    return is_signed_index(v) && axes_.range(v).hi <= kFar && (axes_.range(v).lo >= 0 || f_.type(v).element() == Element::i32);
  }

  // ---- 1. find masks ----

  Masks find_masks(OpId loop) {
    loop_ = loop;
    body_ = f_.region(loop);
    const auto step = constant(f_.operand(loop, 2)), lo = constant(f_.operand(loop, 0)), hi = constant(f_.operand(loop, 1));
    if (!step || *step <= 0 || *step > kFar || !is_signed_index(f_.operand(loop, 0))) return {};
    if (lo && hi && *hi - *lo <= *step) return {};
    Masks all;
    for (OpId id : f_.ops(body_)) {
      const ValueId mask = condition_of(f_, id);
      if (!mask || f_.type(mask).is_scalar()) continue;
      Masks found;
      if (divide(mask, found)) all.merge(found);
    }
    return all;
  }

  /// Divides a mask into what can be true in the clone; false if a part of it cannot.
  bool divide(ValueId mask, Masks& found) const {
    if (!f_.encloses(body_, f_.defining_block(mask))) {
      if (all_true_.is_known(mask)) found.invariant.push_back(mask);
      return true;
    }
    const OpId id = f_.value(mask).op;
    if (!id) return false;
    switch (f_.kind(id)) {
      case OpKind::bit_and_: return divide(f_.operand(id, 0), found) && divide(f_.operand(id, 1), found);
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::permute_: return divide(f_.operand(id, 0), found);
      case OpKind::lt_:
      case OpKind::le_: return compare(mask, f_.operand(id, 0), f_.operand(id, 1), f_.kind(id) == OpKind::le_, found);
      case OpKind::gt_:
      case OpKind::ge_: return compare(mask, f_.operand(id, 1), f_.operand(id, 0), f_.kind(id) == OpKind::ge_, found);
      default: return false;
    }
  }

  bool compare(ValueId comparison, ValueId low, ValueId high, bool or_equal, Masks& found) const {
    if (!is_signed_index(low)) return false;
    const auto c = constant(moved(low, true));
    if (c && *c <= (or_equal ? 0 : -1)) {  // checks of views have this form
      const auto sum = sum_of(high);
      if (sum) found.limits.push_back({comparison, {}, *sum, false});
      return sum.has_value();
    }
    const auto sum = sum_of(low);
    const ValueId bound = moved(high, true);
    if (!sum || sum->a == 0 || !f_.type(bound).is_scalar() || !is_signed_index(bound) || is_in_loop(bound)) return false;
    found.limits.push_back({comparison, bound, *sum, or_equal});
    return true;
  }

  bool is_in_loop(ValueId v) const { return f_.encloses(body_, f_.defining_block(v)); }

  std::optional<Sum> sum_of(ValueId v) const {
    if (const auto leaf = leaf_of(moved(v, true))) return leaf;
    // A sum in a narrower type could wrap before it is cast.
    v = moved(v, false);
    if (const OpId add = f_.defined_by(v, OpKind::add_)) {
      const auto x = sum_of(f_.operand(add, 0)), y = sum_of(f_.operand(add, 1));
      if (!x || !y || (x->base && y->base) || x->most > kFar - y->most || x->a > kFar - y->a) return std::nullopt;
      return Sum{x->a + y->a, x->most + y->most, x->base ? x->base : y->base};
    }
    const OpId mul = f_.defined_by(v, OpKind::mul_);
    for (int i = 0; mul && i < 2; ++i) {
      const auto factor = constant(moved(f_.operand(mul, i), true));
      const auto x = sum_of(f_.operand(mul, 1 - i));
      if (!factor || !x || x->base || *factor <= 0 || x->a > kFar / *factor || x->most > kFar / *factor) continue;
      return Sum{x->a * *factor, x->most * *factor, {}};
    }
    return std::nullopt;
  }

  std::optional<Sum> leaf_of(ValueId v) const {
    if (v == f_.arg(body_, 0)) return Sum{1, 0, {}};
    if (const auto c = constant(v)) return *c < 0 || *c > kFar ? std::nullopt : std::optional(Sum{0, *c, {}});
    if (const OpId arange = f_.defined_by(v, OpKind::arange_))
      return f_.attr(arange, AttrName::lo) < 0 ? std::nullopt : std::optional(Sum{0, f_.attr(arange, AttrName::hi) - 1, {}});
    return f_.type(v).is_scalar() && is_near(v) && !is_in_loop(v) ? std::optional(Sum{0, 0, v}) : std::nullopt;
  }

  /// The value whose elements this value has, before ops that move elements and casts to wider integers, which preserve the value.
  ValueId moved(ValueId v, bool through_casts) const {
    for (;;) {
      const OpId id = f_.value(v).op;
      if (!id) return v;
      const OpKind k = f_.kind(id);
      const bool moves = k == OpKind::broadcast_ || k == OpKind::reshape_ || k == OpKind::permute_;
      const bool widens = through_casts && k == OpKind::cast_ && is_signed_index(v) && is_signed_index(f_.operand(id, 0)) &&
                          ir::bits(f_.type(v).element()) > ir::bits(f_.type(f_.operand(id, 0)).element());
      if (!moves && !widens) return v;
      v = f_.operand(id, 0);
    }
  }

  // ---- 2. split ----

  void split(OpId loop, const Masks& masks) {
    rw_.at(loop);
    const ValueId mid = last_end(masks);
    ir::ValueMap copies;
    const OpId first = rw_.clone(loop, copies);
    rw_.set_operand(first, 1, mid);
    rw_.set_operand(loop, 0, mid);
    for (int i = 0; i < static_cast<int>(f_.op(first).results.size()); ++i) rw_.set_operand(loop, i + 3, f_.result(first, i));
    for (const Limit& l : masks.limits) rw_.replace(f_.value(copies(l.comparison)).op, all_true(first, l.comparison));
    for (ValueId mask : masks.invariant) {
      const ValueId is_true = all_true(first, mask);
      for (OpId id : f_.ops(f_.region(first)))
        for (int i = 0; i < static_cast<int>(f_.op(id).operands.size()); ++i)
          if (f_.operand(id, i) == mask) rw_.set_operand(id, i, is_true);
    }
  }

  /// A mask of the same type, before the loop.
  ValueId all_true(OpId before, ValueId mask) {
    rw_.at(before);
    return rw_.constant(f_.type(mask), 1);
  }

  ValueId i64(std::int64_t c) { return rw_.constant(Type(Element::i64), c); }
  ValueId wide(ValueId v) { return rw_.cast(v, Element::i64); }

  /// The counter from which on an iteration may need a mask, in the type of the counter; at most the end of the loop.
  ValueId last_end(const Masks& masks) {
    const ValueId counter = f_.operand(loop_, 0), lo = wide(counter), hi = wide(f_.operand(loop_, 1));
    const ValueId step = i64(*constant(f_.operand(loop_, 2)));
    ValueId end = hi, all;
    const auto test_sign = [&](ValueId v) {
      if (axes_.knows(v) && axes_.range(v).lo >= 0) return;
      all = all_true_.both(all, rw_.binary(OpKind::ge_, v, rw_.constant(f_.type(v), 0)));
    };
    test_sign(counter);
    if (f_.type(counter).element() == Element::i64 && !(axes_.knows(counter) && axes_.range(counter).hi <= kFar))
      all = all_true_.both(all, rw_.binary(OpKind::le_, counter, i64(kFar)));
    for (const Limit& l : masks.limits) {
      end = rw_.binary(OpKind::minimum_, end, end_of(l));
      if (l.sum.base) test_sign(l.sum.base);
    }
    for (ValueId mask : masks.invariant) all = all_true_.both(all, all_true_.scalar(mask));
    const ValueId distance = rw_.binary(OpKind::sub_, rw_.binary(OpKind::maximum_, end, lo), lo);
    const ValueId up = rw_.binary(OpKind::add_, distance, i64(*constant(step) - 1));
    ValueId covered = rw_.binary(OpKind::mul_, rw_.binary(OpKind::div_, up, step), step);
    if (all) covered = rw_.select(all, covered, i64(0));
    // At least the first counter, so that what is known of that is known of the second loop.
    const ValueId mid = rw_.binary(OpKind::minimum_, rw_.binary(OpKind::add_, lo, covered), hi);
    return rw_.cast(rw_.binary(OpKind::maximum_, mid, lo), f_.type(counter).element());
  }

  /// The number from which on a counter may exceed the limit: the least c with a * c + base + most >= bound. i64, at most kFar.
  ValueId end_of(const Limit& l) {
    const Element e = f_.type(f_.operand(f_.value(l.comparison).op, 0)).element();
    const std::int64_t greatest = e == Element::i32 ? std::numeric_limits<std::int32_t>::max() : kFar;
    ValueId bound = l.bound ? wide(l.bound) : i64(greatest);
    if (l.bound && f_.type(l.bound).element() == Element::i64)
      bound = rw_.binary(OpKind::minimum_, rw_.binary(OpKind::maximum_, bound, i64(-kFar)), i64(kFar));
    if (l.sum.base) bound = rw_.binary(OpKind::sub_, bound, wide(l.sum.base));
    bound = rw_.binary(OpKind::sub_, bound, i64(l.sum.most - (l.or_equal ? 1 : 0)));
    if (l.sum.a <= 1) return bound;
    const ValueId up = rw_.binary(OpKind::add_, rw_.binary(OpKind::maximum_, bound, i64(0)), i64(l.sum.a - 1));
    return rw_.binary(OpKind::div_, up, i64(l.sum.a));
  }

  Function& f_;
  Rewriter rw_;
  AllTrueMask all_true_;
  AxisInfoAnalysis axes_;  // of the values of the input
  OpId loop_;
  BlockId body_;
};

bool may_split(const Function& f, OpId loop, std::int64_t max_elements) {
  std::size_t ops = 0;
  bool is_simple = true, has_large_tile = false, is_per_element_masked = false, has_mask = false;
  f.walk(f.region(loop), [&](OpId id) {
    const ir::Family family = ir::info(f.kind(id)).family;
    const bool has_regions = !f.op(id).regions.empty() && family != ir::Family::reduce && family != ir::Family::atomic;
    const auto& results = f.op(id).results;
    const bool is_large = std::any_of(results.begin(), results.end(), [&](ValueId v) { return f.type(v).elements() > max_elements; });
    is_simple = is_simple && !has_regions && family != ir::Family::linalg;
    has_large_tile = has_large_tile || is_large;
    const bool is_masked = condition_of(f, id).valid();
    is_per_element_masked = is_per_element_masked || (is_masked && is_per_element(f, id));
    has_mask = has_mask || is_masked;
    ++ops;
  });
  return is_simple && (!has_large_tile || is_per_element_masked) && has_mask && ops <= kMaxOps;
}

}  // namespace

bool split_masked_loops(Function& f, const PassContext& context) {
  if (context.target.is_gpu() || context.check) return false;
  const std::int64_t max_elements = kMaxVectors * context.target.lanes();
  std::vector<OpId> loops;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::for_ && may_split(f, id, max_elements)) loops.push_back(id);
  });
  return !loops.empty() && LoopSplitter(f).run(loops);
}

}  // namespace tilewright::passes
