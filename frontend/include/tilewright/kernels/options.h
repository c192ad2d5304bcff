// Options of the kernel library: where and how a kernel runs, and its tile sizes.
#pragma once
#include <optional>

#include "tilewright/launch.h"
#include "tilewright/ops/dot.h"

// For functions whose kernels are static: each program and each shared object gets its own copy. A dynamic linker would unite the statics
// of inline functions, but a kernel made by one copy of this library cannot be launched by another copy, and dies when the shared object
// that made it is unloaded.
#define TW_PER_MODULE [[gnu::visibility("hidden")]]

namespace tilewright::kernels {

/// Tile sizes and launch options of one kernel. Kernels over rows use only bn. Tile sizes are powers of two.
struct Configuration {
  int bm = 64, bn = 64, bk = 32;  // rows and columns of the tile; extent of one step of the loop
  int num_warps = 4;
  int num_stages = 2;  // number of steps of the loop whose loads are in flight
  int group = 8;       // number of rows of tiles whose programs run together
  int splits = 1;      // number of programs that share the longest sum
};

/// The last argument of every function of the library.
struct Options {
  Stream stream = {};  // default: the device's own stream
  Precision precision = Precision::standard;
  bool batch_invariant = false;  // the result for a row does not depend on the number of rows
  std::optional<Configuration> configuration = {};
  bool tune = false;  // measure configurations if there is no measurement for this kernel, these types and shapes
};

}  // namespace tilewright::kernels
