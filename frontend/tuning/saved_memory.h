// Copies of memory that launches write. With them, each measured launch finds the memory as the first launch found it.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/device.h"
#include "runtime/write_observer.h"

namespace tilewright::tuning {

/// Thrown if there is no memory for a copy.
struct NoMemoryForCopy {};

/// As an observer, it copies memory before the first write to it, if asked to follow writes. It skips memory that was allocated since the
/// measured call began, because that holds nothing for the next call.
class SavedMemory : public rt::WriteObserver {
 public:
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  /// `stream` runs the copies. `follow_writes`: copies what calls are about to write.
  SavedMemory(rt::Device& device, rt::Stream& stream, bool follow_writes, const Here& at)
      : WriteObserver(at), device_(device), stream_(stream), follow_writes_(follow_writes) {}
  ~SavedMemory() override;

  /// Copies memory that is not copied yet, in the order of the stream. Throws NoMemoryForCopy.
  void save(rt::Device&, Range, rt::Stream&);
  void before_write(rt::Device&, std::uint64_t begin, std::uint64_t end, rt::Stream&, const Here& at) override;
  /// Submits copies that restore the memory, except that of destroyed buffers. Later calls belong to a new measured call.
  void restore();

 private:
  struct Copy {
    rt::Device* device;
    Range range;
    std::uint64_t address;
    std::uint64_t region;  // the buffer that had the memory; 0: none
  };

  rt::Device& device_;
  rt::Stream& stream_;
  const bool follow_writes_;
  std::uint64_t first_new_region_ = UINT64_MAX;
  std::vector<Copy> copies_;  // their ranges do not overlap

  rt::Stream& stream_of(const Copy& c) const { return c.device == &device_ ? stream_ : c.device->default_stream(); }
};

}  // namespace tilewright::tuning
