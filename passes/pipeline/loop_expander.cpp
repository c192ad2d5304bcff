// Expands pipelined loops: passes/pipeline_loops.cpp has the form, and the one with bulk copies is in passes/use_tma.cpp.
#include "passes/pipeline/loop_expander.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "passes/pipeline/carried_products.h"
#include "passes/pipeline/loop_values.h"
#include "passes/pipeline/stage_count.h"
#include "passes/pipeline/tile_addresses.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

constexpr int kDefaultStages = 3;

class LoopExpander {
 public:
  LoopExpander(Rewriter& rw, OpId loop, PipelinedLoads found, LoopSchedule schedule)
      : rw_(rw), f_(rw.function()), loop_(loop), found_(std::move(found)), schedule_(std::move(schedule)) {}

  void run() {
    make_buffers();
    if (bulk_bytes_ > 0) make_mbarriers();
    emit_prologue();
    use_slots();
    expand();
    erase_loads();
    if (bulk_bytes_ > 0) drop_fences();
  }

 private:
  BlockId body() const { return f_.region(loop_); }

  void make_buffers() {
    unit_ = INT64_MAX;
    for (PipelinedLoad& l : found_.loads) {
      unit_ = std::min(unit_, slot_bytes(f_, l));
      const ir::Type tile = f_.type(f_.result(l.load)), all = ir::Type::buffer(tile.element(), stages_, tile.shape());
      std::vector<ir::Attr> attrs{{ir::AttrName::ordered, 1, {}, {}}};
      if (const std::int64_t alignment = l.alloc ? f_.attr(l.alloc, ir::AttrName::alignment) : 0)
        attrs.push_back({ir::AttrName::alignment, alignment, {}, {}});
      if (schedule_.spare > 0) attrs.push_back({ir::AttrName::spare, schedule_.spare, {}, {}});
      l.buffer = f_.result(rw_.create(OpKind::alloc_buffer_, {}, attrs, std::span(&all, 1)));
      f_.set_layout(l.buffer, l.layout);
      (l.bulk ? bulk_bytes_ : thread_bytes_) += slot_bytes(f_, l);
    }
  }

  /// One mbarrier for each slot: its phase is over when the bulk copies of a tile have written it. Threads have finished what they did with
  /// the memory of the slots before the first copy starts.
  void make_mbarriers() {
    OpId top = loop_;
    while (f_.op(top).parent != f_.body()) top = ir::parent_op(f_, top);
    rw_.at(top);
    const ir::Type type = ir::Type::mbarrier(stages_);
    full_ = f_.result(rw_.create(OpKind::alloc_mbarriers_, {}, {{ir::AttrName::arrivals, 1, {}, {}}}, std::span(&type, 1)));
    rw_.at(loop_);
    rw_.create(OpKind::proxy_fence_, {});
    rw_.create(OpKind::barrier_, {});
  }

  ValueId mbarrier_of(ValueId number) {
    const ValueId operands[] = {full_, number};
    return f_.result(rw_.create(OpKind::mbarrier_slot_, operands, {{ir::AttrName::divisor, unit_, {}, {}}}));
  }

  ValueId slot_of(const PipelinedLoad& l, ValueId number) {
    const ValueId operands[] = {l.buffer, number};
    const ValueId slot = f_.result(rw_.create(OpKind::buffer_slot_, operands, {{ir::AttrName::divisor, unit_, {}, {}}}));
    f_.set_layout(slot, f_.layout_id(l.buffer));
    return slot;
  }

  /// The tiles that one iteration copies ahead: one of each load.
  struct Tiles {
    ir::ValueMap map;             // from values of the loop's body to those of the tiles' iteration
    ValueId exist;                // whether the iteration that uses them exists
    bool are_last = false;        // they belong to the last iteration, and all masks apply
    std::vector<ValueId> loaded;  // tiles that go through registers
  };

  ValueId mask_of(const PipelinedLoad& l, const Tiles& t) const {
    const ValueId mask = t.are_last || !found_.last_comes_first ? ir::mask_of(f_, l.load) : l.mask;
    return mask ? t.map(mask) : mask;
  }

  /// Starts the asynchronous copies. If the tiles do not exist, the slot keeps its contents or, if `writes_zeros`, gets zeros.
  void copy(const Tiles& t, ValueId slot, bool writes_zeros) {
    const ir::Loc loc = rw_.loc();
    if (bulk_bytes_ > 0) copy_boxes(t, slot);
    if (thread_bytes_ == 0) return;
    const ValueId always = writes_zeros ? rw_.constant(ir::Type(ir::Element::boolean), 1) : ValueId{};
    for (const PipelinedLoad& l : found_.loads) {
      if (l.through_registers || l.bulk) continue;
      rw_.set_loc(f_.op(l.load).loc);
      ValueId mask = mask_of(l, t);
      if (writes_zeros) mask = addresses_.masked_by(l.load, mask, t.exist);
      std::vector<ValueId> operands{t.map(f_.operand(l.load, 0)), slot_of(l, slot), writes_zeros ? always : t.exist};
      if (mask) operands.push_back(mask);
      std::vector<ir::Attr> attrs;
      for (const ir::Attr& a : f_.op(l.load).attrs)
        if (a.name == ir::AttrName::cache) attrs.push_back(a);
      rw_.create(OpKind::copy_async_, operands, attrs);
    }
    rw_.set_loc(loc);
    rw_.create(OpKind::async_commit_, {});
  }

  /// Starts the bulk copies, if the tiles exist.
  void copy_boxes(const Tiles& t, ValueId slot) {
    const ir::Loc loc = rw_.loc();
    const ValueId mbarrier = mbarrier_of(slot);
    const ValueId expected[] = {mbarrier, t.exist};
    rw_.create(OpKind::mbarrier_expect_, expected, {{ir::AttrName::bytes, bulk_bytes_, {}, {}}});
    for (const PipelinedLoad& l : found_.loads) {
      if (!l.bulk) continue;
      rw_.set_loc(f_.op(l.load).loc);
      ValueId to = slot_of(l, slot);
      if (l.bulk->is_turned) {
        const std::vector<std::int64_t> swap{1, 0};
        const LayoutId layout = f_.add_layout(ir::LinearLayout(f_.layout(to)).permuted(swap));
        to = f_.result(rw_.create(OpKind::buffer_permute_, std::span(&to, 1), {{ir::AttrName::axes, 0, swap, {}}}));
        f_.set_layout(to, layout);
      }
      std::vector<ValueId> operands{l.bulk->map, to, mbarrier, t.exist};
      for (ValueId c : l.bulk->coordinates) operands.push_back(t.map(c));
      rw_.create(OpKind::bulk_copy_, operands);
    }
    rw_.set_loc(loc);
  }

  /// Loads the tiles that go through registers. Tiles that do not exist are not read: no product uses them, so they may have any value,
  /// which saves the instructions that would set registers to zero.
  void load(Tiles& t) {
    const ir::Loc loc = rw_.loc();
    for (const PipelinedLoad& l : found_.loads) {
      if (!l.through_registers) continue;
      rw_.set_loc(f_.op(l.load).loc);
      const ValueId mask = mask_of(l, t);
      t.loaded.push_back(addresses_.load(l.load, t.map, addresses_.masked_by(l.load, mask, t.exist), !mask));
    }
    rw_.set_loc(loc);
  }

  void store(const Tiles& t, ValueId slot) {
    auto value = t.loaded.begin();
    for (const PipelinedLoad& l : found_.loads) {
      if (!l.through_registers) continue;
      const ValueId operands[] = {slot_of(l, slot), *value++};
      rw_.create(OpKind::buffer_store_, operands);
    }
  }

  void emit_prologue() {
    addresses_.load_first_indices();
    for (int tile = 0; tile < lookahead_; ++tile) {
      Tiles t{.map = addresses_.first(tile), .exist = values_.exists(tile), .are_last = found_.last_comes_first && tile == 0, .loaded = {}};
      // Reads of the next tile do not check whether it exists.
      copy(t, slot_number(tile), lookahead_ == stages_);
      load(t);
      store(t, slot_number(tile));
    }
  }

  /// The number of a slot, in units of `unit_` bytes.
  ValueId slot_number(std::int64_t slot) { return rw_.constant(ir::Type(ir::Element::i32), slot * unit_); }
  /// The slot after this one, cyclically over S slots. Behind the last one, the phases of the mbarriers change.
  ValueId next_slot(ValueId number) {
    const ValueId next = rw_.binary(OpKind::add_, number, slot_number(1));
    const ValueId is_first = rw_.binary(OpKind::eq_, next, slot_number(stages_));
    if (phase_) {
      const ValueId other = rw_.binary(OpKind::bit_xor_, phase_, rw_.constant(ir::Type(ir::Element::i32), 1));
      values_.set_next(phase_, rw_.select(is_first, other, phase_));
    }
    return rw_.select(is_first, slot_number(0), next);
  }

  /// Replaces the loads by reads of a slot.
  void use_slots() {
    slot_ = values_.carry(slot_number(0));
    if (bulk_bytes_ > 0) phase_ = values_.carry(slot_number(0));
    rw_.at(f_.block(body()).first);
    for (const PipelinedLoad& l : found_.loads) {
      const ValueId slot = slot_of(l, slot_);
      if (l.alloc) {
        rw_.replace_uses(f_.result(l.alloc), slot);
        continue;
      }
      const ir::Type tile = f_.type(f_.result(l.load));
      const ValueId read = f_.result(rw_.create(OpKind::buffer_load_, std::span(&slot, 1), {}, std::span(&tile, 1)));
      f_.set_layout(read, f_.layout_id(f_.result(l.load)));
      rw_.replace_uses(f_.result(l.load), read);
    }
  }

  /// Emits, in the loop: the tiles that the iteration copies, if the counter is less than the limit.
  Tiles later_tiles(ValueId limit) {
    ir::ValueMap map = addresses_.later();
    return {.map = std::move(map), .exist = rw_.binary(OpKind::lt_, values_.counter(), limit), .loaded = {}};
  }

  /// Waits for the tiles of this iteration. It is also a barrier of all threads.
  void wait_for_tiles(int pending) {
    if (bulk_bytes_ > 0) {
      const ValueId operands[] = {mbarrier_of(slot_), phase_};
      rw_.create(OpKind::mbarrier_wait_, operands);
      if (thread_bytes_ == 0) {
        rw_.create(OpKind::barrier_, {});
        return;
      }
    }
    wait(pending);
  }

  void wait(int pending) { rw_.create(OpKind::async_wait_, {}, {{ir::AttrName::pending, pending, {}, {}}}); }

  // ---- expand ----

  /// A use, by an op of the last stage, of a value that an op of the stage before reads.
  struct EarlyRead {
    OpId user;
    int operand;
    ValueId value;
  };
  std::vector<EarlyRead> early_reads() const {
    std::vector<EarlyRead> all;
    for (OpId id : f_.ops(body())) {
      if (!is_of_last_stage(id)) continue;
      for (int i = 0; i < static_cast<int>(f_.op(id).operands.size()); ++i)
        if (const OpId read = f_.value(f_.operand(id, i)).op; read && f_.kind(read) == OpKind::buffer_load_ && is_early(read))
          all.push_back({id, i, f_.operand(id, i)});
    }
    return all;
  }
  bool is_of_stage(OpId id, int stage) const {
    const auto at = schedule_.ops.find(id);
    return at != schedule_.ops.end() && at->second.stage == stage;
  }
  bool is_of_last_stage(OpId id) const { return is_of_stage(id, schedule_.last_stage); }
  bool is_early(OpId id) const { return is_of_stage(id, schedule_.last_stage - 1); }

  /// The op before which ops of this order are inserted; ops of order 0 begin the iteration.
  OpId position(int order) const {
    if (order == 0) return f_.block(body()).first;
    for (OpId id : f_.ops(body()))
      if (is_of_last_stage(id) && schedule_.of(id).order >= order) return id;
    return f_.terminator(body());
  }

  /// Work that an iteration does for a later one. Steps are emitted in their order, addresses first.
  struct Step {
    int order;
    OpId position;
    std::function<void()> emit;
  };

  void expand() {
    const std::vector<EarlyRead> early = early_reads();
    rw_.at(loop_);
    const ValueId limit = values_.end_of(lookahead_);
    std::vector<ValueId> first_reads;
    if (!early.empty()) wait(stages_ - 1), first_reads = read_from(early, slot_number(0));
    // With as many slots as iterations ahead, the slot that this iteration reads is written; with more, one that an iteration before has read.
    std::vector<ValueId> read{slot_};
    for (int before = 1; before <= stages_ - lookahead_; ++before) read.push_back(values_.carry(slot_number(stages_ - before)));
    const ValueId write = read.back();
    addresses_.carry();

    Tiles tiles;
    const auto registers = std::ranges::find_if(found_.loads, &PipelinedLoad::through_registers);
    const bool any_loaded = registers != found_.loads.end();
    const int first_of_tiles = any_loaded ? std::min(schedule_.of(registers->load).order, schedule_.copy_order) : schedule_.copy_order;
    std::vector<Step> steps{{schedule_.wait_order, position(schedule_.wait_order),
                             [&] { wait_for_tiles(lookahead_ == stages_ ? stages_ - 2 : lookahead_ - 1); }},
                            {0, position(first_of_tiles), [&] { tiles = later_tiles(limit); }}};
    const auto add = [&](int order, std::function<void()> emit) { steps.push_back({order, position(order), std::move(emit)}); };
    add(schedule_.copy_order, [&] { copy(tiles, write, false); });
    if (any_loaded) add(schedule_.of(registers->load).order, [&] { load(tiles); });
    if (any_loaded) add(schedule_.of(registers->store).order, [&] { store(tiles, write); });
    add(schedule_.copy_order, [&] { addresses_.load_later_indices(tiles.map); });
    std::ranges::stable_sort(steps, {}, &Step::order);
    steps.push_back({0, f_.terminator(body()), [&] { end_iteration(early, first_reads, read); }});
    OpId at;
    for (const Step& step : steps) {
      if (step.position != at) rw_.at(at = step.position);
      step.emit();
    }
    if (early.empty()) return;
    // Writes of zeros may not be complete, and the memory of the buffers may be used again.
    rw_.after(loop_);
    wait(0);
    erase_reads(early);
  }

  /// Yields the slots of the next iteration, and the values that are read from them ahead. `read`: the slots that this iteration and those
  /// before it have read.
  void end_iteration(const std::vector<EarlyRead>& early, const std::vector<ValueId>& first_reads, const std::vector<ValueId>& read) {
    const ValueId following = next_slot(slot_);
    values_.set_next(slot_, following);
    for (std::size_t i = 1; i < read.size(); ++i) values_.set_next(read[i], read[i - 1]);
    const std::vector<ValueId> reads = read_from(early, following);
    for (std::size_t i = 0; i < early.size(); ++i) {
      const ValueId fragments = values_.carry(first_reads[i]);
      rw_.set_operand(early[i].user, early[i].operand, fragments);
      values_.set_next(fragments, reads[i]);
    }
  }

  void erase_reads(const std::vector<EarlyRead>& early) {
    std::set<OpId> erased;
    for (const EarlyRead& e : early) {
      const OpId read = f_.value(e.value).op;
      if (!erased.insert(read).second) continue;
      const ValueId buffer = f_.operand(read, 0);
      rw_.erase(read);
      rw_.erase_unused(buffer);
    }
  }

  /// Emits the same reads from another slot.
  std::vector<ValueId> read_from(const std::vector<EarlyRead>& early, ValueId slot) {
    ir::ValueMap map;
    map.set(slot_, slot);
    std::vector<ValueId> reads;
    for (const EarlyRead& e : early) clone_read(e.value, map);
    for (const EarlyRead& e : early) reads.push_back(map(e.value));
    return reads;
  }
  void clone_read(ValueId v, ir::ValueMap& map) {
    const OpId id = f_.value(v).op;
    if (map.contains(v) || !id || f_.op(id).parent != body()) return;
    for (ValueId x : std::vector<ValueId>(f_.op(id).operands)) clone_read(x, map);
    rw_.clone(id, map);
  }

  /// Products need no fence in a loop that writes shared memory by bulk copies alone: the one before it is enough.
  void drop_fences() {
    std::vector<OpId> fences;
    bool writes = false;
    f_.walk(body(), [&](OpId id) {
      const OpKind k = f_.kind(id);
      writes = writes || k == OpKind::buffer_store_ || k == OpKind::copy_async_;
      if (k == OpKind::proxy_fence_) fences.push_back(id);
    });
    if (writes) return;
    for (OpId id : fences) rw_.erase(id);
  }

  void erase_loads() {
    for (const PipelinedLoad& l : found_.loads) {
      if (l.store) rw_.erase(l.store);
      if (l.alloc) rw_.erase(l.alloc);
      rw_.erase(l.load);
    }
  }

  Rewriter& rw_;
  Function& f_;
  const OpId loop_;
  PipelinedLoads found_;
  const LoopSchedule schedule_;
  const int stages_ = schedule_.slots;
  /// The number of iterations by which a tile is copied before its use.
  const int lookahead_ = schedule_.last_stage - schedule_.of(found_.loads.front().load).stage;
  LoopValues values_{rw_, loop_};
  TileAddresses addresses_{rw_, values_, found_, lookahead_};
  std::int64_t unit_ = 1;                           // bytes of the smallest slot
  std::int64_t bulk_bytes_ = 0, thread_bytes_ = 0;  // of a tile: those that bulk copies write, and those that threads do
  ValueId slot_;                                    // the slot that the iteration reads
  ValueId full_, phase_;                            // mbarriers, and the phase that the iteration waits for
};

bool has_known_step(const Function& f, OpId loop) { return ir::constant_integer(f, f.operand(loop, 2)).value_or(0) > 0; }

std::string why_no_load_moves(const Function& f, OpId loop, const LoopStores& stores) {
  if (!has_known_step(f, loop)) return "the step of the loop is not a positive constant";
  const OpId write = stores.other_write();
  if (!write) return {};
  const Location at = f.where(write);
  const std::string where = at.line != 0 ? fmt::format(" at {}:{}", at.file, at.line) : "";
  return fmt::format("loads may not overtake the {}{}{}", f.kind(write) == OpKind::store_ ? "volatile " : "", ir::text(f.kind(write)),
                     where);
}

/// Whether the loop loads tiles and writes them to shared memory.
bool fetches_tiles(const Function& f, OpId loop) {
  for (OpId id : f.ops(f.region(loop)))
    if (f.kind(id) == OpKind::buffer_store_ && f.defined_by(f.operand(id, 1), OpKind::load_)) return true;
  return false;
}

/// Adds remarks about loads that stay in their iteration, with the reason.
void remark_refused(const Function& f, const PassContext& context, const std::vector<RefusedLoad>& refused) {
  if (!context.remarks) return;
  for (const RefusedLoad& r : refused)
    context.remarks->push_back({f.where(r.load), fmt::format("load: not copied ahead of its iteration: {}", r.reason)});
}

/// Whether each buffer has a slot that asynchronous products of the iteration before may still read: 1 or 0. It is a further slot if there is
/// memory for it; else it is one of the `stages` if tiles are copied two iterations ahead without it.
int spare_slots(const Function& f, const PassContext& context, OpId loop, const std::vector<PipelinedLoad>& loads, int& stages) {
  constexpr int kLeastStages = 4;
  if (!carried_products(f, loop)) return 0;
  PassContext without_remarks = context;
  without_remarks.remarks = nullptr;
  if (stages < ir::kMaxSlots && stages_that_fit(f, without_remarks, loop, loads, stages + 1) > stages) {
    ++stages;
    return 1;
  }
  return stages >= kLeastStages ? 1 : 0;
}

/// Whether the last product of the loop has a factor in registers, and another product comes before it.
bool has_chained_products(const Function& f, OpId loop) {
  std::vector<OpId> products;
  for (OpId id : f.ops(f.region(loop)))
    if (f.kind(id) == OpKind::mma_async_) products.push_back(id);
  return products.size() > 1 && !f.type(f.operand(products.back(), 0)).is_buffer();
}

/// The least number of stages with which the last of chained products can run in the next iteration (passes/overlap_products.cpp), if there is
/// memory for them, and two stages leave none for a second program either.
int stages_that_overlap(const Function& f, const PassContext& context, OpId loop, const std::vector<PipelinedLoad>& loads, int stages) {
  constexpr int kLeastStages = 3;
  const bool are_bulk = std::ranges::all_of(loads, [](const PipelinedLoad& l) { return l.bulk.has_value(); });
  if (stages >= kLeastStages || !are_bulk || !has_chained_products(f, loop)) return stages;
  std::int64_t bytes = 0;
  for (const PipelinedLoad& l : loads) bytes += stages * slot_bytes(f, l);
  PassContext without_remarks = context;
  without_remarks.remarks = nullptr;
  const bool fit = stages_that_fit(f, without_remarks, loop, loads, kLeastStages) == kLeastStages;
  return fit && !has_room_for_two(f, context, {loop}, bytes) ? kLeastStages : stages;
}

}  // namespace

std::optional<LoopPlan> plan_loop(Rewriter& rw, const PassContext& context, OpId loop, const BulkLoads& bulk) {
  const Function& f = rw.ir();
  int stages = static_cast<int>(f.attr(loop, ir::AttrName::num_stages));
  const bool copies_all = stages >= 2;
  if (stages == 0) stages = context.num_stages > 0 ? context.num_stages : kDefaultStages;
  if (stages < 2 || context.target.sm < 80) return std::nullopt;
  const LoopStores stores(f, loop);
  if (std::string why = why_no_load_moves(f, loop, stores); !why.empty()) {
    if (context.remarks && (copies_all || fetches_tiles(f, loop)))
      context.remarks->push_back({f.where(loop), fmt::format("for: nothing is copied ahead of its iteration: {}", why)});
    return std::nullopt;
  }
  LoopPlan plan{find_pipelined_loads(rw, loop, stores, copies_all, bulk), {}};
  remark_refused(f, context, plan.found.refused);
  stages = stages_that_fit(f, context, loop, plan.found.loads, stages);
  if (plan.found.loads.empty() || stages < 2) return std::nullopt;
  stages = stages_that_overlap(f, context, loop, plan.found.loads, stages);
  const int spare = spare_slots(f, context, loop, plan.found.loads, stages);
  plan.schedule = schedule_loop(f, loop, plan.found, stages, spare);
  const std::vector<std::string> errors = schedule_errors(f, loop, plan.found, plan.schedule);
  TW_CHECK(errors.empty(), fmt::format("the schedule of a loop is wrong: {}", fmt::join(errors, "; ")));
  return plan;
}

void expand_loop(Rewriter& rw, OpId loop, LoopPlan plan) { LoopExpander(rw, loop, std::move(plan.found), std::move(plan.schedule)).run(); }

std::vector<OpId> counted_loops(const Function& f) {
  std::vector<OpId> loops;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::for_) loops.push_back(id);
  });
  return loops;
}

}  // namespace tilewright::passes
