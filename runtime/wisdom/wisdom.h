// Keeps what this process knows about measured configurations: its wisdom file, its own measurements and imports.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/device.h"
#include "runtime/wisdom/wisdom_file.h"

namespace tilewright::rt {

/// Thread-safe. If the path of the wisdom file changes, the contents of the old file are forgotten.
class Wisdom {
 public:
  /// The wisdom of this process, which is never destroyed.
  static Wisdom& instance();

  /// What is known about a kernel and a problem on a device; reads the file before the first answer. If there are only entries of other
  /// versions or drivers, the log gets one notice.
  std::optional<WisdomEntry> find(std::string_view kernel, std::string_view problem, rt::Device&);
  /// Whether find() has no entry of any kernel.
  bool is_empty();
  /// Adds a measurement and writes it to the file; a failure to write is a notice in the log.
  void add(WisdomEntry);
  /// Makes find() answer that nothing is known, so that tuners measure again.
  void set_ignored(bool);
  /// A number that changes whenever find() may give another answer.
  std::uint64_t generation();
  /// Reads the file again, since other processes may have measured meanwhile.
  void refresh();

  std::vector<WisdomEntry> entries();
  void merge(std::vector<WisdomEntry>);

 private:
  void follow_path();  // requires the lock
  void read_file();
  void insert(WisdomEntry);

  std::mutex mutex_;
  std::optional<std::string> path_;  // of the file that was read; none before
  // Indexed by kernel, problem and device; the entries in a list differ in driver and version.
  std::unordered_map<std::string, std::vector<WisdomEntry>> known_;
  std::set<std::string> reported_;
  bool ignored_ = false;
  std::uint64_t generation_ = 0;
};

/// The key for an entry that is measured now.
WisdomKey wisdom_key(std::string_view kernel, std::string_view problem, rt::Device&);

/// Whether tilewright::seal() was called.
bool is_sealed();
/// For tests: sets or removes the seal.
void set_sealed(bool);

}  // namespace tilewright::rt
