// Products of sparse matrices and vectors: several rows at a time, or one long row.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct SparseChoice {
  int rows = 64;      // rows of a program
  int long_row = 64;  // nonzeros of a long row at a time
  int nonzeros = 32;  // nonzeros of each row at a time
  int num_warps = 4;
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const SparseChoice&);
SparseChoice choice_of(const SparseShape&, const Configuration&);

std::vector<SparseChoice> candidates(const Machine&, const SparseShape&);
std::string key(const SparseShape&);
void assume_rows(SparseShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const SparseShape&, const SparseChoice&);
Programs programs(const Machine&, const SparseShape&, const SparseChoice&);

}  // namespace tilewright::kernels::host
