// Expands instructions.def, and calls the decoder of an instruction's row.
#include "runtime/emulator/program/instruction_table.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {

namespace {

constexpr InstructionRow kInstructions[] = {
#define TW_INSTRUCTION(opcode, decoder, section) {opcode, decode_##decoder, section},
#include "runtime/emulator/program/instructions.def"
#undef TW_INSTRUCTION
};

}  // namespace

const InstructionRow* find_instruction(std::string_view opcode) {
  static const auto kRows = [] {
    std::unordered_map<std::string_view, const InstructionRow*> rows;
    for (const InstructionRow& row : kInstructions) rows.emplace(row.opcode, &row);
    return rows;
  }();
  while (true) {
    if (const auto found = kRows.find(opcode); found != kRows.end()) return found->second;
    const std::size_t dot = opcode.rfind('.');
    if (dot == opcode.npos) return nullptr;
    opcode = opcode.substr(0, dot);
  }
}

void decode(Decoder& decoder, const ParsedInstruction& parsed) {
  const InstructionRow* const row = find_instruction(parsed.opcode);
  std::optional<std::size_t> modifiers;
  if (row != nullptr) modifiers = static_cast<std::size_t>(std::count(row->opcode.begin(), row->opcode.end(), '.'));
  decoder.begin(parsed, modifiers);
  row->decode(decoder);
  decoder.finish();
}

}  // namespace tilewright::rt::emulator
