// Collects the sum of scalars and ranges from add_ptr backwards.
#include "passes/analysis/address_form.h"

#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

class Sum {
 public:
  Sum(const Function& f, const AxisInfoAnalysis& axes) : f_(f), axes_(axes) {}

  bool pointer(ValueId v) {
    form_.base = base_parameter(f_, v);
    if (!form_.base) return false;
    for (; v != form_.base; v = f_.operand(f_.value(v).op, 0)) {
      const OpId id = f_.value(v).op;
      if (f_.kind(id) == OpKind::add_ptr_ && !add(f_.operand(id, 1), ir::bytes(f_.type(v).element()), 0)) return false;
    }
    return true;
  }

  std::optional<AddressForm> result(std::int64_t element_bytes) {
    constexpr Wide kFar = Wide{1} << 62;
    if (lo_ < -kFar || hi_ > kFar) return std::nullopt;
    form_.lo = static_cast<std::int64_t>(lo_);
    form_.hi = static_cast<std::int64_t>(hi_) + element_bytes;
    std::erase_if(form_.scalars, [](const auto& s) { return s.second == 0; });
    return form_;
  }

 private:
  bool add(ValueId v, std::int64_t times, int depth) {
    constexpr int kMostOps = 64;
    constexpr std::int64_t kMostTimes = std::int64_t{1} << 40;
    if (depth > kMostOps || times > kMostTimes || times < -kMostTimes) return false;
    const OpId id = f_.value(v).op;
    const ir::Type t = f_.type(v);
    if (const auto c = f_.constant_bits(v)) {
      add_range({ir::integer_value(t.element(), *c), ir::integer_value(t.element(), *c)}, times);
      return true;
    }
    if (id && ir::is_signed(t.element())) {
      const auto constant = [&](int i) -> std::optional<std::int64_t> {
        const auto c = f_.constant_bits(f_.operand(id, i));
        return c ? std::optional(ir::integer_value(t.element(), *c)) : std::nullopt;
      };
      switch (f_.kind(id)) {
        case OpKind::add_: return add(f_.operand(id, 0), times, depth + 1) && add(f_.operand(id, 1), times, depth + 1);
        case OpKind::sub_: return add(f_.operand(id, 0), times, depth + 1) && add(f_.operand(id, 1), -times, depth + 1);
        case OpKind::mul_:
          if (const auto c = constant(1); c && *c != 0 && *c > -kMostTimes && *c < kMostTimes) {
            const Wide product = Wide{times} * *c;
            if (product > -kMostTimes && product < kMostTimes) return add(f_.operand(id, 0), static_cast<std::int64_t>(product), depth + 1);
          }
          break;
        case OpKind::cast_:
          // A cast preserves a signed number if it does not narrow it; other casts may truncate.
          if (const ir::Type from = f_.type(f_.operand(id, 0));
              from.is_integer() && ir::bits(from.element()) <= ir::bits(t.element()) && ir::is_signed(from.element()))
            return add(f_.operand(id, 0), times, depth + 1);
          break;
        case OpKind::broadcast_:
        case OpKind::reshape_:
        case OpKind::permute_:
        case OpKind::convert_layout_:
        case OpKind::multiple_of_:
        case OpKind::max_contiguous_: return add(f_.operand(id, 0), times, depth + 1);
        default: break;
      }
    }
    if (t.is_scalar()) {
      form_.scalars[v] += times;
    } else {
      add_range(axes_.range(v), times);
    }
    return true;
  }

  void add_range(const Range& r, std::int64_t times) {
    lo_ += (times > 0 ? r.lo : r.hi) * times;
    hi_ += (times > 0 ? r.hi : r.lo) * times;
  }

  const Function& f_;
  const AxisInfoAnalysis& axes_;
  AddressForm form_;
  Wide lo_ = 0, hi_ = 0;
};

/// The step of a scalar between iterations of the loop: 0 if it is defined outside of the loop, none if it is not constant.
std::optional<std::int64_t> step_of(const Function& f, OpId loop, ValueId v) {
  const ir::BlockId body = f.region(loop), at = f.defining_block(v);
  if (!f.encloses(body, at)) return 0;
  if (f.value(v).op || at != body) return std::nullopt;
  ValueId step;
  if (f.value(v).number == 0) {
    step = f.operand(loop, 2);
  } else {
    const OpId next = f.value(f.operand(f.terminator(body), static_cast<int>(f.value(v).number) - 1)).op;
    if (!next || f.kind(next) != OpKind::add_) return std::nullopt;
    if (f.operand(next, 0) == v)
      step = f.operand(next, 1);
    else if (f.operand(next, 1) == v)
      step = f.operand(next, 0);
    else
      return std::nullopt;
  }
  return ir::constant_integer(f, step);
}

}  // namespace

ValueId base_parameter(const Function& f, ValueId v) {
  while (const OpId id = f.value(v).op) {
    switch (f.kind(id)) {
      case OpKind::add_ptr_:
      case OpKind::broadcast_:
      case OpKind::reshape_:
      case OpKind::permute_:
      case OpKind::convert_layout_:
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_:
      case OpKind::make_tensor_map_: break;
      case OpKind::bitcast_:
        if (!f.type(f.operand(id, 0)).is_pointer()) return {};
        break;
      default: return {};
    }
    v = f.operand(id, 0);
  }
  return f.value(v).block == f.body() ? v : ValueId{};
}

bool may_share_memory(const Function& f, ValueId base, ValueId other) {
  const auto is_disjoint = [&](ValueId parameter) {
    const std::size_t i = f.value(parameter).number;
    return i < f.params.size() && f.params[i].disjoint;
  };
  return !base || !other || base == other || (!is_disjoint(base) && !is_disjoint(other));
}

std::optional<AddressForm> address_form(const Function& f, OpId id, const AxisInfoAnalysis& axes) {
  const ValueId pointer = f.operand(id, 0);
  if (f.type(pointer).is_tensor_map()) return std::nullopt;
  Sum sum(f, axes);
  if (!sum.pointer(pointer)) return std::nullopt;
  return sum.result(ir::bytes(f.type(pointer).element()));
}

bool are_apart(const AddressForm& a, const AddressForm& b) {
  return a.base == b.base && a.scalars == b.scalars && (a.hi <= b.lo || b.hi <= a.lo);
}

bool are_apart_in_iterations(const Function& f, OpId loop, const AddressForm& a, const AddressForm& b) {
  if (f.kind(loop) != OpKind::for_ || a.base != b.base || a.scalars != b.scalars) return false;
  Wide step = 0;
  for (const auto& [v, times] : a.scalars) {
    const auto s = step_of(f, loop, v);
    if (!s) return false;
    step += Wide{*s} * times;
  }
  // b belongs to a later iteration: it is at least one step further.
  return (step > 0 && b.lo + step >= a.hi) || (step < 0 && b.hi + step <= a.lo);
}

}  // namespace tilewright::passes
