// Pipelines loops: what a loop fetches into shared memory is copied asynchronously, several iterations before the one that uses it.
//
//   for i = lo to hi step s                         b = alloc_buffer of S slots
//     p = f(i); x = load p, m                       copy f(lo) to slot 0; commit; ... copy f(lo + (S - 2) s) to slot S - 2; commit
//     b = alloc_buffer; buffer_store b, x     ->    for i = lo to hi step s (read = 0, write = S - 1, ahead = S - 1)
//     use(b)                                          async_wait {pending = S - 2}
//                                                     if i < limit: copy f(i + (S - 1) s) to slot `write`; commit
//                                                     use(slot `read` of b); read, write += 1, of S slots
//
// The wait is the only barrier of an iteration: the slot that is written was read in the iteration before, which every thread has finished.
// S is the number of stages. Slots are counted in bytes of the smallest one, so that a slot's address is a sum.
//
//   1. find_loads: loads in the loop's body that cp.async can do, and whose only use is a buffer_store. If the loop says how many stages it
//      has, all others as well: each thread reads back what it has copied.
//   2. find_addresses: the ops that addresses and masks are computed from, within the loop: pure ops on the counter and on carried values
//      that are computed likewise. So they can be computed for a later iteration.
//   3. count: the number of iterations, from which follows the value of the counter where copies end.
//   4. emit_prologue, emit_copies: as above. Carried values that addresses need are carried a second time, S - 1 iterations ahead.
//
// Not pipelined: loops that write to memory, and loops whose step is no positive constant.
// Input, output: distributed. Numerics do not change. See tests/files/passes/pipeline_loops/.
#include <algorithm>
#include <map>
#include <set>

#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/plans/access_plan.h"
#include "passes/plans/buffer_plan.h"
#include "passes/plans/lowering_plans.h"
#include "passes/rewriter.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr int kDefaultStages = 3;
constexpr int kLeastCopyBytes = 4;  // of cp.async

class LoopPipeliner {
 public:
  LoopPipeliner(Rewriter& rw, const PassContext& context, OpId loop) : rw_(rw), f_(rw.function()), context_(context), loop_(loop) {}

  void run() {
    stages_ = static_cast<int>(f_.attr(loop_, ir::AttrName::num_stages));
    if (stages_ == 0) stages_ = context_.num_stages > 0 ? context_.num_stages : kDefaultStages;
    if (stages_ < 2 || context_.target.sm < 80 || !has_known_step() || writes_memory()) return;
    find_loads();
    std::erase_if(loads_, [&](const Load& l) { return !find_addresses(l); });
    fit_shared_memory();
    if (loads_.empty() || stages_ < 2) return;
    for (const Load& l : loads_) add_addresses(l);
    rw_.at(loop_);
    count();
    make_buffers();
    emit_prologue();
    emit_copies();
    use_slots();
  }

 private:
  struct Load {
    OpId load, store, alloc;  // store, alloc: of the buffer of one slot; none: there is no buffer yet
    LayoutId layout;          // of the buffer
    ValueId buffer = {};      // of all slots
  };

  BlockId body() const { return f_.region(loop_); }
  std::span<const ValueId> carried() const { return std::span(f_.block(body()).args).subspan(1); }

  // ---- whether the loop can be pipelined ----

  bool has_known_step() const {
    const auto bits = f_.constant_bits(f_.operand(loop_, 2));
    return bits && ir::integer_value(f_.type(f_.operand(loop_, 2)).element(), *bits) > 0;
  }
  std::int64_t step() const { return ir::integer_value(counter_type(), *f_.constant_bits(f_.operand(loop_, 2))); }
  ir::Element counter_type() const { return f_.type(f_.operand(loop_, 0)).element(); }

  bool writes_memory() const {
    bool found = false;
    f_.walk(body(), [&](OpId id) { found = found || ir::info(f_.kind(id)).has(ir::kWrites); });
    return found;
  }

  // ---- 1. find loads ----

  void find_loads() {
    const AxisInfoAnalysis axes(f_);
    std::set<OpId> stored;
    for (OpId id : f_.ops(body())) {
      if (f_.kind(id) != OpKind::buffer_store_) continue;
      const ValueId buffer = f_.operand(id, 0), value = f_.operand(id, 1);
      const Load l{f_.defined_by(value, OpKind::load_), id, f_.defined_by(buffer, OpKind::alloc_buffer_), f_.layout_id(buffer)};
      if (!l.load || !l.alloc || f_.op(l.alloc).parent != body() || f_.op(l.load).parent != body()) continue;
      stored.insert(l.load);
      if (f_.value(value).users.size() == 1 && is_copyable(l, axes)) loads_.push_back(l);
    }
    if (f_.attr(loop_, ir::AttrName::num_stages) < 2) return;
    for (OpId id : f_.ops(body())) {
      if (f_.kind(id) != OpKind::load_ || stored.contains(id) || f_.type(f_.result(id)).is_scalar()) continue;
      if (f_.type(f_.result(id)).rank() > ir::kMaxBufferRank || !f_.has_uses(f_.result(id))) continue;
      const ir::LinearLayout layout = f_.layout(f_.result(id)).without_free_registers();
      const Load l{id, {}, {}, f_.add_layout(buffer_layout(layout, layout, f_.type(f_.result(id)).element_bytes()))};
      if (is_copyable(l, axes)) loads_.push_back(l);
    }
  }

  bool is_copyable(const Load& l, const AxisInfoAnalysis& axes) const {
    if (f_.attr(l.load, ir::AttrName::is_volatile)) return false;
    const auto& operands = f_.op(l.load).operands;
    if (operands.size() > 2 && f_.constant_bits(operands[2]) != std::uint64_t{0}) return false;
    const ir::Type t = f_.type(f_.result(l.load));
    const ir::LinearLayout& layout = f_.layout(operands[0]);
    const std::vector<int> vector = vector_bits(access_info(f_, l.load, axes), layout);
    const int log2_copied = log2_copy_vector(layout, f_.layout(l.layout), t.element_bytes(), vector);
    return t.element_bytes() << log2_copied >= kLeastCopyBytes;
  }

  // ---- 2. find addresses ----

  /// Adds the ops of the loop that v is computed from to `ops`, and the carried values to `values`; false: one of them is not pure.
  bool add_slice(ValueId v, std::set<OpId>& ops, std::set<int>& values) const {
    if (!f_.encloses(body(), f_.defining_block(v))) return true;
    const ir::ValueData& d = f_.value(v);
    if (!d.op) {
      if (d.block != body()) return false;
      const int k = static_cast<int>(d.number) - 1;
      return k < 0 || !values.insert(k).second || add_slice(f_.operand(f_.terminator(body()), k), ops, values);
    }
    if (f_.op(d.op).parent != body() || !ir::info(f_.kind(d.op)).has(ir::kPure) || ir::info(f_.kind(d.op)).has(ir::kExpensive))
      return false;
    if (!ops.insert(d.op).second) return true;
    const std::vector<ValueId>& operands = f_.op(d.op).operands;
    return std::all_of(operands.begin(), operands.end(), [&](ValueId x) { return add_slice(x, ops, values); });
  }
  bool add_addresses_to(const Load& l, std::set<OpId>& ops, std::set<int>& values) const {
    const ValueId mask = ir::mask_of(f_, l.load);
    return add_slice(f_.operand(l.load, 0), ops, values) && (!mask || add_slice(mask, ops, values));
  }
  bool find_addresses(const Load& l) const {
    std::set<OpId> ops;
    std::set<int> values;
    return add_addresses_to(l, ops, values);
  }
  void add_addresses(const Load& l) { TW_CHECK(add_addresses_to(l, address_ops_, address_values_), "an address was found before"); }

  std::int64_t bytes_of(const Load& l) const {
    const ir::Type t = f_.type(f_.result(l.load));
    return t.elements() * t.element_bytes();
  }

  /// Fewer stages if all of them need more shared memory than a program has.
  void fit_shared_memory() {
    std::int64_t slot = 0, others = 0;
    for (const Load& l : loads_) {
      slot += bytes_of(l);
      if (l.alloc) others -= bytes_of(l);
    }
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::alloc_buffer_) others += ir::buffer_bytes(f_.type(f_.result(id)));
    });
    const LoweringPlans& plans = context_.plans->get(f_, context_.num_warps);
    std::int64_t scratch = 0;
    f_.walk(body(), [&](OpId id) {
      if (f_.kind(id) != OpKind::alloc_buffer_) scratch = std::max(scratch, plans.scratch_bytes(id));
    });
    others += scratch;
    while (stages_ > 1 && others + stages_ * slot > context_.target.shared_bytes) --stages_;
  }

  // ---- 3. count ----

  /// The number of iterations, as the unsigned type of the counter.
  void count() {
    const ir::Element e = counter_type(), u = ir::integer(ir::bits(e), false);
    const ValueId lo = f_.operand(loop_, 0), hi = f_.operand(loop_, 1);
    const ValueId distance = rw_.cast(rw_.binary(OpKind::sub_, hi, lo), u);
    const ir::Type t(u);
    const ValueId last = rw_.binary(OpKind::div_, rw_.binary(OpKind::sub_, distance, rw_.constant(t, 1)), rw_.constant(t, step()));
    count_ = rw_.select(rw_.binary(OpKind::lt_, lo, hi), rw_.binary(OpKind::add_, last, rw_.constant(t, 1)), rw_.constant(t, 0));
  }

  ValueId unsigned_constant(std::int64_t v) { return rw_.constant(f_.type(count_), v); }

  // ---- 4. emit ----

  void make_buffers() {
    unit_ = INT64_MAX;
    for (Load& l : loads_) {
      unit_ = std::min(unit_, bytes_of(l));
      const ir::Type tile = f_.type(f_.result(l.load)), all = ir::Type::buffer(tile.element(), stages_, tile.shape());
      l.buffer = f_.result(rw_.create(OpKind::alloc_buffer_, {}, {}, std::span(&all, 1)));
      f_.set_layout(l.buffer, l.layout);
    }
  }

  ValueId slot_of(const Load& l, ValueId number) {
    const ValueId operands[] = {l.buffer, number};
    const ValueId slot = f_.result(rw_.create(OpKind::buffer_slot_, operands, {{ir::AttrName::divisor, unit_, {}, {}}}));
    f_.set_layout(slot, f_.layout_id(l.buffer));
    return slot;
  }

  /// Clones the address computations for another iteration, and starts its copies if `condition` holds.
  void copy(ir::ValueMap& map, ValueId slot, ValueId condition) {
    for (OpId id : f_.ops(body()))
      if (address_ops_.contains(id)) rw_.clone(id, map);
    const ir::Loc loc = rw_.loc();
    for (const Load& l : loads_) {
      rw_.set_loc(f_.op(l.load).loc);
      std::vector<ValueId> operands{map(f_.operand(l.load, 0)), slot_of(l, slot), condition};
      if (const ValueId mask = ir::mask_of(f_, l.load)) operands.push_back(map(mask));
      std::vector<ir::Attr> attrs;
      for (const ir::Attr& a : f_.op(l.load).attrs)
        if (a.name == ir::AttrName::cache) attrs.push_back(a);
      rw_.create(OpKind::copy_async_, operands, attrs);
    }
    rw_.set_loc(loc);
    rw_.create(OpKind::async_commit_, {});
  }

  /// The value of the counter `iterations` after `from`.
  ValueId counter_after(ValueId from, std::int64_t iterations) {
    return iterations == 0 ? from : rw_.binary(OpKind::add_, from, rw_.constant(ir::Type(counter_type()), iterations * step()));
  }

  /// Copies of the first S - 1 iterations. Leaves in ahead_ the carried values of iteration S - 1.
  void emit_prologue() {
    for (int k : address_values_) ahead_[k] = f_.operand(loop_, k + 3);
    for (int j = 0; j + 1 < stages_; ++j) {
      ir::ValueMap map;
      map.set(f_.arg(body(), 0), counter_after(f_.operand(loop_, 0), j));
      for (const auto& [k, v] : ahead_) map.set(carried()[static_cast<std::size_t>(k)], v);
      copy(map, slot_number(j), rw_.binary(OpKind::lt_, unsigned_constant(j), count_));
      advance(map);
    }
  }

  void advance(const ir::ValueMap& map) {
    for (auto& [k, v] : ahead_) v = map(f_.operand(f_.terminator(body()), k));
  }

  /// Adds a loop-carried value and returns its argument. The caller yields its next value, in the order of the calls.
  ValueId carry(ValueId init) {
    f_.add_operand(loop_, init);
    const ir::Type t = f_.type(init);
    const ValueId arg = f_.add_arg(body(), t), result = f_.add_result(loop_, t);
    for (ValueId v : {arg, result}) f_.set_layout(v, f_.layout_id(init));
    return arg;
  }
  void yield(ValueId next) { f_.add_operand(f_.terminator(body()), next); }

  /// The number of a slot, in units.
  ValueId slot_number(std::int64_t slot) { return rw_.constant(ir::Type(ir::Element::i32), slot * unit_); }
  /// The slot behind this one, of S slots, around.
  ValueId next_slot(ValueId number) {
    const ValueId next = rw_.binary(OpKind::add_, number, slot_number(1));
    return rw_.select(rw_.binary(OpKind::eq_, next, slot_number(stages_)), slot_number(0), next);
  }

  /// The value of the counter from which on there is no iteration S - 1 later: lo + (n - (S - 1)) s, or lo.
  ValueId end_of_copies() {
    const ValueId lo = f_.operand(loop_, 0), ahead = unsigned_constant(stages_ - 1);
    const ValueId copies = rw_.cast(rw_.binary(OpKind::sub_, count_, ahead), counter_type());
    const ValueId end = rw_.binary(OpKind::add_, lo, rw_.binary(OpKind::mul_, copies, rw_.constant(ir::Type(counter_type()), step())));
    return rw_.select(rw_.binary(OpKind::lt_, ahead, count_), end, lo);
  }

  void emit_copies() {
    rw_.at(loop_);
    const ValueId limit = end_of_copies();
    read_ = carry(slot_number(0));
    const ValueId write = carry(slot_number(stages_ - 1));
    std::map<int, ValueId> args;
    for (const auto& [k, v] : ahead_) args[k] = carry(v);
    const OpId first = f_.block(body()).first;
    rw_.at(first);
    rw_.create(OpKind::async_wait_, {}, {{ir::AttrName::pending, stages_ - 2, {}, {}}});
    ir::ValueMap map;
    map.set(f_.arg(body(), 0), counter_after(f_.arg(body(), 0), stages_ - 1));
    for (const auto& [k, v] : args) map.set(carried()[static_cast<std::size_t>(k)], v);
    // The ops that are cloned are those of the body as it was.
    copy(map, write, rw_.binary(OpKind::lt_, f_.arg(body(), 0), limit));
    yield(next_slot(read_)), yield(next_slot(write));
    for (const auto& [k, v] : args) yield(map(f_.operand(f_.terminator(body()), k)));
  }

  /// Replaces the loads by reads of their slots.
  void use_slots() {
    std::vector<ValueId> slots, reads;
    for (const Load& l : loads_) {
      slots.push_back(slot_of(l, read_));
      if (l.store) continue;
      const ir::Type tile = f_.type(f_.result(l.load));
      reads.push_back(f_.result(rw_.create(OpKind::buffer_load_, std::span(&slots.back(), 1), {}, std::span(&tile, 1))));
      f_.set_layout(reads.back(), f_.layout_id(f_.result(l.load)));
    }
    // Only now: the body may have begun with one of the ops that are erased.
    auto read = reads.begin();
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      const Load& l = loads_[i];
      if (!l.store) {
        rw_.replace(l.load, *read++);
        continue;
      }
      rw_.erase(l.store);
      rw_.replace(l.alloc, slots[i]);
      rw_.erase(l.load);
    }
  }

  Rewriter& rw_;
  Function& f_;
  const PassContext& context_;
  const OpId loop_;
  int stages_ = 0;
  std::vector<Load> loads_;
  std::set<OpId> address_ops_;
  std::set<int> address_values_;  // carried values, by number
  std::map<int, ValueId> ahead_;  // of these: the value in a later iteration
  std::int64_t unit_ = 1;         // bytes of the smallest slot
  ValueId count_, read_;
};

}  // namespace

bool pipeline_loops(Function& f, const PassContext& context) {
  Rewriter rw(f);
  std::vector<OpId> loops;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::for_) loops.push_back(id);
  });
  for (OpId loop : loops) LoopPipeliner(rw, context, loop).run();
  // Carried values that only addresses needed.
  if (rw.changed()) canonical::remove_dead(rw);
  return rw.changed();
}

}  // namespace tilewright::passes
