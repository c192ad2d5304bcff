// Greedy shrinking: one small edit after another, each kept if the program still fails.
#include "tests/fuzz/shrinker.h"

#include <algorithm>
#include <vector>

#include "tests/fuzz/differential.h"
#include "tileir/builder.h"
#include "tileir/verifier.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

bool is_terminator(const Function& f, OpId id) { return info(f.kind(id)).has(kTerminator); }
bool has_results_in_use(const Function& f, OpId id) {
  return std::any_of(f.op(id).results.begin(), f.op(id).results.end(), [&](ValueId r) { return f.has_uses(r); });
}
bool writes(const Function& f, OpId id) {
  if (info(f.kind(id)).has(kWrites)) return true;
  for (BlockId b : f.op(id).regions)
    for (OpId inner : f.ops(b))
      if (writes(f, inner)) return true;
  return false;
}
std::vector<OpId> all_ops_of(const Function& f) {
  std::vector<OpId> ids;
  f.walk([&](OpId id) { ids.push_back(id); });
  return ids;
}

/// Moves the ops of a block (but its terminator) before `where`, its arguments becoming `values`. Returns the terminator's operands.
std::vector<ValueId> inline_block(Function& f, BlockId b, std::span<const ValueId> values, OpId where) {
  for (std::size_t i = 0; i < values.size(); ++i) f.replace_uses(f.arg(b, static_cast<int>(i)), values[i]);
  const OpId end = f.terminator(b);
  std::vector<OpId> moved;
  for (OpId id : f.ops(b))
    if (id != end) moved.push_back(id);
  for (OpId id : moved) f.move_before(id, where);
  const std::vector<ValueId> operands = f.op(end).operands;
  f.erase(end);
  return operands;
}

void replace(Function& f, OpId id, std::span<const ValueId> values) {
  for (std::size_t i = 0; i < values.size(); ++i) f.replace_uses(f.op(id).results[i], values[i]);
  f.erase(id);
}

// ---- edits of one op: each changes the function and returns true, or returns false where it does not apply ----

bool results_to_zero(Function& f, OpId id) {
  if (f.kind(id) == OpKind::constant_) return false;
  Builder b(f);
  b.before(id);
  std::vector<ValueId> zeros;
  for (ValueId r : f.op(id).results) {
    if (f.type(r).is_pointer()) return false;
    zeros.push_back(b.constant_bits(f.type(r), 0));
  }
  replace(f, id, zeros);
  return true;
}

bool result_to_operand(Function& f, OpId id, std::size_t i) {
  if (f.op(id).results.size() != 1 || i >= f.op(id).operands.size()) return false;
  const ValueId v = f.op(id).operands[i];
  if (f.type(v) != f.type(f.result(id))) return false;
  replace(f, id, std::span(&v, 1));
  return true;
}

/// Loops: to no trip, one trip, or a count of two from 0. Branches: to one side.
bool simplify_control(Function& f, OpId id, int how) {
  const std::vector<ValueId> operands = f.op(id).operands;
  switch (f.kind(id)) {
    case OpKind::for_: {
      const std::span init = std::span(operands).subspan(3);
      if (how == 0) return replace(f, id, init), true;
      if (how == 1) {
        std::vector<ValueId> values{operands[0]};
        values.insert(values.end(), init.begin(), init.end());
        replace(f, id, inline_block(f, f.region(id), values, id));
        return true;
      }
      Builder b(f);
      b.before(id);
      const std::int64_t simple[] = {0, 2, 1};
      bool changed = false;
      for (int i = 0; i < 3; ++i) {
        const auto now = f.constant_bits(operands[i]);
        if (now && *now == static_cast<std::uint64_t>(simple[i])) continue;
        f.set_operand(id, i, b.constant(f.type(operands[i]), simple[i]));
        changed = true;
      }
      return changed;
    }
    case OpKind::if_:
      if (how > 1) return false;
      replace(f, id, inline_block(f, f.region(id, how), {}, id));
      return true;
    case OpKind::while_:
      if (how == 0) return replace(f, id, operands), true;
      return false;
    default: return false;
  }
}

/// A for's carried value that is not used after it becomes what it was before it.
bool drop_carried(Function& f, OpId id, int i) {
  if (f.kind(id) != OpKind::for_ || i >= static_cast<int>(f.op(id).results.size()) || f.has_uses(f.result(id, i))) return false;
  const BlockId body = f.region(id);
  f.replace_uses(f.arg(body, i + 1), f.operand(id, i + 3));
  f.erase_arg(body, i + 1);
  f.erase_operand(f.terminator(body), i);
  f.erase_operand(id, i + 3);
  f.erase_result(id, i);
  return true;
}

/// The same op without its last optional operand, or without its optional attributes.
bool drop_optional(Function& f, OpId id, bool operand) {
  const OpInfo& row = info(f.kind(id));
  const auto& operands = f.op(id).operands;
  if (operand) {
    if (operands.empty() || operands.size() > row.operands.size() || !row.operands[operands.size() - 1].optional) return false;
    f.erase_operand(id, static_cast<int>(operands.size()) - 1);
    return true;
  }
  if (row.regions > 0) return false;
  std::vector<Attr> required;
  for (const Attr& a : f.op(id).attrs)
    for (const AttrInfo& i : row.attributes)
      if (i.name == a.name && i.required) required.push_back(a);
  if (required.size() == f.op(id).attrs.size()) return false;
  std::vector<Type> types;
  for (ValueId r : f.op(id).results) types.push_back(f.type(r));
  const OpId plain = f.create_op(f.kind(id), f.op(id).loc, std::vector(operands), types, required, f.op(id).parent, id);
  replace(f, id, std::vector(f.op(plain).results));
  return true;
}

class Shrinker {
 public:
  Shrinker(const Program& p, const std::function<bool(const Program&)>& fails, int attempts)
      : best_(p), fails_(fails), attempts_(attempts), strict_(check_meaning(p, true).empty()) {}

  Program run() {
    // Unless the failure lies in dead code, as an access outside of a buffer may.
    clean_ = true;
    clean_ = attempt([](Program&) { return true; });
    while (round() && attempts_ > 0) {
    }
    return std::move(best_);
  }

 private:
  /// Whether an edited copy still fails; then it is the best so far.
  template <class Edit>
  bool attempt(Edit edit) {
    if (attempts_ <= 0) return false;
    Program candidate = best_;
    if (!edit(candidate)) return false;
    if (clean_) remove_dead_code(candidate.function);
    if (!verify(candidate.function).empty() || !check_meaning(candidate, strict_).empty()) return false;
    --attempts_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool round() {
    bool changed = attempt([](Program& p) { return std::exchange(p.grid, {1, 1, 1}) != p.grid; });
    for (int axis = 0; axis < 3; ++axis) changed |= attempt([&](Program& p) { return std::exchange(p.grid[axis], 1) != 1; });
    changed |= stores();
    std::vector<OpId> ids = all_ops_of(best_.function);
    std::reverse(ids.begin(), ids.end());  // what is near the outputs hides the most
    for (OpId id : ids) changed |= shrink_op(id);
    return changed | parameters();
  }

  /// All but one store, all but some, then one by one.
  bool stores() {
    bool changed = false;
    for (std::size_t chunk = 16; chunk >= 1; chunk /= 2) {
      std::vector<OpId> ids;
      best_.function.walk([&](OpId id) {
        if (best_.function.kind(id) == OpKind::store_) ids.push_back(id);
      });
      for (std::size_t i = 0; i < ids.size(); i += chunk)
        changed |= attempt([&](Program& p) {
          for (std::size_t k = i; k < std::min(i + chunk, ids.size()); ++k) p.function.erase(ids[k]);
          return true;
        });
    }
    return changed;
  }

  bool shrink_op(OpId id) {
    // Ids of ops outlive edits: an edited copy that was kept has the same ones.
    const auto present = [&] { return !best_.function.erased(id) && !is_terminator(best_.function, id); };
    bool changed = false;
    const auto edit = [&](auto&& e) {
      if (present()) changed |= attempt([&](Program& p) { return e(p.function); });
    };
    edit([&](Function& f) { return results_to_zero(f, id); });
    for (int how = 0; how < 3; ++how) edit([&](Function& f) { return simplify_control(f, id, how); });
    for (std::size_t i = 0; i < 4; ++i) edit([&](Function& f) { return result_to_operand(f, id, i); });
    for (int i = 7; i >= 0; --i) edit([&](Function& f) { return drop_carried(f, id, i); });
    for (bool operand : {true, true, false}) edit([&](Function& f) { return drop_optional(f, id, operand); });
    return changed;
  }

  /// Scalars become constants; what is unused goes.
  bool parameters() {
    bool changed = false;
    for (int i = static_cast<int>(best_.arguments.size()) - 1; i >= 0; --i) {
      if (!best_.arguments[i].is_buffer)
        changed |= attempt([&](Program& p) {
          const ValueId v = p.function.arg(p.function.body(), i);
          if (!p.function.has_uses(v)) return false;
          Builder b(p.function);
          b.at_start(p.function.body());
          p.function.replace_uses(v, b.constant_bits(p.function.type(v), p.arguments[i].word));
          return true;
        });
      changed |= attempt([&](Program& p) {
        if (p.function.has_uses(p.function.arg(p.function.body(), i))) return false;
        if (std::any_of(p.arguments.begin(), p.arguments.end(), [&](const Argument& a) { return a.alias == i; })) return false;
        p.function.erase_arg(p.function.body(), i);
        p.arguments.erase(p.arguments.begin() + i);
        for (Argument& a : p.arguments)
          if (a.alias > i) --a.alias;
        return true;
      });
    }
    return changed;
  }

  Program best_;
  const std::function<bool(const Program&)>& fails_;
  int attempts_;
  bool strict_;         // lanes of one store do not meet, and shall not
  bool clean_ = false;  // dead code goes with every edit
};

}  // namespace

void remove_dead_code(Function& f) {
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<OpId> ids = all_ops_of(f);
    std::reverse(ids.begin(), ids.end());
    for (OpId id : ids) {
      if (f.erased(id) || is_terminator(f, id) || has_results_in_use(f, id) || writes(f, id)) continue;
      f.erase(id);
      changed = true;
    }
  }
}

Program shrink(const Program& p, const std::function<bool(const Program&)>& fails, int max_attempts) {
  return Shrinker(p, fails, max_attempts).run();
}

}  // namespace tilewright::fuzz
