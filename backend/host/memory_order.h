// The order of a block's accesses to memory.
#pragma once
#include <optional>
#include <vector>

#include "passes/analysis/address_form.h"
#include "passes/analysis/axis_info.h"
#include "tileir/ir.h"

namespace tilewright::backend::host {

/// Finds the first step of a block that a load or store may belong to. Each op must seem to run on all lanes before the next op begins, so
/// an access comes after the steps of earlier accesses that may touch the same memory, if one of the two writes. It may share a loop nest
/// with such an access in two cases: the pointers are based on parameters that the launch knows to be distinct, or the two have the same
/// addresses at the same indices, and different ones at different indices (a tile that is updated in place). Volatile accesses keep their
/// order with all others.
class MemoryOrder {
 public:
  /// Null: nothing is known about addresses beyond their parameters.
  MemoryOrder(const ir::Function& f, const passes::AxisInfoAnalysis* info) : f_(f), info_(info) {}

  /// The first step for a load or store: of the loop nests there, or of the scalars before a step.
  int first_step(ir::OpId) const;
  /// Records that the load or store belongs to a step.
  void add(ir::OpId, int step);
  /// Later accesses belong to this step or to later ones.
  void begin_at(int step) { first_ = step; }

 private:
  struct Access {
    ir::OpId op;
    int step;
    bool is_scalar, is_store, is_volatile;
    ir::ValueId parameter;  // the one that the address is based on, if it is known
    std::optional<passes::AddressForm> form;
  };
  Access access_of(ir::OpId) const;
  bool may_conflict(const Access& earlier, const Access& later) const;
  bool have_same_lanes(const Access& earlier, const Access& later) const;
  bool has_distinct_addresses(ir::ValueId pointer) const;

  const ir::Function& f_;
  const passes::AxisInfoAnalysis* info_;
  std::vector<Access> accesses_;
  int first_ = 0;
};

}  // namespace tilewright::backend::host
