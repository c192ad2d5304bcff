// The format of a file of the disk cache: a key and its content, with a checksum over both.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::rt {

/// The name of the file of a key: 32 hexadecimal digits.
std::string entry_name(std::span<const std::byte> key);
/// Whether a file of this name is an entry.
bool is_entry_name(std::string_view);

/// The file: magic and version, checksum of all that follows, lengths, key, content.
std::vector<std::byte> make_entry(std::span<const std::byte> key, std::span<const std::byte> content);

struct ParsedEntry {
  std::span<const std::byte> key, content;
};
/// Nothing unless make_entry() made exactly these bytes: a file that is cut short, changed or of another format.
std::optional<ParsedEntry> parse_entry(std::span<const std::byte> file);

/// No entry is shorter.
inline constexpr std::size_t kEntryHeaderBytes = 40;

}  // namespace tilewright::rt
