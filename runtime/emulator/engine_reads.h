// What warps have read last for an engine that works for several of them.
#pragma once
#include <array>
#include <cstddef>

#include "runtime/emulator/scalar_types.h"

namespace tilewright::rt::emulator {

/// A part of shared memory that has been read, and found to be in order.
struct EngineRead {
  u64 descriptor = 0;
  u32 instruction = 0, epoch = 0;  // 0: nothing was read
  u64 writes = 0;                  // of the block at that time
  std::array<u64, 4> after{};      // the stamps of writes that its cells held
};

class EngineReads {
 public:
  void add(const EngineRead& read) { last_[next_++ % last_.size()] = read; }
  auto begin() const { return last_.begin(); }
  auto end() const { return last_.end(); }

 private:
  std::array<EngineRead, 8> last_;
  std::size_t next_ = 0;
};

}  // namespace tilewright::rt::emulator
