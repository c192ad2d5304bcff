// Memory of a device: typed, of a fixed size, owned by one object.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tilewright/elements.h"
#include "tilewright/here.h"

namespace tilewright {

namespace rt {
class Device;
}

namespace detail {

/// A buffer without its element type; keeps its device alive. A default-constructed or moved-from buffer is empty; using it is an error.
class RawBuffer {
 public:
  RawBuffer() = default;
  /// Memory of `count` elements, contents undefined.
  RawBuffer(std::shared_ptr<rt::Device>, Code, std::int64_t count, const Here&);
  /// Wraps memory that the caller owns and keeps alive.
  RawBuffer(std::shared_ptr<rt::Device>, Code, void* memory, std::int64_t count, const Here&);
  RawBuffer(RawBuffer&&) noexcept;
  RawBuffer& operator=(RawBuffer&&) noexcept;
  ~RawBuffer();

  std::size_t size() const { return static_cast<std::size_t>(count_); }
  void* memory() const { return memory_; }
  /// Whether the memory is this object's own allocation, and not a wrapped pointer.
  bool is_owned() const { return owned_; }
  /// The device; null if the buffer is empty.
  const std::shared_ptr<rt::Device>& device() const { return device_; }
  /// The address of element `offset`, 0 to size(). Throws Error for other offsets.
  const void* at(std::int64_t offset, const Here&) const;

  // These throw Error if the buffer is empty, or if `count`, in elements, is not its size.
  void read(void* to, std::size_t count, const Here&) const;
  void write(const void* from, std::size_t count, const Here&);
  void fill(const void* element, const Here&);

 private:
  void expect_size(const char* what, std::size_t count, const Here&) const;
  /// Tells a measurement on this thread that all elements will be written.
  void announce_write(const Here&);
  /// Adds the memory to the device's MemoryRegistry, for the bounds checks of checked mode.
  void watch();
  void release() noexcept;

  std::shared_ptr<rt::Device> device_;
  void* memory_ = nullptr;
  std::int64_t count_ = 0;
  std::uint64_t watched_ = 0;  // the number of this memory in the device's MemoryRegistry
  Code element_ = Code::boolean;
  bool owned_ = false;
};

}  // namespace detail

template <ValueElement T>
class Buffer;

/// buffer + k: an address inside of a buffer, for a pointer argument; BufferAt<const T> for a const buffer. The buffer must outlive it.
template <class T>
  requires ValueElement<std::remove_const_t<T>>
struct BufferAt {
  const Buffer<std::remove_const_t<T>>* buffer;
  std::int64_t offset;
};

/// `size()` elements on a device. Transfers use the device's default stream and are complete when they return. A const buffer is read-only,
/// for kernels too.
template <ValueElement T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(detail::RawBuffer raw) : raw_(std::move(raw)) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;

  /// The number of elements.
  std::size_t size() const { return raw_.size(); }
  /// The device address of the first element; on the cpu it can be used as a pointer.
  T* data() { return static_cast<T*>(raw_.memory()); }
  const T* data() const { return static_cast<const T*>(raw_.memory()); }

  /// A copy of the contents, after all work submitted before is done.
  std::vector<T> download(Here at = Here::current()) const {
    if constexpr (std::same_as<T, bool>) {
      const auto bytes = std::make_unique<bool[]>(size());
      raw_.read(bytes.get(), size(), at);
      return std::vector<bool>(bytes.get(), bytes.get() + size());
    } else {
      std::vector<T> values(size());
      raw_.read(values.data(), size(), at);
      return values;
    }
  }
  /// `to` must be as long as the buffer.
  void download(std::span<T> to, Here at = Here::current()) const { raw_.read(to.data(), to.size(), at); }
  /// `from` must be as long as the buffer.
  void upload(std::span<const T> from, Here at = Here::current()) { raw_.write(from.data(), from.size(), at); }
  void upload(const std::vector<T>& from, Here at = Here::current()) {
    if constexpr (std::same_as<T, bool>) {
      const auto bytes = std::make_unique<bool[]>(from.size());
      std::copy(from.begin(), from.end(), bytes.get());
      raw_.write(bytes.get(), from.size(), at);
    } else {
      raw_.write(from.data(), from.size(), at);
    }
  }
  /// Sets every element to `value`.
  void fill(T value, Here at = Here::current()) { raw_.fill(&value, at); }

  friend BufferAt<T> operator+(Buffer& buffer, Extent k) { return {&buffer, k.value}; }
  friend BufferAt<T> operator+(Buffer&& buffer, Extent k) { return {&buffer, k.value}; }
  friend BufferAt<const T> operator+(const Buffer& buffer, Extent k) { return {&buffer, k.value}; }

  // For use by the library only.
  const detail::RawBuffer& raw() const { return raw_; }

 private:
  detail::RawBuffer raw_;
};

}  // namespace tilewright
