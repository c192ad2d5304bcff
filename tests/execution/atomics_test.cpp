// Atomics of every kind on every element type, and loads and stores of the same program around them.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/execution/machines.h"
#include "tests/fuzz/differential.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;
constexpr Element kIntegers[] = {Element::i32, Element::i64, Element::u32, Element::u64};
constexpr Element kAll[] = {Element::i32, Element::i64, Element::u32, Element::u64, Element::f32, Element::f64};
constexpr std::int64_t kCells = 16;

/// A new buffer of random elements that the program may write.
ValueId cells(SequenceBuilder& p, Element e) {
  p.output(p.input(Type(e, Shape{kCells})));
  return p.ir().function().block(p.ir().function().body()).args.back();
}

/// Addresses of the first nine cells, many lanes each.
ValueId shared_addresses(SequenceBuilder& p, ValueId base, const Shape& shape) {
  Builder& b = p.ir();
  const Type index(Element::i32, shape);
  return b.add_ptr(b.broadcast(base, shape), b.binary(OpKind::add_, p.small_input(index), b.constant(index, 4)));
}

ValueId atomic(Builder& b, OpKind k, const std::vector<ValueId>& operands, std::vector<Attr> attrs = {}) {
  return b.function().result(b.create(k, operands, std::move(attrs)));
}

ValueId load(Builder& b, ValueId pointer) { return b.function().result(b.create(OpKind::load_, std::span(&pointer, 1))); }
void store(Builder& b, ValueId pointer, ValueId value) {
  const ValueId operands[] = {pointer, value};
  b.create(OpKind::store_, operands);
}

void check_atomic(OpKind k, std::span<const Element> elements, const Shape& shape) {
  SequenceBuilder p(std::string(text(k)));
  for (Element e : elements) {
    const Type t(e, shape), mask(Element::boolean, shape);
    const ValueId base = cells(p, e);
    p.output(atomic(p.ir(), k, {shared_addresses(p, base, shape), p.input(t)}));
    p.output(atomic(p.ir(), k, {shared_addresses(p, base, shape), p.input(t), p.input(mask)}));
    atomic(p.ir(), k,
           {shared_addresses(p, base, shape), p.ir().broadcast(p.input(Type(e)), shape), p.input(mask)});  // its result is not used
  }
  check_on_machines(p.take());
}

/// Each lane in a cell of its own, and integers where lanes meet without looking: what is the same in any order.
void check_atomic_in_any_order(OpKind k, std::span<const Element> elements, const Shape& shape) {
  SequenceBuilder p(std::string(text(k)));
  Builder& b = p.ir();
  for (Element e : elements) {
    const Type t(e, shape), mask(Element::boolean, shape);
    p.output(p.input(t));
    const ValueId apart = b.function().block(b.function().body()).args.back();
    const ValueId at = shape.empty() ? apart : b.add_ptr(b.broadcast(apart, shape), b.reshape(b.arange(0, t.elements()), shape));
    p.output(atomic(b, k, {at, p.input(t)}));
    p.output(atomic(b, k, {at, p.input(t), p.input(mask)}));
    atomic(b, k, {at, p.input(t), p.input(mask)});
    p.output(load(b, at));
    if (k == OpKind::atomic_exchange_ || is_float(e)) continue;
    atomic(b, k, {shared_addresses(p, cells(p, e), shape), p.input(t), p.input(mask)});
  }
  check_on_machines(p.take());
}

}  // namespace

TEST_CASE("atomics: every op on every element type, each lane in a cell of its own") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{64}, Shape{8, 4}, Shape{512}}) {
    for (OpKind k : {OpKind::atomic_and_, OpKind::atomic_or_, OpKind::atomic_xor_}) check_atomic_in_any_order(k, kIntegers, shape);
    for (OpKind k : {OpKind::atomic_add_, OpKind::atomic_max_, OpKind::atomic_min_, OpKind::atomic_exchange_})
      check_atomic_in_any_order(k, kAll, shape);
    constexpr Element kSmall[] = {Element::f16, Element::bf16};
    check_atomic_in_any_order(OpKind::atomic_add_, kSmall, shape);
  }
}

TEST_CASE("atomics: every op on every element type, lanes that meet, masks") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{64}, Shape{8, 4}}) {
    for (OpKind k : {OpKind::atomic_and_, OpKind::atomic_or_, OpKind::atomic_xor_}) check_atomic(k, kIntegers, shape);
    for (OpKind k : {OpKind::atomic_add_, OpKind::atomic_max_, OpKind::atomic_min_, OpKind::atomic_exchange_}) check_atomic(k, kAll, shape);
    constexpr Element kSmall[] = {Element::f16, Element::bf16};
    check_atomic(OpKind::atomic_add_, kSmall, shape);
  }
}

TEST_CASE("atomics: compare-and-exchange compares bits, NaN and the sign of 0 too") {
  for (const Shape& shape : {Shape{}, Shape{64}, Shape{2, 16}})
    for (Element e : kAll) {
      SequenceBuilder p("cas");
      Builder& b = p.ir();
      const Type t(e, shape);
      const ValueId at = shared_addresses(p, cells(p, e), shape);
      p.output(atomic(b, OpKind::atomic_cas_, {at, load(b, at), p.input(t)}));   // the first lane of each cell finds what it expects
      p.output(atomic(b, OpKind::atomic_cas_, {at, p.input(t), p.input(t)}));    // hardly any does
      p.output(atomic(b, OpKind::atomic_cas_, {at, load(b, at), load(b, at)}));  // every one does
      if (is_float(e)) {
        p.output(atomic(b, OpKind::atomic_exchange_, {at, b.constant_float(t, -0.0)}));
        p.output(atomic(b, OpKind::atomic_cas_, {at, b.constant_float(t, 0.0), p.input(t)}));
      }
      check_on_machines(p.take());
    }
}

TEST_CASE("atomics: compare-and-exchange touches nothing where its mask is false") {
  for (const Shape& shape : {Shape{}, Shape{64}, Shape{8, 4}})
    for (Element e : kAll) {
      SequenceBuilder p("masked_cas");
      Builder& b = p.ir();
      const Type t(e, shape), mask(Element::boolean, shape);
      p.output(p.input(t));
      const ValueId apart = b.function().block(b.function().body()).args.back();
      const ValueId at = shape.empty() ? apart : b.add_ptr(b.broadcast(apart, shape), b.reshape(b.arange(0, t.elements()), shape));
      p.output(atomic(b, OpKind::atomic_cas_, {at, load(b, at), p.input(t), p.input(mask)}));
      p.output(load(b, at));
      atomic(b, OpKind::atomic_cas_, {at, load(b, at), p.input(t), p.input(mask)});  // its result is not used
      p.output(load(b, at));
      check_on_machines(p.take());
    }
}

TEST_CASE("atomics: where lanes meet, on GPUs as well, each of them counts and finds what the one before it left") {
  for (OpKind k : {OpKind::atomic_add_, OpKind::atomic_max_, OpKind::atomic_min_, OpKind::atomic_and_, OpKind::atomic_or_,
                   OpKind::atomic_xor_, OpKind::atomic_exchange_, OpKind::atomic_cas_})
    for (const std::int64_t lanes : {16, 256, 1024})
      for (const Element e : kIntegers) {
        SequenceBuilder p(std::string(text(k)));
        Builder& b = p.ir();
        const Type t(e, Shape{lanes}), mask(Element::boolean, Shape{lanes});
        const auto same = [&] { return b.broadcast(p.small_input(Type(e)), t.shape()); };
        for (const bool masked : {false, true}) {
          std::vector<ValueId> operands{shared_addresses(p, cells(p, e), t.shape()), same()};
          if (k == OpKind::atomic_cas_) operands.push_back(same());
          if (masked) operands.push_back(p.input(mask));
          // The order of the lanes is not specified: the old values are those of any order once they are sorted.
          const ValueId old = atomic(b, k, operands);
          p.output(b.function().result(b.create(OpKind::sort_, std::span(&old, 1))));
        }
        const fuzz::Program program = p.take();
        CHECK(fuzz::check_meaning(program, true) == "");  // else GPUs are left out
        check_on_machines(program);
      }
}

TEST_CASE("atomics: every order and scope") {
  SequenceBuilder p("orders");
  const Type t(Element::u32, Shape{16});
  const ValueId base = cells(p, Element::u32);
  for (std::int64_t order = 0; order < static_cast<std::int64_t>(symbols(AttrName::order).size()); ++order)
    for (std::int64_t scope = 0; scope < static_cast<std::int64_t>(symbols(AttrName::scope).size()); ++scope)
      for (OpKind k : {OpKind::atomic_add_, OpKind::atomic_exchange_, OpKind::atomic_cas_}) {
        std::vector<ValueId> operands{shared_addresses(p, base, t.shape()), p.input(t)};
        if (k == OpKind::atomic_cas_) operands.push_back(p.input(t));
        std::vector<Attr> attrs;  // one by one: a braced list has GCC 12 warn of subscripts
        attrs.push_back({AttrName::order, order, {}});
        attrs.push_back({AttrName::scope, scope, {}});
        p.output(atomic(p.ir(), k, operands, std::move(attrs)));
      }
  check_on_machines(p.take());
}

TEST_CASE("atomics: the region of an update computes in every type, with scalars of outside") {
  for (Element e : {Element::i32, Element::u64, Element::f16, Element::bf16, Element::f32, Element::f64}) {
    SequenceBuilder p("update");
    Builder& b = p.ir();
    Function& f = b.function();
    for (const Shape& shape : {Shape{}, Shape{32}}) {
      const Type t(e, shape);
      const ValueId factor = p.small_input(Type(e));
      const ValueId operands[] = {shared_addresses(p, cells(p, e), shape), p.small_input(t), p.input(Type(Element::boolean, shape))};
      const OpId id = b.create(OpKind::atomic_update_, operands);
      const BlockId region = f.region(id);
      const ValueId old = f.add_arg(region, Type(e)), value = f.add_arg(region, Type(e));
      Builder in(f);
      in.at_end(region);
      const ValueId yields[] = {
          in.binary(OpKind::sub_, in.binary(OpKind::minimum_, old, in.constant(Type(e), 9)), in.binary(OpKind::maximum_, value, factor))};
      in.create(OpKind::yield_, yields);
      p.output(f.result(id));
    }
    check_on_machines(p.take());
  }
}

TEST_CASE("atomics: loads and stores keep their side of an atomic, whatever the lanes share") {
  for (bool is_scalar : {false, true}) {
    SequenceBuilder p("sides");
    Builder& b = p.ir();
    const Shape shape = is_scalar ? Shape{} : Shape{32};
    const Type t(Element::i32, shape);
    const ValueId base = cells(p, Element::i32), at = shared_addresses(p, base, shape), value = p.small_input(t);
    const ValueId before = load(b, at);
    const ValueId old = atomic(b, OpKind::atomic_add_, {at, value});
    const ValueId between = load(b, at);
    store(b, at, b.binary(OpKind::mul_, between, before));
    const ValueId again = atomic(b, OpKind::atomic_exchange_, {at, b.binary(OpKind::sub_, old, before)});
    p.output(load(b, at));
    atomic(b, OpKind::atomic_max_, {at, value});
    store(b, shared_addresses(p, base, shape), again);
    for (ValueId v : {before, old, between, again, load(b, at)}) p.output(v);
    check_on_machines(p.take());
  }
}

TEST_CASE("atomics: in loops and branches, and through addresses that a loop carries") {
  for (std::int64_t trips : {0, 1, 5}) {
    SequenceBuilder p("loops");
    Builder& b = p.ir();
    Function& f = b.function();
    const Type t(Element::i32, Shape{4}), index(Element::i32);
    const ValueId base = cells(p, Element::i32);
    const ValueId first = b.add_ptr(b.broadcast(base, t.shape()), b.arange(0, 4));
    const ValueId init[] = {b.constant(index, 0), p.scalar(index, static_cast<std::uint64_t>(trips)), b.constant(index, 1), first,
                            p.small_input(t)};
    const OpId loop = b.create(OpKind::for_, init);
    const BlockId body = f.region(loop);
    const ValueId i = f.add_arg(body, index), at = f.add_arg(body, f.type(first)), sum = f.add_arg(body, t);
    Builder in(f);
    in.at_end(body);
    const ValueId is_odd = in.cast(in.binary(OpKind::bit_and_, i, in.constant(index, 1)), Element::boolean);
    const OpId choice = in.create(OpKind::if_, std::span(&is_odd, 1));
    const ValueId yielded = f.add_result(choice, t);
    for (int arm = 0; arm < 2; ++arm) {
      in.at_end(f.region(choice, arm));
      const ValueId y[] = {arm == 0 ? atomic(in, OpKind::atomic_add_, {at, sum})
                                    : atomic(in, OpKind::atomic_xor_, {at, in.broadcast(i, t.shape())})};
      in.create(OpKind::yield_, y);
    }
    in.at_end(body);
    atomic(in, OpKind::atomic_add_, {base, i});  // once a trip, though nothing of it varies but the value
    const ValueId next[] = {in.add_ptr(at, in.constant(t, 2)), in.binary(OpKind::add_, yielded, load(in, at))};
    in.create(OpKind::yield_, next);
    p.output(f.result(loop, 1));
    check_on_machines(p.take());
  }
}

TEST_CASE("atomics: what many programs add, combine and count") {
  SequenceBuilder p("programs");
  Builder& b = p.ir();
  const Type t(Element::u32, Shape{64});
  for (OpKind k : {OpKind::atomic_add_, OpKind::atomic_max_, OpKind::atomic_min_, OpKind::atomic_or_, OpKind::atomic_xor_}) {
    const ValueId base = cells(p, Element::u32);
    const ValueId program =
        b.broadcast(b.cast(b.function().result(b.create(OpKind::program_id_, {}, {{AttrName::axis, 0, {}}})), Element::u32), t.shape());
    atomic(b, k, {shared_addresses(p, base, t.shape()), b.binary(OpKind::mul_, program, p.input(t))});
  }
  fuzz::Program program = p.take();
  // The kernel itself initializes the cells, so the sums of all programs but the last would be lost.
  const auto is_initial_store = [&](OpId id) { return program.function.kind(id) == OpKind::store_; };
  std::vector<OpId> initial;
  program.function.walk([&](OpId id) {
    if (is_initial_store(id)) initial.push_back(id);
  });
  for (OpId id : initial) program.function.erase(id);
  for (fuzz::Argument& a : program.arguments)
    if (a.bytes.size() == kCells * 4) std::fill(a.bytes.begin(), a.bytes.end(), std::byte{0x35});
  program.grid = {7, 3, 1};
  check_on_machines(program);
}

}  // namespace tilewright::test
