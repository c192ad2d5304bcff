// A cache of byte strings by key in a folder on disk, for many processes at once, each of which may be killed at any time.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/disk_cache/file.h"

namespace tilewright::rt {

/// Each entry is a file in the folder `code` of the cache's folder. Every function may be called from any thread. None throws for a failure
/// of the disk: it is a notice in the log, and the entry is not found or not stored.
///
/// * A file appears by a rename when it is complete, and never changes. A wrong checksum means that the disk failed or the machine lost
///   power: such a file is removed.
/// * Readers take no lock. A file that is removed while it is read stays readable.
/// * If all entries together are larger than the limit, the least recently used ones are removed. A file's modification time is the time of
///   its last use. The file `size` has one byte for each 4 KiB stored: appending is atomic, so a killed writer at worst leaves a count that
///   is too high. The removal, which one process at a time does under the file `lock`, corrects the count.
/// * Cached code is executed, so files are not read or written where another user could have put them.
class DiskCache {
 public:
  /// Makes the folder if it does not exist. Null, with a notice, if it belongs to another user or others may write to it.
  static std::shared_ptr<DiskCache> open(const std::string& folder, std::uint64_t limit_bytes);

  /// The content that was stored for exactly this key.
  std::optional<std::vector<std::byte>> load(std::span<const std::byte> key);
  void store(std::span<const std::byte> key, std::span<const std::byte> content);
  /// Removes the entry, because its content is invalid.
  void reject(std::span<const std::byte> key, std::string_view reason);
  /// Removes all entries.
  void clear();

  struct Usage {
    std::uint64_t entries = 0, bytes = 0;  // in steps of 4 KiB
  };
  Usage usage() const;
  const std::string& folder() const { return folder_; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }

  /// Counts of this process.
  struct Counters {
    std::atomic<std::uint64_t> hits{0}, misses{0}, stores{0}, rejected{0}, evicted{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Found;
  DiskCache(std::string folder, File files, std::uint64_t limit_bytes);
  void reject_file(const std::string& name, std::string_view reason);
  File open_size() const;
  void add_to_count(const File& size, std::uint64_t blocks) const;
  std::uint64_t counted_bytes(const File& size) const;
  void keep_limit(const File& size, bool recount);
  bool evict(const File& size, std::uint64_t limit, int lock_flags);
  std::vector<Found> scan() const;
  void report(std::string_view action, const std::string& name) const;

  const std::string folder_;
  const File files_;  // the folder with the entries
  const std::uint64_t limit_bytes_;
  Counters counters_;
};

}  // namespace tilewright::rt
