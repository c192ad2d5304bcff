// Non-temporal stores: a launch that writes more than the caches hold would otherwise read every line before it overwrites it, half as much
// traffic again.
#pragma once
#include "backend/host/nest.h"

namespace tilewright::backend::host {

/// Which stores of a function are non-temporal. Whether a launch makes them is known when it runs: two loops are emitted for such a row.
class NonTemporalStores {
 public:
  /// At the entry of the function.
  explicit NonTemporalStores(Emitter&);

  /// For the current row: whether the launch makes non-temporal stores and every candidate of the nest starts on a register's boundary.
  /// Null if the nest has no candidate.
  Value* row_condition(Nest&);
  /// Whether the next loop that is emitted runs where row_condition holds.
  void set_active(bool active) { active_ = active; }
  /// Whether a store of the loop being emitted is non-temporal.
  bool applies_to(const Nest& nest, OpId id) const { return active_ && is_candidate(nest, id); }
  void store(Value*, Value* address);
  /// At the end of the function: no lock or atomic that follows orders such stores, only a fence does.
  void finish();

 private:
  bool is_candidate(const Nest&, OpId) const;

  Emitter& e_;
  Value* exceeds_caches_ = nullptr;  // whether the launch stores more than the last-level cache holds; null: no store is a candidate
  bool active_ = false;
  bool used_ = false;
};

}  // namespace tilewright::backend::host
