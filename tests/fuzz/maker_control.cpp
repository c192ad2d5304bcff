// Structured control flow of random programs.
#include <algorithm>
#include <limits>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

using namespace ir;

void Maker::within(BlockId block, const std::function<void()>& body) {
  const std::size_t visible = pool_.size();
  const BlockId outer = b_.block();
  b_.at_end(block);
  ++depth_;
  body();
  --depth_;
  b_.at_end(outer);
  pool_.resize(visible);
}

Maker::Range Maker::loop_range() {
  const Element e = r_.chance(70) ? Element::i32 : Element::i64;
  const Type t(e);
  // A bound is a constant or only known at run time.
  const auto bound = [&](std::int64_t v) { return r_.chance(50) ? b_.constant(t, v) : scalar_parameter(t, element_bits(e, v)); };
  const std::int64_t trips = r_.between(0, 4), step = r_.chance(60) ? 1 : r_.between(1, 5), lo = r_.between(-3, 3);
  switch (r_.below(10)) {
    case 0:
    case 1: return {bound(lo), bound(lo - trips * step), bound(-step)};
    case 2: {  // against the end of the type: the counter must not wrap into range again
      const std::int64_t most = e == Element::i32 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
      return {bound(most - 3), bound(most), bound(r_.between(2, 4))};
    }
    case 3: return {b_.cast(program_number(), e), bound(trips), bound(step)};
    case 4: return {bound(lo), bound(lo + 3), bound(r_.chance(50) ? 0 : -step)};  // runs nothing
    default: return {bound(lo), bound(lo + trips * step - r_.between(0, step - 1)), bound(step)};
  }
}

std::vector<ValueId> Maker::carried_values(int most) {
  std::vector<ValueId> v;
  for (int n = static_cast<int>(r_.between(0, most)); n > 0; --n) {
    const ValueId x = pick([](Type) { return true; });
    if (!x) break;
    v.push_back(x);
    if (r_.chance(30)) v.push_back(value_of(f_.type(x)));  // two of a type may change places
  }
  return v;
}

void Maker::for_step() {
  const Range range = loop_range();
  const std::vector<ValueId> init = carried_values(3);
  std::vector<ValueId> operands{range.lo, range.hi, range.step};
  operands.insert(operands.end(), init.begin(), init.end());
  std::vector<Attr> attrs;
  if (r_.chance(10)) attrs.push_back({AttrName::num_stages, r_.between(1, 4), {}});
  if (r_.chance(10)) attrs.push_back({AttrName::unroll, r_.between(1, 4), {}});
  const OpId id = b_.create(OpKind::for_, operands, attrs);
  const BlockId body = f_.region(id);
  const ValueId counter = f_.add_arg(body, f_.type(range.lo));
  std::vector<ValueId> carried;
  for (ValueId v : init) carried.push_back(f_.add_arg(body, f_.type(v)));
  within(body, [&] {
    keep(counter);
    for (ValueId v : carried) keep(v);
    steps(static_cast<int>(r_.between(1, 4)));
    std::vector<ValueId> next;
    for (ValueId v : carried) {
      std::vector<ValueId> alike;
      for (ValueId u : carried)
        if (f_.type(u) == f_.type(v)) alike.push_back(u);
      next.push_back(r_.chance(25) ? r_.pick(alike) : r_.chance(60) ? changed(v) : value_of(f_.type(v)));
    }
    b_.create(OpKind::yield_, next);
  });
  for (ValueId v : f_.op(id).results) keep(v);
}

void Maker::if_step() {
  const ValueId condition = scalar_condition();
  std::vector<Type> types;
  for (ValueId v : carried_values(2)) types.push_back(f_.type(v));
  const OpId id = b_.create(OpKind::if_, std::span(&condition, 1), {}, types);
  for (int side = 0; side < 2; ++side)
    within(f_.region(id, side), [&] {
      steps(static_cast<int>(r_.between(0, 3)));
      std::vector<ValueId> y;
      for (Type t : types) y.push_back(value_of(t));
      b_.create(OpKind::yield_, y);
    });
  for (ValueId v : f_.op(id).results) keep(v);
}

void Maker::while_step() {
  const Type i32(Element::i32);
  std::vector<ValueId> init{b_.constant(i32, 0)};
  for (ValueId v : carried_values(2)) init.push_back(v);
  std::vector<Type> types;
  for (ValueId v : init) types.push_back(f_.type(v));
  const OpId id = b_.create(OpKind::while_, init, {}, types);
  const BlockId before = f_.region(id, 0), after = f_.region(id, 1);
  for (Type t : types) {
    f_.add_arg(before, t);
    f_.add_arg(after, t);
  }
  within(before, [&] {
    for (ValueId v : f_.block(before).args) keep(v);
    steps(static_cast<int>(r_.between(0, 1)));
    // The counter ends every loop, whatever the data do.
    ValueId go_on = b_.binary(OpKind::lt_, f_.arg(before, 0), b_.constant(i32, r_.between(0, 4)));
    if (r_.chance(40)) go_on = b_.binary(OpKind::bit_and_, go_on, scalar_condition());
    std::vector<ValueId> forwarded{go_on, f_.arg(before, 0)};
    for (std::size_t i = 1; i < types.size(); ++i)
      forwarded.push_back(r_.chance(60) ? f_.arg(before, static_cast<int>(i)) : value_of(types[i]));
    b_.create(OpKind::condition_, forwarded);
  });
  within(after, [&] {
    for (ValueId v : f_.block(after).args) keep(v);
    steps(static_cast<int>(r_.between(0, 2)));
    std::vector<ValueId> next{b_.binary(OpKind::add_, f_.arg(after, 0), b_.constant(i32, 1))};
    for (std::size_t i = 1; i < types.size(); ++i) next.push_back(changed(f_.arg(after, static_cast<int>(i))));
    b_.create(OpKind::yield_, next);
  });
  for (ValueId v : f_.op(id).results) keep(v);
}

}  // namespace tilewright::fuzz
