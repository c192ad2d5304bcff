// Records which bytes of registers and of shared memory are undefined.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The origin of an undefined value: a shfl.sync in Kernel::code, or a register in Kernel::unwritten.
struct Origin {
  u32 index = 0;
  bool is_register = false;
};

inline constexpr std::size_t kMostRegisterBytes = 16;

/// For each byte of a register, lowest first, the lanes in which it is undefined. A predicate has one byte.
struct UndefinedLanes {
  std::array<Mask, kMostRegisterBytes> of_byte{};

  Mask any() const {
    Mask lanes = 0;
    for (const Mask mask : of_byte) lanes |= mask;
    return lanes;
  }
};

/// The undefined bytes of a warp's registers, by slot. `bytes`: size of the register; 0: a predicate.
class UndefinedRegisters {
 public:
  bool any() const { return count_ != 0; }
  /// The lanes in which any byte is undefined.
  Mask lanes(s32 slot, int bytes) const {
    Mask lanes = 0;
    for (std::size_t k = index(slot), end = std::min(k + count_of(bytes), lanes_.size()); k < end; ++k) lanes |= lanes_[k];
    return lanes;
  }
  UndefinedLanes by_byte(s32 slot, int bytes) const;
  Origin origin(s32 slot) const { return index(slot) < lanes_.size() ? origins_[index(slot)] : Origin{}; }
  /// Sets the undefined bytes of the register in the lanes `written`.
  void write(s32 slot, int bytes, Mask written, const UndefinedLanes& undefined, Origin);
  /// As above, if in each lane all bytes or none are undefined.
  void write(s32 slot, int bytes, Mask written, Mask undefined, Origin);
  void clear();

 private:
  // A slot has 32 bytes for each byte of its register, one for each lane. A predicate's slot has one bit for each lane.
  static std::size_t index(s32 slot) { return static_cast<std::size_t>(slot) / 32; }
  static std::size_t count_of(int bytes) { return bytes == 0 ? 1 : static_cast<std::size_t>(bytes); }

  std::vector<Mask> lanes_;      // indexed by byte of a register
  std::vector<Origin> origins_;  // of a register, at its first byte
  u32 count_ = 0;                // number of bytes with undefined lanes
};

/// The undefined bytes of a block's shared memory.
class UndefinedBytes {
 public:
  bool any() const { return count_ != 0; }
  bool has(u64 offset) const { return offset < at_.size() && at_[offset].is_undefined; }
  Origin origin(u64 offset) const { return at_[offset].origin; }
  void add(u64 offset, Origin);
  /// Marks bytes as defined, because they are written. A store of undefined values marks these bytes again afterwards.
  void define(u64 offset, u64 bytes) {
    if (any()) remove(offset, bytes);
  }
  void clear();

 private:
  struct Byte {
    bool is_undefined = false;
    Origin origin;
  };
  void remove(u64 offset, u64 bytes);

  std::vector<Byte> at_;  // up to the last byte that was ever undefined
  u64 count_ = 0;
};

}  // namespace tilewright::rt::emulator
