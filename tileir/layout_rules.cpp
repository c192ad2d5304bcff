// The layout rules: which tiles of an op have one layout, and which layouts follow from others.
#include "tileir/layout_rules.h"

#include <fmt/format.h>

#include "tileir/bulk_copy_rules.h"
#include "tileir/diagnostics.h"
#include "tileir/layout/axis_order.h"
#include "tileir/layout/canonical_buffer.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::ir {

namespace {

/// The layout of a tile of another shape whose bases are these, each mapped by a function.
template <class F>
LinearLayout mapped(const LinearLayout& from, std::vector<int> extents, F&& map) {
  LinearLayout to(std::move(extents));
  for (int d = 0; d < kHardwareDims; ++d)
    for (std::uint32_t basis : from.bases(static_cast<HardwareDim>(d))) to.add_basis(static_cast<HardwareDim>(d), map(basis));
  return to;
}

/// The layout of join(a, b) for a and b of this layout: the lowest register bit is the new last axis.
LinearLayout joined(const LinearLayout& half) {
  std::vector<int> extents = half.log2_extents();
  extents.push_back(1);
  LinearLayout to = mapped(half, std::move(extents), [](std::uint32_t basis) { return basis << 1; });
  std::vector<std::uint32_t> registers{1};
  registers.insert(registers.end(), to.bases(HardwareDim::reg).begin(), to.bases(HardwareDim::reg).end());
  to.set_bases(HardwareDim::reg, std::move(registers));
  return to;
}

/// The inverse of joined(); none if the layout is not a result of joined().
std::optional<LinearLayout> halved(const LinearLayout& whole) {
  const auto& registers = whole.bases(HardwareDim::reg);
  if (registers.empty() || registers[0] != 1) return std::nullopt;
  std::vector<int> extents = whole.log2_extents();
  extents.pop_back();
  LinearLayout to = mapped(whole, std::move(extents), [](std::uint32_t basis) { return basis >> 1; });
  to.set_bases(HardwareDim::reg, {to.bases(HardwareDim::reg).begin() + 1, to.bases(HardwareDim::reg).end()});
  return joined(to) == whole ? std::optional(to) : std::nullopt;
}

/// The layout of cat(a, b) for a and b of this layout: the highest register bit is the highest bit of the axis.
LinearLayout concatenated(const LinearLayout& half, int axis) {
  std::vector<int> extents = half.log2_extents();
  const int top = half.axis_shift(axis) + extents[axis]++;
  const std::uint32_t below = (1u << top) - 1;
  LinearLayout to = mapped(half, std::move(extents), [&](std::uint32_t basis) { return (basis & below) | (basis & ~below) << 1; });
  to.add_basis(HardwareDim::reg, 1u << top);
  return to;
}

/// The inverse of concatenated(); none if the layout is not a result of concatenated().
std::optional<LinearLayout> front_of(const LinearLayout& whole, int axis) {
  std::vector<int> extents = whole.log2_extents();
  const int top = whole.axis_shift(axis) + --extents[axis];
  auto registers = whole.bases(HardwareDim::reg);
  if (registers.empty() || registers.back() != 1u << top) return std::nullopt;
  registers.pop_back();
  const std::uint32_t below = (1u << top) - 1;
  LinearLayout short_of = whole;
  short_of.set_bases(HardwareDim::reg, std::move(registers));
  LinearLayout to = mapped(short_of, std::move(extents), [&](std::uint32_t basis) { return (basis & below) | (basis >> 1 & ~below); });
  return concatenated(to, axis) == whole ? std::optional(to) : std::nullopt;
}

/// The layout of sorted rows of which the first 2^log2_kept elements are kept: lanes and warps that held the others get copies. None if the
/// last axis is not in order.
std::optional<LinearLayout> sorted(const LinearLayout& rows, int log2_kept) {
  const std::optional<AxisOrder> order = axis_order(rows, rows.rank() - 1);
  if (!order || !order->high_registers.empty()) return std::nullopt;
  std::vector<int> extents = rows.log2_extents();
  const int above = extents.back();
  extents.back() = log2_kept;
  LinearLayout kept(std::move(extents));
  for (int d = 0; d < kHardwareDims; ++d)
    for (const std::uint32_t basis : rows.bases(static_cast<HardwareDim>(d))) {
      const bool along = basis != 0 && basis < 1u << above, stays = !along || basis < 1u << log2_kept;
      if (stays || static_cast<HardwareDim>(d) != HardwareDim::reg)
        kept.add_basis(static_cast<HardwareDim>(d), !stays ? 0 : along ? basis : basis >> above << log2_kept);
    }
  return kept;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> to(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) to[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return to;
}

}  // namespace

std::optional<LinearLayout> part_of_layout(const LinearLayout& operand, std::vector<int> extents) {
  const LinearLayout to(extents);
  LinearLayout slice(std::move(extents));
  std::uint32_t outside = 0;
  for (int axis = 0; axis < operand.rank(); ++axis) {
    const std::uint32_t all = operand.axis_mask(axis), kept = (to.axis_mask(axis) >> to.axis_shift(axis)) << operand.axis_shift(axis);
    outside |= all & ~kept;
  }
  for (int d = 0; d < kHardwareDims; ++d)
    for (const std::uint32_t basis : operand.bases(static_cast<HardwareDim>(d))) {
      if ((basis & outside) == 0) {
        slice.add_basis(static_cast<HardwareDim>(d), to.flat(operand.coordinates(basis)));
      } else if (static_cast<HardwareDim>(d) != HardwareDim::reg || (basis & ~outside) != 0) {
        return std::nullopt;
      }
    }
  return slice;
}

std::optional<int> axis_in_order(const Function& f, OpId id) {
  if (f.kind(id) == OpKind::scan_) return static_cast<int>(f.attr(id, AttrName::axis));
  if (f.kind(id) == OpKind::sort_) return f.type(f.operand(id, 0)).rank() - 1;
  return std::nullopt;
}

namespace {

// infer_<name>: the result's layout of each op with the rule infer_result. `extents`: the log2 extents of its first result.

std::optional<LinearLayout> infer_reshape(const Function&, OpId, const LinearLayout& operand, const std::vector<int>& extents) {
  return operand.reshaped(extents);
}
std::optional<LinearLayout> infer_permute(const Function& f, OpId id, const LinearLayout& operand, const std::vector<int>&) {
  return operand.permuted(f.attr_list(id, AttrName::axes));
}
std::optional<LinearLayout> infer_buffer_permute(const Function& f, OpId id, const LinearLayout& operand, const std::vector<int>&) {
  return operand.permuted(f.attr_list(id, AttrName::axes));
}
std::optional<LinearLayout> infer_reduce(const Function& f, OpId id, const LinearLayout& operand, const std::vector<int>&) {
  return operand.without_axis(static_cast<int>(f.attr(id, AttrName::axis))).without_free_registers();
}
std::optional<LinearLayout> infer_sort(const Function&, OpId, const LinearLayout& operand, const std::vector<int>& extents) {
  return sorted(operand, extents.back());
}
std::optional<LinearLayout> infer_join(const Function&, OpId, const LinearLayout& operand, const std::vector<int>&) {
  return joined(operand);
}
std::optional<LinearLayout> infer_split(const Function&, OpId, const LinearLayout& operand, const std::vector<int>&) {
  return halved(operand);
}
std::optional<LinearLayout> infer_cat(const Function& f, OpId id, const LinearLayout& operand, const std::vector<int>&) {
  return concatenated(operand, static_cast<int>(f.attr(id, AttrName::axis)));
}

std::optional<LinearLayout> infer_extract_slice(const Function&, OpId, const LinearLayout& operand, const std::vector<int>& extents) {
  return part_of_layout(operand, extents);
}

}  // namespace

std::optional<LinearLayout> result_layout(const Function& f, OpId id, const LinearLayout& operand) {
  const std::vector<int> extents = log2_extents(f.type(f.result(id)));
  switch (f.kind(id)) {
#define TW_INFER_infer_result(name) \
  case OpKind::name##_: return infer_##name(f, id, operand, extents);
#define TW_INFER_same_layout(name) \
  case OpKind::name##_: break;
#define TW_INFER_infer_operand TW_INFER_same_layout
#define TW_INFER_like_last_operand TW_INFER_same_layout
#define TW_INFER_same_operand_layout TW_INFER_same_layout
#define TW_INFER_any_layout TW_INFER_same_layout
#define TW_INFER_matrix TW_INFER_same_layout
#define TW_OP(name, family, traits, operands, results, regions, attributes, rule, layout, ...) TW_INFER_##layout(name)
#include "tileir/ops.def"
#undef TW_OP
  }
  TW_UNREACHABLE("the layout of the result does not follow from an operand's");
}

std::optional<LinearLayout> operand_layout(const Function& f, OpId id, const LinearLayout& result) {
  const std::vector<int> extents = log2_extents(f.type(f.operand(id, 0)));
  switch (f.kind(id)) {
    case OpKind::reshape_: return result.reshaped(extents);
    case OpKind::permute_: return result.permuted(inverse(f.attr_list(id, AttrName::axes)));
    case OpKind::broadcast_: return result.narrowed(extents).without_free_registers();
    case OpKind::join_: return halved(result);
    case OpKind::split_: return joined(result);
    case OpKind::cat_: return front_of(result, static_cast<int>(f.attr(id, AttrName::axis)));
    default: return std::nullopt;
  }
}

namespace {

bool has_layout(const Function& f, ValueId v) { return f.layout_id(v).valid(); }

std::string layout_mismatch(const Function& f, ValueId v, const LinearLayout& layout, std::string_view whose) {
  if (has_layout(f, v) && f.layout(v) == layout) return {};
  return fmt::format("{} has layout {}; it must have {}", whose, has_layout(f, v) ? text(f.layout(v)) : "none", text(layout));
}

/// The problem if the tiles among the values do not all have the layout of the first one; else empty.
std::string same_layout_problem(const Function& f, std::initializer_list<std::span<const ValueId>> lists) {
  LayoutId first;
  for (const auto& values : lists)
    for (ValueId v : values) {
      if (f.type(v).is_scalar()) continue;
      if (!first) first = f.layout_id(v);
      if (f.layout_id(v) != first) return layout_mismatch(f, v, f.layout(first), "one of its tiles");
    }
  return {};
}

/// The problem if two loop-carried values of a pair have different layouts; else empty.
std::string tied_layouts_problem(const Function& f, std::span<const ValueId> from, std::span<const ValueId> to) {
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    if (f.layout_id(from[i]) != f.layout_id(to[i])) return fmt::format("value {} changes its layout where it is passed on", i + 1);
  return {};
}

/// The problem with the layout of factor 0 or 1 of a product; else empty. The instruction reads a factor from registers under this layout,
/// or from an aligned canonical buffer. A tile that becomes such a buffer has any layout.
std::string factor_problem(const Function& f, OpId id, int i, const LinearLayout& registers, std::string_view whose) {
  const ValueId v = f.operand(id, i);
  if (!reads_from_shared(f, id, i)) return layout_mismatch(f, v, registers, whose);
  if (!f.type(v).is_buffer()) return {};
  const bool only_k_major = matrix_instruction(f, id).major == MatrixInstruction::Major::k;
  const auto found = matrix_descriptor(f.layout(v), i == 0 ? 1 : 0, f.type(v).element_bytes(), only_k_major);
  if (const auto* reason = std::get_if<NotCanonical>(&found)) return fmt::format("{} cannot be read: {}", whose, reason->reason);
  const auto& d = std::get<MatrixDescriptor>(found);
  // A group of warps begins at a whole slab of columns.
  const std::int64_t columns = f.type(f.result(id)).extent(1) / f.attr_list(id, AttrName::warps)[1];
  if (i == 1 && !d.along_k && columns * f.type(v).element_bytes() % d.slab_bytes != 0 && columns < f.type(v).extent(1))
    return fmt::format("{} has slabs of {} bytes, of which each group of warps multiplies a part", whose, d.slab_bytes);
  const int alignment = d.alignment();
  if (f.attr(allocation_of(f, v), AttrName::alignment) >= alignment) return {};
  return fmt::format("{} is a buffer that must be aligned to {} bytes", whose, alignment);
}

/// Whether each element has one offset.
bool is_memory(const LinearLayout& l) { return l.bits(HardwareDim::offset) == l.matrix().width() && l.is_injective() && l.is_surjective(); }

std::string regions_problem(const Function& f, OpId id) {
  const OpData& op = f.op(id);
  const auto end = [&](int i) { return std::span(f.op(f.terminator(op.regions[i])).operands); };
  const auto args = [&](int i) { return std::span(f.block(op.regions[i]).args); };
  const auto first = [](std::initializer_list<std::string> problems) {
    for (const std::string& p : problems)
      if (!p.empty()) return p;
    return std::string();
  };
  switch (op.kind) {
    case OpKind::for_: {
      const auto init = std::span(op.operands).subspan(3);
      return first({tied_layouts_problem(f, init, args(0).subspan(1)), tied_layouts_problem(f, end(0), op.results),
                    tied_layouts_problem(f, init, op.results)});
    }
    case OpKind::if_: return first({tied_layouts_problem(f, end(0), op.results), tied_layouts_problem(f, end(1), op.results)});
    case OpKind::while_:
      return first({tied_layouts_problem(f, op.operands, args(0)), tied_layouts_problem(f, end(0).subspan(1), args(1)),
                    tied_layouts_problem(f, end(1), op.operands), tied_layouts_problem(f, args(1), op.results)});
    default: return {};
  }
}

}  // namespace

std::string layout_problem(const Function& f, OpId id) {
  const OpData& op = f.op(id);
  for (const auto* values : {&op.operands, &op.results})
    for (ValueId v : *values) {
      if (f.type(v).is_scalar() == has_layout(f, v)) return f.type(v).is_scalar() ? "a scalar has a layout" : "a tile has no layout";
      if (has_layout(f, v) && f.layout(v).log2_extents() != log2_extents(f.type(v))) return "the shape of a tile and of its layout differ";
      if (f.type(v).is_buffer() && has_layout(f, v) && !is_memory(f.layout(v)))
        return "the layout of a buffer must have one offset for each element";
    }
  if (info(op.kind).family == Family::control) return regions_problem(f, id);
  switch (layout_rule(op.kind)) {
    case LayoutRule::same_layout:
      if (op.kind == OpKind::scan_ && !axis_order(f.layout(op.operands[0]), *axis_in_order(f, id)))
        return "its axis does not lie in order: registers, lanes, warps, registers";
      return same_layout_problem(f, {op.operands, op.results});
    case LayoutRule::like_last_operand: return same_layout_problem(f, {std::span(op.operands).last(1), op.results});
    case LayoutRule::same_operand_layout:
    case LayoutRule::any_layout: return op.kind == OpKind::bulk_copy_ || op.kind == OpKind::bulk_store_ ? bulk_copy_problem(f, id) : "";
    case LayoutRule::matrix: {
      if (op.kind == OpKind::mma_wait_) return tied_layouts_problem(f, op.operands, op.results);
      const MmaLayouts layouts = mma_layouts(f, id);
      std::string problem = factor_problem(f, id, 0, layouts.a, "'a'");
      if (problem.empty()) problem = factor_problem(f, id, 1, layouts.b, "'b'");
      if (problem.empty()) problem = layout_mismatch(f, op.operands[2], layouts.acc, "'acc'");
      return problem.empty() ? layout_mismatch(f, op.results[0], layouts.acc, "the result") : problem;
    }
    case LayoutRule::infer_operand: {
      const ValueId x = op.operands[0];
      if (f.type(x).is_scalar()) return {};
      return layout_mismatch(f, x, *operand_layout(f, id, f.layout(op.results[0])), "the operand");
    }
    case LayoutRule::infer_result: {
      if (std::string p = same_layout_problem(f, {op.operands}); !p.empty()) return p;
      const bool from_scalar = f.type(op.operands[0]).is_scalar(), to_scalar = f.type(op.results[0]).is_scalar();
      if (to_scalar || from_scalar) return {};
      const auto follows = result_layout(f, id, f.layout(op.operands[0]));
      if (!follows) return "it cannot work on this layout of its operand";
      for (ValueId r : op.results)
        if (std::string p = layout_mismatch(f, r, *follows, "the result"); !p.empty()) return p;
      return {};
    }
  }
  return {};
}

}  // namespace tilewright::ir
