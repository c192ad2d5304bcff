// Values that nothing has defined: registers that no instruction has written, what shfl.sync takes from a lane that does not take part, and
// what is computed from these. They may be copied and computed with; that they reach global memory, an address or a branch is reported.
#pragma once
#include <vector>

#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

struct Warp;
struct Instruction;

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

/// Whether any value that the warp may meet is undefined.
bool has_undefined_values(const Warp&);
/// Before the lanes of `mask` execute an instruction, which its guard has chosen among `all`: reports uses of undefined values, and notes
/// which of its results are undefined.
void follow_values(Warp&, const Instruction&, Mask all, Mask mask);
/// After a store by these lanes: notes which bytes of shared memory are undefined.
void follow_store(Warp&, const Instruction&, Mask mask);
/// Of a shuffle by these lanes: lane l takes the value of lane from[l], and lanes of `absent` that of a lane that does not take part.
void follow_shuffle(Warp&, const Instruction&, Mask mask, const s32* from, Mask absent);

}  // namespace tilewright::rt::emulator
