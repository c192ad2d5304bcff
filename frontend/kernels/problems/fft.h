// Fourier transforms of any length, which are made of small ones: each small transform is in the registers of a lane.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct FftChoice {
  int transforms = 64;  // small transforms of a program
  int num_warps = 4;
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const FftChoice&);
FftChoice choice_of(const FftShape&, const Configuration&);

std::vector<FftChoice> candidates(const Machine&, const FftShape&);
std::string key(const FftShape&);
void assume_rows(FftShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const FftShape&, const FftChoice&);
Programs programs(const Machine&, const FftShape&, const FftChoice&);

}  // namespace tilewright::kernels::host
