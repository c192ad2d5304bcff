// Pipelines loops: what a loop fetches into shared memory is copied asynchronously, several iterations before the one that uses it.
//
//   for i = lo to hi step s                         b = alloc_buffer of S slots
//     p = f(i); x = load p, m                       copy f(lo) to slot 0; commit; ... copy f(lo + (S - 2) s) to slot S - 2; commit
//     b = alloc_buffer; buffer_store b, x     ->    for i = lo to hi step s (slot = 0)
//     use(b)                                          async_wait {pending = S - 2}
//                                                     if i < limit: copy f(i + (S - 1) s) to the slot before this one; commit
//                                                     use(slot of b); slot += 1, of S slots
//
// The wait is the only barrier of an iteration: the slot that is written was read in the iteration before, which every thread has finished.
// S is the number of stages. Slots are counted in bytes of the smallest one, so that a slot's address is a sum.
//
//   1. find_pipelined_loads: what is copied, and with which masks (passes/pipeline/pipelined_loads.h). If the order of iterations is free
//      and masks along K are all-true before the last one, that one is copied first and the loop needs no such mask.
//   2. count: the number of iterations, from which follows the value of the counter where copies end.
//   3. emit_prologue, emit_copies: as above. Carried values that addresses need are carried a second time, for the iteration whose tile
//      is copied.
//   4. read_ahead: in a loop that only multiplies, the fragments of the first slice of K are read one iteration ahead as well:
//
//        copy tiles 0 ... S - 1; wait; read slice 0 of slot 0
//        loop: read slice 1, multiply slice 0, ... read the last slice
//              async_wait {pending = S - 2}; multiply the last slice
//              copy the tile S iterations ahead to this slot; read slice 0 of the next slot
//        async_wait {pending = 0}
//
//      The last iteration reads a slot without a tile: the prologue writes zeros to slots whose tile does not exist. The wait behind the
//      loop is for these zeros.
//
// Not pipelined: loops that write to memory, and loops whose step is no positive constant.
// Input, output: distributed. Numerics: with the last iteration first, products are added in another order.
// See tests/files/passes/pipeline_loops/.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/pipeline/last_iteration.h"
#include "passes/pipeline/pipelined_loads.h"
#include "passes/plans/lowering_plans.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr int kDefaultStages = 3;

class LoopPipeliner {
 public:
  LoopPipeliner(Rewriter& rw, const PassContext& context, OpId loop) : rw_(rw), f_(rw.function()), context_(context), loop_(loop) {}

  void run() {
    stages_ = static_cast<int>(f_.attr(loop_, ir::AttrName::num_stages));
    const bool copies_all = stages_ >= 2;
    if (stages_ == 0) stages_ = context_.num_stages > 0 ? context_.num_stages : kDefaultStages;
    if (stages_ < 2 || context_.target.sm < 80 || !has_known_step() || writes_memory()) return;
    found_ = find_pipelined_loads(rw_, loop_, copies_all);
    fit_shared_memory();
    if (found_.loads.empty() || stages_ < 2) return;
    reads_ahead_ = only_multiplies();
    lookahead_ = reads_ahead_ ? stages_ : stages_ - 1;
    rw_.at(loop_);
    count();
    make_buffers();
    emit_prologue();
    use_slots();
    if (reads_ahead_)
      read_ahead();
    else
      emit_copies();
    erase_loads();
  }

 private:
  BlockId body() const { return f_.region(loop_); }
  std::span<const ValueId> carried() const { return std::span(f_.block(body()).args).subspan(1); }

  // ---- 1. whether and how the loop can be pipelined ----

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

  std::int64_t bytes_of(const PipelinedLoad& l) const {
    const ir::Type t = f_.type(f_.result(l.load));
    return t.elements() * t.element_bytes();
  }

  /// Fewer stages, with a remark, if all of them need more shared memory than a program has. Stages are about time only: a program that
  /// asks for many also compiles for targets with less memory.
  void fit_shared_memory() {
    std::int64_t slot = 0, others = 0;
    for (const PipelinedLoad& l : found_.loads) {
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
    const int asked = stages_;
    while (stages_ > 1 && others + stages_ * slot > context_.target.shared_bytes) --stages_;
    if (stages_ < asked && context_.remarks) remark_fewer_stages(asked, slot, others);
  }

  void remark_fewer_stages(int asked, std::int64_t slot, std::int64_t others) {
    std::vector<std::string> tiles;
    for (const PipelinedLoad& l : found_.loads) tiles.push_back(ir::text(f_.type(f_.result(l.load))));
    context_.remarks->push_back(
        {f_.where(loop_),
         fmt::format("for: {} of {} stages are used: a stage of {} takes {} bytes of shared memory{}, and a program of {} has {}; smaller "
                     "tiles make room, or lower num_stages",
                     stages_, asked, fmt::join(tiles, " and "), slot,
                     others > 0 ? fmt::format(" beside {} bytes of other buffers", others) : "", context_.target.name,
                     context_.target.shared_bytes)});
  }

  /// Whether the loop does nothing but one chain of products of slices that it reads from pipelined buffers.
  bool only_multiplies() const {
    const auto is_pipelined = [&](OpId id) {
      return std::any_of(found_.loads.begin(), found_.loads.end(),
                         [&](const PipelinedLoad& l) { return id == l.load || id == l.store || id == l.alloc; });
    };
    ValueId sum;
    for (OpId id : f_.ops(body())) {
      switch (f_.kind(id)) {
        case OpKind::mma_:
          if (sum && f_.operand(id, 2) != sum) return false;
          sum = f_.result(id);
          for (int i : {0, 1})
            if (const OpId read = f_.value(f_.operand(id, i)).op; !read || f_.kind(read) != OpKind::buffer_load_) return false;
          break;
        case OpKind::buffer_load_:
        case OpKind::buffer_permute_:
        case OpKind::yield_: break;
        default:
          if (!is_pipelined(id) && !found_.address_ops.contains(id)) return false;
      }
    }
    return sum.valid();
  }

  // ---- 2. count ----

  /// The number of iterations, as the unsigned type of the counter.
  void count() {
    const ir::Element e = counter_type(), u = ir::integer(ir::bits(e), false);
    const ValueId lo = f_.operand(loop_, 0), hi = f_.operand(loop_, 1);
    const ValueId distance = rw_.cast(rw_.binary(OpKind::sub_, hi, lo), u);
    const ir::Type t(u);
    const ValueId last = rw_.binary(OpKind::div_, rw_.binary(OpKind::sub_, distance, rw_.constant(t, 1)), rw_.constant(t, step()));
    count_ = rw_.select(rw_.binary(OpKind::lt_, lo, hi), rw_.binary(OpKind::add_, last, rw_.constant(t, 1)), rw_.constant(t, 0));
    last_ = last;
  }

  ValueId unsigned_constant(std::int64_t v) { return rw_.constant(f_.type(count_), v); }

  // ---- 3. emit ----

  void make_buffers() {
    unit_ = INT64_MAX;
    for (PipelinedLoad& l : found_.loads) {
      unit_ = std::min(unit_, bytes_of(l));
      const ir::Type tile = f_.type(f_.result(l.load)), all = ir::Type::buffer(tile.element(), stages_, tile.shape());
      l.buffer = f_.result(rw_.create(OpKind::alloc_buffer_, {}, {}, std::span(&all, 1)));
      f_.set_layout(l.buffer, l.layout);
    }
  }

  ValueId slot_of(const PipelinedLoad& l, ValueId number) {
    const ValueId operands[] = {l.buffer, number};
    const ValueId slot = f_.result(rw_.create(OpKind::buffer_slot_, operands, {{ir::AttrName::divisor, unit_, {}, {}}}));
    f_.set_layout(slot, f_.layout_id(l.buffer));
    return slot;
  }

  /// Clones the address computations for another iteration.
  void clone_addresses(ir::ValueMap& map) {
    for (OpId id : f_.ops(body()))
      if (found_.address_ops.contains(id)) rw_.clone(id, map);
  }

  /// A mask that is also false everywhere if the condition is.
  ValueId masked_by(const PipelinedLoad& l, ValueId mask, ValueId condition) {
    const ValueId pointer = f_.operand(l.load, 0);
    const ir::Type type(ir::Element::boolean, f_.type(pointer).shape());
    const LayoutId layout = f_.layout_id(pointer);
    const ValueId all = f_.result(rw_.create(OpKind::broadcast_, std::span(&condition, 1), {}, std::span(&type, 1)));
    f_.set_layout(all, layout);
    if (!mask) return all;
    const ValueId operands[] = {mask, all};
    const ValueId both = f_.result(rw_.create(OpKind::bit_and_, operands, {}, std::span(&type, 1)));
    f_.set_layout(both, layout);
    return both;
  }

  /// Starts the copies of an iteration if `condition` holds; if not, the slot keeps what it has or, if `writes_zeros`, gets zeros.
  void copy(const ir::ValueMap& map, ValueId slot, ValueId condition, bool is_last, bool writes_zeros) {
    const ir::Loc loc = rw_.loc();
    const ValueId always = writes_zeros ? rw_.constant(ir::Type(ir::Element::boolean), 1) : ValueId{};
    for (const PipelinedLoad& l : found_.loads) {
      rw_.set_loc(f_.op(l.load).loc);
      ValueId mask = is_last || !found_.last_comes_first ? ir::mask_of(f_, l.load) : l.mask;
      if (mask) mask = map(mask);
      if (writes_zeros) mask = masked_by(l, mask, condition);
      std::vector<ValueId> operands{map(f_.operand(l.load, 0)), slot_of(l, slot), writes_zeros ? always : condition};
      if (mask) operands.push_back(mask);
      std::vector<ir::Attr> attrs;
      for (const ir::Attr& a : f_.op(l.load).attrs)
        if (a.name == ir::AttrName::cache) attrs.push_back(a);
      rw_.create(OpKind::copy_async_, operands, attrs);
    }
    rw_.set_loc(loc);
    rw_.create(OpKind::async_commit_, {});
  }

  /// from + iterations * by.
  ValueId advanced(ValueId from, ValueId iterations, ValueId by) {
    const ValueId n = rw_.cast(iterations, f_.type(from).element());
    return rw_.binary(OpKind::add_, from, rw_.binary(OpKind::mul_, n, by));
  }
  /// The value of the counter `iterations` after `from`.
  ValueId counter_after(ValueId from, std::int64_t iterations) {
    return iterations == 0 ? from : rw_.binary(OpKind::add_, from, rw_.constant(ir::Type(counter_type()), iterations * step()));
  }

  /// Copies the first tiles. Leaves in ahead_ the carried values of the iteration that is copied next.
  void emit_prologue() {
    for (int k : found_.address_values) ahead_[k] = f_.operand(loop_, k + 3);
    for (int j = 0; j < lookahead_; ++j) {
      ir::ValueMap map;
      const bool is_last = found_.last_comes_first && j == 0;
      if (is_last)
        map_last(map);
      else
        map_ahead(map, counter_after(f_.operand(loop_, 0), found_.last_comes_first ? j - 1 : j));
      const ValueId exists = rw_.binary(OpKind::lt_, unsigned_constant(j), count_);
      clone_addresses(map);
      copy(map, slot_number(j), exists, is_last, reads_ahead_);
      if (!is_last) advance(map);
    }
  }

  /// Maps the counter and carried values to those of the last iteration.
  void map_last(ir::ValueMap& map) {
    const ValueId n = last_;
    map.set(f_.arg(body(), 0), advanced(f_.operand(loop_, 0), n, rw_.constant(ir::Type(counter_type()), step())));
    for (int k : found_.address_values) {
      const Induction i = *induction_of(f_, loop_, k);
      const auto bits = f_.constant_bits(i.step);
      const ir::Type t = f_.type(i.init);
      const ValueId by = bits ? rw_.constant(t, ir::integer_value(t.element(), *bits)) : i.step;
      map.set(carried()[static_cast<std::size_t>(k)], advanced(i.init, n, by));
    }
  }
  void map_ahead(ir::ValueMap& map, ValueId counter) {
    map.set(f_.arg(body(), 0), counter);
    for (const auto& [k, v] : ahead_) map.set(carried()[static_cast<std::size_t>(k)], v);
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

  /// The value of the counter from which on no tile is left to be copied: lo + (n - lookahead) s, or lo.
  ValueId end_of_copies() {
    const ValueId lo = f_.operand(loop_, 0), ahead = unsigned_constant(lookahead_);
    const ValueId copies = rw_.binary(OpKind::sub_, count_, ahead);
    const ValueId end = advanced(lo, copies, rw_.constant(ir::Type(counter_type()), step()));
    return rw_.select(rw_.binary(OpKind::lt_, ahead, count_), end, lo);
  }

  /// Replaces the loads by reads of a slot.
  void use_slots() {
    slot_ = carry(slot_number(0));
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

  /// Copies a later tile to a slot, at the rewriter's place in the loop. The carried values that its addresses need are yielded by the
  /// caller.
  std::vector<ValueId> emit_copy(ValueId slot, ValueId limit, const std::map<int, ValueId>& args) {
    const ValueId counter = f_.arg(body(), 0);
    ahead_ = args;
    ir::ValueMap map;
    map_ahead(map, counter_after(counter, found_.last_comes_first ? lookahead_ - 1 : lookahead_));
    const ValueId exists = rw_.binary(OpKind::lt_, counter, limit);
    clone_addresses(map);
    copy(map, slot, exists, false, false);
    std::vector<ValueId> next;
    for (const auto& [k, v] : args) next.push_back(map(f_.operand(f_.terminator(body()), k)));
    return next;
  }

  std::map<int, ValueId> carry_addresses() {
    std::map<int, ValueId> args;
    for (const auto& [k, v] : ahead_) args[k] = carry(v);
    return args;
  }

  void wait(int pending) { rw_.create(OpKind::async_wait_, {}, {{ir::AttrName::pending, pending, {}, {}}}); }

  void emit_copies() {
    rw_.at(loop_);
    const ValueId limit = end_of_copies();
    // The slot that was read in the iteration before.
    const ValueId write = carry(slot_number(stages_ - 1));
    const std::map<int, ValueId> args = carry_addresses();
    rw_.at(f_.block(body()).first);
    wait(stages_ - 2);
    const std::vector<ValueId> next = emit_copy(write, limit, args);
    yield(next_slot(slot_)), yield(slot_);
    for (ValueId v : next) yield(v);
  }

  // ---- 4. read ahead ----

  void read_ahead() {
    std::vector<OpId> products;
    for (OpId id : f_.ops(body()))
      if (f_.kind(id) == OpKind::mma_) products.push_back(id);
    const std::array<ValueId, 2> first{f_.operand(products[0], 0), f_.operand(products[0], 1)};

    rw_.at(loop_);
    const ValueId limit = end_of_copies();
    wait(stages_ - 1);
    const std::array<ValueId, 2> init = read_from(first, slot_number(0));
    const std::map<int, ValueId> args = carry_addresses();
    rw_.at(products.back());
    wait(stages_ - 2);
    rw_.at(f_.terminator(body()));
    const std::vector<ValueId> next = emit_copy(slot_, limit, args);
    const ValueId following = next_slot(slot_);
    const std::array<ValueId, 2> reads = read_from(first, following);
    for (int i : {0, 1}) rw_.set_operand(products[0], i, carry(init[static_cast<std::size_t>(i)]));
    yield(following);
    for (ValueId v : next) yield(v);
    for (ValueId v : reads) yield(v);
    // Zeros may still be on their way, and the memory of the buffers may be used again.
    rw_.after(loop_);
    wait(0);
    for (ValueId v : first) {
      const OpId read = f_.value(v).op;
      const ValueId buffer = f_.operand(read, 0);
      rw_.erase(read);
      rw_.erase_unused(buffer);
    }
  }

  /// The same reads from another slot.
  std::array<ValueId, 2> read_from(const std::array<ValueId, 2>& reads, ValueId slot) {
    ir::ValueMap map;
    map.set(slot_, slot);
    for (ValueId v : reads) clone_read(v, map);
    return {map(reads[0]), map(reads[1])};
  }
  void clone_read(ValueId v, ir::ValueMap& map) {
    const OpId id = f_.value(v).op;
    if (map.contains(v) || !id || f_.op(id).parent != body()) return;
    for (ValueId x : std::vector<ValueId>(f_.op(id).operands)) clone_read(x, map);
    rw_.clone(id, map);
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
  const PassContext& context_;
  const OpId loop_;
  int stages_ = 0;
  int lookahead_ = 0;         // how many iterations before its use a tile is copied
  bool reads_ahead_ = false;  // fragments of the first slice as well
  PipelinedLoads found_;
  std::map<int, ValueId> ahead_;  // carried values, by number: their values in the iteration that is copied
  std::int64_t unit_ = 1;         // bytes of the smallest slot
  ValueId count_, last_;          // iterations; the number of the last one, from 0
  ValueId slot_;                  // that the iteration reads
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
