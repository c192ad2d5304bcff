// Attention and its gradients: queries of a program, in steps along the keys.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct AttentionChoice {
  int queries = 64;  // queries of a program
  int keys = 64;     // keys of a step
  int num_warps = 4;
  int num_stages = 2;  // steps whose loads are in flight
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const AttentionChoice&);
AttentionChoice choice_of(const AttentionShape&, const Configuration&);

std::vector<AttentionChoice> candidates(const Machine&, const AttentionShape&);
std::string key(const AttentionShape&);
void assume_rows(AttentionShape&);
/// The seconds of a launch on a GPU, and the programs of a launch on a host.
double gpu_seconds(const Machine&, const AttentionShape&, const AttentionChoice&);
Programs programs(const Machine&, const AttentionShape&, const AttentionChoice&);

}  // namespace tilewright::kernels::host
