// Selects matrix instructions: a dot becomes mma if the target has an instruction for its types and precision.
//
//   dot a, b, acc   ->   mma a, b, acc {instruction = m16n8k16_f16, warps = [2, 2]}
//
//   1. select_instruction: the first synchronous row of matrix_instructions.def for the types, the precision and the compute capability.
//      Factors of 8-bit floats are cast to f16 if there is no instruction for them.
//   2. is_swapped: whether the instruction multiplies b^T a^T. Its n is smaller than its m, so it wastes less if the result has few rows.
//   3. share: how many warps share each axis of the result. A batch axis comes first, since its warps read different operands; then the
//      axis of which a warp has more, so that the block of a warp is nearly square and it reads little of the operands. If dots depend on
//      each other through element-wise ops (attention), all warps share the rows: then rows stay within a warp, and the result of the first
//      dot is the operand of the second one without a change of threads.
//   4. choose_mma_orders: the order of rows, columns and K (ir::MmaOrder) in which a thread's elements of the factors are neighbours in
//      memory, unless ldmatrix brings them into the instruction's own order: then a thread reads several at once. Also decides whether the
//      operands are swapped, if step 2 leaves it open (passes/layout/mma_order.h).
//
//   5. select_async: an asynchronous row instead, if the rows of the result fill groups of warps, a group's accumulator fits its registers, and
//      the factors fit shared memory; else a remark says why not. Groups share the rows first, so that each reads few rows of the first factor.
//      In chained products it reads the first factor from the registers of the product before. An instruction that keeps few bits of a sum
//      (fp8) adds at most 128 products: its sum is then added to the accumulator in 32 bits. Other 8-bit floats are cast to f16.
//
//   dot of f64, b row-major   ->   mma {instruction = m8n8k4_f64, column_order = [1, 2, 3, 0], k_order = [1, 2, 0]}: vectors of 2 elements
//
// Input, output: traced. Numerics: f32 factors may be rounded to tf32, or be split into sums of two bf16; sums are in another order. See
// tests/files/passes/select_mma/.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "passes/layout/mma_order.h"
#include "passes/pass.h"
#include "passes/rewriter.h"
#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

namespace {

using ir::MatrixInstruction;

ir::Precision precision_of(const Function& f, OpId dot) { return static_cast<ir::Precision>(f.attr(dot, ir::AttrName::precision)); }

/// The index of the row; none if the target multiplies these elements by fused multiply-adds.
std::optional<std::int64_t> select_instruction(const Function& f, OpId dot, const ir::TargetDesc& target) {
  const ir::Element sums = f.type(f.result(dot)).element();
  ir::Element factors = f.type(f.operand(dot, 0)).element();
  if (factors == ir::Element::f32 && precision_of(f, dot) == ir::Precision::bf16x3) factors = ir::Element::bf16;
  const auto all = ir::mma_instructions();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].factors == factors && all[i].sums == sums && ir::keeps(all[i], precision_of(f, dot)) && ir::has_instruction(target, all[i]))
      return static_cast<std::int64_t>(i);
  return std::nullopt;
}

/// Casts 8-bit floats to f16, which holds them exactly, if warps have no instruction for them; returns whether it did.
bool cast_factors(Function& f, OpId dot, const ir::TargetDesc& target) {
  const ir::Type a = f.type(f.operand(dot, 0));
  if (!a.is_float() || a.element_bytes() > 1 || select_instruction(f, dot, target)) return false;
  ir::Builder b(f);
  b.before(dot);
  b.set_loc(f.op(dot).loc);
  for (int i : {0, 1}) f.set_operand(dot, i, b.cast(f.operand(dot, i), ir::Element::f16));
  return true;
}

bool is_product(OpKind k) { return k == OpKind::dot_ || k == OpKind::mma_; }

/// The product from which the first operand is computed, and whether the result is an operand of another product, by element-wise ops
/// alone.
MmaChain chain_of(const Function& f, OpId dot) {
  const auto is_elementwise = [&](OpId id) { return ir::info(f.kind(id)).has(ir::kElementwise); };
  MmaChain chain;
  forward_uses(f, f.result(dot), [&](OpId user, ValueId used) {
    if (is_product(f.kind(user)) && f.operand(user, 0) == used) chain.has_consumer = true;
    return chain.has_consumer ? ir::WalkResult::interrupt : is_elementwise(user) ? ir::WalkResult::advance : ir::WalkResult::skip;
  });
  const ValueId a[] = {f.operand(dot, 0)};
  for (OpId id : backward_slice(f, a, [&](OpId definer) { return is_elementwise(definer) || is_product(f.kind(definer)); }))
    if (is_product(f.kind(id)) && !chain.producer) chain.producer = id;
  return chain;
}

MmaShare share(const Function& f, const MmaProduct& p, bool swapped, int num_warps) {
  const MatrixInstruction& instruction = p.instruction();
  const ir::Type t = f.type(f.result(p.dot));
  const int rank = t.rank(), rows = rank - 2, columns = rank - 1;
  MmaShare s{std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1), ir::log2_extents(t)};
  std::vector<int> least(static_cast<std::size_t>(rank));
  least[static_cast<std::size_t>(rows)] = swapped ? instruction.log2_n : instruction.log2_m;
  least[static_cast<std::size_t>(columns)] = swapped ? instruction.log2_m : instruction.log2_n;
  const auto part = [&](int axis) { return s.log2_part[static_cast<std::size_t>(axis)]; };
  const auto halves = [&](int axis) { return part(axis) > least[static_cast<std::size_t>(axis)]; };
  const bool by_rows = p.chain.any();
  for (int left = num_warps; left > 1; left /= 2) {
    int axis = rows;  // if nothing is left to share: warps hold copies
    if (rank == 3 && halves(0))
      axis = 0;
    else if (!halves(rows) || (!by_rows && halves(columns) && part(columns) > part(rows)))
      axis = halves(columns) ? columns : rows;
    s.warps[static_cast<std::size_t>(axis)] *= 2;
    if (halves(axis)) --s.log2_part[static_cast<std::size_t>(axis)];
  }
  return s;
}

/// The number of instructions of a warp for one step of K.
int instructions_of_warp(const MmaShare& s, const MatrixInstruction& instruction, bool swapped) {
  const std::size_t rank = s.log2_part.size();
  const int rows = std::max(s.log2_part[rank - 2] - (swapped ? instruction.log2_n : instruction.log2_m), 0);
  const int columns = std::max(s.log2_part[rank - 1] - (swapped ? instruction.log2_m : instruction.log2_n), 0);
  return 1 << (rows + columns + (rank == 3 ? s.log2_part[0] : 0));
}

// ---- asynchronous instructions ----

constexpr int kLeastColumns = 16;   // of the result: rows of 32 bytes in shared memory
constexpr int kLeastDivided = 64;   // columns of a group, if groups share them: whole rows of 128 bytes
constexpr int kMostShortSum = 128;  // products that are added in less than 32 bits

/// How many 32-bit registers of a thread an accumulator may have: half of all. Where there are too few registers, ptxas makes each product
/// wait for the one before.
int most_accumulators(const ir::TargetDesc& target, int num_warps) {
  return (std::min(target.max_registers, target.registers_per_sm / (32 * num_warps)) + 1) / 2;
}

/// Whether the instruction forms sums of its own, which are then added to the accumulator.
bool has_partial_sums(const Function& f, OpId dot, const MatrixInstruction& i) {
  return i.accuracy == MatrixInstruction::Accuracy::short_sums && f.constant_bits(f.operand(dot, 2)) != std::uint64_t{0};
}

/// A product by an asynchronous instruction, or the reason why there is none.
using AsyncProduct = std::variant<MmaProduct, std::string>;

/// The product by this row, unless the tiles do not allow it.
AsyncProduct async_product(const Function& f, OpId dot, std::int64_t row, const PassContext& context) {
  MmaProduct p{.dot = dot, .row = row, .chain = chain_of(f, dot)};
  const MatrixInstruction& i = p.instruction();
  const ir::Type a = f.type(f.operand(dot, 0)), sums = f.type(f.result(dot));
  const std::int64_t groups = context.num_warps >> i.log2_warps;
  if (sums.rank() != 2) return "its tiles have a batch axis";
  if (groups == 0) return fmt::format("a program has {} warps; a product takes {}", context.num_warps, 1 << i.log2_warps);
  if (a.extent(1) < 1 << i.log2_k) return fmt::format("K is {}; it takes at least {}", a.extent(1), 1 << i.log2_k);
  if (i.accuracy == MatrixInstruction::Accuracy::short_sums && a.extent(1) > kMostShortSum)
    return fmt::format("K is {}; of {}, sums of at most {} products are accurate enough", a.extent(1), ir::text(a.element()),
                       kMostShortSum);
  const std::int64_t by_rows = std::min(groups, sums.extent(0) >> i.log2_m);
  if (by_rows == 0) return fmt::format("the result has {} rows; it takes at least {}", sums.extent(0), 1 << i.log2_m);
  const std::int64_t by_columns = groups / by_rows, columns = sums.extent(1) / by_columns;
  if (const int least = by_columns > 1 ? kLeastDivided : kLeastColumns; columns < least)
    return fmt::format("{} warps share {} columns of the result; a group of {} takes at least {}", context.num_warps, sums.extent(1),
                       1 << i.log2_warps, least);
  // Chained products keep rows within a warp.
  if (by_columns > 1 && p.chain.any())
    return fmt::format("the result is a factor of another product and has {} rows; {} warps take {}", sums.extent(0), context.num_warps,
                       groups << i.log2_m);
  const std::int64_t copies = has_partial_sums(f, dot, i) ? 2 : 1;
  const std::int64_t registers = copies * sums.extent(0) / by_rows * columns / (32 << i.log2_warps);
  if (const int most = most_accumulators(context.target, context.num_warps); registers > most)
    return fmt::format("a thread has {} registers of the result; it may have at most {}", registers, most);
  p.share.warps = {by_rows << i.log2_warps, by_columns};
  p.from_registers = p.chain.producer && i.a == MatrixInstruction::Storage::either;
  return p;
}

/// The reason is empty if there is no such instruction for the elements.
AsyncProduct select_async(const Function& f, OpId dot, const PassContext& context) {
  std::string why;
  const auto all = ir::matrix_instructions();
  const ir::Element factors = f.type(f.operand(dot, 0)).element(), sums = f.type(f.result(dot)).element();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!ir::is_asynchronous(all[i]) || all[i].factors != factors || all[i].sums != sums) continue;
    if (!ir::has_instruction(context.target, all[i])) continue;
    if (all[i].accuracy == MatrixInstruction::Accuracy::tf32_truncated || !ir::keeps(all[i], precision_of(f, dot))) {
      why = fmt::format("its sums of products of {} are less accurate", ir::text(factors));
    } else {
      AsyncProduct p = async_product(f, dot, static_cast<std::int64_t>(i), context);
      if (std::holds_alternative<MmaProduct>(p)) return p;
      why = std::get<std::string>(std::move(p));
    }
  }
  return why;
}

/// Bytes of the factors that products read from shared memory, at the most at one time: the tiles of a loop are there while it runs, and those
/// from before loops in all of them. A tile that several products read is there once, or once for each axis that must be K.
class FactorBytes {
 public:
  explicit FactorBytes(const Function& f) : f_(f) {}

  void add(const MmaProduct& p) {
    for (int i = p.from_registers ? 1 : 0; i < 2; ++i) {
      ValueId tile = f_.operand(p.dot, i);
      bool rows_are_k = i == 1;
      for (OpId permute; (permute = f_.defined_by(tile, OpKind::permute_)); rows_are_k = !rows_are_k) tile = f_.operand(permute, 0);
      if (!seen_.insert({tile, p.instruction().major == MatrixInstruction::Major::k && rows_are_k}).second) continue;
      const ir::Type t = f_.type(tile);
      const BlockId block = f_.defining_block(tile);
      const OpId loop = block == f_.body() ? OpId{} : ir::ancestor_in(f_, f_.block(block).parent, f_.body());
      (loop ? of_loops_[loop] : of_body_) += t.elements() * t.element_bytes();
    }
  }
  std::int64_t most() const {
    std::int64_t of_loop = 0;
    for (const auto& [loop, bytes] : of_loops_) of_loop = std::max(of_loop, bytes);
    return of_body_ + of_loop;
  }

 private:
  const Function& f_;
  std::set<std::pair<ValueId, bool>> seen_;
  std::map<OpId, std::int64_t> of_loops_;  // of the body
  std::int64_t of_body_ = 0;
};

MmaProduct make_product(const Function& f, OpId dot, std::int64_t row, int num_warps) {
  MmaProduct p{.dot = dot, .row = row, .chain = chain_of(f, dot)};
  const MatrixInstruction& instruction = p.instruction();
  MmaShare own = share(f, p, false, num_warps);
  if (instruction.log2_m != instruction.log2_n && !p.chain.any()) {
    MmaShare swapped = share(f, p, true, num_warps);
    const int by_own = instructions_of_warp(own, instruction, false), by_swapped = instructions_of_warp(swapped, instruction, true);
    p.may_swap = by_own == by_swapped && own.warps == swapped.warps;
    if (by_swapped < by_own) own = std::move(swapped), p.order.swapped = true;
  }
  p.share = std::move(own);
  return p;
}

std::vector<ir::Attr> attributes_of(const Function& f, const MmaProduct& p) {
  std::vector<ir::Attr> attrs{{ir::AttrName::instruction, p.row, {}, {}}, {ir::AttrName::warps, 0, p.share.warps, {}}};
  if (f.type(f.operand(p.dot, 0)).element() == ir::Element::f32 && precision_of(f, p.dot) != ir::Precision::standard)
    attrs.push_back({ir::AttrName::precision, static_cast<std::int64_t>(precision_of(f, p.dot)), {}, {}});
  if (p.order.swapped) attrs.push_back({ir::AttrName::swapped, 1, {}, {}});
  if (p.from_registers) attrs.push_back({ir::AttrName::from_registers, 1, {}, {}});
  for (const auto& [name, order] : {std::pair(ir::AttrName::row_order, &p.order.rows),
                                    std::pair(ir::AttrName::column_order, &p.order.columns), std::pair(ir::AttrName::k_order, &p.order.k)})
    if (!order->empty()) attrs.push_back({name, 0, *order, {}});
  return attrs;
}

}  // namespace

bool select_mma(Function& f, const PassContext& context) {
  if (!context.target.is_gpu()) return false;
  std::vector<OpId> dots;
  std::vector<AsyncProduct> asynchronous;
  FactorBytes factors(f);
  const auto remark = [&](OpId dot, const std::string& what, const std::string& why) {
    if (context.remarks && !why.empty()) context.remarks->push_back({f.where(dot), fmt::format("dot: {}: {}", what, why)});
  };
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::dot_) return;
    AsyncProduct found = select_async(f, id, context);
    if (const auto* why = std::get_if<std::string>(&found); why && cast_factors(f, id, context.target)) {
      remark(id, "its factors are cast to f16", *why);
      found = select_async(f, id, context);
    }
    if (const auto* p = std::get_if<MmaProduct>(&found))
      factors.add(*p);
    else if (!select_instruction(f, id, context.target))
      return;
    dots.push_back(id);
    asynchronous.push_back(std::move(found));
  });
  // Loops need memory for further stages, and other ops for their scratch.
  const std::int64_t bytes = factors.most(), most_bytes = context.target.shared_bytes / 4 * 3;
  std::vector<MmaProduct> products;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    if (bytes > most_bytes && std::holds_alternative<MmaProduct>(asynchronous[i])) {
      asynchronous[i] =
          fmt::format("the factors of all products have {} bytes at one time; {} fit in shared memory beside further stages of loops",
                      bytes, most_bytes);
      cast_factors(f, dots[i], context.target);
    }
    if (const auto* p = std::get_if<MmaProduct>(&asynchronous[i])) {
      products.push_back(*p);
      continue;
    }
    products.push_back(make_product(f, dots[i], *select_instruction(f, dots[i], context.target), context.num_warps));
    remark(dots[i], "warps multiply, and no wgmma does", std::get<std::string>(asynchronous[i]));
  }
  choose_mma_orders(f, products);
  Rewriter rw(f);
  for (const MmaProduct& p : products) {
    rw.at(p.dot);
    std::vector<ValueId> operands = f.op(p.dot).operands;
    const ValueId acc = operands[2];
    const bool is_added = has_partial_sums(f, p.dot, p.instruction());
    if (is_added) operands[2] = rw.constant(f.type(acc), 0);
    const ValueId sum = f.result(rw.create(OpKind::mma_, operands, attributes_of(f, p)));
    rw.replace(p.dot, is_added ? rw.binary(OpKind::add_, acc, sum) : sum);
  }
  return rw.changed();
}

}  // namespace tilewright::passes
