// The cache of a kernel's compiled specializations. One thread makes an entry; other threads that need the same one wait for it.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/device.h"
#include "tilewright/kernel_key.h"

namespace tilewright::rt {

/// An LRU cache of at most `capacity` entries. Lookups take no lock and count no references: a result of find() and get() stays valid as
/// long as the ActiveCall around the call, and an evicted kernel is unloaded when the calls that may use it have ended. The time of a use
/// is the number of entries made so far, so that a launch usually writes no shared memory.
class KernelCache {
 public:
  using Value = std::shared_ptr<const Executable>;
  using Key = detail::KernelKey;

  explicit KernelCache(std::size_t capacity);
  ~KernelCache();

  /// The entry, or null. Takes no lock and allocates nothing. May miss an entry that another thread is making at the same time.
  const Executable* find(const Key&) const noexcept;
  /// The entry; if there is none, `make` makes it. An exception of `make` is thrown in all threads that wait for the entry; not cached.
  const Executable& get(const Key&, const std::function<Value()>& make);
  /// The number of entries.
  std::size_t size() const;
  /// Sets the capacity and evicts entries above it. Requires: at least 1.
  void set_capacity(std::size_t);

 private:
  struct Entry;
  struct Table;
  struct InFlight;
  /// An evicted entry, which calls of earlier epochs may still use.
  struct Retired;
  struct Hash {
    std::size_t operator()(const Key& k) const { return k.hash(); }
  };
  const Executable& add(const Key&, Value);
  void evict(std::size_t count);
  void publish(std::unique_ptr<Table>);
  std::vector<Retired> take_unused();

  std::atomic<const Table*> table_;
  std::atomic<std::uint64_t> made_{0};  // twice the number of entries made so far: the time of a use
  mutable std::mutex mutex_;            // guards the members below; never held while making or unloading
  std::size_t capacity_;
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::unique_ptr<Table> newest_;  // owns the table to which table_ points
  std::vector<Retired> retired_;
  std::unordered_map<Key, std::shared_ptr<InFlight>, Hash> in_flight_;
};

}  // namespace tilewright::rt
