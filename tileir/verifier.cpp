// Verifies a function in three steps; each relies on the one before:
//   1. links: the pools of ops, blocks and values, and the use lists
//   2. ops: each op by itself
//   3. regions: arguments and terminators against the op that they belong to
#include "tileir/verifier.h"

#include <algorithm>

#include <fmt/format.h>

#include "tileir/bulk_copy_rules.h"
#include "tileir/diagnostics.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"
#include "tileir/product_rules.h"
#include "tileir/role_rules.h"
#include "tileir/type_rules/type_rules.h"

namespace tilewright::ir {

namespace {

class Verifier {
 public:
  explicit Verifier(const Function& f) : f_(f), linked_(f.block_capacity()), visible_(f.value_capacity()) {}

  std::vector<Problem> run() {
    check_links(f_.body(), {});
    if (!problems_.empty()) return std::move(problems_);  // walking an inconsistent function might not terminate
    check_uses();
    check_params();
    check_block(f_.body());
    if (problems_.empty())
      for (const auto& problems : {role_problems(f_), product_problems(f_), tensor_map_problems(f_)})
        for (const auto& [op, text] : problems) report(op, "{}", text);
    if (problems_.empty() && f_.is_distributed()) check_layouts();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  Problem& report(OpId id, fmt::format_string<Args...> format, Args&&... args) {
    const std::string op = id ? fmt::format("{}: ", text(f_.kind(id))) : "";
    const Location where = id ? f_.where(id) : Location{f_.name, 0, 0};
    return problems_.emplace_back(Problem{where, id, op + fmt::format(format, std::forward<Args>(args)...), {}});
  }
  void note(Problem& p, ValueId v, std::string_view name) const {
    if (const Location where = f_.where(v); where.line > 0) p.notes.push_back({where, fmt::format("'{}' defined here", name)});
  }

  // ---- links ----
  void check_links(BlockId b, OpId parent) {
    if (b.index >= f_.block_capacity()) return void(report(parent, "its region does not exist"));
    if (linked_[b.index]) return void(report(parent, "its region is another op's too"));  // or its region encloses it: a cycle
    linked_[b.index] = true;
    const BlockData& block = f_.block(b);
    if (block.parent != parent) report(parent, "its region belongs to another op");
    check_values(parent, block.args, [&](const ValueData& v) { return !v.op && v.block == b; });
    OpId before;
    std::size_t steps = 0;
    for (OpId id = block.first; id; before = id, id = f_.op(id).next) {
      if (id.index >= f_.op_capacity() || ++steps > f_.op_capacity()) return void(report(parent, "the ops of its region form no list"));
      if (f_.op(id).parent != b || f_.op(id).prev != before) return void(report(id, "it is not linked to its neighbours"));
      check_op_links(id);
    }
    if (block.last != before) report(parent, "the ops of its region form no list");
  }

  void check_op_links(OpId id) {
    const OpData& op = f_.op(id);
    for (ValueId v : op.operands)
      if (v.index >= f_.value_capacity()) report(id, "an operand does not exist");
    check_values(id, op.results, [&](const ValueData& v) { return v.op == id; });
    for (BlockId r : op.regions) check_links(r, id);
  }

  template <class Owned>
  void check_values(OpId at, const std::vector<ValueId>& values, Owned&& owned) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i].index >= f_.value_capacity() || !owned(f_.value(values[i])) || f_.value(values[i]).number != i)
        report(at, "value {} of it is not linked to it", i);
  }

  // ---- use lists ----
  void check_uses() {
    std::vector<std::vector<OpId>> users(f_.value_capacity());
    f_.walk([&](OpId id) {
      for (ValueId v : f_.op(id).operands) users[v.index].push_back(id);
    });
    for (std::uint32_t i = 0; i < users.size(); ++i) {
      std::vector<OpId> listed = f_.value(ValueId{i}).users;
      std::sort(listed.begin(), listed.end());
      std::sort(users[i].begin(), users[i].end());
      if (listed != users[i]) report(f_.value(ValueId{i}).op, "the uses of a value are not those listed");
    }
  }

  // ---- layouts ----
  void check_layouts() {
    f_.walk([&](OpId id) {
      if (const std::string problem = layout_problem(f_, id); !problem.empty()) report(id, "{}", problem);
    });
  }

  // ---- ops ----
  void check_params() {
    const std::vector<ValueId>& args = f_.block(f_.body()).args;
    if (args.size() != f_.params.size()) report({}, "{} parameters are described; there are {}", f_.params.size(), args.size());
    for (std::size_t i = 0; i < std::min(args.size(), f_.params.size()); ++i) {
      const Param& p = f_.params[i];
      const Type t = f_.type(args[i]);
      if (!t.is_scalar() || t.is_mbarrier() || t.is_tensor_map()) report({}, "parameter '{}' is {}; it must be a scalar", p.name, text(t));
      if (p.positive && !t.is_integer()) report({}, "parameter '{}' is {}; only an integer is positive", p.name, text(t));
      if (p.divisible_by < 1) report({}, "parameter '{}' is divisible by {}; expected a positive number", p.name, p.divisible_by);
    }
  }

  void check_block(BlockId b) {
    const std::size_t outer = order_.size();
    for (ValueId a : f_.block(b).args) define(a);
    for (OpId id : f_.ops(b)) {
      check_op(id);
      for (BlockId r : f_.op(id).regions) check_block(r);
      check_regions(id);
      for (ValueId r : f_.op(id).results) define(r);
    }
    for (; order_.size() > outer; order_.pop_back()) visible_[order_.back().index] = false;
  }
  void define(ValueId v) {
    visible_[v.index] = true;
    order_.push_back(v);
  }

  void check_op(OpId id) {
    const OpData& op = f_.op(id);
    const OpInfo& row = info(op.kind);
    for (std::size_t i = 0; i < op.operands.size(); ++i)
      if (!visible_[op.operands[i].index]) {
        const std::string_view name = row.operand_name(static_cast<int>(i));
        note(report(id, "'{}' is used where it is not defined", name), op.operands[i], name);
      }
    if (row.has(kTerminator)) check_terminator_place(id);
    if (row.regions != kAny && static_cast<int>(op.regions.size()) != row.regions)
      report(id, "{} regions; expected {}", op.regions.size(), row.regions);
    check_rule(id);
  }

  void check_terminator_place(OpId id) {
    if (f_.op(id).parent == f_.body())
      report(id, "it ends a region, and there is none here");
    else if (f_.op(id).next)
      report(id, "it must be the last op of its region");
  }

  void check_rule(OpId id) {
    const OpData& op = f_.op(id);
    const std::vector<Type> operands = types(op.operands), results = types(op.results);
    const RuleResult r = infer({op.kind, operands, op.attrs, results});
    if (!r.ok()) {
      // The rule's message already names the op.
      Problem& p = problems_.emplace_back(Problem{f_.where(id), id, r.error, {}});
      if (r.note_operand >= 0) note(p, op.operands[r.note_operand], info(op.kind).operand_name(r.note_operand));
    } else if (results.size() != r.types.size()) {
      report(id, "{} results; it has {}", results.size(), r.types.size());
    }
  }

  std::vector<Type> types(const std::vector<ValueId>& values) const {
    std::vector<Type> out;
    out.reserve(values.size());
    for (ValueId v : values) out.push_back(f_.type(v));
    return out;
  }

  // ---- regions ----
  void check_regions(OpId id) {
    const OpData& op = f_.op(id);
    if (info(op.kind).regions != kAny && static_cast<int>(op.regions.size()) != info(op.kind).regions) return;  // reported
    if (static_cast<int>(op.operands.size()) < info(op.kind).min_operands()) return;                            // reported
    const std::vector<Type> operands = types(op.operands), results = types(op.results);
    switch (op.kind) {
      case OpKind::for_: {
        if (operands.size() < 3) return;  // reported
        std::vector<Type> args{operands[0]};
        args.insert(args.end(), operands.begin() + 3, operands.end());
        check_args(id, 0, args);
        check_end(id, 0, OpKind::yield_, {operands.begin() + 3, operands.end()});
        break;
      }
      case OpKind::if_:
        for (int i = 0; i < 2; ++i) {
          check_args(id, i, {});
          check_end(id, i, OpKind::yield_, results);
        }
        break;
      case OpKind::while_:
        for (int i = 0; i < 2; ++i) check_args(id, i, operands);
        check_end(id, 0, OpKind::condition_, operands);
        check_end(id, 1, OpKind::yield_, operands);
        break;
      case OpKind::roles_:
        for (int i = 0; i < static_cast<int>(op.regions.size()); ++i) {
          check_args(id, i, {});
          check_end(id, i, OpKind::yield_, {});
        }
        break;
      case OpKind::reduce_:
      case OpKind::scan_: check_combine(id, operands); break;
      case OpKind::atomic_update_:
        if (operands[0].is_pointer()) check_combine(id, {operands[0].pointee()});  // otherwise reported already
        break;
      default: TW_CHECK(op.regions.empty(), "an op with regions that the verifier does not know");
    }
  }

  std::string region_name(OpId id, int i) const { return f_.op(id).regions.size() == 1 ? "the region" : fmt::format("region {}", i + 1); }

  void check_args(OpId id, int i, const std::vector<Type>& expected) {
    const std::vector<ValueId>& args = f_.block(f_.region(id, i)).args;
    if (args.size() != expected.size())
      return void(report(id, "{} takes {} arguments; expected {}", region_name(id, i), args.size(), expected.size()));
    for (std::size_t k = 0; k < args.size(); ++k)
      if (f_.type(args[k]) != expected[k])
        report(id, "argument {} of {} is {}; it must be {}", k + 1, region_name(id, i), text(f_.type(args[k])), text(expected[k]));
  }

  /// The region must end with `last`, which must pass on values of these types (`condition`: after the condition itself).
  void check_end(OpId id, int i, OpKind last, const std::vector<Type>& expected) {
    const OpId end = f_.terminator(f_.region(id, i));
    if (!end || f_.kind(end) != last) return void(report(id, "{} must end with {}", region_name(id, i), text(last)));
    const std::vector<ValueId>& all = f_.op(end).operands;
    const std::size_t skip = last == OpKind::condition_ ? 1 : 0;
    if (all.size() < skip) return;  // reported
    const std::vector<ValueId> values(all.begin() + static_cast<std::ptrdiff_t>(skip), all.end());
    if (values.size() != expected.size()) {
      note_owner(report(end, "{} values; '{}' expects {} here", values.size(), text(f_.kind(id)), expected.size()), id);
      return;
    }
    for (std::size_t k = 0; k < values.size(); ++k)
      if (f_.type(values[k]) != expected[k])
        note_owner(
            report(end, "value {} is {}; '{}' expects {} here", k + 1, text(f_.type(values[k])), text(f_.kind(id)), text(expected[k])), id);
  }
  void note_owner(Problem& p, OpId id) const {
    if (const Location where = f_.where(id); where.line > 0) p.notes.push_back({where, fmt::format("'{}' starts here", text(f_.kind(id)))});
  }

  /// The region must be a pure function of scalars: targets apply it to pairs of elements in an order of their choice.
  void check_combine(OpId id, const std::vector<Type>& operands) {
    std::vector<Type> elements, pairs;
    for (Type t : operands) elements.push_back(t.scalar());
    pairs = elements;
    pairs.insert(pairs.end(), elements.begin(), elements.end());
    check_args(id, 0, pairs);
    check_end(id, 0, OpKind::yield_, elements);
    for (OpId inner : f_.ops(f_.region(id))) {
      const OpData& op = f_.op(inner);
      const OpInfo& row = info(op.kind);
      if (!row.has(kPure) && !row.has(kTerminator))
        note_owner(report(inner, "it is not allowed in the region of '{}', which must be pure", text(f_.kind(id))), id);
      for (const auto* values : {&op.operands, &op.results})
        for (ValueId v : *values)
          if (!f_.type(v).is_scalar())
            note_owner(report(inner, "{} in the region of '{}', which works on scalars", text(f_.type(v)), text(f_.kind(id))), id);
    }
  }

  const Function& f_;
  std::vector<Problem> problems_;
  std::vector<bool> linked_;    // indexed by block: reached by check_links
  std::vector<bool> visible_;   // indexed by value
  std::vector<ValueId> order_;  // the visible values in order of definition
};

}  // namespace

std::vector<Problem> verify(const Function& f) { return Verifier(f).run(); }

void verify_or_throw(const Function& f) {
  const std::vector<Problem> problems = verify(f);
  if (problems.empty()) return;
  std::vector<Note> notes = problems[0].notes;
  for (std::size_t i = 1; i < problems.size(); ++i) {
    notes.push_back({problems[i].where, problems[i].message});
    notes.insert(notes.end(), problems[i].notes.begin(), problems[i].notes.end());
  }
  throw Error(problems[0].where, problems[0].message, notes);
}

}  // namespace tilewright::ir
