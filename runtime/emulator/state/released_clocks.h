// What warps release for others to acquire, and through which addresses.
#pragma once
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "runtime/emulator/races/clock.h"

namespace tilewright::rt::emulator {

/// What is released: who acquires with a scope of the whole GPU may take the one, and with a scope of the releasing block the other,
/// which includes it.
struct Knowledge {
  KnownBlocks for_all, for_block;
  AsyncBlocks async;  // of it, what accesses through other proxies may rely on

  void join(const Knowledge& other) {
    for_all.join(other.for_all);
    for_block.join(other.for_block);
    async.join(other.async);
  }
};

/// What was released through addresses, by address.
class Releases {
 public:
  /// Adds to what warps of `block`, and others, may take at `address`; a plain store replaces it.
  void release(u64 address, u32 block, const Knowledge&, bool replaces);
  /// What a warp of `block` may take there.
  Knowledge acquire(u64 address, u32 block) const;
  void clear();

 private:
  struct Released {
    KnownBlocks by_all;
    AsyncBlocks async;
    std::unordered_map<u32, KnownBlocks> by_block;
  };
  std::atomic<bool> any_{false};  // most kernels release nothing
  mutable std::mutex mutex_;
  std::unordered_map<u64, Released> released_;
};

}  // namespace tilewright::rt::emulator
