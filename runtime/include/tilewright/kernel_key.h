// What tells the specializations of a kernel apart: bytes, and values of users' own types that are compared with their ==.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace tilewright::detail {

/// A value of a type that only the user can compare.
class OwnValue {
 public:
  virtual ~OwnValue() = default;
  /// Requires: the same type; keys of one kernel have the same type at the same place.
  virtual bool equals(const OwnValue&) const = 0;
};

/// Built by add_*, then sealed, then compared and looked up.
class KernelKey {
 public:
  void add_bytes(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  template <class T>
    requires std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>
  void add(T value) {
    add_bytes(&value, sizeof value);
  }
  void add_own(std::shared_ptr<const OwnValue> value, std::uint64_t hash) {
    add(hash);
    own_.push_back(std::move(value));
  }
  /// Hashes what was added.
  void seal();
  std::uint64_t hash() const { return hash_; }
  bool operator==(const KernelKey&) const;

 private:
  std::string bytes_;
  std::vector<std::shared_ptr<const OwnValue>> own_;
  std::uint64_t hash_ = 0;
};

}  // namespace tilewright::detail
