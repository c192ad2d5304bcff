// Atomics, prints, assertions, hints and inline PTX with a fallback, in random programs.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tests/fuzz/maker.h"
#include "tileir/memory_ops.h"
#include "tileir/op_kind.h"
#include "tileir/target/ptx_constraints.h"

namespace tilewright::fuzz {

using namespace ir;

namespace {

constexpr Element kWide[] = {Element::i32, Element::i64, Element::u32, Element::u64, Element::f32, Element::f64};
constexpr Element kWideIntegers[] = {Element::i32, Element::i64, Element::u32, Element::u64};
constexpr Element kAddable[] = {Element::i32, Element::i64, Element::u32,  Element::u64,
                                Element::f32, Element::f64, Element::bf16, Element::f16};

std::vector<OpKind> ops_of(Family family) {
  std::vector<OpKind> ops;
  for (OpKind k : all_ops())
    if (info(k).family == family) ops.push_back(k);
  return ops;
}

bool is_block_scope(const Attr& a) {
  return a.name == AttrName::scope && symbols(AttrName::scope)[static_cast<std::size_t>(a.number)] == "block";
}

}  // namespace

/// An element-wise op on two of these with such a result, NaN's sign aside.
OpKind Maker::binary_op(Element e) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const OpKind kind = r_.pick(elementwise_ops());
    for (const Signature& s : signatures(kind))
      if (kind != OpKind::copysign_ && s.result == e && s.operands == std::vector(2, e)) return kind;
  }
  return OpKind::maximum_;
}

ValueId Maker::create_atomic(OpKind kind, Element e, const std::vector<ValueId>& operands, Sharing sharing, bool keep_result) {
  std::vector<Attr> attrs = random_attributes(kind);
  // An atomic of block scope is only atomic within its own program.
  if (sharing == Sharing::by_programs) std::erase_if(attrs, is_block_scope);
  const OpId id = b_.create(kind, operands, std::move(attrs));
  if (kind == OpKind::atomic_update_) {
    const OpKind first = binary_op(e), second = binary_op(e);
    const bool twice = r_.chance(30);
    combine_region(id, {Type(e)}, [&](const std::vector<ValueId>& a) -> std::vector<ValueId> {
      const ValueId v = b_.binary(first, a[0], a[1]);
      return {twice ? b_.binary(second, v, a[0]) : v};
    });
  }
  if (keep_result) keep(result(id));
  return result(id);
}

/// Equal atomics of several lanes on one element. Their results are sorted, because the order of such lanes is not defined on GPUs.
void Maker::meeting_atomic_step() {
  static const std::vector<OpKind> kinds = ops_of(Family::atomic);
  const OpKind kind = r_.pick(kinds);
  const Element e = r_.pick(kWideIntegers);
  const Shape shape{std::int64_t{1} << r_.between(1, 8)};
  const Region region = output_region(e, r_.between(1, 5));
  const Type t(e, shape);
  const auto uniform = [&] { return b_.broadcast(value_of(Type(e)), shape); };
  const ValueId address = addresses(region, gathered_offsets(shape, region.length));
  std::vector<ValueId> operands{address, uniform()};
  if (kind == OpKind::atomic_cas_) operands.push_back(uniform());
  if (r_.chance(30)) operands.push_back(value_of(Type(Element::boolean, shape)));
  const ValueId old = create_atomic(kind, e, operands, Sharing::none, false);
  keep(result(b_.create(OpKind::sort_, std::span(&old, 1))));
}

void Maker::atomic_step() {
  if (r_.chance(25)) return shared_atomic_step();
  if (r_.chance(20)) return meeting_atomic_step();
  static const std::vector<OpKind> kinds = ops_of(Family::atomic);
  const OpKind kind = r_.pick(kinds);
  Element e = r_.pick(kWideIntegers);
  if (kind == OpKind::atomic_add_ || kind == OpKind::atomic_update_)
    e = r_.pick(kAddable);
  else if (kind != OpKind::atomic_and_ && kind != OpKind::atomic_or_ && kind != OpKind::atomic_xor_)
    e = r_.pick(kWide);
  const Shape shape = any_type().shape();
  const Type t(e, shape);
  // Memory of this program alone: the lanes of one program come in order.
  std::vector<Region> own;
  for (const Region& region : regions_)
    if (region.writable && region.element == e) own.push_back(region);
  const Region region = !own.empty() && r_.chance(60) ? r_.pick(own) : output_region(e, t.elements());
  if (kind == OpKind::atomic_cas_) {
    const ValueId address = addresses(region, gathered_offsets(shape, region.length));
    // The present value, or any other. A NaN would depend on which NaN it is.
    const ValueId there = result(b_.create(OpKind::load_, std::span(&address, 1)));
    const ValueId expected = without_nan(r_.chance(60) ? there : value_of(t));
    std::vector<ValueId> operands{address, expected, value_of(t)};
    if (r_.chance(40)) operands.push_back(value_of(Type(Element::boolean, shape)));
    create_atomic(kind, e, operands, Sharing::none, true);
    return;
  }
  const Access at = access(region, shape, r_.chance(40));
  std::vector<ValueId> operands{at.address, value_of(t)};
  if (at.mask) operands.push_back(at.mask);
  create_atomic(kind, e, operands, Sharing::none, r_.chance(70));
}

void Maker::shared_atomic_step() {
  static const std::vector<OpKind> all = ops_of(Family::atomic);
  OpKind kind = r_.pick(all);
  while (!ir::is_commutative_update(kind)) kind = r_.pick(all);
  const Element e = r_.pick(kWideIntegers);
  const Type t(e, any_type().shape());
  Argument a;
  a.is_buffer = true;
  a.element = e;
  const std::int64_t length = r_.between(1, t.elements() + 3);
  a.bytes = random_contents(e, length);
  p_.arguments.push_back(std::move(a));
  const Param param{"shared" + std::to_string(p_.arguments.size()), bytes(e)};
  // This region is not added to regions_, so that other ops do not use it.
  const Region region{f_.add_param(Type::pointer(e, false), param), static_cast<int>(p_.arguments.size()) - 1, e, length, false, false};
  const Access at = access(region, t.shape(), r_.chance(30));
  std::vector<ValueId> operands{at.address, value_of(t)};
  if (at.mask) operands.push_back(at.mask);
  create_atomic(kind, e, operands, Sharing::by_programs, false);
}

ValueId Maker::true_condition(const Shape& shape) {
  switch (r_.below(3)) {
    case 0: {
      const std::int64_t n = r_.between(1, 40);
      const ValueId x = b_.cast(value_of(Type(Element::i32, shape)), Element::u32);
      const ValueId rest = b_.binary(OpKind::rem_, x, index_constant(shape, Element::u32, n));
      return b_.binary(OpKind::lt_, rest, index_constant(shape, Element::u32, n));
    }
    case 1: {
      const Offsets o = affine_offsets(shape, r_.chance(50));
      return b_.binary(OpKind::le_, o.value, index_constant(shape, Element::i32, o.greatest));
    }
    default: {
      const ValueId c = value_of(Type(Element::boolean, shape));
      return b_.binary(OpKind::bit_or_, c, b_.unary(OpKind::bit_not_, c));
    }
  }
}

void Maker::hint_step() {
  if (r_.chance(40)) {
    const ValueId holds = true_condition(r_.pick(shapes_));
    b_.create(OpKind::assume_, std::span(&holds, 1));
    return;
  }
  const ValueId x = pick([](Type t) { return t.is_integer(); });
  if (!x) return load_step();
  const Type t = f_.type(x);
  if (r_.chance(60)) {
    // Multiples of a power of two stay such when they wrap.
    const int log2 = static_cast<int>(r_.between(0, 4));
    const ValueId factor = index_constant(t.shape(), t.element(), std::int64_t{1} << log2);
    const ValueId multiples = b_.binary(OpKind::mul_, x, factor);
    const std::int64_t divisor = std::int64_t{1} << r_.between(0, log2);
    keep(result(b_.create(OpKind::multiple_of_, std::span(&multiples, 1), {{AttrName::divisor, divisor}})));
  } else {
    const ValueId successive = affine_offsets(t.shape(), false).value;
    const std::int64_t length = t.rank() == 0 ? 1 : t.extent(t.rank() - 1);
    keep(result(b_.create(OpKind::max_contiguous_, std::span(&successive, 1), {{AttrName::length, length}})));
  }
}

void Maker::print_step() {
  std::vector<ValueId> values;
  std::string text = "line " + std::to_string(line_);
  for (std::size_t n = r_.below(4); n > 0; --n) {
    const ValueId v = pick([](Type t) { return t.log2_elements() <= 6; });
    if (!v) break;
    values.push_back(v);
    text += r_.chance(50) ? " {}" : ", \"{}\"";
  }
  b_.create(OpKind::device_print_, values, {{AttrName::text, 0, {}, text}});
}

void Maker::assert_step() {
  const Shape shape = r_.pick(shapes_);
  std::vector<ValueId> operands{true_condition(shape)};
  if (r_.chance(50)) {
    // Any condition is allowed if the mask is not wider than it.
    operands[0] = value_of(Type(Element::boolean, shape));
    const ValueId other = value_of(Type(Element::boolean, shape));
    operands.push_back(b_.binary(OpKind::bit_and_, operands[0], other));
  }
  b_.create(OpKind::device_assert_, operands, {{AttrName::text, 0, {}, "line " + std::to_string(line_)}});
}

/// A move, which is what other devices do instead.
void Maker::ptx_step() {
  const Type t = any_type();
  const char moved = ir::register_class(t);
  if (moved == 0) return;
  std::vector<ValueId> operands{value_of(t)};
  std::string constraints = fmt::format("={},{}", moved, moved);
  for (std::size_t n = r_.below(3); n > 0; --n) {
    const Type unused(static_cast<Element>(r_.below(kElementCount)), t.shape());
    const char c = ir::register_class(unused);
    if (c == 0) continue;
    operands.push_back(value_of(unused));
    constraints += fmt::format(",{}", c);
  }
  operands.push_back(operands[0]);
  const std::vector<Attr> attrs{{AttrName::text, 0, {}, fmt::format("mov.b{} $0, $1;", ir::bits(t.element()))},
                                {AttrName::constraints, 0, {}, constraints},
                                {AttrName::has_fallback, 1}};
  keep(result(b_.create(OpKind::inline_ptx_, operands, attrs, std::span(&t, 1))));
}

}  // namespace tilewright::fuzz
