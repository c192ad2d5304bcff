// The table of instructions: which decoder takes an instruction.
#pragma once
#include <string_view>

#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

using Decode = void (*)(Decoder&);
/// A row of instructions.def.
struct InstructionRow {
  std::string_view opcode;
  Decode decode;
  std::string_view section;  // section of the PTX ISA
};
/// The row with the longest opcode with which this opcode begins; null if there is none.
const InstructionRow* find_instruction(std::string_view opcode);

/// Decodes the next instruction of the decoder's function into the kernel.
void decode(Decoder&, const ParsedInstruction&);

}  // namespace tilewright::rt::emulator
