// PTX ISA, "wgmma.mma_async", "wgmma.fence" and "wgmma.wait_group": no other instruction may access the registers of a wgmma before its
// wait, and a fence must order earlier accesses to them before the wgmma.
#include "runtime/emulator/matrix/registers.h"

#include <algorithm>
#include <numeric>

#include "runtime/emulator/program/matrix_registers.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/report.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

bool is_busy(const MatrixWork& work, u32 reg) { return work.busy[reg] > work.done; }

const MatrixTouches& touches_of(const Warp& warp, const Instruction& i) {
  return warp.kernel->matrix_touches[warp.kernel->matrix_touches_of[i.index] - 1];
}

/// Reports accesses to registers that a wgmma still uses, and records the access for the next wgmma.
void touch_registers(Warp& warp, const Instruction& i, Mask mask, const MatrixTouches& touches) {
  MatrixWork& work = warp.matrix;
  const bool is_between = touches.is_copy && touches.registers.size() == 2;  // and not from a constant
  const bool is_own_copy = is_between && work.origin[touches.registers[0].reg] == work.origin[touches.registers[1].reg];
  for (const MatrixTouches::Touch& touched : touches.registers) {
    if (is_busy(work, touched.reg) && !is_own_copy && (touched.is_write || !touches.is_copy))
      report(warp, i, DiagnosticKind::missing_wait, __builtin_ctz(mask), [&] {
        return "wgmma at " + location_text(warp, work.user[touched.reg]) +
               " still works on a register of this instruction: " + "no wgmma.wait_group has waited for it";
      });
    work.touched[touched.reg] = i.index + 1;
    if (touched.is_write && !is_between) work.origin[touched.reg] = touched.reg;
  }
  if (is_between) {
    const u32 from = touches.registers[0].reg, to = touches.registers[1].reg;
    work.busy[to] = work.busy[from];
    work.user[to] = work.user[from];
    work.shape[to] = work.shape[from];
    work.origin[to] = is_busy(work, from) ? work.origin[from] : to;
    if (is_busy(work, from)) work.touched[from] = work.touched[to] = 0;
  }
}

/// Whether an access by an instruction of this shape conflicts with a register of the run.
bool is_wrong(const MatrixWork& work, const MatrixTouches::Run& run, u32 shape) {
  const u32 expected = run.is_write ? shape : 0;
  u32 wrong = 0;
  for (u32 reg = run.begin; reg < run.end; ++reg)
    wrong |= work.touched[reg] | (work.busy[reg] > work.done ? work.shape[reg] ^ expected : 0);
  return wrong != 0;
}

}  // namespace

void touch_matrix_registers(Warp& warp, const Instruction& i, Mask mask) {
  const MatrixTouches& touches = touches_of(warp, i);
  // If registers are checked, this is empty until the first wgmma.
  if (!warp.matrix.busy.empty()) {
    warp.matrix.any_touched = true;
    touch_registers(warp, i, mask, touches);
  }
  touches.execute(warp, i, mask);
}

void take_matrix_registers(Warp& warp, const Instruction& i, u32 shape) {
  if (!warp.worker->launch->check) return;
  MatrixWork& work = warp.matrix;
  const std::size_t count = warp.kernel->matrix_registers;
  if (work.busy.empty()) {
    for (auto* each : {&work.busy, &work.user, &work.shape, &work.touched, &work.origin}) each->assign(count, 0);
    std::iota(work.origin.begin(), work.origin.end(), 0);
  }
  const auto wrong = [&](const char* text, u32 at) {
    report(warp, i, DiagnosticKind::race, 0, [&] { return text + location_text(warp, at); });
  };
  if (!work.has_fenced) report(warp, i, DiagnosticKind::race, 0, [] { return std::string("no wgmma.fence comes before the first wgmma"); });
  const MatrixTouches& touches = touches_of(warp, i);
  if (std::any_of(touches.runs.begin(), touches.runs.end(), [&](const auto& run) { return is_wrong(work, run, shape); }))
    for (const auto& [reg, is_write] : touches.registers) {
      if (work.touched[reg] != 0) wrong("no wgmma.fence orders this after the access to its register at ", work.touched[reg] - 1);
      // Only accumulators of the same shape are ordered automatically. Operands in registers are only read, by any number of wgmma.
      if (is_busy(work, reg) && work.shape[reg] != (is_write ? shape : 0))
        wrong("its register is still in use by a wgmma of another shape or for another operand, at ", work.user[reg]);
    }
  for (const auto& [begin, end, is_write] : touches.runs) {
    const auto fill = [&](std::vector<u32>& all, u32 value) { std::fill(all.begin() + begin, all.begin() + end, value); };
    fill(work.busy, work.committed + 1);
    fill(work.user, i.index);
    fill(work.shape, is_write ? shape : 0);
    std::iota(work.origin.begin() + begin, work.origin.begin() + end, begin);
  }
}

void fence_matrix_registers(Warp& warp) {
  warp.matrix.has_fenced = true;
  if (warp.matrix.any_touched) std::fill(warp.matrix.touched.begin(), warp.matrix.touched.end(), 0);
  warp.matrix.any_touched = false;
}

}  // namespace tilewright::rt::emulator
