// Finds pipelined loads, the ops that compute their addresses, and reduces their masks.
#include "passes/pipeline/pipelined_loads.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/pipeline/last_iteration.h"
#include "passes/plans/access_plan.h"
#include "passes/plans/buffer_plan.h"
#include "passes/rewriter.h"
#include "tileir/diagnostics.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

constexpr int kLeastCopyBytes = 4;       // the least size of a cp.async
constexpr int kMostElements = 32;        // elements that a thread may hold for an iteration
constexpr int kMostIndexRegisters = 16;  // 32-bit registers of a thread for indices that the loop carries

class LoadFinder {
 public:
  LoadFinder(Rewriter& rw, OpId loop, const LoopStores& stores, const BulkLoads& bulk)
      : rw_(rw), f_(rw.function()), loop_(loop), stores_(stores), bulk_(bulk) {}

  PipelinedLoads run(bool copies_all) {
    find_loads(copies_all);
    std::erase_if(found_.loads, [&](const PipelinedLoad& l) {
      PipelinedLoads with_it = found_;
      if (!add_addresses(l, with_it))
        return refuse(l.load, "its address or mask depends on values that cannot be computed iterations ahead");
      if (index_registers(with_it) > kMostIndexRegisters) return refuse(l.load, "a thread would carry too many indices of its address");
      found_.index_loads = with_it.index_loads, found_.of_tiles = with_it.of_tiles, found_.of_indices = with_it.of_indices;
      return false;
    });
    // Addresses are computed from index loads, which go to registers.
    std::erase_if(found_.loads, [&](const PipelinedLoad& l) { return is_index(l.load); });
    std::erase_if(found_.refused, [&](const RefusedLoad& r) { return is_index(r.load); });
    limit_elements();
    reduce_masks();
    return std::move(found_);
  }

 private:
  BlockId body() const { return f_.region(loop_); }

  bool refuse(OpId load, std::string reason) {
    found_.refused.push_back({load, std::move(reason)});
    return true;
  }

  // ---- 1. find loads ----

  void find_loads(bool copies_all) {
    const AxisInfoAnalysis axes(f_);
    std::set<OpId> stored;
    for (OpId id : f_.ops(body())) {
      if (f_.kind(id) != OpKind::buffer_store_) continue;
      const ValueId buffer = f_.operand(id, 0), value = f_.operand(id, 1);
      PipelinedLoad l{
          f_.defined_by(value, OpKind::load_), id, f_.defined_by(buffer, OpKind::alloc_buffer_), f_.layout_id(buffer), false, {}};
      if (!l.load || !l.alloc || f_.op(l.alloc).parent != body() || f_.op(l.load).parent != body()) continue;
      stored.insert(l.load);
      if (f_.value(value).users.size() > 1 && refuse(l.load, "its value has another use")) continue;
      if (!may_move(l.load, axes)) continue;
      if (const auto bulk = bulk_.find(l.load); bulk != bulk_.end()) l.bulk = bulk->second;
      l.through_registers = !l.bulk && !is_copyable(l, axes);
      found_.loads.push_back(l);
    }
    for (OpId id : f_.ops(body())) {
      if (f_.kind(id) != OpKind::load_ || stored.contains(id) || f_.type(f_.result(id)).is_scalar()) continue;
      if (!copies_all && !is_factor(id)) continue;
      if (f_.type(f_.result(id)).rank() > ir::kMaxBufferRank || !f_.has_uses(f_.result(id))) continue;
      const ir::LinearLayout layout = f_.layout(f_.result(id)).without_free_registers();
      const PipelinedLoad l{id, {}, {}, f_.add_layout(buffer_layout(layout, layout, f_.type(f_.result(id)).element_bytes())), false, {}};
      if (is_copyable(l, axes) && may_move(id, axes)) found_.loads.push_back(l);
    }
  }

  /// Whether a factor of a product in the loop is computed element by element from the load.
  bool is_factor(OpId load) const {
    bool found = false;
    forward_uses(f_, f_.result(load), [&](OpId user, ValueId used) {
      if (f_.op(user).parent != body()) return ir::WalkResult::skip;
      const OpKind k = f_.kind(user);
      const bool is_product = k == OpKind::mma_ || k == OpKind::dot_;
      found = found || k == OpKind::buffer_store_ || (is_product && f_.operand(user, 2) != used);
      const bool moves = k == OpKind::broadcast_ || k == OpKind::permute_ || k == OpKind::convert_layout_;
      return moves || ir::info(k).has(ir::kElementwise) ? ir::WalkResult::advance : ir::WalkResult::skip;
    });
    return found;
  }

  /// Whether a load may be moved to an earlier iteration.
  bool may_move(OpId load, const AxisInfoAnalysis& axes) {
    if (f_.attr(load, AttrName::is_volatile)) return !refuse(load, "it is volatile");
    const std::optional<OpId> store = stores_.store_before(load, axes);
    if (!store) return true;
    const Location at = f_.where(*store);
    return !refuse(load, fmt::format("it may read what the loop stores{}", at.line ? fmt::format(" at {}:{}", at.file, at.line) : ""));
  }

  bool is_copyable(const PipelinedLoad& l, const AxisInfoAnalysis& axes) const {
    const auto& operands = f_.op(l.load).operands;
    if (operands.size() > 2 && f_.constant_bits(operands[2]) != std::uint64_t{0}) return false;
    const ir::Type t = f_.type(f_.result(l.load));
    const ir::LinearLayout& layout = f_.layout(operands[0]);
    const std::vector<int> vector = vector_bits(access_info(f_, l.load, axes), layout);
    const int log2_copied = log2_copy_vector(layout, f_.layout(l.layout), t.element_bytes(), vector);
    return t.element_bytes() << log2_copied >= kLeastCopyBytes;
  }

  void limit_elements() {
    int count = 0;
    for (const PipelinedLoad& l : found_.loads)
      if (l.through_registers) count += elements_of_thread(f_.result(l.load));
    found_.loads_late = count > kMostElements;
  }
  int elements_of_thread(ValueId tile) const { return 1 << f_.layout(tile).without_free_registers().bits(HardwareDim::reg); }

  // ---- 2. find addresses ----

  /// Adds the ops in the loop from which v is computed; returns false if one of them is not pure. Index loads are added to `index_loads`;
  /// without such a list they count as not pure.
  bool add_slice(ValueId v, Slice& to, std::vector<OpId>* index_loads) const {
    if (!f_.encloses(body(), f_.defining_block(v))) return true;
    const ir::ValueData& d = f_.value(v);
    if (!d.op) {
      if (d.block != body()) return false;
      const int k = static_cast<int>(d.number) - 1;
      return k < 0 || !to.values.insert(k).second || add_slice(f_.operand(f_.terminator(body()), k), to, index_loads);
    }
    if (f_.op(d.op).parent != body()) return false;
    if (f_.kind(d.op) == OpKind::load_) {
      if (!index_loads || f_.attr(d.op, AttrName::is_volatile) || stores_.any()) return false;
      if (std::find(index_loads->begin(), index_loads->end(), d.op) == index_loads->end()) index_loads->push_back(d.op);
      return true;
    }
    if (!ir::info(f_.kind(d.op)).has(ir::kPure) || ir::info(f_.kind(d.op)).has(ir::kExpensive)) return false;
    if (!to.ops.insert(d.op).second) return true;
    const std::vector<ValueId>& operands = f_.op(d.op).operands;
    return std::all_of(operands.begin(), operands.end(), [&](ValueId x) { return add_slice(x, to, index_loads); });
  }

  bool add_addresses(const PipelinedLoad& l, PipelinedLoads& to) const {
    if (l.bulk) return add_coordinates(*l.bulk, to);
    const ValueId mask = ir::mask_of(f_, l.load);
    if (!add_slice(f_.operand(l.load, 0), to.of_tiles, &to.index_loads)) return false;
    if (mask && !add_slice(mask, to.of_tiles, &to.index_loads)) return false;
    if (l.through_registers && f_.op(l.load).operands.size() > 2 && !add_slice(f_.operand(l.load, 2), to.of_tiles, &to.index_loads))
      return false;
    return add_indices(to);
  }
  bool add_coordinates(const BulkLoad& bulk, PipelinedLoads& to) const {
    for (ValueId v : bulk.coordinates)
      if (!add_slice(v, to.of_tiles, &to.index_loads)) return false;
    return add_indices(to);
  }
  /// Adds the addresses of the index loads.
  bool add_indices(PipelinedLoads& to) const {
    for (OpId id : to.index_loads)
      for (ValueId v : f_.op(id).operands)
        if (!add_slice(v, to.of_indices, nullptr)) return false;
    to.of_tiles.ops.insert(to.of_indices.ops.begin(), to.of_indices.ops.end());
    to.of_tiles.values.insert(to.of_indices.values.begin(), to.of_indices.values.end());
    return true;
  }

  bool is_index(OpId id) const { return std::find(found_.index_loads.begin(), found_.index_loads.end(), id) != found_.index_loads.end(); }

  /// The 32-bit registers that a thread needs for one value of each index load.
  int index_registers(const PipelinedLoads& found) const {
    int count = 0;
    for (OpId id : found.index_loads) {
      const ValueId v = f_.result(id);
      const int elements = f_.type(v).is_scalar() ? 1 : elements_of_thread(v);
      count += elements * ((f_.type(v).element_bytes() + 3) / 4);
    }
    return count;
  }

  // ---- 3. reduce masks ----

  void reduce_masks() {
    if (stores_.any() || !order_is_free()) return;
    std::vector<ValueId> masks;
    for (const PipelinedLoad& l : found_.loads) {
      const ValueId mask = l.bulk ? ValueId{} : ir::mask_of(f_, l.load);
      masks.push_back(mask ? reduced(l, mask) : mask);
      found_.last_comes_first = found_.last_comes_first || masks.back() != mask;
    }
    if (!found_.last_comes_first) return;
    for (std::size_t i = 0; i < masks.size(); ++i) {
      found_.loads[i].mask = masks[i];
      if (masks[i])
        TW_CHECK(add_slice(masks[i], found_.of_tiles, &found_.index_loads), "what remains of a mask is computed as the mask was");
    }
  }

  /// The part of a mask that iterations before the last need: the mask itself, a conjunction of some of its terms, or none if all-true.
  ValueId reduced(const PipelinedLoad& l, ValueId mask) {
    if (holds_before_last(f_, loop_, mask)) return {};
    const OpId id = f_.value(mask).op;
    if (!id || f_.op(id).parent != body()) return mask;
    const OpKind k = f_.kind(id);
    const bool moves = k == OpKind::broadcast_ || k == OpKind::reshape_ || k == OpKind::permute_;
    if (k != OpKind::bit_and_ && !moves) return mask;
    ir::ValueMap parts;
    std::vector<ValueId> left;
    bool changed = false;
    for (ValueId v : std::vector<ValueId>(f_.op(id).operands)) {
      const ValueId part = reduced(l, v);
      changed = changed || part != v;
      parts.set(v, part);
      if (part) left.push_back(part);
    }
    if (!changed || left.empty()) return left.empty() ? ValueId{} : mask;
    if (k == OpKind::bit_and_ && left.size() == 1) return left[0];
    const bool is_invariant = std::none_of(left.begin(), left.end(), [&](ValueId v) { return f_.encloses(body(), f_.defining_block(v)); });
    rw_.at(is_invariant ? loop_ : l.load);
    return f_.result(rw_.clone(id, parts));
  }

  /// Whether iterations may be executed in any order: each carried value is an accumulator of products or advances by a constant step, and
  /// only addresses depend on the iteration's number.
  bool order_is_free() const {
    const auto used_by_addresses = [&](ValueId v) {
      const std::vector<OpId>& users = f_.value(v).users;
      return std::all_of(users.begin(), users.end(), [&](OpId user) {
        return found_.of_tiles.ops.contains(user) || user == f_.terminator(body()) || is_index(user) ||
               std::any_of(found_.loads.begin(), found_.loads.end(), [&](const PipelinedLoad& l) { return l.load == user; });
      });
    };
    if (!used_by_addresses(f_.arg(body(), 0))) return false;
    for (OpId id : found_.of_tiles.ops)
      for (ValueId v : f_.op(id).results)
        if (!used_by_addresses(v)) return false;
    for (OpId id : found_.index_loads)
      if (!used_by_addresses(f_.result(id))) return false;
    for (int k = 0; k < static_cast<int>(f_.op(loop_).results.size()); ++k) {
      const ValueId arg = f_.arg(body(), k + 1);
      if (!(induction_of(f_, loop_, k) && used_by_addresses(arg)) && !is_accumulator(arg, k)) return false;
    }
    return true;
  }

  bool is_accumulator(ValueId arg, int k) const {
    ValueId sum = arg;
    while (f_.value(sum).users.size() == 1) {
      const OpId user = f_.value(sum).users[0];
      if (f_.kind(user) == OpKind::yield_) return f_.op(user).parent == body() && f_.operand(user, k) == sum;
      if (f_.op(user).parent != body()) return false;
      const auto& operands = f_.op(user).operands;
      const auto at = std::ranges::find(operands, sum) - operands.begin();
      const OpKind kind = f_.kind(user);
      const bool is_product = kind == OpKind::mma_ || kind == OpKind::mma_async_;
      if (is_product ? at != 2 : kind != OpKind::mma_wait_) return false;
      sum = f_.result(user, is_product ? 0 : static_cast<int>(at));
    }
    return false;
  }

  Rewriter& rw_;
  Function& f_;
  const OpId loop_;
  const LoopStores& stores_;
  const BulkLoads& bulk_;
  PipelinedLoads found_;
};

}  // namespace

PipelinedLoads find_pipelined_loads(Rewriter& rw, OpId loop, const LoopStores& stores, bool copies_all, const BulkLoads& bulk) {
  return LoadFinder(rw, loop, stores, bulk).run(copies_all);
}

}  // namespace tilewright::passes
