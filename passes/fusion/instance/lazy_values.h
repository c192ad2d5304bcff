// Computes values that need others, each once, with a stack of its own: graphs are deeper than the stack of a thread.
#pragma once
#include <unordered_map>
#include <vector>

#include "passes/fusion/instance/number.h"

namespace tilewright::passes::fusion {

/// Key: with operator== and a hash. `compute` asks for other values by get(), and is called again when they are known if one was missing.
template <class Key, class Hash>
class LazyValues {
 public:
  /// The value, or (is_missing() from then on) any number.
  Number get(const Key& key) {
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    missing_.push_back(key);
    return {1, 0};
  }
  bool is_missing() const { return !missing_.empty(); }

  template <class Compute>
  Number value(const Key& wanted, Compute&& compute) {
    std::vector<Key> stack{wanted};
    while (!stack.empty()) {
      if (known_.contains(stack.back())) {
        stack.pop_back();
        continue;
      }
      missing_.clear();
      const Key key = stack.back();
      const Number result = compute(key);
      if (missing_.empty()) {
        known_.emplace(key, result);
        stack.pop_back();
      } else {
        stack.insert(stack.end(), missing_.begin(), missing_.end());
      }
    }
    missing_.clear();
    return known_.at(wanted);
  }
  /// How many values were computed.
  std::size_t size() const { return known_.size(); }

 private:
  std::unordered_map<Key, Number, Hash> known_;
  std::vector<Key> missing_;
};

}  // namespace tilewright::passes::fusion
