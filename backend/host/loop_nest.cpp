// Loop nests: counters, the split of a row into a full main loop and a masked remainder, and the items at each index.
#include "backend/host/loop_nest.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>

#include "backend/host/combine.h"
#include "backend/host/guarded_items.h"
#include "backend/host/memory.h"
#include "backend/host/nest.h"
#include "backend/host/next_program.h"
#include "backend/host/prefix_masks.h"
#include "backend/host/reduce.h"
#include "backend/host/rows_ahead.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

class LoopNest {
 public:
  LoopNest(Emitter& e, NonTemporalStores& non_temporal, const Step& step)
      : e_(e), b_(e.b()), f_(e.f()), non_temporal_(non_temporal), step_(step), nest_(e, step), is_guarded_(step.items.size()) {
    if (nest_.dims() == 0) return;
    const auto extent = static_cast<unsigned>(step.extents.back());
    nest_.set_lanes(std::min(extent, static_cast<unsigned>(e.target().lanes())));
    find_live();
    for (const Item& item : step.items) {
      if (item.op && is_inner_reduce(f_, step, item.op)) unroll_ = std::max(unroll_, vectors_of_reduce(nest_, item.op));
      // Two vectors of a panel's row are stored in one iteration, which finds the panel once.
      if (const Panels* panels = panels_of(item)) {
        unroll_ = std::max(unroll_, std::min(static_cast<unsigned>(panels->columns) / nest_.lanes(), 2U));
        fills_panels_ = true;
      }
    }
    find_fetched();
    find_next();
    if (!e_.check()) aligned_ = non_temporal.aligned_store(nest_);
    if (!e_.check()) guarded_ = find_guarded_items(f_, e_.plan(), step_);
    for (const GuardedItems& each : guarded_)
      for (const auto* numbers : {&each.items, &each.selects})
        for (std::size_t i : *numbers) is_guarded_[i] = true;
  }

  void run() { emit_dim(0); }

 private:
  /// Finds the loads whose later rows are fetched: those of a loop down a matrix, of rows so short that the processor, which guesses from the
  /// lines before, would guess too late.
  void find_fetched() {
    if (e_.check() || nest_.dims() != 2 || step_.is_unrolled || step_.is_interchanged || !nest_.is_vectorised()) return;
    for (const Item& item : step_.items) {
      if (!item.op || item.is_recomputed || f_.kind(item.op) != OpKind::load_) continue;
      if (f_.attr(item.op, ir::AttrName::is_volatile) != 0) continue;
      const ValueId pointer = f_.operand(item.op, 0);
      const Type t = f_.type(f_.result(item.op));
      const bool is_row =
          t.rank() == 2 && t.extent(1) * t.element_bytes() <= kShortRow && e_.axes()(pointer).contiguity[1] >= nest_.lanes();
      if (is_row && continues_down(f_, e_.plan(), e_.axes(), item.op)) fetched_.insert(item.op);
    }
    if (!fetched_.empty()) {
      ahead_.emplace(e_, step_);
      ahead_->set_lanes(nest_.lanes());
    }
  }

  /// Finds the loads that the next program's rows are fetched for: if this nest only computes, the processor would wait for memory in the
  /// nest that loads, and have nothing to load in this one.
  void find_next() {
    if (e_.check() || step_.is_unrolled || step_.is_interchanged || !nest_.is_vectorised()) return;
    for (OpId load : loads_before(f_, e_.plan(), step_)) {
      const ValueId pointer = f_.operand(load, 0);
      const AxisMap dims = nest_.dims_of(f_.type(pointer));
      const auto axis = static_cast<std::size_t>(std::find(dims.begin(), dims.end(), nest_.vector_dim()) - dims.begin());
      if (axis >= dims.size() || e_.axes()(pointer).contiguity[axis] < nest_.lanes()) continue;
      if (Value* const distance = distance_to_next_program(e_, pointer)) next_.push_back({load, distance});
    }
  }

  /// Finds, for each dimension, the indices that are live in some item.
  void find_live() {
    for (const Item& item : step_.items) {
      if (item.is_recomputed) continue;
      const ValueId tile = item.fill ? item.fill : tile_of(item.op);
      const AxisMap dims = nest_.dims_of(f_.type(tile));
      for (int axis = 0; axis < f_.type(tile).rank(); ++axis) {
        if (dims[axis] < 0) continue;
        passes::LiveIndices& live = live_.at(static_cast<std::size_t>(dims[axis]));
        live = passes::join(live, item.fill ? e_.live()(tile, axis) : e_.live().of_op(item.op, axis));
      }
    }
  }
  /// The panels in which the item's value lies; null if it has no buffer, or one that is row-major.
  const Panels* panels_of(const Item& item) const {
    if (item.op && (f_.op(item.op).results.empty() || !e_.plan().has_buffer(f_.op(item.op).results[0]))) return nullptr;
    return e_.plan().panels(item.op ? e_.plan().class_of(f_.result(item.op)) : item.target);
  }
  /// The tile whose shape determines the op's indices.
  ValueId tile_of(OpId id) const {
    const auto& op = f_.op(id);
    return op.kind == OpKind::store_ || op.kind == OpKind::reduce_ ? op.operands[0] : op.results[0];
  }

  void emit_dim(int dim) {
    // Code that depends only on outer indices is placed at the end of the block before this loop.
    nest_.enter(dim);
    if (ahead_) ahead_->enter(dim);
    llvm::BasicBlock* rest = e_.new_block("nest");
    b_.CreateBr(rest);
    b_.SetInsertPoint(rest);
    if (dim >= nest_.dims() - 1) {
      emit_rows();
      return;
    }
    if (step_.is_unrolled) return emit_unrolled_dim(dim);
    e_.loop_over_live(live_[static_cast<std::size_t>(dim)], step_.extents[static_cast<std::size_t>(dim)], [&](Value* i) {
      nest_.set_index(dim, i);
      if (ahead_) ahead_->set_index(dim, b_.CreateAdd(i, e_.i64(kRowsAhead), "", true, true));
      emit_dim(dim + 1);
    });
  }

  /// Tests every few indices whether more of them are live: a test of each costs about as much as a vector of work.
  void emit_unrolled_dim(int dim) {
    constexpr std::int64_t kUntested = 4;
    const std::int64_t extent = step_.extents[static_cast<std::size_t>(dim)];
    Value* const live = extent > kUntested ? e_.live_count(live_[static_cast<std::size_t>(dim)], extent) : nullptr;
    llvm::BasicBlock* const end = live ? e_.new_block("dead") : nullptr;
    for (std::int64_t i = 0; i < extent; ++i) {
      if (live && i > 0 && i % kUntested == 0) {
        llvm::BasicBlock* next = e_.new_block("live");
        b_.CreateCondBr(b_.CreateICmpSLT(e_.i64(i), live), next, end);
        b_.SetInsertPoint(next);
      }
      nest_.set_index(dim, e_.i64(i), i);
      emit_dim(dim + 1);
    }
    if (!live) return;
    b_.CreateBr(end);
    b_.SetInsertPoint(end);
  }

  /// Emits the loop along the last extent, and the reduces along it.
  void emit_rows() {
    Values init;
    reduces_.clear();
    for (const Item& item : step_.items) {
      if (!item.op || nest_.dims() == 0 || !is_inner_reduce(f_, step_, item.op)) continue;
      reduces_.push_back(begin_reduce(nest_, item.op));
      for (const Values& v : reduces_.back().carried) init.insert(init.end(), v.begin(), v.end());
    }
    if (nest_.dims() == 0) {
      emit_body(nullptr);
      return;
    }
    const std::int64_t width = static_cast<std::int64_t>(nest_.lanes()) * unroll_;
    if (step_.is_unrolled) {
      emit_versions(init, e_.i64(0), [&] {
        set_carried(init);
        for (std::int64_t at = 0; at < step_.extents.back(); at += width) emit_body(e_.i64(at), at);
      });
      for (const Partials& p : reduces_) finish_reduce(nest_, p);
      return;
    }
    // A row of one iteration is computed completely.
    Value* const live =
        step_.extents.back() > width ? e_.live_count(live_[static_cast<std::size_t>(nest_.vector_dim())], step_.extents.back()) : nullptr;
    Value* const extent = live ? live : e_.i64(step_.extents.back());
    // In a loop that runs once, a constant index would make masks that are constant in some lanes only. LLVM 19 miscompiles these when it
    // splits them into registers: it replaces x < 0 by the constant x in such a lane, and so reads where the mask is off, or leaves an
    // address undefined.
    Value* const begin = nest_.lanes() > 1 && step_.extents.back() <= width ? e_.unknown_zero() : e_.i64(0);
    // Where masks are registers of their own, counting the lanes of a short row of panels costs more than masking them.
    constexpr std::int64_t kShort = 8;
    const bool only_masks = fills_panels_ && e_.target().vector_bits >= 512 && step_.extents.back() <= kShort * nest_.lanes();
    const std::vector<PrefixMask> masks = only_masks ? std::vector<PrefixMask>{} : prefix_masks(nest_);
    if (masks.empty()) {
      emit_main_loop(begin, extent, width, init, live != nullptr);
    } else {
      // The first lanes of a row, for which every mask holds, run without masks; the other lanes run with masks.
      Value* least = extent;
      Value* most = nullptr;
      for (const PrefixMask& p : masks) {
        least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, p.count);
        most = most ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, most, p.end) : p.end;
      }
      Value* end = has_only_masked_stores(masks) ? most : extent;
      if (aligned_) return emit_aligned(masks, least, end);
      Value* full = b_.CreateAnd(least, e_.i64(-width), "full");
      for (const PrefixMask& p : masks) nest_.assume_true(p.masks);
      emit_main_loop(begin, full, width, init, true);
      nest_.assume_nothing();
      // Reduces combine as many vectors in each iteration; panels gain nothing here.
      if (fills_panels_) unroll_ = 1;
      emit_loop(b_.CreateAdd(full, begin), end, static_cast<std::int64_t>(nest_.lanes()) * unroll_, carried(), true);
    }
    for (const Partials& p : reduces_) finish_reduce(nest_, p);
  }

  /// Emits a row whose vectors may begin anywhere; the masks hold before `least`. Whole vectors are stored to multiples of the register size. What
  /// lies before the first multiple and behind the last one is stored last, with masks.
  void emit_aligned(const std::vector<PrefixMask>& masks, Value* least, Value* end) {
    constexpr std::int64_t kLong = 8;  // vectors
    nest_.set_unaligned();
    e_.allow_reads_behind_buffers();
    Value* const is_long = b_.CreateICmpSGE(least, e_.i64(kLong * nest_.lanes()));
    Value* const ahead = b_.CreateSelect(is_long, non_temporal_.elements_before_whole_registers(nest_, aligned_), e_.i64(0), "ahead");
    Value* const whole = b_.CreateAnd(b_.CreateSub(least, ahead), e_.i64(-static_cast<std::int64_t>(nest_.lanes())));
    Value* const full = b_.CreateAdd(ahead, whole, "full");
    non_temporal_.fetch_ends(nest_, aligned_, end);
    for (const PrefixMask& p : masks) nest_.assume_true(p.masks);
    emit_versions({}, ahead, [&] { emit_loop(ahead, full, nest_.lanes(), {}, true); });
    nest_.assume_nothing();
    // The last vector may reach beyond the tile, where no mask need hold it back.
    const std::int64_t lanes = nest_.lanes();
    Value* const within = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, e_.i64(step_.extents.back() - lanes + 1));
    Value* const distance = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(within, full), e_.i64(0));
    Value* const vectors = b_.CreateUDiv(b_.CreateAdd(distance, e_.i64(lanes - 1)), e_.i64(lanes));
    Value* const last = b_.CreateAdd(full, b_.CreateMul(vectors, e_.i64(lanes)), "last");
    emit_loop(full, last, lanes, {}, true);
    // Both ends by one copy of the code, since LLVM does not know how many iterations there are.
    e_.loop(e_.unknown_zero(), e_.i64(2), e_.i64(1), {}, false, [&](Value* which, const Values&) {
      Value* const is_first = b_.CreateICmpEQ(which, e_.i64(0));
      Value* const at = b_.CreateSelect(is_first, e_.i64(0), last);
      Value* const count = b_.CreateSelect(is_first, ahead, b_.CreateSub(end, last));
      emit_if(b_.CreateICmpSGT(count, e_.i64(0)), [&] {
        nest_.set_first_lanes(count);
        emit_body(at);
        nest_.set_first_lanes(nullptr);
      });
      return Values{};
    });
  }

  void emit_if(Value* condition, const std::function<void()>& emit) {
    llvm::BasicBlock *const then = e_.new_block("then"), *const after = e_.new_block("after");
    b_.CreateCondBr(condition, then, after);
    b_.SetInsertPoint(then);
    emit();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  /// Whether there is nothing to do beyond the ends of all masks.
  bool has_only_masked_stores(const std::vector<PrefixMask>& masks) const {
    return std::all_of(step_.items.begin(), step_.items.end(), [&](const Item& item) {
      return item.op && f_.kind(item.op) == OpKind::store_ && f_.op(item.op).operands.size() > 2 &&
             std::any_of(masks.begin(), masks.end(), [&](const PrefixMask& p) { return p.masks.front() == f_.operand(item.op, 2); });
    });
  }

  void emit_main_loop(Value* begin, Value* end, std::int64_t width, const Values& init, bool may_be_empty) {
    emit_versions(init, e_.i64(0), [&] { emit_loop(begin, end, width, init, may_be_empty); });
  }

  /// Emits two versions if the row, from `ahead` on, may have non-temporal stores. `emit` leaves the partial results of reduces, which begin
  /// with `init`.
  void emit_versions(const Values& init, Value* ahead, const std::function<void()>& emit) {
    Value* condition = non_temporal_.row_condition(nest_, ahead);
    if (!condition) return emit();
    llvm::BasicBlock* versions[] = {e_.new_block("non_temporal"), e_.new_block("cached")};
    llvm::BasicBlock* join = e_.new_block("stored");
    b_.CreateCondBr(condition, versions[0], versions[1]);
    Values results[2];
    for (std::size_t i = 0; i < 2; ++i) {
      b_.SetInsertPoint(versions[i]);
      non_temporal_.set_active(i == 0);
      emit();
      non_temporal_.set_active(false);
      results[i] = carried();
      versions[i] = b_.GetInsertBlock();
      b_.CreateBr(join);
    }
    b_.SetInsertPoint(join);
    Values joined;
    for (std::size_t k = 0; k < init.size(); ++k) {
      auto* phi = b_.CreatePHI(init[k]->getType(), 2);
      for (std::size_t i = 0; i < 2; ++i) phi->addIncoming(results[i][k], versions[i]);
      joined.push_back(phi);
    }
    set_carried(joined);
  }

  void emit_loop(Value* begin, Value* end, std::int64_t width, const Values& init, bool may_be_empty) {
    set_carried(e_.loop(begin, end, e_.i64(width), init, may_be_empty, [&](Value* at, const Values& values) {
      set_carried(values);
      emit_body(at);
      return carried();
    }));
  }

  /// The partial results of all reduces, one after another.
  Values carried() const {
    Values out;
    for (const Partials& p : reduces_)
      for (const Values& v : p.carried) out.insert(out.end(), v.begin(), v.end());
    return out;
  }
  void set_carried(const Values& values) {
    std::size_t n = 0;
    for (Partials& p : reduces_)
      for (Values& v : p.carried)
        for (Value*& each : v) each = values[n++];
  }

  /// One iteration along the last extent; `at`: the index of its first lane, or null if there is no extent; `number`: the same in an unrolled
  /// nest.
  void emit_body(Value* at, std::int64_t number = 0) {
    const std::size_t sequence = e_.split_points().begin(b_);
    for (unsigned u = 0; u < unroll_; ++u) {
      nest_.begin_lanes();
      if (at)
        nest_.set_index(nest_.vector_dim(), u == 0 ? at : b_.CreateAdd(at, e_.i64(lanes_before(u)), "", true, true),
                        number + lanes_before(u));
      if (ahead_) {
        ahead_->begin_lanes();
        ahead_->set_index(nest_.vector_dim(), nest_.index(nest_.vector_dim()));
      }
      for (const auto& [load, distance] : next_) fetch_next(load, distance);
      for (std::size_t i = 0; i < step_.items.size(); ++i) {
        for (const GuardedItems& each : guarded_)
          if (each.selects.front() == i) emit_guarded(each);
        if (!is_guarded_[i]) emit_item(step_.items[i], u);
        e_.split_points().add(sequence, b_);
      }
      // Stores come last, because a result may overwrite an operand that other items read.
      for (const Item& item : step_.items) {
        if (!item.op || item.is_recomputed || f_.kind(item.op) == OpKind::reduce_) continue;
        for (ValueId r : f_.op(item.op).results)
          if (e_.plan().has_buffer(r)) {
            const Type t = f_.type(r);
            nest_.write_tile(e_.plan().class_of(r), t, squeezed_axes(t), nest_.in_register(r), panels_of(item));
            e_.split_points().add(sequence, b_);
          }
      }
    }
  }
  std::int64_t lanes_before(unsigned u) const { return static_cast<std::int64_t>(u) * nest_.lanes(); }

  void emit_item(const Item& item, unsigned u) {
    if (item.fill) {
      const Type t = f_.type(item.fill);
      Value* v = nest_.operand(item.fill);
      nest_.write_tile(e_.plan().root(item.target), t, squeezed_axes(t), v, panels_of(item));
      return;
    }
    const auto& op = f_.op(item.op);
    switch (op.kind) {
      case OpKind::load_:
        if (fetched_.contains(item.op)) fetch_ahead(item.op);
        nest_.set_register(op.results[0], load_at(nest_, item.op));
        return;
      case OpKind::store_: store_at(nest_, item.op, non_temporal_); return;
      case OpKind::reduce_: emit_reduce(item.op, u); return;
      default: break;
    }
    std::vector<Type> types;
    Values operands;
    for (ValueId x : op.operands) {
      types.push_back(f_.type(x));
      operands.push_back(nest_.operand(x));
    }
    nest_.set_register(op.results[0], lower_elementwise(b_, e_.target(), op.kind, types, f_.type(op.results[0]), operands));
  }

  /// Computes the items only if the condition holds in some lane.
  void emit_guarded(const GuardedItems& group) {
    Value* const condition = nest_.operand(group.condition);
    Value* const any = nest_.is_vectorised() ? b_.CreateOrReduce(condition) : condition;
    Values others;
    for (std::size_t i : group.selects) others.push_back(nest_.operand(f_.operand(step_.items[i].op, 2)));
    llvm::BasicBlock *const before = b_.GetInsertBlock(), *const guarded = e_.new_block("guarded"), *const after = e_.new_block("selected");
    b_.CreateCondBr(any, guarded, after);
    b_.SetInsertPoint(guarded);
    const Nest::Memo memo = nest_.memo();  // what is computed here is not known behind it
    for (std::size_t i : group.items) emit_item(step_.items[i], 0);
    Values chosen;
    for (std::size_t i = 0; i < others.size(); ++i)
      chosen.push_back(b_.CreateSelect(condition, nest_.operand(f_.operand(step_.items[group.selects[i]].op, 1)), others[i]));
    nest_.set_memo(memo);
    llvm::BasicBlock* const end = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    for (std::size_t i = 0; i < others.size(); ++i) {
      auto* const result = b_.CreatePHI(others[i]->getType(), 2);
      result->addIncoming(others[i], before);
      result->addIncoming(chosen[i], end);
      nest_.set_register(f_.result(step_.items[group.selects[i]].op), result);
    }
  }

  void fetch_ahead(OpId id) {
    const ValueId pointer = f_.operand(id, 0);
    fetch(ahead_->evaluate(pointer, ahead_->dims_of(f_.type(pointer)), false));
  }
  void fetch_next(OpId load, Value* distance) {
    const ValueId pointer = f_.operand(load, 0);
    fetch(b_.CreateAdd(nest_.evaluate(pointer, nest_.dims_of(f_.type(pointer)), false), distance));
  }
  /// To the second level: the first one has the tile.
  void fetch(Value* address) {
    Value* const line = b_.CreateIntToPtr(address, b_.getPtrTy());
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
  }

  void emit_reduce(OpId id, unsigned u) {
    const auto inner = std::find_if(reduces_.begin(), reduces_.end(), [&](const Partials& p) { return p.op == id; });
    if (inner != reduces_.end())
      accumulate(nest_, *inner, u);
    else
      accumulate_in_buffer(nest_, id);
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const Function& f_;
  NonTemporalStores& non_temporal_;
  const Step& step_;
  Nest nest_;
  std::array<passes::LiveIndices, ir::kMaxRank> live_;  // indexed by dimension
  unsigned unroll_ = 1;                                 // vectors in one iteration
  bool fills_panels_ = false;
  std::vector<Partials> reduces_;  // the reduces along the last extent
  static constexpr std::int64_t kShortRow = 4096, kRowsAhead = 8;
  std::set<OpId> fetched_;
  OpId aligned_;  // the nest's store, if vectors of a row begin where it stores whole registers
  std::vector<GuardedItems> guarded_;
  std::vector<bool> is_guarded_;               // indexed by item: it is emitted with a group of guarded items
  std::optional<Nest> ahead_;                  // the same indices, some rows further
  std::vector<std::pair<OpId, Value*>> next_;  // loads, and how far away the next program's are
};

}  // namespace

void emit_loop_nest(Emitter& e, NonTemporalStores& non_temporal, const Step& step) { LoopNest(e, non_temporal, step).run(); }

}  // namespace tilewright::backend::host
