// Lists, for each instruction, the registers of wgmma that it reads and writes.
#include "runtime/emulator/program/matrix_registers.h"

#include <algorithm>
#include <utility>

namespace tilewright::rt::emulator {
namespace {

/// Whether the instruction is a wgmma.
bool is_product(const Kernel& kernel, u32 instruction) { return kernel.opcodes[instruction].starts_with("wgmma.mma_async"); }

/// Whether this is a plain copy between registers. Assemblers remove such copies: the copy is then the register that wgmma uses.
bool is_copy(const Kernel& kernel, u32 instruction, const std::vector<OperandUse>& uses) {
  const bool is_move = kernel.opcodes[instruction].starts_with("mov.") && kernel.code[instruction].guard == kNoSlot;
  return is_move && uses.size() == 2 && std::all_of(uses.begin(), uses.end(), [](const OperandUse& m) { return m.field < 2; });
}

std::vector<MatrixTouches::Run> runs_of(std::span<const MatrixTouches::Touch> registers) {
  std::vector<MatrixTouches::Run> runs;
  for (const auto& [reg, is_write] : registers) {
    if (!runs.empty() && runs.back().is_write == is_write && runs.back().end == reg)
      ++runs.back().end;
    else if (!runs.empty() && runs.back().is_write == is_write && runs.back().begin == reg + 1)
      --runs.back().begin;
    else
      runs.push_back({reg, reg + 1, is_write});
  }
  return runs;
}

}  // namespace

void track_matrix_registers(std::span<const Value> values, std::span<const OperandUse> uses, u32 begin, Kernel& kernel) {
  const u32 end = static_cast<u32>(kernel.code.size());
  std::vector<s32> numbers(values.size(), -1);
  std::map<u32, std::vector<OperandUse>> by_instruction;
  const auto number = [&](u32 value) {
    if (values[value].kind == Value::reg && numbers[value] < 0) numbers[value] = static_cast<s32>(kernel.matrix_registers++);
  };
  for (const OperandUse& use : uses)
    if (use.field >= kExtraField && is_product(kernel, use.instruction)) number(use.value);
  if (std::all_of(numbers.begin(), numbers.end(), [](s32 n) { return n < 0; })) return;
  for (const OperandUse& use : uses) by_instruction[use.instruction].push_back(use);
  for (bool changed = true; changed;) {
    const u32 before = kernel.matrix_registers;
    for (const auto& [instruction, used] : by_instruction)
      if (is_copy(kernel, instruction, used) && numbers[used[used[0].is_write].value] >= 0) number(used[!used[0].is_write].value);
    changed = kernel.matrix_registers != before;
  }
  for (const auto& [instruction, used] : by_instruction) {
    if (instruction < begin || instruction >= end) continue;
    MatrixTouches touches;
    for (const bool is_write : {false, true})
      for (const OperandUse& use : used)
        if (use.is_write == is_write && numbers[use.value] >= 0)
          touches.registers.push_back({static_cast<u32>(numbers[use.value]), is_write});
    if (is_product(kernel, instruction)) {
      // Accumulators are written, whether or not they are also read.
      const std::vector<MatrixTouches::Touch> all = touches.registers;
      std::erase_if(touches.registers, [&](const MatrixTouches::Touch& read) {
        return !read.is_write &&
               std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.is_write && other.reg == read.reg; });
      });
    }
    Instruction& i = kernel.code[instruction];
    if (touches.registers.empty() || i.execute == nullptr) continue;
    if (!is_product(kernel, instruction)) {
      touches.is_copy = is_copy(kernel, instruction, used);
      touches.execute = std::exchange(i.execute, touch_matrix_registers);
    }
    touches.runs = runs_of(touches.registers);
    kernel.matrix_touches.push_back(std::move(touches));
    if (kernel.matrix_touches_of.size() <= instruction) kernel.matrix_touches_of.resize(instruction + 1);
    kernel.matrix_touches_of[instruction] = static_cast<u32>(kernel.matrix_touches.size());
  }
}

}  // namespace tilewright::rt::emulator
