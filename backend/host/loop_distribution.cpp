// Groups the ops of a block, and cuts groups at their longest chains.
#include "backend/host/loop_distribution.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

namespace {

/// Cycles from operands to result in vector registers. Those of a Zen 3 and of a Golden Cove differ by one or two.
int latency(OpKind kind, const Type& t) {
  switch (kind) {
    case OpKind::load_:
    case OpKind::store_: return 0;  // no chain waits for an address
    case OpKind::add_:
    case OpKind::sub_: return t.is_float() ? 4 : 1;
    case OpKind::mul_:
    case OpKind::fma_:
    case OpKind::reduce_:
    case OpKind::cast_:
    case OpKind::ceil_:
    case OpKind::floor_:
    case OpKind::rint_:
    case OpKind::trunc_: return 4;
    case OpKind::round_: return 12;
    case OpKind::div_:
    case OpKind::div_rn_:
    case OpKind::rem_:
    case OpKind::sqrt_: return 12;
    case OpKind::bitcast_: return 0;
    default: return 1;
  }
}

/// The longest chain of one nest, in cycles. Of 50 to 150, 60 to 90 are the fastest for chains of exp, log, tanh, erf, pow and sin: 1.5 to 4.5
/// times as fast as in one nest (AMD EPYC, Zen 3, AVX2, 2026-11-29).
constexpr int kLongestChain = 70;

/// A tile of fewer vectors has too few chains to compute at the same time.
constexpr std::int64_t kFewVectors = 8;

}  // namespace

LoopDistribution::LoopDistribution(const Function& f, const EvaluationPlan& plan, const std::vector<OpId>& ops, int lanes)
    : f_(f), plan_(plan) {
  find_groups(ops, lanes);
  for (auto& [key, group] : groups_) cut(group);
}

int LoopDistribution::part(OpId id) const {
  const auto at = positions_.find(id.index);
  return at == positions_.end() ? 0 : at->second.part;
}

bool LoopDistribution::is_item(OpId id) const {
  const auto& op = f_.op(id);
  if (op.kind == OpKind::store_) return !f_.type(op.operands[0]).is_scalar();
  if (op.kind == OpKind::reduce_) return !plan_.is_alias(id);
  return !op.results.empty() && plan_.schedule(op.results[0]) == Schedule::fused;
}

void LoopDistribution::find_groups(const std::vector<OpId>& ops, int lanes) {
  // The number of nests that come before the one that makes a value.
  std::unordered_map<std::uint32_t, int> nests_before;
  for (OpId id : ops) {
    const auto& op = f_.op(id);
    const bool has_shape_of_operand = op.kind == OpKind::store_ || op.kind == OpKind::reduce_;
    if (!has_shape_of_operand && op.results.empty()) continue;
    const auto extents = squeezed(f_.type(has_shape_of_operand ? op.operands[0] : op.results[0]));
    int before = 0;
    for (ValueId x : op.operands) {
      const ValueId source = plan_.resolve(x).value;
      const auto made = nests_before.find(source.index);
      if (made == nests_before.end()) continue;
      const OpId maker = f_.value(source).op;
      const bool may_share = is_item(maker) && f_.kind(maker) != OpKind::reduce_ && squeezed(f_.type(source)) == extents;
      before = std::max(before, made->second + (may_share ? 0 : 1));
    }
    for (ValueId r : op.results) nests_before[r.index] = before;
    const std::int64_t elements = std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
    if (!is_item(id) || elements < kFewVectors * lanes) continue;
    Group& group = groups_[{extents, before}];
    positions_[id.index] = {&group, static_cast<int>(group.ops.size()), 0};
    group.ops.push_back(id);
  }
}

int LoopDistribution::position(const Group& group, ValueId operand) const {
  const OpId maker = f_.value(plan_.resolve(operand).value).op;
  const auto at = maker ? positions_.find(maker.index) : positions_.end();
  return at == positions_.end() || at->second.group != &group ? -1 : at->second.position;
}

void LoopDistribution::count_crossing(Group& group) {
  std::vector<int> last_use(group.ops.size(), -1);
  for (std::size_t i = 0; i < group.ops.size(); ++i)
    for (ValueId x : f_.op(group.ops[i]).operands)
      if (const int made = position(group, x); made >= 0) last_use[static_cast<std::size_t>(made)] = static_cast<int>(i);
  group.crossing.assign(group.ops.size() + 1, 0);
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    if (last_use[i] < 0) continue;
    ++group.crossing[i + 1];
    --group.crossing[static_cast<std::size_t>(last_use[i]) + 1];
  }
  for (std::size_t i = 1; i < group.crossing.size(); ++i) group.crossing[i] += group.crossing[i - 1];
}

void LoopDistribution::cut(Group& group) {
  count_crossing(group);
  const int count = static_cast<int>(group.ops.size());
  std::vector<int> depth(group.ops.size());  // the cycles of the longest chain since the last cut that ends with this op
  int part = 0;
  for (int begin = 0; begin < count;) {
    int longest = 0, best = -1, i = begin;
    for (; i < count; ++i) {
      // No part is shorter than half of the limit, so that few ops are looked at again after a cut.
      if (2 * longest >= kLongestChain && (best < 0 || group.crossing[i] <= group.crossing[best])) best = i;
      const auto& op = f_.op(group.ops[i]);
      int before = 0;
      for (ValueId x : op.operands)
        if (const int made = position(group, x); made >= begin) before = std::max(before, depth[made]);
      depth[i] = before + latency(op.kind, f_.type(op.operands[0]));
      longest = std::max(longest, depth[i]);
      if (longest > kLongestChain && best >= 0) break;
      positions_.at(group.ops[i].index).part = part;
    }
    if (i == count) return;
    // If the processor has enough to do beside the chain, it does not wait for it: the ops stay in one nest.
    const bool is_wide = i - begin >= 2 * longest;
    if (!is_wide) part = parts_++;
    begin = best;
  }
}

}  // namespace tilewright::backend::host
