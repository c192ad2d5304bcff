// Dead code elimination:
//   1. Mark: from ops with effects backwards, through loop-carried values one by one.
//   2. Sweep: erases ops without a mark, and loop-carried values and results of if without a mark.
#include <algorithm>

#include "passes/canonicalize/rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

/// The live ops and values. Each value carried by a for, and each result of an if, is live or dead by itself.
class Liveness {
 public:
  explicit Liveness(const Function& f) : f_(f), ops_(f.op_capacity()), values_(f.value_capacity()) {
    f.walk([&](OpId id) {
      if (has_effect(id)) mark(id);
    });
    while (!pending_.empty()) {
      const ValueId v = pending_.back();
      pending_.pop_back();
      follow(v);
    }
  }
  bool operator()(OpId id) const { return ops_[id.index]; }
  bool operator()(ValueId v) const { return values_[v.index]; }

 private:
  bool has_effect(OpId id) const {
    const OpKind k = f_.kind(id);
    return ir::info(k).has(ir::kWrites) || ir::info(k).has(ir::kSideEffect) || k == OpKind::while_ ||
           (k == OpKind::load_ && f_.attr(id, ir::AttrName::is_volatile) != 0);
  }

  void mark(ValueId v) {
    if (values_[v.index]) return;
    values_[v.index] = true;
    pending_.push_back(v);
  }

  /// A live op makes its enclosing op and its operands live, except for loop-carried values, which are followed one by one.
  void mark(OpId id) {
    if (!id || ops_[id.index]) return;
    ops_[id.index] = true;
    mark(f_.block(f_.op(id).parent).parent);
    const OpKind k = f_.kind(id);
    const auto& operands = f_.op(id).operands;
    const std::size_t always = k == OpKind::for_ ? 3 : operands.size();
    for (std::size_t i = 0; i < always; ++i) mark(operands[i]);
    if (k == OpKind::while_ || ir::combines(k))
      for (BlockId b : f_.op(id).regions)
        for (ValueId v : f_.op(f_.terminator(b)).operands) mark(v);
  }

  void mark_carried(OpId loop, int k) {
    mark(loop);
    mark(f_.result(loop, k));
    mark(f_.arg(f_.region(loop), k + 1));
    mark(f_.operand(loop, k + 3));
    mark(f_.operand(f_.terminator(f_.region(loop)), k));
  }

  void follow(ValueId v) {
    const ir::ValueData& d = f_.value(v);
    const int number = static_cast<int>(d.number);
    if (!d.op) {
      const OpId parent = f_.block(d.block).parent;
      if (!parent) return;
      mark(parent);
      if (f_.kind(parent) == OpKind::for_ && number > 0) mark_carried(parent, number - 1);
    } else if (f_.kind(d.op) == OpKind::for_) {
      mark_carried(d.op, number);
    } else {
      mark(d.op);
      if (f_.kind(d.op) == OpKind::if_)
        for (BlockId b : f_.op(d.op).regions) mark(f_.operand(f_.terminator(b), number));
    }
  }

  const Function& f_;
  std::vector<bool> ops_, values_;
  std::vector<ValueId> pending_;
};

}  // namespace

bool remove_dead(Rewriter& rw) {
  const Function& f = rw.ir();
  const Liveness live(f);
  std::vector<OpId> dead, partly_dead;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    if (ir::info(k).has(ir::kTerminator)) return;
    const OpId parent = f.block(f.op(id).parent).parent;
    if (parent && !live(parent)) return;  // erased together with its parent
    if (!live(id))
      dead.push_back(id);
    else if ((k == OpKind::for_ || k == OpKind::if_) && !std::all_of(f.op(id).results.begin(), f.op(id).results.end(), live))
      partly_dead.push_back(id);
  });
  if (dead.empty() && partly_dead.empty()) return false;
  const auto dead_slots = [&](OpId id) {  // last first, so that erasing does not move the others
    std::vector<int> slots;
    for (int k = static_cast<int>(f.op(id).results.size()) - 1; k >= 0; --k)
      if (!live(f.result(id, k))) slots.push_back(k);
    return slots;
  };
  // Operands of terminators and initial values come first: they may be the only uses of dead ops. Then come dead ops, users before their
  // operands. After that the dead arguments and results have no uses.
  for (OpId id : partly_dead)
    for (int k : dead_slots(id)) {
      for (BlockId b : std::vector<BlockId>(f.op(id).regions)) rw.erase_operand(f.terminator(b), k);
      if (f.kind(id) == OpKind::for_) rw.erase_operand(id, k + 3);
    }
  for (auto it = dead.rbegin(); it != dead.rend(); ++it) rw.erase(*it);
  for (OpId id : partly_dead)
    for (int k : dead_slots(id)) {
      if (f.kind(id) == OpKind::for_) rw.erase_arg(f.region(id), k + 1);
      rw.erase_result(id, k);
    }
  return true;
}

}  // namespace tilewright::passes::canonical
