// Promotes stores of what a product has summed to bulk stores: threads put the tile into a buffer, and the unit for bulk copies of tensors
// (TMA) writes it.
//
//   s = mma_wait sums {pending = 0}                 m = make_tensor_map p, extents, strides
//   x = cast s                                      s = mma_wait sums {pending = 0}
//   y = convert_layout x                            x = cast s
//   store p + offsets, y, mask              ->      b = alloc_buffer; buffer_store b, x
//                                                   proxy_fence; barrier
//                                                   bulk_store m, b, coordinates; bulk_commit
//                                                   ... bulk_wait {pending = 0, read}
//
// The exchange of elements between threads before the store is the one through the buffer, under the layout that the sums have; no thread
// computes addresses or masks, and the elements that the mask leaves out are those outside of the tensor. Relaxed atomics without uses of
// their results, such as the sums of a product whose k is divided, become bulk stores with a reduction.
//
//   1. find: the stores of sums, in the body, whose tile is large and a box of the tensor, which the program does not access otherwise
//      (passes/pipeline/bulk_stores.h).
//   2. why_not_in_memory: the buffer must fit into the memory of the factors, which is free by then.
//   3. promote: the form above. The wait is before the next op that may use shared memory, or at the end.
//
// Remarks tell why a store of sums stays. In checked mode accesses are checked where they are made, and there are no bulk stores. Input,
// output: distributed. Numerics do not change. See tests/files/passes/promote_stores/.
#include <fmt/format.h>

#include <algorithm>

#include "passes/pass.h"
#include "passes/pipeline/bulk_stores.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

/// Bytes of mbarriers, and of alignment between buffers.
constexpr std::int64_t kOtherBytes = 2048;

bool uses_scratch(OpKind k) {
  return std::ranges::any_of(ir::info(k).attributes, [](const ir::AttrInfo& a) { return a.name == AttrName::shared; });
}

struct Promotion {
  OpId store;
  StoredBox to;
  ValueId value;  // before the exchange between threads
};

class StorePromoter {
 public:
  StorePromoter(Function& f, const PassContext& context) : f_(f), context_(context), rw_(f) {}

  bool run() {
    std::vector<OpId> stores;
    for (OpId id : f_.ops(f_.body()))
      if (stores_sums(f_, id, context_)) stores.push_back(id);
    if (stores.empty()) return false;
    number_ops();
    std::vector<Promotion> found;
    const AxisInfoAnalysis info(f_);
    for (OpId store : stores) {
      auto to = find_stored_box(f_, store, info);
      std::string why;
      if (auto* box = std::get_if<StoredBox>(&to)) {
        Promotion p{store, std::move(*box), value_of(store)};
        why = why_not_in_memory(p);
        if (why.empty()) found.push_back(std::move(p));
      } else {
        why = std::get<std::string>(to);
      }
      if (!why.empty() && context_.remarks)
        context_.remarks->push_back(
            {f_.where(store), fmt::format("{}: threads store the tile, and no bulk store does: {}", ir::text(f_.kind(store)), why)});
    }
    for (const Promotion& p : found) promote(p);
    return !found.empty();
  }

 private:
  void number_ops() {
    position_.assign(f_.op_capacity(), 0);
    std::uint32_t next = 0;
    f_.walk([&](OpId id) { position_[id.index] = ++next; });
  }
  bool is_before(OpId a, OpId b) const { return position_[a.index] < position_[b.index]; }

  // ---- 1. find ----

  /// The stored tile before exchanges between threads.
  ValueId value_of(OpId store) const {
    ValueId v = f_.operand(store, 1);
    while (const OpId id = f_.defined_by(v, OpKind::convert_layout_)) v = f_.operand(id, 0);
    return v;
  }

  // ---- 2. why_not_in_memory ----

  /// Whether an op, or the loop around it in the body, comes before another op of the body.
  bool ends_before(OpId id, OpId other) const {
    while (f_.op(id).parent != f_.body()) id = ir::parent_op(f_, id);
    return is_before(id, other);
  }

  std::string why_not_in_memory(const Promotion& p) {
    std::int64_t live = 0, dead = 0;
    f_.walk([&](OpId id) {
      if (f_.kind(id) != OpKind::alloc_buffer_) return;
      bool is_dead = true;
      ir::forward_uses(f_, f_.result(id), [&](OpId user, ValueId) {
        is_dead = is_dead && ends_before(user, p.store);
        return f_.kind(user) == OpKind::buffer_slot_ || f_.kind(user) == OpKind::buffer_permute_ ? ir::WalkResult::advance
                                                                                                 : ir::WalkResult::skip;
      });
      (is_dead ? dead : live) += ir::buffer_bytes(f_.type(f_.result(id)));
    });
    const Type t = f_.type(p.value);
    const std::int64_t bytes = t.elements() * t.element_bytes(), all = promised_ + bytes;
    const bool takes_no_more = live == 0 && all + kOtherBytes <= dead;
    if (all > dead || (!takes_no_more && live + dead + all + kOtherBytes > context_.target.shared_bytes))
      return fmt::format("its buffer of {} bytes does not fit into the memory of the factors", bytes);
    promised_ = all;
    return {};
  }

  // ---- 3. promote ----

  /// The op of the body before which a map can be made as early as possible: outside of loops, behind what it is computed from.
  OpId place_of_map(const Promotion& p) const {
    OpId last;
    const auto need = [&](ValueId v) {
      const OpId id = f_.value(v).op;
      if (id && f_.op(id).parent == f_.body() && (!last || is_before(last, id))) last = id;
    };
    const auto need_all = [&](const Polynomial& polynomial) {
      for (const auto& [m, factor] : polynomial.terms())
        for (const Atom& a : m) need(a.value());
    };
    need(p.to.box.base), need_all(p.to.box.offset);
    for (const TensorBox::Axis& a : p.to.box.axes) {
      need_all(a.stride);
      for (const Polynomial& e : a.extents) need_all(e);
    }
    for (ValueId v : p.to.box.divisors) need(v);
    for (OpId id : f_.ops(f_.body()))
      if (!f_.op(id).regions.empty() || id == p.store)
        if (!last || is_before(last, id)) return id;
    return p.store;
  }

  void promote(const Promotion& p) {
    number_ops();
    const Type tile = f_.type(p.value);
    rw_.set_loc(f_.op(p.store).loc);
    const ValueId map = make_tensor_map(rw_, place_of_map(p), p.to.box, tile.element());
    const std::vector<ValueId> coordinates = make_coordinates(rw_, p.store, p.store, p.to.box);
    rw_.at(p.store);
    const Type type = Type::buffer(tile.element(), 1, tile.shape());
    const ValueId buffer = f_.result(rw_.create(OpKind::alloc_buffer_, {},
                                                {{AttrName::ordered, 1, {}, {}}, {AttrName::alignment, 8 * p.to.box.slab_bytes, {}, {}}},
                                                std::span(&type, 1)));
    f_.set_layout(buffer, f_.add_layout(p.to.buffer));
    const ValueId stored[] = {buffer, p.value};
    rw_.create(OpKind::buffer_store_, stored);
    rw_.create(OpKind::proxy_fence_, {});
    rw_.create(OpKind::barrier_, {});
    ValueId view = buffer;
    if (p.to.box.is_turned) {
      const std::vector<std::int64_t> swap{1, 0};
      view = f_.result(rw_.create(OpKind::buffer_permute_, std::span(&buffer, 1), {{AttrName::axes, 0, swap, {}}}));
      f_.set_layout(view, f_.add_layout(p.to.buffer.permuted(swap)));
    }
    std::vector<ValueId> operands{map, view};
    operands.insert(operands.end(), coordinates.begin(), coordinates.end());
    std::vector<ir::Attr> attrs;
    if (const auto reduction = *reduction_of(f_, p.store); reduction != ir::Reduction::none)
      attrs.push_back({AttrName::reduction, static_cast<std::int64_t>(reduction), {}, {}});
    rw_.create(OpKind::bulk_store_, operands, attrs);
    rw_.create(OpKind::bulk_commit_, {});
    wait_behind(p.store);
    const std::vector<ValueId> unused = f_.op(p.store).operands;
    rw_.erase(p.store);
    for (ValueId v : unused)
      if (!f_.has_uses(v)) rw_.erase_unused(v);
  }

  /// Makes the wait for a store before the next op that may use shared memory, unless there is one.
  void wait_behind(OpId store) {
    OpId at = f_.op(store).next;
    const auto may_pass = [&](OpId id) {
      const OpKind k = f_.kind(id);
      return f_.op(id).regions.empty() && !uses_scratch(k) && (ir::info(k).has(ir::kPure) || k == OpKind::store_);
    };
    while (at && may_pass(at)) at = f_.op(at).next;
    if (at && f_.kind(at) == OpKind::bulk_wait_) return;  // that of a later store
    if (at)
      rw_.at(at);
    else
      rw_.at_end(f_.body());
    rw_.set_loc(f_.op(store).loc);
    rw_.create(OpKind::bulk_wait_, {}, {{AttrName::pending, 0, {}, {}}, {AttrName::read, 1, {}, {}}});
  }

  Function& f_;
  const PassContext& context_;
  Rewriter rw_;
  std::vector<std::uint32_t> position_;  // indexed by op
  std::int64_t promised_ = 0;            // bytes of the buffers of stores that are promoted
};

}  // namespace

bool promote_stores(Function& f, const PassContext& context) { return StorePromoter(f, context).run(); }

}  // namespace tilewright::passes
