// Searches for the order with the least cost of reading both factors.
#include "passes/layout/mma_order.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <optional>
#include <span>

#include "passes/analysis/axis_info.h"
#include "passes/plans/buffer_plan.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

using ir::MmaOrder;
using Order = std::vector<std::int64_t>;

constexpr int kInnerLanes = 2, kOuterLanes = 3;  // lane bits along K, and along the other axis of a factor

/// The order in which elements of factors are stored in memory.
class MemoryOrder {
 public:
  explicit MemoryOrder(const Function& f) : f_(f), axes_(f) {}

  /// The axis of a factor along which elements are neighbours in the memory that it is loaded from; none if it is not loaded.
  std::optional<int> inner_axis(ValueId factor) const {
    int left = kMostVisited;
    return find(factor, left);
  }

 private:
  static constexpr int kMostVisited = 32;

  std::optional<int> find(ValueId v, int& left) const {
    const OpId op = f_.value(v).op;
    if (!op || left-- <= 0) return std::nullopt;
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
    if (ir::info(f_.kind(op)).has(ir::kElementwise))
      for (ValueId x : f_.op(op).operands)
        if (f_.type(x).same_extents(f_.type(v)))
          if (const std::optional<int> inner = find(x, left)) return inner;
    return std::nullopt;
  }

  const Function& f_;
  const AxisInfoAnalysis axes_;
};

/// The order in which the lowest bits of a coordinate are `packed` register bits of a fragment and `moved` further register bits, followed
/// by the lane bits: registers_first(0, 3, 1) -> [1, 2, 3, 0].
Order registers_first(int packed, int lanes, int moved) {
  Order order;
  if (moved == 0) return order;
  for (int i = 0; i < packed; ++i) order.push_back(i);
  for (int i = 0; i < lanes; ++i) order.push_back(packed + moved + i);
  for (int i = 0; i < moved; ++i) order.push_back(packed + i);
  return order;
}

/// The order in which `packed` register bits are followed by lane bits that are these bits of the coordinate; all others ascend:
/// with_lanes(2, {1, 2}, 5) -> [0, 3, 1, 2, 4].
Order with_lanes(int packed, std::span<const int> lanes, int bits) {
  Order order, others;
  for (int i = 0; i < bits; ++i)
    if (std::ranges::find(lanes, i) == lanes.end()) others.push_back(i);
  order.insert(order.end(), others.begin(), others.begin() + packed);
  order.insert(order.end(), lanes.begin(), lanes.end());
  order.insert(order.end(), others.begin() + packed, others.end());
  return order;
}

bool is_split(const Function& f, OpId dot) {
  const auto precision = static_cast<ir::Precision>(f.attr(dot, ir::AttrName::precision));
  return precision == ir::Precision::tf32x3 || precision == ir::Precision::bf16x3;
}

/// The order of columns, rows and K for products with the same result type and instruction, or for one product of a chain.
class OrderSearch {
 public:
  /// `all`: every product of the function; products that come before these already have their orders.
  OrderSearch(const Function& f, const MemoryOrder& memory, std::span<const MmaProduct> all, std::span<MmaProduct* const> products)
      : f_(f), products_(products) {
    const ir::MatrixInstruction& instruction = products[0]->instruction();
    log2_packed_ = std::max(5 - std::countr_zero(static_cast<unsigned>(ir::bits(instruction.factors))), 0);
    most_moved_ = kLog2VectorBytes - std::countr_zero(static_cast<unsigned>(type_of(*products[0], 0).element_bytes()));
    for (const MmaProduct* p : products) {
      for (int i : {0, 1}) inner_axes_.push_back(memory.inner_axis(f.operand(p->dot, i)));
      for (const MmaProduct& other : all)
        if (p->chain.producer == other.dot) produced_ = layouts(other, type_of(other, 0).log2_extent(k_axis(other)), other.order).acc;
    }
  }

  /// The first order of least cost. Orders that do not swap, and orders that move fewer bits, are tried first.
  MmaOrder cheapest() const {
    MmaOrder best;
    Cost least;
    const bool own = products_[0]->order.swapped;
    const bool may_swap = std::ranges::all_of(products_, [](const MmaProduct* p) { return p->may_swap; });
    for (const bool swapped : {own, !own}) {
      if (swapped != own && !may_swap) break;
      for (const Order& k : orders_of_k()) {
        MmaOrder order{swapped, {}, {}, k};
        if (!fits(order)) continue;
        const Cost a = cheapest_outer(0, order), b = cheapest_outer(1, order);
        if (a.now + b.now < least.now) least = {a.now + b.now, a.ideal + b.ideal}, best = order;
        if (least.now == least.ideal) return best;
      }
    }
    return best;
  }

 private:
  static constexpr int kLog2VectorBytes = 4;

  /// Instructions of a thread: with an order, and if all accesses had their greatest possible width.
  struct Cost {
    int now = INT_MAX, ideal = 0;
  };

  Type type_of(const MmaProduct& p, int operand) const { return f_.type(f_.operand(p.dot, operand)); }
  int k_axis(const MmaProduct& p) const { return type_of(p, 0).rank() - 1; }
  ir::MmaLayouts layouts(const MmaProduct& p, int log2_k, const MmaOrder& order) const {
    return ir::mma_layouts(p.instruction(), ir::log2_extents(f_.type(f_.result(p.dot))), log2_k, p.share.warps, order);
  }

  bool is_along_k(std::size_t product, int i) const {
    const int columns = k_axis(*products_[product]);
    return inner_axes_[2 * product + static_cast<std::size_t>(i)] == (i == 0 ? columns : columns - 1);
  }
  /// The number of products whose operand i has neighbours in memory along K.
  std::size_t count_along_k(int i) const {
    std::size_t count = 0;
    for (std::size_t p = 0; p < products_.size(); ++p) count += is_along_k(p, i);
    return count;
  }

  std::vector<Order> orders_of_k() const {
    std::vector<Order> orders{{}};
    if (count_along_k(0) + count_along_k(1) > 0)
      for (int moved = 1; moved <= most_moved_ - log2_packed_; ++moved) orders.push_back(registers_first(log2_packed_, kInnerLanes, moved));
    if (produced_) {
      // The columns of the producer that lane bits select become the k that lane bits select.
      std::vector<int> lanes;
      for (int i = 0; i < kInnerLanes; ++i) {
        const std::uint32_t basis = produced_->bases(HardwareDim::lane)[static_cast<std::size_t>(i)];
        if (basis == 0 || (basis & ~produced_->axis_mask(produced_->rank() - 1)) != 0) return orders;
        lanes.push_back(std::countr_zero(basis));
      }
      const int bits = std::max(products_[0]->instruction().log2_k, std::ranges::max(lanes) + 1);
      orders.push_back(with_lanes(log2_packed_, lanes, bits));
    }
    return orders;
  }

  /// Chooses the order of the axis that operand i does not share with the other operand.
  Cost cheapest_outer(int i, MmaOrder& order) const {
    // A chained product shares its rows with another product, and a product with a consumer shares its columns.
    const MmaChain& chain = products_[0]->chain;
    const bool is_free = i == 0 ? !chain.any() : !chain.has_consumer;
    Order& outer = i == 0 ? order.rows : order.columns;
    Order best;
    Cost least;
    for (int moved = 0; moved == 0 || (moved <= most_moved_ && is_free && count_along_k(i) < products_.size()); ++moved) {
      outer = registers_first(0, kOuterLanes, moved);
      if (!fits(order)) break;
      if (const Cost c = cost(i, order); c.now < least.now) least = c, best = outer;
      if (least.now == least.ideal) break;
    }
    outer = best;
    return least;
  }

  bool fits(const MmaOrder& order) const {
    return std::ranges::all_of(products_, [&](const MmaProduct* p) {
      const std::size_t rank = p->share.log2_part.size();
      return static_cast<int>(order.rows.size()) <= p->share.log2_part[rank - 2] &&
             static_cast<int>(order.columns.size()) <= p->share.log2_part[rank - 1] &&
             static_cast<int>(order.k.size()) <= type_of(*p, 0).log2_extent(k_axis(*p));
    });
  }

  /// The cost of bringing operand i of all products into registers. Operands about which nothing is known cost nothing.
  Cost cost(int i, const MmaOrder& order) const {
    Cost sum{0, 0};
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const MmaProduct& product = *products_[p];
      const std::optional<int> inner = inner_axes_[2 * p + static_cast<std::size_t>(i)];
      const bool is_produced = i == 0 && produced_;
      if (!inner && !is_produced) continue;
      const int log2_k = type_of(product, 0).log2_extent(k_axis(product)), element_bytes = type_of(product, 0).element_bytes();
      const int log2_step = std::min(log2_k, ir::log2_k_step(product.instruction(), order)), log2_steps = log2_k - log2_step;
      const ir::MmaLayouts parts = layouts(product, is_produced ? log2_k : log2_step, order);
      const LinearLayout registers = (i == 0 ? parts.a : parts.b).without_free_registers();
      if (is_produced) {
        // Otherwise the factor is stored to shared memory and loaded.
        sum.now += has_same_threads(registers) ? 0 : 2 << registers.bits(HardwareDim::reg);
        continue;
      }
      const bool used_in_place = !is_split(f_, product.dot);  // the parts of a split factor are computed
      sum.now += read_cost(registers, *inner, element_bytes, used_in_place) << log2_steps;
      sum.ideal += std::max(element_bytes << registers.bits(HardwareDim::reg) >> kLog2VectorBytes, 1) << log2_steps;
    }
    return sum;
  }

  bool has_same_threads(const LinearLayout& factor) const {
    return produced_->log2_extents() == factor.log2_extents() && produced_->bases(HardwareDim::lane) == factor.bases(HardwareDim::lane) &&
           produced_->bases(HardwareDim::warp) == factor.bases(HardwareDim::warp);
  }

  const Function& f_;
  const std::span<MmaProduct* const> products_;
  std::vector<std::optional<int>> inner_axes_;  // the inner axes of both operands of each product
  std::optional<LinearLayout> produced_;        // for a chained product: the layout of its producer's result
  int log2_packed_ = 0, most_moved_ = 0;
};

/// Whether the instruction's own order is the best, or the only one: asynchronous instructions read shared memory; ldmatrix delivers 16-bit factors in this order, whatever their order in memory is, and
/// chained products have it too.
bool has_own_order(const Function& f, const MmaProduct& p) {
  return ir::is_asynchronous(p.instruction()) || f.type(f.operand(p.dot, 0)).element_bytes() == 2;
}

}  // namespace

void choose_mma_orders(const Function& f, std::vector<MmaProduct>& products) {
  std::vector<MmaProduct*> left;
  for (MmaProduct& p : products)
    if (!has_own_order(f, p)) left.push_back(&p);
  if (left.empty()) return;
  const MemoryOrder memory(f);
  while (!left.empty()) {
    const auto is_alike = [&, first = left[0]](const MmaProduct* p) {
      return p == first || (!first->chain.any() && !p->chain.any() && p->row == first->row && p->order.swapped == first->order.swapped &&
                            f.type(f.result(p->dot)) == f.type(f.result(first->dot)));
    };
    const auto rest = std::stable_partition(left.begin(), left.end(), is_alike);
    const std::span<MmaProduct* const> alike(left.begin(), rest);
    const MmaOrder order = OrderSearch(f, memory, products, alike).cheapest();
    for (MmaProduct* p : alike) p->order = order;
    left.erase(left.begin(), rest);
  }
}

}  // namespace tilewright::passes
