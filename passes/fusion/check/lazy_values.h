// Computes values that depend on others, each once. Graphs may be too deep for a thread's stack: deep values wait on an explicit stack.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "passes/fusion/check/number.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

/// Numbers by key, in a hash table with linear probing, since a check looks up millions of values.
template <class Key, class Hash>
class NumberTable {
 public:
  const Number* find(const Key& key) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = Hash()(key) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == 0) return nullptr;
      const Entry& e = entries_[slots_[at] - 1];
      if (e.key == key) return &e.value;
    }
  }
  /// Requires: the key is new.
  void add(const Key& key, const Number& value) {
    entries_.push_back({key, value});
    if (entries_.size() * 2 > slots_.size()) return grow();
    take_slot(entries_.size());
  }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Key key;
    Number value;
  };
  void grow() {
    constexpr std::size_t kLeast = 64;
    slots_.assign(slots_.empty() ? kLeast : slots_.size() * 4, 0);
    for (std::size_t i = 1; i <= entries_.size(); ++i) take_slot(i);
  }
  void take_slot(std::size_t number) {
    std::size_t at = Hash()(entries_[number - 1].key) & (slots_.size() - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<std::uint32_t>(number);
  }

  std::deque<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // the size is a power of two; 0: empty, else 1 + the index of an entry
};

/// Key: has operator== and a hash. Owner: compute(key) requests other values by get(); if one was missing, it is called again when they are
/// known.
template <class Key, class Hash, class Owner>
class LazyValues {
 public:
  explicit LazyValues(Owner& owner) : owner_(owner) {}
  LazyValues(const LazyValues&) = delete;
  LazyValues& operator=(const LazyValues&) = delete;

  /// The value; if it is missing, an arbitrary number, and is_missing() is true from then on.
  Number get(const Key& key) {
    if (const Number* known = known_.find(key)) return *known;
    // All values that are being computed depend on the missing one, and will be computed again.
    if (is_missing()) return {1, 0};
    if (depth_ == kMostDepthOfCheck)
      missing_ = key;
    else if (const std::optional<Number> value = compute(key))
      return *value;
    return {1, 0};
  }
  bool is_missing() const { return missing_.has_value(); }

  Number value(const Key& wanted) {
    for (std::vector<Key> stack{wanted}; !stack.empty();) {
      const Key key = stack.back();
      if (known_.find(key) != nullptr || compute(key))
        stack.pop_back();
      else
        stack.push_back(*std::exchange(missing_, std::nullopt));
    }
    return *known_.find(wanted);
  }
  /// The number of values that were computed.
  std::size_t size() const { return known_.size(); }

 private:
  // None if a value on which it depends is missing.
  std::optional<Number> compute(const Key& key) {
    ++depth_;
    const Number result = owner_.compute(key);
    --depth_;
    if (is_missing()) return std::nullopt;
    known_.add(key, result);
    return result;
  }

  Owner& owner_;
  NumberTable<Key, Hash> known_;
  std::optional<Key> missing_;
  int depth_ = 0;  // depth of nested computations
};

}  // namespace tilewright::passes::fusion
