// Addresses, masks and indices of the tiles that a pipelined loop copies ahead. Tile t is the one that the loop uses in its iteration t.
//
//   x = load(base + load(table + i))      for tile t, a fixed number of iterations ahead:
//                                           k = indices[t]              loaded one iteration before, and carried
//                                           copy base + k
//                                           indices[t + 1] = load(table + counter of tile t + 1), where that tile exists
//
// So an iteration never waits for an index that it has just asked for.
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
  /// In front of the loop, for tiles 0 to lookahead - 1 in turn: computes the addresses. In the map, values of the loop's body have their
  /// copies for this tile.
  ir::ValueMap first(int tile);
  /// Makes the loop carry what addresses in later iterations are computed from. After the last call of `first`.
  void carry();
  /// In the loop: computes the addresses of the tile `lookahead` iterations ahead.
  ir::ValueMap later();
  /// In the loop: loads the indices of the tile after that one, of which `later` has returned the map.
  void load_later_indices(const ir::ValueMap&);

  /// A copy of a load for another iteration, under this mask; elsewhere it has its passthrough value or 0 or, if `may_be_poison`, anything.
  ValueId load(OpId, const ir::ValueMap&, ValueId mask, bool may_be_poison);
  /// A mask of a load that is false everywhere if the condition is, and else this mask (none: all-true).
  ValueId masked_by(OpId load, ValueId mask, ValueId condition);

 private:
  /// Values that the loop carries, by number: what they are in the iteration of one tile.
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
  /// How many iterations after this one the counter is that of the tile which is copied.
  int distance() const { return loads_.last_comes_first ? lookahead_ - 1 : lookahead_; }

  Rewriter& rw_;
  Function& f_;
  LoopValues& loop_;
  const PipelinedLoads& loads_;
  const int lookahead_;
  Carried ahead_;                                    // for the tile that is copied next; in the loop: its arguments
  bool has_begun_ = false;                           // ahead_ is that of a tile
  std::vector<std::vector<ValueId>> first_indices_;  // by tile, then by load
  std::vector<ValueId> indices_;                     // for the tile that is copied next: the loop's arguments
  ValueId end_of_indices_;                           // of the counter
};

}  // namespace tilewright::passes
