// Traces loops and branches: variables that a body assigns become iteration arguments and results of the region.
#include "tilewright/ops/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <unordered_set>

#include "frontend/trace/emit.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

using ir::BlockId;
using ir::OpId;
using ir::ValueId;

std::vector<Note> notes_of(const ir::Function& f, ValueId before, std::string_view construct, const Here& at) {
  std::vector<Note> notes;
  if (f.where(before).line > 0) notes.push_back({f.where(before), "its value before"});
  notes.push_back({location_of(at), fmt::format("the {} is here", construct)});
  return notes;
}

/// The line that made a value, or the construct's line if the value has none (a parameter of the kernel).
Location made_at(const ir::Function& f, ValueId v, const Here& construct) {
  return f.where(v).line > 0 ? f.where(v) : location_of(construct);
}

/// The variables whose value may be used in this block.
std::vector<Variable> live_variables(const Trace& t) {
  std::vector<Variable> all = t.variables();
  std::erase_if(all, [&](const Variable& v) { return !t.usable({v.value}, t.block()); });
  return all;
}

/// Adds a block argument for each variable, which from now on names it.
std::vector<std::uint32_t> add_arguments(Trace& t, std::span<const Variable> variables, BlockId block) {
  ir::Function& f = t.function();
  std::vector<std::uint32_t> arguments;
  for (const Variable& v : variables) {
    arguments.push_back(f.add_arg(block, f.type({v.value})).index);
    if (const Handle* h = t.find(v, variables); h != nullptr && Trace::value_of(*h)) Trace::set(*h, {arguments.back()});
  }
  return arguments;
}

/// The value, at the end of a body, of a variable that named `argument` at the start. If the body emptied or destroyed the variable, it has
/// no value for the next iteration; that is a mistake if the body used it.
ValueId at_end_of_body(Trace& t, const Region& region, std::size_t i, ValueId argument, std::string_view construct, const Here& at) {
  const Variable& v = region.variables[i];
  const Handle* h = t.find(v, region.variables);
  const ir::Function& f = t.function();
  if (h == nullptr || !Trace::value_of(*h)) {
    if (f.has_uses(argument))
      throw Error(location_of(at),
                  fmt::format("a variable that the body of this {} uses {} in it, so the next iteration has none; assign to its elements "
                              "instead of replacing a container",
                              construct, h == nullptr ? "is destroyed" : "becomes empty"),
                  notes_of(f, {v.value}, "variable", at));
    return argument;
  }
  const ValueId now = Trace::value_of(*h);
  if (now == argument) return argument;
  // In this message, the line of the use is the end of the body.
  t.value(*h, construct, "variable", at);
  const ir::Type before = f.type(argument), after = f.type(now);
  if (!(before == after))
    throw Error(
        made_at(f, now, at),
        fmt::format("a {} cannot change the shape of a variable: this tile is {}, and the variable that it is assigned to is {} when "
                    "the body begins",
                    construct, ir::shape_text(after), ir::shape_text(before)),
        notes_of(f, {v.value}, construct, at));
  return now;
}

/// Throws Error unless the builder is at the end of the body: constructs inside must have ended.
void expect_at(Emit& e, BlockId body) {
  if (e.b().block() != body) e.fail("a loop inside of this one was begun and never ended");
}

void yield(ir::Builder& b, std::span<const ValueId> values) { b.create(ir::OpKind::yield_, values); }

using Names = std::unordered_map<std::uint32_t, std::uint32_t>;

/// Removes a block argument that has the same value in every iteration.
void drop(Trace& t, BlockId block, std::uint32_t argument, std::uint32_t before, Names& names) {
  ir::Function& f = t.function();
  f.replace_uses({argument}, {before});
  f.erase_arg(block, static_cast<int>(f.value({argument}).number));
  names[argument] = before;
}

[[noreturn]] void refuse_shapes(const ir::Function& f, ValueId changed, ValueId other, const Here& at) {
  std::vector<Note> notes;
  if (f.where(other).line > 0) notes.push_back({f.where(other), "the other value is made here"});
  notes.push_back({location_of(at), "the when is here"});
  throw Error(
      made_at(f, changed, at),
      fmt::format(
          "the branches of a when must agree on the shape of a variable: this tile is {}, and after the other branch the variable is {}",
          ir::shape_text(f.type(changed)), ir::shape_text(f.type(other))),
      notes);
}

Handle index_bound(Emit& e, const Input& input, std::string_view name, bool wide) {
  const ValueId v = e.integer_input(input, wide ? ir::Element::i64 : ir::Element::i32, name);
  if (!e.type(v).is_scalar())
    e.fail(fmt::format("'{}' is {}; it must be a scalar", name, ir::shape_text(e.type(v))), v, fmt::format("'{}' defined here", name));
  return Handle(made(v));
}

}  // namespace

// ---- for -------------------------------------------------------------------------------------------------------------

Loop::Loop(const Input& lo, const Input& hi, const Input& step, bool wide, const RangeOptions& options) : options_(options), at_(lo.at) {
  Emit e("range", at_);
  if (step.handle == nullptr && step.constant.bits == 0) e.fail("'step' is 0; it must be positive or negative");
  if (options.num_stages && (*options.num_stages < 1 || *options.num_stages > 8))
    e.fail(fmt::format("num_stages is {}; it must be from 1 to 8", *options.num_stages));
  if (options.unroll < 1) e.fail(fmt::format("unroll is {}; it must be at least 1", options.unroll));
  lo_ = index_bound(e, lo, "lo", wide);
  hi_ = index_bound(e, hi, "hi", wide);
  step_ = index_bound(e, step, "step", wide);
}

void Loop::open() {
  Emit e("range", at_);
  if (open_) e.fail("this range is already being looped over");
  e.expect_no_combine();
  Trace& t = e.trace();
  const ValueId operands[] = {e.value(lo_, "lo"), e.value(hi_, "hi"), e.value(step_, "step")};
  std::vector<ir::Attr> attrs;
  if (options_.num_stages) attrs.push_back(ir::Attr{ir::AttrName::num_stages, *options_.num_stages, {}});
  if (options_.unroll > 1) attrs.push_back(ir::Attr{ir::AttrName::unroll, options_.unroll, {}});
  const std::vector<Variable> variables = live_variables(t);
  region_.outer = t.block().index;
  const OpId op = e.b().create(ir::OpKind::for_, operands, std::move(attrs));
  const BlockId body = t.function().region(op);
  region_.op = op.index;
  index_ = made(t.function().add_arg(body, e.type(operands[0])));
  region_.variables = variables;
  region_.arguments = add_arguments(t, variables, body);
  e.b().at_end(body);
  open_ = true;
  exceptions_ = std::uncaught_exceptions();
}

void Loop::close() {
  if (!open_) return;
  open_ = false;
  Emit e("range", at_);
  Trace& t = e.trace();
  ir::Function& f = t.function();
  const OpId op{region_.op};
  const BlockId body = f.region(op);
  expect_at(e, body);

  const std::size_t n = region_.variables.size();
  std::vector<ValueId> last(n), yields;
  for (std::size_t i = 0; i < n; ++i) {
    last[i] = at_end_of_body(t, region_, i, {region_.arguments[i]}, "loop", at_);
    if (last[i].index != region_.arguments[i]) yields.push_back(last[i]);
  }
  yield(e.b(), yields);
  e.b().at_end({region_.outer});

  Names names;
  for (std::size_t i = n; i-- > 0;)
    if (last[i].index == region_.arguments[i]) drop(t, body, region_.arguments[i], region_.variables[i].value, names);
  t.rename(names);
  for (std::size_t i = 0; i < n; ++i) {
    if (last[i].index == region_.arguments[i]) continue;
    f.add_operand(op, {region_.variables[i].value});
    const ValueId result = f.add_result(op, f.type({region_.arguments[i]}));
    if (const Handle* h = t.find(region_.variables[i], region_.variables)) Trace::set(*h, result);
  }
}

Loop::~Loop() noexcept(false) {
  Trace* t = Trace::active();
  if (!open_ || t == nullptr) return;
  const bool reported = t->broken().has_value();
  t->leave_early(at_, "loop");
  if (!reported && std::uncaught_exceptions() <= exceptions_) t->report_broken("by break, return or goto");
}

// ---- when ------------------------------------------------------------------------------------------------------------

When::When(const Handle& condition, const Here& at) : at_(at) {
  Emit e("when", at_);
  e.expect_no_combine();
  Trace& t = e.trace();
  const ValueId c = e.value(condition, "condition");
  if (!e.type(c).is_scalar())
    e.fail(fmt::format("'condition' is {}; it must be a scalar, so reduce it with any or all, or use where", ir::shape_text(e.type(c))), c,
           "'condition' defined here");
  region_.outer = t.block().index;
  region_.op = e.b().create(ir::OpKind::if_, std::span(&c, 1)).index;
  region_.variables = t.variables();
  e.b().at_end(t.function().region({region_.op}, 0));
}

When::~When() {
  if (!done_ && Trace::active() != nullptr) Trace::active()->leave_early(at_, "when");
}

/// The assignments of one branch. Afterwards variables have their values from before the branch.
When::Arm When::end_arm(int number) {
  Emit e("when", at_);
  Trace& t = e.trace();
  expect_at(e, t.function().region({region_.op}, number));
  Arm arm;
  std::unordered_set<const Handle*> known;
  for (const Variable& v : region_.variables) {
    const Handle* h = t.find(v, region_.variables);
    arm.values.push_back(h != nullptr ? Trace::value_of(*h).index : v.value);
    if (h == nullptr) continue;
    known.insert(h);
    Trace::set(*h, {v.value});
  }
  for (const Variable& v : t.variables()) {
    if (known.count(v.handle) != 0 || v.value == ValueId{}.index) continue;
    arm.fresh.push_back(v);
    Trace::set(*v.handle, {});
  }
  return arm;
}

void When::end_then() {
  then_ = end_arm(0);
  Emit e("when", at_);
  e.b().at_end(e.trace().function().region({region_.op}, 1));
}

void When::end_otherwise() {
  const Arm otherwise = end_arm(1);
  Emit e("when", at_);
  Trace& t = e.trace();
  ir::Function& f = t.function();
  const OpId op{region_.op};
  std::vector<ValueId> yields[2];
  std::vector<std::pair<const Handle*, ValueId>> results;
  // a, b: the values of the variable at the end of the two branches.
  const auto merge = [&](const Variable& v, ValueId before, ValueId a, ValueId b) {
    const Handle* h = t.find(v, region_.variables);
    if (h == nullptr || (a == before && b == before)) return;
    if (!a || !b || !t.usable(a, f.region(op, 0)) || !t.usable(b, f.region(op, 1))) {
      Trace::set(*h, before && (!a || !b) ? ValueId{} : t.half_assigned(at_));
      return;
    }
    if (!(f.type(a) == f.type(b))) refuse_shapes(f, a == before ? b : a, a == before ? a : b, at_);
    yields[0].push_back(a);
    yields[1].push_back(b);
    results.emplace_back(h, f.add_result(op, f.type(a)));
  };
  for (std::size_t i = 0; i < region_.variables.size(); ++i)
    merge(region_.variables[i], {region_.variables[i].value}, {then_.values[i]}, {otherwise.values[i]});
  const auto in = [](const std::vector<Variable>& arm, const Variable& v) {
    const auto it = std::find_if(arm.begin(), arm.end(), [&](const Variable& o) { return o.handle == v.handle && o.id == v.id; });
    return it != arm.end() ? ValueId{it->value} : ValueId{};
  };
  for (const Variable& v : then_.fresh) merge(v, {}, {v.value}, in(otherwise.fresh, v));
  for (const Variable& v : otherwise.fresh)
    if (!in(then_.fresh, v)) merge(v, {}, {}, {v.value});
  for (int arm = 0; arm < 2; ++arm) {
    e.b().at_end(f.region(op, arm));
    yield(e.b(), yields[arm]);
  }
  e.b().at_end({region_.outer});
  for (const auto& [h, result] : results) Trace::set(*h, result);
  done_ = true;
}

// ---- while -----------------------------------------------------------------------------------------------------------

While::While(const Here& at) : at_(at) {
  Emit e("loop_while", at_);
  e.expect_no_combine();
  Trace& t = e.trace();
  region_.outer = t.block().index;
  region_.variables = live_variables(t);
  const OpId op = e.b().create(ir::OpKind::while_, {});
  region_.op = op.index;
  region_.arguments = add_arguments(t, region_.variables, t.function().region(op, 0));
  e.b().at_end(t.function().region(op, 0));
}

While::~While() {
  if (!done_ && Trace::active() != nullptr) Trace::active()->leave_early(at_, "loop_while");
}

void While::end_condition(const Handle& condition) {
  Emit e("loop_while", at_);
  Trace& t = e.trace();
  ir::Function& f = t.function();
  expect_at(e, f.region({region_.op}, 0));
  const ValueId c = e.value(condition, "condition");
  if (!e.type(c).is_scalar())
    e.fail(fmt::format("'condition' is {}; it must be a scalar, so reduce it with any or all", ir::shape_text(e.type(c))), c,
           "'condition' defined here");
  std::vector<ValueId> operands{c};
  for (std::size_t i = 0; i < region_.variables.size(); ++i) {
    const ValueId v = at_end_of_body(t, region_, i, {region_.arguments[i]}, "loop_while", at_);
    forwarded_.push_back(v.index);
    operands.push_back(v);
  }
  e.b().create(ir::OpKind::condition_, operands);
  body_arguments_ = add_arguments(t, region_.variables, f.region({region_.op}, 1));
  e.b().at_end(f.region({region_.op}, 1));
}

void While::end_body() {
  Emit e("loop_while", at_);
  Trace& t = e.trace();
  ir::Function& f = t.function();
  const OpId op{region_.op};
  const BlockId condition = f.region(op, 0), body = f.region(op, 1);
  expect_at(e, body);
  const std::size_t n = region_.variables.size();
  std::vector<ValueId> last(n), yields;
  std::vector<bool> carried(n);
  for (std::size_t i = 0; i < n; ++i) {
    last[i] = at_end_of_body(t, region_, i, {body_arguments_[i]}, "loop_while", at_);
    carried[i] = last[i].index != body_arguments_[i] || forwarded_[i] != region_.arguments[i];
    if (carried[i]) yields.push_back(last[i]);
  }
  yield(e.b(), yields);
  e.b().at_end({region_.outer});

  Names names;
  for (std::size_t i = n; i-- > 0;) {
    if (carried[i]) continue;
    f.erase_operand(f.terminator(condition), static_cast<int>(i) + 1);
    drop(t, body, body_arguments_[i], region_.variables[i].value, names);
    drop(t, condition, region_.arguments[i], region_.variables[i].value, names);
  }
  t.rename(names);
  for (std::size_t i = 0; i < n; ++i) {
    if (!carried[i]) continue;
    f.add_operand(op, {region_.variables[i].value});
    const ValueId result = f.add_result(op, f.type({body_arguments_[i]}));
    if (const Handle* h = t.find(region_.variables[i], region_.variables)) Trace::set(*h, result);
  }
  done_ = true;
}

}  // namespace tilewright::detail
