// Atomics.
#include "tilewright/ops/atomic.h"

#include "frontend/emit.h"
#include "tileir/diagnostics.h"

namespace tilewright::detail {

namespace {

ir::Order order_of(Order o) {
  switch (o) {
    case Order::relaxed: return ir::Order::relaxed;
    case Order::acquire: return ir::Order::acquire;
    case Order::release: return ir::Order::release;
    case Order::acq_rel: return ir::Order::acq_rel;
  }
  TW_UNREACHABLE("an order of atomics");
}

ir::Scope scope_of(Scope s) {
  switch (s) {
    case Scope::block: return ir::Scope::block;
    case Scope::device: return ir::Scope::device;
    case Scope::system: return ir::Scope::system;
  }
  TW_UNREACHABLE("a scope of atomics");
}

struct Kind {
  ir::OpKind op;
  std::string_view name;
};
Kind kind_of(Atomic a) {
  switch (a) {
    case Atomic::add: return {ir::OpKind::atomic_add_, "atomic_add"};
    case Atomic::max: return {ir::OpKind::atomic_max_, "atomic_max"};
    case Atomic::min: return {ir::OpKind::atomic_min_, "atomic_min"};
    case Atomic::bit_and: return {ir::OpKind::atomic_and_, "atomic_and"};
    case Atomic::bit_or: return {ir::OpKind::atomic_or_, "atomic_or"};
    case Atomic::bit_xor: return {ir::OpKind::atomic_xor_, "atomic_xor"};
    case Atomic::exchange: return {ir::OpKind::atomic_exchange_, "atomic_exchange"};
  }
  TW_UNREACHABLE("an atomic");
}

std::vector<ir::Attr> attributes(const AtomicOptions& o) {
  std::vector<ir::Attr> attrs;
  const ir::Order order = order_of(o.order);
  const ir::Scope scope = scope_of(o.scope);
  if (order != ir::Order::acq_rel) attrs.push_back(ir::Attr{ir::AttrName::order, static_cast<std::int64_t>(order), {}});
  if (scope != ir::Scope::device) attrs.push_back(ir::Attr{ir::AttrName::scope, static_cast<std::int64_t>(scope), {}});
  return attrs;
}

/// An argument in the shape of the pointer.
ir::ValueId onto(Emit& e, const Maybe& m, ir::Element element, std::string_view name, ir::ValueId pointer) {
  if (m.is_constant) return e.constant(m.constant, element, e.type(pointer).shape());
  return e.spread_onto(e.value(*m.handle, name), name, pointer, "pointer");
}

}  // namespace

Made atomic(Atomic a, const Handle& pointer, const Maybe& value, const Maybe& mask, const AtomicOptions& options, const Here& at) {
  const Kind kind = kind_of(a);
  Emit e(kind.name, at);
  e.expect_no_combine();
  const ir::ValueId p = e.value(pointer, "pointer");
  std::vector<ir::ValueId> operands{p, onto(e, value, e.type(p).element(), "value", p)};
  if (mask.given()) operands.push_back(onto(e, mask, ir::Element::boolean, "mask", p));
  return made(e.trace().function().result(e.b().create(kind.op, operands, attributes(options))));
}

Made atomic_cas(const Handle& pointer, const Maybe& expected, const Maybe& desired, const AtomicOptions& options, const Here& at) {
  Emit e("atomic_cas", at);
  e.expect_no_combine();
  const ir::ValueId p = e.value(pointer, "pointer");
  const ir::Element element = e.type(p).element();
  const ir::ValueId operands[] = {p, onto(e, expected, element, "expected", p), onto(e, desired, element, "desired", p)};
  return made(e.trace().function().result(e.b().create(ir::OpKind::atomic_cas_, operands, attributes(options))));
}

}  // namespace tilewright::detail
