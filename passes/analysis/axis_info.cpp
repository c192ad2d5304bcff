// The fixed point of axis_info over structured control flow, and its text.
#include "passes/analysis/axis_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "passes/analysis/axis_info_transfer.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

class Solver {
 public:
  explicit Solver(const Function& f) : f_(f), lattice_(f.value_capacity()), solved_(f.op_capacity()) {
    const auto& args = f.block(f.body()).args;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::int64_t divisor = i < f.params.size() ? std::max<std::int64_t>(f.params[i].divisible_by, 1) : 1;
      at(args[i]) = uniform(f.type(args[i]), divisor & -divisor, full_range(f.type(args[i])));
    }
    solve(f.body());
  }
  const LatticeElement& operator()(ValueId v) const { return lattice_[v.index]; }

 private:
  LatticeElement& at(ValueId v) { return lattice_[v.index]; }

  void solve(BlockId b) {
    for (OpId id : f_.ops(b)) {
      switch (f_.kind(id)) {
        case OpKind::for_: solve_for(id); break;
        case OpKind::if_: solve_if(id); break;
        case OpKind::while_: solve_while(id); break;
        default:
          if (ir::combines(f_.kind(id)))
            solve_combine(id);
          else if (f_.op(id).results.size() == 1)
            solve_op(id);
          else
            for (ValueId v : f_.op(id).results) at(v) = unknown(f_.type(v));  // split
      }
    }
  }

  void solve_op(OpId id) {
    std::vector<const LatticeElement*> operands;
    for (ValueId v : f_.op(id).operands) operands.push_back(&lattice_[v.index]);
    at(f_.result(id)) = transfer(f_, id, operands);
  }

  /// Joins the lattice element of a region argument with that of another incoming value. Descending chains can be long (a divisor that
  /// halves in every iteration, a bound that grows by one), so an element that still changes after a few rounds becomes unknown.
  bool weaken(ValueId arg, const LatticeElement& incoming, int round) {
    LatticeElement met = meet(at(arg), incoming);
    if (met == at(arg)) return false;
    if (round > 0 && !(met.range == at(arg).range)) met.range = full_range(met.type);
    if (round > 5) met = unknown(met.type);
    const bool changed = !(met == at(arg));
    at(arg) = met;
    return changed;
  }

  LatticeElement induction_variable(OpId loop) {
    const LatticeElement &lo = at(f_.operand(loop, 0)), &hi = at(f_.operand(loop, 1)), &step = at(f_.operand(loop, 2));
    const Type t = f_.type(f_.operand(loop, 0));
    // lo + n step, bounded by lo on one side and by hi on the other; the sign of the step says which.
    Range range{std::min(lo.range.lo, hi.range.lo + 1), std::max(lo.range.hi, hi.range.hi - 1)};
    if (step.range.lo >= 0) range = {lo.range.lo, hi.range.hi - 1};
    if (step.range.hi <= 0) range = {hi.range.lo + 1, lo.range.hi};
    return uniform(t, std::min(divisibility_of_all(lo), divisibility_of_all(step)), clipped(t, range));
  }

  /// Sets a region argument to the value before the loop. A loop in a loop is solved again in each round of the outer one: the argument then
  /// starts as the round before has left it, since in later rounds values only become weaker. So rounds of nested loops add up instead of
  /// multiplying.
  void start(ValueId arg, const LatticeElement& before, bool is_solved) { at(arg) = is_solved ? meet(at(arg), before) : before; }
  bool is_solved(OpId loop) {
    const bool was = solved_[loop.index];
    solved_[loop.index] = true;
    return was;
  }

  void solve_for(OpId id) {
    const BlockId body = f_.region(id);
    const int carried = static_cast<int>(f_.op(id).results.size());
    const bool again = is_solved(id);
    at(f_.arg(body, 0)) = induction_variable(id);
    for (int k = 0; k < carried; ++k) start(f_.arg(body, k + 1), at(f_.operand(id, k + 3)), again);
    for (int round = 0;; ++round) {
      solve(body);
      bool changed = false;
      for (int k = 0; k < carried; ++k) changed |= weaken(f_.arg(body, k + 1), at(f_.operand(f_.terminator(body), k)), round);
      if (!changed) break;
    }
    for (int k = 0; k < carried; ++k) at(f_.result(id, k)) = at(f_.arg(body, k + 1));
  }

  void solve_if(OpId id) {
    const BlockId then = f_.region(id, 0), otherwise = f_.region(id, 1);
    solve(then);
    solve(otherwise);
    for (int k = 0; k < static_cast<int>(f_.op(id).results.size()); ++k)
      at(f_.result(id, k)) = meet(at(f_.operand(f_.terminator(then), k)), at(f_.operand(f_.terminator(otherwise), k)));
  }

  void solve_while(OpId id) {
    const BlockId before = f_.region(id, 0), after = f_.region(id, 1);
    const int carried = static_cast<int>(f_.op(id).operands.size()), forwarded = static_cast<int>(f_.op(id).results.size());
    const bool again = is_solved(id);
    for (int k = 0; k < carried; ++k) start(f_.arg(before, k), at(f_.operand(id, k)), again);
    for (int round = 0;; ++round) {
      solve(before);
      for (int k = 0; k < forwarded; ++k) at(f_.arg(after, k)) = at(f_.operand(f_.terminator(before), k + 1));
      solve(after);
      bool changed = false;
      for (int k = 0; k < carried; ++k) changed |= weaken(f_.arg(before, k), at(f_.operand(f_.terminator(after), k)), round);
      if (!changed) break;
    }
    for (int k = 0; k < forwarded; ++k) at(f_.result(id, k)) = at(f_.operand(f_.terminator(before), k + 1));
  }

  void solve_combine(OpId id) {
    for (ValueId v : f_.block(f_.region(id)).args) at(v) = unknown(f_.type(v));
    solve(f_.region(id));
    for (ValueId v : f_.op(id).results) at(v) = unknown(f_.type(v));
  }

  const Function& f_;
  std::vector<LatticeElement> lattice_;
  std::vector<bool> solved_;  // indexed by op: loops that were solved in an earlier round of a loop around them
};

std::string power_text(std::int64_t x) { return x >= kMaxDivisibility ? "2^62" : fmt::format("{}", x); }

std::string info_text(Type t, const AxisInfo& info) {
  std::string s;
  if (t.is_scalar()) {
    s = fmt::format("divisibility = {}", power_text(info.scalar_divisibility));
  } else {
    std::vector<std::string> divisibility;
    for (int d = 0; d < t.rank(); ++d) divisibility.push_back(power_text(info.divisibility[d]));
    const auto axes = [&](const auto& x) { return fmt::join(x.begin(), x.begin() + t.rank(), ", "); };
    s = fmt::format("contiguity = [{}], divisibility = [{}], constancy = [{}]", axes(info.contiguity), fmt::join(divisibility, ", "),
                    axes(info.constancy));
  }
  if (info.constant) s += fmt::format(", constant = {}", *info.constant);
  return s;
}

}  // namespace

AxisInfoAnalysis::AxisInfoAnalysis(const Function& f) : f_(&f), info_(f.value_capacity()), ranges_(f.value_capacity()) {
  const Solver solver(f);
  for (std::uint32_t i = 0; i < info_.size(); ++i) {
    info_[i] = solver(ValueId{i}).info;
    ranges_[i] = solver(ValueId{i}).range;
  }
}

std::string AxisInfoAnalysis::print() const {
  std::string out;
  const auto line = [&](ValueId v, const std::string& name) {
    const Type t = f_->type(v);
    if (!t.is_float()) out += fmt::format("%{}: {}\n", name, info_text(t, info_[v.index]));
  };
  const auto& args = f_->block(f_->body()).args;
  for (std::size_t i = 0; i < args.size(); ++i) line(args[i], i < f_->params.size() ? f_->params[i].name : fmt::format("arg{}", i));
  int next = 0;  // values are numbered as by the printer: in order of definition
  const auto block = [&](const auto& self, BlockId b) -> void {
    for (OpId id : f_->ops(b)) {
      for (ValueId v : f_->op(id).results) line(v, fmt::format("{}", next++));
      for (BlockId region : f_->op(id).regions) {
        for (ValueId v : f_->block(region).args) line(v, fmt::format("{}", next++));
        self(self, region);
      }
    }
  };
  block(block, f_->body());
  return out;
}

}  // namespace tilewright::passes
