// Versions masked loads and stores: an unmasked copy runs where the mask is true for the whole tile, as it is for all tiles but the last.
//
//   x = load p, i < n; y = load q, i < n   ->   x, y = if (last i < n) { load p; load q } else { load p, i < n; load q, i < n }
//
// Input, output: traced IR. Numerics do not change. See tests/files/passes/version_masked_accesses/.
//
// For each block:
//   1. Group: collects accesses that are profitable to version and can run together in one branch, with element-wise ops between loads and
//      stores. An access is profitable if its mask prevents vector accesses or one predicate for the whole access. In loops a select is
//      profitable too: in attention only the last tile of scores has masked elements.
//   2. Version: inserts a branch on a scalar that is true where all masks of the group are all-true.
//   3. Emit fast path: copies of the ops without masks.
//   4. Emit slow path: the ops themselves.
// Each path computes its own masks and, if a thread has many, its own addresses: kept across the branch, they would occupy registers.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "passes/analysis/matrix_operands.h"
#include "passes/masks/all_true_mask.h"
#include "passes/pass.h"
#include "passes/pipeline/bulk_stores.h"
#include "passes/plans/access_plan.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

// Elements of a thread. A larger tile makes enough code without a second version.
constexpr int kMaxElements = 64;
// Elements of a thread. A select of fewer elements costs no more than the branch.
constexpr int kMinSelectedElements = 8;
// From this number of addresses of a thread on, each path computes its own.
constexpr int kManyAddresses = 16;
// Limit of the ops in a group, which are duplicated.
constexpr std::size_t kMaxOps = 24;

class MaskVersioner {
 public:
  MaskVersioner(Function& f, const PassContext& context) : f_(f), context_(context), rw_(f), masks_(rw_), axes_(f) {}

  bool run() {
    std::vector<BlockId> blocks{f_.body()};
    f_.walk([&](OpId id) { blocks.insert(blocks.end(), f_.op(id).regions.begin(), f_.op(id).regions.end()); });
    for (BlockId b : blocks) version_block(b);
    for (ValueId v : rematerialized_) rw_.erase_unused(v);
    return rw_.changed();
  }

 private:
  /// Ops that are versioned together: loads, element-wise ops on the loaded values, stores of the results.
  struct Group {
    std::vector<OpId> ops;
    bool has_stores = false;
  };

  // ---- 1. group ----

  void version_block(BlockId b) {
    std::vector<OpId> ops;
    for (OpId id : f_.ops(b)) ops.push_back(id);
    const bool is_in_loop = enclosing_loop(f_, b).valid();
    Group group;
    for (OpId id : ops) {
      if (is_in_loop && is_profitable_select(id) && !is_computed_from(id, group)) {
        version(group.ops);
        version({id});
        group = {};
        continue;
      }
      const bool is_versioned = is_profitable_access(id);
      if (is_versioned && !group.ops.empty() && try_add(id, group)) continue;
      if (is_versioned || !can_move_past(id)) {
        version(group.ops);
        group = {};
      }
      if (is_versioned) group = {{id}, f_.kind(id) == OpKind::store_};
    }
    version(group.ops);
  }

  bool is_profitable_access(OpId id) const {
    const ir::OpData& op = f_.op(id);
    if (op.kind != OpKind::load_ && op.kind != OpKind::store_) return false;
    const ValueId mask = ir::mask_of(f_, id);
    if (!mask || f_.attr(id, AttrName::is_volatile) || is_matrix_operand(f_, id, context_.num_warps))
      return false;  // masks of copies cost nothing
    // The analysis does not know values in branches that this pass made earlier.
    if (!axes_.knows(op.operands[0]) || !axes_.knows(mask)) return false;
    const Type pointer = f_.type(op.operands[0]);
    if (pointer.is_scalar() || pointer.elements() > elements_of_threads(kMaxElements)) return false;
    if (stores_sums(f_, id, context_) && std::holds_alternative<StoredBox>(find_stored_box(f_, id, axes_)))
      return false;  // bulk stores have no masks
    const AccessInfo info = access_info(f_, id, axes_);
    const int widest = std::min(info.log2_run, std::countr_zero(16u / static_cast<unsigned>(pointer.pointee().element_bytes())));
    return axes_(mask).constancy[info.axis] < (std::int64_t{1} << widest) && masks_.is_known(mask);
  }

  bool is_profitable_select(OpId id) const {
    if (f_.kind(id) != OpKind::select_) return false;
    const Type mask = f_.type(f_.operand(id, 0));
    return !mask.is_scalar() && mask.elements() >= elements_of_threads(kMinSelectedElements) && masks_.is_known(f_.operand(id, 0));
  }

  std::int64_t elements_of_threads(std::int64_t each) const { return each * 32 * context_.num_warps; }

  /// Whether the op is computed element by element from the group, so that it may become part of the group.
  bool is_computed_from(OpId id, const Group& group) const {
    const auto is_in_group = [&](OpId op) { return std::find(group.ops.begin(), group.ops.end(), op) != group.ops.end(); };
    const auto slice = backward_slice(
        f_, f_.op(id).operands, [&](OpId op) { return is_in_group(op) || ir::info(f_.kind(op)).has(ir::kElementwise); }, kMaxOps);
    return std::any_of(slice.begin(), slice.end(), is_in_group);
  }

  /// Whether an op may stay where it is while later accesses are moved up past it.
  bool can_move_past(OpId id) const {
    const ir::OpInfo& info = ir::info(f_.kind(id));
    return info.regions == 0 && info.has(ir::kPure) && !info.has(ir::kTerminator);
  }

  /// Adds an access to a group before it, if the ops from which it is computed can move before the group or join it.
  bool try_add(OpId id, Group& group) {
    const bool is_store = f_.kind(id) == OpKind::store_;
    if (group.has_stores && !is_store) return false;
    std::vector<OpId> before, within;
    std::vector<bool> in_group(f_.op_capacity());
    for (OpId op : group.ops) in_group[op.index] = true;
    const std::vector<bool> slice = mark_slice(id, group.ops[0]);
    for (OpId op = group.ops[0]; op != id; op = f_.op(op).next) {
      if (!slice[op.index] || in_group[op.index]) continue;
      const auto& operands = f_.op(op).operands;
      if (!std::any_of(operands.begin(), operands.end(), [&](ValueId v) { return f_.value(v).op && in_group[f_.value(v).op.index]; })) {
        before.push_back(op);
        continue;
      }
      if (!is_store || !ir::info(f_.kind(op)).has(ir::kElementwise)) return false;
      in_group[op.index] = true;
      within.push_back(op);
    }
    for (ValueId v : f_.op(id).operands)
      if (!is_store && f_.value(v).op && in_group[f_.value(v).op.index]) return false;
    if (group.ops.size() + within.size() >= kMaxOps) return false;
    for (OpId op : before) rw_.move_before(op, group.ops[0]);
    group.ops.insert(group.ops.end(), within.begin(), within.end());
    group.ops.push_back(id);
    group.has_stores |= is_store;
    return true;
  }

  /// Marks the ops, from `first` to the end of its block, from which an op is computed.
  std::vector<bool> mark_slice(OpId id, OpId first) const {
    std::vector<bool> is_after(f_.op_capacity()), slice(f_.op_capacity());
    for (OpId op = first; op; op = f_.op(op).next) is_after[op.index] = true;
    for (OpId op : backward_slice(f_, f_.op(id).operands, [&](OpId definer) { return is_after[definer.index]; })) slice[op.index] = true;
    return slice;
  }

  // ---- 2. version ----

  /// The index of an op's mask in a group; none if the op has no mask. A select is versioned only in a group of its own.
  std::optional<int> mask_index(OpId id, const std::vector<OpId>& group) const {
    if (group.size() == 1 && f_.kind(id) == OpKind::select_) return 0;
    return f_.kind(id) == OpKind::load_ || f_.kind(id) == OpKind::store_ ? ir::mask_index(f_.kind(id)) : std::nullopt;
  }

  void version(const std::vector<OpId>& group) {
    if (group.empty()) return;
    const OpId first = group[0];
    rw_.at(first);
    const ValueId condition = all_masks_true(group);
    const auto is_inside = [&](OpId user) { return std::find(group.begin(), group.end(), user) != group.end(); };
    std::vector<ValueId> results;  // used outside of the group
    std::vector<Type> types;
    for (OpId id : group)
      for (ValueId v : f_.op(id).results)
        if (!std::all_of(f_.value(v).users.begin(), f_.value(v).users.end(), is_inside)) {
          results.push_back(v);
          types.push_back(f_.type(v));
        }
    const OpId branch =
        f_.create_op(OpKind::if_, f_.op(first).loc, std::span(&condition, 1), types, {{AttrName::likely, 1}}, f_.op(first).parent, first);
    emit_fast_path(group, results, f_.add_region(branch));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<OpId> users = f_.value(results[i]).users;
      for (OpId user : users)
        for (int k = 0; !is_inside(user) && f_.op(user).parent != f_.region(branch) && k < static_cast<int>(f_.op(user).operands.size());
             ++k)
          if (f_.operand(user, k) == results[i]) rw_.set_operand(user, k, f_.result(branch, static_cast<int>(i)));
    }
    emit_slow_path(group, results, f_.add_region(branch));
  }

  /// A scalar; if it is true, every element of every mask of the group is true.
  ValueId all_masks_true(const std::vector<OpId>& group) {
    ValueId all;
    std::map<ValueId, ValueId> known;
    for (OpId id : group) {
      const std::optional<int> at = mask_index(id, group);
      if (!at) continue;
      const ValueId mask = f_.operand(id, *at);
      ValueId& scalar = known[mask];
      if (!scalar) all = masks_.both(all, scalar = masks_.scalar(mask));
    }
    return all;
  }

  // ---- 3. emit the fast path ----

  void emit_fast_path(const std::vector<OpId>& group, const std::vector<ValueId>& results, BlockId b) {
    rw_.at_end(b);
    ir::ValueMap copies, addresses;
    for (OpId id : group) {
      const std::optional<int> mask = mask_index(id, group);
      if (mask && f_.kind(id) == OpKind::select_) {
        copies.set(f_.result(id), f_.operand(id, 1));
        continue;
      }
      const ValueId address = has_own_addresses(id) ? rematerialize(f_.operand(id, 0), addresses) : ValueId{};
      const OpId copy = rw_.clone(id, copies);
      if (address) rw_.set_operand(copy, 0, address);
      if (mask) drop_mask(copy, *mask);
    }
    std::vector<ValueId> yielded;
    for (ValueId v : results) yielded.push_back(copies(v));
    rw_.create(OpKind::yield_, yielded);
  }

  void drop_mask(OpId id, int mask) {
    while (static_cast<int>(f_.op(id).operands.size()) > mask) rw_.erase_operand(id, static_cast<int>(f_.op(id).operands.size()) - 1);
    f_.erase_attr(id, AttrName::poison_passthru);
  }

  // ---- 4. emit the slow path ----

  void emit_slow_path(const std::vector<OpId>& group, const std::vector<ValueId>& results, BlockId b) {
    rw_.at_end(b);
    ir::ValueMap copies;
    const auto rematerialize_operand = [&](OpId id, int i) {
      rematerialized_.push_back(f_.operand(id, i));
      rw_.set_operand(id, i, rematerialize(f_.operand(id, i), copies));
    };
    for (OpId id : group) {
      if (const std::optional<int> mask = mask_index(id, group)) rematerialize_operand(id, *mask);
      if (has_own_addresses(id)) rematerialize_operand(id, 0);
      rw_.move_to_end(id, b);
    }
    rw_.create(OpKind::yield_, results);
  }

  // ---- masks and addresses of each path ----

  /// Whether each path computes the addresses of an access. The addresses of a store are the same in both paths; kept, they would occupy
  /// registers together with the loaded values.
  bool has_own_addresses(OpId id) const {
    if (f_.kind(id) != OpKind::load_ && f_.kind(id) != OpKind::store_) return false;
    if (enclosing_loop(f_, f_.op(id).parent)) return false;
    return f_.type(f_.operand(id, 0)).elements() >= elements_of_threads(kManyAddresses);
  }

  /// Whether every thread computes the op's elements from its own elements.
  bool is_cheap(OpId id) const {
    const ir::OpInfo& info = ir::info(f_.kind(id));
    return can_move_past(id) && f_.op(id).results.size() == 1 &&
           (info.has(ir::kElementwise) || info.family == Family::create || info.family == Family::shape);
  }

  /// Clones a tile at the rewriter's insertion point, together with the tiles that it is computed from, as far as they are cheap.
  ValueId rematerialize(ValueId v, ir::ValueMap& copies) {
    const OpId id = f_.value(v).op;
    if (f_.type(v).is_scalar() || !id || !is_cheap(id) || copies.contains(v)) return copies(v);
    for (ValueId x : std::vector<ValueId>(f_.op(id).operands)) rematerialize(x, copies);
    return f_.result(rw_.clone(id, copies));
  }

  Function& f_;
  const PassContext& context_;
  Rewriter rw_;
  AllTrueMask masks_;
  AxisInfoAnalysis axes_;
  std::vector<ValueId> rematerialized_;  // masks and addresses that may be unused by now
};

}  // namespace

bool version_masked_accesses(Function& f, const PassContext& context) { return MaskVersioner(f, context).run(); }

}  // namespace tilewright::passes
