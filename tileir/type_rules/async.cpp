// The type rules of roles and mbarriers.
#include "tileir/type_rules/checks.h"

namespace tilewright::ir::rules {

namespace {

constexpr std::int64_t kMostArrivals = (1 << 20) - 1;  // PTX ISA, mbarrier.init

/// Checks that operand i is one mbarrier.
RuleResult check_mbarrier(const RuleInput& in, int i) {
  const Type t = in.operands[static_cast<std::size_t>(i)];
  if (!t.is_mbarrier()) return fail(in, i, "{}; expected an mbarrier", seen(in, i));
  if (t.slots() != 1) return fail(in, i, "{}; expected one mbarrier (mbarrier_slot)", seen(in, i));
  return {};
}

}  // namespace

// The verifier checks the numbers of roles, since there is one for each region.
RuleResult rule_roles(const RuleInput&) { return none(); }
RuleResult rule_role_instance(const RuleInput&) { return one(Type(Element::i32)); }

RuleResult rule_alloc_mbarriers(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  if (!r.types[0].is_mbarrier()) return fail(in, -1, "the result is {}; it must be mbarriers", text(r.types[0]));
  const std::int64_t arrivals = in.number(AttrName::arrivals);
  if (arrivals < 1 || arrivals > kMostArrivals) return fail(in, -1, "arrivals is {}; it must be 1 to {}", arrivals, kMostArrivals);
  return r;
}

RuleResult rule_mbarrier_slot(const RuleInput& in) {
  if (!in.operands[0].is_mbarrier()) return fail(in, 0, "{}; expected mbarriers", seen(in, 0));
  if (in.operands[1] != Type(Element::i32)) return fail(in, 1, "{}; it must be i32", seen(in, 1));
  if (RuleResult r = check_divisor(in); !r.ok()) return r;
  return one(Type::mbarrier(1));
}

RuleResult rule_mbarrier_arrive(const RuleInput& in) {
  if (RuleResult r = check_mbarrier(in, 0); !r.ok()) return r;
  if (in.operands.size() > 1 && !is_scalar_bool(in.operands[1])) return fail(in, 1, "{}; it must be a scalar i1", seen(in, 1));
  return none();
}

RuleResult rule_copy_arrive(const RuleInput& in) {
  const RuleResult wrong = check_mbarrier(in, 0);
  return wrong.ok() ? none() : wrong;
}

RuleResult rule_mbarrier_wait(const RuleInput& in) {
  if (RuleResult r = check_mbarrier(in, 0); !r.ok()) return r;
  if (in.operands[1] != Type(Element::i32)) return fail(in, 1, "{}; it must be i32", seen(in, 1));
  return none();
}

}  // namespace tilewright::ir::rules
