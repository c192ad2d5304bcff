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
  const char* element = "";  // "float"; a literal
  bool owned = false;        // by the buffer
  std::uint64_t id = 0;      // that add() returned; set in snapshots
  std::uint64_t end() const { return begin + bytes; }
};

/// Thread-safe. Regions may overlap: a wrapped pointer may lie inside an owned buffer.
class MemoryRegistry {
 public:
  /// The returned number removes this region again.
  std::uint64_t add(const Region&);
  void remove(std::uint64_t id);
  /// All regions, in order of `begin`.
  std::vector<Region> snapshot() const;
  /// The numbers of regions that are added from now on are at least this one.
  std::uint64_t next_id() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Region> regions_;
  std::uint64_t next_ = 1;
};

}  // namespace tilewright::rt
