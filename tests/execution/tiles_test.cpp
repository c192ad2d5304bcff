// Ops on whole tiles: scan, sort, gather, histogram. Every element type, along every axis, on every machine.
#include <doctest/doctest.h>

#include "tests/execution/machines.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;
constexpr Element kNumbers[] = {Element::i8,  Element::i16, Element::i32, Element::i64,  Element::u8,  Element::u16,
                                Element::u32, Element::u64, Element::f16, Element::bf16, Element::f32, Element::f64};
constexpr Element kOthers[] = {Element::boolean, Element::f8e4m3, Element::f8e5m2};
constexpr Element kIntegers[] = {Element::i8, Element::i16, Element::i32, Element::i64,
                                 Element::u8, Element::u16, Element::u32, Element::u64};

/// Running combinations by `body`, which gets the earlier elements, then the later ones.
template <class Body>
std::vector<ValueId> scan(Builder& b, const std::vector<ValueId>& x, int axis, bool reverse, Body body) {
  std::vector<Attr> attrs{{AttrName::axis, axis, {}}};
  if (reverse) attrs.push_back({AttrName::reverse, 1, {}});
  return combine(b, OpKind::scan_, x, std::move(attrs), body);
}

ValueId scan_by(Builder& b, ValueId x, int axis, bool reverse, OpKind k) {
  return scan(b, {x}, axis, reverse, [&](Builder& in, const std::vector<ValueId>& a) { return std::vector{in.binary(k, a[0], a[1])}; })[0];
}

std::vector<ValueId> sort(Builder& b, const std::vector<ValueId>& x, bool descending, std::int64_t count = 0) {
  std::vector<Attr> attrs;
  if (descending) attrs.push_back({AttrName::descending, 1, {}});
  if (count > 0) attrs.push_back({AttrName::count, count, {}});
  return b.function().op(b.create(OpKind::sort_, x, attrs)).results;
}

ValueId gather(Builder& b, ValueId x, ValueId index, int axis) {
  const ValueId operands[] = {x, index};
  return b.function().result(b.create(OpKind::gather_, operands, {{AttrName::axis, axis, {}}}));
}

ValueId histogram(Builder& b, const std::vector<ValueId>& x, std::int64_t bins) {
  return b.function().result(b.create(OpKind::histogram_, x, {{AttrName::bins, bins, {}}}));
}

}  // namespace

TEST_CASE("scan: sums, products and extremes along every axis, both ways, for every type") {
  for (const Shape& shape : {Shape{64}, Shape{1}, Shape{2}, Shape{4, 32}, Shape{32, 4}, Shape{2, 8, 16}, Shape{16, 1}, Shape{1, 128}})
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      SequenceBuilder p("scan");
      for (Element e : kNumbers)
        for (OpKind k : {OpKind::add_, OpKind::maximum_, OpKind::mul_, OpKind::minimum_}) {
          if (shape != Shape{64} && shape != Shape{4, 32} && (k == OpKind::mul_ || k == OpKind::minimum_)) continue;
          p.output(scan_by(p.ir(), p.input(Type(e, shape)), axis, k == OpKind::mul_ || e == Element::i16 || e == Element::f32, k));
        }
      for (OpKind k : {OpKind::bit_and_, OpKind::bit_or_, OpKind::bit_xor_}) {
        p.output(scan_by(p.ir(), p.input(Type(Element::boolean, shape)), axis, k == OpKind::bit_or_, k));
        p.output(scan_by(p.ir(), p.input(Type(Element::u16, shape)), axis, k == OpKind::bit_and_, k));
      }
      check_on_machines(p.take());
    }
}

TEST_CASE("scan: combinations that keep an order, of several tiles, that use scalars and functions") {
  for (const Shape& shape : {Shape{128}, Shape{8, 32}, Shape{32, 8}, Shape{4, 4, 4}, Shape{2, 2, 64}})
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
      for (bool reverse : {false, true}) {
        SequenceBuilder p("ordered");
        Builder& b = p.ir();
        // x -> a x + c composed; in floats a product and a sum that may become one fma.
        for (Element e : {Element::i32, Element::f32, Element::f64}) {
          const auto line = scan(
              b, {p.small_input(Type(e, shape)), p.input(Type(e, shape))}, axis, reverse, [](Builder& in, const std::vector<ValueId>& a) {
                return std::vector{in.binary(OpKind::mul_, a[0], a[2]), in.binary(OpKind::add_, in.binary(OpKind::mul_, a[1], a[2]), a[3])};
              });
          p.output(line[0]);
          p.output(line[1]);
        }
        // Scans three types, one of which is one byte per bit: sums that restart where a flag is set, and the last flagged value.
        const ValueId scale = p.scalar(Type(Element::f32), 0x3f000000);
        const auto segments =
            scan(b, {p.input(Type(Element::boolean, shape)), p.input(Type(Element::f16, shape)), p.input(Type(Element::i64, shape))}, axis,
                 reverse, [&](Builder& in, const std::vector<ValueId>& a) {
                   const ValueId half = in.cast(in.binary(OpKind::mul_, in.cast(a[1], Element::f32), scale), Element::f16);
                   return std::vector{in.binary(OpKind::bit_or_, a[0], a[3]), in.select(a[3], a[4], in.binary(OpKind::add_, half, a[4])),
                                      in.select(a[3], a[5], a[2])};
                 });
        for (ValueId v : segments) p.output(v);
        // The last element; and a function that the passes expand, in f64, for which GPUs have no approximation.
        p.output(scan(b, {p.input(Type(Element::f8e5m2, shape))}, axis, reverse,
                      [](Builder&, const std::vector<ValueId>& a) { return std::vector{a[1]}; })[0]);
        p.output(scan(b, {p.small_input(Type(Element::f64, shape))}, axis, reverse, [](Builder& in, const std::vector<ValueId>& a) {
          return std::vector{in.unary(OpKind::tanh_, in.binary(OpKind::sub_, a[1], a[0]))};
        })[0]);
        check_on_machines(p.take());
      }
}

TEST_CASE("sort: keys of every type, rows of every length, both directions, alone and with values") {
  bool descending = false;
  for (const Shape& shape :
       {Shape{1}, Shape{2}, Shape{16}, Shape{256}, Shape{8, 1}, Shape{16, 2}, Shape{4, 4}, Shape{1, 1, 64}, Shape{2, 2, 2, 2, 8}}) {
    SequenceBuilder p("sort");
    Builder& b = p.ir();
    for (Element e : kNumbers) {
      p.output(sort(b, {p.input(Type(e, shape))}, descending)[0]);
      // Few different keys: stability shows in the values.
      const auto pair = sort(b, {p.small_input(Type(e, shape)), p.input(Type(Element::i16, shape))}, !descending);
      p.output(pair[0]);
      p.output(pair[1]);
      descending = !descending;
    }
    std::vector<ValueId> all{p.small_input(Type(Element::i8, shape))};
    for (Element e : kOthers) all.push_back(p.input(Type(e, shape)));
    for (Element e : kNumbers) all.push_back(p.input(Type(e, shape)));
    for (ValueId v : sort(b, all, descending)) p.output(v);
    check_on_machines(p.take());
    descending = !descending;  // 12 types left it as it was
  }
}

TEST_CASE("sort: the first so many of each row") {
  bool descending = false;
  for (const Shape& shape : {Shape{64}, Shape{4, 8}, Shape{2, 512}})
    for (std::int64_t count = 1; count <= shape.back(); count *= 8) {
      SequenceBuilder p("least");
      Builder& b = p.ir();
      for (Element e : {Element::i8, Element::u32, Element::i64, Element::f16, Element::f32, Element::f64}) {
        p.output(sort(b, {p.input(Type(e, shape))}, descending, count)[0]);
        const auto pair = sort(b, {p.small_input(Type(e, shape)), p.input(Type(Element::f64, shape))}, !descending, count);
        p.output(pair[0]);
        p.output(pair[1]);
        descending = !descending;
      }
      check_on_machines(p.take());
      descending = !descending;
    }
}

TEST_CASE("sort: the first of rows that are in order, in reverse order and of equal elements, and indices that are computed") {
  for (const Shape& shape : {Shape{2, 1024}, Shape{2, 1, 4, 128}, Shape{64, 32}})
    for (std::int64_t count : {1, 2, 32}) {
      SequenceBuilder p("ordered");
      Builder& b = p.ir();
      const std::int64_t extent = shape.back(), rows = Type(Element::i32, shape).elements() / extent;
      Shape line(shape.size(), 1), across = shape;
      line.back() = extent;
      across.back() = 1;
      const ValueId column = b.broadcast(b.reshape(b.arange(0, extent), line), shape);
      const ValueId row = b.broadcast(b.reshape(b.arange(0, rows), across), shape);
      const ValueId number = b.binary(OpKind::add_, column, b.binary(OpKind::mul_, row, row));
      for (Element e : {Element::i16, Element::i32, Element::i64, Element::f32, Element::f64})
        for (ValueId key : {b.cast(column, e), b.cast(b.unary(OpKind::neg_, column), e), b.cast(row, e)})
          for (bool descending : {false, true})
            for (ValueId v : sort(b, {key, number}, descending, count)) p.output(v);
      check_on_machines(p.take());
    }
}

TEST_CASE("sort: rows longer than what the first-level cache holds") {
  for (std::int64_t count : {1, 16, 4096, 16384}) {
    SequenceBuilder p("long");
    Builder& b = p.ir();
    const Shape shape{16384};
    for (Element e : {Element::u8, Element::i32, Element::f32, Element::f64}) {
      for (ValueId v : sort(b, {p.input(Type(e, shape))}, true, count)) p.output(v);
      for (ValueId v : sort(b, {p.input(Type(e, shape)), b.arange(0, 16384)}, false, count)) p.output(v);
    }
    check_on_machines(p.take());
  }
}

TEST_CASE("gather: every type along every axis, by indices of every type, inside and outside of the extent") {
  for (const Shape& shape : {Shape{1}, Shape{64}, Shape{8, 4}, Shape{4, 1, 8}, Shape{2, 2, 2, 2, 2}, Shape{1, 512}})
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      SequenceBuilder p("gather");
      Builder& b = p.ir();
      Shape fewer = shape, more = shape;
      fewer[axis] = 1;
      more[axis] *= 4;
      for (Element e : kOthers) p.output(gather(b, p.input(Type(e, shape)), p.small_input(Type(Element::i64, shape)), axis));
      if (shape.size() <= 2) {
        for (Element e : kNumbers) p.output(gather(b, p.input(Type(e, shape)), p.input(Type(Element::i32, more)), axis));
        for (Element e : kIntegers)
          for (const Shape& picked : {fewer, shape})
            p.output(gather(b, p.input(Type(Element::f32, shape)), p.input(Type(e, picked)), axis));
      }
      // A tile that is never stored, shifted by one; and a tile of addresses.
      const ValueId s = p.scalar(Type(Element::i32), 3);
      p.output(gather(b, b.broadcast(s, shape), b.broadcast(s, more), axis));
      const ValueId x = p.input(Type(Element::u16, shape)), at = b.function().operand(b.function().value(x).op, 0);
      const ValueId picked = gather(b, at, p.input(Type(Element::i32, more)), axis);
      p.output(b.function().result(b.create(OpKind::load_, std::span(&picked, 1))));
      check_on_machines(p.take());
    }
}

TEST_CASE("histogram: values of every type, in and out of the bins, with and without a mask") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{256}, Shape{8, 2, 16}})
    for (std::int64_t bins : {1, 4, 256, 4096}) {
      SequenceBuilder p("histogram");
      Builder& b = p.ir();
      for (Element e : kIntegers) {
        p.output(histogram(b, {p.input(Type(e, shape))}, bins));
        p.output(histogram(b, {p.small_input(Type(e, shape)), p.input(Type(Element::boolean, shape))}, bins));
      }
      check_on_machines(p.take());
    }
}

TEST_CASE("whole tiles: results that feed each other, views, and what a loop carries") {
  for (std::int64_t trips : {0, 1, 3}) {
    SequenceBuilder p("chained");
    Builder& b = p.ir();
    Function& f = b.function();
    const Type t(Element::i32, Shape{8, 16}), index(Element::i32);
    const std::int64_t swap[] = {1, 0};
    const ValueId operands[] = {b.constant(index, 0), p.scalar(index, static_cast<std::uint64_t>(trips)), b.constant(index, 1), p.input(t),
                                p.small_input(t)};
    const OpId loop = b.create(OpKind::for_, operands);
    const BlockId body = f.region(loop);
    const ValueId trip = f.add_arg(body, index), x = f.add_arg(body, t), y = f.add_arg(body, t);
    Builder in(f);
    in.at_end(body);
    const ValueId turned = in.reshape(in.permute(x, swap), t.shape());
    const std::vector<ValueId> sorted = sort(in, {x, y, turned}, false);
    const ValueId sums = scan(in, {sorted[2]}, 0, true, [&](Builder& r, const std::vector<ValueId>& a) {
      return std::vector{r.binary(OpKind::add_, r.binary(OpKind::add_, a[0], a[1]), trip)};  // a scalar of the loop
    })[0];
    const ValueId counts = in.reshape(histogram(in, {sorted[1]}, 16), Shape{1, 16});
    const ValueId next[] = {in.binary(OpKind::add_, sums, in.broadcast(counts, t.shape())), gather(in, sorted[0], sorted[1], 1)};
    in.create(OpKind::yield_, next);
    p.output(f.result(loop, 0));
    p.output(f.result(loop, 1));
    check_on_machines(p.take());
  }
}

}  // namespace tilewright::test
