// File descriptors for the disk cache: ownership, and reads and writes of whole files.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tilewright::rt {

/// Closes its descriptor. If the call that opens it failed, it is empty, and errno has the reason.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// None if the file cannot be read, or ends before `size` bytes.
inline std::optional<std::vector<std::byte>> read_whole(const File& file, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = read(file.get(), bytes.data() + at, size - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    at += static_cast<std::size_t>(n);
  }
  return bytes;
}

/// Returns false if not all bytes were written; errno has the reason.
inline bool write_whole(const File& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace tilewright::rt
