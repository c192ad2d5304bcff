// Recognises contractions, and factors that are read where they lie.
#include "backend/host/contraction.h"

#include <algorithm>

#include "backend/host/tile_shape.h"
#include "passes/analysis/address_form.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

namespace {

class Finder {
 public:
  Finder(const Function& f, const EvaluationPlan& plan, const MemoryAxes& memory, OpId loop, BlockId body)
      : f_(f), plan_(plan), memory_(memory), loop_(loop), body_(body) {}

  std::optional<Contraction> run() {
    Contraction found;
    for (OpId id : f_.ops(body_)) {
      const auto& op = f_.op(id);
      const ir::OpInfo& info = ir::info(op.kind);
      if (info.has(ir::kTerminator)) continue;
      const bool is_load = op.kind == OpKind::load_ && !f_.attr(id, ir::AttrName::is_volatile);
      if (info.family == ir::Family::control || (!info.has(ir::kPure) && !is_load)) return std::nullopt;
      if (op.kind != OpKind::dot_) continue;
      if (f_.type(op.results[0]).rank() != 2 || !is_accumulated(id)) return std::nullopt;
      found.dots.push_back({id, {}, {}, {}, false, {}});
    }
    // A tile that is carried in another way is computed in the order of iterations.
    std::size_t tiles = 0;
    for (ValueId r : f_.op(loop_).results) tiles += f_.type(r).is_scalar() ? 0 : 1;
    if (found.dots.empty() || tiles != found.dots.size()) return std::nullopt;
    for (ContractedDot& each : found.dots) {
      read_in_place(each);
      sum_in_place(each);
    }
    return found;
  }

  /// The right factor of a dot of the body, if it can be read in memory.
  std::optional<InPlaceFactor> right_in_memory(OpId dot) const {
    const Type sum = f_.type(f_.result(dot));
    if (sum.rank() != 2 || sum.extent(0) > kFewRows || sum.extent(1) == 1) return std::nullopt;
    const OpId load = load_of(f_.operand(dot, 1));
    if (!load || f_.value(f_.result(load)).users.size() != 1 || f_.attr(load, ir::AttrName::is_volatile)) return std::nullopt;
    bool is_between = false;
    for (OpId id : f_.ops(body_)) {
      if (id == dot) break;
      const ir::OpInfo& info = ir::info(f_.kind(id));
      if (is_between && (info.family == ir::Family::control || info.has(ir::kWrites))) return std::nullopt;
      is_between = is_between || id == load;
    }
    InPlaceFactor found = in_place(dot, 1);
    if (!found.load || !is_even(found)) return std::nullopt;
    return found;
  }

 private:
  /// Whether the rows of a right factor are evenly spaced, and its mask hides no row if it hides neither the first nor the last one.
  bool is_even(const InPlaceFactor& right) const {
    const ValueId pointer = f_.operand(right.load, 0);
    return is_linear(pointer, 0) && std::all_of(right.mask.rows.begin(), right.mask.rows.end(),
                                                [&](const FactorIndexed& c) { return holds_between(c.value, pointer); });
  }

  /// Whether the dot is the only use of a carried tile, and its result is only the tile's next value.
  bool is_accumulated(OpId id) const {
    const auto& op = f_.op(id);
    const auto& args = f_.block(body_).args;
    const auto arg = std::find(args.begin(), args.end(), op.operands[2]);
    if (arg == args.end() || f_.value(*arg).users.size() != 1 || f_.value(op.results[0]).users.size() != 1) return false;
    return f_.op(f_.terminator(body_)).operands[number_of_carried(*arg)] == op.results[0];
  }

  std::size_t number_of_carried(ValueId argument) const {
    const auto& args = f_.block(body_).args;
    return static_cast<std::size_t>(std::find(args.begin(), args.end(), argument) - args.begin()) - 1;
  }

  /// Finds out how the sums begin and where they end.
  void sum_in_place(ContractedDot& each) const {
    constexpr std::size_t kBounds = 3;  // the first operands of a loop are its bounds and its step
    const std::size_t number = number_of_carried(f_.operand(each.dot, 2));
    const OpId init = f_.value(plan_.resolve(f_.op(loop_).operands[kBounds + number]).value).op;
    each.starts_at_zero = init && f_.kind(init) == OpKind::constant_ && f_.attr(init, ir::AttrName::value) == 0;
    const ValueId sums = f_.op(loop_).results[number];
    const auto& users = f_.value(sums).users;
    if (users.size() != 1) return;
    const OpId store = users.front();
    const bool follows = f_.kind(store) == OpKind::store_ && f_.op(store).parent == f_.op(loop_).parent;
    if (!follows || f_.operand(store, 1) != sums || f_.attr(store, ir::AttrName::is_volatile)) return;
    const ValueId pointer = f_.operand(store, 0);
    const bool is_regular =
        is_of_scalars(pointer) && memory_.info(pointer).contiguity[1] >= f_.type(pointer).extent(1) && is_linear(pointer, 0);
    if (!is_regular || may_change_factors(pointer)) return;
    const ValueId mask = ir::mask_of(f_, store);
    if (!mask || holds_between(mask, pointer)) each.store = store;
  }

  /// Whether a store by this pointer may write memory that the loop reads.
  bool may_change_factors(ValueId pointer) const {
    const ValueId base = passes::base_parameter(f_, pointer);
    for (OpId id : f_.ops(body_))
      if (f_.kind(id) == OpKind::load_ && passes::may_share_memory(f_, base, passes::base_parameter(f_, f_.operand(id, 0)))) return true;
    return false;
  }

  void read_in_place(ContractedDot& each) const {
    // Panels of bytes and of bf16 are interleaved.
    if (f_.type(f_.operand(each.dot, 0)).element_bytes() < 4) {
      each.left = in_place(each.dot, 0);
      return;
    }
    if (const OpId right = load_of(f_.operand(each.dot, 1)); right && has_zeros_behind(right) && ir::mask_of(f_, right)) {
      // The rows of the right factor take the place of the columns that a mask cuts.
      FactorMask mask;
      AxisMap axes = kNoAxes;
      axes[0] = 1;
      axes[1] = 0;
      collect(ir::mask_of(f_, right), f_.operand(right, 0), axes, mask);
      each.right_rows = mask.columns;
    }
    each.left = in_place(each.dot, 0);
    each.right = in_place(each.dot, 1);
    const FactorMask& mask = each.right.mask;
    // Whether the mask cuts columns is the same in all iterations.
    const bool is_outer =
        std::all_of(mask.columns.begin(), mask.columns.end(), [&](const FactorIndexed& c) { return is_of_outer_scalars(c.value); });
    if (!each.right.load || !is_outer || !is_even(each.right)) each.right = {};
  }

  InPlaceFactor in_place(OpId dot, int operand) const {
    const OpId load = load_of(f_.operand(dot, operand));
    if (!load || !has_zeros_behind(load)) return {};
    const ValueId result = f_.result(load);
    const auto& users = f_.value(result).users;
    const bool is_only_factor = std::all_of(users.begin(), users.end(), [&](OpId user) {
      return f_.kind(user) == OpKind::dot_ && f_.op(user).parent == body_ && f_.operand(user, 1 - operand) != result;
    });
    const ValueId pointer = f_.operand(load, 0);
    if (!is_only_factor || !is_of_scalars(pointer) || memory_.info(pointer).contiguity[1] < f_.type(pointer).extent(1)) return {};
    AxisMap axes = kNoAxes;
    axes[0] = 0;
    axes[1] = 1;
    InPlaceFactor found{load, {}};
    if (const ValueId m = ir::mask_of(f_, load); m && !collect(m, pointer, axes, found.mask)) return {};
    return found;
  }

  OpId load_of(ValueId v) const {
    const OpId id = f_.value(v).op;
    const bool is_load = id && f_.kind(id) == OpKind::load_ && f_.op(id).parent == body_;
    return is_load ? id : OpId{};
  }

  /// Whether a load gives 0 where its mask is false.
  bool has_zeros_behind(OpId load) const {
    const auto& op = f_.op(load);
    if (op.operands.size() < 3) return true;
    const OpId other = f_.value(plan_.resolve(op.operands[2]).value).op;
    return other && f_.kind(other) == OpKind::constant_ && f_.attr(other, ir::AttrName::value) == 0;
  }

  /// Whether a value is computed from scalars and index ranges alone.
  bool is_of_scalars(ValueId v) const {
    const ValueId source = plan_.resolve(v).value;
    if (plan_.schedule(source) == Schedule::scalar) return true;
    if (plan_.schedule(source) != Schedule::inlined) return false;
    const auto& operands = f_.op(f_.value(source).op).operands;
    return std::all_of(operands.begin(), operands.end(), [&](ValueId x) { return is_of_scalars(x); });
  }

  /// Whether a value of scalars depends on none that is computed in the loop's body.
  bool is_of_outer_scalars(ValueId v) const {
    const ValueId source = plan_.resolve(v).value;
    const OpId id = f_.value(source).op;
    if (plan_.schedule(source) == Schedule::scalar) return f_.defining_block(source) != body_ || (id && f_.kind(id) == OpKind::constant_);
    const auto& operands = f_.op(id).operands;
    return std::all_of(operands.begin(), operands.end(), [&](ValueId x) { return is_of_outer_scalars(x); });
  }

  /// Whether values of scalars differ by the same number from each index of an axis to the next. Signed index arithmetic is assumed not to
  /// wrap along it (AxisInfoAnalysis).
  bool is_linear(ValueId v, int axis) const {
    const Source s = plan_.resolve(v);
    const Type t = f_.type(s.value);
    const auto source_axis = static_cast<std::size_t>(std::find(s.map.begin(), s.map.end(), axis) - s.map.begin());
    if (source_axis >= static_cast<std::size_t>(t.rank())) return true;
    const passes::AxisInfo& info = memory_.info(s.value);
    const std::int64_t extent = t.extent(static_cast<int>(source_axis));
    if (std::max(info.constancy[source_axis], info.contiguity[source_axis]) >= extent) return true;
    const OpId id = f_.value(s.value).op;
    if (!id || plan_.schedule(s.value) != Schedule::inlined) return false;
    const auto& op = f_.op(id);
    const auto linear = [&](int i) { return is_linear(op.operands[static_cast<std::size_t>(i)], static_cast<int>(source_axis)); };
    const bool may_wrap = t.is_integer() && ir::bits(t.element()) < 64 && !ir::is_signed(t.element());
    const auto is_constant = [&](int i) { return memory_.info(op.operands[static_cast<std::size_t>(i)]).constancy[source_axis] >= extent; };
    switch (op.kind) {
      case OpKind::add_ptr_: return linear(0) && linear(1);
      case OpKind::add_:
      case OpKind::sub_: return !may_wrap && linear(0) && linear(1);
      case OpKind::mul_: return !may_wrap && ((is_constant(0) && linear(1)) || (is_constant(1) && linear(0)));
      case OpKind::cast_: {
        const Type from = f_.type(op.operands[0]);
        return t.is_integer() && from.is_integer() && ir::is_signed(from.element()) && ir::bits(from.element()) <= ir::bits(t.element()) &&
               linear(0);
      }
      default: return false;
    }
  }

  /// Adds the conditions whose conjunction the mask of accesses by `pointer` is, and returns whether all of them have one of the two forms.
  bool collect(ValueId mask, ValueId pointer, const AxisMap& axes, FactorMask& found) const {
    const Source s = plan_.resolve(mask);
    const Type t = f_.type(s.value);
    if (!is_of_scalars(s.value)) return false;
    FactorIndexed at{s.value, kNoAxes};
    for (int i = 0; i < t.rank(); ++i)
      if (s.map[i] >= 0 && memory_.info(s.value).constancy[static_cast<std::size_t>(i)] < t.extent(i)) at.axes[i] = axes[s.map[i]];
    const bool has_rows = uses(at.axes, 0), has_columns = uses(at.axes, 1);
    if (!has_columns) {
      found.rows.push_back(at);
      return true;
    }
    const OpId id = f_.value(s.value).op;
    const auto& op = f_.op(id);
    if (op.kind == OpKind::bit_and_) {
      AxisMap whole = kNoAxes;
      for (int i = 0; i < t.rank(); ++i)
        if (s.map[i] >= 0) whole[i] = axes[s.map[i]];
      const bool first = collect(op.operands[0], pointer, whole, found);
      return collect(op.operands[1], pointer, whole, found) && first;
    }
    const bool is_prefix = !has_rows && is_comparison(id) && compares_index(id, is_less(id) ? 0 : 1, axis_of(at.axes, 1), pointer);
    if (!is_prefix) return false;
    found.columns.push_back(at);
    return true;
  }

  static bool uses(const AxisMap& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

  static std::size_t axis_of(const AxisMap& axes, int axis) {
    return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
  }

  /// Whether a mask of accesses by `pointer` holds everywhere if it holds at the first and at the last index of each axis: a conjunction of
  /// comparisons of an index that counts up with a bound.
  bool holds_between(ValueId mask, ValueId pointer) const {
    const ValueId source = plan_.resolve(mask).value;
    if (!is_of_scalars(source)) return false;
    const Type t = f_.type(source);
    std::vector<std::size_t> axes;  // the axes of the tile along which the mask changes
    for (int i = 0; i < t.rank(); ++i)
      if (const auto axis = static_cast<std::size_t>(i); memory_.info(source).constancy[axis] < t.extent(i)) axes.push_back(axis);
    if (axes.empty()) return true;
    const OpId id = f_.value(source).op;
    if (f_.kind(id) == OpKind::bit_and_) return holds_between(f_.operand(id, 0), pointer) && holds_between(f_.operand(id, 1), pointer);
    return axes.size() == 1 && is_comparison(id) && (compares_index(id, 0, axes[0], pointer) || compares_index(id, 1, axes[0], pointer));
  }

  bool is_less(OpId id) const { return f_.kind(id) == OpKind::lt_ || f_.kind(id) == OpKind::le_; }
  bool is_comparison(OpId id) const { return is_less(id) || f_.kind(id) == OpKind::gt_ || f_.kind(id) == OpKind::ge_; }

  /// Whether this operand of a comparison is an index that counts up along an axis, and the other one a bound that does not change along it.
  bool compares_index(OpId id, int operand, std::size_t axis, ValueId pointer) const {
    const auto& op = f_.op(id);
    const Type t = f_.type(op.operands[0]);
    if (!t.is_integer() || ir::bits(t.element()) < 32 || t.element() == ir::Element::u64) return false;
    const ValueId compared = f_.operand(id, operand);
    const passes::AxisInfo& index = memory_.info(compared);
    const passes::AxisInfo& bound = memory_.info(f_.operand(id, 1 - operand));
    const std::int64_t extent = t.extent(static_cast<int>(axis));
    // An index that wraps is less than the bound again. It does not wrap if its range is known, or if addresses are computed from it,
    // since these are assumed not to wrap (AxisInfoAnalysis).
    const bool may_wrap =
        memory_.info.range(compared) == passes::full_range(t) && !is_computed_from(pointer, plan_.resolve(compared).value);
    return index.contiguity[axis] >= extent && !index.assumes_no_wrap && !may_wrap && bound.constancy[axis] >= extent;
  }

  /// Whether `part` is one of the values from which a value of scalars is computed.
  bool is_computed_from(ValueId v, ValueId part) const {
    const ValueId source = plan_.resolve(v).value;
    if (source == part) return true;
    if (plan_.schedule(source) != Schedule::inlined) return false;
    const auto& operands = f_.op(f_.value(source).op).operands;
    return std::any_of(operands.begin(), operands.end(), [&](ValueId x) { return is_computed_from(x, part); });
  }

  const Function& f_;
  const EvaluationPlan& plan_;
  const MemoryAxes& memory_;
  const OpId loop_;
  const BlockId body_;
};

}  // namespace

std::optional<Contraction> find_contraction(const Function& f, const EvaluationPlan& plan, const MemoryAxes& memory, OpId loop) {
  return Finder(f, plan, memory, loop, f.region(loop)).run();
}

std::optional<InPlaceFactor> find_right_in_memory(const Function& f, const EvaluationPlan& plan, const MemoryAxes& memory, OpId dot) {
  return Finder(f, plan, memory, {}, f.op(dot).parent).right_in_memory(dot);
}

std::int64_t iterations_in_block(const Function& f, const Contraction& contraction, std::int64_t bytes,
                                 const ProductInstructions& products) {
  // The depth is the greatest with which the factors of a block stay in the second cache beside the accumulators; beyond 512 products
  // nothing is gained (measured on Emerald Rapids). Tile registers compute so many products in the time of a few loads and stores.
  constexpr std::int64_t kDepth = 512, kDepthBytesInTiles = 2048, kBytes = 512 << 10;
  std::int64_t iterations = kDepthBytesInTiles, rows = 0;
  for (const ContractedDot& each : contraction.dots) {
    const Type left = f.type(f.operand(each.dot, 0));
    const bool in_tiles = amx_shape(products, left, f.type(f.result(each.dot))).has_value();
    const std::int64_t depth = in_tiles ? kDepthBytesInTiles / left.element_bytes() : kDepth;
    iterations = std::min(iterations, depth / left.extent(1));
    rows = std::max(rows, left.extent(0));
  }
  if (rows <= kFewRows && !contraction.reads_right) return 1;
  while (iterations > 1 && iterations * bytes > kBytes) iterations /= 2;
  return std::max<std::int64_t>(iterations, 1);
}

bool streams_right(const Function& f, OpId dot) {
  const Type sum = f.type(f.result(dot));
  return sum.extent(0) <= kFewRows && sum.extent(1) * f.type(f.operand(dot, 1)).element_bytes() >= kStreamedRowBytes;
}

std::int64_t iterations_in_place(const Function& f, const Contraction& contraction) {
  // Rows of memory may fall on few sets of the caches (measured on Ice Lake: 128 products are best).
  constexpr std::int64_t kDepth = 128;
  std::int64_t iterations = contraction.iterations;
  for (const ContractedDot& each : contraction.dots) {
    const std::int64_t depth = streams_right(f, each.dot) ? kStreamedDepth : kDepth;
    iterations = std::min(iterations, std::max<std::int64_t>(depth / f.type(f.operand(each.dot, 0)).extent(1), 1));
  }
  return iterations;
}

}  // namespace tilewright::backend::host
