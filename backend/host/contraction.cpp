// Recognises contractions, and factors that are read where they lie.
#include "backend/host/contraction.h"

#include <algorithm>

#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::OpKind;
using ir::Type;

namespace {

class Finder {
 public:
  Finder(const Function& f, const EvaluationPlan& plan, const MemoryAxes& memory, OpId loop)
      : f_(f), plan_(plan), memory_(memory), loop_(loop), body_(f.region(loop)) {}

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
      found.dots.push_back({id, {}, {}, {}});
    }
    // A tile that is carried in another way is computed in the order of iterations.
    std::size_t tiles = 0;
    for (ValueId r : f_.op(loop_).results) tiles += f_.type(r).is_scalar() ? 0 : 1;
    if (found.dots.empty() || tiles != found.dots.size()) return std::nullopt;
    for (ContractedDot& each : found.dots) read_in_place(each);
    return found;
  }

 private:
  /// Whether the dot is the only use of a carried tile, and its result is only the tile's next value.
  bool is_accumulated(OpId id) const {
    const auto& op = f_.op(id);
    const auto& args = f_.block(body_).args;
    const auto arg = std::find(args.begin(), args.end(), op.operands[2]);
    if (arg == args.end() || f_.value(*arg).users.size() != 1 || f_.value(op.results[0]).users.size() != 1) return false;
    const auto number = static_cast<std::size_t>(arg - args.begin()) - 1;
    return f_.op(f_.terminator(body_)).operands[number] == op.results[0];
  }

  void read_in_place(ContractedDot& each) const {
    if (!f_.type(f_.op(each.dot).results[0]).is_float()) return;
    if (const OpId right = load_of(f_.operand(each.dot, 1))) {
      // The depth is the first axis of the right factor.
      FactorMask mask;
      AxisMap axes = kNoAxes;
      axes[0] = 1;
      axes[1] = 0;
      if (has_zeros_behind(right) && ir::mask_of(f_, right)) collect(ir::mask_of(f_, right), axes, mask);
      each.right_depth = mask.depth;
    }
    const OpId left = load_of(f_.operand(each.dot, 0));
    if (!left || !has_zeros_behind(left)) return;
    const auto& users = f_.value(f_.op(left).results[0]).users;
    const bool is_only_factor = std::all_of(users.begin(), users.end(), [&](OpId user) {
      return f_.kind(user) == OpKind::dot_ && f_.op(user).parent == body_ && f_.operand(user, 1) != f_.op(left).results[0];
    });
    const ValueId pointer = f_.operand(left, 0);
    const Type t = f_.type(pointer);
    if (!is_only_factor || !is_of_scalars(pointer) || memory_.info(pointer).contiguity[1] < t.extent(1)) return;
    AxisMap axes = kNoAxes;
    axes[0] = 0;
    axes[1] = 1;
    FactorMask mask;
    if (const ValueId m = ir::mask_of(f_, left); m && !collect(m, axes, mask)) return;
    each.left_load = left;
    each.left_mask = std::move(mask);
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

  /// Adds the conditions whose conjunction a mask is, and returns whether all of them have one of the two forms.
  bool collect(ValueId mask, const AxisMap& axes, FactorMask& found) const {
    const Source s = plan_.resolve(mask);
    const Type t = f_.type(s.value);
    if (!is_of_scalars(s.value)) return false;
    FactorIndexed at{s.value, kNoAxes};
    for (int i = 0; i < t.rank(); ++i)
      if (s.map[i] >= 0 && memory_.info(s.value).constancy[static_cast<std::size_t>(i)] < t.extent(i)) at.axes[i] = axes[s.map[i]];
    const bool has_rows = uses(at.axes, 0), has_depth = uses(at.axes, 1);
    if (!has_depth) {
      found.rows.push_back(at);
      return true;
    }
    const OpId id = f_.value(s.value).op;
    const auto& op = f_.op(id);
    if (op.kind == OpKind::bit_and_) {
      AxisMap whole = kNoAxes;
      for (int i = 0; i < t.rank(); ++i)
        if (s.map[i] >= 0) whole[i] = axes[s.map[i]];
      const bool first = collect(op.operands[0], whole, found);
      return collect(op.operands[1], whole, found) && first;
    }
    if (has_rows || !is_prefix(id, at.axes)) return false;
    found.depth.push_back(at);
    return true;
  }

  static bool uses(const AxisMap& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

  /// Whether this compares an index that counts up along the depth with a bound that does not change along it.
  bool is_prefix(OpId id, const AxisMap& axes) const {
    const auto& op = f_.op(id);
    const bool less = op.kind == OpKind::lt_ || op.kind == OpKind::le_;
    if (!less && op.kind != OpKind::gt_ && op.kind != OpKind::ge_) return false;
    const Type t = f_.type(op.operands[0]);
    if (!t.is_integer() || ir::bits(t.element()) < 32 || t.element() == ir::Element::u64) return false;
    const auto axis = static_cast<std::size_t>(std::find(axes.begin(), axes.end(), 1) - axes.begin());
    const passes::AxisInfo& index = memory_.info(op.operands[less ? 0 : 1]);
    const passes::AxisInfo& bound = memory_.info(op.operands[less ? 1 : 0]);
    const std::int64_t extent = t.extent(static_cast<int>(axis));
    return index.contiguity[axis] >= extent && !index.assumes_no_wrap && bound.constancy[axis] >= extent;
  }

  const Function& f_;
  const EvaluationPlan& plan_;
  const MemoryAxes& memory_;
  const OpId loop_;
  const BlockId body_;
};

}  // namespace

std::optional<Contraction> find_contraction(const Function& f, const EvaluationPlan& plan, const MemoryAxes& memory, OpId loop) {
  return Finder(f, plan, memory, loop).run();
}

std::int64_t iterations_in_block(const Function& f, const Contraction& contraction, std::int64_t bytes) {
  // As deep as the factors of a block stay in the second cache beside the accumulators; beyond 512 products nothing is gained (measured
  // on Emerald Rapids).
  constexpr std::int64_t kDepth = 512, kBytes = 512 << 10;
  std::int64_t iterations = kDepth, rows = 0;
  for (const ContractedDot& each : contraction.dots) {
    const Type left = f.type(f.operand(each.dot, 0));
    iterations = std::min(iterations, kDepth / left.extent(1));
    rows = std::max(rows, left.extent(0));
  }
  if (rows <= kFewRows) return 1;
  while (iterations > 1 && iterations * bytes > kBytes) iterations /= 2;
  return std::max<std::int64_t>(iterations, 1);
}

}  // namespace tilewright::backend::host
