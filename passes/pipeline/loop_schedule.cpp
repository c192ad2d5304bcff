// Chooses stages and orders, and checks the conditions on which the expansion relies.
#include "passes/pipeline/loop_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/text/printer.h"

namespace tilewright::passes {

namespace {

bool is_product(OpKind k) { return k == OpKind::mma_ || k == OpKind::dot_; }

/// Ops that belong to tiles of later iterations: they are computed again for those tiles, or replaced by copies.
struct OfTiles {
  std::set<OpId> recomputed, copied;

  explicit OfTiles(const PipelinedLoads& found) : recomputed(found.of_tiles.ops) {
    recomputed.insert(found.index_loads.begin(), found.index_loads.end());
    for (const PipelinedLoad& l : found.loads)
      for (OpId id : {l.load, l.store, l.alloc})
        if (id) copied.insert(id);
  }
  bool has(OpId id) const { return recomputed.contains(id) || copied.contains(id); }
};

/// The products of a loop whose body is only one chain of products of slices read from pipelined buffers; otherwise none.
std::vector<OpId> lone_products(const Function& f, OpId loop, const OfTiles& tiles) {
  std::vector<OpId> products;
  for (OpId id : f.ops(f.region(loop))) {
    const OpKind k = f.kind(id);
    if (is_product(k)) {
      if (!products.empty() && f.operand(id, 2) != f.result(products.back())) return {};
      products.push_back(id);
      for (int i : {0, 1})
        if (const OpId read = f.value(f.operand(id, i)).op; !read || f.kind(read) != OpKind::buffer_load_) return {};
    } else if (k != OpKind::buffer_load_ && k != OpKind::buffer_permute_ && k != OpKind::yield_ && !tiles.has(id)) {
      return {};
    }
  }
  return products;
}

class Scheduler {
 public:
  Scheduler(const Function& f, OpId loop, const PipelinedLoads& found, int slots, int spare)
      : f_(f), body_(f.region(loop)), found_(found), tiles_(found), products_(lone_products(f, loop, tiles_)) {
    s_.slots = slots, s_.spare = spare;
    copy_stage_ = found.index_loads.empty() ? 0 : 1;
    s_.last_stage = copy_stage_ + (products_.empty() ? slots - 1 - spare : slots);
  }

  LoopSchedule run() && {
    if (!products_.empty())
      reads_first_slice_ahead();
    else if (const OpId product = first_asynchronous_product())
      copies_behind(product);
    else
      copies_first(1);
    return std::move(s_);
  }

 private:
  /// First a wait and the copies, then the other ops, and last the stores of loads that go through registers.
  void copies_first(int uses) {
    s_.wait_order = 0;
    of_tiles(0, 0, uses + 1);
    others(uses);
  }

  OpId first_asynchronous_product() const {
    for (OpId id : f_.ops(body_))
      if (f_.kind(id) == OpKind::mma_async_) return id;
    return {};
  }

  /// Copies begin while the first product is computed. Its fence comes before them: it might wait for copies that have begun.
  void copies_behind(OpId product) {
    constexpr int kFirst = 1, kCopies = 2, kOthers = 3, kStores = 4;
    s_.wait_order = 0;
    of_tiles(kCopies, 0, kStores);
    int order = kFirst;
    for (OpId id : f_.ops(body_)) {
      if (id != f_.terminator(body_)) s_.ops.emplace(id, LoopSchedule::Entry{s_.last_stage, order});
      if (id == product) order = kOthers;
    }
  }

  /// While copies are in flight: loads registers, reads all slices but the first, and computes all products but the last. Then the slot is
  /// free for the next copies, and the following slot is read.
  void reads_first_slice_ahead() {
    constexpr int kUses = 1, kWait = 2, kCopies = 3, kEarly = 4;
    s_.wait_order = kWait;
    of_tiles(kCopies, 0, kCopies);
    for (int i : {0, 1}) read_early(f_.operand(products_[0], i), kEarly);
    s_.ops.emplace(products_.back(), LoopSchedule::Entry{s_.last_stage, kWait});
    others(kUses);
  }

  /// `copies`, `loads`, `stores`: the orders of asynchronous copies, and of the loads and the stores of tiles that go through registers.
  void of_tiles(int copies, int loads, int stores) {
    s_.copy_order = copies;
    int first = copies;
    for (const PipelinedLoad& l : found_.loads) {
      const int begins = !l.through_registers ? copies : found_.loads_late ? stores : loads;
      first = std::min(first, begins);
      for (OpId id : {l.load, l.alloc})
        if (id) s_.ops.emplace(id, LoopSchedule::Entry{copy_stage_, begins});
      if (l.store) s_.ops.emplace(l.store, LoopSchedule::Entry{copy_stage_, l.through_registers ? stores : copies});
    }
    for (OpId id : found_.index_loads) s_.ops.emplace(id, LoopSchedule::Entry{0, copies});
    for (OpId id : found_.of_indices.ops) s_.ops.emplace(id, LoopSchedule::Entry{0, copies});
    for (OpId id : found_.of_tiles.ops) s_.ops.emplace(id, LoopSchedule::Entry{copy_stage_, first});
  }

  void read_early(ValueId v, int order) {
    const OpId id = f_.value(v).op;
    if (!id || f_.op(id).parent != body_ || tiles_.has(id) || !s_.ops.emplace(id, LoopSchedule::Entry{s_.last_stage - 1, order}).second)
      return;
    for (ValueId x : f_.op(id).operands) read_early(x, order);
  }

  void others(int order) {
    for (OpId id : f_.ops(body_))
      if (id != f_.terminator(body_)) s_.ops.emplace(id, LoopSchedule::Entry{s_.last_stage, order});
  }

  const Function& f_;
  const BlockId body_;
  const PipelinedLoads& found_;
  const OfTiles tiles_;
  const std::vector<OpId> products_;
  LoopSchedule s_;
  int copy_stage_ = 0;
};

class ScheduleChecker {
 public:
  ScheduleChecker(const Function& f, OpId loop, const PipelinedLoads& found, const LoopSchedule& s)
      : f_(f), body_(f.region(loop)), found_(found), tiles_(found), s_(s) {}

  std::vector<std::string> run() && {
    for (OpId id : f_.ops(body_))
      if (id != f_.terminator(body_) && !s_.ops.contains(id)) errors_.push_back(fmt::format("{}: it has no stage", name(id)));
    if (!errors_.empty()) return std::move(errors_);
    f_.walk(body_, [&](OpId id) {
      for (ValueId v : f_.op(id).operands)
        if (const OpId definer = f_.value(v).op; definer && f_.op(definer).parent == body_) check_use(definer, in_body(id));
    });
    for (const PipelinedLoad& l : found_.loads) check_slots(l);
    return std::move(errors_);
  }

 private:
  std::string name(OpId id) const { return std::string(ir::text(f_.kind(id))); }
  OpId in_body(OpId id) const {
    while (f_.op(id).parent != body_) id = ir::parent_op(f_, id);
    return id;
  }
  LoopSchedule::Entry entry(OpId id) const { return id == f_.terminator(body_) ? LoopSchedule::Entry{s_.last_stage, INT_MAX} : s_.of(id); }

  void check_use(OpId definer, OpId user) {
    const auto d = entry(definer), u = entry(user);
    const auto says = [&](const char* what) {
      errors_.push_back(fmt::format("{} of stage {}, order {} uses {} of stage {}, order {}: {}", name(user), u.stage, u.order,
                                    name(definer), d.stage, d.order, what));
    };
    if (d.stage > u.stage || (d.stage == u.stage && d.order > u.order)) return says("it is not there yet");
    if (u.stage - d.stage > 1 && !tiles_.has(definer)) says("a value is kept for one iteration");
  }

  /// The ops that read the slots of a pipelined load.
  std::vector<OpId> readers(const PipelinedLoad& l) const {
    std::vector<OpId> all;
    f_.walk(body_, [&](OpId id) {
      if (tiles_.has(id)) return;
      const auto reads_buffer = [&](int i) {
        const ValueId v = f_.operand(id, i);
        return f_.type(v).is_buffer() && ir::allocation_of(f_, v) == l.alloc;
      };
      const OpKind k = f_.kind(id);
      const bool reads = !l.alloc                  ? std::ranges::count(f_.op(id).operands, f_.result(l.load)) > 0
                         : k == OpKind::mma_async_ ? reads_buffer(0) || reads_buffer(1)
                                                   : k == OpKind::buffer_load_ && reads_buffer(0);
      if (reads) all.push_back(in_body(id));
    });
    return all;
  }

  /// Iteration j writes the slot of tile j + ahead. With `ahead` slots this is the slot that iteration j reads itself; with one slot more,
  /// the one that the iteration before read. The wait of an iteration is a barrier: earlier reads are complete, and data for later reads
  /// has arrived.
  void check_slots(const PipelinedLoad& l) {
    const OpId write = l.through_registers && l.store ? l.store : l.load;
    const int ahead = s_.last_stage - s_.of(write).stage, order = s_.of(write).order;
    if (ahead > s_.slots - s_.spare || ahead < 1)
      return errors_.push_back(fmt::format("load: it is copied {} iterations ahead, with {} slots", ahead, s_.slots));
    if (ahead < s_.slots && order < s_.wait_order)
      errors_.push_back("load: its slot is written before the wait for those that read it in the iteration before");
    for (OpId reader : readers(l)) {
      const auto r = entry(reader);
      const int slots_apart = ahead - (s_.last_stage - r.stage);  // from the slot that is read to the slot that is written
      if (slots_apart == s_.slots && !(r.order < s_.wait_order && s_.wait_order <= order))
        errors_.push_back(fmt::format("load: its slot is written before the wait for {}, which reads it", name(reader)));
      // With a slot or more to spare, the copies into the slot that is read are complete only after this iteration's wait.
      if (slots_apart < s_.slots && r.order < s_.wait_order)
        errors_.push_back(fmt::format("{}: it reads a slot before the wait for its copies", name(reader)));
    }
  }

  const Function& f_;
  const BlockId body_;
  const PipelinedLoads& found_;
  const OfTiles tiles_;
  const LoopSchedule& s_;
  std::vector<std::string> errors_;
};

}  // namespace

LoopSchedule schedule_loop(const Function& f, OpId loop, const PipelinedLoads& found, int slots, int spare) {
  return Scheduler(f, loop, found, slots, spare).run();
}

std::vector<std::string> schedule_errors(const Function& f, OpId loop, const PipelinedLoads& found, const LoopSchedule& s) {
  return ScheduleChecker(f, loop, found, s).run();
}

std::string print_schedule(const Function& f, OpId loop, const LoopSchedule& s) {
  const std::string slots = s.spare > 0 ? fmt::format("{} slots, {} of them spare", s.slots, s.spare) : fmt::format("{} slots", s.slots);
  std::string out = fmt::format("for: {}, last stage {}, wait at order {}\n", slots, s.last_stage, s.wait_order);
  for (OpId id : f.ops(f.region(loop))) {
    if (id == f.terminator(f.region(loop))) continue;
    const std::string op = ir::print(f, id);
    const LoopSchedule::Entry& e = s.of(id);
    out += fmt::format("{} {{stage = {}, order = {}}}\n", op.substr(0, op.find('\n')), e.stage, e.order);
  }
  return out;
}

}  // namespace tilewright::passes
