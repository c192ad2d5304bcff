// How the results of instructions depend on their operands where some of these hold bytes that nothing has defined.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

struct Kernel;
struct OperandUse;
struct Value;

/// What makes a lane's results undefined. Rules go by the bytes of registers: elements of 8 and 16 bits share registers with others.
enum class FlowRule : u8 {
  any,          // all bytes of the result: one undefined byte of a source, of those that the instruction reads
  bytes,        // each byte of the result: the same byte of a source
  upwards,      // each byte of the result: the same byte of a source or a lower one, as carries go
  product,      // as `upwards`; with a defined power of two, as `shift`
  halves,       // each half of the result: a byte of the same half of a source; of a predicate: of two results, the first is the lower half
  choice,       // selp: the byte of the source that the predicate chooses; if that is undefined, the bytes that differ
  conjunction,  // as `bytes`, unless the byte of the other source is zero
  disjunction,  // as `bytes`, unless the byte of the other source has all bits set
  join,         // mov: the parts of a register that are sources, the first lowest
  split,        // mov: the part of a register
  pair,         // cvt: the halves of a register, converted each from a source, the first one on top
  resize,       // cvt between integers: the bytes that are kept, and the sign
  shift,        // shl, shr: the bytes that the bits come from
  funnel,       // shf: the same
  field,        // bfe: the same
  insertion,    // bfi: the same
  permutation,  // prmt: the bytes that are chosen
  group,        // an undefined source of any lane that takes part
  load,         // the bytes of shared memory
  defined,      // nothing
  shuffle,      // the lane that the value comes from; the shuffle itself knows
};

/// A register that an instruction uses, once registers have slots. Constants and special registers are always defined.
struct FlowOperand {
  s32 slot;
  u32 field;  // as OperandUse has it
  u8 bytes;   // 0: a predicate
  bool is_write, is_address;
};

struct ValueFlow {
  FlowRule rule = FlowRule::any;
  bool has_effect = false;    // beyond its results: whether it is executed matters
  bool stores = false;        // its sources go to memory
  bool is_signed = false;     // `shift`, `field`, `product`: bits above those of the source are copies of its sign
  bool goes_left = false;     // `shift`, `funnel`: towards higher bits
  bool wraps = false;         // `funnel`: the amount is taken modulo 32
  u8 source_bytes = 0;        // `any`, `resize`, `product`: of a source, so many count, the lowest; 0: all
  u8 result_bytes = 0;        // `resize`: of the result before it is extended to its register
  bool extends_sign = false;  // `resize`: by the sign of the result
  u32 first = 0, count = 0;   // of Kernel::flow_operands
};

/// Fills Kernel::flows for the instructions from `begin` on. Requires: registers have slots.
void find_value_flow(std::span<const Value>, std::span<const OperandUse>, u32 begin, Kernel&);

}  // namespace tilewright::rt::emulator
