// Wisdom as text: one entry, with a checksum, on each line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::rt {

/// What a measured configuration is the best for.
struct WisdomKey {
  std::string kernel;   // name of the kernel
  std::string problem;  // the properties on which the configuration depends: shapes, rounded, and types
  std::string device;   // DeviceIdentity
  std::string driver;   // version of the driver
  std::string version;  // version of Tilewright
  bool operator==(const WisdomKey&) const = default;
};

struct WisdomEntry {
  WisdomKey key;
  std::string configuration;  // the best configuration
  double microseconds = 0;    // the median of its launches, or the emulator's estimate
  double spread = 0;          // the distance of the quartiles divided by the median
  std::int64_t measured = 0;  // how many configurations were measured
  std::string date;           // UTC, as in 2026-11-25T12:00:00.000000Z: later dates compare greater
  bool operator==(const WisdomEntry&) const = default;
};

/// The current time in the form of WisdomEntry::date.
std::string wisdom_date();

/// The contents of a text.
struct WisdomText {
  enum class Format { known, newer, unknown };
  Format format = Format::known;  // if the format is unknown, no entry is read
  std::vector<WisdomEntry> entries;
  std::int64_t damaged = 0;  // number of damaged lines
};
WisdomText parse_wisdom(std::string_view text);

/// The text of a file with these entries.
std::string print_wisdom(const std::vector<WisdomEntry>&);

/// Merges entries by key: of two with the same key the newer one stays; if they are equally old, the added one.
void merge_wisdom(std::vector<WisdomEntry>& into, const std::vector<WisdomEntry>& added);

}  // namespace tilewright::rt
