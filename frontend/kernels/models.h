// The two models behind estimated_seconds(): of hosts and of GPUs.
#pragma once
#include "frontend/kernels/configuration_space.h"

namespace tilewright::kernels::host {

double host_seconds(const Machine&, const Problem&, const Configuration&);
double gpu_seconds(const Machine&, const Problem&, const Configuration&);
double gpu_seconds(const Machine&, const ProductShape&, const Configuration&);
double gpu_seconds(const Machine&, const AttentionShape&, const Configuration&);

}  // namespace tilewright::kernels::host
