// The kernel key, which identifies a specialization: words, and values of users' types that are compared by their ==.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "tilewright/short_vector.h"

namespace tilewright::detail {

/// The operations that a key needs on a value of a user's type.
struct OwnType {
  bool (*equal)(const void*, const void*);
  std::shared_ptr<const void> (*copy)(const void*);
};
template <class T>
inline constexpr OwnType kOwnType{
    [](const void* a, const void* b) -> bool { return *static_cast<const T*>(a) == *static_cast<const T*>(b); },
    [](const void* value) -> std::shared_ptr<const void> { return std::make_shared<const T>(*static_cast<const T*>(value)); }};

/// Built by add_*, then compared and looked up. Every launch builds one; a key of the usual size allocates nothing.
class KernelKey {
 public:
  void add_word(std::uint64_t word) {
    words_.push_back(word);
    // The multiplier is that of splitmix64.
    hash_ = (hash_ ^ word) * 0xbf58476d1ce4e5b9u;
    hash_ ^= hash_ >> 29;
  }
  void add_bytes(const void* data, std::size_t size) {
    for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const char*>(data) + at, size - at < sizeof word ? size - at : sizeof word);
      add_word(word);
    }
  }
  template <class T>
    requires std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>
  void add(T value) {
    add_bytes(&value, sizeof value);
  }
  /// The value must stay in place as long as this key is used; only kept() copies it. Keys of one kernel have the same types in the same
  /// order.
  template <class T>
  void add_own(const T& value, std::uint64_t hash) {
    add_word(hash);
    own_.push_back({&value, &kOwnType<T>});  // NOLINT(bugprone-multi-level-implicit-pointer-conversion): T may be a pointer
  }
  /// A copy of the key that owns its values.
  KernelKey kept() const;

  std::uint64_t hash() const { return hash_; }
  bool operator==(const KernelKey&) const;

 private:
  struct Own {
    const void* value;
    const OwnType* type;
  };
  ShortVector<std::uint64_t, 24> words_;
  ShortVector<Own, 4> own_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::uint64_t hash_ = 0x9e3779b97f4a7c15u;
};

}  // namespace tilewright::detail
