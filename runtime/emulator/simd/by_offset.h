// Few objects that are looked up often, by their offset in memory.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// A sorted map. The objects never move.
template <class T>
class ByOffset {
 public:
  using Entry = std::pair<u32, std::unique_ptr<T>>;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }

  /// The first object at or after an offset.
  auto lower_bound(u32 offset) const { return std::ranges::lower_bound(entries_, offset, {}, &Entry::first); }
  /// The object at the offset; null if there is none.
  T* find(u32 offset) const {
    const auto at = lower_bound(offset);
    return at != entries_.end() && at->first == offset ? at->second.get() : nullptr;
  }
  /// Requires: there is no object at the offset.
  T& insert(u32 offset, std::unique_ptr<T> object) { return *entries_.emplace(lower_bound(offset), offset, std::move(object))->second; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace tilewright::rt::emulator
