// Masked accesses under a mask that a whole tile mostly passes come in two forms, one without the mask: only the last tile pays for it.
//
// Input: traced IR. Output: likewise. Numerics do not change. See tests/files/passes/split_tails/.
//
//   x = load p, i < n; y = load q, i < n   ->   x, y = if (last i < n) { load p; load q } else { load p, i < n; load q, i < n }
//
// Accesses that can stand together share a branch, which all threads of a program take; so does what lies between loads and stores, if it
// is a few element-wise ops. Taken are accesses that the mask keeps from going by vectors, or from having one predicate for all.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "passes/analysis/access_plan.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "passes/uniform.h"
#include "tileir/memory_ops.h"

namespace tilewright::passes {

using ir::BlockId;
using ir::Function;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

namespace {

// A thread with more elements than this has enough code as it is.
constexpr int kMostElements = 64;
// Nor is more than this written down twice.
constexpr std::size_t kMostOps = 24;

/// A tile whose elements are base + first + k for k = 0 ... count - 1 and nothing else; no base: 0. The sum wraps as numbers of type
/// `counted` do, and what becomes of it is cast to the tile's.
struct Run {
  ValueId base;
  std::int64_t first = 0, count = 1;
  ir::Element counted = ir::Element::i32;
};

/// Scalars that are true where a whole mask is.
class WholeMasks {
 public:
  explicit WholeMasks(Rewriter& rw) : rw_(rw), f_(rw.ir()) {}

  bool known(ValueId mask) const { return is_bounded(mask, 8); }
  /// At the rewriter's place. Requires: known.
  ValueId scalar(ValueId mask) {
    if (f_.type(mask).is_scalar()) return mask;
    const OpId id = f_.value(mask).op;
    switch (f_.kind(id)) {
      case OpKind::constant_: return rw_.constant(Type(ir::Element::boolean), 1);
      case OpKind::bit_and_: return both(scalar(f_.operand(id, 0)), scalar(f_.operand(id, 1)));
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::permute_: return scalar(f_.operand(id, 0));
      default: return below(id);
    }
  }
  ValueId both(ValueId a, ValueId b) { return !a || a == b ? b : !b ? a : rw_.binary(OpKind::bit_and_, a, b); }

 private:
  static bool moves(OpKind k) { return k == OpKind::broadcast_ || k == OpKind::reshape_ || k == OpKind::permute_; }

  bool is_bounded(ValueId mask, int depth) const {
    if (f_.type(mask).is_scalar()) return true;
    const OpId id = f_.value(mask).op;
    if (!id || depth == 0) return false;
    const OpKind k = f_.kind(id);
    if (k == OpKind::constant_) return f_.constant_bits(mask) != 0u;
    if (k == OpKind::bit_and_) return is_bounded(f_.operand(id, 0), depth - 1) && is_bounded(f_.operand(id, 1), depth - 1);
    if (moves(k)) return is_bounded(f_.operand(id, 0), depth - 1);
    const auto c = comparison(id);
    return c && run_of(c->tile) && is_uniform(f_, c->bound);
  }

  struct Comparison {
    ValueId tile, bound;
    bool or_equal;
  };
  /// tile < bound or tile <= bound.
  std::optional<Comparison> comparison(OpId id) const {
    if (f_.op(id).operands.size() != 2 || !f_.type(f_.operand(id, 0)).is_integer()) return std::nullopt;
    const ValueId a = f_.operand(id, 0), b = f_.operand(id, 1);
    switch (f_.kind(id)) {
      case OpKind::lt_: return Comparison{a, b, false};
      case OpKind::le_: return Comparison{a, b, true};
      case OpKind::gt_: return Comparison{b, a, false};
      case OpKind::ge_: return Comparison{b, a, true};
      default: return std::nullopt;
    }
  }

  std::optional<Run> run_of(ValueId v) const {
    const OpId id = f_.value(v).op;
    if (!id) return std::nullopt;
    if (moves(f_.kind(id))) return f_.type(f_.operand(id, 0)).is_scalar() ? std::nullopt : run_of(f_.operand(id, 0));
    if (f_.kind(id) == OpKind::arange_) {
      const std::int64_t lo = f_.attr(id, ir::AttrName::lo);
      return Run{{}, lo, f_.attr(id, ir::AttrName::hi) - lo};
    }
    if (f_.kind(id) == OpKind::cast_) {
      const ir::Element from = f_.type(f_.operand(id, 0)).element(), to = f_.type(v).element();
      std::optional<Run> run = run_of(f_.operand(id, 0));
      if (!run || run->counted != from || !ir::is_integer(to) || ir::bits(to) < ir::bits(from)) return std::nullopt;
      if (!run->base && run->first < 0 && !ir::is_signed(to)) return std::nullopt;  // wraps where it begins
      if (!run->base) run->counted = to;
      return run;
    }
    if (f_.kind(id) != OpKind::add_) return std::nullopt;
    for (int i = 0; i < 2; ++i) {
      const ValueId offset = f_.operand(id, i);
      if (!is_uniform(f_, offset)) continue;
      std::optional<Run> run = run_of(f_.operand(id, 1 - i));
      if (!run || run->base || run->counted != f_.type(v).element()) return std::nullopt;
      run->base = offset;
      return run;
    }
    return std::nullopt;
  }

  // first < bound and bound - first > count - 1 without a sign: then no element wraps either. Nor may one have wrapped before a cast.
  ValueId below(OpId id) {
    const Comparison c = *comparison(id);
    const Run run = *run_of(c.tile);
    const ir::Element e = f_.type(c.tile).element(), without_sign = ir::bits(e) == 64 ? ir::Element::u64 : ir::Element::u32;
    const Type counted(run.counted);
    const ValueId bound = uniform_scalar(rw_, c.bound, e);
    const OpKind order = c.or_equal ? OpKind::le_ : OpKind::lt_;
    if (!run.base) return rw_.binary(order, rw_.constant(Type(e), run.first + run.count - 1), bound);
    ValueId first = uniform_scalar(rw_, run.base, run.counted);
    if (run.first != 0) first = rw_.binary(OpKind::add_, first, rw_.constant(counted, run.first));
    ValueId follow;
    if (run.counted != e) {
      const auto most = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - ir::bits(run.counted) + ir::is_signed(run.counted)));
      follow = rw_.binary(OpKind::le_, first, rw_.constant(counted, most - (run.count - 1)));
      first = rw_.cast(first, e);
    }
    const ValueId distance = rw_.cast(rw_.binary(OpKind::sub_, bound, first), without_sign);
    const ValueId last = rw_.binary(order, rw_.constant(Type(without_sign), run.count - 1), distance);
    return both(follow, both(rw_.binary(order, first, bound), last));
  }

  Rewriter& rw_;
  const Function& f_;
};

class Splitter {
 public:
  Splitter(Function& f, const PassContext& context) : f_(f), context_(context), rw_(f), masks_(rw_), axes_(f) {}

  bool run() {
    std::vector<BlockId> blocks{f_.body()};
    f_.walk([&](OpId id) { blocks.insert(blocks.end(), f_.op(id).regions.begin(), f_.op(id).regions.end()); });
    for (BlockId b : blocks) block(b);
    for (ValueId mask : masks_used_) rw_.erase_unused(mask);
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
    Group group;
    for (OpId id : ops) {
      const bool is_split = gains(id);
      if (is_split && !group.ops.empty() && joins(id, group)) continue;
      if (is_split || !stands_by(id)) {
        split(group.ops);
        group = {};
      }
      if (is_split) group = {{id}, f_.kind(id) == OpKind::store_};
    }
    split(group.ops);
  }

  /// Adds an access to a group before it, if what it needs can come before the group or be part of it.
  bool joins(OpId id, Group& group) {
    const bool is_store = f_.kind(id) == OpKind::store_;
    if (group.stores && !is_store) return false;
    std::vector<OpId> before, within;
    std::vector<bool> in_group(f_.op_capacity());
    for (OpId at : group.ops) in_group[at.index] = true;
    std::vector<bool> needed(f_.op_capacity());
    need(id, group.ops[0], needed);
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
  void need(OpId id, OpId first, std::vector<bool>& needed) {
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

  bool gains(OpId id) const {
    const ir::OpData& op = f_.op(id);
    if (op.kind != OpKind::load_ && op.kind != OpKind::store_) return false;
    const ValueId mask = ir::mask_of(f_, id);
    if (!mask || f_.attr(id, ir::AttrName::is_volatile)) return false;
    const Type pointer = f_.type(op.operands[0]);
    if (pointer.is_scalar() || pointer.elements() > std::int64_t{kMostElements} * 32 * context_.num_warps) return false;
    const AccessFacts facts = access_facts(f_, id, axes_);
    const int widest = std::min(facts.log2_run, std::countr_zero(16u / static_cast<unsigned>(pointer.pointee().element_bytes())));
    return axes_(mask).constancy[facts.axis] < (std::int64_t{1} << widest) && masks_.known(mask);
  }

  /// Whether an op may stay behind accesses that move up past it.
  bool stands_by(OpId id) const {
    const ir::OpInfo& info = ir::info(f_.kind(id));
    return info.regions == 0 && info.has(ir::kPure) && !info.has(ir::kTerminator);
  }

  bool is_access(OpId id) const { return f_.kind(id) == OpKind::load_ || f_.kind(id) == OpKind::store_; }

  void split(const std::vector<OpId>& group) {
    if (group.empty()) return;
    const OpId first = group[0];
    rw_.at(first);
    ValueId whole;
    std::map<std::uint32_t, ValueId> known;
    for (OpId id : group) {
      if (!is_access(id)) continue;
      const ValueId mask = ir::mask_of(f_, id);
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
    whole_form(group, results, f_.add_region(branch));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<OpId> users = f_.value(results[i]).users;
      for (OpId user : users)
        for (int k = 0; !is_inside(user) && f_.op(user).parent != f_.region(branch) && k < static_cast<int>(f_.op(user).operands.size());
             ++k)
          if (f_.operand(user, k) == results[i]) rw_.set_operand(user, k, f_.result(branch, static_cast<int>(i)));
    }
    masked_form(group, results, f_.add_region(branch));
  }

  void whole_form(const std::vector<OpId>& group, const std::vector<ValueId>& results, BlockId b) {
    rw_.at_end(b);
    std::map<std::uint32_t, ValueId> copies;
    for (OpId id : group) {
      std::vector<ValueId> operands = f_.op(id).operands;
      if (is_access(id)) operands.resize(static_cast<std::size_t>(*ir::mask_index(f_.kind(id))));
      for (ValueId& v : operands)
        if (const auto copy = copies.find(v.index); copy != copies.end()) v = copy->second;
      std::vector<ir::Attr> attrs = f_.op(id).attrs;
      std::erase_if(attrs, [](const ir::Attr& a) { return a.name == ir::AttrName::unfilled; });
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

  void masked_form(const std::vector<OpId>& group, const std::vector<ValueId>& results, BlockId b) {
    rw_.at_end(b);
    std::map<std::uint32_t, ValueId> copies;
    for (OpId id : group) {
      if (is_access(id)) {
        const int at = *ir::mask_index(f_.kind(id));
        masks_used_.push_back(f_.operand(id, at));
        rw_.set_operand(id, at, copied(f_.operand(id, at), copies));
      }
      rw_.move_to_end(id, b);
    }
    rw_.create(OpKind::yield_, results);
  }

  /// A mask, or what it is computed from, once more at the rewriter's place: tiles that pass it whole do not compute it.
  ValueId copied(ValueId v, std::map<std::uint32_t, ValueId>& copies) {
    const OpId id = f_.value(v).op;
    if (f_.type(v).is_scalar() || !id || !stands_by(id) || f_.op(id).results.size() != 1) return v;
    const auto known = copies.find(v.index);
    if (known != copies.end()) return known->second;
    std::vector<ValueId> operands = f_.op(id).operands;
    for (ValueId& x : operands) x = copied(x, copies);
    const std::vector<Type> types{f_.type(v)};
    rw_.set_loc(f_.op(id).loc);
    return copies[v.index] = f_.result(rw_.create(f_.kind(id), operands, f_.op(id).attrs, types));
  }

  Function& f_;
  const PassContext& context_;
  Rewriter rw_;
  WholeMasks masks_;
  AxisInfoAnalysis axes_;
  std::vector<ValueId> masks_used_;
};

}  // namespace

bool split_tails(Function& f, const PassContext& context) { return Splitter(f, context).run(); }

}  // namespace tilewright::passes
