// Memory that is reached through two parameters, some elements apart: what a program stores may be what it loads, where it loads it or beside it.
#include <algorithm>

#include "tests/fuzz/maker.h"
#include "tileir/op_kind.h"

namespace tilewright::fuzz {

using namespace ir;

Maker::Region Maker::shifted_region(const Region& region, std::int64_t shift) {
  Argument& first = p_.arguments[static_cast<std::size_t>(region.parameter)];
  f_.params[static_cast<std::size_t>(region.parameter)].disjoint = false;
  Argument second;
  second.is_buffer = true;
  second.element = region.element;
  second.misalignment = first.misalignment;
  second.alias = region.parameter;
  second.alias_shift = shift;
  p_.arguments.push_back(second);
  const ValueId pointer =
      f_.add_param(Type::pointer(region.element, false), {"shifted" + std::to_string(p_.arguments.size()), bytes(region.element)});
  return {pointer, static_cast<int>(p_.arguments.size()) - 1, region.element, region.length, region.sliced, true};
}

void Maker::overlap_step() {
  const Type t = any_type();
  const std::int64_t n = t.elements(), trips = r_.chance(50) ? 1 : r_.between(2, 4);
  const std::int64_t shift = r_.chance(60) ? r_.between(0, 3) : r_.between(0, n), stride = r_.chance(60) ? n : r_.between(0, n);
  const Region first = output_region(t.element(), n + shift + (trips - 1) * stride), second = shifted_region(first, shift);
  regions_.pop_back();  // other steps would reach elements that the second parameter does not lead to
  const bool is_second_loaded = r_.chance(50);
  const Offsets from = affine_offsets(t.shape(), r_.chance(30)), to = r_.chance(60) ? from : affine_offsets(t.shape(), r_.chance(70));
  const Type i32(Element::i32);
  const std::int64_t limit = r_.between(0, n);
  const ValueId bound = r_.chance(70) ? scalar_parameter(i32, element_bits(Element::i32, limit)) : b_.constant(i32, limit);
  const bool loads_below = r_.chance(30), stores_below = r_.chance(40);
  const auto copy = [&](ValueId counter) {
    const auto access = [&](const Region& region, Offsets o, bool is_below) {
      ValueId at = addresses(region, o);
      if (counter) {
        const ValueId moved = b_.binary(OpKind::mul_, counter, b_.constant(i32, stride));
        at = b_.add_ptr(at, b_.broadcast(moved, t.shape()));
      }
      std::vector<ValueId> operands{at};
      if (is_below) operands.push_back(b_.binary(OpKind::lt_, o.value, b_.broadcast(bound, t.shape())));
      return operands;
    };
    ValueId v = result(b_.create(OpKind::load_, access(is_second_loaded ? second : first, from, loads_below)));
    for (std::int64_t ops = r_.between(0, 2); ops > 0; --ops) v = changed(v);
    std::vector<ValueId> stored = access(is_second_loaded ? first : second, to, stores_below);
    stored.insert(stored.begin() + 1, v);
    b_.create(OpKind::store_, stored);
  };
  if (trips == 1) return copy({});
  const ValueId operands[] = {b_.constant(i32, 0),
                              r_.chance(50) ? b_.constant(i32, trips) : scalar_parameter(i32, static_cast<std::uint64_t>(trips)),
                              b_.constant(i32, 1)};
  const OpId loop = b_.create(OpKind::for_, operands);
  const BlockId body = f_.region(loop);
  const ValueId counter = f_.add_arg(body, i32);
  within(body, [&] {
    copy(counter);
    b_.create(OpKind::yield_, {});
  });
}

}  // namespace tilewright::fuzz
