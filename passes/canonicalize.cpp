// Canonicalisation: folds constants, applies exact algebra and removes dead code by rules (passes/canonicalize/) until no rule applies.
//
// Input, output: any IR. Numerics do not change. See tests/files/passes/canonicalize/.
#include "passes/canonicalize/rules.h"

#include "passes/pass.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

/// Ops to visit, each at most once.
class Worklist {
 public:
  void push(OpId id) {
    if (id.index >= queued_.size()) queued_.resize(id.index + 1);
    if (queued_[id.index]) return;
    queued_[id.index] = true;
    stack_.push_back(id);
  }
  bool empty() const { return stack_.empty(); }
  OpId pop() {
    const OpId id = stack_.back();
    stack_.pop_back();
    queued_[id.index] = false;
    return id;
  }

 private:
  std::vector<OpId> stack_;
  std::vector<bool> queued_;
};

bool is_unused(const Function& f, OpId id) {
  for (ValueId v : f.op(id).results)
    if (f.has_uses(v)) return false;
  return true;
}

ValueId simplified(Rewriter& rw, OpId id) {
  using Rule = ValueId (*)(Rewriter&, OpId);
  static constexpr Rule kRules[] = {canonical::fold_constants, canonical::fold_integer, canonical::fold_float,
                                    canonical::fold_choice,    canonical::fold_convert, canonical::fold_shape};
  for (Rule rule : kRules)
    if (const ValueId v = rule(rw, id)) return v;
  return {};
}

void visit(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ir::OpInfo& info = ir::info(f.kind(id));
  if (info.has(ir::kTerminator)) return;
  if (info.has(ir::kPure) && is_unused(f, id)) return rw.erase(id);
  rw.at(id);
  if (info.family == ir::Family::memory || info.family == ir::Family::atomic || f.kind(id) == ir::OpKind::histogram_) {
    canonical::fold_memory(rw, id);
  } else if (info.regions > 0) {
    canonical::fold_control(rw, id);
  } else if (f.kind(id) == ir::OpKind::split_) {
    canonical::fold_split(rw, id);
  } else if (f.kind(id) == ir::OpKind::sort_) {
    canonical::fold_sort(rw, id);
  } else if (info.results == 1) {
    if (const ValueId v = simplified(rw, id)) rw.replace(id, v);
  }
}

void drain(Rewriter& rw, Worklist& work) {
  // Rules shrink the program or move constants to a fixed operand, so each op is visited a few times. Far more visits mean that two rules
  // undo each other.
  std::size_t budget = 1000 + 200 * rw.ir().op_capacity();
  while (!work.empty()) {
    const OpId id = work.pop();
    if (rw.ir().erased(id)) continue;
    TW_CHECK(budget-- > 0, "the rules of canonicalize do not come to an end");
    visit(rw, id);
    for (OpId touched : rw.take_touched())
      if (!rw.ir().erased(touched)) work.push(touched);
  }
}

}  // namespace

bool canonicalize(Function& f, const PassContext&) {
  Rewriter rw(f);
  std::vector<OpId> order;
  f.walk([&](OpId id) { order.push_back(id); });
  Worklist work;
  // Last in, first out: operands are canonical when their users are visited.
  for (auto it = order.rbegin(); it != order.rend(); ++it) work.push(*it);
  do {
    drain(rw, work);
    if (!canonical::remove_dead(rw)) break;
    for (OpId touched : rw.take_touched())
      if (!f.erased(touched)) work.push(touched);
  } while (!work.empty());
  return rw.changed();
}

}  // namespace tilewright::passes
