// Affine expressions of addresses, to prove that two accesses are disjoint.
#pragma once
#include <map>
#include <optional>

#include "passes/analysis/axis_info.h"
#include "passes/ir_names.h"

namespace tilewright::passes {

/// The bytes that an access touches: base + sum of scalar * factor + [lo, hi). Signed index arithmetic is assumed not to wrap.
struct AddressForm {
  ir::ValueId base;                             // a parameter of the kernel
  std::map<ir::ValueId, std::int64_t> scalars;  // each with its factor
  std::int64_t lo = 0, hi = 0;
};

/// The parameter of the kernel on which a pointer or a tensor map is based; none if it comes from memory or differs by the way that control
/// took.
ir::ValueId base_parameter(const ir::Function&, ir::ValueId);
/// Whether accesses that are based on two parameters may touch the same memory: always if one of the parameters is not known.
bool may_share_memory(const ir::Function&, ir::ValueId base, ir::ValueId other_base);

/// The address form of a load, store or atomic; none if the pointer is not computed from one parameter, or its offsets are unbounded.
std::optional<AddressForm> address_form(const ir::Function&, ir::OpId, const AxisInfoAnalysis&);

/// Whether the two accesses touch no common byte, provided that both see the same values of their scalars.
bool are_apart(const AddressForm&, const AddressForm&);
/// Whether the two touch no common byte if `a` belongs to an earlier iteration of a loop (a for) than `b`.
bool are_apart_in_iterations(const ir::Function&, ir::OpId loop, const AddressForm& a, const AddressForm& b);

}  // namespace tilewright::passes
