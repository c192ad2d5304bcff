// Manages the scratch memory of compiled kernels.
#include "runtime/host/scratch.h"

#include <utility>

namespace tilewright::rt {

ScratchPool::Lease ScratchPool::acquire(std::size_t bytes) {
  Arena arena;
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      arena = std::move(idle_.back());  // the most recently used one, which is most likely in a cache
      idle_.pop_back();
    }
  }
  if (arena.bytes < bytes) {
    arena = {};  // freed first, so that old and new memory do not exist at the same time
    arena.memory.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64})));
    arena.bytes = bytes;
  }
  return Lease(*this, std::move(arena));
}

void ScratchPool::give_back(Arena arena) {
  if (arena.bytes == 0) return;
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(arena));
}

}  // namespace tilewright::rt
