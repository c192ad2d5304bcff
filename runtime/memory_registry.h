// The live buffers of a device by address, for the bounds checks of checked mode.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace tilewright::rt {

/// The memory of one buffer, and the name of its element type for messages.
struct Region {
  std::uint64_t begin = 0, bytes = 0;
  std::int64_t elements = 0;
  int element_bytes = 1;
  const char* element = "";  // "float"; a string literal
  bool owned = false;        // the buffer owns the memory
  std::uint64_t id = 0;      // the number that add() returned; set in snapshots
  std::uint64_t end() const { return begin + bytes; }
};

/// Thread-safe. Regions may overlap: a wrapped pointer may point into an owned buffer.
class MemoryRegistry {
 public:
  /// Adds a region; the returned number removes it again.
  std::uint64_t add(const Region&);
  void remove(std::uint64_t id);
  /// All regions, in order of `begin`.
  std::vector<Region> snapshot() const;
  /// A lower bound for the numbers of regions that are added from now on.
  std::uint64_t next_id() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Region> regions_;
  std::uint64_t next_ = 1;
};

}  // namespace tilewright::rt
