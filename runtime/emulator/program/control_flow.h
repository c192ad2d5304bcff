// Finds where diverged lanes reconverge, and which registers share a slot.
#pragma once
#include <span>
#include <vector>

#include "runtime/emulator/program/decoder.h"
#include "runtime/emulator/program/kernel.h"

namespace tilewright::rt::emulator {

/// The basic blocks of a kernel's code. The exit is the block after the last.
struct FlowGraph {
  struct Node {
    u32 begin = 0, end = 0;  // a range of instructions
    std::vector<u32> successors;
  };
  std::vector<Node> nodes;
  u32 code_end = 0;
  u32 end() const { return static_cast<u32>(nodes.size()); }
};

/// The flow graph of the instructions in [begin, end): those of the kernel itself or of one function.
FlowGraph flow_graph(const Kernel&, u32 begin, u32 end);
/// Sets Instruction::reconvergence of every branch: the first instruction of its immediate post-dominator, or the end of the code.
void set_reconvergence_points(const FlowGraph&, Kernel&);
/// Assigns a slot to every value and writes the slots into the code: registers share a slot if a thread never needs both. Also lists the
/// registers that a thread may read before it writes them. The first values are `registers`. `callee`: the function whose code this is;
/// null for the kernel itself.
void assign_slots(const FlowGraph&, std::span<const Register> registers, std::span<const Value>, std::span<const OperandUse>, Kernel&,
                  Callee* callee);
/// The slot field, in the decoded code, of a register that the code uses.
s32& slot_of(Kernel&, const OperandUse&);

}  // namespace tilewright::rt::emulator
