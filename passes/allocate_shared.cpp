// Shared-memory allocation: assigns an offset (attribute shared) to the scratch of every op that uses shared memory.
//
// Input: distributed. Output: allocated. Numerics do not change. See tests/files/passes/allocate_shared/.
//
// An op uses its scratch only while it runs, so scratch may overlap; but an op that reuses the scratch of the op before it needs a barrier
// first. Offsets therefore increase from op to op, and start at 0 again where they would exceed the bytes that cost no occupancy:
// kFreeBytes, or an eighth more than the largest scratch. Buffers live longer: scratch is behind those that are live at its op or, if there
// is no room, in the first gap between them. Roles run side by side: each instance of a role has memory of its own, behind the buffers that
// the roles share. One role also uses the memory of shared buffers that the other roles only fill by bulk copies, once it has waited for
// these.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "passes/pass.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/memory_ops.h"
#include "tileir/op_info.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

// 128 bytes are all banks: with this alignment the offset does not change bank conflicts. A smaller scratch uses each bank at most once.
constexpr std::int64_t kMostAlignment = 128, kLeastAlignment = 16;
constexpr std::int64_t kFreeBytes = 8 * 1024;

struct Scratch {
  OpId op;
  std::int64_t bytes, alignment;
  std::int64_t start, limit;  // between the buffers that are live at the op
};

std::int64_t rounded_up(std::int64_t v, std::int64_t to) { return (v + to - 1) / to * to; }

/// A buffer is live from its alloc_buffer to its last use. If the last use is in a loop that does not contain the alloc_buffer, the buffer
/// is live to the end of the loop. Each buffer gets the lowest offset, from `begin` on, where no live buffer is.
class BufferAllocator {
 public:
  explicit BufferAllocator(const ir::Function& f) : f_(f), position_(f.op_capacity()) {
    f.walk([&](OpId id) { position_[id.index] = next_++; });
  }

  /// From here on, allocates for the ops of a role. Returns whether it has an end of use for a buffer of the body that other roles use,
  /// too.
  bool begin_role(BlockId region) {
    bool any = false;
    for (Live& l : live_) {
      if (f_.op(l.op).parent != f_.body() || f_.kind(l.op) == ir::OpKind::alloc_mbarriers_) continue;
      l.last = last_use(f_.result(l.op), region);
      any = any || l.last < next_;
    }
    return any;
  }
  /// Ends the life of no buffer of the body.
  void end_role() {
    for (Live& l : live_)
      if (f_.op(l.op).parent == f_.body()) l.last = next_;
  }

  /// Requires: called in program order.
  std::int64_t allocate(OpId id, std::int64_t bytes, std::int64_t begin, std::int64_t alignment) {
    const bool is_mbarrier = f_.kind(id) == ir::OpKind::alloc_mbarriers_;  // lives until the program ends
    const std::size_t last = is_mbarrier ? next_ : last_use(f_.result(id), f_.op(id).parent);
    Live live{id, position_[id.index], last, rounded_up(begin, alignment), rounded_up(bytes, kMostAlignment)};
    for (bool moved = true; std::exchange(moved, false);)
      for (const Live& other : live_)
        if (other.last >= live.first && other.offset < live.offset + live.bytes && live.offset < other.offset + other.bytes) {
          live.offset = rounded_up(other.offset + other.bytes, alignment);
          moved = true;
        }
    live_.push_back(live);
    return live.offset;
  }
  /// The end of the buffers that are live at an op. Requires: all buffers that are made before the op have been allocated.
  std::int64_t end_at(OpId id, std::int64_t begin) const {
    std::int64_t end = begin;
    for (const Live& l : live_)
      if (is_live(l, id)) end = std::max(end, l.offset + l.bytes);
    return end;
  }
  /// The first gap of so many bytes, from `begin` on, between the buffers that are live at an op. Requires as end_at.
  std::int64_t gap_at(OpId id, std::int64_t bytes, std::int64_t begin, std::int64_t alignment) const {
    std::int64_t start = rounded_up(begin, alignment);
    for (bool moved = true; std::exchange(moved, false);)
      for (const Live& l : live_)
        if (is_live(l, id) && l.offset < start + bytes && start < l.offset + l.bytes)
          start = rounded_up(l.offset + l.bytes, alignment), moved = true;
    return start;
  }
  /// Where the next buffer begins that is live at an op, from an offset on; `end` if there is none before it.
  std::int64_t next_buffer(OpId id, std::int64_t from, std::int64_t end) const {
    for (const Live& l : live_)
      if (is_live(l, id) && l.offset >= from) end = std::min(end, l.offset);
    return end;
  }
  /// The end of all buffers.
  std::int64_t end() const {
    std::int64_t end = 0;
    for (const Live& l : live_) end = std::max(end, l.offset + l.bytes);
    return end;
  }

 private:
  struct Live {
    OpId op;
    std::size_t first, last;  // positions of ops
    std::int64_t offset, bytes;
  };

  bool is_live(const Live& l, OpId id) const { return l.first <= position_[id.index] && position_[id.index] <= l.last; }

  /// The last use in a block and what is nested in it; the end of the program if there is one outside of it.
  std::size_t last_use(ValueId buffer, BlockId block) const {
    std::size_t last = 0;
    const auto extend = [&](OpId end) {
      if (!end || !f_.encloses(block, f_.op(end).parent)) {
        last = next_;
        return;
      }
      OpId outermost = end;
      while (f_.op(outermost).parent != block) outermost = ir::parent_op(f_, outermost);
      last = std::max(last, outermost == end ? position_[end.index] : end_of(outermost));
    };
    ir::forward_uses(f_, buffer, [&](OpId user, ValueId) {
      const ir::OpKind k = f_.kind(user);
      if (k == OpKind::buffer_slot_ || k == OpKind::buffer_permute_) return ir::WalkResult::advance;
      extend(k == OpKind::mma_async_ || k == OpKind::bulk_store_ ? ir::end_of_reads(f_, user)
             : k == OpKind::bulk_copy_                           ? end_of_copy(user)
                                                                 : user);
      return ir::WalkResult::skip;
    });
    return last;
  }
  /// The last wait at the mbarriers of a bulk copy; none if there is no wait.
  OpId end_of_copy(OpId copy) const {
    OpId end;
    ir::forward_uses(f_, f_.result(ir::allocation_of(f_, f_.operand(copy, 2))), [&](OpId user, ValueId) {
      if (f_.kind(user) == OpKind::mbarrier_wait_ && (!end || position_[user.index] > position_[end.index])) end = user;
      return f_.kind(user) == OpKind::mbarrier_slot_ ? ir::WalkResult::advance : ir::WalkResult::skip;
    });
    return end;
  }
  std::size_t end_of(OpId id) const {
    std::size_t last = position_[id.index];
    for (BlockId b : f_.op(id).regions) f_.walk(b, [&](OpId inner) { last = std::max(last, position_[inner.index]); });
    return last;
  }

  const ir::Function& f_;
  std::vector<std::size_t> position_;  // indexed by op
  std::size_t next_ = 0;
  std::vector<Live> live_;
};

/// "dot: operand 'b', " if the buffer holds an operand of a product: a pass made the buffer, but the user wrote the product.
std::string reader_text(const ir::Function& f, ValueId buffer) {
  std::string text;
  ir::forward_uses(f, buffer, [&](OpId user, ValueId v) {
    const OpKind k = f.kind(user);
    if (k != OpKind::mma_ && k != OpKind::mma_async_ && k != OpKind::dot_) {
      const bool passes_on = k == OpKind::buffer_slot_ || k == OpKind::buffer_permute_ || k == OpKind::buffer_load_ ||
                             ir::info(k).has(ir::kKeepsElements) || ir::info(k).has(ir::kElementwise);
      return passes_on ? ir::WalkResult::advance : ir::WalkResult::skip;
    }
    if (f.operand(user, 0) != v && f.operand(user, 1) != v) return ir::WalkResult::skip;
    text = fmt::format("dot: operand '{}', ", f.operand(user, 0) == v ? 'a' : 'b');
    return ir::WalkResult::interrupt;
  });
  return text;
}

/// What needs the shared memory, in words of the user's kernel: "dot: operand 'a', 3 stages of f16[128, 32],", "sort of f32[4096]".
std::string subject_text(const ir::Function& f, OpId id) {
  const OpKind kind = f.kind(id);
  if (kind == OpKind::alloc_buffer_) {
    const ir::Type t = f.type(f.result(id));
    const std::string tile = ir::text(ir::Type(t.element(), t.shape())), reader = reader_text(f, f.result(id));
    const std::string held = t.slots() > 1 ? fmt::format("{} stages of {}", t.slots(), tile) : tile;
    return reader.empty() ? "a buffer of " + held : reader + held + ",";
  }
  if (kind == OpKind::alloc_mbarriers_) return fmt::format("{} mbarriers", f.type(f.result(id)).slots());
  const std::string tile = ir::text(f.type(f.op(id).operands.empty() ? f.op(id).results[0] : f.op(id).operands[0]));
  if (kind == OpKind::convert_layout_) return "an exchange of " + tile + " between threads";
  return fmt::format("{} of {}", ir::text(kind), tile);
}

/// Whether a buffer has more than one slot, so that fewer stages would need less memory.
bool has_stages(const ir::Function& f) {
  bool found = false;
  f.walk([&](OpId id) { found = found || (f.kind(id) == OpKind::alloc_buffer_ && f.type(f.result(id)).slots() > 1); });
  return found;
}

}  // namespace

namespace {

/// Assigns offsets to the ops of the body outside of roles, or to the ops of one role.
class SharedAllocator {
 public:
  SharedAllocator(ir::Function& f, const PassContext& context)
      : f_(f), context_(context), plans_(context.plans->get(f, context.num_warps)), buffers_(f) {}

  /// Allocates the buffers and the scratch of these ops, from byte `begin` on, `instances` times: once for each instance of their role.
  void allocate(const std::vector<OpId>& ops, std::int64_t begin, int instances) {
    std::vector<Scratch> all;
    std::int64_t largest = 0;
    for (OpId id : ops) {
      const std::int64_t bytes = plans_.scratch_bytes(id);
      if (bytes == 0) continue;
      const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
      const std::int64_t alignment = std::clamp(whole, kLeastAlignment, kMostAlignment);
      const bool is_buffer = lives_on(f_.kind(id));
      const std::int64_t asked = std::max(kMostAlignment, f_.attr(id, ir::AttrName::alignment));
      std::int64_t start = is_buffer ? buffers_.allocate(id, bytes, begin, asked) : rounded_up(buffers_.end_at(id, begin), alignment);
      const auto fits = [&] { return begin + instances * (start + bytes - begin) <= context_.target.shared_bytes; };
      if (!fits() && !is_buffer) start = buffers_.gap_at(id, bytes, begin, alignment);
      if (!fits()) throw too_large(id, bytes, start);
      any_ = true;
      if (is_buffer) {
        f_.set_attr(id, {ir::AttrName::shared, start});
        continue;
      }
      all.push_back({id, rounded_up(bytes, alignment), alignment, start, buffers_.next_buffer(id, start, context_.target.shared_bytes)});
      largest = std::max(largest, all.back().bytes);
    }
    const std::int64_t free = std::max(kFreeBytes, largest + largest / 8);
    std::int64_t next = 0;
    for (const Scratch& s : all) {
      const std::int64_t end = std::max(s.start + s.bytes, std::min(s.start + free, s.limit));
      next = rounded_up(std::max(next, s.start), s.alignment);
      if (next + s.bytes > end) next = s.start;
      f_.set_attr(s.op, {ir::AttrName::shared, next});
      next += s.bytes;
    }
  }

  bool begin_role(BlockId region) { return buffers_.begin_role(region); }
  void end_role() { buffers_.end_role(); }

  bool any() const { return any_; }
  /// The end of all buffers.
  std::int64_t end() const { return buffers_.end(); }
  const LoweringPlans& plans() const { return plans_; }

 private:
  static bool lives_on(ir::OpKind k) { return k == ir::OpKind::alloc_buffer_ || k == ir::OpKind::alloc_mbarriers_; }

  Error too_large(OpId id, std::int64_t bytes, std::int64_t start) const {
    return lacking_resources(Error(
        f_.where(id), fmt::format("{} takes {} bytes of shared memory{}; a program of {} has at most {}: use smaller tiles{}",
                                  subject_text(f_, id), bytes, start > 0 ? fmt::format(" beside {} bytes of buffers", start) : "",
                                  context_.target.name, context_.target.shared_bytes, has_stages(f_) ? ", or lower num_stages" : "")));
  }

  ir::Function& f_;
  const PassContext& context_;
  const LoweringPlans& plans_;
  BufferAllocator buffers_;
  bool any_ = false;
};

}  // namespace

bool allocate_shared(ir::Function& f, const PassContext& context) {
  SharedAllocator allocator(f, context);
  std::vector<OpId> outside;
  f.walk([&](OpId id) {
    if (!ir::role_region(f, id)) outside.push_back(id);
  });
  allocator.allocate(outside, 0, 1);
  const OpId op = ir::roles_op(f);
  if (!op) return allocator.any();
  // Roles run at the same time, so each has memory of its own, behind the buffers of the body.
  std::int64_t begin = allocator.end();
  bool may_reuse = true;  // no role has memory yet
  for (const ir::Role& r : ir::roles(f, op)) {
    begin = rounded_up(begin, LoweringPlans::kInstanceAlignment);
    std::vector<OpId> ops;
    f.walk(r.region, [&](OpId id) { ops.push_back(id); });
    const bool reuses = may_reuse && r.instances == 1 && allocator.begin_role(r.region);
    allocator.allocate(ops, reuses ? 0 : begin, r.instances);
    allocator.end_role();
    const auto [own, stride] = allocator.plans().instance_memory(f, r.region);
    begin = std::max(begin, (reuses ? own : begin) + r.instances * stride);
    may_reuse = may_reuse && stride == 0;
  }
  return allocator.any();
}

}  // namespace tilewright::passes
