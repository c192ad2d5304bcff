// With m = max(x s), x s - m is 0 where x s is the maximum, and exact near it. fma(x, s, -m) would give the rounding error of m there:
// large for large products, and different from the value in a second loop where the product has two uses and is not contracted.
#include "passes/combine/chosen_products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/combine/reductions.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// A value, and whether it was chosen by a maximum or minimum.
using Visit = std::pair<ValueId, bool>;

/// Adds the values from which v is taken by nothing but sums, choices and changes of shape.
void add_sources(const Function& f, Visit visit, std::vector<Visit>& to) {
  const auto [v, is_chosen] = visit;
  const ir::ValueData& value = f.value(v);
  const auto add_carried = [&](OpId loop, int number) {
    const auto& operands = f.op(loop).operands;
    const int initial = static_cast<int>(operands.size() - f.op(loop).results.size()) + number;
    to.emplace_back(operands[static_cast<std::size_t>(initial)], is_chosen);
    to.emplace_back(f.operand(f.terminator(f.region(loop)), number), is_chosen);
  };
  if (!value.op) {
    const OpId loop = value.block ? f.block(value.block).parent : OpId{};
    if (loop && f.kind(loop) == OpKind::for_ && value.number > 0) add_carried(loop, static_cast<int>(value.number) - 1);
    return;
  }
  switch (f.kind(value.op)) {
    case OpKind::for_: return add_carried(value.op, static_cast<int>(value.number));
    case OpKind::reshape_:
    case OpKind::broadcast_:
    case OpKind::permute_:
    case OpKind::neg_: to.emplace_back(f.operand(value.op, 0), is_chosen); return;
    case OpKind::select_:
      for (int i : {1, 2}) to.emplace_back(f.operand(value.op, i), is_chosen);
      return;
    case OpKind::add_:
    case OpKind::sub_:
      for (int i : {0, 1}) to.emplace_back(f.operand(value.op, i), is_chosen);
      return;
    case OpKind::maximum_:
    case OpKind::fmax_:
    case OpKind::minimum_:
    case OpKind::fmin_:
      for (int i : {0, 1}) to.emplace_back(f.operand(value.op, i), true);
      return;
    case OpKind::reduce_:
      if (reduction_by(f, v, {OpKind::maximum_, OpKind::fmax_, OpKind::minimum_, OpKind::fmin_}))
        to.emplace_back(f.operand(value.op, 0), true);
      return;
    default: return;
  }
}

}  // namespace

bool is_chosen_among_products(const Function& f, ValueId v, int rank) {
  constexpr std::size_t kMostVisits = 64;
  std::vector<Visit> visits{{v, false}};
  for (std::size_t next = 0; next < visits.size() && next < kMostVisits; ++next) {
    const Visit visit = visits[next];
    if (visit.second && f.type(visit.first).rank() == rank && f.defined_by(visit.first, OpKind::mul_)) return true;
    std::vector<Visit> sources;
    add_sources(f, visit, sources);
    for (const Visit& s : sources)
      if (std::find(visits.begin(), visits.end(), s) == visits.end()) visits.push_back(s);
  }
  return false;
}

bool may_cancel(const Function& f, ValueId v, ValueId product, bool is_sum) {
  constexpr std::size_t kMostVisits = 64;
  std::vector<std::pair<ValueId, bool>> visits{{v, false}};  // values, and whether their negatives count
  const auto visit = [&](ValueId x, bool is_negative) {
    if (std::pair next(x, is_negative); std::find(visits.begin(), visits.end(), next) == visits.end()) visits.push_back(next);
  };
  for (std::size_t next = 0; next < visits.size() && next < kMostVisits; ++next) {
    const auto [x, is_negative] = visits[next];
    if (x == product && is_negative == is_sum) return true;
    const OpId id = f.value(x).op;
    if (!id) continue;
    const auto& operands = f.op(id).operands;
    switch (f.kind(id)) {
      case OpKind::neg_: visit(operands[0], !is_negative); break;
      case OpKind::abs_:
        for (const bool sign : {false, true}) visit(operands[0], sign);
        break;
      case OpKind::floor_:
      case OpKind::ceil_:
      case OpKind::round_:
      case OpKind::rint_:
      case OpKind::trunc_: visit(operands[0], is_negative); break;
      case OpKind::select_:
        for (int i : {1, 2}) visit(operands[static_cast<std::size_t>(i)], is_negative);
        break;
      case OpKind::maximum_:
      case OpKind::fmax_:
      case OpKind::minimum_:
      case OpKind::fmin_:
        for (int i : {0, 1}) visit(operands[static_cast<std::size_t>(i)], is_negative);
        break;
      default: break;
    }
  }
  return false;
}

}  // namespace tilewright::passes
