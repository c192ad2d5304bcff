// Greedy reduction: makes small edits one after another and keeps each one after which the function still fails.
#include "passes/debug/test_case_reducer.h"

#include <algorithm>
#include <span>
#include <vector>

#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/verifier.h"

namespace tilewright::passes {

using namespace ir;

namespace {

bool is_terminator(const Function& f, OpId id) { return info(f.kind(id)).has(kTerminator); }
bool has_results_in_use(const Function& f, OpId id) {
  return std::any_of(f.op(id).results.begin(), f.op(id).results.end(), [&](ValueId r) { return f.has_uses(r); });
}
/// Whether the op, or an op nested in it, has an effect besides its results.
bool has_effect(const Function& f, OpId id) {
  const OpInfo& row = info(f.kind(id));
  if (f.op(id).regions.empty()) return !row.has(kPure) && (!row.has(kReads) || row.has(kWrites));
  for (BlockId b : f.op(id).regions)
    for (OpId inner : f.ops(b))
      if (!is_terminator(f, inner) && has_effect(f, inner)) return true;
  return false;
}
/// Every op, last ones first: removing an op near the outputs makes most other ops dead.
std::vector<OpId> last_first(const Function& f) {
  std::vector<OpId> ids;
  f.walk([&](OpId id) { ids.push_back(id); });
  std::reverse(ids.begin(), ids.end());
  return ids;
}

// ---- edits of one op: each changes the function and returns true, or returns false where it does not apply ----

bool results_to_zero(Function& f, OpId id) {
  if (f.kind(id) == OpKind::constant_) return false;
  Rewriter r(f);
  r.at(id);
  std::vector<ValueId> zeros;
  for (ValueId v : f.op(id).results) {
    if (f.type(v).is_pointer()) return false;
    zeros.push_back(r.constant_bits(f.type(v), 0));
  }
  r.replace(id, zeros);
  return true;
}

/// Replaces the results by the operands from the i-th on.
bool results_to_operands(Function& f, OpId id, std::size_t i) {
  const OpData& op = f.op(id);
  const std::size_t n = op.results.size();
  if (n == 0 || i + n > op.operands.size()) return false;
  const std::vector<ValueId> values(op.operands.begin() + static_cast<std::ptrdiff_t>(i),
                                    op.operands.begin() + static_cast<std::ptrdiff_t>(i + n));
  for (std::size_t k = 0; k < n; ++k)
    if (f.type(values[k]) != f.type(op.results[k])) return false;
  Rewriter(f).replace(id, values);
  return true;
}

/// Simplifies control flow: a loop to no iteration, one iteration, or two from 0; a branch to one of its sides.
bool simplify_control(Function& f, OpId id, int how) {
  const std::vector<ValueId> operands = f.op(id).operands;
  Rewriter r(f);
  switch (f.kind(id)) {
    case OpKind::for_: {
      const std::span init = std::span(operands).subspan(3);
      if (how == 0) return r.replace(id, init), true;
      if (how == 1) {
        std::vector<ValueId> values{operands[0]};
        values.insert(values.end(), init.begin(), init.end());
        return r.replace(id, r.inline_block(f.region(id), values, id)), true;
      }
      r.at(id);
      constexpr std::uint64_t kSimple[] = {0, 2, 1};
      for (int i = 0; i < 3; ++i)
        if (f.constant_bits(operands[i]) != kSimple[i])
          r.set_operand(id, i, r.constant(f.type(operands[i]), static_cast<std::int64_t>(kSimple[i])));
      return r.changed();
    }
    case OpKind::if_:
      if (how > 1) return false;
      return r.replace(id, r.inline_block(f.region(id, how), {}, id)), true;
    case OpKind::while_:
      if (how == 0) return r.replace(id, operands), true;
      return false;
    default: return false;
  }
}

/// Replaces a loop-carried value of a for that is not used after the loop by its initial value.
bool drop_carried(Function& f, OpId id, int i) {
  if (f.kind(id) != OpKind::for_ || i >= static_cast<int>(f.op(id).results.size()) || f.has_uses(f.result(id, i))) return false;
  const BlockId body = f.region(id);
  Rewriter r(f);
  r.replace_uses(f.arg(body, i + 1), f.operand(id, i + 3));
  r.erase_operand(f.terminator(body), i);
  r.erase_arg(body, i + 1);
  r.erase_operand(id, i + 3);
  r.erase_result(id, i);
  return true;
}

/// Removes the last operand of the op if it is optional.
bool drop_last_operand(Function& f, OpId id) {
  const std::vector<OperandInfo>& row = info(f.kind(id)).operands;
  const std::size_t n = f.op(id).operands.size();
  if (n == 0 || n > row.size() || !row[n - 1].optional) return false;
  Rewriter(f).erase_operand(id, static_cast<int>(n) - 1);
  return true;
}

/// Removes the optional attributes of the op.
bool drop_attributes(Function& f, OpId id) {
  const OpInfo& row = info(f.kind(id));
  if (row.regions > 0) return false;
  std::vector<Attr> required;
  for (const Attr& a : f.op(id).attrs)
    for (const AttrInfo& i : row.attributes)
      if (i.name == a.name && i.required) required.push_back(a);
  if (required.size() == f.op(id).attrs.size()) return false;
  std::vector<Type> types;
  for (ValueId r : f.op(id).results) types.push_back(f.type(r));
  const OpId plain = f.create_op(f.kind(id), f.op(id).loc, std::vector(f.op(id).operands), types, required, f.op(id).parent, id);
  Rewriter(f).replace(id, std::vector(f.op(plain).results));
  return true;
}

class TestCaseReducer {
 public:
  TestCaseReducer(const Function& f, const std::function<bool(const Function&)>& still_fails, const ReduceOptions& options)
      : best_(f), still_fails_(still_fails), options_(options), attempts_(options.max_attempts) {}

  Function run() {
    // Dead code is erased with every edit, unless the failure depends on it, as an access outside of a buffer may.
    clean_ = true;
    clean_ = attempt([](Function&) { return true; });
    while (round() && attempts_ > 0) {
    }
    return std::move(best_);
  }

 private:
  /// Whether an edited copy still fails; if so, it becomes the best function so far.
  template <class Edit>
  bool attempt(Edit edit) {
    if (attempts_ <= 0) return false;
    Function candidate = best_;
    if (!edit(candidate)) return false;
    if (clean_) remove_dead_code(candidate);
    if (!verify(candidate).empty()) return false;
    --attempts_;
    if (!still_fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool round() {
    bool changed = in_chunks(
        16, [&](OpId id) { return has_effect(best_, id); },
        [](Function& f, OpId id) {
          if (has_results_in_use(f, id)) return false;
          f.erase(id);
          return true;
        });
    changed |= in_chunks(64, [](OpId) { return true; }, results_to_zero);
    for (OpId id : last_first(best_)) changed |= reduce_op(id);
    return changed | parameters();
  }

  /// Applies the edit to many ops at once, then to smaller and smaller groups.
  template <class Wanted, class Edit>
  bool in_chunks(std::size_t most, Wanted wanted, Edit edit) {
    bool changed = false;
    for (std::size_t chunk = most; chunk >= 1; chunk /= 4) {
      std::vector<OpId> ids = last_first(best_);
      std::erase_if(ids, [&](OpId id) { return is_terminator(best_, id) || !wanted(id); });
      for (std::size_t i = 0; i < ids.size(); i += chunk)
        changed |= attempt([&](Function& f) {
          bool edited = false;
          for (std::size_t k = i; k < std::min(i + chunk, ids.size()); ++k)
            if (!f.erased(ids[k])) edited |= edit(f, ids[k]);
          return edited;
        });
    }
    return changed;
  }

  bool reduce_op(OpId id) {
    // Ids of ops stay valid after edits: the edited copy that is kept has the same ids.
    bool changed = false;
    const auto edit = [&](auto&& e) {
      if (!best_.erased(id) && !is_terminator(best_, id)) changed |= attempt(e);
    };
    for (int how = 0; how < 3; ++how) edit([&](Function& f) { return simplify_control(f, id, how); });
    for (std::size_t i = 0; i < 4; ++i) edit([&](Function& f) { return results_to_operands(f, id, i); });
    for (int i = 7; i >= 0; --i) edit([&](Function& f) { return drop_carried(f, id, i); });
    for (int i = 0; i < 2; ++i) edit([&](Function& f) { return drop_last_operand(f, id); });
    edit([&](Function& f) { return drop_attributes(f, id); });
    return changed;
  }

  /// Replaces scalar parameters by constants and erases unused parameters.
  bool parameters() {
    bool changed = false;
    for (int i = static_cast<int>(best_.params.size()) - 1; i >= 0; --i) {
      if (const auto bits = options_.scalars.find(best_.params[i].name); bits != options_.scalars.end())
        changed |= attempt([&](Function& f) {
          const ValueId v = f.arg(f.body(), i);
          if (!f.has_uses(v)) return false;
          Rewriter r(f);
          r.at_start(f.body());
          r.replace_uses(v, r.constant_bits(f.type(v), bits->second));
          return true;
        });
      changed |= attempt([&](Function& f) {
        if (f.has_uses(f.arg(f.body(), i))) return false;
        f.erase_arg(f.body(), i);
        return true;
      });
    }
    return changed;
  }

  Function best_;
  const std::function<bool(const Function&)>& still_fails_;
  const ReduceOptions& options_;
  int attempts_;
  bool clean_ = false;  // every edit erases dead code
};

}  // namespace

void remove_dead_code(Function& f) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (OpId id : last_first(f)) {
      if (f.erased(id) || is_terminator(f, id) || has_results_in_use(f, id) || has_effect(f, id)) continue;
      f.erase(id);
      changed = true;
    }
  }
}

Function reduce_test_case(const Function& f, const std::function<bool(const Function&)>& still_fails, const ReduceOptions& options) {
  return TestCaseReducer(f, still_fails, options).run();
}

}  // namespace tilewright::passes
