// Products of matrices, alone and in loops that GPUs pipeline. But for f32 with precision ieee all values are small integers: matrix
// instructions add up in an order of their own, and round f32 factors, and such sums are exact in every order.
#include <algorithm>
#include <optional>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

struct DotKind {
  Element factor, sum;
};
constexpr DotKind kDotKinds[] = {{Element::f32, Element::f32},   {Element::f16, Element::f32}, {Element::bf16, Element::f32},
                                 {Element::f64, Element::f64},   {Element::i8, Element::i32},  {Element::f8e4m3, Element::f32},
                                 {Element::f8e5m2, Element::f32}};

constexpr Precision kPrecisions[] = {Precision::tf32x3, Precision::bf16x3, Precision::ieee, Precision::ieee};

}  // namespace

void Maker::dot_step() {
  const DotKind k = r_.pick(kDotKinds);
  const auto extent = [&] { return std::int64_t{1} << r_.between(0, r_.chance(20) ? 5 : 3); };
  const std::int64_t m = extent(), n = extent(), depth = extent();
  Shape a{m, depth}, b{depth, n}, c{m, n};
  if (r_.chance(25))
    for (Shape* s : {&a, &b, &c}) s->insert(s->begin(), 2);
  std::vector<ValueId> operands{value_of(Type(k.factor, a)), value_of(Type(k.factor, b)), value_of(Type(k.sum, c))};
  std::vector<Attr> attrs;
  const bool has_order = k.factor == Element::f32 && r_.chance(30);
  if (has_order) attrs.push_back({AttrName::precision, static_cast<std::int64_t>(Precision::ieee)});
  if (!has_order)
    for (ValueId& v : operands) v = small_integers(v);
  keep(result(b_.create(OpKind::dot_, operands, attrs)));
}

ValueId Maker::small_integers(ValueId v) {
  const Type t = f_.type(v).with_element(Element::i32);
  const ValueId low = b_.binary(OpKind::bit_and_, b_.cast(v, Element::i32), b_.constant(t, 7));
  return b_.cast(b_.binary(OpKind::sub_, low, b_.constant(t, 3)), f_.type(v).element());
}

/// A tile's number, 0 to 3, from a table by the loop's counter; or one for each of `rows` rows, as a column.
ValueId Maker::tile_by_table(const Region& table, ValueId counter, std::int64_t rows) {
  ValueId at = counter;
  if (rows > 0) {
    const Type column(Element::i32, Shape{rows, 1});
    at = b_.binary(OpKind::mul_, b_.broadcast(counter, column.shape()), b_.constant(column, rows));
    at = b_.binary(OpKind::add_, at, b_.reshape(b_.arange(0, rows), column.shape()));
  }
  const Type t = f_.type(at);
  const ValueId pointer = rows > 0 ? b_.broadcast(table.pointer, t.shape()) : table.pointer;
  const ValueId access[] = {b_.add_ptr(pointer, at), b_.binary(OpKind::lt_, at, b_.constant(t, table.length))};
  return b_.binary(OpKind::bit_and_, result(b_.create(OpKind::load_, access)), b_.constant(t, 3));
}

void Maker::dot_loop_step() {
  const DotKind k = r_.pick(kDotKinds);
  const Type i32(Element::i32);
  const auto extent = [&] { return std::int64_t{1} << r_.between(0, 5); };
  const std::int64_t m = extent(), n = extent(), depth = extent(), trips = r_.between(0, 5);
  const ValueId count = r_.chance(50) ? b_.constant(i32, trips) : scalar_parameter(i32, static_cast<std::uint64_t>(trips));
  struct Factor {
    Region region;
    Shape shape;  // in memory: the axes of a transposed factor are exchanged
    bool transposed;
    Offsets first;
    std::int64_t stride;
    std::optional<Region> table;  // gives the order in which tiles, or rows of tiles, are loaded
    bool by_rows = false;
  };
  const auto factor = [&](Shape shape) {
    Factor f{{}, shape, r_.chance(40), {}, 0, {}};
    if (f.transposed) std::swap(f.shape[0], f.shape[1]);
    f.first = affine_offsets(f.shape, r_.chance(20));
    f.stride = r_.chance(70) ? m * n : r_.between(0, 9);
    const std::int64_t whole = f.first.greatest + 1 + f.stride * 4;
    f.region = small_integer_region(k.factor, std::max<std::int64_t>(1, r_.chance(50) ? whole : r_.between(whole / 2, whole)));
    if (r_.chance(25)) {
      f.by_rows = r_.chance(50);
      const std::int64_t rows = f.by_rows ? f.shape[0] : 1;
      f.table = small_integer_region(Element::i32, r_.between(1, trips * rows + 1));
    }
    return f;
  };
  const Factor factors[] = {factor({m, depth}), factor({depth, n})};
  const Shape sums{m, n};
  const ValueId operands[] = {b_.constant(i32, 0), count, b_.constant(i32, 1), small_integers(value_of(Type(k.sum, sums)))};
  std::vector<Attr> attrs;
  if (r_.chance(60)) attrs.push_back({AttrName::num_stages, r_.between(1, 5), {}});
  const OpId id = b_.create(OpKind::for_, operands, attrs);
  const BlockId body = f_.region(id);
  const ValueId i = f_.add_arg(body, i32), sum = f_.add_arg(body, f_.type(operands[3]));
  within(body, [&] {
    std::vector<ValueId> x;
    for (const Factor& f : factors) {
      const ValueId tile = f.table ? tile_by_table(*f.table, i, f.by_rows ? f.shape[0] : 0) : i;
      const ValueId moved = b_.binary(OpKind::mul_, tile, b_.constant(f_.type(tile), f.stride));
      const ValueId at = b_.binary(OpKind::add_, f.first.value, b_.broadcast(moved, f.shape));
      std::vector<ValueId> access{b_.add_ptr(b_.broadcast(f.region.pointer, f.shape), at)};
      if (f.first.greatest + f.stride * 4 >= f.region.length || r_.chance(30))
        access.push_back(b_.binary(OpKind::lt_, at, index_constant(f.shape, Element::i32, f.region.length)));
      const ValueId loaded = result(b_.create(OpKind::load_, access));
      const std::int64_t swap[] = {1, 0};
      x.push_back(f.transposed ? b_.permute(loaded, swap) : loaded);
    }
    x.push_back(sum);
    std::vector<Attr> precision;
    if (k.factor == Element::f32 && r_.chance(60))
      precision.push_back({AttrName::precision, static_cast<std::int64_t>(r_.pick(kPrecisions)), {}, {}});
    const ValueId next = result(b_.create(OpKind::dot_, x, precision));
    b_.create(OpKind::yield_, std::span(&next, 1));
  });
  keep(f_.result(id, 0));
}

void Maker::dot_scaled_step() {
  constexpr std::int64_t kBlock = 32;                                              // elements of K that share a scale
  constexpr Element kFactors[] = {Element::f8e4m3, Element::f8e5m2, Element::u8};  // u8: two elements of K each
  const auto extent = [&] { return std::int64_t{1} << r_.between(0, 3); };
  const std::int64_t m = extent(), n = extent(), depth = kBlock << r_.between(0, 2);
  const Element ea = r_.pick(kFactors), eb = r_.pick(kFactors);
  const Shape a{m, ea == Element::u8 ? depth / 2 : depth}, b{eb == Element::u8 ? depth / 2 : depth, n};
  const auto factor = [&](Element e, const Shape& s) {
    const ValueId v = value_of(Type(e, s));
    return e == Element::u8 ? v : small_integers(v);
  };
  // Sums of multiples of 2^-10 are exact.
  const auto scale = [&](std::int64_t rows, std::int64_t least, std::int64_t mask) {
    const Type t(Element::u8, Shape{rows, depth / kBlock});
    return b_.binary(OpKind::add_, b_.binary(OpKind::bit_and_, value_of(t), b_.constant(t, mask)), b_.constant(t, least));
  };
  const bool has_subnormals = r_.chance(30);  // 2^-127 and 2^-126 times 2^119 and 2^120; else 2^-2 to 2^1 each
  const ValueId factor_a = factor(ea, a), scale_a = has_subnormals ? scale(m, 0, 1) : scale(m, 125, 3);
  const ValueId factor_b = factor(eb, b), scale_b = has_subnormals ? scale(n, 246, 1) : scale(n, 125, 3);
  const ValueId operands[] = {factor_a, scale_a, factor_b, scale_b, small_integers(value_of(Type(Element::f32, Shape{m, n})))};
  keep(result(b_.create(OpKind::dot_scaled_, operands)));
}

}  // namespace tilewright::fuzz
