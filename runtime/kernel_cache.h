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

/// Entries stay for as long as the cache does, which is what a launch relies on: it looks up with no lock and no count of references.
class KernelCache {
 public:
  using Value = std::shared_ptr<const Executable>;
  using Key = detail::KernelKey;

  KernelCache();
  ~KernelCache();

  /// The entry, or null. Takes no lock and allocates nothing. May miss an entry that another thread makes at the same time.
  const Executable* find(const Key&) const noexcept;
  /// The entry; made by `make` if there is none. What `make` throws is thrown to everyone who waits for it and is not remembered.
  const Executable& get(const Key&, const std::function<Value()>& make);
  /// How many entries there are.
  std::size_t size() const;

 private:
  struct Entry;
  struct Table;
  struct Flight;
  struct Hash {
    std::size_t operator()(const Key& k) const { return k.hash(); }
  };
  const Executable& add(const Key&, Value);

  std::atomic<const Table*> table_;
  mutable std::mutex mutex_;  // of what follows; never held while making
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is table_; somebody may still read the others
  std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights_;
};

}  // namespace tilewright::rt
