// Selects matrix instructions: a dot becomes mma if the target has an instruction for its types and precision.
//
//   dot a, b, acc   ->   mma a, b, acc {instruction = m16n8k16_f16, warps = [2, 2]}
//
//   1. select_instruction: the first row of matrix_instructions.def for the types, the precision and the compute capability.
//   2. is_swapped: whether the instruction multiplies b^T a^T. Its n is smaller than its m, and so wastes less of a result of few rows.
//   3. share: how many warps share each axis of the result. A batch axis first, since its warps read different operands; then the axis of
//      which a warp has more, so that the block of a warp is nearly square and it reads little of the operands. Of dots that depend on each
//      other by element-wise ops (attention) all warps share the rows: then rows stay within a warp, and the result of the first dot is the
//      operand of the second one without a change of threads.
//   4. choose_orders: the order of rows, columns and K (ir::MmaOrder) in which a thread's elements of the factors are neighbours in
//      memory, if ldmatrix does not bring them into the instruction's own order: then a thread reads several at once. Also whether the
//      operands are swapped, if step 2 leaves it open. Results of one type have one order, since they often meet in element-wise ops.
//
//   dot of f64, b row-major   ->   mma {instruction = m8n8k4_f64, column_order = [1, 2, 3, 0], k_order = [1, 2, 0]}: vectors of 2 elements
//
// Input, output: traced. Numerics: f32 factors may be rounded to tf32, or be sums of two of bf16; sums are in another order. See
// tests/files/passes/select_mma/.
#include <algorithm>
#include <bit>
#include <climits>
#include <ranges>

#include "passes/analysis/axis_info.h"
#include "passes/pass.h"
#include "passes/plans/buffer_plan.h"
#include "passes/rewriter.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"
#include "tileir/target/mma_layouts.h"

namespace tilewright::passes {

namespace {

using ir::MatrixInstruction;

using ir::MmaOrder;
using Order = std::vector<std::int64_t>;

ir::Precision precision_of(const Function& f, OpId dot) { return static_cast<ir::Precision>(f.attr(dot, ir::AttrName::precision)); }

/// Whether each factor is multiplied as the sum of two.
bool is_split(const Function& f, OpId dot) {
  return f.type(f.operand(dot, 0)).element() == ir::Element::f32 &&
         (precision_of(f, dot) == ir::Precision::tf32x3 || precision_of(f, dot) == ir::Precision::bf16x3);
}

/// The index of the row; none: the target multiplies such elements by fused multiply-adds.
std::optional<std::int64_t> select_instruction(const Function& f, OpId dot, const ir::TargetDesc& target) {
  const ir::Element sums = f.type(f.result(dot)).element();
  ir::Element factors = f.type(f.operand(dot, 0)).element();
  if (factors == ir::Element::f32 && precision_of(f, dot) == ir::Precision::ieee) return std::nullopt;
  if (factors == ir::Element::f32 && precision_of(f, dot) == ir::Precision::bf16x3) factors = ir::Element::bf16;
  const auto all = ir::matrix_instructions();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].factors == factors && all[i].sums == sums && all[i].sm <= target.sm) return static_cast<std::int64_t>(i);
  return std::nullopt;
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

/// How many warps share each axis of the result, and log2 of the extents of a warp's part.
struct Share {
  std::vector<std::int64_t> warps;
  std::vector<int> log2_part;
};

Share share(const Function& f, OpId dot, const MatrixInstruction& instruction, bool swapped, int num_warps) {
  const ir::Type t = f.type(f.result(dot));
  const int rank = t.rank(), rows = rank - 2, columns = rank - 1;
  Share s{std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1), ir::log2_extents(t)};
  std::vector<int> least(static_cast<std::size_t>(rank));
  least[static_cast<std::size_t>(rows)] = swapped ? instruction.log2_n : instruction.log2_m;
  least[static_cast<std::size_t>(columns)] = swapped ? instruction.log2_m : instruction.log2_n;
  const auto part = [&](int axis) { return s.log2_part[static_cast<std::size_t>(axis)]; };
  const auto halves = [&](int axis) { return part(axis) > least[static_cast<std::size_t>(axis)]; };
  const bool by_rows = is_chained(f, dot);
  for (int left = num_warps; left > 1; left /= 2) {
    int axis = rows;  // if nothing is left to share: copies
    if (rank == 3 && halves(0))
      axis = 0;
    else if (!halves(rows) || (!by_rows && halves(columns) && part(columns) > part(rows)))
      axis = halves(columns) ? columns : rows;
    s.warps[static_cast<std::size_t>(axis)] *= 2;
    if (halves(axis)) --s.log2_part[static_cast<std::size_t>(axis)];
  }
  return s;
}

/// The instructions of a warp for one step of K.
int instructions_of_warp(const Share& s, const MatrixInstruction& instruction, bool swapped) {
  const std::size_t rank = s.log2_part.size();
  const int rows = std::max(s.log2_part[rank - 2] - (swapped ? instruction.log2_n : instruction.log2_m), 0);
  const int columns = std::max(s.log2_part[rank - 1] - (swapped ? instruction.log2_m : instruction.log2_n), 0);
  return 1 << (rows + columns + (rank == 3 ? s.log2_part[0] : 0));
}

/// A dot that becomes mma.
struct Product {
  OpId dot;
  std::int64_t row;  // of the table
  Share share;
  bool may_swap = false;  // the instruction may as well multiply the transposed tiles
  MmaOrder order = {};

  const MatrixInstruction& instruction() const { return ir::matrix_instructions()[static_cast<std::size_t>(row)]; }
};

Product make_product(const Function& f, OpId dot, std::int64_t row, int num_warps) {
  const MatrixInstruction& instruction = ir::matrix_instructions()[static_cast<std::size_t>(row)];
  Product p{dot, row, share(f, dot, instruction, false, num_warps)};
  if (instruction.log2_m == instruction.log2_n || is_chained(f, dot)) return p;
  Share swapped = share(f, dot, instruction, true, num_warps);
  const int own = instructions_of_warp(p.share, instruction, false), other = instructions_of_warp(swapped, instruction, true);
  p.may_swap = own == other && p.share.warps == swapped.warps;
  if (other < own) p.share = std::move(swapped), p.order.swapped = true;
  return p;
}

// ---- 4. orders ----

/// Where the elements of factors are in memory.
class MemoryOrder {
 public:
  explicit MemoryOrder(const Function& f) : f_(f), axes_(f) {}

  /// The axis of a factor along which elements are neighbours in the memory that it is loaded from; none: it is not loaded.
  std::optional<int> inner_axis(ValueId factor) const {
    int left = kMostVisited;
    return find(factor, left);
  }

 private:
  static constexpr int kMostVisited = 32;

  std::optional<int> find(ValueId v, int& left) const {
    const OpId op = f_.value(v).op;
    if (!op || left-- == 0) return std::nullopt;
    const int rank = f_.type(v).rank();
    if (f_.kind(op) == OpKind::load_) {
      const auto& contiguity = axes_(f_.operand(op, 0)).contiguity;
      int inner = rank - 1;
      for (int axis = rank - 1; axis >= 0; --axis)
        if (contiguity[static_cast<std::size_t>(axis)] > contiguity[static_cast<std::size_t>(inner)]) inner = axis;
      return inner;
    }
    if (f_.kind(op) == OpKind::permute_) {
      const std::optional<int> inner = find(f_.operand(op, 0), left);
      const auto& axes = f_.attr_list(op, ir::AttrName::axes);
      if (inner) return static_cast<int>(std::ranges::find(axes, *inner) - axes.begin());
    }
    if (is_elementwise(f_, op))
      for (ValueId x : f_.op(op).operands)
        if (f_.type(x).same_extents(f_.type(v)))
          if (const std::optional<int> inner = find(x, left)) return inner;
    return std::nullopt;
  }

  const Function& f_;
  const AxisInfoAnalysis axes_;
};

/// The order in which the lowest bits of a coordinate are `packed` register bits of a fragment and `moved` further ones, and the lane bits
/// follow: order(0, 3, 1) -> [1, 2, 3, 0].
Order registers_first(int packed, int lanes, int moved) {
  Order order;
  if (moved == 0) return order;
  for (int i = 0; i < packed; ++i) order.push_back(i);
  for (int i = 0; i < lanes; ++i) order.push_back(packed + moved + i);
  for (int i = 0; i < moved; ++i) order.push_back(packed + i);
  return order;
}

/// The order of columns, rows and K for products that have the same result type and the same instruction.
class OrderSearch {
 public:
  OrderSearch(const Function& f, const MemoryOrder& memory, std::span<Product* const> products) : f_(f), products_(products) {
    const MatrixInstruction& instruction = products[0]->instruction();
    log2_packed_ = std::max(5 - std::countr_zero(static_cast<unsigned>(ir::bits(instruction.factors))), 0);
    const int element_bytes = f.type(f.operand(products[0]->dot, 0)).element_bytes();
    most_moved_ = kLog2VectorBytes - std::countr_zero(static_cast<unsigned>(element_bytes));
    for (Product* p : products)
      for (int i : {0, 1}) inner_axes_.push_back(memory.inner_axis(f.operand(p->dot, i)));
  }

  /// The first order of least cost; those that do not swap, and move fewest bits, come first.
  MmaOrder cheapest() {
    MmaOrder best;
    Cost least;
    const bool own = products_[0]->order.swapped;
    const bool may_swap = std::ranges::all_of(products_, [](const Product* p) { return p->may_swap; });
    for (const bool swapped : {own, !own}) {
      if (swapped != own && !may_swap) break;
      for (int moved = 0; moved == 0 || moved <= most_moved_ - log2_packed_; ++moved) {
        MmaOrder order{swapped, {}, {}, registers_first(log2_packed_, 2, moved)};
        if (!fits(order)) break;
        const Cost a = cheapest_outer(0, order), b = cheapest_outer(1, order);
        if (a.now + b.now < least.now) least = {a.now + b.now, a.ideal + b.ideal}, best = order;
        if (least.now == least.ideal) return best;
        if (is_never_along_k(0) && is_never_along_k(1)) break;
      }
    }
    return best;
  }

 private:
  static constexpr int kLog2VectorBytes = 4;

  /// Instructions of a thread: by an order, and if all accesses were as wide as possible.
  struct Cost {
    int now = INT_MAX, ideal = 0;
  };

  bool is_along_k(std::size_t product, int i) const {
    const int rank = f_.type(f_.result(products_[product]->dot)).rank();
    return inner_axes_[2 * product + static_cast<std::size_t>(i)] == (i == 0 ? rank - 1 : rank - 2);
  }
  bool is_never_along_k(int i) const {
    return std::ranges::none_of(std::views::iota(std::size_t{0}, products_.size()), [&](std::size_t p) { return is_along_k(p, i); });
  }
  bool is_always_along_k(int i) const {
    return std::ranges::all_of(std::views::iota(std::size_t{0}, products_.size()), [&](std::size_t p) { return is_along_k(p, i); });
  }

  /// Sets the order of the axis that operand i does not share with the other one.
  Cost cheapest_outer(int i, MmaOrder& order) const {
    Order& outer = i == 0 ? order.rows : order.columns;
    Order best;
    Cost least;
    for (int moved = 0; moved == 0 || (moved <= most_moved_ && !is_always_along_k(i)); ++moved) {
      outer = registers_first(0, 3, moved);
      if (!fits(order)) break;
      if (const Cost c = cost(i, order); c.now < least.now) least = c, best = outer;
      if (least.now == least.ideal) break;
    }
    outer = best;
    return least;
  }

  bool fits(const MmaOrder& order) const {
    return std::ranges::all_of(products_, [&](const Product* p) {
      const std::size_t rank = p->share.log2_part.size();
      const ir::Type a = f_.type(f_.operand(p->dot, 0));
      return static_cast<int>(order.rows.size()) <= p->share.log2_part[rank - 2] &&
             static_cast<int>(order.columns.size()) <= p->share.log2_part[rank - 1] &&
             static_cast<int>(order.k.size()) <= a.log2_extent(a.rank() - 1);
    });
  }

  /// What it costs to read operand i of those products that load it.
  Cost cost(int i, const MmaOrder& order) const {
    Cost sum{0, 0};
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const Product& product = *products_[p];
      const std::optional<int> inner = inner_axes_[2 * p + static_cast<std::size_t>(i)];
      if (!inner) continue;
      const ir::Type a = f_.type(f_.operand(product.dot, 0)), result = f_.type(f_.result(product.dot));
      const int log2_k = a.log2_extent(a.rank() - 1), log2_step = std::min(log2_k, ir::log2_k_step(product.instruction(), order));
      const ir::MmaLayouts layouts =
          ir::mma_layouts(product.instruction(), ir::log2_extents(result), log2_step, product.share.warps, order);
      const LinearLayout registers = (i == 0 ? layouts.a : layouts.b).without_free_registers();
      // Parts of a factor are computed.
      const bool used_in_place = !is_split(f_, product.dot);
      sum.now += read_cost(registers, *inner, a.element_bytes(), used_in_place) << (log2_k - log2_step);
      sum.ideal += std::max(a.element_bytes() << registers.bits(HardwareDim::reg) >> kLog2VectorBytes, 1) << (log2_k - log2_step);
    }
    return sum;
  }

  const Function& f_;
  const std::span<Product* const> products_;
  std::vector<std::optional<int>> inner_axes_;  // of both operands of each product
  int log2_packed_ = 0, most_moved_ = 0;
};

/// Whether ldmatrix brings factors into the instruction's own order whatever their order in memory is.
bool has_own_order(const Function& f, OpId dot) { return f.type(f.operand(dot, 0)).element_bytes() == 2; }

void choose_orders(const Function& f, std::vector<Product>& products) {
  std::vector<Product*> left;
  for (Product& p : products)
    if (!has_own_order(f, p.dot) && !is_chained(f, p.dot)) left.push_back(&p);
  if (left.empty()) return;
  const MemoryOrder memory(f);
  while (!left.empty()) {
    const auto is_alike = [&, first = *left[0]](const Product* p) {
      return p->row == first.row && p->order.swapped == first.order.swapped && f.type(f.result(p->dot)) == f.type(f.result(first.dot));
    };
    const auto rest = std::stable_partition(left.begin(), left.end(), is_alike);
    const std::span<Product* const> alike(left.begin(), rest);
    const MmaOrder order = OrderSearch(f, memory, alike).cheapest();
    for (Product* p : alike) p->order = order;
    left.erase(left.begin(), rest);
  }
}

std::vector<ir::Attr> attributes_of(const Function& f, const Product& p) {
  std::vector<ir::Attr> attrs{{ir::AttrName::instruction, p.row, {}, {}}, {ir::AttrName::warps, 0, p.share.warps, {}}};
  if (is_split(f, p.dot)) attrs.push_back({ir::AttrName::precision, static_cast<std::int64_t>(precision_of(f, p.dot)), {}, {}});
  if (p.order.swapped) attrs.push_back({ir::AttrName::swapped, 1, {}, {}});
  for (const auto& [name, order] : {std::pair(ir::AttrName::row_order, &p.order.rows),
                                    std::pair(ir::AttrName::column_order, &p.order.columns), std::pair(ir::AttrName::k_order, &p.order.k)})
    if (!order->empty()) attrs.push_back({name, 0, *order, {}});
  return attrs;
}

}  // namespace

bool select_mma(Function& f, const PassContext& context) {
  if (!context.target.is_gpu()) return false;
  std::vector<Product> products;
  f.walk([&](OpId id) {
    if (f.kind(id) != OpKind::dot_) return;
    if (const std::optional<std::int64_t> row = select_instruction(f, id, context.target))
      products.push_back(make_product(f, id, *row, context.num_warps));
  });
  choose_orders(f, products);
  Rewriter rw(f);
  for (const Product& p : products) {
    rw.at(p.dot);
    const std::vector<ValueId> operands = f.op(p.dot).operands;
    rw.replace(p.dot, f.result(rw.create(OpKind::mma_, operands, attributes_of(f, p))));
  }
  return rw.changed();
}

}  // namespace tilewright::passes
