// Buffers, addresses within them, loads and stores of random programs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {
/// A value half way between two of a narrower format, or next to it by less than a float can see: what rounding twice gets wrong.
double near_tie(Random& r) {
  constexpr int kMantissas[] = {2, 3, 7, 10, 23};
  const int mantissa = r.pick(kMantissas);
  const double tie = 1 + std::ldexp(static_cast<double>(2 * r.between(0, 3) + 1), -mantissa - 1);
  return std::ldexp(tie + static_cast<double>(r.between(-1, 1)) * 0x1p-45, static_cast<int>(r.between(-4, 8)));
}
}  // namespace

/// The bits of an element. Wildness 0: small numbers, so that long chains keep meaning; 1: special values among them; 2: any bits.
std::uint64_t Maker::random_bits(Element e, int wildness) {
  if (e == Element::boolean) return r_.below(2);
  const std::uint64_t any = r_.next() >> (64 - bits(e));
  if (wildness == 0 && r_.chance(20)) {
    // Values that algebraic rules treat specially: 0, 1, -1, powers of two.
    constexpr std::int64_t kPlain[] = {0, 1, -1, 2, 4, 8, 16};
    return element_bits(e, r_.pick(kPlain));
  }
  if (wildness == 2) return any;
  const bool special = wildness == 1 && r_.chance(40);
  if (is_float(e)) {
    constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kSpecial[] = {0.0, -0.0, kInf, -kInf, kNan, 0.5, -1.5, 2.5, 1e-40, -1e-310, 65504.0, 3.4e38, -1.7e308, 0x1p31, 0x1p63};
    if (special && r_.chance(20)) return r_.below(3);  // 1 and 2 are subnormals
    if (special && bits(e) >= 32 && r_.chance(50)) return element_bits(e, near_tie(r_));
    if (special) return element_bits(e, r_.pick(kSpecial));
    double v = static_cast<double>(r_.between(-64, 64));
    if (r_.chance(50)) v /= 8;
    if (r_.chance(40)) v += static_cast<double>(r_.below(1000)) / 999;  // sums of these round
    return element_bits(e, v);
  }
  if (special) {
    const std::uint64_t top = std::uint64_t{1} << (bits(e) - 1);
    const std::uint64_t kSpecial[] = {0, 1, top, top - 1, ~std::uint64_t{0}, 2, static_cast<std::uint64_t>(bits(e)), any};
    return element_bits(e, static_cast<std::int64_t>(r_.pick(kSpecial)));
  }
  return element_bits(e, r_.between(is_signed(e) ? -20 : 0, 40));
}

std::vector<std::byte> Maker::random_contents(Element e, std::int64_t count) {
  const int wildness = r_.chance(50) ? 0 : r_.chance(65) ? 1 : 2;
  const std::size_t size = static_cast<std::size_t>(bytes(e));
  std::vector<std::byte> out(static_cast<std::size_t>(count) * size);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t word = random_bits(e, wildness);
    if (e == Element::boolean && word && wildness == 2) word = 1 + r_.below(255);  // any nonzero byte is true
    std::memcpy(&out[static_cast<std::size_t>(i) * size], &word, size);
  }
  return out;
}

ValueId Maker::scalar_parameter(Type t, std::uint64_t word) {
  Argument a;
  a.word = word;
  p_.arguments.push_back(a);
  Param param{"n" + std::to_string(p_.arguments.size()), 1};
  if (t.is_integer() && word % 16 == 0 && r_.chance(50)) param.divisible_by = 16;
  return f_.add_param(t, param);
}

namespace {
/// A buffer's start: on a 64-byte boundary and known to be, or anywhere and not. Buffers are distinct, which only some are known to be.
Param place(Random& r, Argument& a, const std::string& name) {
  const bool disjoint = r.chance(50);
  if (r.chance(60)) return {name, r.chance(50) ? 16 : 64, disjoint};
  a.misalignment = r.between(0, 15);
  return {name, bytes(a.element), disjoint};
}
}  // namespace

Maker::Region& Maker::input_region(Element e, std::int64_t want) {
  if (r_.chance(50))
    for (Region& region : regions_)
      if (region.element == e && !region.sliced && region.length * 2 >= want) return region;
  Argument a;
  a.is_buffer = true;
  a.element = e;
  const std::int64_t length = std::max<std::int64_t>(1, r_.chance(50) ? want + r_.between(0, 5) : r_.between(want / 2, 2 * want));
  a.bytes = random_contents(e, length);
  const Param param = place(r_, a, "in" + std::to_string(p_.arguments.size()));
  p_.arguments.push_back(std::move(a));
  const ValueId pointer = f_.add_param(Type::pointer(e, r_.chance(70)), param);
  return regions_.emplace_back(Region{pointer, static_cast<int>(p_.arguments.size()) - 1, e, length, false, false});
}

Maker::Region Maker::small_integer_region(Element e, std::int64_t length) {
  const auto size = static_cast<std::size_t>(bytes(e));
  std::vector<std::byte> contents(static_cast<std::size_t>(length) * size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
    const std::uint64_t word = element_bits(e, r_.between(-3, 4));
    std::memcpy(&contents[i * size], &word, size);
  }
  return own_region(e, std::move(contents));
}

Maker::Region Maker::own_region(Element e, std::vector<std::byte> contents) {
  Argument a;
  a.is_buffer = true;
  a.element = e;
  const std::int64_t length = static_cast<std::int64_t>(contents.size()) / bytes(e);
  a.bytes = std::move(contents);
  const Param param = place(r_, a, "in" + std::to_string(p_.arguments.size()));
  p_.arguments.push_back(std::move(a));
  const ValueId pointer = f_.add_param(Type::pointer(e, true), param);
  // This region is not added to regions_: other steps would read other elements than these.
  return {pointer, static_cast<int>(p_.arguments.size()) - 1, e, length, false, false};
}

Maker::Region& Maker::output_region(Element e, std::int64_t want) {
  Argument a;
  a.is_buffer = true;
  a.element = e;
  const std::int64_t length = r_.chance(50) ? want : want + r_.between(0, want + 5);
  a.bytes = random_contents(e, length * p_.grid[0] * p_.grid[1] * p_.grid[2]);
  Param param = place(r_, a, "out" + std::to_string(p_.arguments.size()));
  const std::int64_t misalignment = a.misalignment;
  p_.arguments.push_back(std::move(a));
  const int parameter = static_cast<int>(p_.arguments.size()) - 1;
  const bool has_alias = r_.chance(20);
  param.disjoint = param.disjoint && !has_alias;
  const ValueId pointer = f_.add_param(Type::pointer(e, false), param);
  if (has_alias) {
    // A second parameter for the same memory: no back end may assume that pointers differ.
    Argument second;
    second.is_buffer = true;
    second.element = e;
    second.misalignment = misalignment;
    second.alias = parameter;
    p_.arguments.push_back(second);
    const ValueId other = f_.add_param(Type::pointer(e, true), {"alias" + std::to_string(p_.arguments.size()), param.divisible_by});
    regions_.push_back({other, parameter + 1, e, length, true, false});
  }
  return regions_.emplace_back(Region{pointer, parameter, e, length, true, true});
}

/// The linear number of the running program, computed at the top of the body on first use.
ValueId Maker::program_number() {
  if (program_number_) return program_number_;
  Builder b(f_);
  b.at_start(f_.body());
  b.set_loc(b_.loc());
  const auto index = [&](OpKind kind, std::int64_t axis) { return f_.result(b.create(kind, {}, {{AttrName::axis, axis, {}}})); };
  ValueId n = index(OpKind::program_id_, 2);
  for (int axis : {1, 0}) {
    const ValueId before = b.binary(OpKind::mul_, n, index(OpKind::num_programs_, axis));
    n = b.binary(OpKind::add_, before, index(OpKind::program_id_, axis));
  }
  return program_number_ = n;
}

/// Sum over the axes of a coordinate times its stride: row-major, or with the axes in another order.
Maker::Offsets Maker::affine_offsets(const Shape& shape, bool permuted) {
  const int rank = static_cast<int>(shape.size());
  std::vector<int> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  if (permuted)
    for (int i = rank - 1; i > 0; --i) std::swap(order[i], order[r_.below(i + 1)]);
  ValueId sum;
  std::int64_t stride = 1, greatest = 0;
  for (int axis : order) {
    if (shape[axis] == 1 && r_.chance(90)) continue;
    Shape line(rank, 1);
    line[axis] = shape[axis];
    ValueId coordinate = b_.broadcast(b_.reshape(b_.arange(0, shape[axis]), line), shape);
    if (stride != 1) coordinate = b_.binary(OpKind::mul_, coordinate, index_constant(shape, Element::i32, stride));
    sum = sum ? b_.binary(OpKind::add_, sum, coordinate) : coordinate;
    greatest += (shape[axis] - 1) * stride;
    stride *= shape[axis];
  }
  if (!sum) sum = index_constant(shape, Element::i32, 0);
  const std::int64_t run = permuted || rank == 0 ? 1 : shape.back();
  return {sum, greatest, run, run};
}

Maker::Offsets Maker::gathered_offsets(const Shape& shape, std::int64_t length) {
  const Element e = r_.chance(50) ? Element::u32 : Element::u64;
  const ValueId any = b_.cast(value_of(Type(Element::i32, shape)), e);
  return {b_.cast(b_.binary(OpKind::rem_, any, index_constant(shape, e, length)), Element::i32), length - 1};
}

Maker::Offsets Maker::offsets(const Shape& shape, std::int64_t length, bool injective) {
  const Type t(Element::i32, shape);
  if (!injective && r_.chance(25)) return gathered_offsets(shape, length);
  Offsets o = affine_offsets(shape, r_.chance(20));
  const std::int64_t n = t.elements();
  const auto with = [&](OpKind kind, ValueId v, std::int64_t c) { return b_.binary(kind, v, index_constant(shape, Element::i32, c)); };
  switch (r_.below(10)) {
    case 0: return {b_.binary(OpKind::sub_, index_constant(shape, Element::i32, n - 1), o.value), n - 1};
    case 1: return {with(OpKind::bit_xor_, o.value, static_cast<std::int64_t>(r_.below(n))), n - 1};
    case 2: return {with(OpKind::bit_and_, with(OpKind::mul_, o.value, 2 * r_.between(0, 20) + 1), n - 1), n - 1};  // odd: a permutation
    case 3: {
      const std::int64_t stride = r_.between(2, 3);
      return {with(OpKind::mul_, o.value, stride), o.greatest * stride};
    }
    case 4: {
      const std::int64_t start = r_.between(1, 7);
      return {with(OpKind::add_, o.value, start), o.greatest + start, o.run, 1};
    }
    default: return o;
  }
}

/// These offsets in another integer type that can hold them.
Maker::Offsets Maker::narrowed(Offsets o) {
  if (r_.chance(60)) return o;
  constexpr Element kTypes[] = {Element::i8, Element::i16, Element::i64, Element::u8, Element::u16, Element::u32, Element::u64};
  const Element e = r_.pick(kTypes);
  const int value_bits = bits(e) - (is_signed(e) ? 1 : 0);
  if (value_bits < 63 && o.greatest >> value_bits != 0) return o;
  return {b_.cast(o.value, e), o.greatest};
}

/// These offsets with hints that are true for them.
Maker::Offsets Maker::hinted(Offsets o) {
  const auto divisor_of = [&](std::int64_t n) {
    while (n > 1 && n % 2 == 0 && r_.chance(30)) n /= 2;
    return n;
  };
  const auto hint = [&](OpKind kind, AttrName name, std::int64_t n) {
    o.value = result(b_.create(kind, std::span(&o.value, 1), {{name, n}}));
  };
  if (r_.chance(5)) hint(OpKind::max_contiguous_, AttrName::length, divisor_of(o.run));
  if (r_.chance(5)) hint(OpKind::multiple_of_, AttrName::divisor, divisor_of(o.multiple));
  return o;
}

ValueId Maker::addresses(const Region& region, Offsets o) {
  const Shape shape = f_.type(o.value).shape();
  const Type i32(Element::i32);
  ValueId base = region.pointer;
  if (region.sliced) {
    const ValueId number = program_number(), length = b_.constant(i32, region.length);
    const ValueId start = b_.binary(OpKind::mul_, number, length);
    switch (r_.below(3)) {
      case 0:  // the scalar pointer moves first
        base = b_.add_ptr(base, start);
        break;
      case 1:  // one offset of both
        o.value = b_.binary(OpKind::add_, o.value, b_.broadcast(start, shape));
        return b_.add_ptr(b_.broadcast(base, shape), o.value);
      default: {  // two steps of tiles
        const ValueId far = b_.broadcast(start, shape);
        return b_.add_ptr(b_.add_ptr(b_.broadcast(base, shape), o.value), far);
      }
    }
  }
  const ValueId offset = narrowed(o).value;
  return b_.add_ptr(b_.broadcast(base, shape), offset);
}

Maker::Access Maker::access(const Region& region, const Shape& shape, bool injective) {
  const Offsets o = hinted(offsets(shape, region.length, injective));
  ValueId mask;
  if (o.greatest >= region.length || r_.chance(25)) {
    const std::int64_t limit = r_.chance(60) ? region.length : r_.between(0, region.length);
    // Every way to write x < limit: x < limit, limit > x, x <= limit - 1, limit - 1 >= x.
    const bool strict = r_.chance(60), index_first = r_.chance(60);
    const std::int64_t bound = strict ? limit : limit - 1;
    const ValueId scalar =
        r_.chance(50) ? scalar_parameter(Type(Element::i32), element_bits(Element::i32, bound)) : b_.constant(Type(Element::i32), bound);
    const ValueId n = b_.broadcast(scalar, shape);
    const OpKind kind = index_first ? (strict ? OpKind::lt_ : OpKind::le_) : (strict ? OpKind::gt_ : OpKind::ge_);
    mask = index_first ? b_.binary(kind, o.value, n) : b_.binary(kind, n, o.value);
  }
  if (r_.chance(15)) {
    const ValueId extra = value_of(Type(Element::boolean, shape));
    mask = mask ? b_.binary(OpKind::bit_and_, mask, extra) : extra;
  }
  ValueId address = addresses(region, o);
  const Type t = f_.type(address);
  if (r_.chance(5)) address = b_.bitcast(b_.bitcast(address, Type(r_.chance(50) ? Element::i64 : Element::u64)), t);
  if (r_.chance(5)) {
    const ValueId condition = value_of(Type(Element::boolean, shape)), same = addresses(region, o);
    address = b_.select(condition, address, same);
  }
  return {address, mask};
}

std::vector<Attr> Maker::random_attributes(OpKind kind) {
  std::vector<Attr> attrs;
  for (const AttrInfo& a : info(kind).attributes) {
    if (a.required || a.name == AttrName::poison_passthru || !r_.chance(5))
      continue;  // poison_passthru asserts that these elements are not used
    if (ir::kind(a.name) == AttrKind::symbol)
      attrs.push_back({a.name, static_cast<std::int64_t>(r_.below(symbols(a.name).size())), {}});
    else if (ir::kind(a.name) == AttrKind::flag)
      attrs.push_back({a.name, 1, {}});
  }
  return attrs;
}

ValueId Maker::load(const Region& chosen, const Shape& shape) {
  const Region region = chosen;  // making values may add regions
  const Access at = access(region, shape, false);
  std::vector<ValueId> operands{at.address};
  if (at.mask) {
    operands.push_back(at.mask);
    if (r_.chance(50)) operands.push_back(making_ < 3 ? value_of(Type(region.element, shape)) : constant(Type(region.element, shape)));
  }
  return keep(result(b_.create(OpKind::load_, operands, random_attributes(OpKind::load_))));
}

void Maker::store(const Region& chosen, ValueId v) {
  const Region region = chosen;
  const Access at = access(region, f_.type(v).shape(), true);
  std::vector<ValueId> operands{at.address, v};
  if (at.mask) operands.push_back(at.mask);
  b_.create(OpKind::store_, operands, random_attributes(OpKind::store_));
}

void Maker::load_step() {
  // Sometimes from memory that this program has stored to.
  std::vector<Region> own;
  for (const Region& region : regions_)
    if (region.sliced) own.push_back(region);
  if (!own.empty() && r_.chance(50)) {
    const Region& region = r_.pick(own);
    load(region, r_.pick(shapes_));
    return;
  }
  const Type t = any_type();
  load(input_region(t.element(), t.elements()), t.shape());
}

void Maker::store_step() {
  const ValueId v = pick([](Type) { return true; });
  if (!v) return load_step();
  const Type t = f_.type(v);
  for (const Region& region : regions_)
    if (region.writable && region.element == t.element() && r_.chance(60)) return store(region, v);
  store(output_region(t.element(), t.elements()), v);
}

ValueId Maker::mapped(ValueId v) {
  const Type t = f_.type(v);
  while (true) {
    const OpKind kind = r_.pick(elementwise_ops());
    std::vector<const Signature*> fitting;
    for (const Signature& s : signatures(kind))
      if (std::find(s.operands.begin(), s.operands.end(), t.element()) != s.operands.end()) fitting.push_back(&s);
    if (fitting.empty()) continue;
    const Signature& chosen = *r_.pick(fitting);
    const auto own =
        static_cast<std::size_t>(std::find(chosen.operands.begin(), chosen.operands.end(), t.element()) - chosen.operands.begin());
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < chosen.operands.size(); ++i)
      operands.push_back(i == own || (chosen.operands[i] == t.element() && r_.chance(20)) ? v
                                                                                          : value_of(Type(chosen.operands[i], t.shape())));
    if (kind == OpKind::bitcast_) operands[0] = without_nan(operands[0]);
    if (kind == OpKind::copysign_) operands[1] = without_nan(operands[1]);
    const Type declared(chosen.result, t.shape());
    return result(b_.create(kind, operands, random_attributes(kind), std::span(&declared, 1)));
  }
}

/// A masked load whose elements reach only element-wise ops and a store under the same mask or a narrower one. So the values of the load
/// where the mask is false are never used, whatever the ops are: no value of the chain is kept for other steps.
void Maker::masked_map_step() {
  if (r_.chance(25)) return overlap_step();
  Type t = any_type();
  // Integers of 64 bits are few of the elements, and their ops take more instructions than others do.
  if (r_.chance(25)) t = t.with_element(r_.chance(50) ? Element::i64 : Element::u64);
  const Region from = input_region(t.element(), t.elements());
  const Offsets o = affine_offsets(t.shape(), r_.chance(20));
  const std::int64_t limit = r_.between(0, std::min(from.length, t.elements()));
  const Type i32(Element::i32);
  const ValueId bound = r_.chance(70) ? scalar_parameter(i32, element_bits(Element::i32, limit)) : b_.constant(i32, limit);
  ValueId mask = b_.binary(OpKind::lt_, o.value, b_.broadcast(bound, t.shape()));
  std::vector<ValueId> loaded{addresses(from, o), mask};
  if (r_.chance(15)) loaded.push_back(value_of(t));
  ValueId v = result(b_.create(OpKind::load_, loaded, random_attributes(OpKind::load_)));
  for (std::int64_t n = r_.between(1, 4); n > 0; --n) v = mapped(v);
  if (r_.chance(25)) mask = b_.binary(OpKind::bit_and_, mask, value_of(Type(Element::boolean, t.shape())));
  const Region to = output_region(f_.type(v).element(), t.elements());
  const Offsets place = r_.chance(70) ? o : affine_offsets(t.shape(), r_.chance(20));
  const std::vector<ValueId> stored{addresses(to, place), v, mask};
  b_.create(OpKind::store_, stored, random_attributes(OpKind::store_));
}

void Maker::walk_step() {
  const Type t = any_type();
  const Type i32(Element::i32);
  const Shape shape = t.shape();
  const std::int64_t trips = r_.between(1, 4), stride = r_.chance(70) ? t.elements() : r_.between(1, 9);
  const Region region = input_region(t.element(), t.elements() * trips);
  const Offsets first = affine_offsets(shape, r_.chance(20));
  const bool by_pointer = r_.chance(60), masked = first.greatest + stride * (trips - 1) >= region.length || r_.chance(30);
  const ValueId pointers = b_.broadcast(region.pointer, shape), start = by_pointer ? b_.add_ptr(pointers, first.value) : first.value;
  const ValueId count = r_.chance(50) ? b_.constant(i32, trips) : scalar_parameter(i32, static_cast<std::uint64_t>(trips));
  const ValueId operands[] = {b_.constant(i32, 0), count, b_.constant(i32, 1), start, value_of(t)};
  const OpId id = b_.create(OpKind::for_, operands);
  const BlockId body = f_.region(id);
  const ValueId i = f_.add_arg(body, i32), position = f_.add_arg(body, f_.type(operands[3])), sum = f_.add_arg(body, t);
  within(body, [&] {
    ValueId moved = position;
    if (by_pointer) moved = b_.binary(OpKind::add_, first.value, b_.broadcast(b_.binary(OpKind::mul_, i, b_.constant(i32, stride)), shape));
    std::vector<ValueId> access{by_pointer ? position : b_.add_ptr(pointers, position)};
    if (masked) access.push_back(b_.binary(OpKind::lt_, moved, index_constant(shape, Element::i32, region.length)));
    keep(result(b_.create(OpKind::load_, access)));
    keep(sum);
    steps(1);
    const ValueId step = index_constant(shape, Element::i32, stride);
    const ValueId yielded[] = {by_pointer ? b_.add_ptr(position, step) : b_.binary(OpKind::add_, position, step), changed(sum)};
    b_.create(OpKind::yield_, yielded);
  });
  keep(f_.result(id, 1));
}

}  // namespace tilewright::fuzz
