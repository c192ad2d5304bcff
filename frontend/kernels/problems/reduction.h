// Rows that are reduced to one element each: several rows at a time, long ones in parts.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct ReductionChoice {
  int rows = 64;  // rows of a program
  int step = 32;  // elements of each row at a time
  int num_warps = 4;
  int splits = 1;  // parts of a row
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const ReductionChoice&);
ReductionChoice choice_of(const ReductionShape&, const Configuration&);

std::vector<ReductionChoice> candidates(const Machine&, const ReductionShape&);
std::string key(const ReductionShape&);
void assume_rows(ReductionShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const ReductionShape&, const ReductionChoice&);
Programs programs(const Machine&, const ReductionShape&, const ReductionChoice&);

}  // namespace tilewright::kernels::host
