// Rows that are computed on their own, a program each: softmax, norms, losses.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct RowsChoice {
  int step = 64;  // elements at a time
  int num_warps = 4;
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const RowsChoice&);
RowsChoice choice_of(const RowsShape&, const Configuration&);

std::vector<RowsChoice> candidates(const Machine&, const RowsShape&);
std::string key(const RowsShape&);
void assume_rows(RowsShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const RowsShape&, const RowsChoice&);
Programs programs(const Machine&, const RowsShape&, const RowsChoice&);

}  // namespace tilewright::kernels::host
