// PTX ISA, "wgmma.mma_async", "wgmma.fence" and "wgmma.wait_group": between wgmma and its wait nobody else touches its registers, and a
// fence stands between their other accesses and wgmma.
#include "runtime/emulator/matrix/registers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

/// A plain copy between registers, which assemblers make go away: the copy is then the very register that wgmma works on.
bool is_copy(const Kernel& kernel, u32 instruction, const std::vector<Mention>& mentions) {
  const bool is_move = kernel.opcodes[instruction].starts_with("mov.") && kernel.code[instruction].guard == kNoSlot;
  return is_move && mentions.size() == 2 && std::all_of(mentions.begin(), mentions.end(), [](const Mention& m) { return m.field < 2; });
}

bool is_busy(const MatrixWork& work, u32 reg) { return work.busy[reg] > work.done; }

const MatrixTouches& touches_of(const Warp& warp, const Instruction& i) {
  return warp.kernel->matrix_touches[warp.kernel->matrix_touches_of[i.index] - 1];
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

/// To be done ahead of all uses of what is remembered of registers.
void settle(const Kernel& kernel, MatrixWork& work) {
  const MatrixWork::Taken taken = std::exchange(work.taken, {});
  if (taken.like == 0) return;
  for (const auto& [begin, end, is_write] : kernel.matrix_touches[taken.like - 1].runs) {
    const auto fill = [&](std::vector<u32>& all, u32 value) { std::fill(all.begin() + begin, all.begin() + end, value); };
    fill(work.busy, work.last_group);
    fill(work.user, taken.user);
    fill(work.shape, is_write ? taken.shape : 0);
    std::iota(work.origin.begin() + begin, work.origin.begin() + end, begin);
  }
}

/// Which wgmma has the same runs, from 1.
u32 like_of(const Kernel& kernel, const std::vector<MatrixTouches::Run>& runs) {
  const auto same = std::find_if(kernel.matrix_touches.begin(), kernel.matrix_touches.end(),
                                 [&](const MatrixTouches& other) { return other.like != 0 && other.runs == runs; });
  return static_cast<u32>(same - kernel.matrix_touches.begin()) + 1;
}

/// While a wgmma may be at work on some of the registers.
void touch_in_flight(Warp& warp, const Instruction& i, Mask mask, const MatrixTouches& touches) {
  MatrixWork& work = warp.matrix;
  settle(*warp.kernel, work);
  const bool is_own_copy =
      touches.is_copy && touches.registers.size() == 2 && work.origin[touches.registers[0].reg] == work.origin[touches.registers[1].reg];
  for (const MatrixTouches::Touch& touched : touches.registers) {
    if (is_busy(work, touched.reg) && !is_own_copy && (touched.is_write || !touches.is_copy))
      report(warp, i, DiagnosticKind::missing_wait, __builtin_ctz(mask), [&] {
        return "wgmma at " + place_of(warp, work.user[touched.reg]) +
               " still works on a register of this instruction: " + "no wgmma.wait_group has waited for it";
      });
    work.touched[touched.reg] = i.index + 1;
    if (touched.is_write && !touches.is_copy) work.origin[touched.reg] = touched.reg;
  }
  if (touches.is_copy && touches.registers.size() == 2) {
    const u32 from = touches.registers[0].reg, to = touches.registers[1].reg;
    work.busy[to] = work.busy[from];
    work.user[to] = work.user[from];
    work.shape[to] = work.shape[from];
    work.origin[to] = is_busy(work, from) ? work.origin[from] : to;
    if (is_busy(work, from)) work.touched[from] = work.touched[to] = 0;
  }
}

void touch(Warp& warp, const Instruction& i, Mask mask) {
  const Kernel& kernel = *warp.kernel;
  const MatrixMarks& marks = kernel.matrix_marks[i.index];
  MatrixWork& work = warp.matrix;
  // Empty until the first wgmma where registers are checked.
  if (!work.busy.empty()) {
    work.any_touched = true;
    if (work.is_in_flight())
      touch_in_flight(warp, i, mask, touches_of(warp, i));
    else
      for (const auto& [reg, is_write] : std::span(kernel.marked).subspan(marks.first, marks.count)) {
        work.touched[reg] = i.index + 1;
        if (is_write) work.origin[reg] = reg;
      }
  }
  marks.execute(warp, i, mask);
}

}  // namespace

void track_matrix_registers(std::span<const Value> values, std::span<const Mention> mentions, u32 begin, Kernel& kernel) {
  const u32 end = static_cast<u32>(kernel.code.size());
  std::vector<s32> numbers(values.size(), -1);
  std::map<u32, std::vector<Mention>> by_instruction;
  const auto number = [&](u32 value) {
    if (values[value].kind == Value::reg && numbers[value] < 0) numbers[value] = static_cast<s32>(kernel.matrix_registers++);
  };
  for (const Mention& mention : mentions)
    if (mention.field >= kExtraField && is_product(kernel, mention.instruction)) number(mention.value);
  if (std::all_of(numbers.begin(), numbers.end(), [](s32 n) { return n < 0; })) return;
  for (const Mention& mention : mentions) by_instruction[mention.instruction].push_back(mention);
  for (bool changed = true; changed;) {
    const u32 before = kernel.matrix_registers;
    for (const auto& [instruction, mentioned] : by_instruction)
      if (is_copy(kernel, instruction, mentioned) && numbers[mentioned[mentioned[0].is_write].value] >= 0)
        number(mentioned[!mentioned[0].is_write].value);
    changed = kernel.matrix_registers != before;
  }
  for (const auto& [instruction, mentioned] : by_instruction) {
    if (instruction < begin || instruction >= end) continue;
    MatrixTouches touches;
    for (const bool is_write : {false, true})
      for (const Mention& mention : mentioned)
        if (mention.is_write == is_write && numbers[mention.value] >= 0)
          touches.registers.push_back({static_cast<u32>(numbers[mention.value]), is_write});
    if (is_product(kernel, instruction)) {
      // Accumulators are written, whether they are read too or not.
      const std::vector<MatrixTouches::Touch> all = touches.registers;
      std::erase_if(touches.registers, [&](const MatrixTouches::Touch& read) {
        return !read.is_write &&
               std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.is_write && other.reg == read.reg; });
      });
    }
    Instruction& i = kernel.code[instruction];
    if (touches.registers.empty() || i.execute == nullptr) continue;
    if (!is_product(kernel, instruction)) {
      touches.is_copy = is_copy(kernel, instruction, mentioned);
      if (kernel.matrix_marks.size() <= instruction) kernel.matrix_marks.resize(instruction + 1);
      kernel.matrix_marks[instruction] = {i.execute, static_cast<u32>(kernel.marked.size()), static_cast<u32>(touches.registers.size())};
      kernel.marked.insert(kernel.marked.end(), touches.registers.begin(), touches.registers.end());
      i.execute = touch;
    }
    touches.runs = runs_of(touches.registers);
    if (is_product(kernel, instruction)) touches.like = like_of(kernel, touches.runs);
    kernel.matrix_touches.push_back(std::move(touches));
    if (kernel.matrix_touches_of.size() <= instruction) kernel.matrix_touches_of.resize(instruction + 1);
    kernel.matrix_touches_of[instruction] = static_cast<u32>(kernel.matrix_touches.size());
  }
}

/// Whether an instruction of the shape finds something about registers of the run.
static bool is_wrong(const MatrixWork& work, const MatrixTouches::Run& run, u32 shape) {
  const u32 expected = run.is_write ? shape : 0;
  u32 wrong = 0;
  for (u32 reg = run.begin; reg < run.end; ++reg)
    wrong |= work.touched[reg] | (work.busy[reg] > work.done ? work.shape[reg] ^ expected : 0);
  return wrong != 0;
}

void take_matrix_registers(Warp& warp, const Instruction& i, u32 shape) {
  if (!warp.worker->launch->check) return;
  MatrixWork& work = warp.matrix;
  const std::size_t count = warp.kernel->matrix_registers;
  if (work.busy.empty()) {
    for (auto* each : {&work.busy, &work.user, &work.shape, &work.touched, &work.origin}) each->assign(count, 0);
    std::iota(work.origin.begin(), work.origin.end(), 0);
  }
  const auto wrong = [&](const char* text, u32 at) { report(warp, i, DiagnosticKind::race, 0, [&] { return text + place_of(warp, at); }); };
  if (!work.has_fenced) report(warp, i, DiagnosticKind::race, 0, [] { return std::string("no wgmma.fence comes before the first wgmma"); });
  const MatrixTouches& touches = touches_of(warp, i);
  // After another one that had the same registers and shape, there is nothing to find.
  const bool is_again = work.taken.like == touches.like && work.taken.shape == shape && !work.any_touched;
  if (!is_again) settle(*warp.kernel, work);
  if (!is_again && std::any_of(touches.runs.begin(), touches.runs.end(), [&](const auto& run) { return is_wrong(work, run, shape); }))
    for (const auto& [reg, is_write] : touches.registers) {
      if (work.touched[reg] != 0) wrong("no wgmma.fence orders this after the access to its register at ", work.touched[reg] - 1);
      // Only accumulators of one shape are in order by themselves. Operands in registers are only read, by however many.
      if (is_busy(work, reg) && work.shape[reg] != (is_write ? shape : 0))
        wrong("its register is still in use by a wgmma of another shape or for another operand, at ", work.user[reg]);
    }
  work.last_group = work.committed + 1;
  work.taken = {touches.like, shape, i.index};
}

void fence_matrix_registers(Warp& warp) {
  warp.matrix.has_fenced = true;
  if (warp.matrix.any_touched) std::fill(warp.matrix.touched.begin(), warp.matrix.touched.end(), 0);
  warp.matrix.any_touched = false;
}

}  // namespace tilewright::rt::emulator
