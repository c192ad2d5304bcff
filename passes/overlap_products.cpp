// Overlaps chained products of a loop with the work between them: the last product of an iteration runs in the next one.
//
//   for i = lo to hi (o, slot)                      if lo < hi
//     wait for full[slot]                             the iteration lo, up to its last product: p, q
//     s = mma_wait mma_async a, b[slot], 0            for i = lo + step to hi (p, q, slot, before)
//     p = f(s); q = g(o, s)                   ->        wait for full[slot]
//     o' = mma_wait mma_async p, c[slot], q             d = mma_async a, b[slot], 0; e = mma_async p, c[before], q
//     arrive at empty[slot]                             s = mma_wait d {pending = 1}; p' = f(s)
//     yield o'                                          o = mma_wait e {pending = 0}; arrive at empty[before]
//                                                       q' = g(o, s); yield p', q'
//                                                     o' = mma_wait mma_async p, c[before], q; arrive at empty[before]
//
// So the tensor cores multiply while threads compute f, such as the exponentials of a softmax. A second wait for full[slot], which is over,
// stands before the wait for e: ptxas would move that wait up to the one for d, but not into another basic block.
//
//   1. find_rotation: the loops of roles whose last product has a factor in registers that depends on the product before it. Only what is
//      pure may read its sums; the slots are handed back after it, and another role fills them: at least 3, so that there is one to fill
//      beside the two that an iteration reads.
//   2. rotate: the form above. What needs the sums comes behind their wait, and so does the cast of the factor: its registers are those that
//      the product has read.
//
// Input, output: distributed. Numerics do not change. See tests/files/passes/overlap_products/.
#include <algorithm>
#include <optional>
#include <set>

#include "passes/analysis/axis_info.h"
#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"
#include "tileir/slices.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

constexpr std::int64_t kLeastSlots = 3;

/// A loop whose last product runs in the next iteration.
struct Rotation {
  OpId loop, late, wait;         // late: the last product; wait: for its sums
  OpId early;                    // the product before it
  int sum = 0;                   // the index of the carried value that is the sums
  std::vector<OpId> arrivals;    // which hand the slots back
  std::set<OpId> behind;         // ops behind the wait for the sums
  std::set<OpId> of_late;        // ops from which the slots of `late` and of the arrivals are computed
  std::vector<ValueId> numbers;  // carried values from which these are computed
};

class RotationFinder {
 public:
  RotationFinder(const Function& f, OpId loop) : f_(f), body_(f.region(loop)) { r_.loop = loop; }

  std::optional<Rotation> run() && {
    if (ir::constant_integer(f_, f_.operand(r_.loop, 2)).value_or(0) <= 0) return std::nullopt;
    if (!find_products() || !find_wait() || !depends_on_early() || !find_behind() || !find_slots()) return std::nullopt;
    return std::move(r_);
  }

 private:
  /// The last two products; false if something else writes what they read.
  bool find_products() {
    bool fits = true;
    f_.walk(body_, [&](OpId id) {
      const OpKind k = f_.kind(id);
      const bool is_product = k == OpKind::mma_async_, is_arrival = k == OpKind::mbarrier_arrive_;
      if (is_product) r_.early = r_.late, r_.late = id;
      if (is_arrival) r_.arrivals.push_back(id);
      const bool writes =
          k == OpKind::buffer_store_ || k == OpKind::copy_async_ || k == OpKind::bulk_copy_ || k == OpKind::mbarrier_expect_;
      const bool counts = is_product || is_arrival || k == OpKind::mma_wait_ || k == OpKind::mbarrier_wait_;
      fits = fits && !writes && (!counts || f_.op(id).parent == body_) && (!is_arrival || f_.op(id).operands.size() == 1);
    });
    return fits && r_.early && !r_.arrivals.empty() && !f_.type(f_.operand(r_.late, 0)).is_buffer();
  }

  /// Whether the sums are awaited, carried to the next iteration, and used by nothing else; the slots are handed back behind.
  bool find_wait() {
    const ValueId sums = f_.result(r_.late), factor = f_.operand(r_.late, 0);
    if (f_.value(sums).users.size() != 1) return false;
    r_.wait = f_.value(sums).users[0];
    if (f_.kind(r_.wait) != OpKind::mma_wait_ || f_.attr(r_.wait, AttrName::pending) != 0) return false;
    const OpId end = f_.terminator(body_);
    for (std::size_t i = 0; i < f_.op(r_.wait).operands.size(); ++i) {
      const ValueId v = f_.op(r_.wait).operands[i], result = f_.op(r_.wait).results[i];
      const auto& users = f_.value(result).users;
      if (v != sums) {
        if (v != factor || !users.empty()) return false;
        continue;
      }
      const auto& yielded = f_.op(end).operands;
      if (users.size() != 1 || users[0] != end || std::ranges::count(yielded, result) != 1) return false;
      r_.sum = static_cast<int>(std::ranges::find(yielded, result) - yielded.begin());
    }
    bool is_behind = false, fits = true;
    for (OpId id : f_.ops(body_)) {
      is_behind = is_behind || id == r_.wait;
      fits = fits && (is_behind || f_.kind(id) != OpKind::mbarrier_arrive_);
    }
    return fits;
  }

  /// Adds the ops of the body that depend on a value, up to `late`; false if one of them is not pure.
  bool add_users(ValueId v, std::set<OpId>& to) const {
    for (OpId user : f_.value(v).users) {
      const OpId id = ir::ancestor_in(f_, user, body_);
      if (id == r_.late && f_.operand(id, 0) != v && f_.operand(id, 1) != v) continue;
      if (id == r_.wait && v == f_.operand(r_.late, 0)) continue;
      if (!id || !ir::info(f_.kind(id)).has(ir::kPure)) return false;
      if (!to.insert(id).second) continue;
      for (ValueId result : f_.op(id).results)
        if (!add_users(result, to)) return false;
    }
    return true;
  }

  /// Whether the factor in registers is computed from sums of the product before it.
  bool depends_on_early() const {
    std::set<ValueId> seen;
    std::vector<ValueId> left{f_.operand(r_.late, 0)};
    while (!left.empty()) {
      const ValueId v = left.back();
      left.pop_back();
      const OpId id = f_.value(v).op;
      if (!seen.insert(v).second || !id || f_.op(id).parent != body_) continue;
      if (id == r_.early) return true;
      left.insert(left.end(), f_.op(id).operands.begin(), f_.op(id).operands.end());
      for (BlockId region : f_.op(id).regions)
        for (ValueId x : ir::used_from_above(f_, region)) left.push_back(x);
    }
    return false;
  }

  bool find_behind() {
    if (!add_users(f_.arg(body_, r_.sum + 1), r_.behind)) return false;
    const ValueId factor = f_.operand(r_.late, 0);
    const OpId definer = f_.value(factor).op;
    if (r_.behind.contains(definer)) return false;
    const auto& users = f_.value(factor).users;
    const bool is_of_late = std::ranges::all_of(users, [&](OpId user) { return user == r_.late || user == r_.wait; });
    if (f_.kind(definer) == OpKind::cast_ && is_of_late) r_.behind.insert(definer);
    return true;
  }

  /// What says which slots `late` reads, and which the arrivals hand back: scalars that the iteration carries, and views.
  bool find_slots() {
    const OpId alloc = ir::allocation_of(f_, f_.operand(r_.late, 1));
    if (f_.type(f_.result(alloc)).slots() < kLeastSlots || !add_slots(f_.operand(r_.late, 1))) return false;
    return std::ranges::all_of(r_.arrivals, [&](OpId id) { return add_slots(f_.operand(id, 0)); });
  }
  bool add_slots(ValueId v) {
    if (!f_.encloses(body_, f_.defining_block(v))) return true;
    const OpId id = f_.value(v).op;
    if (!id) {
      if (!f_.type(v).is_scalar()) return false;
      if (std::ranges::count(r_.numbers, v) == 0) r_.numbers.push_back(v);
      return true;
    }
    if (!ir::info(f_.kind(id)).has(ir::kPure) || !f_.op(id).regions.empty()) return false;
    r_.of_late.insert(id);
    return std::ranges::all_of(f_.op(id).operands, [&](ValueId x) { return add_slots(x); });
  }

  const Function& f_;
  const BlockId body_;
  Rotation r_;
};

class LoopRotator {
 public:
  LoopRotator(Rewriter& rw, Rotation r)
      : rw_(rw), f_(rw.function()), r_(std::move(r)), body_(f_.region(r_.loop)), may_wrap_(may_wrap(f_, r_.loop)) {}

  void run() {
    const std::vector<ValueId> operands = f_.op(r_.loop).operands, results = f_.op(r_.loop).results;
    std::vector<Type> types;
    for (ValueId v : results) types.push_back(f_.type(v));
    rw_.at(r_.loop);
    const ValueId has_iterations = rw_.binary(OpKind::lt_, operands[0], operands[1]);
    const OpId branch = rw_.create(OpKind::if_, std::span(&has_iterations, 1), {{AttrName::likely, 1, {}, {}}}, types);
    rw_.at_end(f_.region(branch, 0));
    const std::vector<ValueId> last = emit_iterations();
    rw_.create(OpKind::yield_, last);
    rw_.at_end(f_.region(branch, 1));
    rw_.create(OpKind::yield_, std::span(operands).subspan(3));
    for (std::size_t k = 0; k < results.size(); ++k) {
      f_.set_layout(f_.result(branch, static_cast<int>(k)), f_.layout_id(results[k]));
      rw_.replace_uses(results[k], f_.result(branch, static_cast<int>(k)));
    }
    rw_.erase(r_.loop);
  }

 private:
  bool is_late(OpId id) const { return id == r_.late || id == r_.wait || std::ranges::count(r_.arrivals, id) > 0; }

  /// What an iteration leaves for the next one, in terms of the old body: the carried values but the sums, and what `late` and the arrivals
  /// need.
  std::vector<ValueId> left_over() const {
    std::vector<ValueId> all = f_.op(f_.terminator(body_)).operands;
    all.erase(all.begin() + r_.sum);
    all.push_back(f_.operand(r_.late, 2));
    all.push_back(f_.operand(r_.late, 0));
    all.insert(all.end(), r_.numbers.begin(), r_.numbers.end());
    return all;
  }
  static std::vector<ValueId> mapped(const std::vector<ValueId>& values, const ir::ValueMap& map) {
    std::vector<ValueId> all;
    for (ValueId v : values) all.push_back(map(v));
    return all;
  }

  /// The map for `late` of the iteration before, from what that has left over.
  ir::ValueMap before(std::span<const ValueId> left) const {
    ir::ValueMap map;
    std::size_t at = f_.op(r_.loop).results.size() - 1;
    map.set(f_.operand(r_.late, 2), left[at++]);
    map.set(f_.operand(r_.late, 0), left[at++]);
    for (ValueId number : r_.numbers) map.set(number, left[at++]);
    return map;
  }

  void start_late(ir::ValueMap& map) {
    for (OpId id : f_.ops(body_))
      if (r_.of_late.contains(id) || id == r_.late) rw_.clone(id, map);
  }
  /// Returns the sums.
  ValueId finish_late(ir::ValueMap& map) {
    rw_.clone(r_.wait, map);
    for (OpId id : r_.arrivals) rw_.clone(id, map);
    return map(f_.operand(f_.terminator(body_), r_.sum));
  }

  /// Whether lo + step may wrap.
  static bool may_wrap(const Function& f, OpId loop) {
    const ValueId lo = f.operand(loop, 0);
    return AxisInfoAnalysis(f).range(lo).hi > full_range(f.type(lo)).hi - *ir::constant_integer(f, f.operand(loop, 2));
  }
  /// lo + step; hi, where no iteration is, if the sum wraps.
  ValueId second_number(bool may_wrap) {
    const ValueId lo = f_.operand(r_.loop, 0), hi = f_.operand(r_.loop, 1), step = f_.operand(r_.loop, 2);
    const ValueId next = rw_.binary(OpKind::add_, lo, step);
    return may_wrap ? rw_.select(rw_.binary(OpKind::lt_, next, lo), hi, next) : next;
  }

  /// Emits all iterations, of which there is at least one, and returns the results of the loop.
  std::vector<ValueId> emit_iterations() {
    const std::vector<ValueId> operands = f_.op(r_.loop).operands;
    ir::ValueMap map;
    map.set(f_.arg(body_, 0), operands[0]);
    for (std::size_t k = 3; k < operands.size(); ++k) map.set(f_.arg(body_, static_cast<int>(k) - 2), operands[k]);
    for (OpId id : f_.ops(body_))
      if (!is_late(id) && id != f_.terminator(body_)) rw_.clone(id, map);
    rw_.set_loc(f_.op(r_.loop).loc);
    std::vector<ValueId> inits{second_number(may_wrap_), operands[1], operands[2]};
    for (ValueId v : mapped(left_over(), map)) inits.push_back(v);
    const OpId loop = rw_.create(OpKind::for_, inits, f_.op(r_.loop).attrs);
    emit_body(loop, std::span(inits).subspan(3));

    rw_.after(loop);
    std::vector<ValueId> results = f_.op(loop).results;
    ir::ValueMap end = before(results);
    start_late(end);
    const ValueId sums = finish_late(end);
    results.resize(f_.op(r_.loop).results.size() - 1);
    results.insert(results.begin() + r_.sum, sums);
    rw_.set_loc(f_.op(r_.loop).loc);
    return results;
  }

  void emit_body(OpId loop, std::span<const ValueId> inits) {
    const BlockId body = f_.region(loop);
    f_.add_arg(body, f_.type(f_.arg(body_, 0)));
    std::vector<ValueId> carried;
    for (std::size_t k = 0; k < inits.size(); ++k) {
      carried.push_back(f_.add_arg(body, f_.type(inits[k])));
      for (ValueId v : {carried.back(), f_.result(loop, static_cast<int>(k))}) f_.set_layout(v, f_.layout_id(inits[k]));
    }
    rw_.at_end(body);
    ir::ValueMap map, of_late = before(carried);
    map.set(f_.arg(body_, 0), f_.arg(body, 0));
    for (std::size_t k = 0, at = 0; k < f_.op(r_.loop).results.size(); ++k)
      if (k != static_cast<std::size_t>(r_.sum)) map.set(f_.arg(body_, static_cast<int>(k) + 1), carried[at++]);
    OpId tiles;
    bool has_started = false;
    for (OpId id : f_.ops(body_)) {
      if (is_late(id) || r_.behind.contains(id) || id == f_.terminator(body_)) continue;
      const OpId copy = rw_.clone(id, map);
      if (f_.kind(id) == OpKind::mbarrier_wait_) tiles = id;
      // `late` is in flight, too.
      if (has_started && f_.kind(id) == OpKind::mma_wait_)
        f_.set_attr(copy, {AttrName::pending, f_.attr(id, AttrName::pending) + 1, {}, {}});
      if (id != r_.early) continue;
      start_late(of_late);
      has_started = true;
    }
    if (tiles) rw_.clone(tiles, map);
    map.set(f_.arg(body_, r_.sum + 1), finish_late(of_late));
    for (OpId id : f_.ops(body_))
      if (r_.behind.contains(id)) rw_.clone(id, map);
    rw_.set_loc(f_.op(r_.loop).loc);
    rw_.create(OpKind::yield_, mapped(left_over(), map));
  }

  Rewriter& rw_;
  Function& f_;
  const Rotation r_;
  const BlockId body_;  // of the loop that is rotated
  const bool may_wrap_;
};

}  // namespace

bool overlap_products(Function& f, const PassContext&) {
  const OpId roles = ir::roles_op(f);
  if (!roles) return false;
  std::vector<Rotation> found;
  for (BlockId region : f.op(roles).regions)
    f.walk(region, [&](OpId id) {
      if (f.kind(id) != OpKind::for_) return;
      if (auto r = RotationFinder(f, id).run()) found.push_back(*std::move(r));
    });
  Rewriter rw(f);
  for (Rotation& r : found) LoopRotator(rw, std::move(r)).run();
  while (rw.changed() && canonical::remove_dead(rw)) {
  }
  return rw.changed();
}

}  // namespace tilewright::passes
