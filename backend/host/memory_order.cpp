// Compares the parameters, the addresses and the indices of accesses.
#include "backend/host/memory_order.h"

#include <algorithm>
#include <cstdlib>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

using ir::Function;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

constexpr std::int64_t kMostStride = std::int64_t{1} << 40;

/// A tile of pointers or offsets as a sum of its indices, each times a constant stride, and of a scalar.
class IndexStrides {
 public:
  IndexStrides(const Function& f, const passes::AxisInfoAnalysis& info) : f_(f), info_(info) {}

  /// Adds `times` times the value. axes[i]: the axis of the sum that axis i of the value runs along, or -1. Returns false if the value has
  /// another form.
  bool add(ValueId v, std::vector<int> axes, std::int64_t times) {
    const Type t = f_.type(v);
    const OpId id = f_.value(v).op;
    if (t.is_scalar() || is_uniform(v)) return true;
    if (!id) return false;
    const auto& x = f_.op(id).operands;
    switch (f_.kind(id)) {
      case OpKind::arange_:
        if (axes[0] >= 0) strides_[static_cast<std::size_t>(axes[0])] += times;
        return true;
      case OpKind::add_ptr_: return add(x[0], axes, times) && add(x[1], axes, times);
      case OpKind::add_: return ir::is_signed(t.element()) && add(x[0], axes, times) && add(x[1], axes, times);
      case OpKind::sub_: return ir::is_signed(t.element()) && add(x[0], axes, times) && add(x[1], axes, -times);
      case OpKind::mul_: {
        const auto bits = f_.constant_bits(x[1]);
        const std::int64_t factor = bits ? ir::integer_value(t.element(), *bits) : 0;
        if (!ir::is_signed(t.element()) || factor == 0 || std::abs(factor) > kMostStride / std::abs(times)) return false;
        return add(x[0], axes, times * factor);
      }
      case OpKind::cast_: {
        const Type from = f_.type(x[0]);
        return from.is_integer() && ir::is_signed(from.element()) && ir::bits(from.element()) <= ir::bits(t.element()) &&
               add(x[0], axes, times);
      }
      case OpKind::multiple_of_:
      case OpKind::max_contiguous_: return add(x[0], axes, times);
      case OpKind::broadcast_:
        for (int i = 0; i < f_.type(x[0]).rank(); ++i)
          if (f_.type(x[0]).log2_extent(i) == 0) axes[static_cast<std::size_t>(i)] = -1;
        return add(x[0], axes, times);
      case OpKind::permute_: {
        std::vector<int> before(axes.size());
        for (std::size_t i = 0; i < axes.size(); ++i) before[static_cast<std::size_t>(f_.attr_list(id, ir::AttrName::axes)[i])] = axes[i];
        return add(x[0], before, times);
      }
      case OpKind::reshape_: return add_reshaped(x[0], t, axes, times);
      default: return false;
    }
  }

  std::int64_t operator[](int axis) const { return strides_[static_cast<std::size_t>(axis)]; }

 private:
  bool is_uniform(ValueId v) const {
    const Type t = f_.type(v);
    for (int i = 0; i < t.rank(); ++i)
      if (info_(v).constancy[static_cast<std::size_t>(i)] < t.extent(i)) return false;
    return true;
  }
  /// A reshape keeps the order of extents other than 1, or it has another form.
  bool add_reshaped(ValueId x, const Type& t, const std::vector<int>& axes, std::int64_t times) {
    const Type from = f_.type(x);
    std::vector<int> before(static_cast<std::size_t>(from.rank()), -1);
    int axis = 0;
    for (int i = 0; i < from.rank(); ++i) {
      if (from.log2_extent(i) == 0) continue;
      while (axis < t.rank() && t.log2_extent(axis) == 0) ++axis;
      if (axis == t.rank() || t.log2_extent(axis) != from.log2_extent(i)) return false;
      before[static_cast<std::size_t>(i)] = axes[static_cast<std::size_t>(axis++)];
    }
    return add(x, before, times);
  }

  const Function& f_;
  const passes::AxisInfoAnalysis& info_;
  std::array<std::int64_t, ir::kMaxRank> strides_{};
};

}  // namespace

MemoryOrder::Access MemoryOrder::access_of(OpId id) const {
  const ValueId pointer = f_.operand(id, 0);
  Access a{.op = id,
           .step = 0,
           .is_scalar = f_.type(pointer).is_scalar(),
           .is_store = f_.kind(id) == OpKind::store_,
           .is_volatile = f_.attr(id, ir::AttrName::is_volatile) != 0,
           .parameter = passes::base_parameter(f_, pointer),
           .form = std::nullopt};
  if (info_) a.form = passes::address_form(f_, id, *info_);
  return a;
}

bool MemoryOrder::may_conflict(const Access& earlier, const Access& later) const {
  if (earlier.is_volatile || later.is_volatile) return true;
  if (!earlier.is_store && !later.is_store) return false;
  if (!passes::may_share_memory(f_, earlier.parameter, later.parameter)) return false;
  return !earlier.form || !later.form || !passes::are_apart(*earlier.form, *later.form);
}

bool MemoryOrder::have_same_lanes(const Access& earlier, const Access& later) const {
  const ValueId pointer = f_.operand(later.op, 0);
  return !earlier.is_volatile && !later.is_volatile && !later.is_scalar && f_.operand(earlier.op, 0) == pointer &&
         has_distinct_addresses(pointer);
}

bool MemoryOrder::has_distinct_addresses(ValueId pointer) const {
  if (!info_) return false;
  const Type t = f_.type(pointer);
  IndexStrides strides(f_, *info_);
  std::vector<int> axes;
  for (int i = 0; i < t.rank(); ++i) axes.push_back(i);
  if (!strides.add(pointer, axes, 1)) return false;
  // In the order of their strides, each step along an axis is greater than all steps along the axes before it.
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  std::int64_t reach = 0;
  for (int axis : axes) {
    if (t.log2_extent(axis) == 0) continue;
    const std::int64_t stride = std::abs(strides[axis]);
    if (stride <= reach || stride > kMostStride) return false;
    reach += stride * (t.extent(axis) - 1);
  }
  return true;
}

int MemoryOrder::first_step(OpId id) const {
  const Access later = access_of(id);
  int first = first_;
  for (const Access& earlier : accesses_) {
    if (earlier.step < first || !may_conflict(earlier, later)) continue;
    // The scalars of a step come before its loop nest.
    first = earlier.step + (earlier.is_scalar || have_same_lanes(earlier, later) ? 0 : 1);
  }
  return first;
}

void MemoryOrder::add(OpId id, int step) {
  accesses_.push_back(access_of(id));
  accesses_.back().step = step;
}

}  // namespace tilewright::backend::host
