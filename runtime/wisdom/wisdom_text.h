// Wisdom as text: what was measured of a kernel, one entry a line, each with a checksum.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::rt {

/// What a measured configuration is the best for.
struct WisdomKey {
  std::string kernel;   // its name
  std::string problem;  // what the configuration depends on: shapes, rounded, and types
  std::string device;   // DeviceIdentity
  std::string driver;   // its version
  std::string version;  // of Tilewright
  bool operator==(const WisdomKey&) const = default;
};

struct WisdomEntry {
  WisdomKey key;
  std::string configuration;  // the best one
  double microseconds = 0;    // the median of its launches, or the emulator's estimate
  double spread = 0;          // the distance of the quartiles over the median
  std::int64_t measured = 0;  // how many configurations were
  std::string date;           // UTC, as in 2026-11-25T12:00:00.000000Z: later ones are greater
  bool operator==(const WisdomEntry&) const = default;
};

/// The time of now as WisdomEntry::date.
std::string wisdom_date();

/// What a text holds.
struct WisdomText {
  enum class Format { known, newer, unknown };
  Format format = Format::known;  // of other formats no entry is read
  std::vector<WisdomEntry> entries;
  std::int64_t damaged = 0;  // lines
};
WisdomText parse_wisdom(std::string_view text);

/// The text of a file with these entries.
std::string print_wisdom(const std::vector<WisdomEntry>&);

/// Entries by key: of two with one key, the newer stays, the added one if they are as old.
void merge_wisdom(std::vector<WisdomEntry>& into, const std::vector<WisdomEntry>& added);

}  // namespace tilewright::rt
