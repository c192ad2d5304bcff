// How the results of instructions depend on their operands where some of these hold values that nothing has defined.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

struct Kernel;
struct OperandUse;
struct Value;

/// What makes a lane's results undefined.
enum class FlowRule : u8 {
  any,          // one undefined source
  all,          // all registers among the sources are: they are parts of the result
  choice,       // selp: the predicate, or the source that the predicate chooses
  conjunction,  // an undefined source, unless the other one is zero
  disjunction,  // an undefined source, unless the other one has all bits set
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
  bool has_effect = false;   // beyond its results: whether it is executed matters
  bool stores = false;       // its sources go to memory
  u32 first = 0, count = 0;  // of Kernel::flow_operands
};

/// Fills Kernel::flows for the instructions from `begin` on. Requires: registers have slots.
void find_value_flow(std::span<const Value>, std::span<const OperandUse>, u32 begin, Kernel&);

}  // namespace tilewright::rt::emulator
