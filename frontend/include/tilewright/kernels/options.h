// Options of the kernel library: where and how a kernel runs, and the tile sizes that it runs with.
#pragma once
#include <optional>

#include "tilewright/launch.h"
#include "tilewright/ops/dot.h"

// Of a function whose kernels are static: each program and each shared object has functions and kernels of its own. A dynamic linker
// unites statics of inline functions, but a kernel made by one copy of this library cannot be launched by another copy, and is gone when
// the shared object that made it is unloaded.
#define TW_PER_MODULE [[gnu::visibility("hidden")]]

namespace tilewright::kernels {

/// Tile sizes and launch options of one kernel. Kernels over rows use bn only. Tile sizes are powers of two.
struct Configuration {
  int bm = 64, bn = 64, bk = 32;  // the tile's rows, its columns, and the extent of a step of the loop
  int num_warps = 4;
  int num_stages = 2;  // of the loop: how many steps have their loads under way
  int group = 8;       // rows of tiles that run together
  int splits = 1;      // parts of the longest sum that are computed by programs of their own
};

/// The last argument of every function of the library.
struct Options {
  Stream stream = {};  // default: the device's own
  Precision precision = Precision::standard;
  bool batch_invariant = false;  // the result of a row does not depend on how many rows there are
  std::optional<Configuration> configuration = {};
  bool tune = false;  // measure configurations where no measurement of the kernel, the types and the shapes is known
};

}  // namespace tilewright::kernels
