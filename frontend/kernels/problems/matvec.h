// Products of matrices and vectors: rows of the result, in steps along k.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct MatvecChoice {
  int rows = 64;  // rows of a program
  int step = 32;  // elements of each row at a time
  int num_warps = 4;
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const MatvecChoice&);
MatvecChoice choice_of(const MatvecShape&, const Configuration&);

std::vector<MatvecChoice> candidates(const Machine&, const MatvecShape&);
std::string key(const MatvecShape&);
void assume_rows(MatvecShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const MatvecShape&, const MatvecChoice&);
Programs programs(const Machine&, const MatvecShape&, const MatvecChoice&);

}  // namespace tilewright::kernels::host
