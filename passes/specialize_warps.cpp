// Divides the warps of a program whose loops fetch tiles by bulk copies into roles: one warp starts the copies, the others do all else.
//
//   expect full[0]; copy m at c(lo) to slot 0; ...   empty = alloc_mbarriers of S slots
//   for i = lo to hi (slot, phase)                   roles
//     wait for this phase of full[slot]; barrier       for i = lo to hi (slot, phase)
//     d = mma_async slot of b, ...                       wait for this phase of full[slot]
//     if i < limit: expect full[later]                   d = mma_async slot of b, ...
//       copy m at c(i) to slot later            ->       w = mma_wait d {pending = 1}
//     w = mma_wait d {pending = 1}                       if i != lo: arrive at empty[the slot before]
//     yield w                                            yield w
//   store mma_wait w                                   store mma_wait w
//                                                     and
//                                                      expect full[0]; copy m at c(lo) to slot 0; ...
//                                                      for i = lo to limit (later, turn)
//                                                        wait for this turn of empty[later]
//                                                        expect full[later]; copy m at c(i) to slot later
//
// The warps that multiply do not wait for each other, nor for the one that copies: it runs ahead by all slots. Its wait for a slot that it
// writes for the first time is for the phase before phase 0, which is over.
//
//   1. find_copy_pipelines: the loops, and how many iterations later the products of one are complete: 0 or 1
//      (passes/pipeline/copy_pipelines.h).
//   2. find_shared: what both roles use stays in the body: scalars, buffers, mbarriers and maps.
//   3. divide: the other ops move to a role.
//
// Several programs on a multiprocessor overlap each other, so the pass divides the warps of programs that have one for themselves, for their
// slots or for their registers. Otherwise, or
// with a remark where the form of the loops or the registers do not allow it, the function stays as it is. Input, output: distributed. Numerics
// do not change. See tests/files/passes/specialize_warps/.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/pipeline/copy_pipelines.h"
#include "passes/pipeline/stage_count.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

constexpr std::int64_t kProducerRegisters = 40;

/// The ops and carried values of a loop from which its copies are computed.
struct CopySlice {
  std::set<OpId> ops;
  std::set<int> carried;
};

class Specializer {
 public:
  Specializer(Function& f, const PassContext& context) : f_(f), context_(context) {}

  bool run() {
    CopyPipelines all = find_copy_pipelines(f_);
    pipelines_ = std::move(all.found), at_ = all.at, why_ = std::move(all.why);
    if (pipelines_.empty() || !is_profitable()) return false;
    if (why_.empty()) choose_warps();
    if (why_.empty()) find_shared();
    if (!why_.empty()) {
      if (context_.remarks)
        context_.remarks->push_back({f_.where(at_), fmt::format("for: its warps are not divided into roles: {}", why_)});
      return false;
    }
    divide();
    return true;
  }

 private:
  void refuse(OpId at, std::string why) {
    if (why_.empty()) at_ = at, why_ = std::move(why);
  }

  // ---- choose_warps ----

  /// Whether the slots or the registers leave no room for a second program.
  bool is_profitable() const {
    std::int64_t bytes = 0;
    std::vector<OpId> loops;
    for (const CopyPipeline& p : pipelines_) {
      if (p.loop) loops.push_back(p.loop);
      for (OpId alloc : p.buffers) bytes += ir::buffer_bytes(f_.type(f_.result(alloc)));
    }
    return !has_room_for_two(f_, context_, loops, bytes);
  }

  /// Registers move from the warp that copies to those that multiply, if a program of all warps does not have enough for each thread.
  void choose_warps() {
    const OpId loop = pipelines_[0].loop;
    const int warps = context_.num_warps, groups = warps / ir::kWarpsOfGroup;
    if (groups < 1) return refuse(loop, "fewer than 4 warps multiply");
    if (warps + ir::kWarpsOfGroup > ir::kMostProgramWarps) return refuse(loop, "a program has no further warps");
    const std::int64_t at_start = context_.target.registers_per_sm / (32 * (warps + ir::kWarpsOfGroup)) / 8 * 8;
    if (at_start >= context_.target.max_registers / 8 * 8) return;
    const std::int64_t each = std::min<std::int64_t>(((groups + 1) * at_start - kProducerRegisters) / groups / 8 * 8, 256);
    std::int64_t sums = 0;
    for (const CopyPipeline& p : pipelines_) sums = std::max(sums, registers_of_sums(f_, context_, p.loop));
    if (sums + kOtherRegisters > each)
      return refuse(loop, fmt::format("a thread that multiplies has {} registers then, and {} sums", each, sums));
    registers_ = {each, kProducerRegisters};
  }

  // ---- find_shared ----

  void find_shared() {
    for (OpId id : f_.ops(f_.body()))
      if (f_.kind(id) == OpKind::make_tensor_map_ || f_.kind(id) == OpKind::alloc_mbarriers_) share(id);
    for (const CopyPipeline& p : pipelines_) {
      for (OpId id : p.first)
        for (ValueId v : f_.op(id).operands) share(v);
      for (ValueId v : {f_.operand(p.loop, 0), f_.operand(p.loop, 2), p.limit, first_slot(p)}) share(v);
      CopySlice& slice = slices_.emplace_back();
      for (ValueId v : f_.op(p.expect).operands)
        if (v != f_.operand(p.copies[0], 3)) add_to_slice(p, slice, v);
      for (OpId copy : p.copies)
        for (int i = 0; i < static_cast<int>(f_.op(copy).operands.size()); ++i)
          if (i != 3) add_to_slice(p, slice, f_.operand(copy, i));
    }
  }

  static bool is_tile(const Type& t) { return !t.is_scalar() && !t.is_buffer() && !t.is_mbarrier() && !t.is_tensor_map(); }

  /// Whether the op may run on the warps of both roles.
  bool may_share(OpId id) const {
    for (const auto* values : {&f_.op(id).operands, &f_.op(id).results})
      for (ValueId v : *values)
        if (is_tile(f_.type(v))) return false;
    const OpKind k = f_.kind(id);
    return (ir::info(k).has(ir::kPure) && f_.op(id).regions.empty()) || k == OpKind::alloc_buffer_ || k == OpKind::alloc_mbarriers_;
  }

  void share(OpId id) {
    if (!shared_.insert(id).second) return;
    if (!may_share(id)) return refuse(id, fmt::format("a bulk copy depends on the {}", ir::text(f_.kind(id))));
    for (ValueId v : f_.op(id).operands) share(v);
  }
  void share(ValueId v) {
    if (const OpId id = f_.value(v).op) share(id);
  }

  void add_to_slice(const CopyPipeline& p, CopySlice& slice, ValueId v) {
    const BlockId body = f_.region(p.loop);
    if (v == p.later || v == p.counter(f_)) return;
    if (!f_.encloses(body, f_.defining_block(v))) return share(v);
    if (const int k = carried_index(f_, p.loop, v); k >= 0) {
      if (!slice.carried.insert(k).second) return;
      if (is_tile(f_.type(v))) return refuse(p.loop, "a bulk copy depends on a tile");
      share(f_.operand(p.loop, k + 3));
      return add_to_slice(p, slice, f_.operand(f_.terminator(body), k));
    }
    const OpId id = f_.value(v).op;
    if (!slice.ops.insert(id).second) return;
    if (!may_share(id)) return refuse(id, fmt::format("a bulk copy depends on the {}", ir::text(f_.kind(id))));
    for (ValueId x : f_.op(id).operands) add_to_slice(p, slice, x);
  }

  // ---- divide ----

  void divide() {
    const int warps = context_.num_warps;
    std::vector<ValueId> empties;
    for (const CopyPipeline& p : pipelines_) {
      rw_.after(p.full);
      rw_.set_loc(f_.op(p.full).loc);
      const Type type = f_.type(f_.result(p.full));
      empties.push_back(f_.result(
          rw_.create(OpKind::alloc_mbarriers_, {}, {{AttrName::arrivals, warps / ir::kWarpsOfGroup, {}, {}}}, std::span(&type, 1))));
      shared_.insert(f_.value(empties.back()).op);
    }
    for (const CopyPipeline& p : pipelines_) drop_barrier_before(p.first.empty() ? p.loop : p.first[0]);
    std::vector<OpId> ops;
    for (OpId id : f_.ops(f_.body())) ops.push_back(id);
    rw_.at_end(f_.body());
    rw_.set_loc(f_.op(pipelines_[0].loop).loc);
    std::vector<ir::Attr> attrs{{AttrName::warps, 0, {warps, 1}, {}}};
    if (!registers_.empty()) attrs.push_back({AttrName::registers, 0, registers_, {}});
    const OpId roles = rw_.create(OpKind::roles_, {}, attrs);
    const BlockId consumer = f_.add_region(roles), producer = f_.add_region(roles);
    for (OpId id : ops) {
      if (shared_.contains(id)) continue;
      const auto starts = [&](const CopyPipeline& p) { return std::ranges::count(p.first, id) > 0; };
      if (std::ranges::any_of(pipelines_, starts)) {
        rw_.move_to_end(id, producer);
        continue;
      }
      for (std::size_t i = 0; i < pipelines_.size(); ++i)
        if (pipelines_[i].loop == id) copy_in_turn(pipelines_[i], slices_[i], empties[i], producer);
      rw_.move_to_end(id, consumer);
    }
    for (std::size_t i = 0; i < pipelines_.size(); ++i) hand_back(pipelines_[i], empties[i]);
    for (BlockId region : {consumer, producer}) {
      rw_.at_end(region);
      rw_.create(OpKind::yield_, {});
    }
    while (canonical::remove_dead(rw_)) {
    }
  }

  /// The number of the slot that the first iteration copies to.
  ValueId first_slot(const CopyPipeline& p) const { return f_.operand(p.loop, carried_index(f_, p.loop, p.later) + 3); }

  /// Nothing was done with the memory of the slots before the first copies: it is that of no other buffer or scratch. So these need no barrier,
  /// and products need a fence only if threads have written what they read.
  void drop_barrier_before(OpId first) {
    OpId barrier = f_.op(first).prev;
    while (barrier && ir::info(f_.kind(barrier)).has(ir::kPure)) barrier = f_.op(barrier).prev;
    if (!barrier || f_.kind(barrier) != OpKind::barrier_) return;
    const OpId fence = f_.op(barrier).prev;
    rw_.erase(barrier);
    if (!fence || f_.kind(fence) != OpKind::proxy_fence_) return;
    bool has_begun = true, has_writes = false;
    f_.walk([&](OpId id) {
      has_begun = has_begun && id != fence;
      has_writes = has_writes || (has_begun && (f_.kind(id) == OpKind::buffer_store_ || f_.kind(id) == OpKind::copy_async_));
    });
    if (!has_writes) rw_.erase(fence);
  }

  ValueId mbarrier_of(const CopyPipeline& p, ValueId mbarriers, ValueId number) {
    const ValueId operands[] = {mbarriers, number};
    return f_.result(rw_.create(OpKind::mbarrier_slot_, operands, {{AttrName::divisor, p.unit, {}, {}}}));
  }
  ValueId number(std::int64_t n) { return rw_.constant(Type(Element::i32), n); }

  /// Emits the loop of the role that copies, at the end of its region.
  void copy_in_turn(const CopyPipeline& p, const CopySlice& slice, ValueId empty, BlockId region) {
    rw_.at_end(region);
    rw_.set_loc(f_.op(p.loop).loc);
    const BlockId old_body = f_.region(p.loop);
    const ValueId first = first_slot(p);
    // The copies before the loop have filled the slots before this one: behind the last slot the next phase begins.
    const bool is_next_round = ir::constant_integer(f_, first) == 0;
    std::vector<ValueId> operands{f_.operand(p.loop, 0), p.limit, f_.operand(p.loop, 2), first, number(is_next_round ? 0 : 1)};
    for (int k : slice.carried) operands.push_back(f_.operand(p.loop, k + 3));
    const OpId loop = rw_.create(OpKind::for_, operands);
    const BlockId body = f_.region(loop);
    ir::ValueMap map;
    map.set(p.counter(f_), f_.add_arg(body, f_.type(p.counter(f_))));
    const ValueId slot = f_.add_arg(body, Type(Element::i32)), turn = f_.add_arg(body, Type(Element::i32));
    map.set(p.later, slot);
    for (int k : slice.carried) map.set(f_.arg(old_body, k + 1), f_.add_arg(body, f_.type(f_.arg(old_body, k + 1))));
    rw_.at_end(body);
    const ValueId wait[] = {mbarrier_of(p, empty, slot), turn};
    rw_.create(OpKind::mbarrier_wait_, wait);
    map.set(f_.operand(p.copies[0], 3), rw_.constant(Type(Element::boolean), 1));
    for (OpId id : f_.ops(old_body))
      if (slice.ops.contains(id) || id == p.expect || std::ranges::count(p.copies, id) > 0) rw_.clone(id, map);
    rw_.set_loc(f_.op(p.loop).loc);
    const std::int64_t slots = f_.type(f_.result(p.full)).slots();
    const ValueId next = rw_.binary(OpKind::add_, slot, number(p.unit));
    const ValueId is_first = rw_.binary(OpKind::eq_, next, number(slots * p.unit));
    std::vector<ValueId> yielded{rw_.select(is_first, number(0), next),
                                 rw_.select(is_first, rw_.binary(OpKind::bit_xor_, turn, number(1)), turn)};
    for (int k : slice.carried) yielded.push_back(map(f_.operand(f_.terminator(old_body), k)));
    rw_.create(OpKind::yield_, yielded);
  }

  /// Turns the loop into that of the role that multiplies: it hands slots back, instead of filling them.
  void hand_back(const CopyPipeline& p, ValueId empty) {
    // The mbarriers order what this barrier did.
    if (const OpId next = f_.op(p.wait).next; f_.kind(next) == OpKind::barrier_) rw_.erase(next);
    for (OpId copy : p.copies) rw_.erase(copy);
    rw_.erase(p.expect);
    rw_.at(f_.terminator(f_.region(p.loop)));
    rw_.set_loc(f_.op(p.loop).loc);
    std::vector<ValueId> arrival{mbarrier_of(p, empty, p.lag > 0 ? p.slot_before(f_) : p.slot)};
    if (p.lag > 0) arrival.push_back(rw_.binary(OpKind::ne_, p.counter(f_), f_.operand(p.loop, 0)));
    std::vector<ir::Attr> attrs;
    if (p.only_products_read) attrs.push_back({AttrName::ordered, 1, {}, {}});
    rw_.create(OpKind::mbarrier_arrive_, arrival, attrs);
  }

  Function& f_;
  const PassContext& context_;
  Rewriter rw_{f_};
  std::vector<CopyPipeline> pipelines_;
  std::vector<CopySlice> slices_;        // of each pipeline
  std::set<OpId> shared_;                // ops that stay in the body
  std::vector<std::int64_t> registers_;  // of a thread of each role; empty: as many as it starts with
  OpId at_;                              // the op for which the warps are not divided
  std::string why_;
};

}  // namespace

bool specialize_warps(Function& f, const PassContext& context) {
  if (ir::roles_op(f)) return false;
  return Specializer(f, context).run();
}

}  // namespace tilewright::passes
