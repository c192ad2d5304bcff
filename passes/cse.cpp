// Common subexpression elimination: merges equal pure ops if one dominates the other, and equal loads of one block if there is no write
// between them.
//
//   1. visit: walks the blocks in order with a hash table of the ops that dominate the current one; a block's ops leave it at the block's
//      end.
//   2. known: looks for an equal op in the table. Equal: kind, attributes, operands (in either order if commutative), types, regions.
//   3. If there is one, its results replace the op's results; otherwise the op enters the table.
//
// Input, output: any IR. Numerics do not change. See tests/files/passes/cse/.
#include <algorithm>
#include <unordered_map>

#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// Adds x to the hash h (after boost::hash_combine).
void mix(std::size_t& h, std::uint64_t x) { h ^= x * 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2); }

/// The state of memory before an op: equal loads in equal states read equal values. Every op that may write starts a new epoch.
struct MemoryState {
  BlockId block;
  std::uint32_t epoch = 0;
  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

class Merger {
 public:
  explicit Merger(Function& f) : rw_(f), f_(f), states_(f.op_capacity()) {}

  bool run() {
    visit(f_.body());
    return rw_.changed();
  }

 private:
  /// Whether the ops compute equal values. `map` has, for the regions of the two ops, the value of the second for each value of the first.
  bool equal_ops(OpId a, OpId b, const std::unordered_map<std::uint32_t, ValueId>& map) const {
    const ir::OpData &x = f_.op(a), &y = f_.op(b);
    if (x.kind != y.kind || x.attrs != y.attrs || x.operands.size() != y.operands.size() || x.results.size() != y.results.size() ||
        x.regions.size() != y.regions.size())
      return false;
    for (std::size_t i = 0; i < x.results.size(); ++i)
      if (f_.type(x.results[i]) != f_.type(y.results[i]) || f_.layout_id(x.results[i]) != f_.layout_id(y.results[i])) return false;
    const auto mapped = [&](ValueId v) {
      const auto it = map.find(v.index);
      return it == map.end() ? v : it->second;
    };
    bool same = true, swapped = ir::info(x.kind).has(ir::kCommutative);
    for (std::size_t i = 0; i < x.operands.size(); ++i) {
      same = same && mapped(x.operands[i]) == y.operands[i];
      swapped = swapped && mapped(x.operands[i]) == y.operands[1 - i];  // commutative ops have two operands
    }
    if (!same && !swapped) return false;
    for (std::size_t i = 0; i < x.regions.size(); ++i)
      if (!equal_blocks(x.regions[i], y.regions[i], map)) return false;
    return true;
  }

  bool equal_blocks(BlockId a, BlockId b, std::unordered_map<std::uint32_t, ValueId> map) const {
    const auto &args = f_.block(a).args, &others = f_.block(b).args;
    if (args.size() != others.size()) return false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (f_.type(args[i]) != f_.type(others[i])) return false;
      map[args[i].index] = others[i];
    }
    OpId y = f_.block(b).first;
    for (OpId x : f_.ops(a)) {
      if (!y || !equal_ops(x, y, map)) return false;
      for (std::size_t i = 0; i < f_.op(x).results.size(); ++i) map[f_.op(x).results[i].index] = f_.op(y).results[i];
      y = f_.op(y).next;
    }
    return !y;
  }

  /// A hash that is equal for equal ops. Regions are left out: their values have different ids even in equal ops.
  std::size_t hash(OpId id) const {
    const ir::OpData& op = f_.op(id);
    std::size_t h = static_cast<std::size_t>(op.kind);
    if (ir::info(op.kind).has(ir::kCommutative)) {
      mix(h, std::min(op.operands[0], op.operands[1]).index);
      mix(h, std::max(op.operands[0], op.operands[1]).index);
    } else {
      for (ValueId v : op.operands) mix(h, v.index);
    }
    for (ValueId v : op.results) mix(h, f_.type(v).key()), mix(h, f_.layout_id(v).index);
    for (const ir::Attr& a : op.attrs) {
      mix(h, static_cast<std::uint64_t>(a.name));
      mix(h, static_cast<std::uint64_t>(a.number));
      for (std::int64_t x : a.list) mix(h, static_cast<std::uint64_t>(x));
      mix(h, std::hash<std::string>{}(a.text));
    }
    return h;
  }

  /// Whether the op itself may write: those in its regions begin epochs of their own. Volatile loads count: another program may write between
  /// two of them.
  bool may_write(OpId id) const { return ir::info(f_.kind(id)).has(ir::kWrites) || f_.attr(id, ir::AttrName::is_volatile) != 0; }

  /// An op of the table that computes the same values, or none.
  OpId known(OpId id, std::size_t h, MemoryState state) const {
    const bool is_load = f_.kind(id) == OpKind::load_;
    const auto [first, last] = table_.equal_range(h);
    for (auto it = first; it != last; ++it)
      if ((!is_load || states_[it->second.index] == state) && equal_ops(it->second, id, {})) return it->second;
    return {};
  }

  void visit(BlockId b) {
    std::vector<std::unordered_multimap<std::size_t, OpId>::iterator> scope;  // the table's entries of this block
    for (OpId id : f_.ops(b)) {
      const ir::OpInfo& info = ir::info(f_.kind(id));
      if (info.has(ir::kTerminator)) break;
      const MemoryState state{b, epoch_};
      const bool is_plain_load = f_.kind(id) == OpKind::load_ && f_.attr(id, ir::AttrName::is_volatile) == 0;
      if (info.has(ir::kPure) || is_plain_load) {
        const std::size_t h = hash(id);
        if (const OpId same = known(id, h, state)) {
          rw_.replace(id, std::vector<ValueId>(f_.op(same).results));
          continue;
        }
        states_[id.index] = state;
        scope.push_back(table_.emplace(h, id));
      }
      if (ir::combines(f_.kind(id))) {
        // A combine region depends only on its arguments: it must not use values from outside.
        std::unordered_multimap<std::size_t, OpId> outside;
        std::swap(outside, table_);
        visit(f_.region(id));
        std::swap(outside, table_);
      } else {
        for (BlockId r : std::vector<BlockId>(f_.op(id).regions)) visit(r);
      }
      if (may_write(id)) ++epoch_;
    }
    for (auto it : scope) table_.erase(it);
  }

  Rewriter rw_;
  const Function& f_;
  std::unordered_multimap<std::size_t, OpId> table_;
  std::vector<MemoryState> states_;  // indexed by op, for ops in the table
  std::uint32_t epoch_ = 0;
};

}  // namespace

bool cse(Function& f, const PassContext&) { return Merger(f).run(); }

}  // namespace tilewright::passes
