// Loads and stores tiles: computes addresses and masks from positions along a tensor's axes.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/emit/integer_values.h"

namespace tilewright::passes::fusion {

class MemoryAccesses {
 public:
  MemoryAccesses(EmitContext& context, IntegerValues& integers, ValueSource& values)
      : context_(context), exprs_(context.exprs), ir_(context.ir), build_(context.build), integers_(integers), values_(values) {}

  /// The tile of a load in the element type that it has in memory: narrow elements are not widened.
  Part loaded(Expr load, const Order&);
  /// As above where these conditions on positions hold, and 0 elsewhere. `value`: the load times the masks of the conditions.
  Part loaded_under(const std::vector<Expr>& conditions, Expr load, Expr value, const Order&);
  /// As loaded_under, with the value `elsewhere`, which has no axes, where the conditions do not hold. None if the conditions are not those
  /// under which the load's positions are inside of its tensor: their mask would be a second one.
  std::optional<Part> padded(const std::vector<Expr>& conditions, Expr load, const std::optional<Part>& elsewhere, const Order&);
  void store(Tensor, std::span<const Expr> index, Expr value, const Order&);
  /// Adds a value over these axes to an element where the condition holds, by an atomic or by a load and a store.
  void add_to(Tensor, std::span<const Expr> index, Expr value, const AxisSet&, const Order&, std::optional<Part> condition, bool is_atomic);

 private:
  Part address(Tensor, std::span<const Expr> index, const Order&);
  Part load_address(Expr load, const Order&);
  std::optional<Part> access_mask(Expr load, const std::vector<Expr>& conditions, const Order&);
  Part masked_load(const std::vector<Expr>& conditions, Expr load, const std::optional<Part>& elsewhere, const Order&);
  std::vector<Expr> inside_conditions(Expr load, std::size_t axis);
  std::vector<Expr> needed_conditions(Expr load);
  bool is_chosen(Expr load, std::size_t axis);
  std::optional<Part> has_elements(Expr load, const Order&);
  Part chosen_position(Expr load, std::size_t axis, const Order&);

  EmitContext& context_;
  ExprBuilder& exprs_;
  ir::Builder& ir_;
  TileBuilder& build_;
  IntegerValues& integers_;
  ValueSource& values_;
};

}  // namespace tilewright::passes::fusion
