// Ops that are not element-wise: reductions along each axis, dot, shapes and control flow; and buffers that the host planner may share.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/execution/machines.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;
constexpr Element kNumbers[] = {Element::i8,  Element::i16, Element::i32, Element::i64,  Element::u8,  Element::u16,
                                Element::u32, Element::u64, Element::f16, Element::bf16, Element::f32, Element::f64};

/// Combines elements of all operands by `body`, which gets the earlier ones, then the later ones.
template <class Body>
std::vector<ValueId> reduce(Builder& b, const std::vector<ValueId>& x, int axis, bool commutative, Body body) {
  std::vector<Attr> attrs{{AttrName::axis, axis, {}}};
  if (commutative) attrs.push_back({AttrName::commutative, 1, {}});
  return combine(b, OpKind::reduce_, x, std::move(attrs), body);
}

std::vector<ValueId> reduce_by(Builder& b, ValueId x, int axis, OpKind k) {
  return reduce(b, {x}, axis, true, [&](Builder& in, const std::vector<ValueId>& a) { return std::vector{in.binary(k, a[0], a[1])}; });
}

}  // namespace

TEST_CASE("reduce: sum, product, extremes along every axis of every shape, for every type") {
  for (const Shape& shape : {Shape{64}, Shape{8}, Shape{1}, Shape{4, 32}, Shape{32, 4}, Shape{2, 8, 16}, Shape{16, 1}, Shape{1, 128}})
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      SequenceBuilder p("reduce");
      for (Element e : kNumbers)
        for (OpKind k : {OpKind::add_, OpKind::mul_, OpKind::maximum_, OpKind::minimum_})
          p.output(reduce_by(p.ir(), p.input(Type(e, shape)), axis, k)[0]);
      for (OpKind k : {OpKind::bit_and_, OpKind::bit_or_, OpKind::bit_xor_}) {
        p.output(reduce_by(p.ir(), p.input(Type(Element::boolean, shape)), axis, k)[0]);
        p.output(reduce_by(p.ir(), p.input(Type(Element::u16, shape)), axis, k)[0]);
      }
      check_on_machines(p.take());
    }
}

TEST_CASE("reduce: combines that keep an order, and several tiles at once") {
  for (const Shape& shape : {Shape{64}, Shape{8, 32}, Shape{32, 8}, Shape{4, 4, 4}, Shape{2, 256}})
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      SequenceBuilder p("ordered");
      Builder& b = p.ir();
      // Rounded sums, whose bits show the order, beside one in any order; and elements without an identity.
      for (Element e : {Element::f32, Element::f64, Element::f16, Element::i8, Element::boolean}) {
        const ValueId x = p.input(Type(e, shape));
        const OpKind k = e == Element::boolean ? OpKind::bit_xor_ : OpKind::add_;
        p.output(reduce(b, {x}, axis, false,
                        [&](Builder& in, const std::vector<ValueId>& a) { return std::vector{in.binary(k, a[0], a[1])}; })[0]);
        p.output(reduce_by(b, x, axis, k)[0]);
      }
      // The last element; and x -> a x + c composed, which is associative and not commutative (in wrapping integers).
      p.output(reduce(b, {p.input(Type(Element::f32, shape))}, axis, false,
                      [](Builder&, const std::vector<ValueId>& a) { return std::vector{a[1]}; })[0]);
      const auto line = reduce(b, {p.input(Type(Element::i32, shape)), p.input(Type(Element::i32, shape))}, axis, false,
                               [](Builder& in, const std::vector<ValueId>& a) {
                                 return std::vector{in.binary(OpKind::mul_, a[0], a[2]),
                                                    in.binary(OpKind::add_, in.binary(OpKind::mul_, a[1], a[2]), a[3])};
                               });
      p.output(line[0]);
      p.output(line[1]);
      // The greatest value and the least index of it.
      const auto best = reduce(b, {p.small_input(Type(Element::f32, shape)), p.small_input(Type(Element::i32, shape))}, axis, true,
                               [](Builder& in, const std::vector<ValueId>& a) {
                                 const ValueId tie =
                                     in.binary(OpKind::bit_and_, in.binary(OpKind::eq_, a[0], a[2]), in.binary(OpKind::lt_, a[1], a[3]));
                                 const ValueId first = in.binary(OpKind::bit_or_, in.binary(OpKind::gt_, a[0], a[2]), tie);
                                 return std::vector{in.select(first, a[0], a[2]), in.select(first, a[1], a[3])};
                               });
      p.output(best[0]);
      p.output(best[1]);
      check_on_machines(p.take());
    }
}

TEST_CASE("dot: every pair of element types, every size of a register tile and smaller, batches") {
  struct Size {
    std::int64_t batch, m, n, k;
  };
  for (const Size& s : {Size{0, 16, 16, 16}, Size{0, 64, 64, 32}, Size{0, 1, 1, 1}, Size{0, 2, 4, 8}, Size{0, 128, 8, 2},
                        Size{0, 4, 128, 1}, Size{0, 16, 32, 64}, Size{4, 8, 16, 4}, Size{2, 32, 64, 64}}) {
    SequenceBuilder p("dot");
    const auto shape = [&](std::int64_t a, std::int64_t b) { return s.batch ? Shape{s.batch, a, b} : Shape{a, b}; };
    for (const auto& [in, out] : {std::pair{Element::f16, Element::f32},
                                  {Element::bf16, Element::f32},
                                  {Element::f8e4m3, Element::f32},
                                  {Element::f8e5m2, Element::f32},
                                  {Element::f32, Element::f32},
                                  {Element::i8, Element::i32},
                                  {Element::f64, Element::f64}}) {
      // Small integers, since matrix instructions add up in an order of their own.
      const auto operand = [&](std::int64_t a, std::int64_t b) { return p.small_input(Type(in, shape(a, b))); };
      const ValueId operands[] = {operand(s.m, s.k), operand(s.k, s.n), p.small_input(Type(out, shape(s.m, s.n)))};
      p.output(p.ir().function().result(p.ir().create(OpKind::dot_, operands)));
    }
    const ValueId bytes[] = {p.input(Type(Element::i8, shape(s.m, s.k))), p.input(Type(Element::i8, shape(s.k, s.n))),
                             p.input(Type(Element::i32, shape(s.m, s.n)))};
    p.output(p.ir().function().result(p.ir().create(OpKind::dot_, bytes)));
    // Fused multiply-adds, in the interpreter's order.
    const ValueId operands[] = {p.input(Type(Element::f32, shape(s.m, s.k))), p.input(Type(Element::f32, shape(s.k, s.n))),
                                p.small_input(Type(Element::f32, shape(s.m, s.n)))};
    const Attr ieee{AttrName::precision, static_cast<std::int64_t>(Precision::ieee)};
    p.output(p.ir().function().result(p.ir().create(OpKind::dot_, operands, {ieee})));
    check_on_machines(p.take());
  }
}

TEST_CASE("shapes: permuted, broadcast and reshaped tiles of computed values") {
  SequenceBuilder p("shapes");
  Builder& b = p.ir();
  for (Element e : {Element::f32, Element::i8, Element::boolean, Element::f16, Element::f64}) {
    const ValueId x = p.input(Type(e, Shape{16, 32})), y = p.input(Type(e, Shape{32, 1}));
    const std::int64_t swap[] = {1, 0}, rotate[] = {2, 0, 1};
    p.output(b.permute(x, swap));
    p.output(b.reshape(x, Shape{8, 64}));
    p.output(b.permute(b.reshape(x, Shape{4, 8, 16}), rotate));
    p.output(b.broadcast(y, Shape{32, 64}));
    p.output(b.permute(b.broadcast(b.reshape(y, Shape{1, 32}), Shape{8, 32}), swap));
    p.output(b.select(b.broadcast(p.input(Type(Element::boolean, Shape{1, 32})), Shape{16, 32}), x,
                      b.reshape(b.permute(x, swap), Shape{16, 32})));
  }
  check_on_machines(p.take());
}

TEST_CASE("shapes: permuted tiles of every size of an element, as far as vectors transpose them and smaller") {
  for (const Shape& shape :
       {Shape{64, 64}, Shape{4, 128}, Shape{128, 4}, Shape{16, 8}, Shape{2, 2}, Shape{2, 64, 32}, Shape{64, 2, 16}, Shape{16, 1, 32, 2}}) {
    SequenceBuilder p("permuted");
    Builder& b = p.ir();
    for (Element e : {Element::i8, Element::bf16, Element::u32, Element::f64}) {
      const Type t(e, shape);
      Shape axes(shape.size());
      for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
      const auto permuted = [&](ValueId v) { return b.permute(v, axes); };
      std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
      p.output(permuted(b.binary(OpKind::add_, p.input(t), p.small_input(t))));
      std::rotate(axes.begin(), axes.begin() + 1, axes.end());
      const ValueId x = permuted(p.input(t));
      p.output(x);
      p.output(b.binary(OpKind::add_, x, p.small_input(b.function().type(x))));
      // Twice in another axis order than that of the buffer that it is made from.
      std::reverse(axes.begin(), axes.end());
      p.output(permuted(x));
    }
    check_on_machines(p.take());
  }
}

TEST_CASE("shapes: flip, join, split and cat of every type along every axis") {
  constexpr Element kAll[] = {Element::boolean, Element::i8,  Element::i16, Element::i32,    Element::i64,
                              Element::u8,      Element::u16, Element::u32, Element::u64,    Element::f16,
                              Element::bf16,    Element::f32, Element::f64, Element::f8e4m3, Element::f8e5m2};
  for (const Shape& shape : {Shape{1}, Shape{64}, Shape{16, 2}, Shape{4, 1, 8}, Shape{2, 2, 2, 2, 2}}) {
    SequenceBuilder p("rearranged");
    Builder& b = p.ir();
    Function& f = b.function();
    for (Element e : kAll) {
      const ValueId x = p.input(Type(e, shape)), y = p.input(Type(e, shape)), s = p.input(Type(e));
      const ValueId pair[] = {x, y}, splat[] = {b.broadcast(s, shape), y}, scalars[] = {s, p.input(Type(e))};
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
        p.output(f.result(b.create(OpKind::flip_, std::span(&x, 1), {{AttrName::axis, axis, {}}})));
        p.output(f.result(b.create(OpKind::cat_, pair, {{AttrName::axis, axis, {}}})));
        p.output(f.result(b.create(OpKind::cat_, splat, {{AttrName::axis, axis, {}}})));
      }
      if (shape.size() < kMaxRank) p.output(f.result(b.create(OpKind::join_, pair)));
      const ValueId two = f.result(b.create(OpKind::join_, scalars));
      p.output(two);
      const ValueId turned = f.result(b.create(OpKind::flip_, std::span(&two, 1), {{AttrName::axis, 0, {}}}));
      const OpId apart = b.create(OpKind::split_, std::span(&turned, 1));  // into scalars
      p.output(f.result(apart, 0));
      p.output(b.broadcast(f.result(apart, 1), shape));
      if (shape.back() != 2) continue;
      const OpId halves = b.create(OpKind::split_, std::span(&x, 1));
      p.output(f.result(halves, 1));
      if (e != Element::boolean) p.output(f.result(halves, 0));  // else it is not used
    }
    check_on_machines(p.take());
  }
}

TEST_CASE("shapes: addresses that are flipped, joined and split, views and results of each other") {
  SequenceBuilder p("addresses");
  Builder& b = p.ir();
  Function& f = b.function();
  const auto flip = [&](ValueId v, std::int64_t axis) {
    return f.result(b.create(OpKind::flip_, std::span(&v, 1), {{AttrName::axis, axis, {}}}));
  };
  const std::int64_t swap[] = {1, 0};
  const ValueId index = b.broadcast(p.scalar(Type(Element::i32), 3), Shape{8, 4});
  const ValueId x = p.input(Type(Element::i32, Shape{8, 4})), at = f.operand(f.value(x).op, 0);
  const ValueId turned = flip(at, 0);  // pointers
  p.output(f.result(b.create(OpKind::load_, std::span(&turned, 1))));
  const ValueId both[] = {at, turned};
  const OpId apart = b.create(OpKind::split_, std::vector{f.result(b.create(OpKind::join_, both))});
  const ValueId again = f.result(apart, 1);
  p.output(f.result(b.create(OpKind::load_, std::span(&again, 1))));
  // A view, a computed value, a value that is recomputed at each use, another result; and values derived from them.
  const ValueId sum = b.binary(OpKind::add_, x, index);
  p.output(flip(b.permute(x, swap), 1));
  p.output(b.permute(flip(flip(sum, 0), 1), swap));
  p.output(b.binary(OpKind::mul_, flip(index, 1), flip(sum, 1)));
  p.output(b.reshape(flip(b.reshape(sum, Shape{2, 16}), 1), Shape{8, 4}));
  p.output(reduce_by(b, flip(x, 0), 0, OpKind::add_)[0]);
  check_on_machines(p.take());
}

TEST_CASE("for: tiles that each trip takes apart, turns round and carries on") {
  for (std::int64_t trips : {0, 1, 3}) {
    SequenceBuilder p("turned");
    Builder& b = p.ir();
    Function& f = b.function();
    const Type t(Element::f32, Shape{8, 2}), index(Element::i32);
    const ValueId operands[] = {b.constant(index, 0), p.scalar(index, static_cast<std::uint64_t>(trips)),
                                b.constant(index, 1), p.small_input(t),
                                p.small_input(t),     p.small_input(Type(Element::f32))};
    const OpId loop = b.create(OpKind::for_, operands);
    const BlockId body = f.region(loop);
    f.add_arg(body, index);
    const ValueId x = f.add_arg(body, t), y = f.add_arg(body, t), s = f.add_arg(body, Type(Element::f32));
    Builder in(f);
    in.at_end(body);
    const ValueId flipped = f.result(in.create(OpKind::flip_, std::span(&x, 1), {{AttrName::axis, 0, {}}}));
    const OpId halves = in.create(OpKind::split_, std::span(&y, 1));
    const ValueId pair[] = {f.result(halves, 1), f.result(halves, 0)}, scalars[] = {s, s};
    const ValueId two = f.result(in.create(OpKind::join_, scalars));
    const OpId apart = in.create(OpKind::split_, std::span(&two, 1));
    // Results themselves are carried: x' = halves of y swapped, y' = x flipped.
    const ValueId next[] = {f.result(in.create(OpKind::join_, pair)), flipped,
                            in.binary(OpKind::add_, f.result(apart, 0), f.result(apart, 1))};
    in.create(OpKind::yield_, next);
    for (int i = 0; i < 3; ++i) p.output(f.result(loop, i));
    check_on_machines(p.take());
  }
}

TEST_CASE("for: carried tiles that swap, rotate and read each other") {
  for (std::int64_t trips : {0, 1, 2, 5}) {
    SequenceBuilder p("swap");
    Builder& b = p.ir();
    Function& f = b.function();
    const Type t(Element::f32, Shape{8, 8}), index(Element::i32);
    const std::int64_t swap[] = {1, 0};
    const ValueId operands[] = {b.constant(index, 0), p.scalar(index, static_cast<std::uint64_t>(trips)),
                                b.constant(index, 1), p.small_input(t),
                                p.small_input(t),     p.small_input(t)};
    const OpId loop = b.create(OpKind::for_, operands);
    const BlockId body = f.region(loop);
    f.add_arg(body, index);
    const ValueId x = f.add_arg(body, t), y = f.add_arg(body, t), z = f.add_arg(body, t);
    Builder in(f);
    in.at_end(body);
    // x' = y, y' = transpose(x) + z, z' = z + x: each reads what another one replaces.
    const ValueId next[] = {y, in.binary(OpKind::add_, in.permute(x, swap), z), in.binary(OpKind::add_, z, x)};
    in.create(OpKind::yield_, next);
    for (int i = 0; i < 3; ++i) p.output(f.result(loop, i));
    check_on_machines(p.take());
  }
}

TEST_CASE("memory: a store is seen by later loads, and never by earlier ones, however the lanes overlap") {
  for (std::int64_t shift : {0, 1, 7, 16, -3}) {
    SequenceBuilder p("overlap");
    Builder& b = p.ir();
    Function& f = b.function();
    const Shape shape{64};
    std::vector<std::byte> bytes;
    const ValueId seed = p.small_input(Type(Element::i32, Shape{128}));
    p.output(seed);  // the buffer that all of this moves within
    const ValueId base = f.arg(f.body(), 1);
    const auto at = [&](std::int64_t offset) {
      const ValueId index = b.binary(OpKind::add_, b.arange(0, 64), b.constant(Type(Element::i32, shape), 16 + offset));
      return b.add_ptr(b.broadcast(base, shape), index);
    };
    const auto load = [&](ValueId pointer) { return f.result(b.create(OpKind::load_, std::span(&pointer, 1))); };
    const ValueId before = load(at(0));
    const ValueId moved[] = {at(shift), before};
    b.create(OpKind::store_, moved);
    const ValueId after = load(at(0));
    const ValueId again[] = {at(-shift), b.binary(OpKind::add_, after, before)};
    b.create(OpKind::store_, again);
    p.output(load(at(0)));
    p.output(after);
    check_on_machines(p.take());
  }
}

// Hosts store in the loop nest that loads, where each index has an address of its own (backend/host/memory_order.h).
TEST_CASE("memory: tiles that are updated in place, of rows that are apart, touch and overlap, whole and under a bound") {
  for (std::int64_t distance : {32, 16, 8, 1, 0, -16})
    for (std::int64_t bound : {64, 16, 11, 0}) {
      SequenceBuilder p("in_place");
      Builder& b = p.ir();
      Function& f = b.function();
      const Shape shape{4, 16};
      const Type index(Element::i32, shape);
      const ValueId seed = p.small_input(Type(Element::f32, Shape{256}));
      p.output(seed);  // the buffer that is updated
      const ValueId base = f.arg(f.body(), 1);
      const ValueId row = b.broadcast(b.reshape(b.arange(0, 4), Shape{4, 1}), shape);
      const ValueId column = b.broadcast(b.reshape(b.arange(0, 16), Shape{1, 16}), shape);
      const ValueId first = b.constant(index, distance < 0 ? 64 : 0);
      const ValueId at =
          b.binary(OpKind::add_, b.binary(OpKind::add_, b.binary(OpKind::mul_, row, b.constant(index, distance)), column), first);
      const ValueId pointer = b.add_ptr(b.broadcast(base, shape), at);
      const ValueId n = b.broadcast(p.scalar(Type(Element::i32), static_cast<std::uint64_t>(bound)), shape);
      const ValueId mask = b.binary(OpKind::lt_, column, n);
      for (int round = 0; round < 2; ++round) {
        const ValueId from[] = {pointer, mask};
        const ValueId x = f.result(b.create(OpKind::load_, std::span(from, round == 0 ? 2 : 1)));
        const ValueId to[] = {pointer, b.binary(OpKind::add_, b.binary(OpKind::add_, x, x), b.cast(column, Element::f32)), mask};
        b.create(OpKind::store_, std::span(to, round == 0 ? 3 : 2));
      }
      check_on_machines(p.take());
    }
}

// Hosts load long rows again instead of keeping what was computed from them (backend/host/recomputation.h).
TEST_CASE("memory: long rows that are used before and after their sum, whole and under a bound") {
  for (const Element e : {Element::f32, Element::f16, Element::i32, Element::i8})
    for (const std::int64_t bound : {8192, 5000, 7, 0}) {
      CAPTURE(text(e));
      SequenceBuilder p("long_rows");
      Builder& b = p.ir();
      const Shape shape{8192};
      const ValueId x = p.small_input(Type(e, shape)), other = p.small_input(Type(e, shape));
      const ValueId mask = b.binary(OpKind::lt_, b.arange(0, 8192), b.broadcast(p.scalar(Type(Element::i32), bound), shape));
      const ValueId scaled = b.binary(OpKind::add_, b.binary(OpKind::mul_, x, other), x);
      const ValueId sum = b.broadcast(reduce_by(b, scaled, 0, OpKind::add_)[0], shape);
      p.output(b.binary(OpKind::sub_, scaled, sum), mask);
      p.output(b.binary(OpKind::add_, other, sum));
      for (auto& parameter : b.function().params) parameter.disjoint = true;
      check_on_machines(p.take());
    }
}

// Hosts end their loops behind the last index that a store writes (passes/analysis/live_extents.h).
TEST_CASE("memory: stores under a bound on indices of every type, also those that pass its greatest value and begin again") {
  constexpr OpKind kComparisons[] = {OpKind::lt_, OpKind::le_, OpKind::gt_, OpKind::ge_};
  for (Element e : {Element::i8, Element::i16, Element::i32, Element::i64, Element::u8, Element::u16, Element::u32, Element::u64}) {
    CAPTURE(text(e));
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits(e));
    const std::uint64_t greatest = is_signed(e) ? all >> 1 : all;
    for (std::int64_t extent : {16, bits(e) == 8 ? 256 : 32}) {
      SequenceBuilder p("bounds");
      Builder& b = p.ir();
      const Shape shape{extent};
      const ValueId x = b.cast(p.small_input(Type(Element::f32, shape)), Element::f64);
      for (std::uint64_t start : {std::uint64_t{0}, greatest - 20, greatest - 14}) {
        const ValueId first = p.scalar(Type(e), start & all);
        const ValueId narrow = b.binary(OpKind::add_, b.cast(b.arange(0, extent), e), b.broadcast(first, shape));
        // An index that is extended after the sum does not exceed the greatest value of the wide type, yet wraps around.
        std::vector<ValueId> indices{narrow};
        if (bits(e) == 32) indices.push_back(b.cast(narrow, Element::i64));
        for (ValueId index : indices)
          for (std::uint64_t bound : {greatest - 7, std::uint64_t{7}}) {
            const ValueId limit = b.broadcast(p.scalar(b.function().type(index).scalar(), bound & all), shape);
            for (OpKind k : kComparisons) {
              const bool less = k == OpKind::lt_ || k == OpKind::le_;
              p.output(b.binary(OpKind::add_, x, x), less ? b.binary(k, index, limit) : b.binary(k, limit, index));
            }
          }
      }
      check_on_machines(p.take());
    }
  }
}

// On hosts, numbers of elements are compared with what is left of the range (passes/narrow_comparisons.cpp).
TEST_CASE("memory: 64-bit bounds on indices in loops, near the range and far away from it") {
  const std::string text = R"(
kernel @k(%y: ptr<i32>, %n: i64, %steps: i32) {
  %first = constant {value = -2} : i32
  %one = constant {value = 1} : i32
  %j = arange {lo = 4, hi = 20} : i32[16]
  %jw = cast %j : i64[16]
  %nb = broadcast %n : i64[16]
  %zeros = constant {value = 0} : i32[16]
  %ones = constant {value = 1} : i32[16]
  %threes = constant {value = 3} : i32[16]
  %s = for %first, %steps, %one, %zeros : i32[16] (%k: i32, %acc: i32[16]) {
    %kw = cast %k : i64
    %kb = broadcast %kw : i64[16]
    %kj = add %jw, %kb : i64[16]
    %mask = COMPARED : i1[16]
    %v = select %mask, %ones, %zeros : i32[16]
    %more = mul %acc, %threes : i32[16]
    %next = add %more, %v : i32[16]
    yield %next
  }
  %yb = broadcast %y : ptr<i32>[16]
  %i = arange {lo = 0, hi = 16} : i32[16]
  %yp = add_ptr %yb, %i : ptr<i32>[16]
  store %yp, %s
})";
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kGreatest = std::numeric_limits<std::int64_t>::max();
  for (const char* compared : {"lt %kj, %nb", "le %kj, %nb", "gt %nb, %kj", "ge %nb, %kj"}) {
    std::string each = text;
    each.replace(each.find("COMPARED"), 8, compared);
    for (std::int64_t bound : {kLeast, std::int64_t{-3}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{11},
                               std::int64_t{23}, std::int64_t{24}, std::int64_t{1} << 40, kGreatest}) {
      CAPTURE(compared);
      CAPTURE(bound);
      fuzz::Program p;
      p.function = parse(each, "bounds.tile").functions.at(0);
      p.arguments.resize(3);
      p.arguments[0].is_buffer = true;
      p.arguments[0].element = Element::i32;
      p.arguments[0].bytes.resize(16 * sizeof(std::int32_t));
      p.arguments[1].word = static_cast<std::uint64_t>(bound);
      p.arguments[2].word = 5;
      check_on_machines(p);
    }
  }
}

// LLVM 19 ended the process over a masked load between others (backend/host/target.cpp).
TEST_CASE("memory: a masked load of which all is masked off, between a load and stores of vectors") {
  fuzz::Program p;
  p.function = parse(R"(
kernel @k(%a: ptr<const i16>, %b: ptr<const i64> {divisible_by = 64}, %c: ptr<i16>, %d: ptr<i64> {divisible_by = 64}, %n: i32) {
  %0 = broadcast %a : ptr<const i16>[8]
  %1 = load %0 : i16[8]
  %2 = arange {lo = 0, hi = 8} : i32[8]
  %3 = reshape %2 : i32[1, 8]
  %4 = constant {value = -1} : i32[1, 8]
  %5 = le %3, %4 : i1[1, 8]
  %6 = cast %3 : u8[1, 8]
  %7 = broadcast %b : ptr<const i64>[1, 8]
  %8 = add_ptr %7, %6 : ptr<const i64>[1, 8]
  %9 = load %8, %5 : i64[1, 8]
  %10 = broadcast %c : ptr<i16>[8]
  %11 = add_ptr %10, %2 : ptr<i16>[8]
  store %11, %1
  %12 = broadcast %d : ptr<i64>[1, 8]
  %13 = add_ptr %12, %3 : ptr<i64>[1, 8]
  store %13, %9
})",
                     "store_forwarding.tile")
                   .functions[0];
  for (const auto& [element, count] : {std::pair{Element::i16, 1}, {Element::i64, 1}, {Element::i16, 8}, {Element::i64, 8}}) {
    fuzz::Argument a;
    a.is_buffer = true;
    a.element = element;
    a.bytes.assign(static_cast<std::size_t>(count * bytes(element)), std::byte{7});
    p.arguments.push_back(std::move(a));
  }
  p.arguments.emplace_back();
  check_on_machines(p);
}

TEST_CASE("memory: every second element, to the end of a buffer, with and without a mask") {
  for (const Element element : {Element::i8, Element::i16, Element::f32, Element::f64})
    for (const int extent : {4, 8, 32, 256}) {
      const std::string t(text(element)), n = std::to_string(extent);
      fuzz::Program p;
      p.function = parse("kernel @k(%x: ptr<const " + t + ">, %y: ptr<" + t + ">, %z: ptr<" + t + ">, %count: i32) {\n" +
                             "  %i = arange {lo = 0, hi = " + n + "} : i32[" + n + "]\n" + "  %two = constant {value = 2} : i32[" + n +
                             "]\n" + "  %even = mul %i, %two : i32[" + n + "]\n" + "  %one = constant {value = 1} : i32[" + n + "]\n" +
                             "  %odd = add %even, %one : i32[" + n + "]\n" + "  %xs = broadcast %x : ptr<const " + t + ">[" + n + "]\n" +
                             "  %from = add_ptr %xs, %even : ptr<const " + t + ">[" + n + "]\n" +
                             "  %behind = add_ptr %xs, %odd : ptr<const " + t + ">[" + n + "]\n" + "  %counts = broadcast %count : i32[" +
                             n + "]\n" + "  %in = lt %i, %counts : i1[" + n + "]\n" + "  %a = load %from : " + t + "[" + n + "]\n" +
                             "  %b = load %behind, %in : " + t + "[" + n + "]\n" + "  %ys = broadcast %y : ptr<" + t + ">[" + n + "]\n" +
                             "  %yp = add_ptr %ys, %i : ptr<" + t + ">[" + n + "]\n" + "  store %yp, %a\n" + "  %zs = broadcast %z : ptr<" +
                             t + ">[" + n + "]\n" + "  %zp = add_ptr %zs, %i : ptr<" + t + ">[" + n + "]\n" + "  store %zp, %b\n}",
                         "pairs.tile")
                       .functions[0];
      for (const int count : {2 * extent, extent, extent}) {
        fuzz::Argument a;
        a.is_buffer = true;
        a.element = element;
        for (int i = 0; i < count * bytes(element); ++i) a.bytes.push_back(static_cast<std::byte>(37 * i % 101));
        p.arguments.push_back(std::move(a));
      }
      fuzz::Argument count;
      count.word = static_cast<std::uint64_t>(extent - 1);
      p.arguments.push_back(count);
      check_on_machines(p);
    }
}

// In one vector, LLVM 19 miscompiles masks that are constant in only some lanes (backend/host/loop_nest.cpp).
TEST_CASE("memory: masks of which half is known and half is not, in loops that run once") {
  fuzz::Program p;
  p.function = parse(R"(
kernel @k(%x: ptr<const u64> {divisible_by = 8}, %y: ptr<const i1>, %table: ptr<const u8>, %out: ptr<u64> {divisible_by = 8}, %bytes: ptr<u8>, %on: i32) {
  %0 = cast %on : i1
  %1 = arange {lo = 0, hi = 8} : i32[8]
  %2 = constant {value = 3} : i32[8]
  %3 = le %1, %2 : i1[8]
  %4 = broadcast %0 : i1[8]
  %5 = bit_and %3, %4 : i1[8]
  %6 = broadcast %x : ptr<const u64>[8]
  %7 = add_ptr %6, %1 : ptr<const u64>[8]
  %8 = load %7, %5 : u64[8]
  %9 = broadcast %out : ptr<u64>[8]
  %10 = add_ptr %9, %1 : ptr<u64>[8]
  store %10, %8
  %11 = arange {lo = 0, hi = 4} : i32[4]
  %12 = constant {value = 1} : i32[4]
  %13 = lt %11, %12 : i1[4]
  %14 = broadcast %y : ptr<const i1>[4]
  %15 = load %14 : i1[4]
  %16 = bit_and %13, %15 : i1[4]
  %17 = broadcast %x : ptr<const u64>[4]
  %18 = constant {value = 12} : u64[4]
  %19 = load %17, %16, %18 : u64[4]
  %20 = constant {value = 7} : u64[4]
  %21 = rem %19, %20 : u64[4]
  %22 = broadcast %table : ptr<const u8>[4]
  %23 = add_ptr %22, %21 : ptr<const u8>[4]
  %24 = load %23 : u8[4]
  %25 = broadcast %bytes : ptr<u8>[4]
  %26 = add_ptr %25, %11 : ptr<u8>[4]
  store %26, %24
})",
                     "partly_known_masks.tile")
                   .functions[0];
  for (const auto& [element, count] :
       {std::pair{Element::u64, 8}, {Element::boolean, 1}, {Element::u8, 7}, {Element::u64, 8}, {Element::u8, 4}}) {
    fuzz::Argument a;
    a.is_buffer = true;
    a.element = element;
    a.bytes.assign(static_cast<std::size_t>(count * bytes(element)), std::byte{1});
    for (std::size_t i = 0; element != Element::boolean && i < a.bytes.size(); ++i) a.bytes[i] = static_cast<std::byte>(i + 1);
    p.arguments.push_back(std::move(a));
  }
  p.arguments.emplace_back().word = 1;
  check_on_machines(p);
}

}  // namespace tilewright::test
