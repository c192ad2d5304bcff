// The compiled specializations of a kernel in memory. One thread makes an entry while others that want it wait.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "runtime/device.h"
#include "tilewright/kernel_key.h"

namespace tilewright::rt {

class KernelCache {
 public:
  using Value = std::shared_ptr<const Executable>;
  using Key = detail::KernelKey;

  /// The entry, or null. Takes a shared lock only.
  Value find(const Key&) const;
  /// The entry; made by `make` if there is none. What `make` throws is thrown to everyone who waits for it and is not remembered.
  Value get(const Key&, const std::function<Value()>& make);
  /// How many entries there are.
  std::size_t size() const;

 private:
  struct Hash {
    std::size_t operator()(const Key& k) const { return k.hash(); }
  };
  struct Flight;
  mutable std::shared_mutex ready_mutex_;
  std::unordered_map<Key, Value, Hash> ready_;
  std::mutex flights_mutex_;  // never held while making; taken before ready_mutex_
  std::unordered_map<Key, std::shared_ptr<Flight>, Hash> flights_;
};

}  // namespace tilewright::rt
