// Emits ops or a user's function on tiles and, in the regions of reduce and scan, on elements.
#include "passes/fusion/emit/folds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "passes/fusion/graph_walk.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

OpKind combine_op(Combine c) {
  switch (c) {
    case Combine::sum: return OpKind::add_;
    case Combine::prod: return OpKind::mul_;
    case Combine::max: return OpKind::maximum_;
    case Combine::min: return OpKind::minimum_;
    case Combine::any: return OpKind::bit_or_;
    case Combine::all: return OpKind::bit_and_;
    default: break;
  }
  TW_CHECK(false, "fusion: a reduction that is not a single op");
  return OpKind::add_;
}

// Emits a user's function on tiles or, in a region, on scalars.
class FunctionEmitter {
 public:
  FunctionEmitter(TileBuilder& build, const graph::Graph& g, const Part& earlier, const Part& later, const Order& order)
      : build_(build), g_(g), arguments_{earlier, later}, order_(order) {}

  Part result(graph::NodeId function) {
    std::set<graph::NodeId> seen;
    visit_operands_first(
        function, [&](graph::NodeId id) { return g_.node(id).operands; }, [&](graph::NodeId id) { return seen.insert(id).second; },
        [&](graph::NodeId id) { known_[id] = make(g_.node(id)); });
    return value(function);
  }

 private:
  const Part& value(graph::NodeId id) const { return known_.at(id); }
  Part make(const graph::Node& n) {
    if (n.op == graph::Op::argument) return arguments_[n.position];
    const Element e = computed(n.element);
    if (n.op == graph::Op::constant) {
      const std::uint64_t bits = n.data->bits[0];
      if (ir::is_float(n.element)) return build_.constant(e, ir::float_value(n.element, bits));
      return build_.integer(e, ir::integer_value(n.element, bits));
    }
    TW_CHECK(n.op == graph::Op::map, "fusion: a combining function is element-wise");
    const Element from = g_.node(n.operands[0]).element;
    if (n.function == OpKind::cast_) return build_.cast(build_.cast(value(n.operands[0]), n.element), e);
    if (n.function == OpKind::bitcast_) {
      const Part x = build_.cast(value(n.operands[0]), from);
      return build_.cast({build_.ir().bitcast(x.value, ir::Type(n.element)), x.axes}, e);
    }
    std::vector<Part> x;
    for (graph::NodeId operand : n.operands) x.push_back(value(operand));
    if (x.size() == 1) return build_.unary(n.function, x[0]);
    if (x.size() == 2) return build_.binary(n.function, x[0], x[1], order_);
    return n.function == OpKind::select_ ? build_.select(x[0], x[1], x[2], order_) : build_.ternary(n.function, x[0], x[1], x[2], order_);
  }

  TileBuilder& build_;
  const graph::Graph& g_;
  const Part arguments_[2];
  const Order& order_;
  std::map<graph::NodeId, Part> known_;
};

}  // namespace

Part Folds::neutral(const Fold& fold, Element e, const Order& order) {
  const Combine c = fold.combine;
  if (c == Combine::combine) {
    const CombiningFunction& f = pool_.function(fold.function);
    const Element own = f.graph->node(f.result).element;
    if (ir::is_float(e)) return {ir_.constant_float(ir::Type(e, build_.shape(order)), ir::float_value(own, f.identity)), order};
    return {ir_.constant(ir::Type(e, build_.shape(order)), ir::integer_value(own, f.identity)), order};
  }
  if (e == Element::boolean) return {ir_.constant(ir::Type(e, build_.shape(order)), c == Combine::all ? 1 : 0), order};
  if (ir::is_float(e)) {
    const double v = c == Combine::sum ? 0 : c == Combine::prod ? 1 : c == Combine::max ? -HUGE_VAL : HUGE_VAL;
    return {ir_.constant_float(ir::Type(e, build_.shape(order)), v), order};
  }
  const int width = ir::bits(e);
  const bool is_signed = ir::is_signed(e);
  std::int64_t v = c == Combine::prod ? 1 : 0;
  if (c == Combine::max) v = is_signed ? static_cast<std::int64_t>(-(ir::Int128{1} << (width - 1))) : 0;
  if (c == Combine::min)
    v = is_signed ? static_cast<std::int64_t>((ir::Int128{1} << (width - 1)) - 1) : width == 64 ? -1 : (std::int64_t{1} << width) - 1;
  return {ir_.constant(ir::Type(e, build_.shape(order)), v), order};
}

Part Folds::combine(const Fold& fold, const Part& earlier, const Part& later, const Order& order) {
  if (fold.combine != Combine::combine) return build_.binary(combine_op(fold.combine), earlier, later, order);
  const CombiningFunction& f = pool_.function(fold.function);
  const Part result = FunctionEmitter(build_, *f.graph, earlier, later, order).result(f.result);
  // A function may ignore an argument, so the result may lack axes.
  return {build_.broadcast(result, order), order};
}

// Emits the region of a reduce or a scan, which combines an earlier and a later element.
void Folds::emit_region(ir::OpId op, const Fold& fold, ir::Type element) {
  ir::Function& f = ir_.function();
  const ir::BlockId region = f.region(op);
  const ir::ValueId earlier = f.add_arg(region, element), later = f.add_arg(region, element);
  ir_.at_end(region);
  const Part combined = combine(fold, {earlier, {}}, {later, {}}, {});
  ir_.create(OpKind::yield_, std::span(&combined.value, 1));
  scopes_.move_builder();
}

// The reduced axes become one.
Part Folds::reduce(const Fold& fold, const Part& p, int axes, End end) {
  if (axes == 0) return p;
  Part flat = p;
  const auto at = end == End::first ? p.axes.begin() + axes : p.axes.end() - axes;
  const Order kept = end == End::first ? Order(at, p.axes.end()) : Order(p.axes.begin(), at);
  const std::int64_t reduced = build_.elements(end == End::first ? Order(p.axes.begin(), at) : Order(at, p.axes.end()));
  std::vector<std::int64_t> extents = build_.shape(kept);
  extents.insert(end == End::first ? extents.begin() : extents.end(), reduced);
  flat.value = ir_.reshape(p.value, extents);
  ir::Function& f = ir_.function();
  const ir::Type element = f.type(flat.value).scalar();
  const std::int64_t axis = end == End::first ? 0 : static_cast<std::int64_t>(kept.size());
  std::vector<ir::Attr> attrs{ir::Attr{ir::AttrName::axis, axis, {}}};
  // Elements may be combined in any order, by a tree and by vectors. A user's function is only associative.
  if (fold.combine != Combine::combine) attrs.push_back(ir::Attr{ir::AttrName::commutative, 1, {}});
  const ir::OpId op = ir_.create(OpKind::reduce_, std::span(&flat.value, 1), attrs);
  emit_region(op, fold, element);
  return {f.result(op), kept};
}

ir::ValueId Folds::scan(const Fold& fold, const Part& x, Axis along, bool is_reverse) {
  const auto axis = std::find(x.axes.begin(), x.axes.end(), along) - x.axes.begin();
  std::vector<ir::Attr> attributes{ir::Attr{ir::AttrName::axis, static_cast<std::int64_t>(axis), {}}};
  if (is_reverse) attributes.push_back(ir::Attr{ir::AttrName::reverse, 1, {}});
  const ir::OpId op = ir_.create(OpKind::scan_, std::span(&x.value, 1), attributes);
  emit_region(op, fold, ir_.function().type(x.value).scalar());
  return ir_.function().result(op);
}

}  // namespace tilewright::passes::fusion
