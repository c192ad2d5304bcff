// Makes ops with inferred result types.
#include "tileir/builder.h"

#include <cmath>

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tileir/type_rules/type_rules.h"
#include "tilewright/small_float.h"

namespace tilewright::ir {

OpId Builder::create(OpKind kind, std::span<const ValueId> operands, std::vector<Attr> attrs, std::span<const Type> declared) {
  std::vector<Type> types;
  types.reserve(operands.size());
  for (ValueId v : operands) types.push_back(f_->type(v));
  RuleResult r = infer({kind, types, attrs, declared});
  if (!r.ok()) {
    Location here = loc_.line > 0 && loc_.file < f_->files.size()
                        ? Location{f_->files[loc_.file], static_cast<int>(loc_.line), static_cast<int>(loc_.column)}
                        : Location{f_->name, 0, 0};
    std::vector<Note> notes;
    if (r.note_operand >= 0) {
      const Location there = f_->where(operands[r.note_operand]);
      if (there.line > 0) notes.push_back({there, "'" + std::string(info(kind).operand_name(r.note_operand)) + "' defined here"});
    }
    throw Error(std::move(here), r.error, notes);
  }
  const OpId id = f_->create_op(kind, loc_, operands, r.types, std::move(attrs), block_, before_);
  for (int i = 0; i < info(kind).regions; ++i) f_->add_region(id);
  return id;
}

OpId Builder::clone(OpId id, ValueMap& map) {
  const OpData op = f_->op(id);  // a copy, since the pool grows
  set_loc(op.loc);
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(map(v));
  std::vector<Type> types;
  for (ValueId v : op.results) types.push_back(f_->type(v));
  const OpId copy = f_->create_op(op.kind, op.loc, operands, types, op.attrs, block_, before_);
  const auto copied = [&](ValueId from, ValueId to) {
    f_->set_layout(to, f_->layout_id(from));
    map.set(from, to);
  };
  for (std::size_t i = 0; i < op.results.size(); ++i) copied(op.results[i], f_->result(copy, static_cast<int>(i)));
  for (BlockId region : op.regions) {
    Builder inside(*f_);
    inside.at_end(f_->add_region(copy));
    for (ValueId arg : std::vector<ValueId>(f_->block(region).args)) copied(arg, f_->add_arg(inside.block(), f_->type(arg)));
    for (OpId inner : f_->ops(region)) inside.clone(inner, map);
  }
  return copy;
}

ValueId Builder::constant_bits(Type t, std::uint64_t bits) {
  const OpId id = create(OpKind::constant_, {}, {Attr{AttrName::value, static_cast<std::int64_t>(bits), {}}}, std::span(&t, 1));
  return f_->result(id);
}
ValueId Builder::constant(Type t, std::int64_t v) {
  return constant_bits(t, t.is_pointer() ? static_cast<std::uint64_t>(v) : element_bits(t.element(), v));
}
ValueId Builder::constant_float(Type t, double v) { return constant_bits(t, element_bits(t.element(), v)); }

ValueId Builder::unary(OpKind k, ValueId x) { return f_->result(create(k, std::span(&x, 1))); }
ValueId Builder::binary(OpKind k, ValueId a, ValueId b) {
  const ValueId v[] = {a, b};
  return f_->result(create(k, v));
}
ValueId Builder::ternary(OpKind k, ValueId a, ValueId b, ValueId c) {
  const ValueId v[] = {a, b, c};
  return f_->result(create(k, v));
}
ValueId Builder::select(ValueId condition, ValueId a, ValueId b) { return ternary(OpKind::select_, condition, a, b); }
ValueId Builder::cast(ValueId x, Element e) {
  const Type from = f_->type(x);
  if (!from.is_pointer() && from.element() == e) return x;
  const Type to = from.with_element(e);
  return f_->result(create(OpKind::cast_, std::span(&x, 1), {}, std::span(&to, 1)));
}
ValueId Builder::bitcast(ValueId x, Type element_of) {
  const Type to = element_of.with_shape(f_->type(x).shape());
  if (to == f_->type(x)) return x;
  return f_->result(create(OpKind::bitcast_, std::span(&x, 1), {}, std::span(&to, 1)));
}
ValueId Builder::reshape(ValueId x, std::span<const std::int64_t> shape) {
  const Type to = f_->type(x).with_shape(shape);
  if (to == f_->type(x)) return x;
  return f_->result(create(OpKind::reshape_, std::span(&x, 1), {}, std::span(&to, 1)));
}
ValueId Builder::broadcast(ValueId x, std::span<const std::int64_t> shape) {
  const Type to = f_->type(x).with_shape(shape);
  if (to == f_->type(x)) return x;
  return f_->result(create(OpKind::broadcast_, std::span(&x, 1), {}, std::span(&to, 1)));
}
ValueId Builder::permute(ValueId x, std::span<const std::int64_t> axes) {
  return f_->result(create(OpKind::permute_, std::span(&x, 1), {Attr{AttrName::axes, 0, {axes.begin(), axes.end()}}}));
}
ValueId Builder::arange(std::int64_t lo, std::int64_t hi) {
  return f_->result(create(OpKind::arange_, {}, {Attr{AttrName::lo, lo, {}}, Attr{AttrName::hi, hi, {}}}));
}
ValueId Builder::add_ptr(ValueId pointer, ValueId offset) { return binary(OpKind::add_ptr_, pointer, offset); }

std::uint64_t element_bits(Element e, std::int64_t v) {
  if (is_float(e)) return element_bits(e, static_cast<double>(v));
  if (e == Element::boolean) return v != 0;
  return bits(e) == 64 ? static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v) & ((std::uint64_t{1} << bits(e)) - 1);
}

std::uint64_t element_bits(Element e, double v) {
  switch (e) {
    case Element::f16: return detail::f16_from(v);
    case Element::bf16: return detail::bf16_from(v);
    case Element::f8e4m3: return detail::f8e4m3_from(v);
    case Element::f8e5m2: return detail::f8e5m2_from(v);
    case Element::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(v));
    case Element::f64: return std::bit_cast<std::uint64_t>(v);
    default: TW_UNREACHABLE("a float constant of an integer element");
  }
}

double float_value(Element e, std::uint64_t bits) {
  switch (e) {
    case Element::f16: return detail::f16_value(static_cast<std::uint16_t>(bits));
    case Element::bf16: return detail::bf16_value(static_cast<std::uint16_t>(bits));
    case Element::f8e4m3: return detail::f8e4m3_value(static_cast<std::uint8_t>(bits));
    case Element::f8e5m2: return detail::f8e5m2_value(static_cast<std::uint8_t>(bits));
    case Element::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Element::f64: return std::bit_cast<double>(bits);
    default: TW_UNREACHABLE("the float value of an integer element");
  }
}

std::int64_t integer_value(Element e, std::uint64_t v) {
  const int n = bits(e);
  if (n == 64) return static_cast<std::int64_t>(v);
  v &= (std::uint64_t{1} << n) - 1;
  if (is_signed(e) && (v >> (n - 1)) != 0) v |= ~std::uint64_t{0} << n;
  return static_cast<std::int64_t>(v);
}

}  // namespace tilewright::ir
