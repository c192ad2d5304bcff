// Elements of matrices that are computed on their own or moved: tiles of rows and columns.
#pragma once
#include <string>
#include <vector>

#include "frontend/kernels/models/gpu_model.h"
#include "frontend/kernels/models/host_model.h"
#include "frontend/kernels/models/machine.h"
#include "tilewright/kernels/configuration.h"

namespace tilewright::kernels::host {

struct ElementsChoice {
  int rows = 64;     // rows of a tile
  int columns = 64;  // columns of the tile
  int num_warps = 4;
};
/// The choice as the library's options name it, and back.
Configuration configuration_of(const ElementsChoice&);
ElementsChoice choice_of(const ElementsShape&, const Configuration&);

std::vector<ElementsChoice> candidates(const Machine&, const ElementsShape&);
std::string key(const ElementsShape&);
void assume_rows(ElementsShape&);
/// The work of a launch on a GPU, and the programs of a launch on a host.
Work work(const Machine&, const ElementsShape&, const ElementsChoice&);
Programs programs(const Machine&, const ElementsShape&, const ElementsChoice&);

}  // namespace tilewright::kernels::host
