// Interprets roles and mbarriers: instances of roles are agents that take turns, each with values, copies and a vector clock of its own. An
// agent that has waited for a phase sees what another agent did before it arrived at that phase; other agents do not. Reading a slot before
// its full phase, or overwriting it before its empty phase, is an Error at the op.
#include <fmt/format.h>

#include <algorithm>

#include "tileir/diagnostics.h"
#include "tileir/interpreter/state.h"
#include "tileir/roles.h"

namespace tilewright::ir {

namespace {

void acquire(AgentClock& clock, const AgentClock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

void acquire(std::vector<std::int64_t>& known, const std::vector<std::int64_t>& other) {
  known.resize(std::max(known.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i) known[i] = std::max(known[i], other[i]);
}

/// The next pseudo-random number, by splitmix64.
std::uint64_t mixed(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

}  // namespace

void Interpreter::Mbarrier::publish(const AgentClock& clock, const KnownPhases& phases) {
  acquire(arriving, clock);
  acquire(arriving_known, phases);
}

void Interpreter::begin_body() {
  agents_.resize(1);
  now_ = agents_.data();
  Agent body;
  body.values = std::move(now_->values);
  body.clock[0] = body.clock[kMostAgents] = body.clock[kProducts] = 1;
  if (has_products_) body.product_of.resize(body.values.size());
  *now_ = std::move(body);
  enter({}, f_.body());
}

std::string Interpreter::name_of(const Agent& a) const {
  if (!a.roles) return "the body";
  const auto& instances = f_.attr_list(a.roles, AttrName::instances);
  const bool has_several = !instances.empty() && instances[static_cast<std::size_t>(a.role)] > 1;
  return has_several ? fmt::format("instance {} of role {}", a.instance, a.role) : fmt::format("role {}", a.role);
}

void Interpreter::run_agents() {
  std::uint64_t random = options_.role_seed;
  for (std::size_t next = 0;;) {
    if (options_.role_seed != 0) next = mixed(random) % agents_.size();
    Agent* chosen = nullptr;
    const Agent* waiting = nullptr;
    for (std::size_t i = 0; i < agents_.size() && !chosen; ++i) {
      Agent& a = agents_[(next + i) % agents_.size()];
      if (a.frames.empty()) continue;
      if (!a.waits_at || try_wait(a))
        chosen = &a;
      else if (!waiting || a.number < waiting->number)
        waiting = &a;
    }
    if (!chosen && !waiting) return;
    if (!chosen) {
      std::vector<Note> notes;
      for (const Agent& a : agents_)
        if (!a.frames.empty() && a.number != waiting->number) notes.push_back({f_.where(a.waits_at), name_of(a) + " waits here"});
      const Mbarrier& m = mbarriers_[static_cast<std::size_t>(waiting->values[f_.operand(waiting->waits_at, 0).index].bits[0])];
      const std::string bytes = m.missing == 0 ? fmt::format("; {} bytes that are expected are not copied", m.expected) : "";
      throw Error(f_.where(waiting->waits_at),
                  fmt::format("mbarrier_wait: {} waits, and no agent is left that could arrive{}", name_of(*waiting), bytes), notes);
    }
    now_ = chosen;
    const std::size_t number = now_->number;
    run_turn();
    next = number + 1;
  }
}

void Interpreter::run_turn() {
  ends_turn_ = false;
  while (!now_->frames.empty() && !ends_turn_) {
    const OpId id = now_->frames.back().next;
    if (!id) {
      leave_region();
      continue;
    }
    count_op(id);
    now_->frames.back().next = f_.op(id).next;
    if (has_products_) check_in_flight(id);
    execute(id);
  }
}

void Interpreter::run_roles(OpId id) {
  int number = 0;
  const std::vector<Role> all = roles(f_, id);
  for (std::size_t role = 0; role < all.size(); ++role)
    for (int instance = 0; instance < all[role].instances; ++instance) {
      Agent a;
      a.number = static_cast<std::size_t>(++number);
      a.roles = id, a.role = static_cast<int>(role), a.instance = instance, a.warps = all[role].warps;
      a.values = agents_[0].values;
      a.clock = agents_[0].clock;
      a.known = agents_[0].known;
      a.product_of.resize(agents_[0].product_of.size());
      a.clock[a.number] = a.clock[a.number + kMostAgents] = a.clock[a.number + kProducts] = 1;
      a.frames.push_back({id, all[role].region, f_.block(all[role].region).first});
      agents_.push_back(std::move(a));
    }
  now_ = agents_.data();
  ends_turn_ = true;
}

void Interpreter::run_role_instance(OpId id) { result(id)[0] = static_cast<std::uint32_t>(now_->instance); }

// The words of an mbarrier value are the numbers of its mbarriers.

void Interpreter::run_alloc_mbarriers(OpId id) {
  Words& numbers = words(f_.result(id));
  numbers.clear();
  for (int i = 0; i < type(f_.result(id)).slots(); ++i) {
    numbers.push_back(mbarriers_.size());
    Mbarrier& m = mbarriers_.emplace_back();
    m.arrivals = m.missing = f_.attr(id, AttrName::arrivals);
  }
}

void Interpreter::run_mbarrier_slot(OpId id) {
  const std::int64_t divisor = std::max<std::int64_t>(f_.attr(id, AttrName::divisor), 1), slots = type(f_.operand(id, 0)).slots();
  const std::int64_t number = scalar_integer(f_.operand(id, 1)), index = number / divisor;
  if (number % divisor != 0 || number < 0 || index >= slots)
    throw Error(f_.where(id), fmt::format("mbarrier_slot: there is no mbarrier {} / {} of {}", number, divisor, slots));
  const std::uint64_t chosen = words(f_.operand(id, 0))[static_cast<std::size_t>(index)];
  words(f_.result(id)).assign(1, chosen);
}

void Interpreter::arrive(OpId id, Mbarrier& m, std::int64_t arrivals) {
  if (arrivals > m.missing)
    throw Error(f_.where(id),
                fmt::format("{}: {} arrivals, and the phase waits for {} more of {}", text(f_.kind(id)), arrivals, m.missing, m.arrivals));
  m.missing -= arrivals;
  end_phase_if_complete(m);
}

void Interpreter::end_phase_if_complete(Mbarrier& m) {
  if (m.missing > 0 || m.expected > 0) return;
  m.missing = m.arrivals;
  ++m.completed;
  acquire(m.published, m.arriving), m.arriving = {};
  acquire(m.published_known, m.arriving_known), m.arriving_known.clear();
  m.delivered.insert(m.delivered.end(), m.copied.begin(), m.copied.end()), m.copied.clear();
}

void Interpreter::run_mbarrier_arrive(OpId id) {
  const auto& operands = f_.op(id).operands;
  const bool meets_others = f_.attr(id, AttrName::ordered) == 0;
  if (operands.size() < 2 || scalar(operands[1])) {
    const std::size_t number = mbarrier(id);
    Mbarrier& m = mbarriers_[number];
    AgentClock clock = now_->clock;
    clock[now_->number + kMostAgents] = meets_others ? now_->complete_copies : 0;
    // A group has seen of other threads only what they had done at their last barrier, but its products are those of all its warps.
    if (!meets_others) --clock[now_->number];
    ++now_->clock[now_->number + kProducts];
    m.publish(clock, now_->known);
    arrive(id, m, (now_->warps + kWarpsOfGroup - 1) / kWarpsOfGroup);
    // A later wait finds the mbarrier as this arrival left it, or in a later state.
    now_->known.resize(mbarriers_.size());
    now_->known[number] = std::max(now_->known[number], m.completed);
  }
  if (meets_others) begin_epoch();
  ends_turn_ = true;
}

void Interpreter::run_copy_arrive(OpId id) {
  Mbarrier& m = mbarriers_[mbarrier(id)];
  const std::size_t copies = now_->number + kMostAgents;
  for (const auto& group : now_->groups) m.copied.insert(m.copied.end(), group.begin(), group.end());
  m.copied.insert(m.copied.end(), now_->started.begin(), now_->started.end());
  m.arriving[copies] = std::max(m.arriving[copies], now_->clock[copies]);
  // Copies that are started after this arrival do not belong to the phase.
  ++now_->clock[copies];
  arrive(id, m, std::int64_t{32} * now_->warps);
}

/// A parity names one of two phases: the last one that the agent knows to be complete, or the next one. If more phases are complete, the
/// program has a race: chance decides which phase the wait observes.
bool Interpreter::try_wait(Agent& a) {
  const OpId id = a.waits_at;
  const auto& operands = f_.op(id).operands;
  const auto number = static_cast<std::size_t>(a.values[operands[0].index].bits[0]);
  const auto parity = static_cast<std::int64_t>(a.values[operands[1].index].bits[0] & 1);
  Mbarrier& m = mbarriers_[number];
  a.known.resize(mbarriers_.size());
  const std::int64_t last = a.known[number] - 1;
  const std::int64_t phase = (last & 1) == parity ? last : last + 1;
  if (m.completed <= phase) return false;
  if (m.completed > phase + 1)
    throw Error(f_.where(id),
                fmt::format("mbarrier_wait: {} waits for phase {}, and phase {} is over: a phase was over before its wait saw it",
                            name_of(a), phase, m.completed - 1));
  if (phase >= 0) {
    acquire(a.clock, m.published);
    acquire(a.known, m.published_known);
    complete(m.delivered), m.delivered.clear();
    a.known[number] = std::max(a.known[number], phase + 1);
  }
  a.waits_at = {};
  return true;
}

void Interpreter::run_mbarrier_wait(OpId id) {
  now_->waits_at = id;
  try_wait(*now_);
  ends_turn_ = true;
}

}  // namespace tilewright::ir
