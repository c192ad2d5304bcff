// Labels of axes: small numbers that name the axes of tensors inside of one term, as the letters of an einsum do.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "tileir/diagnostics.h"

namespace tilewright::passes::search {

using Label = std::uint8_t;
using LabelSet = std::uint32_t;  // bit l: label l

inline constexpr Label kMaxLabels = 32, kNoLabel = 255;
inline constexpr int kMaxSlots = 10;

inline LabelSet set_of(Label l) { return LabelSet{1} << l; }
/// The label as a letter of an einsum.
inline char letter(Label l) { return static_cast<char>(l < 26 ? 'a' + l : 'A' + (l - 26)); }
/// Calls `act` with each label of a set, ascending.
template <class Act>
void for_each(LabelSet s, Act&& act) {
  for (; s != 0; s &= s - 1) act(static_cast<Label>(std::countr_zero(s)));
}
inline bool contains(LabelSet s, Label l) { return l < kMaxLabels && (s >> l & 1) != 0; }

/// The label of each slot of a tensor. No label stands twice.
class Labels {
 public:
  void push_back(Label l) {
    TW_CHECK(size_ < kMaxSlots, "a term of the search has too many axes");
    at_[size_++] = l;
  }
  int size() const { return size_; }
  Label operator[](int slot) const { return at_[static_cast<std::size_t>(slot)]; }
  Label& operator[](int slot) { return at_[static_cast<std::size_t>(slot)]; }
  Label* begin() { return at_.data(); }
  Label* end() { return at_.data() + size_; }
  const Label* begin() const { return at_.data(); }
  const Label* end() const { return at_.data() + size_; }
  LabelSet set() const {
    LabelSet s = 0;
    for (Label l : *this) s |= set_of(l);
    return s;
  }
  /// The slot that has a label, or -1.
  int slot_of(Label l) const {
    const Label* at = std::find(begin(), end(), l);
    return at == end() ? -1 : static_cast<int>(at - begin());
  }
  friend bool operator==(const Labels& a, const Labels& b) { return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin()); }

 private:
  std::uint8_t size_ = 0;
  std::array<Label, kMaxSlots> at_{};
};

}  // namespace tilewright::passes::search
