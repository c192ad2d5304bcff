// The model of programs on GPUs, but for those that multiply matrices.
#include "frontend/kernels/models/gpu_model.h"

#include <algorithm>
#include <cmath>

namespace tilewright::kernels::host {

double lines(const Machine& m, double rows, double run, int element_bytes) {
  return rows * std::max(run * element_bytes, m.facts.line_bytes);
}

double gpu_seconds(const Machine& m, const Work& w, int element_bytes) {
  const ir::MachineFacts& f = m.facts;
  const double processors = m.target.processors, turns = std::ceil(w.programs / processors);
  const double rate = f.matrix_flops(element_bytes);
  // Seconds to start a program, and for the addresses and conditions in each step of its loop: estimates.
  constexpr double kStart = 0.3e-6, kStep = 0.05e-6;
  const double compute = w.products / rate + w.operations / f.flops + w.exponentials / f.exponentials + kStart + w.steps * kStep;
  const double moved = w.bytes / f.cache_bytes;
  const double program = ir::overlapped_seconds(compute, moved);
  const double reread = m.is_emulated ? w.programs * w.bytes : w.memory_bytes;
  const double memory = std::max(reread, w.memory_bytes) / f.memory_bytes;
  return ir::overlapped_seconds(turns * program, memory) + w.launches * (f.launch_seconds + (w.programs > 1 ? f.share_seconds : 0));
}

}  // namespace tilewright::kernels::host
