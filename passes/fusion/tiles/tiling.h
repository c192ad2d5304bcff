// The tiles of a plan's kernel and the parts of its loop: what is emitted, and what estimates count.
//
//   1. choose_tiles: how many positions of each axis a program handles at once (choose_tiles.h), for a product, for rows, or element by
//      element.
//   2. fit_operands: on GPUs, tiles are halved until the operands of products fit into shared memory (operand_tiles.h).
//   3. choose_split: whether several programs divide the loop, and into how many parts (split_loop.h).
#pragma once
#include "passes/fusion/options.h"
#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

struct Tiling {
  TileSizes sizes;
  SplitChoice split;
  bool operands_fit = true;        // shared memory has room for the operands of products
  bool is_within_ir = true;        // no tile exceeds the limits of tile IR, as far as the kernel was emitted
  std::int64_t spilled_words = 0;  // words that a program holds at once beyond its registers
};

/// Chooses by the plan alone: the number of registers is not known yet.
Tiling choose_tiling(ExprBuilder&, const LoopPlan&, const ir::TargetDesc&, const FusionOptions&);
/// Divides the loop for these tiles. On hosts, dividing the loop may change the tiles.
void choose_parts(Tiling&, ExprBuilder&, const LoopPlan&, const ir::TargetDesc&, const FusionOptions&);

}  // namespace tilewright::passes::fusion
