// Walks the ops from which a value is computed.
#include "tileir/launch_values.h"

#include <fmt/format.h>

#include <set>

#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

class LaunchValues {
 public:
  explicit LaunchValues(const Function& f) : f_(f) {}

  std::string why_not(ValueId v) {
    if (!seen_.insert(v).second) return {};
    const Type t = f_.type(v);
    const bool is_number = t.is_scalar() && t.is_integer() && (t.element() == Element::i32 || t.element() == Element::i64);
    if (!is_number && !(t.is_scalar() && t.is_pointer())) return fmt::format("{} is no i32, i64 or pointer", text(t));
    const OpId id = f_.value(v).op;
    if (!id) return f_.value(v).block == f_.body() ? "" : "it changes in a loop";
    switch (f_.kind(id)) {
      case OpKind::constant_:
      case OpKind::num_programs_: return {};
      case OpKind::div_: {
        const auto divisor = f_.constant_bits(f_.operand(id, 1));
        if (!divisor || *divisor == 0) return "a divisor is no constant, or 0";
        return why_not(f_.operand(id, 0));
      }
      case OpKind::cast_:
      case OpKind::add_:
      case OpKind::sub_:
      case OpKind::mul_:
      case OpKind::minimum_:
      case OpKind::maximum_:
      case OpKind::shl_:
      case OpKind::shr_:
      case OpKind::add_ptr_:
        for (ValueId x : f_.op(id).operands)
          if (std::string why = why_not(x); !why.empty()) return why;
        return {};
      default: return fmt::format("it depends on {}", text(f_.kind(id)));
    }
  }

 private:
  const Function& f_;
  std::set<ValueId> seen_;
};

}  // namespace

std::string why_not_at_launch(const Function& f, ValueId v) { return LaunchValues(f).why_not(v); }

}  // namespace tilewright::ir
