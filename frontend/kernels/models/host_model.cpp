// The model of programs on hosts: the time of one program, from what its loops cost a row, a step and an element.
#include "frontend/kernels/models/host_model.h"

#include <algorithm>
#include <cmath>

namespace tilewright::kernels::host {

double host_costs::outside_level1(double bytes, double for_each_doubling) {
  return bytes > kLevel1Bytes ? for_each_doubling * std::log2(bytes / kLevel1Bytes) : 0;
}

double host_seconds(const Machine& m, const Programs& p) {
  const double threads = m.target.processors;
  const double work = (p.count * p.nanoseconds + p.tails * p.tail_nanoseconds) / threads;
  const double busiest =
      std::max({work, std::ceil(p.count / threads) * p.nanoseconds, p.tails > 0 ? p.nanoseconds + p.tail_nanoseconds : 0});
  const double computed = busiest * 1e-9, moved = p.memory_bytes / m.facts.memory_bytes;
  return ir::overlapped_seconds(computed, moved) + p.launches * (m.facts.launch_seconds + (p.count > 1 ? m.facts.share_seconds : 0));
}

}  // namespace tilewright::kernels::host
