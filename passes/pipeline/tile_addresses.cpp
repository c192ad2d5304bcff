// Clones the computation of addresses for later iterations.
#include "passes/pipeline/tile_addresses.h"

#include "passes/pipeline/last_iteration.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

// ---- in front of the loop ----

void TileAddresses::load_first_indices() {
  if (loads_.index_loads.empty()) return;
  Carried values = first_values(loads_.of_indices.values);
  for (int tile = 0; tile <= lookahead_; ++tile) {
    ir::ValueMap map;
    map_first(map, tile, values);
    first_indices_.push_back(load_indices(map, loop_.exists(tile)));
    if (!is_last(tile)) advance(map, values);
  }
}

ir::ValueMap TileAddresses::first(int tile) {
  if (tile == 0) ahead_ = first_values(loads_.of_tiles.values);
  ir::ValueMap map;
  map_first(map, tile, ahead_);
  if (!first_indices_.empty()) map_indices(map, first_indices_[static_cast<std::size_t>(tile)]);
  clone(loads_.of_tiles.ops, map);
  if (!is_last(tile)) advance(map, ahead_);
  return map;
}

TileAddresses::Carried TileAddresses::first_values(const std::set<int>& numbers) const {
  Carried values;
  for (int k : numbers) values[k] = loop_.init(k);
  return values;
}

void TileAddresses::map_first(ir::ValueMap& map, int tile, const Carried& values) {
  if (is_last(tile)) return map_last(map);
  map_iteration(map, loop_.counter_after(loop_.first_counter(), loads_.last_comes_first ? tile - 1 : tile), values);
}

/// Maps the counter and carried values to those of the last iteration.
void TileAddresses::map_last(ir::ValueMap& map) {
  map.set(loop_.counter(), loop_.last_counter());
  for (int k : loads_.of_tiles.values) {
    const Induction i = *induction_of(f_, loop_.op(), k);
    const auto bits = f_.constant_bits(i.step);
    const ir::Type t = f_.type(i.init);
    const ValueId by = bits ? rw_.constant(t, ir::integer_value(t.element(), *bits)) : i.step;
    map.set(loop_.carried(k), loop_.last_value(i.init, by));
  }
}

// ---- in the loop ----

void TileAddresses::carry() {
  for (auto& [k, v] : ahead_) v = loop_.carry(v);
  if (first_indices_.empty()) return;
  end_of_indices_ = loop_.end_of(lookahead_ + 1);
  for (ValueId v : first_indices_.back()) indices_.push_back(loop_.carry(v));
}

ir::ValueMap TileAddresses::later() {
  ir::ValueMap map;
  map_iteration(map, loop_.counter_after(loop_.counter(), distance()), ahead_);
  map_indices(map, indices_);
  clone(loads_.of_tiles.ops, map);
  for (const auto& [k, arg] : ahead_) loop_.set_next(arg, map(loop_.next(k)));
  return map;
}

void TileAddresses::load_later_indices(const ir::ValueMap& tile) {
  if (indices_.empty()) return;
  Carried values;
  for (int k : loads_.of_indices.values) values[k] = tile(loop_.next(k));
  ir::ValueMap map;
  map_iteration(map, loop_.counter_after(loop_.counter(), distance() + 1), values);
  const std::vector<ValueId> loaded = load_indices(map, rw_.binary(OpKind::lt_, loop_.counter(), end_of_indices_));
  for (std::size_t i = 0; i < loaded.size(); ++i) loop_.set_next(indices_[i], loaded[i]);
}

// ---- both ----

void TileAddresses::map_iteration(ir::ValueMap& map, ValueId counter, const Carried& values) {
  map.set(loop_.counter(), counter);
  for (const auto& [k, v] : values) map.set(loop_.carried(k), v);
}

void TileAddresses::map_indices(ir::ValueMap& map, const std::vector<ValueId>& indices) {
  for (std::size_t i = 0; i < indices.size(); ++i) map.set(f_.result(loads_.index_loads[i]), indices[i]);
}

void TileAddresses::advance(const ir::ValueMap& map, Carried& values) const {
  for (auto& [k, v] : values) v = map(loop_.next(k));
}

void TileAddresses::clone(const std::set<OpId>& ops, ir::ValueMap& map) {
  for (OpId id : f_.ops(loop_.body()))
    if (ops.contains(id)) rw_.clone(id, map);
}

/// Indices of tiles that do not exist are not read, and no copy is started with them. They are not poison, since masks may depend on them.
std::vector<ValueId> TileAddresses::load_indices(ir::ValueMap& map, ValueId exists) {
  clone(loads_.of_indices.ops, map);
  const ir::Loc loc = rw_.loc();
  std::vector<ValueId> loaded;
  for (OpId id : loads_.index_loads) {
    rw_.set_loc(f_.op(id).loc);
    const ValueId mask = ir::mask_of(f_, id);
    loaded.push_back(load(id, map, masked_by(id, mask ? map(mask) : mask, exists), false));
  }
  rw_.set_loc(loc);
  return loaded;
}

ValueId TileAddresses::load(OpId id, const ir::ValueMap& map, ValueId mask, bool may_be_poison) {
  std::vector<ValueId> operands{map(f_.operand(id, 0)), mask};
  if (f_.op(id).operands.size() > 2) operands.push_back(map(f_.operand(id, 2)));
  std::vector<ir::Attr> attrs = f_.op(id).attrs;
  std::erase_if(attrs, [](const ir::Attr& a) { return a.name == AttrName::poison_passthru; });
  if (may_be_poison && operands.size() == 2) attrs.push_back({AttrName::poison_passthru, 1, {}, {}});
  const ValueId loaded = f_.result(rw_.create(OpKind::load_, operands, attrs));
  f_.set_layout(loaded, f_.layout_id(f_.result(id)));
  return loaded;
}

ValueId TileAddresses::masked_by(OpId load, ValueId mask, ValueId condition) {
  const ValueId pointer = f_.operand(load, 0);
  const ir::Type type = f_.type(pointer).is_scalar() ? ir::Type(Element::boolean) : ir::Type(Element::boolean, f_.type(pointer).shape());
  const LayoutId layout = f_.layout_id(pointer);
  ValueId all = condition;
  if (!type.is_scalar()) {
    all = f_.result(rw_.create(OpKind::broadcast_, std::span(&condition, 1), {}, std::span(&type, 1)));
    f_.set_layout(all, layout);
  }
  if (!mask) return all;
  const ValueId operands[] = {mask, all};
  const ValueId both = f_.result(rw_.create(OpKind::bit_and_, operands, {}, std::span(&type, 1)));
  f_.set_layout(both, layout);
  return both;
}

}  // namespace tilewright::passes
