// The largest elements of rows, a program each: a step is sorted and merged with what is kept.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct TopKChoice {
  int step = 64;  // elements that are sorted at a time
  int num_warps = 4;
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const TopKChoice&);
TopKChoice choice_of(const TopKShape&, const Configuration&);

std::vector<TopKChoice> candidates(const Machine&, const TopKShape&);
std::string key(const TopKShape&);
void assume_rows(TopKShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const TopKShape&, const TopKChoice&);
Programs programs(const Machine&, const TopKShape&, const TopKChoice&);

}  // namespace tilewright::kernels::host
