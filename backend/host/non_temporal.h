// Non-temporal stores: without them, a launch whose memory exceeds the caches would read every line before it overwrites it, which adds half
// of the traffic again.
#pragma once
#include <set>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

/// Decides which stores of a function are non-temporal. Whether a launch uses them is known at run time, so such a row has two loops.
class NonTemporalStores {
 public:
  /// Emits code at the entry of the function.
  explicit NonTemporalStores(Emitter&);

  /// For the current row: whether the launch uses non-temporal stores and every candidate of the nest starts at a multiple of the register
  /// size, `ahead` elements behind the beginning of the row. Null if the nest has no candidate.
  Value* row_condition(Nest&, Value* ahead);
  /// The only store of a nest whose vectors may begin with any index of a row; else none. Rows are long enough for it to pay that no vector is
  /// stored to parts of two cache lines.
  OpId aligned_store(const Nest&) const;
  /// How many elements of the current row lie before the first multiple of the register size; 0 if no element does lie at a multiple.
  Value* elements_before_whole_registers(Nest&, OpId store);
  /// i1: the same for a store of whole registers to rows of memory, at this address and so many bytes apart. Null if the store is never
  /// non-temporal.
  Value* rows_condition(OpId store, Value* first, Value* distance);
  /// Fetches the cache lines of the first element of a row and of the last one of `count`, of which stores write parts: among non-temporal
  /// stores, such a store waits for its line, and all later ones with it. The row is that of the next program where that is known.
  void fetch_ends(Nest&, OpId store, Value* count);
  /// Whether the next loop that is emitted is the one for rows where row_condition holds.
  void set_active(bool active) { active_ = active; }
  /// Whether a store of the loop being emitted is non-temporal.
  bool applies_to(const Nest& nest, OpId id) const { return active_ && is_candidate(nest, id); }
  void store(Value*, Value* address);
  /// Called at the end of the function: a lock or an atomic does not order such stores, only a fence does.
  void finish();

 private:
  bool is_candidate(const Nest&, OpId) const;
  /// The address, as i64, of the first element that a store or load accesses in the current row.
  Value* first_address(Nest&, OpId);
  /// Whether the function loads from memory that this store may write.
  bool updates_memory(OpId store) const;

  Emitter& e_;
  std::set<ValueId> loaded_;         // the parameters on which pointers of loads are based, and none if one is not known
  Value* exceeds_caches_ = nullptr;  // whether the launch's memory exceeds the caches; null: no store is a candidate
  bool active_ = false;
  bool used_ = false;
};

}  // namespace tilewright::backend::host
