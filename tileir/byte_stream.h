// Writes values into bytes and reads them back, in this machine's byte order: what the disk cache keeps, for builds of this machine only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tilewright::ir {

/// Appends values. A text or list has its length in front, so equal bytes mean equal values.
class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void write(T value) {
    append(&value, sizeof value);
  }
  void write(std::string_view text) {
    write(std::uint64_t{text.size()});
    append(text.data(), text.size());
  }
  void write(std::span<const std::byte> bytes) {
    write(std::uint64_t{bytes.size()});
    append(bytes.data(), bytes.size());
  }
  const std::vector<std::byte>& bytes() const& { return bytes_; }
  std::vector<std::byte> bytes() && { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  std::vector<std::byte> bytes_;
};

/// Reads what a ByteWriter wrote. After a read past the end every read gives zero or empty, and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  T read() {
    T value{};
    if (const auto from = take(sizeof value); !from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto from = take(read<std::uint64_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::vector<std::byte> bytes() {
    const auto from = take(read<std::uint64_t>());
    return {from.begin(), from.end()};
  }
  /// The length of a list whose elements take at least one byte each; 0 if fewer bytes than that are left.
  std::size_t length() {
    const auto count = read<std::uint64_t>();
    if (count <= rest_.size()) return static_cast<std::size_t>(count);
    fail();
    return 0;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > rest_.size()) return fail(), std::span<const std::byte>();
    const auto taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return taken;
  }
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace tilewright::ir
