// Attention of single queries over a cache: the heads of a group together, the keys in parts.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct DecodeChoice {
  int heads = 64;  // heads that read the same keys, rounded up
  int keys = 64;   // keys of a step
  int num_warps = 4;
  int num_stages = 2;  // steps whose loads are in flight
  int splits = 1;      // parts of the cache
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const DecodeChoice&);
DecodeChoice choice_of(const DecodeShape&, const Configuration&);

std::vector<DecodeChoice> candidates(const Machine&, const DecodeShape&);
std::string key(const DecodeShape&);
void assume_rows(DecodeShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const DecodeShape&, const DecodeChoice&);
Programs programs(const Machine&, const DecodeShape&, const DecodeChoice&);

}  // namespace tilewright::kernels::host
