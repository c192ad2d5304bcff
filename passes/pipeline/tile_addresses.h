// Addresses, masks and indices of the tiles that a pipelined loop copies ahead. Tile t is the one that iteration t of the loop uses.
//
//   x = load(base + load(table + i))      for tile t, a fixed number of iterations ahead:
//                                           k = indices[t]              loaded one iteration before, and carried
//                                           copy base + k
//                                           indices[t + 1] = load(table + counter of tile t + 1), where that tile exists
//
// So an iteration never waits for an index that it has just loaded.
#pragma once
#include <map>
#include <vector>

#include "passes/pipeline/loop_values.h"
#include "passes/pipeline/pipelined_loads.h"

namespace tilewright::passes {

class TileAddresses {
 public:
  /// The loop copies tiles `lookahead` iterations ahead.
  TileAddresses(Rewriter& rw, LoopValues& loop, const PipelinedLoads& loads, int lookahead)
      : rw_(rw), f_(rw.function()), loop_(loop), loads_(loads), lookahead_(lookahead) {}

  /// In front of the loop: loads the indices of tiles 0 to lookahead.
  void load_first_indices();
  /// Emits, before the loop, the addresses for tiles 0 to lookahead - 1, one call for each. The returned map leads from values of the
  /// loop's body to their copies for this tile.
  ir::ValueMap first(int tile);
  /// Makes the loop carry the values from which addresses in later iterations are computed. Call it after the last call of `first`.
  void carry();
  /// Emits, in the loop, the addresses of the tile `lookahead` iterations ahead.
  ir::ValueMap later();
  /// Emits, in the loop, loads of the indices for the tile after that one; the map is the one that `later` returned.
  void load_later_indices(const ir::ValueMap&);

  /// Copies a load for another iteration, under this mask. Elsewhere it has its passthrough value or 0 or, if `may_be_poison`, any value.
  ValueId load(OpId, const ir::ValueMap&, ValueId mask, bool may_be_poison);
  /// A mask for a load that is false everywhere if the condition is false, and otherwise equals `mask` (none: all-true).
  ValueId masked_by(OpId load, ValueId mask, ValueId condition);

 private:
  /// Carried values, by index: their values in the iteration of one tile.
  using Carried = std::map<int, ValueId>;

  Carried first_values(const std::set<int>&) const;
  void map_first(ir::ValueMap&, int tile, const Carried&);
  void map_last(ir::ValueMap&);
  void map_iteration(ir::ValueMap&, ValueId counter, const Carried&);
  void map_indices(ir::ValueMap&, const std::vector<ValueId>&);
  void advance(const ir::ValueMap&, Carried&) const;
  void clone(const std::set<OpId>&, ir::ValueMap&);
  std::vector<ValueId> load_indices(ir::ValueMap&, ValueId exists);
  bool is_last(int tile) const { return loads_.last_comes_first && tile == 0; }
  /// How many iterations after this one the counter has the value for the tile that is copied.
  int distance() const { return loads_.last_comes_first ? lookahead_ - 1 : lookahead_; }

  Rewriter& rw_;
  Function& f_;
  LoopValues& loop_;
  const PipelinedLoads& loads_;
  const int lookahead_;
  Carried ahead_;                                    // for the tile that is copied next; inside of the loop: its arguments
  bool has_begun_ = false;                           // ahead_ holds the values of a tile
  std::vector<std::vector<ValueId>> first_indices_;  // indexed by tile, then by load
  std::vector<ValueId> indices_;                     // for the tile that is copied next: the loop's arguments
  ValueId end_of_indices_;                           // a counter value
};

}  // namespace tilewright::passes
