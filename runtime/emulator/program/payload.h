// Options of an instruction, passed from its decoder to the function that executes it: a small struct for each instruction family.
#pragma once
#include <cassert>
#include <cstddef>
#include <new>
#include <type_traits>

namespace tilewright::rt::emulator {

/// Holds a value of one type at a time.
///   Example: struct VoteOptions { VoteMode mode; };
///            d.options<VoteOptions>().mode = VoteMode::ballot;     in the decoder
///            i.options<VoteOptions>().mode                         in the handler
class Payload {
 public:
  /// The value, for writing; default-constructed if no value of this type was held.
  template <class T>
  T& edit() {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kBytes && alignof(T) <= alignof(void*));
    if (type_ != &kTypeOf<T>) {
      ::new (at_) T();
      type_ = &kTypeOf<T>;
    }
    return *std::launder(reinterpret_cast<T*>(at_));
  }
  /// The value. Requires: a value of this type is held.
  template <class T>
  const T& get() const {
    assert(type_ == &kTypeOf<T>);
    return *std::launder(reinterpret_cast<const T*>(at_));
  }

 private:
  static constexpr std::size_t kBytes = 24;
  template <class T>
  static constexpr char kTypeOf = 0;  // its address identifies the type

  const void* type_ = nullptr;
  alignas(void*) std::byte at_[kBytes] = {};
};

}  // namespace tilewright::rt::emulator
