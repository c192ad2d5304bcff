// Walks the ops from which a value is computed.
#include "tileir/launch_values.h"

#include <fmt/format.h>

#include <set>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

class LaunchValues {
 public:
  explicit LaunchValues(const Function& f) : f_(f) {}

  std::string why_not(ValueId v) {
    if (!seen_.insert(v).second) return {};
    const Type t = f_.type(v);
    if (!is_number(t) && !(t.is_scalar() && t.is_pointer())) return fmt::format("{} is no i32, i64 or pointer", text(t));
    const OpId id = f_.value(v).op;
    if (!id) return f_.value(v).block == f_.body() ? "" : "it changes in a loop";
    switch (f_.kind(id)) {
      case OpKind::constant_:
      case OpKind::num_programs_: return {};
      case OpKind::div_:
      case OpKind::rem_:
        if (!is_divisor(f_.operand(id, 1))) return "a divisor is no constant, or 0";
        return why_not_operands(id);
      case OpKind::cast_: {
        const ValueId x = f_.operand(id, 0);
        return f_.type(x) == Type(Element::boolean) ? why_not_condition(x) : why_not(x);
      }
      case OpKind::add_:
      case OpKind::sub_:
      case OpKind::mul_:
      case OpKind::minimum_:
      case OpKind::maximum_:
      case OpKind::shl_:
      case OpKind::shr_:
      case OpKind::add_ptr_: return why_not_operands(id);
      default: return fmt::format("it depends on {}", text(f_.kind(id)));
    }
  }

 private:
  static bool is_number(Type t) { return t.is_scalar() && t.is_integer() && (t.element() == Element::i32 || t.element() == Element::i64); }

  bool is_positive_constant(ValueId v) const {
    const auto bits = f_.constant_bits(v);
    return bits && is_number(f_.type(v)) && integer_value(f_.type(v).element(), *bits) > 0;
  }
  bool is_divisor(ValueId v) const {
    if (const auto bits = f_.constant_bits(v)) return *bits != 0;
    const OpId maximum = f_.defined_by(v, OpKind::maximum_);
    return maximum && (is_positive_constant(f_.operand(maximum, 0)) || is_positive_constant(f_.operand(maximum, 1)));
  }

  std::string why_not_operands(OpId id) {
    for (ValueId x : f_.op(id).operands)
      if (std::string why = why_not(x); !why.empty()) return why;
    return {};
  }

  std::string why_not_condition(ValueId v) {
    const OpId id = f_.value(v).op;
    if (!id) return "it depends on an i1";
    switch (f_.kind(id)) {
      case OpKind::eq_:
      case OpKind::ne_:
      case OpKind::lt_:
      case OpKind::le_:
      case OpKind::gt_:
      case OpKind::ge_: return why_not_operands(id);
      case OpKind::bit_and_:
        for (ValueId x : f_.op(id).operands)
          if (std::string why = why_not_condition(x); !why.empty()) return why;
        return {};
      default: return fmt::format("it depends on {}", text(f_.kind(id)));
    }
  }

  const Function& f_;
  std::set<ValueId> seen_;
};

}  // namespace

std::string why_not_at_launch(const Function& f, ValueId v) { return LaunchValues(f).why_not(v); }

}  // namespace tilewright::ir
