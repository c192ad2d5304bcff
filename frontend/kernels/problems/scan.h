// Scans of one sequence, which is divided into parts; a program scans its part in steps.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct ScanChoice {
  int step = 64;  // elements at a time
  int num_warps = 4;
  int splits = 1;  // parts of the sequence
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const ScanChoice&);
ScanChoice choice_of(const ScanShape&, const Configuration&);

std::vector<ScanChoice> candidates(const Machine&, const ScanShape&);
std::string key(const ScanShape&);
void assume_rows(ScanShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const ScanShape&, const ScanChoice&);
Programs programs(const Machine&, const ScanShape&, const ScanChoice&);

}  // namespace tilewright::kernels::host
