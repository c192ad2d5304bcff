// The interpreter on small functions: memory, order of combination, loops and their limits.
#include "tileir/interpreter/interpreter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

using namespace tilewright::ir;

namespace {

const Type kI32(Element::i32);

Type tile(Element e, std::initializer_list<std::int64_t> shape) { return Type(e, std::vector<std::int64_t>(shape)); }

/// A function under construction whose parameters are pointers to vectors of the test.
struct Kernel {
  Function f{"test"};
  Builder b{f};
  std::vector<std::uint64_t> arguments;

  template <class T>
  ValueId buffer(std::vector<T>& v, Element e) {
    arguments.push_back(reinterpret_cast<std::uint64_t>(v.data()));
    return f.add_param(Type::pointer(e, false), {"p" + std::to_string(arguments.size()), 1});
  }
  ValueId scalar(Type t, std::uint64_t bits) {
    arguments.push_back(bits);
    return f.add_param(t, {"n" + std::to_string(arguments.size()), 1});
  }
  ValueId i32(std::int64_t v) { return b.constant(kI32, v); }
  /// p + (0, 1, ...) in a shape.
  ValueId addresses(ValueId p, const std::vector<std::int64_t>& shape) {
    const std::int64_t n = Type(Element::i32, shape).elements();
    const ValueId flat = b.broadcast(p, std::vector{n});
    return b.reshape(b.add_ptr(flat, b.arange(0, n)), shape);
  }
  ValueId load(ValueId p, const std::vector<std::int64_t>& shape) {
    const ValueId a = shape.empty() ? p : addresses(p, shape);
    return f.result(b.create(OpKind::load_, std::span(&a, 1)));
  }
  void store(ValueId p, ValueId v) {
    const auto shape = f.type(v).shape();
    const ValueId operands[] = {shape.empty() ? p : addresses(p, shape), v};
    b.create(OpKind::store_, operands);
  }
  /// A reduce whose region yields what `combine` makes of (earlier, later).
  template <class F>
  ValueId reduce(ValueId x, int axis, bool commutative, F combine) {
    std::vector<Attr> attrs{{AttrName::axis, axis, {}}};
    if (commutative) attrs.push_back({AttrName::commutative, 1, {}});
    const OpId id = b.create(OpKind::reduce_, std::span(&x, 1), attrs);
    const BlockId region = f.region(id), outer = b.block();
    const ValueId earlier = f.add_arg(region, f.type(x).scalar()), later = f.add_arg(region, f.type(x).scalar());
    b.at_end(region);
    const ValueId y = combine(earlier, later);
    b.create(OpKind::yield_, std::span(&y, 1));
    b.at_end(outer);
    return f.result(id);
  }
  /// A for whose region yields what `body` makes of (i, carried).
  template <class F>
  OpId loop(ValueId lo, ValueId hi, ValueId step, const std::vector<ValueId>& init, F body) {
    std::vector<ValueId> operands{lo, hi, step};
    operands.insert(operands.end(), init.begin(), init.end());
    const OpId id = b.create(OpKind::for_, operands);
    const BlockId region = f.region(id), outer = b.block();
    const ValueId i = f.add_arg(region, f.type(lo));
    std::vector<ValueId> carried;
    for (ValueId v : init) carried.push_back(f.add_arg(region, f.type(v)));
    b.at_end(region);
    const std::vector<ValueId> next = body(i, carried);
    b.create(OpKind::yield_, next);
    b.at_end(outer);
    return id;
  }
  void run(const InterpretOptions& options = {}) { interpret(f, arguments, options); }
};

/// How often a loop from lo to hi by step runs, and the counter it saw last.
template <class T>
std::pair<int, T> trips(T lo, T hi, T step) {
  const Type t(sizeof(T) == 8 ? Element::i64 : Element::i32);
  std::vector<std::int32_t> count(1);
  std::vector<T> last(1);
  Kernel k;
  const ValueId c = k.buffer(count, Element::i32), l = k.buffer(last, t.element());
  const OpId id =
      k.loop(k.b.constant(t, lo), k.b.constant(t, hi), k.b.constant(t, step), {k.i32(0), k.b.constant(t, 0)},
             [&](ValueId i, std::vector<ValueId> carried) { return std::vector{k.b.binary(OpKind::add_, carried[0], k.i32(1)), i}; });
  k.store(c, k.f.result(id, 0));
  k.store(l, k.f.result(id, 1));
  InterpretOptions options;
  options.max_ops = 1000;
  k.run(options);
  return {count[0], last[0]};
}

/// The sum of floats in the order that a reduce over `lanes` documents.
float ordered_sum(std::vector<float> v, std::size_t lanes) {
  lanes = std::min(lanes, v.size());
  for (std::size_t k = lanes; k < v.size(); ++k) v[k % lanes] += v[k];
  for (; lanes > 1; lanes /= 2)
    for (std::size_t k = 0; k < lanes / 2; ++k) v[k] += v[k + lanes / 2];
  return v[0];
}

}  // namespace

TEST_CASE("interpreter: programs of a grid see their own ids, axis 0 fastest") {
  std::vector<std::int32_t> out(12, -1);
  Kernel k;
  const ValueId p = k.buffer(out, Element::i32);
  const auto id = [&](OpKind kind, int axis) { return k.f.result(k.b.create(kind, {}, {{AttrName::axis, axis, {}}})); };
  const ValueId row = k.b.binary(OpKind::mul_, id(OpKind::program_id_, 1), id(OpKind::num_programs_, 0));
  k.store(k.b.add_ptr(p, k.b.binary(OpKind::add_, row, id(OpKind::program_id_, 0))),
          k.b.binary(OpKind::add_, k.b.binary(OpKind::mul_, id(OpKind::program_id_, 1), k.i32(10)), id(OpKind::program_id_, 0)));
  InterpretOptions options;
  options.grid = {3, 4, 1};
  k.run(options);
  CHECK(out == std::vector<std::int32_t>{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
}

TEST_CASE("interpreter: masked-off lanes read nothing and give other, or 0") {
  std::vector<float> in{1, 2, 3}, out(8, -1);
  Kernel k;
  const ValueId p = k.buffer(in, Element::f32), q = k.buffer(out, Element::f32);
  const ValueId mask = k.b.binary(OpKind::lt_, k.b.arange(0, 4), k.b.constant(tile(Element::i32, {4}), 3));
  const ValueId with_other[] = {k.addresses(p, {4}), mask, k.b.constant_float(tile(Element::f32, {4}), 9)};
  const ValueId a = k.f.result(k.b.create(OpKind::load_, with_other)), z = k.f.result(k.b.create(OpKind::load_, std::span(with_other, 2)));
  k.store(q, a);
  const ValueId masked[] = {k.addresses(k.b.add_ptr(q, k.i32(4)), {4}), z,
                            k.b.binary(OpKind::lt_, k.b.arange(0, 4), k.b.constant(tile(Element::i32, {4}), 2))};
  k.b.create(OpKind::store_, masked);
  std::vector<std::uint64_t> touched;
  InterpretOptions options;
  options.may_access = [&](std::uint64_t address, int size, bool, OpId) {
    CHECK(size == 4);
    touched.push_back(address);
    return true;
  };
  k.run(options);
  CHECK(out == std::vector<float>{1, 2, 3, 9, 1, 2, -1, -1});
  CHECK(touched.size() == 3 + 3 + 4 + 2);
}

TEST_CASE("interpreter: a refused access gives 0 and writes nothing") {
  std::vector<std::int16_t> in{7, 8}, out{5, 5};
  Kernel k;
  const ValueId p = k.buffer(in, Element::i16), q = k.buffer(out, Element::i16);
  k.store(q, k.load(p, {2}));
  InterpretOptions options;
  options.may_access = [&](std::uint64_t address, int, bool, OpId) {
    return address != reinterpret_cast<std::uint64_t>(&in[1]) && address != reinterpret_cast<std::uint64_t>(&out[0]);
  };
  k.run(options);
  CHECK(out == std::vector<std::int16_t>{5, 0});
}

TEST_CASE("interpreter: bool is a byte, any nonzero byte is true, stores write 0 and 1") {
  std::vector<std::uint8_t> in{0, 1, 2, 255}, out(4, 77);
  Kernel k;
  const ValueId p = k.buffer(in, Element::boolean), q = k.buffer(out, Element::boolean);
  k.store(q, k.b.unary(OpKind::bit_not_, k.load(p, {4})));
  k.run();
  CHECK(out == std::vector<std::uint8_t>{1, 0, 0, 0});
}

TEST_CASE("interpreter: shape ops move elements where they say") {
  std::vector<std::int32_t> in{0, 1, 2, 3, 4, 5, 6, 7}, permuted(8), stretched(8);
  Kernel k;
  const ValueId p = k.buffer(in, Element::i32), q = k.buffer(permuted, Element::i32), r = k.buffer(stretched, Element::i32);
  const std::vector<std::int64_t> axes{2, 0, 1}, wide{4, 2}, column{4, 1};
  k.store(q, k.b.permute(k.load(p, {2, 1, 4}), axes));  // [4, 2, 1]
  k.store(r, k.b.broadcast(k.b.reshape(k.load(p, {4}), column), wide));
  k.run();
  CHECK(permuted == std::vector<std::int32_t>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(stretched == std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3});
}

TEST_CASE("interpreter: flip, join, split and cat move elements along their axis") {
  using Words = std::vector<std::int32_t>;
  Words in{0, 1, 2, 3, 4, 5, 6, 7}, rows(8), columns(8), joined(4), first(4), second(4), below(8), beside(8);
  Kernel k;
  const ValueId p = k.buffer(in, Element::i32);
  const auto out = [&](Words& to, ValueId v) { k.store(k.buffer(to, Element::i32), v); };
  const auto make = [&](OpKind kind, std::vector<ValueId> x, std::vector<Attr> attrs = {}) {
    return k.b.create(kind, x, std::move(attrs));
  };
  const auto along = [](std::int64_t axis) { return std::vector{Attr{AttrName::axis, axis, {}}}; };
  const ValueId x = k.load(p, {2, 4}), y = k.load(p, {2}), pairs = k.load(p, {4, 2}), small = k.load(p, {2, 2});
  out(rows, k.f.result(make(OpKind::flip_, {x}, along(0))));
  out(columns, k.f.result(make(OpKind::flip_, {x}, along(1))));
  const ValueId turned = k.f.result(make(OpKind::flip_, {y}, along(0)));
  out(joined, k.f.result(make(OpKind::join_, {y, turned})));
  const OpId halves = make(OpKind::split_, {pairs});
  out(first, k.f.result(halves, 0));
  out(second, k.f.result(halves, 1));
  const ValueId other = k.f.result(make(OpKind::flip_, {small}, along(1)));
  out(below, k.f.result(make(OpKind::cat_, {small, other}, along(0))));
  out(beside, k.f.result(make(OpKind::cat_, {small, other}, along(1))));
  k.run();
  CHECK(rows == Words{4, 5, 6, 7, 0, 1, 2, 3});
  CHECK(columns == Words{3, 2, 1, 0, 7, 6, 5, 4});
  CHECK(joined == Words{0, 1, 1, 0});
  CHECK(first == Words{0, 2, 4, 6});
  CHECK(second == Words{1, 3, 5, 7});
  CHECK(below == Words{0, 1, 2, 3, 1, 0, 3, 2});
  CHECK(beside == Words{0, 1, 1, 0, 2, 3, 3, 2});
}

TEST_CASE("interpreter: a commutative reduce along the innermost axis combines lane partials, every other one goes in order") {
  std::vector<float> in(64);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::exp(6 * std::sin(static_cast<float>(i))) * (i % 3 == 0 ? -3.3f : 1.7f);
  for (std::size_t lanes : {4, 16}) REQUIRE(ordered_sum(in, lanes) != ordered_sum(in, lanes / 4));  // the order shows
  for (int lanes : {1, 4, 16, 128}) {
    std::vector<float> parts(1), in_order(1), outer(1), unit(1);
    Kernel k;
    const ValueId p = k.buffer(in, Element::f32);
    const auto add = [&](ValueId a, ValueId b) { return k.b.binary(OpKind::add_, a, b); };
    k.store(k.buffer(parts, Element::f32), k.reduce(k.load(p, {64}), 0, true, add));
    k.store(k.buffer(in_order, Element::f32), k.reduce(k.load(p, {64}), 0, false, add));
    // Along axis 0 of [8, 8], then the rows' sums: neither is split where an inner axis has more than one element.
    const ValueId columns = k.reduce(k.load(p, {8, 8}), 0, true, add);
    k.store(k.buffer(outer, Element::f32), k.reduce(columns, 0, false, add));
    // An inner axis of one element does not count.
    k.store(k.buffer(unit, Element::f32), k.reduce(k.load(p, {64, 1}), 0, true, add));
    InterpretOptions options;
    options.reduction.lanes = lanes;
    k.run(options);
    CHECK(parts[0] == ordered_sum(in, lanes));
    CHECK(unit[0] == ordered_sum(in, lanes));
    CHECK(in_order[0] == ordered_sum(in, 1));
    std::vector<float> sums(in.begin(), in.begin() + 8);
    for (std::size_t i = 8; i < in.size(); ++i) sums[i % 8] += in[i];
    CHECK(outer[0] == ordered_sum(sums, 1));
  }
}

TEST_CASE("interpreter: a reduce that is not commutative combines the neighbours of a block along the innermost axis") {
  std::vector<float> in(64);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::exp(6 * std::sin(static_cast<float>(i))) * (i % 3 == 0 ? -3.3f : 1.7f);
  const auto pairwise = [](std::span<const float> x, auto self) -> float {
    return x.size() == 1 ? x[0] : self(x.first(x.size() / 2), self) + self(x.last(x.size() / 2), self);
  };
  REQUIRE(pairwise(in, pairwise) != ordered_sum(in, 1));  // the order shows
  for (int block : {1, 4, 16, 64, 128}) {
    std::vector<float> inner(1), outer(1), short_row(1);
    Kernel k;
    const ValueId p = k.buffer(in, Element::f32);
    const auto add = [&](ValueId a, ValueId b) { return k.b.binary(OpKind::add_, a, b); };
    k.store(k.buffer(inner, Element::f32), k.reduce(k.load(p, {64}), 0, false, add));
    k.store(k.buffer(outer, Element::f32), k.reduce(k.reduce(k.load(p, {8, 8}), 0, false, add), 0, true, add));
    k.store(k.buffer(short_row, Element::f32), k.reduce(k.load(p, {8}), 0, false, add));
    InterpretOptions options;
    options.reduction.block = block;
    k.run(options);
    const std::size_t size = std::min<std::size_t>(static_cast<std::size_t>(block), in.size());
    float sum = pairwise(std::span(in).first(size), pairwise);
    for (std::size_t i = size; i < in.size(); i += size) sum += pairwise(std::span(in).subspan(i, size), pairwise);
    CHECK(inner[0] == sum);
    std::vector<float> sums(in.begin(), in.begin() + 8);
    for (std::size_t i = 8; i < in.size(); ++i) sums[i % 8] += in[i];
    CHECK(outer[0] == ordered_sum(sums, 1));
    const std::size_t part = std::min<std::size_t>(size, 8);
    sum = pairwise(std::span(in).first(part), pairwise);
    for (std::size_t i = part; i < 8; i += part) sum += pairwise(std::span(in).subspan(i, part), pairwise);
    CHECK(short_row[0] == sum);
  }
}

TEST_CASE("interpreter: a combine that is not commutative gets the earlier element first") {
  std::vector<std::int32_t> in{3, 1, 4, 1, 5, 9, 2, 6}, first(2), last(2);
  Kernel k;
  const ValueId p = k.buffer(in, Element::i32);
  k.store(k.buffer(first, Element::i32), k.reduce(k.load(p, {2, 4}), 1, false, [](ValueId a, ValueId) { return a; }));
  k.store(k.buffer(last, Element::i32), k.reduce(k.load(p, {2, 4}), 1, false, [](ValueId, ValueId b) { return b; }));
  k.run();
  CHECK(first == std::vector<std::int32_t>{3, 5});
  CHECK(last == std::vector<std::int32_t>{1, 6});
}

TEST_CASE("interpreter: a reduce of several tiles combines them together") {
  std::vector<std::int32_t> in{3, 9, 4, 9, 5, 9, 2, 6}, best(1), at(1);
  Kernel k;
  const ValueId x[] = {k.load(k.buffer(in, Element::i32), {8}), k.b.arange(0, 8)};
  const OpId id = k.b.create(OpKind::reduce_, x, {{AttrName::axis, 0, {}}});
  const BlockId region = k.f.region(id);
  const ValueId va = k.f.add_arg(region, kI32), ia = k.f.add_arg(region, kI32), vb = k.f.add_arg(region, kI32),
                ib = k.f.add_arg(region, kI32);
  k.b.at_end(region);
  const ValueId keep = k.b.binary(OpKind::ge_, va, vb);
  const ValueId y[] = {k.b.select(keep, va, vb), k.b.select(keep, ia, ib)};
  k.b.create(OpKind::yield_, y);
  k.b.at_end(k.f.body());
  k.store(k.buffer(best, Element::i32), k.f.result(id, 0));
  k.store(k.buffer(at, Element::i32), k.f.result(id, 1));
  k.run();
  CHECK(best[0] == 9);
  CHECK(at[0] == 1);
}

TEST_CASE("interpreter: dot fuses each step onto acc in ascending k") {
  std::vector<float> a(2 * 4), b(4 * 2), acc(4), out(4), want(4);
  for (std::size_t i = 0; i < 8; ++i) {
    a[i] = 1.0f + 0x1p-12f * static_cast<float>(i * 7 + 1);
    b[i] = -1.0f + 0x1p-11f * static_cast<float>(i * 5 + 2);
  }
  acc = {1e-3f, 2.5f, -1e4f, 0};
  Kernel k;
  const ValueId operands[] = {k.load(k.buffer(a, Element::f32), {2, 4}), k.load(k.buffer(b, Element::f32), {4, 2}),
                              k.load(k.buffer(acc, Element::f32), {2, 2})};
  k.store(k.buffer(out, Element::f32), k.f.result(k.b.create(OpKind::dot_, operands)));
  k.run();
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      float s = acc[i * 2 + j];
      for (int n = 0; n < 4; ++n) s = std::fma(a[i * 4 + n], b[n * 2 + j], s);
      want[i * 2 + j] = s;
    }
  CHECK(out == want);
}

TEST_CASE("interpreter: a batched dot of i8 keeps 32-bit sums apart by batch") {
  std::vector<std::int8_t> a{1, 2, 3, -4, 127, 127, -128, 5}, b{1, 0, 0, 1, -128, 2, 2, -128};  // both [2, 2, 2]
  std::vector<std::int32_t> out(8);
  Kernel k;
  const ValueId operands[] = {k.load(k.buffer(a, Element::i8), {2, 2, 2}), k.load(k.buffer(b, Element::i8), {2, 2, 2}),
                              k.b.constant(tile(Element::i32, {2, 2, 2}), 1)};
  k.store(k.buffer(out, Element::i32), k.f.result(k.b.create(OpKind::dot_, operands)));
  k.run();
  CHECK(out == std::vector<std::int32_t>{2, 3, 4, -3, 127 * -126 + 1, 127 * -126 + 1, 128 * 128 + 11, -256 - 640 + 1});
}

TEST_CASE("interpreter: loops run as Python's range, up to the ends of their type") {
  CHECK(trips(0, 10, 3) == std::pair(4, 9));
  CHECK(trips(10, 0, -3) == std::pair(4, 1));
  CHECK(trips(3, 3, 1).first == 0);
  CHECK(trips(3, 0, 1).first == 0);
  CHECK(trips(0, 3, -1).first == 0);
  CHECK(trips(0, 3, 0).first == 0);
  CHECK(trips(3, 0, 0).first == 0);
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max(), kLeast = std::numeric_limits<std::int32_t>::min();
  CHECK(trips(kMost - 5, kMost, 4) == std::pair(2, kMost - 1));
  CHECK(trips(kLeast + 5, kLeast, -4) == std::pair(2, kLeast + 1));
  CHECK(trips(kLeast, kMost, kMost) == std::pair(3, kMost - 1));
  constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
  CHECK(trips<std::int64_t>(kMost64 - 1, kMost64, kMost64) == std::pair(1, kMost64 - 1));
}

TEST_CASE("interpreter: carried values change all at once") {
  std::vector<std::int32_t> in{1, 2}, out(2);
  Kernel k;
  const ValueId p = k.buffer(in, Element::i32), q = k.buffer(out, Element::i32);
  const ValueId a = k.load(p, {}), b = k.load(k.b.add_ptr(p, k.i32(1)), {});
  const OpId id =
      k.loop(k.i32(0), k.scalar(kI32, 5), k.i32(1), {a, b}, [](ValueId, std::vector<ValueId> c) { return std::vector{c[1], c[0]}; });
  k.store(q, k.f.result(id, 0));
  k.store(k.b.add_ptr(q, k.i32(1)), k.f.result(id, 1));
  k.run();
  CHECK(out == std::vector<std::int32_t>{2, 1});
}

TEST_CASE("interpreter: if takes one side, and its stores only") {
  for (const bool condition : {false, true}) {
    std::vector<std::int32_t> out(3);
    Kernel k;
    const ValueId q = k.buffer(out, Element::i32), c = k.scalar(Type(Element::boolean), condition);
    const OpId id = k.b.create(OpKind::if_, std::span(&c, 1), {}, std::span(&kI32, 1));
    for (int side = 0; side < 2; ++side) {
      k.b.at_end(k.f.region(id, side));
      k.store(k.b.add_ptr(q, k.i32(side)), k.i32(5));
      const ValueId y = k.i32(side == 0 ? 10 : 20);
      k.b.create(OpKind::yield_, std::span(&y, 1));
    }
    k.b.at_end(k.f.body());
    k.store(k.b.add_ptr(q, k.i32(2)), k.f.result(id));
    k.run();
    CHECK(out == (condition ? std::vector<std::int32_t>{5, 0, 10} : std::vector<std::int32_t>{0, 5, 20}));
  }
}

namespace {
/// while (a < limit) a *= 2; stores a.
Kernel doubling(std::vector<std::int32_t>& out, std::int32_t from, std::int32_t limit) {
  Kernel k;
  const ValueId q = k.buffer(out, Element::i32), n = k.scalar(kI32, static_cast<std::uint32_t>(limit)), init = k.i32(from);
  const OpId id = k.b.create(OpKind::while_, std::span(&init, 1), {}, std::span(&kI32, 1));
  const ValueId a = k.f.add_arg(k.f.region(id, 0), kI32), b = k.f.add_arg(k.f.region(id, 1), kI32);
  k.b.at_end(k.f.region(id, 0));
  const ValueId condition[] = {k.b.binary(OpKind::lt_, a, n), a};
  k.b.create(OpKind::condition_, condition);
  k.b.at_end(k.f.region(id, 1));
  const ValueId twice = k.b.binary(OpKind::add_, b, b);
  k.b.create(OpKind::yield_, std::span(&twice, 1));
  k.b.at_end(k.f.body());
  k.store(q, k.f.result(id));
  return k;
}
}  // namespace

TEST_CASE("interpreter: while goes on until its condition is false") {
  std::vector<std::int32_t> out(1);
  doubling(out, 3, 40).run();
  CHECK(out[0] == 48);
  doubling(out, 3, 2).run();
  CHECK(out[0] == 3);
}

TEST_CASE("interpreter: an endless program ends in an Error") {
  std::vector<std::int32_t> out(1);
  InterpretOptions options;
  options.max_ops = 1000;
  CHECK_THROWS_AS(doubling(out, 0, 1).run(options), tilewright::Error);
}

TEST_CASE("interpreter: a store is seen by a later load of the same program") {
  std::vector<std::int32_t> buffer{1, 2, 3, 4}, out(4);
  Kernel k;
  const ValueId p = k.buffer(buffer, Element::i32), q = k.buffer(out, Element::i32);
  const ValueId before = k.load(p, {4});
  k.store(p, k.b.binary(OpKind::mul_, before, before));
  k.store(q, k.b.binary(OpKind::sub_, k.load(p, {4}), before));
  k.run();
  CHECK(out == std::vector<std::int32_t>{0, 2, 6, 12});
}
