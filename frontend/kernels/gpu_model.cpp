// The model of programs on GPUs: the work of one program, and the time of all. matrix_model.cpp has those that multiply matrices.
//
// Programs are distributed evenly. Each multiprocessor moves bytes, multiplies matrices and does other arithmetic. Memory moves each
// element of the problem at least once. This file counts the work that depends on tiles.
#include <algorithm>
#include <cmath>

#include "frontend/kernels/models.h"

namespace tilewright::kernels::host {

namespace {

/// The work of a launch. Bytes, operations and steps are those of one program.
struct Work {
  double programs = 1;
  double memory_bytes = 0;  // of all programs; each element counts once
  double bytes = 0;         // bytes that a program moves between it and memory or caches
  double products = 0;      // operations of matrix products
  double operations = 0;    // all other operations
  double exponentials = 0;
  double steps = 1;     // steps of a program's loop
  double launches = 1;  // number of kernels that are launched
};

double parts_of(std::int64_t extent, int size) { return std::ceil(static_cast<double>(extent) / size); }

/// Bytes that memory moves for rows of `run` contiguous elements: it moves whole cache lines.
double lines(const Machine& m, double rows, double run, int element_bytes) {
  return rows * std::max(run * element_bytes, m.facts.line_bytes);
}

Work work_of(const Machine& m, const MatvecShape& s, const Configuration& c) {
  Work w;
  w.programs = static_cast<double>(s.batch) * parts_of(s.m, c.bm);
  w.steps = parts_of(s.k, c.bk);
  const double elements = static_cast<double>(c.bm) * c.bk * w.steps;
  w.bytes = w.steps * (lines(m, c.bm, c.bk, s.element_bytes) + c.bk * s.element_bytes);
  w.operations = 2 * elements + 2.0 * c.bm * c.bk;
  w.memory_bytes = static_cast<double>(s.batch * s.m * s.k) * s.element_bytes;
  return w;
}

Work work_of(const Machine&, const RowsShape& s, const Configuration& c) {
  Work w;
  w.programs = static_cast<double>(s.rows);
  const bool fits = s.once && c.bn >= s.n;
  w.steps = parts_of(s.n, c.bn) * (fits ? 1 : s.passes);
  const double elements = w.steps * c.bn;
  w.bytes = elements * s.element_bytes * s.arrays + static_cast<double>(s.n) * s.element_bytes;
  w.operations = 4 * elements + c.bn;
  w.exponentials = s.exponentials * (fits ? elements : 2 * elements);
  w.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes * (s.arrays + 1);
  return w;
}

Work work_of(const Machine&, const TopKShape& s, const Configuration& c) {
  Work w;
  w.programs = static_cast<double>(s.rows);
  w.steps = parts_of(s.n, c.bn);
  // Number of compare-exchanges in a bitonic sort of n keys and their indices.
  const auto exchanges = [](double n) { return n * std::log2(n) * (std::log2(n) + 1) / 4; };
  w.operations = 8 * (w.steps * exchanges(c.bn) + (w.steps - 1) * exchanges(2.0 * s.kept));
  w.bytes = w.steps * c.bn * s.element_bytes;
  w.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes;
  return w;
}

Work work_of(const Machine& m, const ElementsShape& s, const Configuration& c) {
  Work w;
  w.programs = static_cast<double>(s.matrices) * parts_of(s.rows, c.bm) * (s.whole_rows ? 1 : parts_of(s.columns, c.bn));
  const double elements = static_cast<double>(c.bm) * c.bn;
  w.bytes = lines(m, c.bm, c.bn, s.element_bytes) +
            (s.transposed_stride != 0 ? lines(m, c.bn, c.bm, s.element_bytes) : lines(m, c.bm, c.bn, s.element_bytes));
  w.operations = elements * s.work + 4.0 * c.bm;
  w.memory_bytes = 2.0 * static_cast<double>(s.matrices * s.rows * s.columns) * s.element_bytes;
  return w;
}

Work work_of(const Machine& m, const ReductionShape& s, const Configuration& c) {
  Work w;
  w.programs = static_cast<double>(s.matrices) * parts_of(s.m, c.bm) * c.splits;
  w.steps = std::ceil(parts_of(s.k, c.bk) / c.splits);
  w.bytes = w.steps * (s.transposed ? lines(m, c.bk, c.bm, s.element_bytes) : lines(m, c.bm, c.bk, s.element_bytes));
  // Threads that share a row combine their results with shuffles.
  const double threads = 32.0 * c.num_warps, sharing = std::min<double>(std::max(threads / c.bm, 1.0), c.bk);
  w.operations = w.steps * (3.0 * c.bm * c.bk + threads * 8 * std::log2(sharing));
  w.memory_bytes = static_cast<double>(s.matrices * s.m * s.k) * s.element_bytes;
  w.launches = c.splits > 1 ? 2 : 1;
  return w;
}

Work work_of(const Machine&, const ScanShape& s, const Configuration& c) {
  Work w;
  w.programs = c.splits;
  w.steps = std::ceil(parts_of(s.n, c.bn) / c.splits);
  const double elements = w.steps * c.bn, passes = c.splits > 1 ? 2 : 1;
  w.bytes = elements * s.element_bytes * (passes + 1);
  w.operations = elements * (s.work * 4 + std::log2(static_cast<double>(c.bn)));
  w.memory_bytes = static_cast<double>(s.n) * s.element_bytes * (passes + 1);
  w.launches = c.splits > 1 ? 3 : 1;
  return w;
}

Work work_of(const Machine&, const SparseShape& s, const Configuration& c) {
  Work w;
  w.programs = parts_of(s.rows, c.bm);
  const double row = static_cast<double>(s.nonzeros) / std::max(1.0, static_cast<double>(s.rows));
  w.steps = std::ceil(row / c.bk);
  const double elements = w.steps * c.bm * c.bk;
  w.bytes = elements * (2 * s.element_bytes + 4);
  w.operations = elements * 4;
  w.memory_bytes = static_cast<double>(s.nonzeros) * (s.element_bytes + 4);
  return w;
}

Work work_of(const Machine&, const FftShape& s, const Configuration& c) {
  Work w;
  w.programs = parts_of(s.transforms, c.bn);
  w.bytes = c.bn * 64.0 * s.element_bytes;
  w.operations = c.bn * 300.0;
  w.memory_bytes = w.bytes * w.programs;
  return w;
}

Work work_of(const Machine&, const DecodeShape& s, const Configuration& c) {
  Work w;
  w.programs = static_cast<double>(s.sequences) * c.splits;
  w.steps = std::ceil(static_cast<double>(s.capacity) / c.bn / c.splits);
  const double keys = w.steps * c.bn, scores = keys * c.bm;
  w.bytes = keys * 2 * s.depth * s.element_bytes + 8.0 * c.bm * s.depth;
  w.products = 4 * scores * s.depth;
  w.operations = scores * 6 + w.steps * c.bm * (s.depth * 3 + 10);
  w.exponentials = scores;
  w.memory_bytes = static_cast<double>(s.sequences * s.capacity) * 2 * s.depth * s.element_bytes;
  w.launches = c.splits > 1 ? 2 : 1;
  return w;
}

double seconds_of(const Machine& m, const Work& w, int element_bytes) {
  const ir::MachineFacts& f = m.facts;
  const double processors = m.target.processors, turns = std::ceil(w.programs / processors);
  const double rate = f.matrix_flops(element_bytes);
  // Costs of starting a program, and of the addresses and conditions in each step of its loop.
  constexpr double start = 0.3e-6, step = 0.05e-6;
  const double compute = w.products / rate + w.operations / f.flops + w.exponentials / f.exponentials + start + w.steps * step;
  const double moved = w.bytes / f.cache_bytes;
  const double program = ir::overlapped_seconds(compute, moved);
  const double reread = m.is_emulated ? w.programs * w.bytes : w.memory_bytes;
  const double memory = std::max(reread, w.memory_bytes) / f.memory_bytes;
  return ir::overlapped_seconds(turns * program, memory) + w.launches * (f.launch_seconds + (w.programs > 1 ? f.share_seconds : 0));
}

}  // namespace

double gpu_seconds(const Machine& m, const Problem& p, const Configuration& c) {
  return std::visit(
      [&]<class S>(const S& s) {
        if constexpr (std::is_same_v<S, ProductShape> || std::is_same_v<S, AttentionShape>)
          return gpu_seconds(m, s, c);
        else
          return seconds_of(m, work_of(m, s, c), s.element_bytes);
      },
      p);
}

}  // namespace tilewright::kernels::host
