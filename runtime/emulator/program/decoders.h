// The decoders that instructions.def names, and decoders to which those delegate some types.
#pragma once
#include "runtime/emulator/program/decoder.h"

namespace tilewright::rt::emulator {

#define TW_INSTRUCTION(opcode, decoder, section) void decode_##decoder(Decoder&);
#include "runtime/emulator/program/instructions.def"
#undef TW_INSTRUCTION

void decode_half(Decoder&);  // arithmetic on f16, bf16 and pairs of them

}  // namespace tilewright::rt::emulator
