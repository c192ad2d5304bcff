// Random numbers of a tile, by the generator of the tile language with 64-bit counters.
#include "passes/fusion/emit/tile_values.h"
#include "tileir/philox.h"

namespace tilewright::passes::fusion {

Part TileValues::emit_random(Expr e, const Order& own) {
  const Part counter = emit_integer(e->operands[0], own, ir::Element::i64);
  return {ir::philox_uniform(ir_, e->bits, counter.value), counter.axes};
}

}  // namespace tilewright::passes::fusion
