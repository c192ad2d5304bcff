// Traces atomics.
#include "tilewright/ops/atomic.h"

#include "frontend/trace/emit.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"
#include "tilewright/detail/enumerator.h"

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

ir::OpKind kind_of(Atomic a) {
  switch (a) {
    case Atomic::add: return ir::OpKind::atomic_add_;
    case Atomic::max: return ir::OpKind::atomic_max_;
    case Atomic::min: return ir::OpKind::atomic_min_;
    case Atomic::bit_and: return ir::OpKind::atomic_and_;
    case Atomic::bit_or: return ir::OpKind::atomic_or_;
    case Atomic::bit_xor: return ir::OpKind::atomic_xor_;
    case Atomic::exchange: return ir::OpKind::atomic_exchange_;
  }
  TW_UNREACHABLE("an atomic");
}

std::vector<ir::Attr> attributes(const Emit& e, const AtomicOptions& o) {
  for (const std::string& mistake :
       {enumerator_mistake("order", o.order, Order::acq_rel, "Order"), enumerator_mistake("scope", o.scope, Scope::system, "Scope")})
    if (!mistake.empty()) e.fail(mistake);
  std::vector<ir::Attr> attrs;
  const ir::Order order = order_of(o.order);
  const ir::Scope scope = scope_of(o.scope);
  if (order != ir::Order::acq_rel) attrs.push_back(ir::Attr{ir::AttrName::order, static_cast<std::int64_t>(order), {}});
  if (scope != ir::Scope::device) attrs.push_back(ir::Attr{ir::AttrName::scope, static_cast<std::int64_t>(scope), {}});
  return attrs;
}

}  // namespace

Made atomic(Atomic a, const Handle& pointer, const Maybe& value, const Maybe& mask, const AtomicOptions& options, const Here& at) {
  const ir::OpKind kind = kind_of(a);
  Emit e(ir::text(kind), at);
  e.expect_no_combine();
  const ir::ValueId p = e.value(pointer, "pointer");
  std::vector<ir::ValueId> operands{p, e.argument_onto(value, e.type(p).element(), "value", p, "pointer")};
  if (mask.given()) operands.push_back(e.argument_onto(mask, ir::Element::boolean, "mask", p, "pointer"));
  return made(e.trace().function().result(e.b().create(kind, operands, attributes(e, options))));
}

Made atomic_cas(const Handle& pointer, const Maybe& expected, const Maybe& desired, const Maybe& mask, const AtomicOptions& options,
                const Here& at) {
  Emit e("atomic_cas", at);
  e.expect_no_combine();
  const ir::ValueId p = e.value(pointer, "pointer");
  const ir::Element element = e.type(p).element();
  std::vector<ir::ValueId> operands{p, e.argument_onto(expected, element, "expected", p, "pointer"),
                                    e.argument_onto(desired, element, "desired", p, "pointer")};
  if (mask.given()) operands.push_back(e.argument_onto(mask, ir::Element::boolean, "mask", p, "pointer"));
  return made(e.trace().function().result(e.b().create(ir::OpKind::atomic_cas_, operands, attributes(e, options))));
}

}  // namespace tilewright::detail
