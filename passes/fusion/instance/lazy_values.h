// Computes values that need others, each once. Graphs are deeper than the stack of a thread: what is too deep waits on a stack of its own.
#pragma once
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/fusion/instance/number.h"

namespace tilewright::passes::fusion {

/// Key: with operator== and a hash. Owner: compute(key) asks for other values by get(), and is called again when they are known if one was
/// missing.
template <class Key, class Hash, class Owner>
class LazyValues {
 public:
  explicit LazyValues(Owner& owner) : owner_(owner) {}
  LazyValues(const LazyValues&) = delete;
  LazyValues& operator=(const LazyValues&) = delete;

  /// The value, or (is_missing() from then on) any number.
  Number get(const Key& key) {
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    // All values that are being computed need what is missing, and are computed again.
    if (is_missing()) return {1, 0};
    if (depth_ == kMostDepth)
      missing_ = key;
    else if (const Number* value = compute(key))
      return *value;
    return {1, 0};
  }
  bool is_missing() const { return missing_.has_value(); }

  Number value(const Key& wanted) {
    for (std::vector<Key> stack{wanted}; !stack.empty();) {
      const Key key = stack.back();
      if (known_.contains(key) || compute(key))
        stack.pop_back();
      else
        stack.push_back(*std::exchange(missing_, std::nullopt));
    }
    return known_.at(wanted);
  }
  /// How many values were computed.
  std::size_t size() const { return known_.size(); }

 private:
  static constexpr int kMostDepth = 64;

  // Null if a value inside is missing.
  const Number* compute(const Key& key) {
    ++depth_;
    const Number result = owner_.compute(key);
    --depth_;
    return is_missing() ? nullptr : &known_.emplace(key, result).first->second;
  }

  Owner& owner_;
  std::unordered_map<Key, Number, Hash> known_;
  std::optional<Key> missing_;
  int depth_ = 0;  // of values that are being computed
};

}  // namespace tilewright::passes::fusion
