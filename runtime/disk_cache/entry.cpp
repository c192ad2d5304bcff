// The format of a file of the disk cache: a key and its content, with a checksum over both.
#include "runtime/disk_cache/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/disk_cache/hash128.h"

namespace tilewright::rt {

namespace {

struct Header {
  char magic[8];
  Hash128 checksum;  // of all bytes after it
  std::uint64_t key_bytes, content_bytes;
};
static_assert(sizeof(Header) == kEntryHeaderBytes);

constexpr char kMagic[8] = {'T', 'W', 'C', 'O', 'D', 'E', '0', '1'};
constexpr std::size_t kCheckedFrom = offsetof(Header, key_bytes);
constexpr std::size_t kNameDigits = 32;

}  // namespace

std::string entry_name(std::span<const std::byte> key) {
  const Hash128 hash = hash128(key);
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

bool is_entry_name(std::string_view name) { return name.size() == kNameDigits && name.find_first_not_of("0123456789abcdef") == name.npos; }

std::vector<std::byte> make_entry(std::span<const std::byte> key, std::span<const std::byte> content) {
  std::vector<std::byte> file(sizeof(Header) + key.size() + content.size());
  std::copy(key.begin(), key.end(), file.begin() + sizeof(Header));
  std::copy(content.begin(), content.end(), file.begin() + static_cast<std::ptrdiff_t>(sizeof(Header) + key.size()));
  Header header{{}, {}, key.size(), content.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::memcpy(file.data(), &header, sizeof header);
  header.checksum = hash128(std::span(file).subspan(kCheckedFrom));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

std::optional<ParsedEntry> parse_entry(std::span<const std::byte> file) {
  Header header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  const std::uint64_t rest = file.size() - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes > rest || header.content_bytes != rest - header.key_bytes ||
      hash128(file.subspan(kCheckedFrom)) != header.checksum)
    return std::nullopt;
  return ParsedEntry{file.subspan(sizeof header, header.key_bytes), file.subspan(sizeof header + header.key_bytes)};
}

}  // namespace tilewright::rt
