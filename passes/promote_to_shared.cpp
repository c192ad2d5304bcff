// Promotes operands of products to shared memory: if other threads need an operand than those that hold it, it is written to a buffer,
// from which fragments are read for one slice of K at a time.
//
//   y = convert_layout x                     b = alloc_buffer
//   z = mma y, w, acc                        buffer_store b, x
//                                 ->         y0 = buffer_load b {offsets = [0, 0]}; y1 = buffer_load b {offsets = [0, 16]}; ...
//                                            z0 = mma y0, w0, acc; z = mma y1, w1, z0
//
//   1. find_operand: operands of mma after a conversion that moves elements between threads, in the block of the op. A conversion that was
//      moved out of a loop stays: its result is fetched once. For a dot that multiply-adds compute: all operands, if one of them is loaded
//      in its loop and the dot is short enough to be unrolled; other dots pass their operands through scratch of their own.
//   2. make_buffer: its layout has no bank conflicts for the writer and the reader (passes/plans/buffer_plan.h). A transposed tile is
//      written as it is, and read through a view.
//   3. multiply: slice by slice; the fragments of a slice are read before the previous slice is multiplied.
//
// Input, output: distributed. Numerics do not change: slices are added in the order of K. See tests/files/passes/promote_to_shared/.
#include <algorithm>
#include <array>

#include "passes/analysis/matrix_operands.h"
#include "passes/pass.h"
#include "passes/plans/buffer_plan.h"
#include "passes/plans/conversion_plan.h"
#include "passes/plans/dot_plan.h"
#include "passes/rewriter.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"
#include "tileir/roles.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

namespace {

using ir::LinearLayout;

constexpr int kVectorBytes = 16;        // width of a read from shared memory
constexpr int kMostDotRegisters = 208;  // the registers of the sums and of the fragments of two slices of a dot

class Promoter {
 public:
  Promoter(Function& f, int num_warps) : f_(f), rw_(f), num_warps_(num_warps) {}

  bool run() {
    std::vector<OpId> products;
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::mma_ || f_.kind(id) == OpKind::dot_) products.push_back(id);
    });
    for (OpId id : products) f_.kind(id) == OpKind::mma_ ? promote_mma(id) : promote_dot(id);
    return rw_.changed();
  }

 private:
  /// An operand that goes through a buffer: `source` is written to it; the operand is `source` with its axes permuted.
  struct Promoted {
    ValueId source;
    std::vector<std::int64_t> axes;
    ValueId view;  // of the buffer, with the axes that the op needs
  };

  // ---- 1. find operands ----

  std::optional<Promoted> find_operand(OpId id, int i) const {
    const OpId conversion = f_.defined_by(f_.operand(id, i), OpKind::convert_layout_);
    if (!conversion || f_.op(conversion).parent != f_.op(id).parent) return std::nullopt;
    Promoted p{f_.operand(conversion, 0), {}, {}};
    const LinearLayout from = f_.layout(p.source).without_free_registers(), to = f_.layout(f_.operand(id, i)).without_free_registers();
    const Conversion how = plan_conversion(from, to, f_.type(p.source).element_bytes());
    if (how.route && how.route->is_renaming()) return std::nullopt;
    return unpermuted(p.source);
  }

  Promoted unpermuted(ValueId v) const {
    Promoted p{v, {}, {}};
    for (int axis = 0; axis < f_.type(v).rank(); ++axis) p.axes.push_back(axis);
    while (const OpId permute = f_.defined_by(p.source, OpKind::permute_)) {
      const std::vector<std::int64_t>& axes = f_.attr_list(permute, ir::AttrName::axes);
      for (std::int64_t& axis : p.axes) axis = axes[static_cast<std::size_t>(axis)];
      p.source = f_.operand(permute, 0);
    }
    return p;
  }

  // ---- 2. make the buffer ----

  void make_buffer(Promoted& p, LayoutId reader) {
    std::vector<std::int64_t> inverse(p.axes.size());
    for (std::size_t i = 0; i < inverse.size(); ++i) inverse[static_cast<std::size_t>(p.axes[i])] = static_cast<std::int64_t>(i);
    const ir::Type t = f_.type(p.source);
    const LinearLayout memory = buffer_layout(f_.layout(p.source), LinearLayout(f_.layout(reader)).permuted(inverse), t.element_bytes());
    const ir::Type type = ir::Type::buffer(t.element(), 1, t.shape());
    const ValueId buffer = f_.result(rw_.create(OpKind::alloc_buffer_, {}, {}, std::span(&type, 1)));
    f_.set_layout(buffer, f_.add_layout(memory));
    const ValueId operands[] = {buffer, p.source};
    rw_.create(OpKind::buffer_store_, operands);
    p.view = buffer;
    if (std::is_sorted(p.axes.begin(), p.axes.end())) return;
    p.view = f_.result(rw_.create(OpKind::buffer_permute_, std::span(&buffer, 1), {{ir::AttrName::axes, 0, p.axes, {}}}));
    f_.set_layout(p.view, f_.add_layout(LinearLayout(f_.layout(buffer)).permuted(p.axes)));
  }

  // ---- 3. multiply ----

  /// An operand of the product, and the layout of its fragments.
  struct Factor {
    std::optional<Promoted> promoted;
    LayoutId layout;
  };

  /// Elements k to k + extent, along K, of operand i.
  ValueId slice(OpId id, int i, const Factor& factor, std::int64_t k, std::int64_t extent) {
    const ir::Type whole = f_.type(f_.operand(id, i));
    const int k_axis = whole.rank() - (i == 0 ? 1 : 2);
    std::vector<std::int64_t> shape = whole.shape(), offsets(shape.size());
    shape[static_cast<std::size_t>(k_axis)] = extent;
    offsets[static_cast<std::size_t>(k_axis)] = k;
    const ir::Type part(whole.element(), shape);
    const ValueId from = factor.promoted ? factor.promoted->view : f_.operand(id, i);
    if (!factor.promoted && part == whole) return from;
    std::vector<ir::Attr> attrs;
    if (part != whole) attrs.push_back({ir::AttrName::offsets, 0, offsets, {}});
    const OpKind kind = factor.promoted ? OpKind::buffer_load_ : OpKind::extract_slice_;
    const OpId made = rw_.create(kind, std::span(&from, 1), attrs, std::span(&part, 1));
    // The layout of the operand without the registers for the rest of K.
    f_.set_layout(f_.result(made), f_.add_layout(*ir::part_of_layout(f_.layout(factor.layout), ir::log2_extents(part))));
    return f_.result(made);
  }

  void promote_mma(OpId id) {
    std::array<Factor, 2> factors;
    for (int i : {0, 1}) factors[static_cast<std::size_t>(i)] = {find_operand(id, i), f_.layout_id(f_.operand(id, i))};
    if (!factors[0].promoted && !factors[1].promoted) return;
    const int log2_step = ir::log2_k_step(ir::matrix_instruction(f_, id), ir::mma_order(f_, id));
    promote(id, factors, std::int64_t{1} << log2_step);
  }

  void promote_dot(OpId id) {
    if (!is_unrolled(f_, id, ir::warps_of(f_, id, num_warps_))) return;
    std::array<Factor, 2> factors;
    bool is_loaded = false;
    for (int i : {0, 1}) {
      const ValueId operand = f_.operand(id, i);
      const LinearLayout layout = dot_operand_layout(f_.layout(f_.result(id)), f_.type(operand), i);
      factors[static_cast<std::size_t>(i)] = {unpermuted(operand), f_.add_layout(layout)};
      const OpId load = f_.defined_by(factors[static_cast<std::size_t>(i)].promoted->source, OpKind::load_);
      is_loaded =
          is_loaded || (load && f_.op(load).parent == f_.op(id).parent && is_matrix_operand(f_, load, ir::warps_of(f_, load, num_warps_)));
    }
    if (is_loaded) promote(id, factors, dot_step(id, factors));
  }

  /// The number of elements along K that a thread reads at once, if it has enough registers for them.
  std::int64_t dot_step(OpId id, const std::array<Factor, 2>& factors) const {
    const auto registers = [&](const LinearLayout& l) { return std::int64_t{1} << l.without_free_registers().bits(ir::HardwareDim::reg); };
    const ir::Type a = f_.type(f_.operand(id, 0));
    const std::int64_t depth = a.extent(a.rank() - 1), words = (a.element_bytes() + 3) / 4;
    const std::int64_t sums = registers(f_.layout(f_.result(id))) * words;
    const std::int64_t of_step = (registers(f_.layout(factors[0].layout)) + registers(f_.layout(factors[1].layout))) * words / depth;
    std::int64_t step = kVectorBytes / a.element_bytes();
    while (step > 1 && sums + 2 * step * of_step > kMostDotRegisters) step /= 2;
    return step;
  }

  void promote(OpId id, std::array<Factor, 2>& factors, std::int64_t most) {
    for (Factor& factor : factors) {
      if (!factor.promoted) continue;
      // An operand that does not change in the loop is written once.
      const OpId definition = f_.value(factor.promoted->source).op;
      rw_.at(id);
      if (definition && f_.op(definition).parent != f_.op(id).parent) rw_.after(definition);
      rw_.set_loc(f_.op(id).loc);
      make_buffer(*factor.promoted, factor.layout);
    }
    rw_.at(id);

    const ir::Type a = f_.type(f_.operand(id, 0));
    const std::int64_t depth = a.extent(a.rank() - 1), step = std::min(depth, most);
    const auto fragments = [&](std::int64_t k) {
      return std::array<ValueId, 2>{slice(id, 0, factors[0], k, step), slice(id, 1, factors[1], k, step)};
    };
    const OpKind kind = f_.kind(id);
    const LayoutId layout = f_.layout_id(f_.result(id));
    const std::vector<ir::Attr> attrs = f_.op(id).attrs;
    ValueId sum = f_.operand(id, 2);
    std::array<ValueId, 2> next = fragments(0);
    for (std::int64_t k = 0; k < depth; k += step) {
      const std::array<ValueId, 2> now = next;
      if (k + step < depth) next = fragments(k + step);
      const ValueId operands[] = {now[0], now[1], sum};
      sum = f_.result(rw_.create(kind, operands, attrs));
      f_.set_layout(sum, layout);
    }
    const std::array<ValueId, 2> unused{f_.operand(id, 0), f_.operand(id, 1)};
    rw_.replace(id, sum);
    for (ValueId v : unused) rw_.erase_unused(v);
  }

  Function& f_;
  Rewriter rw_;
  const int num_warps_;
};

}  // namespace

bool promote_to_shared(Function& f, const PassContext& context) { return Promoter(f, context.num_warps).run(); }

}  // namespace tilewright::passes
