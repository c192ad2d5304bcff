// The type rules of ops.def, except those in type_rules/tiles.cpp, shared.cpp and async.cpp, and the checks that apply to every op.
#include "tileir/type_rules/type_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/type_rules/checks.h"

namespace tilewright::ir {

namespace rules {

namespace {
constexpr int kMaxStages = 8;
}

// ---- program and create ----

RuleResult rule_index(const RuleInput& in) {
  const std::int64_t axis = in.number(AttrName::axis);
  if (axis < 0 || axis > 2) return fail(in, -1, "axis is {}; it must be 0, 1 or 2", axis);
  return one(Type(Element::i32));
}

RuleResult rule_constant(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const Type t = r.types[0];
  const std::uint64_t value = static_cast<std::uint64_t>(in.number(AttrName::value));
  if (t.is_pointer() && value != 0) return fail(in, -1, "a pointer constant must be null, not {:#x}", value);
  if (!t.is_pointer() && bits(t.element()) < 64 && value >> bits(t.element()) != 0)
    return fail(in, -1, "the bits {:#x} do not fit {}", value, text(t.element()));
  return r;
}

RuleResult rule_arange(const RuleInput& in) {
  const std::int64_t lo = in.number(AttrName::lo), hi = in.number(AttrName::hi);
  if (lo < INT32_MIN || lo > INT32_MAX || hi < INT32_MIN || hi > std::int64_t{INT32_MAX} + 1)
    return fail(in, -1, "from {} to {}; the elements must fit i32", lo, hi);
  if (hi <= lo) return fail(in, -1, "from {} to {}; the end must be above the start", lo, hi);
  const std::uint64_t n = static_cast<std::uint64_t>(hi - lo);
  if (!std::has_single_bit(n)) return fail(in, -1, "{} elements; the number must be a power of two", n);
  const std::int64_t shape[] = {hi - lo};
  return one(Type(Element::i32, shape));
}

// ---- shape ----

RuleResult rule_reshape(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const Type from = in.operands[0], to = r.types[0];
  if (from.scalar() != to.scalar()) return fail(in, 0, "{}; its elements cannot become those of {}", seen(in, 0), text(to));
  if (from.log2_elements() != to.log2_elements())
    return fail(in, 0, "{} with {} elements; {} has {}", seen_shape(in, 0), from.elements(), shape_text(to), to.elements());
  return r;
}

RuleResult rule_broadcast(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const Type from = in.operands[0], to = r.types[0];
  if (from.scalar() != to.scalar()) return fail(in, 0, "{}; its elements cannot become those of {}", seen(in, 0), text(to));
  if (from.is_scalar()) return r;
  if (from.rank() != to.rank())
    return fail(in, 0, "{}; it must be a scalar or have rank {} to become {}", seen_shape(in, 0), to.rank(), shape_text(to));
  for (int axis = 0; axis < to.rank(); ++axis)
    if (from.extent(axis) != to.extent(axis) && from.extent(axis) != 1)
      return fail(in, 0, "{}; extent {} of axis {} must be 1 or {} to become {}", seen_shape(in, 0), from.extent(axis), axis,
                  to.extent(axis), shape_text(to));
  return r;
}

RuleResult rule_permute(const RuleInput& in) {
  const std::span<const std::int64_t> axes = in.list(AttrName::axes);
  const Type x = in.operands[0];
  unsigned used = 0;
  for (std::int64_t axis : axes)
    if (axis >= 0 && axis < x.rank()) used |= 1u << axis;
  if (static_cast<int>(axes.size()) != x.rank() || used != (1u << x.rank()) - 1)
    return fail(in, 0, "axes are [{}]; each of the {} axes of {}, which is {}, must be named once", fmt::join(axes, ", "), x.rank(),
                name(in, 0), shape_text(x));
  std::array<std::int64_t, kMaxRank> shape{};
  for (int i = 0; i < x.rank(); ++i) shape[i] = x.extent(static_cast<int>(axes[i]));
  return one(x.with_shape(std::span(shape.data(), axes.size())));
}

static RuleResult check_pair(const RuleInput& in) {
  return check_alike(in, [](Type) { return true; }, "");
}

RuleResult rule_flip(const RuleInput& in) {
  RuleResult r = check_axis(in);
  return r.ok() ? one(in.operands[0]) : r;
}

RuleResult rule_join(const RuleInput& in) {
  if (RuleResult r = check_pair(in); !r.ok()) return r;
  const Type a = in.operands[0];
  if (a.rank() == kMaxRank) return fail(in, 0, "{}; with one axis more it would have over {}", seen_shape(in, 0), kMaxRank);
  std::vector<std::int64_t> shape = a.shape();
  shape.push_back(2);
  return one(a.with_shape(shape));
}

RuleResult rule_split(const RuleInput& in) {
  const Type x = in.operands[0];
  if (x.is_scalar()) return fail(in, 0, "{} is a scalar; its last axis must have extent 2", name(in, 0));
  if (x.extent(x.rank() - 1) != 2) return fail(in, 0, "{}; its last axis must have extent 2", seen_shape(in, 0));
  std::vector<std::int64_t> shape = x.shape();
  shape.pop_back();
  const Type half = x.with_shape(shape);
  return {{half, half}, {}, -1};
}

RuleResult rule_cat(const RuleInput& in) {
  if (RuleResult r = check_pair(in); !r.ok()) return r;
  if (RuleResult r = check_axis(in); !r.ok()) return r;
  std::vector<std::int64_t> shape = in.operands[0].shape();
  shape[in.number(AttrName::axis)] *= 2;
  return one(in.operands[0].with_shape(shape));
}

// ---- element-wise ----

RuleResult rule_number(const RuleInput& in) { return alike(in, is_number, "expected integers, f16, bf16, f32 or f64"); }
RuleResult rule_floating(const RuleInput& in) { return alike(in, is_arithmetic_float, "expected f16, bf16, f32 or f64"); }
RuleResult rule_integral(const RuleInput& in) {
  return alike(in, [](Type t) { return t.is_integer(); }, "expected integers");
}
RuleResult rule_unsigned_integral(const RuleInput& in) {
  return alike(in, [](Type t) { return is_plain(t) && is_unsigned(t.element()); }, "expected unsigned integers");
}
RuleResult rule_bitwise(const RuleInput& in) {
  return alike(in, [](Type t) { return t.is_integer() || t.is_bool(); }, "expected integers or i1");
}
RuleResult rule_float_test(const RuleInput& in) { return comparison(in, is_arithmetic_float, "expected f16, bf16, f32 or f64"); }
RuleResult rule_bit_count(const RuleInput& in) {
  RuleResult r = check_alike(in, [](Type t) { return t.is_integer(); }, "expected integers");
  return r.ok() ? one(in.operands[0].with_element(Element::i32)) : r;
}
RuleResult rule_compare(const RuleInput& in) {
  return comparison(in, [](Type t) { return is_number(t) || t.is_bool(); }, "expected integers, f16, bf16, f32, f64 or i1");
}
RuleResult rule_order(const RuleInput& in) { return comparison(in, is_number, "expected integers, f16, bf16, f32 or f64"); }

RuleResult rule_select(const RuleInput& in) {
  const Type condition = in.operands[0], a = in.operands[1], b = in.operands[2];
  if (!condition.is_bool()) return fail(in, 0, "{}; its elements must be i1", seen(in, 0));
  if (!condition.same_shape(a)) return fail(in, 0, "{}; its shape must be {} as that of 'a'", seen_shape(in, 0), shape_text(a));
  if (a != b) return fail(in, 2, "{}; it must be {} as 'a' is", seen(in, 2), text(a));
  return one(a);
}

// ---- conversions ----

static RuleResult check_same_shape(const RuleInput& in, Type to) {
  if (in.operands[0].same_shape(to)) return {};
  return fail(in, 0, "{}; its shape must be that of the result, {}", seen_shape(in, 0), shape_text(to));
}

RuleResult rule_cast(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const Type from = in.operands[0], to = r.types[0];
  if (from.is_pointer() || to.is_pointer())
    return fail(in, 0, "{} and the result {}; the value of a pointer cannot be cast (bitcast to or from 64 bits instead)", seen(in, 0),
                text(to));
  RuleResult shape = check_same_shape(in, to);
  return shape.ok() ? r : shape;
}

RuleResult rule_bitcast(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const Type from = in.operands[0], to = r.types[0];
  if (from.element_bits() != to.element_bits())  // element_bits is 1 for i1, so i1 converts only to itself
    return fail(in, 0, "{}, {} bits wide; the result {} has {}", seen(in, 0), from.element_bits(), text(to), to.element_bits());
  RuleResult shape = check_same_shape(in, to);
  return shape.ok() ? r : shape;
}

RuleResult rule_add_ptr(const RuleInput& in) {
  const Type pointer = in.operands[0], offset = in.operands[1];
  if (!pointer.is_pointer()) return fail(in, 0, "{}; expected pointers", seen(in, 0));
  if (!offset.is_integer()) return fail(in, 1, "{}; expected integers", seen(in, 1));
  if (!offset.same_shape(pointer))
    return fail(in, 1, "{}; its shape must be {} as that of 'pointer'", seen_shape(in, 1), shape_text(pointer));
  return one(pointer);
}

// ---- memory ----

RuleResult rule_load(const RuleInput& in) {
  const Type pointer = in.operands[0];
  if (!pointer.is_pointer()) return fail(in, 0, "{}; expected pointers", seen(in, 0));
  if (RuleResult r = check_mask(in, 1, pointer); !r.ok()) return r;
  if (RuleResult r = check_pointee(in, 2); !r.ok()) return r;
  return one(pointer.pointee());
}

RuleResult rule_store(const RuleInput& in) {
  const Type pointer = in.operands[0];
  if (!pointer.is_pointer()) return fail(in, 0, "{}; expected pointers", seen(in, 0));
  if (pointer.is_const_pointer()) return fail(in, 0, "{}, which may be loaded only", seen(in, 0));
  if (RuleResult r = check_pointee(in, 1); !r.ok()) return r;
  if (RuleResult r = check_mask(in, 2, pointer); !r.ok()) return r;
  return none();
}

// ---- reduce ----

RuleResult rule_reduce(const RuleInput& in) {
  if (in.operands.empty()) return fail(in, -1, "there is nothing to reduce; expected at least one tile");
  if (RuleResult r = check_axis(in, " to reduce"); !r.ok()) return r;
  std::vector<std::int64_t> shape = in.operands[0].shape();
  shape.erase(shape.begin() + in.number(AttrName::axis));
  return tiles_in(in, shape, "reduced");
}

// ---- linear algebra ----

/// The element type in which a product of this element type is accumulated; none if there is no such product.
static std::optional<Element> accumulator(Element e) {
  switch (e) {
    case Element::f16:
    case Element::bf16:
    case Element::f32:
    case Element::f8e4m3:
    case Element::f8e5m2: return Element::f32;
    case Element::i8: return Element::i32;
    case Element::f64: return Element::f64;
    default: return std::nullopt;
  }
}

RuleResult rule_dot(const RuleInput& in) {
  const Type a = in.operands[0], b = in.operands[1], acc = in.operands[2];
  if (a.is_pointer() || !accumulator(a.element()))
    return fail(in, 0, "{}; expected f16, bf16, f32, f64, f8e4m3, f8e5m2 or i8", seen(in, 0));
  if (b.is_pointer() || b.element() != a.element())
    return fail(in, 1, "{}; its elements must be {} as those of 'a' are", seen(in, 1), text(a.element()));
  if (a.rank() != 2 && a.rank() != 3) return fail(in, 0, "{}; it must be [M, K] or [batch, M, K]", seen_shape(in, 0));
  if (b.rank() != a.rank()) return fail(in, 1, "{}; it must have rank {} as 'a' has", seen_shape(in, 1), a.rank());
  const int row = a.rank() - 2, column = a.rank() - 1;
  if (row == 1 && b.extent(0) != a.extent(0))
    return fail(in, 1, "{}; its batch extent must be {} as that of 'a'", seen_shape(in, 1), a.extent(0));
  if (b.extent(row) != a.extent(column))
    return fail(in, 1, "{}; its {} extent must equal K = {} of 'a'", seen_shape(in, 1), row == 0 ? "first" : "second", a.extent(column));
  std::vector<std::int64_t> shape = a.shape();
  shape[column] = b.extent(column);
  const Type expected(*accumulator(a.element()), shape);
  if (acc != expected) return fail(in, 2, "{}; it must be {} for 'a' {} and 'b' {}", seen(in, 2), text(expected), text(a), text(b));
  return one(expected);
}

// ---- control ----

RuleResult rule_for(const RuleInput& in) {
  const Type lo = in.operands[0];
  if (lo != Type(Element::i32) && lo != Type(Element::i64)) return fail(in, 0, "{}; it must be i32 or i64", seen(in, 0));
  for (int i = 1; i <= 2; ++i)
    if (in.operands[i] != lo) return fail(in, i, "{}; it must be {} as 'lo' is", seen(in, i), text(lo));
  const std::int64_t stages = in.number(AttrName::num_stages), unroll = in.number(AttrName::unroll);
  if (stages < 0 || stages > kMaxStages) return fail(in, -1, "num_stages is {}; it must be 1 to {}", stages, kMaxStages);
  if (unroll < 0) return fail(in, -1, "unroll is {}; it must not be negative", unroll);
  return {{in.operands.begin() + 3, in.operands.end()}, {}, -1};
}

static RuleResult check_condition(const RuleInput& in) {
  if (is_scalar_bool(in.operands[0])) return {};
  return fail(in, 0, "{}; it must be a scalar i1", seen(in, 0));
}

RuleResult rule_if(const RuleInput& in) {
  RuleResult r = check_condition(in);
  if (r.ok()) r.types.assign(in.declared.begin(), in.declared.end());
  return r;
}
RuleResult rule_while(const RuleInput& in) { return {{in.operands.begin(), in.operands.end()}, {}, -1}; }
RuleResult rule_yield(const RuleInput&) { return none(); }
RuleResult rule_condition(const RuleInput& in) { return check_condition(in); }

}  // namespace rules

namespace {

using namespace rules;

// ---- checks of all ops ----

RuleResult check_count(const RuleInput& in) {
  const OpInfo& row = info(in.kind);
  const int n = static_cast<int>(in.operands.size()), least = row.min_operands(), most = row.max_operands();
  if (n >= least && (most == kAny || n <= most)) return {};
  const std::string range = most == kAny    ? fmt::format("at least {}", least)
                            : least == most ? fmt::format("{}", least)
                                            : fmt::format("{} to {}", least, most);
  return fail(in, -1, "{} operands; expected {}", n, range);
}

RuleResult check_attribute(const RuleInput& in, const Attr& a) {
  switch (kind(a.name)) {
    case AttrKind::integers:
    case AttrKind::string: return {};
    case AttrKind::integer:
    case AttrKind::bits: break;
    case AttrKind::flag:
      if (a.number != 0 && a.number != 1) return fail(in, -1, "attribute '{}' is {}; a flag is 0 or 1", text(a.name), a.number);
      break;
    case AttrKind::symbol:
      if (a.number < 0 || a.number >= static_cast<std::int64_t>(symbols(a.name).size()))
        return fail(in, -1, "attribute '{}' is symbol {}; there are {}", text(a.name), a.number, symbols(a.name).size());
      break;
  }
  if (!a.list.empty()) return fail(in, -1, "attribute '{}' is a list; expected one value", text(a.name));
  return {};
}

RuleResult check_attributes(const RuleInput& in) {
  const OpInfo& row = info(in.kind);
  const auto count = [&](AttrName n) {
    return std::count_if(in.attrs.begin(), in.attrs.end(), [&](const Attr& a) { return a.name == n; });
  };
  for (const Attr& a : in.attrs) {
    const bool known = std::any_of(row.attributes.begin(), row.attributes.end(), [&](const AttrInfo& i) { return i.name == a.name; });
    if (!known) return fail(in, -1, "it has no attribute '{}'", text(a.name));
    if (count(a.name) > 1) return fail(in, -1, "attribute '{}' is given twice", text(a.name));
    if (RuleResult r = check_attribute(in, a); !r.ok()) return r;
  }
  for (const AttrInfo& i : row.attributes)
    if (i.required && count(i.name) == 0) return fail(in, -1, "attribute '{}' is missing", text(i.name));
  return {};
}

RuleResult apply_rule(const RuleInput& in) {
  switch (in.kind) {
#define TW_OP(name, family, traits, operands, results, regions, attributes, rule, layout, doc) \
  case OpKind::name##_: return rule_##rule(in);
#include "tileir/ops.def"
#undef TW_OP
  }
  TW_UNREACHABLE("an op that is not in the table");
}

RuleResult check_results(const RuleInput& in, RuleResult r) {
  for (Type t : r.types)
    if (RuleResult size = check_size(in, t); !size.ok()) return size;
  if (in.declared.empty()) return r;
  if (in.declared.size() != r.types.size())
    return fail(in, -1, "{} result types are stated; it has {}", in.declared.size(), r.types.size());
  for (std::size_t i = 0; i < r.types.size(); ++i)
    if (in.declared[i] != r.types[i])
      return fail(in, -1, "result{} is stated as {}; it is {}", r.types.size() > 1 ? fmt::format(" {}", i) : "", text(in.declared[i]),
                  text(r.types[i]));
  return r;
}

}  // namespace

/// Only ops of the families shared and async, and mma_async, take buffers, mbarriers and tensor maps; each of their rules checks which.
static RuleResult check_buffers(const RuleInput& in) {
  const Family family = info(in.kind).family;
  if (family == Family::shared || family == Family::async || in.kind == OpKind::mma_async_) return {};
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    if (in.operands[i].is_buffer())
      return rules::fail(in, static_cast<int>(i), "{}; a buffer is not a tile (buffer_load)", rules::seen(in, static_cast<int>(i)));
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    if (in.operands[i].is_mbarrier())
      return rules::fail(in, static_cast<int>(i), "{}; only ops on mbarriers take one", rules::seen(in, static_cast<int>(i)));
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    if (in.operands[i].is_tensor_map())
      return rules::fail(in, static_cast<int>(i), "{}; only bulk copies take one", rules::seen(in, static_cast<int>(i)));
  for (const Type& t : in.declared)
    if (t.is_mbarrier()) return rules::fail(in, -1, "the result is {}; only ops on mbarriers make one", text(t));
  for (const Type& t : in.declared)
    if (t.is_tensor_map()) return rules::fail(in, -1, "the result is {}; only make_tensor_map makes one", text(t));
  for (const Type& t : in.declared)
    if (t.is_buffer()) return rules::fail(in, -1, "the result is {}; a buffer is not a tile", text(t));
  return {};
}

RuleResult infer(const RuleInput& in) {
  if (RuleResult r = check_count(in); !r.ok()) return r;
  if (RuleResult r = check_attributes(in); !r.ok()) return r;
  if (RuleResult r = check_buffers(in); !r.ok()) return r;
  RuleResult r = apply_rule(in);
  return r.ok() ? check_results(in, std::move(r)) : r;
}

}  // namespace tilewright::ir
