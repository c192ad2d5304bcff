// The format of a file of the disk cache: a key and its content, with a checksum over both.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::rt {

/// The file name for a key: 32 hexadecimal digits.
std::string entry_name(std::span<const std::byte> key);
/// Whether a file with this name is an entry.
bool is_entry_name(std::string_view);

/// The bytes of the file: magic and version, checksum of everything after it, lengths, key, content.
std::vector<std::byte> make_entry(std::span<const std::byte> key, std::span<const std::byte> content);

struct ParsedEntry {
  std::span<const std::byte> key, content;
};
/// None unless make_entry() made exactly these bytes: the file may be cut short, changed or have another format.
std::optional<ParsedEntry> parse_entry(std::span<const std::byte> file);

/// The length of the shortest possible entry.
inline constexpr std::size_t kEntryHeaderBytes = 40;

}  // namespace tilewright::rt
