// Products of matrices as kernels write them: a program computes a tile of the result in a loop along K, with masks at the edges.
#include <algorithm>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

struct Elements {
  Element factor, sum;
};
constexpr Elements kElements[] = {{Element::f32, Element::f32}, {Element::f32, Element::f32}, {Element::f32, Element::f32},
                                  {Element::f64, Element::f64}, {Element::f16, Element::f32}, {Element::bf16, Element::f32},
                                  {Element::i8, Element::i32}};

}  // namespace

void Maker::matrix_product_step() {
  Elements e = r_.pick(kElements);
  const auto up_to = [&](int log2) { return std::int64_t{1} << r_.between(0, log2); };
  std::int64_t m = up_to(r_.chance(10) ? 7 : 5), n = up_to(8), depth = up_to(6);
  // In runs for products, every third one has a tile for the instructions of several warps.
  if (options_.matrix_products > 0 && r_.chance(33)) {
    constexpr Elements kWide[] = {{Element::f16, Element::f32}, {Element::bf16, Element::f32}, {Element::i8, Element::i32}};
    e = r_.pick(kWide);
    m = std::int64_t{64} << r_.between(0, 1), n = std::int64_t{16} << r_.between(0, 3), depth = std::int64_t{16} << r_.between(0, 2);
  }
  const std::int64_t trips = r_.between(0, std::clamp<std::int64_t>((1 << 17) / (m * n * depth), 1, 40));
  const std::int64_t k = r_.chance(30) ? trips * depth : std::max<std::int64_t>(trips * depth - r_.between(0, depth), 0);
  const std::int64_t rows = r_.chance(40) ? r_.between(1, std::min<std::int64_t>(2 * m, 9)) : r_.between(1, 3 * m);
  const std::int64_t columns = r_.between(1, n + 5), deepest = (trips + 1) * depth;
  const Type i32(Element::i32);
  const auto scalar = [&](std::int64_t v) {
    return r_.chance(70) ? scalar_parameter(i32, static_cast<std::uint64_t>(v)) : b_.constant(i32, v);
  };
  const ValueId bound_m = scalar(rows), bound_n = scalar(columns), bound_k = scalar(k);
  // Programs along the first axis of the grid compute tiles below each other, or the same one.
  ValueId first_row = b_.constant(i32, 0);
  if (r_.chance(60)) first_row = b_.binary(OpKind::mul_, program_number(), b_.constant(i32, m));
  const std::int64_t all_rows = m * p_.grid[0] * p_.grid[1] * p_.grid[2];
  const auto line = [&](std::int64_t extent, int axis, ValueId first) {
    Shape shape{1, 1};
    shape[static_cast<std::size_t>(axis)] = extent;
    const ValueId along = b_.reshape(b_.arange(0, extent), shape);
    return first ? b_.binary(OpKind::add_, along, b_.broadcast(first, shape)) : along;
  };
  const auto less = [&](ValueId index, ValueId bound, const Shape& shape) {
    return b_.broadcast(b_.binary(OpKind::lt_, index, b_.broadcast(bound, f_.type(index).shape())), shape);
  };
  const bool is_ordered = e.factor == Element::f32 && r_.chance(80);  // with precision ieee
  struct Factor {
    Region region;
    int depth_axis;
    std::int64_t stride;  // of the rows in memory
    bool is_transposed;
    bool is_masked, is_masked_in_depth;
    int other;  // behind the mask: nothing, 0 or 1
  };
  const auto factor = [&](int depth_axis, std::int64_t extent) {
    Factor f{{}, depth_axis, 0, r_.chance(20), r_.chance(80), r_.chance(80), static_cast<int>(r_.below(4))};
    const bool is_along_depth = (depth_axis == 1) != f.is_transposed;
    f.stride = (is_along_depth ? deepest : extent) + r_.between(0, 3);
    const std::int64_t length = f.stride * (is_along_depth ? extent : deepest);
    f.region = is_ordered ? own_region(e.factor, random_contents(e.factor, length)) : small_integer_region(e.factor, length);
    return f;
  };
  const Factor left = factor(1, all_rows), right = factor(0, n);
  const bool counts_up = r_.chance(50);  // depth < K, or else index < K - depth
  const ValueId row = line(m, 0, first_row), column = line(n, 1, {});
  const Shape sums{m, n};
  const ValueId none = b_.constant_bits(Type(e.sum, sums), 0);
  const ValueId operands[] = {b_.constant(i32, 0), r_.chance(80) ? bound_k : b_.constant(i32, trips * depth), b_.constant(i32, depth),
                              none};
  const OpId loop = b_.create(OpKind::for_, operands);
  const BlockId body = f_.region(loop);
  const ValueId at = f_.add_arg(body, i32), sum = f_.add_arg(body, f_.type(none));
  within(body, [&] {
    const auto load_factor = [&](const Factor& f, ValueId other_index, ValueId other_bound) {
      const std::int64_t other_extent = f_.type(other_index).extent(1 - f.depth_axis);
      Shape shape{depth, depth};
      shape[static_cast<std::size_t>(1 - f.depth_axis)] = other_extent;
      const ValueId in_tile = line(depth, f.depth_axis, {}), in_matrix = line(depth, f.depth_axis, at);
      const auto times = [&](ValueId v, std::int64_t by) { return b_.binary(OpKind::mul_, v, b_.constant(f_.type(v), by)); };
      const bool is_along_depth = (f.depth_axis == 1) != f.is_transposed;
      const std::int64_t stride_of_depth = is_along_depth ? 1 : f.stride, stride_of_other = is_along_depth ? f.stride : 1;
      ValueId pointer = f.region.pointer;
      if (!counts_up) pointer = b_.add_ptr(pointer, times(at, stride_of_depth));
      const ValueId along = times(counts_up ? in_matrix : in_tile, stride_of_depth), across = times(other_index, stride_of_other);
      const ValueId offset = b_.binary(OpKind::add_, b_.broadcast(along, shape), b_.broadcast(across, shape));
      std::vector<ValueId> access{b_.add_ptr(b_.broadcast(pointer, shape), offset)};
      if (f.is_masked || f.is_masked_in_depth) {
        const ValueId rest = b_.binary(OpKind::sub_, bound_k, at);
        const ValueId in_depth = counts_up ? less(in_matrix, bound_k, shape) : less(in_tile, rest, shape);
        const ValueId in_other = less(other_index, other_bound, shape);
        access.push_back(!f.is_masked ? in_depth : !f.is_masked_in_depth ? in_other : b_.binary(OpKind::bit_and_, in_depth, in_other));
        const std::uint64_t other = f.other == 2 ? 0 : element_bits(e.factor, std::int64_t{1});
        if (f.other > 1) access.push_back(b_.constant_bits(Type(e.factor, shape), other));
      }
      const ValueId x = result(b_.create(OpKind::load_, access));
      return e.factor != Element::i8 && r_.chance(15) ? b_.unary(OpKind::neg_, x) : x;
    };
    const ValueId x = load_factor(left, row, bound_m), y = load_factor(right, column, bound_n);
    const ValueId factors[] = {x, y, sum};
    std::vector<Attr> precision;
    if (is_ordered) precision.push_back({AttrName::precision, static_cast<std::int64_t>(Precision::ieee), {}, {}});
    const ValueId next = result(b_.create(OpKind::dot_, factors, precision));
    b_.create(OpKind::yield_, std::span(&next, 1));
  });
  const ValueId product = keep(f_.result(loop, 0));
  // Sums may go where a factor was.
  const bool is_one_program = p_.grid[0] * p_.grid[1] * p_.grid[2] == 1;
  const auto place_of_sums = [&] {
    const Region& factor = (r_.chance(50) ? left : right).region;
    if (!is_one_program || factor.element != e.sum || factor.length < m * n || r_.chance(60)) return output_region(e.sum, m * n);
    return shifted_region(factor, r_.chance(50) ? 0 : r_.between(0, factor.length - m * n));
  };
  const Region out = place_of_sums();
  std::vector<ValueId> stored{addresses(out, affine_offsets(sums, false)), product};
  if (r_.chance(80)) stored.push_back(b_.binary(OpKind::bit_and_, less(row, bound_m, sums), less(column, bound_n, sums)));
  b_.create(OpKind::store_, stored);
}

}  // namespace tilewright::fuzz
