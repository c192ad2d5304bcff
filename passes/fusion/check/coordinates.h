// Short lists of coordinates of elements and points. A check makes millions of them, so up to 8 coordinates need no heap memory.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::passes::fusion {

/// A vector of trivial elements that stores up to N of them in the object itself.
template <class T, std::size_t N>
class InlineVector {
 public:
  InlineVector() = default;
  explicit InlineVector(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) push_back(T());
  }
  template <class Iterator>
  InlineVector(Iterator begin, Iterator end) {
    append(begin, end);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return rest_.empty() ? own_.data() : rest_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return rest_.empty() ? own_.data() : rest_.data(); }
  const T* end() const { return begin() + size_; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  const T& back() const { return begin()[size_ - 1]; }

  void push_back(const T& value) {
    if (size_ < N && rest_.empty()) {
      own_[size_++] = value;
      return;
    }
    if (rest_.empty()) rest_.assign(own_.begin(), own_.end());
    rest_.push_back(value);
    ++size_;
  }
  void pop_back() {
    if (!rest_.empty()) rest_.pop_back();
    --size_;
  }
  template <class Iterator>
  void append(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) push_back(*begin);
  }
  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::size_t size_ = 0;
  std::array<T, N> own_{};
  std::vector<T> rest_;  // all elements, if there are more than N
};

/// The coordinates of an element, along each axis.
using Coordinates = InlineVector<std::int64_t, 8>;

/// A visited position may represent many: a coordinate is the visited position, and how far before it the one is that is meant. Their elements
/// are equal, and only a comparison of indices tells them apart: in sum(where(i == j, x, 0)), each position along i is one of those along j.
inline constexpr std::int64_t kRepresented = std::int64_t{1} << 44;
inline constexpr std::int64_t kMostMeant = (std::int64_t{1} << 18) - 1;  // positions further back are not told apart
inline std::int64_t coordinate_of(std::int64_t position, std::int64_t meant) { return position + meant * kRepresented; }
inline std::int64_t position_of(std::int64_t coordinate) { return coordinate % kRepresented; }
inline std::int64_t meant_by(std::int64_t coordinate) { return coordinate / kRepresented; }
/// The position that is meant.
inline std::int64_t actual_position(std::int64_t coordinate) { return position_of(coordinate) - meant_by(coordinate); }

}  // namespace tilewright::passes::fusion
