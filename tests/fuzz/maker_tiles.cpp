// Ops of random programs that combine elements of tiles: reductions, scans, sorts, gathers, histograms and products.
#include <algorithm>
#include <array>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

using namespace ir;

/// The greatest by value, NaN above all, the lowest index among equals: the same in any order.
Maker::Combination Maker::greatest_with_index(ValueId x) {
  const Type t = f_.type(x);
  const ValueId index = affine_offsets(t.shape(), false).value;
  return {{x, index}, true, [this, t](const std::vector<ValueId>& a) -> std::vector<ValueId> {
            const ValueId above = b_.binary(OpKind::gt_, a[0], a[2]), equal = b_.binary(OpKind::eq_, a[0], a[2]);
            ValueId wins = above, ties = equal;
            if (t.is_float()) {
              const ValueId na = b_.unary(OpKind::isnan_, a[0]), nb = b_.unary(OpKind::isnan_, a[2]);
              const ValueId only = b_.binary(OpKind::bit_and_, na, b_.unary(OpKind::bit_not_, nb));
              wins = b_.binary(OpKind::bit_or_, above, only);
              ties = b_.binary(OpKind::bit_or_, equal, b_.binary(OpKind::bit_and_, na, nb));
            }
            const ValueId first = b_.binary(OpKind::lt_, a[1], a[3]);
            const ValueId earlier = b_.binary(OpKind::bit_or_, wins, b_.binary(OpKind::bit_and_, ties, first));
            return {b_.select(earlier, a[0], a[2]), b_.select(earlier, a[1], a[3])};
          }};
}

/// Sums that start again where a flag is set, beside the last element of any other tile.
Maker::Combination Maker::segments(ValueId x) {
  const Type t = f_.type(x);
  const ValueId flags = value_of(t.with_element(Element::boolean));
  const ValueId other = value_of(Type(static_cast<Element>(r_.below(kElementCount)), t.shape()));
  return {{flags, x, other}, false, [this](const std::vector<ValueId>& a) -> std::vector<ValueId> {
            const ValueId flag = b_.binary(OpKind::bit_or_, a[0], a[3]), sum = b_.binary(OpKind::add_, a[1], a[4]);
            return {flag, b_.select(a[3], a[4], sum), a[5]};
          }};
}

std::optional<Maker::Combination> Maker::combination(ValueId x) {
  const Type t = f_.type(x);
  enum Form { kOneOp, kLast, kAffine, kArgument, kSegments };
  switch (std::array{kOneOp, kOneOp, kOneOp, kOneOp, kLast, kAffine, kArgument, kSegments}[r_.below(8)]) {
    case kOneOp: {
      std::vector<OpKind> fitting;
      for (OpKind k : elementwise_ops())
        for (const Signature& s : signatures(k))
          if (info(k).has(kCommutative) && s.result == t.element() && s.operands == std::vector(2, t.element())) fitting.push_back(k);
      if (fitting.empty()) return std::nullopt;
      OpKind op = r_.pick(fitting);
      // Sums are where the order shows.
      if (t.is_float() && !is_fp8(t.element()) && r_.chance(40)) op = OpKind::add_;
      return Combination{
          {x}, r_.chance(80), [this, op](const std::vector<ValueId>& a) -> std::vector<ValueId> { return {b_.binary(op, a[0], a[1])}; }};
    }
    case kLast: return Combination{{x}, false, [](const std::vector<ValueId>& a) -> std::vector<ValueId> { return {a[1]}; }};
    case kAffine:  // x -> a0 x + a1, then x -> a2 x + a3
      if (!t.is_integer()) return std::nullopt;
      return Combination{{x, value_of(t)}, false, [this](const std::vector<ValueId>& a) -> std::vector<ValueId> {
                           const ValueId factor = b_.binary(OpKind::mul_, a[0], a[2]), moved = b_.binary(OpKind::mul_, a[1], a[2]);
                           return {factor, b_.binary(OpKind::add_, moved, a[3])};
                         }};
    case kArgument:
      if (t.is_bool() || is_fp8(t.element())) return std::nullopt;
      return greatest_with_index(x);
    case kSegments:
      if (!t.is_integer()) return std::nullopt;
      return segments(x);
  }
  return std::nullopt;
}

void Maker::combine_region(OpId id, const std::vector<Type>& types,
                           const std::function<std::vector<ValueId>(const std::vector<ValueId>&)>& combine) {
  const BlockId region = f_.region(id);
  std::vector<ValueId> args;
  for (int side = 0; side < 2; ++side)
    for (Type t : types) args.push_back(f_.add_arg(region, t.scalar()));
  within(region, [&] { b_.create(OpKind::yield_, combine(args)); });
}

void Maker::reduce_step() {
  const ValueId x = pick([](Type t) { return t.rank() > 0; });
  if (!x) return load_step();
  const Type t = f_.type(x);
  const std::int64_t axis = r_.chance(50) ? t.rank() - 1 : static_cast<std::int64_t>(r_.below(t.rank()));
  const auto c = combination(x);
  if (!c) return elementwise_step();
  std::vector<Attr> attrs{{AttrName::axis, axis}};
  if (c->commutative) attrs.push_back({AttrName::commutative, 1});
  const OpId id = b_.create(OpKind::reduce_, c->operands, attrs);
  std::vector<Type> types;
  for (ValueId v : c->operands) types.push_back(f_.type(v));
  combine_region(id, types, c->combine);
  for (ValueId v : f_.op(id).results) keep(v);
}

void Maker::scan_step() {
  const ValueId x = pick([](Type t) { return t.rank() > 0; });
  if (!x) return load_step();
  const auto c = combination(x);
  if (!c) return elementwise_step();
  std::vector<Attr> attrs{axis_of(f_.type(x))};
  if (r_.chance(40)) attrs.push_back({AttrName::reverse, 1});
  const OpId id = b_.create(OpKind::scan_, c->operands, attrs);
  std::vector<Type> types;
  for (ValueId v : c->operands) types.push_back(f_.type(v));
  combine_region(id, types, c->combine);
  for (ValueId v : f_.op(id).results) keep(v);
}

void Maker::sort_step() {
  const ValueId keys = pick([](Type t) { return t.rank() > 0 && !t.is_bool() && !is_fp8(t.element()); });
  if (!keys) return load_step();
  const Type t = f_.type(keys);
  std::vector<ValueId> operands{keys};
  if (t.is_integer() && r_.chance(30))  // many equal keys: what shows whether it is stable
    operands[0] = b_.binary(OpKind::rem_, keys, index_constant(t.shape(), t.element(), r_.between(1, 5)));
  if (t.is_float() && r_.chance(15))  // zeros of both signs are equal
    operands[0] = b_.binary(OpKind::mul_, keys, b_.constant(t, 0));
  for (std::size_t n = r_.below(3); n > 0; --n)
    operands.push_back(value_of(Type(static_cast<Element>(r_.below(kElementCount)), t.shape())));
  std::vector<Attr> attrs;
  if (r_.chance(40)) attrs.push_back({AttrName::descending, 1});
  std::int64_t count = t.extent(t.rank() - 1);
  if (r_.chance(30)) {
    while (count > 1 && r_.chance(60)) count /= 2;
    attrs.push_back({AttrName::count, count});
  }
  for (ValueId v : f_.op(b_.create(OpKind::sort_, operands, attrs)).results) keep(v);
}

void Maker::gather_step() {
  const ValueId x = pick([](Type t) { return t.rank() > 0; });
  if (!x) return load_step();
  const Type t = f_.type(x);
  const Attr axis = axis_of(t);
  Shape shape = t.shape();
  if (r_.chance(50)) {
    std::int64_t& extent = shape[static_cast<std::size_t>(axis.number)];
    int most = options_.max_log2_elements - t.log2_elements();  // how often it may double
    extent = 1;
    for (std::int64_t was = t.extent(static_cast<int>(axis.number)); was > 1; was /= 2) ++most;
    while (most-- > 0 && r_.chance(60)) extent *= 2;
  }
  constexpr Element kIntegers[] = {Element::i8, Element::i16, Element::i32, Element::i64,
                                   Element::u8, Element::u16, Element::u32, Element::u64};
  const ValueId operands[] = {x, value_of(Type(r_.pick(kIntegers), shape))};  // whatever it holds: it is taken modulo the extent
  keep(result(b_.create(OpKind::gather_, operands, {axis})));
}

void Maker::histogram_step() {
  ValueId x = pick([](Type t) { return t.is_integer(); });
  if (!x) return load_step();
  if (r_.chance(25)) x = b_.cast(x, Element::u8);  // negative values become large ones
  const Type t = f_.type(x);
  std::int64_t bins = std::int64_t{1} << r_.between(0, r_.chance(20) ? options_.max_log2_elements : 6);
  if (bits(t.element()) == 8 && r_.chance(40)) bins = 256;  // all that u8 holds
  if (r_.chance(50)) {                                      // most of it inside, rather than most of it outside
    const ValueId most = index_constant(t.shape(), t.element(), 2 * bins - 1);
    x = b_.binary(OpKind::bit_and_, x, most);
  }
  std::vector<ValueId> operands{x};
  if (r_.chance(50)) operands.push_back(value_of(t.with_element(Element::boolean)));
  keep(result(b_.create(OpKind::histogram_, operands, {{AttrName::bins, bins}})));
}

}  // namespace tilewright::fuzz
