// Comparisons of 64-bit indices in loops become comparisons of 32-bit numbers of elements, which are half as many vectors.
//
//   broadcast(k) + cast<i64>(j) < broadcast(n)   ->   j < broadcast(cast<i32>(clamp(n - k)))     k, n: scalars, j: a tile of i32
//   0 <= broadcast(k) + cast<i64>(j)             ->   true, if the ranges of k and j tell it
//
// Input, output: traced IR. Masks change, and their values stay the same. Only on hosts: on GPUs, an index belongs to one thread. Only in
// loops: outside of them a comparison costs little, and live_extents knows the form with the whole index. See
// tests/files/passes/narrow_comparisons/.
#include <limits>
#include <optional>
#include <vector>

#include "passes/analysis/axis_info.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr Range kNarrow{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
// Sums and differences of such numbers do not wrap.
constexpr Range kWide{-(std::int64_t{1} << 60), std::int64_t{1} << 60};

bool is_comparison(OpKind k) { return k == OpKind::lt_ || k == OpKind::le_ || k == OpKind::gt_ || k == OpKind::ge_; }

class ComparisonNarrower {
 public:
  explicit ComparisonNarrower(Function& f) : f_(f), rw_(f), axes_(f) {}

  bool run(const std::vector<OpId>& comparisons) {
    for (OpId id : comparisons) {
      const bool is_less = f_.kind(id) == OpKind::lt_ || f_.kind(id) == OpKind::le_;
      const bool or_equal = f_.kind(id) == OpKind::le_ || f_.kind(id) == OpKind::ge_;
      const ValueId low = f_.operand(id, is_less ? 0 : 1), high = f_.operand(id, is_less ? 1 : 0);
      if (axes_.range(low).hi < axes_.range(high).lo + (or_equal ? 1 : 0)) {
        rw_.at(id);
        rw_.replace(id, rw_.constant_bits(f_.type(f_.result(id)), 1));
        continue;
      }
      const std::optional<Index> index = index_of(low);
      const ValueId bound = scalar_of(high);
      if (index && bound) narrow(id, *index, bound, or_equal);
    }
    return rw_.changed();
  }

 private:
  /// first + cast<i64>(number), where `first` is a scalar and `number` a tile of i32.
  struct Index {
    ValueId first, number;
  };

  std::optional<Index> index_of(ValueId v) const {
    const OpId sum = f_.defined_by(v, OpKind::add_);
    if (!sum) return std::nullopt;
    for (int i : {0, 1}) {
      const ValueId first = scalar_of(f_.operand(sum, i));
      const OpId cast = f_.defined_by(f_.operand(sum, 1 - i), OpKind::cast_);
      if (first && cast && f_.type(f_.operand(cast, 0)).element() == Element::i32) return Index{first, f_.operand(cast, 0)};
    }
    return std::nullopt;
  }

  /// The scalar that a tile consists of; none if it is another tile.
  ValueId scalar_of(ValueId v) const {
    const OpId broadcast = f_.defined_by(v, OpKind::broadcast_);
    return broadcast && f_.type(f_.operand(broadcast, 0)).is_scalar() ? f_.operand(broadcast, 0) : ValueId{};
  }

  void narrow(OpId id, const Index& index, ValueId bound, bool or_equal) {
    const Range first = axes_.range(index.first), number = axes_.range(index.number);
    // The limits from which on no element, and all elements, are below the difference.
    const Range limits{number.lo - (or_equal ? 1 : 0), number.hi + (or_equal ? 0 : 1)};
    if (!kWide.contains(first) || !kNarrow.contains(limits)) return;
    rw_.at(id);
    // The bound is limited too, so that the difference does not wrap.
    const ValueId nearby = limited(bound, {first.lo + limits.lo, first.hi + limits.hi});
    const ValueId count = rw_.cast(limited(rw_.binary(OpKind::sub_, nearby, index.first), limits), Element::i32);
    const Type t = f_.type(index.number);
    const ValueId counts = rw_.broadcast(count, t.shape());
    rw_.replace(id, rw_.binary(or_equal ? OpKind::le_ : OpKind::lt_, index.number, counts));
  }

  ValueId limited(ValueId v, const Range& to) {
    const Type t = f_.type(v);
    const ValueId low = rw_.binary(OpKind::maximum_, v, rw_.constant(t, static_cast<std::int64_t>(to.lo)));
    return rw_.binary(OpKind::minimum_, low, rw_.constant(t, static_cast<std::int64_t>(to.hi)));
  }

  Function& f_;
  Rewriter rw_;
  AxisInfoAnalysis axes_;  // of the values of the input: only these are queried
};

bool is_in_loop(const Function& f, OpId id) {
  for (OpId parent = f.block(f.op(id).parent).parent; parent; parent = f.block(f.op(parent).parent).parent)
    if (f.kind(parent) == OpKind::for_ || f.kind(parent) == OpKind::while_) return true;
  return false;
}

}  // namespace

bool narrow_comparisons(Function& f, const PassContext& context) {
  if (context.target.is_gpu()) return false;
  std::vector<OpId> comparisons;
  f.walk([&](OpId id) {
    if (is_comparison(f.kind(id)) && !f.type(f.operand(id, 0)).is_scalar() && f.type(f.operand(id, 0)).element() == Element::i64 &&
        is_in_loop(f, id))
      comparisons.push_back(id);
  });
  return !comparisons.empty() && ComparisonNarrower(f).run(comparisons);
}

}  // namespace tilewright::passes
