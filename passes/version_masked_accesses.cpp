// Masked accesses under a mask that a whole tile mostly passes come in two forms, one without the mask: only the last tile pays for it.
//
// Input: traced IR. Output: likewise. Numerics do not change. See tests/files/passes/version_masked_accesses/.
//
//   x = load p, i < n; y = load q, i < n   ->   x, y = if (last i < n) { load p; load q } else { load p, i < n; load q, i < n }
//
// Where a thread has many addresses, each form computes them itself: across the branch they would take up registers.
// Accesses that can stand together share a branch, which all threads of a program take; so does what lies between loads and stores, if it
// is a few element-wise ops. Taken are accesses that the mask keeps from going by vectors, or from having one predicate for all. In a loop
// a selection by such a mask is left out too, where all of the tile is selected: of the scores of an attention all but the last tiles are.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "passes/masks/all_true_mask.h"
#include "passes/pass.h"
#include "passes/plans/access_plan.h"
#include "passes/rewriter.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

// A thread with more elements than this has enough code as it is.
constexpr int kMostElements = 64;
// Of fewer a selection costs no more than the branch.
constexpr int kFewestSelected = 8;
// So many addresses of a thread are worth computing where they are used.
constexpr int kManyAddresses = 16;
// Nor is more than this written down twice.
constexpr std::size_t kMostOps = 24;

class MaskVersioner {
 public:
  MaskVersioner(Function& f, const PassContext& context) : f_(f), context_(context), rw_(f), masks_(rw_), axes_(f) {}

  bool run() {
    std::vector<BlockId> blocks{f_.body()};
    f_.walk([&](OpId id) { blocks.insert(blocks.end(), f_.op(id).regions.begin(), f_.op(id).regions.end()); });
    for (BlockId b : blocks) block(b);
    for (ValueId mask : rematerialized_) rw_.erase_unused(mask);
    return rw_.changed();
  }

 private:
  /// Ops that get two forms together: loads, what is computed from them element by element, stores of that.
  struct Group {
    std::vector<OpId> ops;
    bool stores = false;
  };

  void block(BlockId b) {
    std::vector<OpId> ops;
    for (OpId id : f_.ops(b)) ops.push_back(id);
    const bool in_loop = is_in_loop(b);
    Group group;
    for (OpId id : ops) {
      if (in_loop && is_profitable_select(id) && !is_computed_from(id, group)) {
        version(group.ops);
        version({id});
        group = {};
        continue;
      }
      const bool is_versioned = is_profitable(id);
      if (is_versioned && !group.ops.empty() && try_add(id, group)) continue;
      if (is_versioned || !can_move_past(id)) {
        version(group.ops);
        group = {};
      }
      if (is_versioned) group = {{id}, f_.kind(id) == OpKind::store_};
    }
    version(group.ops);
  }

  /// Adds an access to a group before it, if what it needs can come before the group or be part of it.
  bool try_add(OpId id, Group& group) {
    const bool is_store = f_.kind(id) == OpKind::store_;
    if (group.stores && !is_store) return false;
    std::vector<OpId> before, within;
    std::vector<bool> in_group(f_.op_capacity());
    for (OpId at : group.ops) in_group[at.index] = true;
    std::vector<bool> needed(f_.op_capacity());
    mark_slice(id, group.ops[0], needed);
    for (OpId at = group.ops[0]; at != id; at = f_.op(at).next) {
      if (!needed[at.index] || in_group[at.index]) continue;
      const bool depends = std::any_of(f_.op(at).operands.begin(), f_.op(at).operands.end(),
                                       [&](ValueId v) { return f_.value(v).op && in_group[f_.value(v).op.index]; });
      if (!depends) {
        before.push_back(at);
        continue;
      }
      if (!is_store || !ir::info(f_.kind(at)).has(ir::kElementwise)) return false;
      in_group[at.index] = true;
      within.push_back(at);
    }
    for (ValueId v : f_.op(id).operands)
      if (!is_store && f_.value(v).op && in_group[f_.value(v).op.index]) return false;
    if (group.ops.size() + within.size() >= kMostOps) return false;
    for (OpId at : before) rw_.move_before(at, group.ops[0]);
    group.ops.insert(group.ops.end(), within.begin(), within.end());
    group.ops.push_back(id);
    group.stores |= is_store;
    return true;
  }

  /// Marks the ops from `first` on that an op of the block needs.
  void mark_slice(OpId id, OpId first, std::vector<bool>& needed) {
    std::vector<bool> behind(f_.op_capacity());
    for (OpId at = first; at; at = f_.op(at).next) behind[at.index] = true;
    std::vector<OpId> reached{id};
    for (std::size_t next = 0; next < reached.size(); ++next)
      for (ValueId v : f_.op(reached[next]).operands) {
        const OpId definer = f_.value(v).op;
        if (!definer || !behind[definer.index] || needed[definer.index]) continue;
        needed[definer.index] = true;
        reached.push_back(definer);
      }
  }

  bool is_profitable(OpId id) const {
    const ir::OpData& op = f_.op(id);
    if (op.kind != OpKind::load_ && op.kind != OpKind::store_) return false;
    const ValueId mask = ir::mask_of(f_, id);
    if (!mask || f_.attr(id, ir::AttrName::is_volatile)) return false;
    // A branch of before may have made them.
    if (!axes_.knows(op.operands[0]) || !axes_.knows(mask)) return false;
    const Type pointer = f_.type(op.operands[0]);
    if (pointer.is_scalar() || pointer.elements() > std::int64_t{kMostElements} * 32 * context_.num_warps) return false;
    const AccessInfo info = access_info(f_, id, axes_);
    const int widest = std::min(info.log2_run, std::countr_zero(16u / static_cast<unsigned>(pointer.pointee().element_bytes())));
    return axes_(mask).constancy[info.axis] < (std::int64_t{1} << widest) && masks_.known(mask);
  }

  bool is_profitable_select(OpId id) const {
    if (f_.kind(id) != OpKind::select_) return false;
    const ValueId mask = f_.operand(id, 0);
    return !f_.type(mask).is_scalar() && f_.type(mask).elements() >= std::int64_t{kFewestSelected} * 32 * context_.num_warps &&
           masks_.known(mask);
  }

  bool is_in_loop(BlockId b) const {
    for (OpId owner = f_.block(b).parent; owner; owner = f_.block(f_.op(owner).parent).parent)
      if (f_.kind(owner) == OpKind::for_ || f_.kind(owner) == OpKind::while_) return true;
    return false;
  }

  /// Element by element: then the op may become part of the group.
  bool is_computed_from(OpId id, const Group& group) const {
    std::vector<OpId> reached{id};
    for (std::size_t next = 0; next < reached.size() && next < kMostOps; ++next) {
      if (std::find(group.ops.begin(), group.ops.end(), reached[next]) != group.ops.end()) return true;
      if (!ir::info(f_.kind(reached[next])).has(ir::kElementwise)) continue;
      for (ValueId v : f_.op(reached[next]).operands)
        if (f_.value(v).op) reached.push_back(f_.value(v).op);
    }
    return false;
  }

  /// Whether an op may stay behind accesses that move up past it.
  bool can_move_past(OpId id) const {
    const ir::OpInfo& info = ir::info(f_.kind(id));
    return info.regions == 0 && info.has(ir::kPure) && !info.has(ir::kTerminator);
  }

  /// Which operand is the mask that a group's op has in one form only; none: the op has none.
  std::optional<int> mask_index(OpId id, bool is_alone) const {
    if (is_alone && f_.kind(id) == OpKind::select_) return 0;
    return f_.kind(id) == OpKind::load_ || f_.kind(id) == OpKind::store_ ? ir::mask_index(f_.kind(id)) : std::nullopt;
  }

  void version(const std::vector<OpId>& group) {
    if (group.empty()) return;
    const OpId first = group[0];
    rw_.at(first);
    ValueId whole;
    std::map<std::uint32_t, ValueId> known;
    for (OpId id : group) {
      const std::optional<int> at = mask_index(id, group.size() == 1);
      if (!at) continue;
      const ValueId mask = f_.operand(id, *at);
      ValueId& scalar = known[mask.index];
      if (!scalar) whole = masks_.both(whole, scalar = masks_.scalar(mask));
    }
    std::vector<ValueId> results;  // that somebody else uses
    const auto is_inside = [&](OpId user) { return std::find(group.begin(), group.end(), user) != group.end(); };
    for (OpId id : group)
      for (ValueId v : f_.op(id).results)
        if (!std::all_of(f_.value(v).users.begin(), f_.value(v).users.end(), is_inside)) results.push_back(v);
    std::vector<Type> types;
    for (ValueId v : results) types.push_back(f_.type(v));
    const OpId branch =
        f_.create_op(OpKind::if_, f_.op(first).loc, std::span(&whole, 1), types, {{ir::AttrName::likely, 1}}, f_.op(first).parent, first);
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

  void emit_fast_path(const std::vector<OpId>& group, const std::vector<ValueId>& results, BlockId b) {
    rw_.at_end(b);
    std::map<std::uint32_t, ValueId> copies, addresses;
    for (OpId id : group) {
      std::vector<ValueId> operands = f_.op(id).operands;
      if (has_own_addresses(id)) operands[0] = rematerialize(operands[0], addresses);
      if (const std::optional<int> at = mask_index(id, group.size() == 1)) {
        if (f_.kind(id) == OpKind::select_) {
          copies[f_.result(id).index] = operands[1];
          continue;
        }
        operands.resize(static_cast<std::size_t>(*at));
      }
      for (ValueId& v : operands)
        if (const auto copy = copies.find(v.index); copy != copies.end()) v = copy->second;
      std::vector<ir::Attr> attrs = f_.op(id).attrs;
      std::erase_if(attrs, [](const ir::Attr& a) { return a.name == ir::AttrName::poison_passthru; });
      std::vector<Type> types;
      for (ValueId v : f_.op(id).results) types.push_back(f_.type(v));
      rw_.set_loc(f_.op(id).loc);
      const OpId copy = rw_.create(f_.kind(id), operands, std::move(attrs), types);
      for (std::size_t i = 0; i < types.size(); ++i)
        copies[f_.result(id, static_cast<int>(i)).index] = f_.result(copy, static_cast<int>(i));
    }
    std::vector<ValueId> yielded;
    for (ValueId v : results) yielded.push_back(copies.at(v.index));
    rw_.create(OpKind::yield_, yielded);
  }

  void emit_slow_path(const std::vector<OpId>& group, const std::vector<ValueId>& results, BlockId b) {
    rw_.at_end(b);
    std::map<std::uint32_t, ValueId> copies;
    for (OpId id : group) {
      if (const std::optional<int> at = mask_index(id, group.size() == 1)) {
        rematerialized_.push_back(f_.operand(id, *at));
        rw_.set_operand(id, *at, rematerialize(f_.operand(id, *at), copies));
      }
      if (has_own_addresses(id)) {
        rematerialized_.push_back(f_.operand(id, 0));
        rw_.set_operand(id, 0, rematerialize(f_.operand(id, 0), copies));
      }
      rw_.move_to_end(id, b);
    }
    rw_.create(OpKind::yield_, results);
  }

  /// Whether each form of an access computes its addresses itself: many of them would take up registers across the branch, and those of
  /// the stores too, which are the same in both forms, while what has been loaded is there.
  bool has_own_addresses(OpId id) const {
    if (f_.kind(id) != OpKind::load_ && f_.kind(id) != OpKind::store_) return false;
    if (is_in_loop(f_.op(id).parent)) return false;
    return f_.type(f_.operand(id, 0)).elements() >= std::int64_t{kManyAddresses} * 32 * context_.num_warps;
  }

  /// Each thread computes it from what it has itself.
  bool is_cheap(OpId id) const {
    const ir::OpInfo& info = ir::info(f_.kind(id));
    return can_move_past(id) && f_.op(id).results.size() == 1 &&
           (info.has(ir::kElementwise) || info.family == ir::Family::create || info.family == ir::Family::shape);
  }

  /// A mask or addresses, or what they are computed from, once more at the rewriter's place: tiles that pass a mask whole do not compute
  /// it.
  ValueId rematerialize(ValueId v, std::map<std::uint32_t, ValueId>& copies) {
    const OpId id = f_.value(v).op;
    if (f_.type(v).is_scalar() || !id || !is_cheap(id)) return v;
    const auto known = copies.find(v.index);
    if (known != copies.end()) return known->second;
    std::vector<ValueId> operands = f_.op(id).operands;
    for (ValueId& x : operands) x = rematerialize(x, copies);
    const std::vector<Type> types{f_.type(v)};
    rw_.set_loc(f_.op(id).loc);
    return copies[v.index] = f_.result(rw_.create(f_.kind(id), operands, f_.op(id).attrs, types));
  }

  Function& f_;
  const PassContext& context_;
  Rewriter rw_;
  AllTrueMask masks_;
  AxisInfoAnalysis axes_;
  std::vector<ValueId> rematerialized_;
};

}  // namespace

bool version_masked_accesses(Function& f, const PassContext& context) { return MaskVersioner(f, context).run(); }

}  // namespace tilewright::passes
