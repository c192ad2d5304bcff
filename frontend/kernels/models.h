// The two models behind estimated_seconds(): one for the cpu, one for GPUs.
#pragma once
#include "frontend/kernels/configuration_space.h"

namespace tilewright::kernels::host {

double host_seconds(const Machine&, const Problem&, const Configuration&);
double gpu_seconds(const Machine&, const Problem&, const Configuration&);
double gpu_seconds(const Machine&, const ProductShape&, const Configuration&);
double gpu_seconds(const Machine&, const AttentionShape&, const Configuration&);

}  // namespace tilewright::kernels::host
