// The bounds check of one launch in checked mode: finds accesses outside of live buffers (on the cpu it masks off their lanes) and makes
// the error message.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backend/compiled_kernel.h"
#include "runtime/memory_registry.h"
#include "tilewright/here.h"

namespace tilewright::rt {

class BoundsCheck {
 public:
  /// `live`: MemoryRegistry::snapshot. `sites` must outlive this object.
  BoundsCheck(std::vector<Region> live, std::span<const backend::AccessSite> sites);

  /// A backend::HostCheck whose context is a BoundsCheck. Thread-safe.
  static void check(void* context, const std::uint64_t* addresses, std::uint8_t* active, std::int32_t lanes, std::int32_t site);

  /// The disjoint intervals that accesses may touch. Intervals that contain the target of an argument come first.
  struct Interval {
    std::uint64_t begin, end;
  };
  std::vector<Interval> intervals(std::span<const std::uint64_t> arguments) const;

  /// Records a failure that the device found: the number of elements of a site that are outside of all intervals or misaligned, and the
  /// lowest address.
  void add(std::int32_t site, std::uint64_t lowest_address, std::int64_t count);

  /// Throws Error at the kernel's line if an access was out of bounds. `arguments`: those of the launch. The message gives the address as
  /// an index into the buffer from which it was computed, if that is known, else into the nearest one.
  void report(std::span<const std::uint64_t> arguments, const Here& launched) const;

 private:
  struct Failure {
    std::int32_t site;
    std::uint64_t address;
    auto operator<=>(const Failure&) const = default;
  };
  const Interval* find(std::uint64_t address, std::uint64_t bytes) const;

  std::vector<Region> live_;
  std::vector<Interval> intervals_;  // sorted; overlapping regions are merged
  std::span<const backend::AccessSite> sites_;
  std::mutex mutex_;
  std::optional<Failure> first_;  // the lowest address, so that the report does not depend on the order of threads
  std::int64_t failures_ = 0;
};

/// The message for an access: "load of 4 bytes at index 1024 of a buffer of 1000 float elements (24 elements past its end)".
std::string describe_bad_access(std::uint64_t address, const backend::AccessSite&, std::span<const Region> live,
                                std::span<const std::uint64_t> arguments);

}  // namespace tilewright::rt
