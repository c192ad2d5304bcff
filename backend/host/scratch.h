// Places buffers in a thread's scratch memory: first fit, in the order of their lives.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

namespace tilewright::backend::host {

class Scratch {
 public:
  /// The offset of a free range, a multiple of 64.
  std::int64_t allocate(std::int64_t bytes);
  void free(std::int64_t offset);
  /// The most bytes that were in use at once.
  std::int64_t high_water() const { return high_water_; }

 private:
  std::map<std::int64_t, std::int64_t> live_;  // offset -> bytes
  std::int64_t high_water_ = 0;
};

}  // namespace tilewright::backend::host
