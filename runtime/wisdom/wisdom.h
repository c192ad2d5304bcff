// What this process knows of measured configurations: its wisdom file, its own measurements and imports.
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

/// Thread-safe. Follows the path of the wisdom file: what it knows is forgotten when that changes.
class Wisdom {
 public:
  /// That of this process, which is never destroyed.
  static Wisdom& instance();

  /// What is known of a kernel and a problem on a device; reads the file before the first answer. That there are only entries of other
  /// versions or drivers is a notice of the log, once.
  std::optional<WisdomEntry> find(std::string_view kernel, std::string_view problem, rt::Device&);
  /// Whether find() could find an entry of any kernel.
  bool is_empty();
  /// Adds a measurement, and writes it into the file; that this fails is a notice of the log.
  void add(WisdomEntry);
  /// Whether find() answers that nothing is known, so that tuners measure again.
  void set_ignored(bool);
  /// Another number whenever find() may answer something else.
  std::uint64_t generation();
  /// Reads the file again: other processes may have measured meanwhile.
  void refresh();

  std::vector<WisdomEntry> entries();
  void merge(std::vector<WisdomEntry>);

 private:
  void follow_path();  // requires the lock
  void read_file();
  void insert(WisdomEntry);

  std::mutex mutex_;
  std::optional<std::string> path_;  // of what was read; none before
  // By kernel, problem and device; the entries of each differ in driver and version.
  std::unordered_map<std::string, std::vector<WisdomEntry>> known_;
  std::set<std::string> reported_;
  bool ignored_ = false;
  std::uint64_t generation_ = 0;
};

/// The key of an entry that is measured now.
WisdomKey wisdom_key(std::string_view kernel, std::string_view problem, rt::Device&);

/// Whether tilewright::seal() was called.
bool is_sealed();
/// For tests: takes the seal off, or puts it on.
void set_sealed(bool);

}  // namespace tilewright::rt
