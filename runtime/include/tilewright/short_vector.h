// A vector that stores a few elements in the object itself, so that a launch with few arguments allocates nothing.
#pragma once
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace tilewright::detail {

/// Up to N elements are stored in place; with more, all of them are on the heap.
template <class T, std::size_t N>
  requires std::is_trivially_copyable_v<T>
class ShortVector {
 public:
  ShortVector() = default;
  ShortVector(const ShortVector& other) : more_(other.more_), size_(other.size_) {
    if (!is_on_heap()) std::memcpy(here_, other.here_, size_ * sizeof(T));
  }
  ShortVector& operator=(const ShortVector&) = delete;

  void push_back(const T& value) {
    if (size_ < N) {
      new (here_ + size_ * sizeof(T)) T(value);
    } else {
      if (size_ == N) more_.assign(data(), data() + N);
      more_.push_back(value);
    }
    ++size_;
  }
  std::size_t size() const { return size_; }
  T* data() { return is_on_heap() ? more_.data() : std::launder(reinterpret_cast<T*>(here_)); }
  const T* data() const { return const_cast<ShortVector*>(this)->data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  operator std::span<const T>() const { return {data(), size_}; }

 private:
  bool is_on_heap() const { return size_ > N; }

  alignas(T) std::byte here_[N * sizeof(T)];
  std::vector<T> more_;
  std::size_t size_ = 0;
};

}  // namespace tilewright::detail
