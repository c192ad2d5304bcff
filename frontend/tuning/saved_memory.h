// Copies of memory that launches write, so that each measured launch finds what the first one found.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tilewright::tuning {

class SavedMemory {
 public:
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  /// Copies the ranges, which may overlap, in the order of the stream. Throws what Device::allocate throws.
  SavedMemory(rt::Device&, std::vector<Range>, rt::Stream&);
  ~SavedMemory();
  SavedMemory(const SavedMemory&) = delete;
  SavedMemory& operator=(const SavedMemory&) = delete;
  /// Submits copies that make the memory as it was.
  void restore();

 private:
  struct Copy {
    Range range;
    std::uint64_t address;
  };
  void release() noexcept;

  rt::Device& device_;
  rt::Stream& stream_;
  std::vector<Copy> copies_;
};

}  // namespace tilewright::tuning
