// Walks the program in execution order with the set of accesses that are pending since the last barrier:
//
//   1. op: an access that conflicts with a pending one requires a barrier, which clears the set; then it is pending itself.
//   2. branch: both regions start from the set before it; the union is pending after it.
//   3. loop: iterations are walked until the set at the back edge is complete, then again with the accesses before the loop. A hazard
//      that only these cause requires a barrier before the loop.
//   4. roles: each region has a set of its own. A hazard with an access before them requires a barrier before the roles.
#include "passes/analysis/hazards.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/analysis/address_form.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"

namespace tilewright::passes {

namespace {

/// An access that other threads may not have completed.
struct Pending {
  OpId op;
  std::int64_t begin = 0, end = 0;  // bytes of shared memory
  bool only_reads_shared = false;
  OpId buffer;                         // the buffer that is accessed
  bool reads = false, writes = false;  // global memory
  OpId loop;                           // set if the access belongs to an earlier iteration of this loop, which computes the pointer
  bool in_flight = false;              // a product or bulk store that no barrier ends: an mma_wait or bulk_wait has to come first
  bool from_outer_iteration = false;   // set if there are several such loops, so that nothing is known about the pointer
  friend bool operator==(const Pending&, const Pending&) = default;
};
using State = std::vector<Pending>;

void add(State& s, const Pending& p) {
  if (std::find(s.begin(), s.end(), p) == s.end()) s.push_back(p);
}
void add(State& s, const State& more) {
  for (const Pending& p : more) add(s, p);
}

/// Called where all threads meet. Products and bulk stores in flight go on.
void synchronise(State& s) {
  std::erase_if(s, [](const Pending& p) { return !p.in_flight; });
}

/// An mbarrier itself orders the ops on it, so they only wait for its initialisation, as if they read it.
bool uses_mbarrier(OpKind k) {
  return k == OpKind::mbarrier_arrive_ || k == OpKind::copy_arrive_ || k == OpKind::mbarrier_wait_ || k == OpKind::mbarrier_expect_;
}

/// The operand that is the buffer or the mbarrier that the op reads or writes.
std::optional<int> buffer_operand(OpKind k) {
  if (k == OpKind::buffer_load_ || k == OpKind::buffer_store_ || uses_mbarrier(k)) return 0;
  return k == OpKind::copy_async_ || k == OpKind::bulk_copy_ || k == OpKind::bulk_store_ ? std::optional(1) : std::nullopt;
}

class HazardFinder {
 public:
  HazardFinder(const Function& f, const LoweringPlans& plans)
      : f_(f), plans_(plans), pending_(f.op_capacity()), waits_for_(f.op_capacity()), internal_barrier_(f.op_capacity()) {
    f.walk([&](OpId id) {
      Pending& p = pending_[id.index];
      p.op = id;
      const ir::OpInfo& info = ir::info(f.kind(id));
      p.reads = info.has(ir::kReads) && f.kind(id) != OpKind::bulk_copy_;  // of a tensor that the program does not write
      p.writes = info.has(ir::kWrites);
      if (const std::optional<int> at = buffer_operand(f.kind(id))) {
        set_buffer(p, f.operand(id, *at));
        p.in_flight = f.kind(id) == OpKind::bulk_store_;
        p.only_reads_shared = f.kind(id) == OpKind::buffer_load_ || p.in_flight || uses_mbarrier(f.kind(id));
      } else if (const std::int64_t bytes = f.kind(id) == OpKind::alloc_buffer_ ? 0 : plans.scratch_bytes(id)) {
        p.begin = f.attr(id, ir::AttrName::shared);
        p.end = p.begin + bytes;
        // One thread initialises mbarriers, and the op does not make other threads wait for it.
        internal_barrier_[id.index] = f.kind(id) != OpKind::alloc_mbarriers_ && plans.has_internal_barrier(id);
      }
    });
    State none;
    block(f.body(), none);
  }

  std::vector<Barrier> barriers() const {
    std::vector<Barrier> all;
    f_.walk([&](OpId id) {
      if (waits_for_[id.index]) all.push_back({id, waits_for_[id.index]});
    });
    return all;
  }

 private:
  void set_buffer(Pending& p, ValueId buffer) const {
    p.buffer = ir::allocation_of(f_, buffer);
    p.begin = f_.attr(p.buffer, ir::AttrName::shared);
    p.end = p.begin + plans_.scratch_bytes(p.buffer);
  }

  /// The accesses of an op: those of an asynchronous product are its buffers, those of a bulk copy its buffer and its mbarrier.
  std::vector<Pending> accesses(OpId id) const {
    if (f_.kind(id) == OpKind::bulk_copy_) {
      Pending mbarrier{.op = id, .only_reads_shared = true, .buffer = {}, .loop = {}};
      set_buffer(mbarrier, f_.operand(id, 2));
      return {pending_[id.index], mbarrier};
    }
    if (f_.kind(id) != OpKind::mma_async_) return {pending_[id.index]};
    std::vector<Pending> all;
    for (int i : {0, 1}) {
      if (!f_.type(f_.operand(id, i)).is_buffer()) continue;
      Pending& p = all.emplace_back();
      p.op = id;
      p.only_reads_shared = p.in_flight = true;
      set_buffer(p, f_.operand(id, i));
    }
    return all;
  }

  void require_barrier(OpId before, OpId after, State& s) {
    if (!is_trial_) {
      waits_for_[before.index] = after;
      ++new_barriers_;
      walks_.clear();
    }
    first_hazard_ = first_hazard_ ? first_hazard_ : after;
    synchronise(s);
  }

  void block(BlockId b, State& s) {
    for (OpId id : f_.ops(b)) {
      if (waits_for_[id.index]) synchronise(s);
      switch (f_.kind(id)) {
        case OpKind::for_:
        case OpKind::while_: loop(id, s); break;
        case OpKind::if_: branch(id, s); break;
        case OpKind::roles_: roles(id, s); break;
        case OpKind::async_wait_:
        case OpKind::barrier_: synchronise(s); break;
        case OpKind::mbarrier_arrive_:
          op(id, s);
          if (f_.attr(id, AttrName::ordered) == 0) synchronise(s);
          break;
        case OpKind::mma_wait_:
        case OpKind::bulk_wait_:
          // The products of other threads go on until these have come to a barrier; these do not know of the wait for a bulk store before
          // it.
          if (f_.attr(id, AttrName::pending) == 0)
            for (Pending& p : s)
              if ((f_.kind(p.op) == OpKind::mma_async_) == (f_.kind(id) == OpKind::mma_wait_)) p.in_flight = false;
          break;
        default: op(id, s); break;
      }
    }
  }

  void op(OpId id, State& s) {
    const std::vector<Pending> all = accesses(id);
    for (const Pending& p : all) {
      if (p.end == p.begin && !p.reads && !p.writes) return;
      const auto conflicting = std::find_if(s.begin(), s.end(), [&](const Pending& earlier) { return conflict(earlier, p); });
      if (conflicting != s.end()) require_barrier(id, conflicting->op, s);
    }
    // Threads that access the slot later have waited for the copy at its mbarrier, each by itself.
    if (f_.kind(id) == OpKind::bulk_copy_) return;
    if (!internal_barrier_[id.index]) {
      for (const Pending& p : all) add(s, p);
      return;
    }
    const Pending& p = all[0];
    synchronise(s);
    add(s, {.op = id, .begin = p.begin, .end = p.end, .buffer = {}, .loop = {}});
  }

  void branch(OpId id, State& s) {
    State after;
    for (BlockId b : f_.op(id).regions) {
      State inside = s;
      block(b, inside);
      add(after, inside);
    }
    s = std::move(after);
  }

  /// Each role has a set of its own: barriers in a role involve only its threads, and mbarriers order it with the other roles. None of them
  /// orders an access of a thread that runs another role, so a hazard with an access before the roles requires a barrier before them.
  void roles(OpId id, State& s) {
    for (BlockId b : f_.op(id).regions) {
      State inside;
      block(b, inside);
    }
    if (const OpId hazard = hazard_before_roles(id, s)) require_barrier(id, hazard, s);
    s.clear();
  }

  /// Whether an arrival in a role may end a phase while threads of the body still wait for the phase before.
  bool may_end_unseen(OpId wait, OpId arrival) const {
    return f_.kind(wait) == OpKind::mbarrier_wait_ && pending_[wait.index].buffer == pending_[arrival.index].buffer &&
           f_.kind(arrival) != OpKind::mbarrier_wait_;
  }

  /// The op of a pending access that conflicts with an access in a role; none if there is no conflict.
  OpId hazard_before_roles(OpId id, const State& s) {
    OpId found;
    for (const ir::Role& role : ir::roles(f_, id)) {
      f_.walk(role.region, [&](OpId inner) {
        for (const Pending& p : accesses(inner))
          for (const Pending& earlier : s)
            if (!found && (conflict(earlier, p) || may_end_unseen(earlier.op, inner))) found = earlier.op;
      });
      // The memory of the second and later instances: the offsets of the ops are those of the first one.
      const auto [begin, stride] = plans_.instance_memory(f_, role.region);
      for (const Pending& earlier : s)
        if (!found && role.instances > 1 && earlier.begin < begin + role.instances * stride && begin + stride < earlier.end)
          found = earlier.op;
    }
    return found;
  }

  /// The earlier op of the first hazard that a walk finds; none if there is no hazard. The walk does not insert barriers.
  template <class Walk>
  OpId trial(Walk&& walk) {
    const bool was_trial = std::exchange(is_trial_, true);
    const OpId outer_hazard = std::exchange(first_hazard_, OpId{});
    walk();
    is_trial_ = was_trial;
    return std::exchange(first_hazard_, outer_hazard);
  }

  /// Walks one iteration of a loop; returns the accesses that are pending at the back edge. `exit`: those pending when the loop ends.
  State iteration(OpId id, State s, State& exit) {
    for (BlockId b : f_.op(id).regions) {
      block(b, s);
      if (f_.kind(id) == OpKind::for_ || b == f_.region(id, 0)) exit = s;
    }
    for (Pending& p : s) {
      if (!is_inside(p.op, id)) continue;
      p.from_outer_iteration = p.from_outer_iteration || (p.loop && p.loop != id);
      p.loop = id;
    }
    return s;
  }

  /// A loop walks its body several times, and so the loops in it. Walks from the same set are the same until another barrier is inserted, so
  /// what the last of them left is kept, and the walks of nested loops do not multiply.
  void loop(OpId id, State& s) {
    const auto known = std::ranges::find_if(walks_[id], [&](const Walk& w) { return w.is_trial == is_trial_ && w.before == s; });
    if (known != walks_[id].end()) {
      s = known->after;
      first_hazard_ = first_hazard_ ? first_hazard_ : known->hazard;
      return;
    }
    Walk walk{is_trial_, s, {}, {}};
    const OpId outer_hazard = std::exchange(first_hazard_, OpId{});
    const std::size_t barriers = std::exchange(new_barriers_, 0);
    walk_loop(id, s);
    walk.after = s;
    walk.hazard = first_hazard_;
    if (new_barriers_ == 0) walks_[id].push_back(std::move(walk));
    new_barriers_ += barriers;
    first_hazard_ = outer_hazard ? outer_hazard : first_hazard_;
  }

  void walk_loop(OpId id, State& s) {
    State exit;
    const State once = iteration(id, {}, exit);
    State back = iteration(id, once, exit);
    // A trial walk with the accesses before the loop: a hazard with them requires a barrier before the loop.
    State both = s;
    add(both, back);
    State ignored;
    if (const OpId hazard = trial([&] { iteration(id, both, ignored); })) {
      require_barrier(id, hazard, s);
      both = back;
    }
    iteration(id, std::move(both), exit);
    add(s, exit);
  }

  /// Whether the pointer of an access is computed in the loop.
  bool is_inside(OpId id, OpId loop) const {
    if (!pending_[id.index].reads && !pending_[id.index].writes) return false;
    const BlockId at = f_.defining_block(f_.operand(id, 0));
    const auto& regions = f_.op(loop).regions;
    return std::any_of(regions.begin(), regions.end(), [&](BlockId b) { return f_.encloses(b, at); });
  }

  bool conflict(const Pending& a, const Pending& b) {
    if (a.begin < b.end && b.begin < a.end && !(a.only_reads_shared && b.only_reads_shared) && !is_ordered(a, b)) return true;
    const bool ordered = (a.writes && (b.reads || b.writes)) || (a.reads && b.writes);
    if (!ordered || is_same_thread(a, b) || commute(a.op, b.op)) return false;
    return releases(b.op) || !are_disjoint(a, b);
  }

  /// Whether the two accesses are to an ordered buffer and in one block: the pass that made them has put a wait between them.
  bool is_ordered(const Pending& a, const Pending& b) const {
    return a.buffer && a.buffer == b.buffer && f_.op(a.op).parent == f_.op(b.op).parent && f_.attr(a.buffer, AttrName::ordered) != 0;
  }

  bool are_disjoint(const Pending& a, const Pending& b) {
    if (f_.kind(a.op) == OpKind::bulk_store_ || f_.kind(b.op) == OpKind::bulk_store_)
      return !may_share_memory(f_, base_parameter(f_, f_.operand(a.op, 0)), base_parameter(f_, f_.operand(b.op, 0)));
    const auto &x = form(a.op), &y = form(b.op);
    if (!x || !y) return false;
    if (!may_share_memory(f_, x->base, y->base)) return true;
    if (a.from_outer_iteration) return false;
    return a.loop ? are_apart_in_iterations(f_, a.loop, *x, *y) : are_apart(*x, *y);
  }

  const std::optional<AddressForm>& form(OpId id) {
    if (!axes_) axes_.emplace(f_);
    const auto [at, is_new] = forms_.try_emplace(id);
    if (is_new) at->second = address_form(f_, id, *axes_);
    return at->second;
  }

  /// Whether every location is accessed by the same thread in a and in b.
  bool is_same_thread(const Pending& a, const Pending& b) const {
    const ValueId p = f_.operand(a.op, 0);
    if (p != f_.operand(b.op, 0) || a.loop || ir::role_region(f_, a.op) != ir::role_region(f_, b.op)) return false;
    // Stores and atomics are done by one of the threads that hold the element (the first one for a scalar), loads by all of them.
    if (f_.kind(a.op) != OpKind::load_ && f_.kind(b.op) != OpKind::load_) return true;
    if (f_.type(p).is_scalar()) return false;
    const ir::LinearLayout& l = f_.layout(p);
    return l.free_bits(ir::HardwareDim::lane) == 0 && l.free_bits(ir::HardwareDim::warp) == 0;
  }

  /// Whether the order of two atomics cannot be observed.
  bool commute(OpId a, OpId b) const {
    const OpKind k = f_.kind(a);
    if (k != f_.kind(b) || ir::info(k).family != Family::atomic || k == OpKind::atomic_exchange_ || k == OpKind::atomic_cas_ ||
        k == OpKind::atomic_update_)
      return false;
    return !f_.has_uses(f_.result(a)) && !f_.has_uses(f_.result(b));
  }

  /// Whether the op is a scalar atomic that publishes earlier accesses to other programs.
  bool releases(OpId id) const {
    if (ir::info(f_.kind(id)).family != Family::atomic || !f_.type(f_.operand(id, 0)).is_scalar()) return false;
    const auto order = static_cast<ir::Order>(f_.attr(id, ir::AttrName::order));
    return order == ir::Order::release || order == ir::Order::acq_rel;
  }

  const Function& f_;
  const LoweringPlans& plans_;
  std::vector<Pending> pending_;  // indexed by op
  std::vector<OpId> waits_for_;   // indexed by op: the earlier op that it waits for
  std::vector<bool> internal_barrier_;
  /// A walk of a loop that inserted no barrier: the set before and after it, and the earlier op of the first hazard, none if there is none.
  struct Walk {
    bool is_trial = false;
    State before, after;
    OpId hazard;
  };
  std::map<OpId, std::vector<Walk>> walks_;  // since the last barrier was inserted
  std::size_t new_barriers_ = 0;             // in the walk of the innermost loop around
  bool is_trial_ = false;                    // only looks for hazards, inserts no barrier
  OpId first_hazard_;                        // in a trial: the earlier op of the first hazard
  std::optional<AxisInfoAnalysis> axes_;     // computed when first needed
  std::map<OpId, std::optional<AddressForm>> forms_;
};

}  // namespace

std::vector<Barrier> find_hazards(const Function& f, const LoweringPlans& plans) { return HazardFinder(f, plans).barriers(); }

std::string print_hazards(const Function& f, const LoweringPlans& plans) {
  std::string out;
  for (const Barrier& b : find_hazards(f, plans))
    out += fmt::format("barrier before {}, after {}\n", ir::text(f.kind(b.before)), ir::text(f.kind(b.after)));
  return out;
}

}  // namespace tilewright::passes
