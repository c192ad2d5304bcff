// Scratch memory of compiled kernels: one arena for each running thread, which is kept for later launches.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace tilewright::rt {

class ScratchPool {
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  struct Arena {
    std::unique_ptr<std::byte, Free> memory;
    std::size_t bytes = 0;
  };

 public:
  /// Holds an arena while it lives.
  class Lease {
   public:
    Lease(ScratchPool& pool, Arena arena) : pool_(pool), arena_(std::move(arena)) {}
    ~Lease() { pool_.give_back(std::move(arena_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    std::byte* data() const { return arena_.memory.get(); }

   private:
    ScratchPool& pool_;
    Arena arena_;
  };

  /// At least `bytes`, 64-byte aligned, contents undefined. Throws std::bad_alloc.
  Lease acquire(std::size_t bytes);

 private:
  void give_back(Arena);
  std::mutex mutex_;
  std::vector<Arena> idle_;
};

}  // namespace tilewright::rt
