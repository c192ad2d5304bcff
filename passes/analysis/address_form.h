// Addresses as sums: what two accesses must have in common to meet.
#pragma once
#include <map>
#include <optional>

#include "passes/analysis/axis_info.h"
#include "passes/ir_names.h"

namespace tilewright::passes {

/// The bytes that an access touches: base + sum of scalars + one of [lo, hi). As elsewhere, signed index arithmetic is taken not to wrap.
struct AddressForm {
  ir::ValueId base;                           // a parameter of the kernel
  std::map<ir::ValueId, std::int64_t> scalars;  // by how much each counts
  std::int64_t lo = 0, hi = 0;
};

/// Of a load, store or atomic; none where the pointer does not come from one parameter, or its offsets may be anything.
std::optional<AddressForm> address_form(const ir::Function&, ir::OpId, const AxisInfoAnalysis&);

/// Whether no address of the one is one of the other; both have their scalars at one time.
bool are_apart(const AddressForm&, const AddressForm&);
/// The same where `a` is of some earlier pass of a loop (a for) than `b`.
bool are_apart_in_iterations(const ir::Function&, ir::OpId loop, const AddressForm& a, const AddressForm& b);

}  // namespace tilewright::passes
