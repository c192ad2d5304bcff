// Products of matrices: tiles of the result, in steps along k.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct ProductChoice {
  int rows = 64;     // rows of a tile of the result
  int columns = 64;  // columns of the tile
  int depth = 32;    // extent of a step along k
  int num_warps = 4;
  int num_stages = 2;  // steps whose loads are in flight
  int splits = 1;      // parts of a long sum
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const ProductChoice&);
ProductChoice choice_of(const ProductShape&, const Configuration&);

std::vector<ProductChoice> candidates(const Machine&, const ProductShape&);
std::string key(const ProductShape&);
void assume_rows(ProductShape&);
/// The seconds of a launch on a GPU, and the programs of a launch on a host.
double gpu_seconds(const Machine&, const ProductShape&, const ProductChoice&);
Programs programs(const Machine&, const ProductShape&, const ProductChoice&);

}  // namespace tilewright::kernels::host
