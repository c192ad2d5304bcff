// Places waits for asynchronous products late, so that the tensor cores work while threads do something else.
//
//   for (acc)                                       for (acc)
//     d = mma_async a, b, acc                         d = mma_async a, b, acc
//     s = mma_wait d {pending = 0}             ->     s = mma_wait d {pending = 1}      the product of the iteration before is complete
//     yield s                                         yield s
//                                                   r = mma_wait acc {pending = 0}
//
//   1. carry: in a loop that only adds products to accumulators, those of an iteration go on in the next one. The slots that they read must
//      keep their tiles until then: the buffer is not written in the loop, or its slots are filled in turn and one is spare.
//   2. sink: every other wait moves down in its block, past ops without effects, to the first use of its results. Outside of loops it stays
//      before ops with scratch, which may be where the factors are.
//   3. merge_fences: a proxy_fence goes if no buffer was written since the one before it. Before bulk copies, which write where other ops had
//      their scratch, no op may have used scratch since then either.
//
// Input, output: distributed. Numerics do not change. See tests/files/passes/place_mma_waits/.
#include <algorithm>

#include "passes/pass.h"
#include "passes/pipeline/carried_products.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

class WaitPlacer {
 public:
  explicit WaitPlacer(Function& f) : f_(f), rw_(f) {}

  bool run() {
    std::vector<OpId> loops, waits;
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::for_) loops.push_back(id);
    });
    for (OpId loop : loops)
      if (const auto found = carried_products(f_, loop); found && keep_tiles(loop, *found)) carry(loop, *found);
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::mma_wait_) waits.push_back(id);
    });
    for (OpId wait : waits) sink(wait);
    merge_fences(f_.body());
    return rw_.changed();
  }

 private:
  /// Whether the buffers that the products read are not overwritten before the end of the next iteration.
  bool keep_tiles(OpId loop, const CarriedProducts& found) const {
    for (OpId product : found.products)
      for (int i : {0, 1}) {
        const OpId alloc = ir::allocation_of(f_, f_.operand(product, i));
        if (f_.attr(alloc, AttrName::spare) == 0 && is_written(loop, alloc)) return false;
      }
    return true;
  }

  bool is_written(OpId loop, OpId alloc) const {
    bool found = false;
    f_.walk(f_.region(loop), [&](OpId id) {
      const OpKind k = f_.kind(id);
      if (k == OpKind::buffer_store_ || k == OpKind::copy_async_ || k == OpKind::bulk_copy_)
        found = found || ir::allocation_of(f_, f_.operand(id, k == OpKind::buffer_store_ ? 0 : 1)) == alloc;
    });
    return found;
  }

  OpId wait_for(std::span<const ValueId> sums, std::size_t pending) {
    const OpId wait = rw_.create(OpKind::mma_wait_, sums, {{AttrName::pending, static_cast<std::int64_t>(pending), {}, {}}});
    for (std::size_t i = 0; i < sums.size(); ++i) f_.set_layout(f_.result(wait, static_cast<int>(i)), f_.layout_id(sums[i]));
    return wait;
  }

  void carry(OpId loop, const CarriedProducts& found) {
    for (OpId wait : found.waits) {
      const std::vector<ValueId> sums = f_.op(wait).operands;
      rw_.replace(wait, sums);
    }
    const OpId end = f_.terminator(f_.region(loop));
    std::vector<ValueId> sums, results;
    for (int k : found.carried) sums.push_back(f_.operand(end, k)), results.push_back(f_.result(loop, k));
    rw_.at(end);
    rw_.set_loc(f_.op(found.products.back()).loc);
    const OpId wait = wait_for(sums, found.products.size());
    for (std::size_t i = 0; i < sums.size(); ++i) rw_.set_operand(end, found.carried[i], f_.result(wait, static_cast<int>(i)));
    rw_.after(loop);
    const OpId last = wait_for(results, 0);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ValueId complete = f_.result(last, static_cast<int>(i));
      const std::vector<OpId> users = f_.value(results[i]).users;
      for (OpId user : users)
        for (int operand = 0; user != last && operand < static_cast<int>(f_.op(user).operands.size()); ++operand)
          if (f_.operand(user, operand) == results[i]) rw_.set_operand(user, operand, complete);
    }
  }

  void sink(OpId wait) {
    const auto uses_results = [&](OpId id) {
      return std::ranges::any_of(f_.op(wait).results, [&](ValueId r) { return std::ranges::count(f_.op(id).operands, r) > 0; });
    };
    OpId next = f_.op(wait).next;
    // Behind the last wait the memory of the factors is free for scratch.
    const bool frees_factors = f_.op(wait).parent == f_.body();
    const auto may_pass = [&](OpId id) {
      const OpKind k = f_.kind(id);
      if (frees_factors && k != OpKind::load_ && may_use_scratch(k)) return false;
      return (ir::info(k).has(ir::kPure) || k == OpKind::load_) && f_.op(id).regions.empty() && !uses_results(id);
    };
    const OpId first = next;
    while (next && may_pass(next)) next = f_.op(next).next;
    if (next && next != first) rw_.move_before(wait, next);
  }

  /// Whether bulk copies come after the fence, and no other fence in between.
  bool orders_copies(OpId fence) const {
    for (OpId id = f_.op(fence).next; id; id = f_.op(id).next) {
      if (f_.kind(id) == OpKind::proxy_fence_) return false;
      if (f_.kind(id) == OpKind::bulk_copy_) return true;
    }
    return false;
  }

  static bool may_use_scratch(OpKind k) {
    if (k == OpKind::alloc_buffer_ || k == OpKind::alloc_mbarriers_) return false;
    return std::ranges::any_of(ir::info(k).attributes, [](const ir::AttrInfo& a) { return a.name == AttrName::shared; });
  }

  void merge_fences(BlockId block) {
    bool is_fenced = false, is_scratch_fenced = false;
    for (OpId id : f_.ops(block)) {
      const OpKind k = f_.kind(id);
      const bool has_ops = !f_.op(id).regions.empty() && !ir::combines(k);
      for (BlockId inner : f_.op(id).regions) merge_fences(inner);
      if (k == OpKind::proxy_fence_) {
        if (is_fenced && (is_scratch_fenced || !orders_copies(id)))
          rw_.erase(id);
        else
          is_scratch_fenced = true;
        is_fenced = true;
      } else if (has_ops || k == OpKind::buffer_store_ || k == OpKind::async_wait_ || k == OpKind::mbarrier_wait_) {
        is_fenced = is_scratch_fenced = false;  // there are new writes, or copies have become complete
      } else if (may_use_scratch(k)) {
        is_scratch_fenced = false;
      }
    }
  }

  Function& f_;
  Rewriter rw_;
};

}  // namespace

bool place_mma_waits(Function& f, const PassContext&) { return WaitPlacer(f).run(); }

}  // namespace tilewright::passes
