// Follows bulk copies to their mbarriers, the loop that waits at these, and the ops that read its slots.
#include "passes/pipeline/copy_pipelines.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

class PipelineFinder {
 public:
  explicit PipelineFinder(const Function& f) : f_(f) {}

  CopyPipelines run() && {
    std::map<OpId, std::size_t> known;
    f_.walk([&](OpId id) {
      const OpKind k = f_.kind(id);
      if (k != OpKind::bulk_copy_ && k != OpKind::mbarrier_expect_) return;
      const OpId full = ir::allocation_of(f_, f_.operand(id, k == OpKind::bulk_copy_ ? 2 : 0));
      const auto [at, is_new] = known.try_emplace(full, pipelines_.size());
      if (is_new) pipelines_.emplace_back().full = full;
      add(pipelines_[at->second], id);
    });
    for (CopyPipeline& p : pipelines_) {
      if (!p.loop) refuse(p.full, "a bulk copy is outside of loops");
      if (why_.empty()) find_slots(p);
      if (why_.empty()) find_readers(p);
      if (why_.empty()) find_lag(p);
    }
    return {std::move(pipelines_), at_, std::move(why_)};
  }

 private:
  void refuse(OpId at, std::string why) {
    if (why_.empty()) at_ = at, why_ = std::move(why);
  }

  void add(CopyPipeline& p, OpId id) {
    const bool is_copy = f_.kind(id) == OpKind::bulk_copy_;
    if (is_copy) p.buffers.insert(ir::allocation_of(f_, f_.operand(id, 1)));
    if (f_.op(id).parent == f_.body()) {
      if (p.loop) refuse(id, "a bulk copy is behind its loop");
      return p.first.push_back(id);
    }
    const OpId loop = ir::parent_op(f_, id);
    if (f_.kind(loop) != OpKind::for_ || f_.op(loop).parent != f_.body()) return refuse(id, "a bulk copy is in a branch or an inner loop");
    if ((p.loop && p.loop != loop) || (!is_copy && p.expect)) return refuse(id, "several copies write one slot");
    p.loop = loop;
    if (is_copy)
      p.copies.push_back(id);
    else
      p.expect = id;
  }

  /// The number of the slot of a view.
  ValueId slot_number(ValueId view) const {
    while (const OpId permute = f_.defined_by(view, OpKind::buffer_permute_)) view = f_.operand(permute, 0);
    const bool is_buffer = f_.type(view).is_buffer();
    const OpId slot = f_.defined_by(view, is_buffer ? OpKind::buffer_slot_ : OpKind::mbarrier_slot_);
    return slot ? f_.operand(slot, 1) : ValueId{};
  }

  void find_slots(CopyPipeline& p) {
    const BlockId body = f_.region(p.loop);
    int waits = 0;
    f_.walk([&](OpId id) {
      if (f_.kind(id) != OpKind::mbarrier_wait_ || ir::allocation_of(f_, f_.operand(id, 0)) != p.full) return;
      ++waits;
      if (f_.op(id).parent == body) p.wait = id;
    });
    if (waits != 1 || !p.wait || !p.expect) return refuse(p.loop, "it does not wait once for each tile");
    p.slot = slot_number(f_.operand(p.wait, 0));
    p.later = slot_number(f_.operand(p.expect, 0));
    const auto& expected = f_.op(p.expect).operands;
    const OpId has_more = expected.size() > 1 ? f_.defined_by(expected[1], OpKind::lt_) : OpId{};
    bool fits = p.slot && p.later && !p.copies.empty() && has_more && f_.operand(has_more, 0) == p.counter(f_);
    for (OpId copy : p.copies)
      fits = fits && slot_number(f_.operand(copy, 1)) == p.later && slot_number(f_.operand(copy, 2)) == p.later &&
             f_.operand(copy, 3) == expected[1];
    const int number = fits ? carried_index(f_, p.loop, p.later) : -1;
    if (number < 0 || carried_index(f_, p.loop, p.slot) < 0 || !ir::constant_integer(f_, f_.operand(p.loop, number + 3)))
      return refuse(p.loop, "its slots are not filled in turn");
    p.limit = f_.operand(has_more, 1);
    if (f_.encloses(body, f_.defining_block(p.limit))) return refuse(p.loop, "the end of its copies is computed in it");
    p.unit = std::max<std::int64_t>(f_.attr(f_.defined_by(f_.operand(p.expect, 0), OpKind::mbarrier_slot_), AttrName::divisor), 1);
    if (!is_in_turn(p)) refuse(p.loop, "its slots are not filled in turn");
  }

  std::optional<std::int64_t> first_value(const CopyPipeline& p, ValueId carried) const {
    return ir::constant_integer(f_, f_.operand(p.loop, carried_index(f_, p.loop, carried) + 3));
  }

  /// Whether the first iteration reads slot 0, each reads the slot after the one before it, and the copies in the loop begin at the slot behind
  /// those that copies before the loop have filled.
  bool is_in_turn(const CopyPipeline& p) const {
    const std::int64_t end = f_.type(f_.result(p.full)).slots() * p.unit;
    const auto filled = std::ranges::count_if(p.first, [&](OpId id) { return f_.kind(id) == OpKind::mbarrier_expect_; });
    if (first_value(p, p.slot) != 0 || first_value(p, p.later) != filled * p.unit % end) return false;
    // select(slot + unit == end, 0, slot + unit)
    const ValueId next = f_.operand(f_.terminator(f_.region(p.loop)), carried_index(f_, p.loop, p.slot));
    const OpId select = f_.defined_by(next, OpKind::select_), sum = select ? f_.defined_by(f_.operand(select, 2), OpKind::add_) : OpId{};
    const OpId is_end = select ? f_.defined_by(f_.operand(select, 0), OpKind::eq_) : OpId{};
    return sum && is_end && f_.operand(sum, 0) == p.slot && ir::constant_integer(f_, f_.operand(sum, 1)) == p.unit &&
           f_.operand(is_end, 0) == f_.result(sum) && ir::constant_integer(f_, f_.operand(is_end, 1)) == end &&
           ir::constant_integer(f_, f_.operand(select, 1)) == 0;
  }

  void find_readers(CopyPipeline& p) {
    const BlockId body = f_.region(p.loop);
    for (OpId alloc : p.buffers)
      ir::forward_uses(f_, f_.result(alloc), [&](OpId user, ValueId) {
        const OpKind k = f_.kind(user);
        if (k == OpKind::buffer_slot_ || k == OpKind::buffer_permute_) return ir::WalkResult::advance;
        if (k == OpKind::bulk_copy_) {
          if (ir::allocation_of(f_, f_.operand(user, 2)) != p.full) refuse(user, "two loops fill one buffer");
        } else if (f_.op(user).parent != body || (k != OpKind::mma_async_ && k != OpKind::buffer_load_)) {
          refuse(user, "its tiles are used in a branch, or outside of it");
        }
        p.only_products_read = p.only_products_read && (k == OpKind::mma_async_ || k == OpKind::bulk_copy_);
        return ir::WalkResult::skip;
      });
    f_.walk(body, [&](OpId id) {
      const OpKind k = f_.kind(id);
      if (k == OpKind::copy_async_ || k == OpKind::async_wait_) refuse(id, "threads copy tiles, too");
    });
  }

  /// How many products may be in flight when an iteration ends: none, or no more than it has started itself.
  void find_lag(CopyPipeline& p) {
    const BlockId body = f_.region(p.loop);
    constexpr std::int64_t kMany = 1 << 20;  // those of iterations before
    std::int64_t started = 0, in_flight = kMany;
    f_.walk(body, [&](OpId id) {
      const OpKind k = f_.kind(id);
      if (k != OpKind::mma_async_ && k != OpKind::mma_wait_) return;
      if (f_.op(id).parent != body) return refuse(id, "a product is in a branch or an inner loop");
      if (k == OpKind::mma_async_)
        ++started, ++in_flight;
      else
        in_flight = std::min(in_flight, f_.attr(id, AttrName::pending));
    });
    if (started == 0) return;
    if (in_flight > started) return refuse(p.loop, "its products are in flight for several iterations");
    p.lag = in_flight > 0 ? 1 : 0;
    if (p.lag > 0 && !p.slot_before(f_)) refuse(p.loop, "its slots are not filled in turn");
  }

  const Function& f_;
  std::vector<CopyPipeline> pipelines_;
  OpId at_;
  std::string why_;
};

}  // namespace

ValueId CopyPipeline::slot_before(const Function& f) const {
  const auto& next = f.op(f.terminator(f.region(loop))).operands;
  for (std::size_t k = 0; k < next.size(); ++k)
    if (next[k] == slot) return f.arg(f.region(loop), static_cast<int>(k) + 1);
  return {};
}

int carried_index(const Function& f, OpId loop, ValueId v) {
  const ir::ValueData& d = f.value(v);
  return !d.op && d.block == f.region(loop) ? static_cast<int>(d.number) - 1 : -1;
}

CopyPipelines find_copy_pipelines(const Function& f) { return PipelineFinder(f).run(); }

}  // namespace tilewright::passes
