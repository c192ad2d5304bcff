// Selects matrix instructions: a dot becomes mma if the target has an instruction for its types and precision.
//
//   dot a, b, acc   ->   mma a, b, acc {instruction = m16n8k16_f16, warps = [2, 2]}
//
//   1. select: the first row of matrix_instructions.def for the types, the precision and the compute capability.
//   2. share: how many warps share each axis of the result. A batch axis first, since its warps read different operands; then the axis of
//      which a warp has more, so that the block of a warp is nearly square and it reads little of the operands. Of dots that depend on each
//      other by element-wise ops (attention) all warps share the rows: then rows stay within a warp, and the result of the first dot is the
//      operand of the second one without a change of threads.
//
// Input, output: traced. Numerics: f32 factors may be rounded to tf32, and sums are in another order. See tests/files/passes/select_mma/.
#include <algorithm>
#include <bit>

#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

namespace {

using ir::MatrixInstruction;

/// The index of the row; none: the target multiplies such elements by fused multiply-adds.
std::optional<std::int64_t> select(const Function& f, OpId dot, const ir::TargetDesc& target) {
  const ir::Element factors = f.type(f.operand(dot, 0)).element(), sums = f.type(f.result(dot)).element();
  const auto precision = static_cast<ir::Precision>(f.attr(dot, ir::AttrName::precision));
  if (factors == ir::Element::f32 && precision == ir::Precision::ieee) return std::nullopt;
  const auto all = ir::matrix_instructions();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].factors == factors && all[i].sums == sums && all[i].sm <= target.sm) return static_cast<std::int64_t>(i);
  return std::nullopt;
}

/// Whether each factor is multiplied as the sum of two of tf32. bf16x3 allows larger errors, and gets no less.
bool is_near_f32(const Function& f, OpId dot) {
  const auto precision = static_cast<ir::Precision>(f.attr(dot, ir::AttrName::precision));
  return f.type(f.operand(dot, 0)).element() == ir::Element::f32 &&
         (precision == ir::Precision::tf32x3 || precision == ir::Precision::bf16x3);
}

bool is_elementwise(const Function& f, OpId id) { return ir::info(f.kind(id)).has(ir::kElementwise); }
bool is_product(OpKind k) { return k == OpKind::dot_ || k == OpKind::mma_; }

/// Whether the first operand of another dot is computed from this one's result, or the other way around, by element-wise ops alone.
bool is_chained(const Function& f, OpId dot) {
  bool found = false;
  forward_uses(f, f.result(dot), [&](OpId user, ValueId used) {
    if (is_product(f.kind(user)) && f.operand(user, 0) == used) found = true;
    return found ? ir::WalkResult::interrupt : is_elementwise(f, user) ? ir::WalkResult::advance : ir::WalkResult::skip;
  });
  const ValueId a[] = {f.operand(dot, 0)};
  for (OpId id : backward_slice(f, a, [&](OpId definer) { return is_elementwise(f, definer) || is_product(f.kind(definer)); }))
    found = found || is_product(f.kind(id));
  return found;
}

std::vector<std::int64_t> share(const Function& f, OpId dot, const MatrixInstruction& instruction, int num_warps) {
  const ir::Type t = f.type(f.result(dot));
  const int rank = t.rank(), rows = rank - 2, columns = rank - 1;
  std::vector<std::int64_t> warps(static_cast<std::size_t>(rank), 1), blocks = t.shape();  // blocks: the extents of a warp's part
  std::vector<std::int64_t> least(static_cast<std::size_t>(rank), 1);
  least[static_cast<std::size_t>(rows)] = std::int64_t{1} << instruction.log2_m;
  least[static_cast<std::size_t>(columns)] = std::int64_t{1} << instruction.log2_n;
  const auto halves = [&](int axis) { return blocks[static_cast<std::size_t>(axis)] > least[static_cast<std::size_t>(axis)]; };
  const bool by_rows = is_chained(f, dot);
  for (int left = num_warps; left > 1; left /= 2) {
    int axis = rows;  // if nothing is left to share: copies
    if (rank == 3 && halves(0))
      axis = 0;
    else if (!halves(rows) ||
             (!by_rows && halves(columns) && blocks[static_cast<std::size_t>(columns)] > blocks[static_cast<std::size_t>(rows)]))
      axis = halves(columns) ? columns : rows;
    warps[static_cast<std::size_t>(axis)] *= 2;
    if (halves(axis)) blocks[static_cast<std::size_t>(axis)] /= 2;
  }
  return warps;
}

}  // namespace

bool select_mma(Function& f, const PassContext& context) {
  if (!context.target.is_gpu()) return false;
  Rewriter rw(f);
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::dot_) return;
    const std::optional<std::int64_t> row = select(f, id, context.target);
    if (!row) return;
    rw.at(id);
    const std::vector<ValueId> operands = f.op(id).operands;
    const ir::Attr instruction{ir::AttrName::instruction, *row, {}, {}};
    const ir::Attr warps{
        ir::AttrName::warps, 0, share(f, id, ir::matrix_instructions()[static_cast<std::size_t>(*row)], context.num_warps), {}};
    std::vector<ir::Attr> attrs{instruction, warps};
    if (is_near_f32(f, id)) attrs.push_back({ir::AttrName::precision, static_cast<std::int64_t>(ir::Precision::tf32x3), {}, {}});
    rw.replace(id, f.result(rw.create(OpKind::mma_, operands, attrs)));
  });
  return rw.changed();
}

}  // namespace tilewright::passes
