// Sorts, gathers and histograms on a GPU, run on the emulator.
#include <doctest/doctest.h>

#include <array>

#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/unit/tileir/random_layouts.h"
#include "tileir/layout/axis_order.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;
using ir::test::RandomLayouts;

namespace {

/// Rows in order without high registers.
LinearLayout random_rows(RandomLayouts& random, const std::vector<int>& extents, int log2_warps) {
  const int axis = static_cast<int>(extents.size()) - 1;
  for (int i = 0; i < 20; ++i) {
    const LinearLayout l = random.any(extents, log2_warps);
    if (const auto places = axis_order(l, axis); places && places->high_registers.empty()) return l;
  }
  return layout_along(extents, axis, log2_warps);
}

struct Sorts {
  explicit Sorts(const LinearLayout& l) : layout(l), p("sort") {}

  ValueId input(Element e) {
    const ValueId x = p.input(tile(e, layout.log2_extents()));
    layouts.emplace(x, layout);
    return x;
  }
  void sort(const std::vector<ValueId>& x, bool descending, int log2_count = -1) {
    std::vector<Attr> attrs;
    if (descending) attrs.push_back({AttrName::descending, 1, {}, {}});
    if (log2_count >= 0) attrs.push_back({AttrName::count, std::int64_t{1} << log2_count, {}, {}});
    for (ValueId y : p.ir().function().op(p.ir().create(OpKind::sort_, x, attrs)).results) p.output(y);
  }
  Emitted check(int num_warps) {
    fuzz::Program program = p.take();
    distribute(program.function, layouts);
    return check_on_emulator(program, num_warps);
  }

  LinearLayout layout;
  SequenceBuilder p;
  std::map<ValueId, LinearLayout> layouts;
};

}  // namespace

TEST_CASE("nvptx sort: keys of every type, alone and with others, in random layouts") {
  constexpr Element kKeys[] = {Element::f32, Element::i32, Element::u8,  Element::bf16, Element::i64,
                               Element::f64, Element::f16, Element::u16, Element::i8,   Element::u64};
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 40; ++i) {
    const int log2_warps = random.number(0, 3);
    const std::vector<int> extents = random.extents(0, 9);
    Sorts s(random_rows(random, extents, log2_warps));
    const Element e = kKeys[random.number(0, 9)];
    s.sort({s.input(e)}, random.chance(50));
    s.sort({s.input(e), s.input(Element::i16), s.input(Element::boolean)}, random.chance(50), random.number(0, extents.back()));
    s.check(1 << log2_warps);
  }
}

TEST_CASE("nvptx sort: long rows, in loops over the steps, with records in registers") {
  const auto check_loops = [](Sorts& s) {
    const std::string ptx = s.check(4).ptx;
    CHECK(count(ptx, ".pragma \"nounroll\"") > 0);
    CHECK(count(ptx, ".local") == 0);
  };
  for (const auto& [extents, log2_count] : {std::pair(std::vector{12}, 12), {{12}, 8}, {{2, 10}, 10}, {{3, 9}, 9}}) {
    Sorts s(layout_along(extents, static_cast<int>(extents.size()) - 1, 2));
    s.sort({s.input(Element::f32), s.input(Element::i32)}, true, log2_count);
    s.sort({s.input(Element::i64), s.input(Element::f16)}, false, log2_count);
    check_loops(s);
  }
  for (const int log2_count : {13, 5}) {  // all of it, and fewer than a thread has
    Sorts s(layout_along({13}, 0, 2));
    s.sort({s.input(Element::f32)}, false, log2_count);
    check_loops(s);
  }
}

TEST_CASE("nvptx sort: rows of which a thread would hold more than its registers, in loops over local memory") {
  for (const auto& [extents, log2_count] : {std::pair(std::vector{13}, 13), {{13}, 9}}) {
    Sorts s(layout_along(extents, 0, 1));
    s.sort({s.input(Element::f32), s.input(Element::i32)}, true, log2_count);
    s.sort({s.input(Element::i64), s.input(Element::f16)}, false, log2_count);
    CHECK(count(s.check(2).ptx, ".local") > 0);
  }
}

TEST_CASE("nvptx sort: the whole of what one thread has needs neither shuffles nor shared memory") {
  Sorts s(layout_along({7, 2}, 1, 2));
  s.sort({s.input(Element::i32)}, false);
  const auto [ptx, inner_barriers] = s.check(4);
  CHECK(count(ptx, "shfl") + count(ptx, "shared") + count(ptx, ".local") + inner_barriers == 0);
}

TEST_CASE("nvptx sort: the first few of a row take fewer comparisons than all of it") {
  int shuffles[2];
  for (const int few : {0, 1}) {
    Sorts s(layout_along({8}, 0, 0));
    s.sort({s.input(Element::i32)}, true, few ? 2 : 8);
    shuffles[few] = count(s.check(1).ptx, "shfl.sync");
  }
  CHECK(shuffles[1] * 4 < shuffles[0]);
}

TEST_CASE("nvptx sort: indices come out of the records") {
  SequenceBuilder p("argsort");
  const ValueId operands[] = {p.input(Type(Element::f32, std::array<std::int64_t, 1>{256})), p.ir().arange(0, 256)};
  const OpId id = p.ir().create(OpKind::sort_, operands);
  p.output(p.ir().function().result(id, 1));
  const fuzz::Program program = p.take();
  // The keys go through shared memory, but are not used; the barriers stay. The indices are brought in order for the store.
  CHECK(count(check_on_emulator(program, 4).ptx, "st.shared.v4.b32") <= 2);
}

TEST_CASE("nvptx gather and histogram: through assign_layouts") {
  SequenceBuilder p("index");
  Builder& b = p.ir();
  const auto shape = [](std::initializer_list<std::int64_t> s) { return std::vector<std::int64_t>(s); };
  const ValueId along[] = {p.input(Type(Element::f32, shape({32, 16}))), p.small_input(Type(Element::i32, shape({32, 64})))};
  p.output(b.function().result(b.create(OpKind::gather_, along, {{AttrName::axis, 1, {}, {}}})));
  const ValueId across[] = {p.input(Type(Element::i8, shape({32, 16}))), p.input(Type(Element::i64, shape({8, 16})))};
  p.output(b.function().result(b.create(OpKind::gather_, across, {{AttrName::axis, 0, {}, {}}})));
  const ValueId counted[] = {p.input(Type(Element::u8, shape({512}))), p.input(Type(Element::boolean, shape({512})))};
  p.output(b.function().result(b.create(OpKind::histogram_, counted, {{AttrName::bins, 64, {}, {}}})));
  const ValueId narrow[] = {p.input(Type(Element::i8, shape({4, 8})))};
  p.output(b.function().result(b.create(OpKind::histogram_, narrow, {{AttrName::bins, 256, {}, {}}})));
  check_on_emulator(p.take(), 4);
}

TEST_CASE("nvptx gather and histogram: tiles that do not fit into shared memory") {
  SequenceBuilder p("large");
  Builder& b = p.ir();
  const std::vector<std::int64_t> large{16384}, small{256};
  const ValueId picked[] = {p.input(Type(Element::f64, large)), p.input(Type(Element::i32, small))};
  p.output(b.function().result(b.create(OpKind::gather_, picked, {{AttrName::axis, 0, {}, {}}})));
  const ValueId counted[] = {p.input(Type(Element::u16, small))};
  p.output(b.function().result(b.create(OpKind::histogram_, counted, {{AttrName::bins, 32768, {}, {}}})));
  check_on_emulator(p.take(), 8);
}

}  // namespace tilewright::test
