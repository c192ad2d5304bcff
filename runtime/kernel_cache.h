// The compiled specializations of a kernel in memory. One thread makes an entry while others that want it wait.
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

/// At most `capacity` entries; the least recently used one makes room for a new one. A launch looks up with no lock and no count of
/// references: what find() and get() give stays as long as the ActiveCall that they are called in, so an evicted kernel is unloaded when
/// the launches that run it have ended. Uses are told apart by the entries made between them, so that a launch writes nothing that others
/// read.
class KernelCache {
 public:
  using Value = std::shared_ptr<const Executable>;
  using Key = detail::KernelKey;

  explicit KernelCache(std::size_t capacity);
  ~KernelCache();

  /// The entry, or null. Takes no lock and allocates nothing. May miss an entry that another thread makes at the same time.
  const Executable* find(const Key&) const noexcept;
  /// The entry; made by `make` if there is none. What `make` throws is thrown to everyone who waits for it and is not remembered.
  const Executable& get(const Key&, const std::function<Value()>& make);
  /// How many entries there are.
  std::size_t size() const;
  /// Evicts what is too many. Requires: at least 1.
  void set_capacity(std::size_t);

 private:
  struct Entry;
  struct Table;
  struct Flight;
  /// What is no longer found, and may still be in use by calls of an epoch before this one.
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
  mutable std::mutex mutex_;            // of what follows; never held while making or unloading
  std::size_t capacity_;
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::unique_ptr<Table> newest_;  // table_
  std::vector<Retired> retired_;
  std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights_;
};

}  // namespace tilewright::rt
