// The rules by which results of instructions are undefined, and the registers to which they apply.
#pragma once
#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

/// When a lane's result is undefined. Rules apply to bytes of registers: elements of 8 and 16 bits share registers with others.
enum class FlowRule : u8 {
  any,          // all bytes of the result, if any byte that the instruction reads is undefined
  bytes,        // each byte of the result, if the same byte of a source is
  upwards,      // each byte of the result, if the same or a lower byte of a source is, as carries propagate
  product,      // as `upwards`; for a factor that is a defined power of two, as `shift`
  halves,       // each half of the result, if a byte of the same half of a source is; if predicates: the first result is the lower half
  choice,       // selp: as in the source that the predicate chooses; if the predicate is undefined, the bytes that differ
  conjunction,  // as `bytes`, unless the other source's byte is zero
  disjunction,  // as `bytes`, unless the other source's byte has all bits set
  join,         // mov: the sources are parts of a register, the first one lowest
  split,        // mov: the result is a part of a register
  pair,         // cvt: each half of the register is converted from one source, the first one is the upper half
  resize,       // cvt between integers: the bytes that are kept, and the sign
  shift,        // shl, shr: the bytes from which the bits come
  funnel,       // shf: as `shift`
  field,        // bfe: as `shift`
  insertion,    // bfi: as `shift`
  permutation,  // prmt: the selected bytes
  group,        // if a source is undefined in any lane that takes part
  load,         // as the bytes of shared memory
  defined,      // never
  shuffle,      // as in the lane that the value comes from; the shuffle handles it
};

/// A register that an instruction uses, after slot assignment. Constants and special registers are always defined.
struct FlowOperand {
  s32 slot;
  u32 field;  // as in OperandUse
  u8 bytes;   // 0: a predicate
  bool is_write, is_address;
};

struct ValueFlow {
  FlowRule rule = FlowRule::any;
  bool has_effect = false;    // it has effects besides its results, so it matters whether it is executed
  bool stores = false;        // its sources are stored to memory
  bool is_signed = false;     // `shift`, `field`, `product`: bits above the source are copies of its sign
  bool goes_left = false;     // `shift`, `funnel`: towards higher bits
  bool wraps = false;         // `funnel`: the amount is taken modulo 32
  u8 source_bytes = 0;        // `any`, `resize`, `product`: how many low bytes of a source are read; 0: all
  u8 result_bytes = 0;        // `resize`: of the result before it is extended to its register
  bool extends_sign = false;  // `resize`: with the sign of the result
  u32 first = 0, count = 0;   // a range of Kernel::flow_operands
};

}  // namespace tilewright::rt::emulator
