// Which registers and which bytes of shared memory hold values that nothing has defined.
#pragma once
#include <cstddef>
#include <vector>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// Where an undefined value comes from: a shfl.sync in Kernel::code, or a register in Kernel::unwritten.
struct Origin {
  u32 index = 0;
  bool is_register = false;
};

/// The lanes whose registers are undefined, by slot.
class UndefinedRegisters {
 public:
  bool any() const { return count_ != 0; }
  Mask lanes(s32 slot) const { return place(slot) < lanes_.size() ? lanes_[place(slot)] : 0; }
  Origin origin(s32 slot) const { return place(slot) < lanes_.size() ? origins_[place(slot)] : Origin{}; }
  /// `undefined`: of the lanes `written`, those that hold an undefined value from now on.
  void write(s32 slot, Mask written, Mask undefined, Origin);
  void clear();

 private:
  static std::size_t place(s32 slot) { return static_cast<std::size_t>(slot) / 64; }  // slots are so aligned

  std::vector<Mask> lanes_;
  std::vector<Origin> origins_;
  u32 count_ = 0;  // slots with undefined lanes
};

/// The undefined bytes of a block's shared memory.
class UndefinedBytes {
 public:
  bool any() const { return count_ != 0; }
  bool has(u64 offset, int bytes) const;
  Origin origin(u64 offset) const { return at_[offset].origin; }
  void add(u64 offset, int bytes, Origin);
  /// Bytes that are written. What writes undefined values adds them afterwards.
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

  std::vector<Byte> at_;  // as far as there ever were undefined ones
  u64 count_ = 0;
};

}  // namespace tilewright::rt::emulator
