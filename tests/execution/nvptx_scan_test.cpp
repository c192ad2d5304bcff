// Scans on a GPU: each layout of an axis that keeps its order, run on the emulator and compared bit for bit.
#include <doctest/doctest.h>

#include <numeric>

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

LinearLayout random_in_order(RandomLayouts& random, const std::vector<int>& extents, int axis, int log2_warps) {
  for (int i = 0; i < 20; ++i)
    if (LinearLayout l = random.any(extents, log2_warps); axis_order(l, axis)) return l;
  if (random.chance(30)) return layout_along(extents, axis, log2_warps);
  std::vector<int> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[static_cast<std::size_t>(axis)]);
  return blocked_layout(extents, random.number(0, 3), order, log2_warps);
}

struct Scans {
  explicit Scans(const LinearLayout& l) : layout(l), p("scan") {}

  ValueId input(Element e) {
    const ValueId x = p.input(tile(e, layout.log2_extents()));
    layouts.emplace(x, layout);
    return x;
  }
  void scan(const std::vector<ValueId>& x, int axis, bool reverse,
            const std::function<std::vector<ValueId>(Builder&, const std::vector<ValueId>&)>& body) {
    std::vector<Attr> attrs{{AttrName::axis, axis, {}, {}}};
    if (reverse) attrs.push_back({AttrName::reverse, 1, {}, {}});
    for (ValueId y : combine(p.ir(), OpKind::scan_, x, attrs, body)) p.output(y);
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

std::vector<ValueId> add(Builder& in, const std::vector<ValueId>& a) { return {in.binary(OpKind::add_, a[0], a[1])}; }
/// x -> a x + b, first the earlier one, then the later one: changes with the order.
std::vector<ValueId> compose(Builder& in, const std::vector<ValueId>& a) {
  return {in.binary(OpKind::mul_, a[0], a[2]), in.binary(OpKind::add_, in.binary(OpKind::mul_, a[1], a[2]), a[3])};
}

}  // namespace

TEST_CASE("nvptx scan: sums and combinations that keep an order, both ways, in random layouts") {
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 40; ++i) {
    const int log2_warps = random.number(0, 3);
    const std::vector<int> extents = random.extents(1, 11);
    const int axis = random.number(0, static_cast<int>(extents.size()) - 1);
    Scans s(random_in_order(random, extents, axis, log2_warps));
    const bool reverse = random.chance(50);
    s.scan({s.input(Element::f32)}, axis, reverse, add);
    s.scan({s.input(Element::i16)}, axis, !reverse, add);
    s.scan({s.input(Element::i32), s.input(Element::i32)}, axis, reverse, compose);
    s.scan({s.input(Element::boolean), s.input(Element::i64)}, axis, !reverse, [](Builder& in, const std::vector<ValueId>& a) {
      return std::vector{in.binary(OpKind::bit_or_, a[0], a[2]), in.select(a[2], a[3], in.binary(OpKind::add_, a[1], a[3]))};
    });
    s.check(1 << log2_warps);
  }
}

TEST_CASE("nvptx scan: a row over four warps takes a shuffle a lane bit, one more, and one barrier") {
  Scans s(layout_along({10}, 0, 2));
  s.scan({s.input(Element::f32)}, 0, false, add);
  const auto [ptx, inner_barriers] = s.check(4);
  CHECK(count(ptx, "shfl.sync") == 6);
  CHECK(count(ptx, "st.shared.b32") == 1);
  CHECK(count(ptx, "ld.shared.v4.b32") == 1);
  CHECK(inner_barriers == 1);
}

TEST_CASE("nvptx scan: along registers nothing leaves the thread") {
  Scans s(layout_along({3, 7}, 0, 2));
  s.scan({s.input(Element::i32)}, 0, false, add);
  const auto [ptx, inner_barriers] = s.check(4);
  CHECK(count(ptx, "shfl") + count(ptx, "shared") + inner_barriers == 0);
}

TEST_CASE("axis_order: layouts along an axis lie in order, each element in one register") {
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 200; ++i) {
    const std::vector<int> extents = random.extents(0, 14);
    for (int axis = 0; axis < static_cast<int>(extents.size()); ++axis) {
      const LinearLayout l = layout_along(extents, axis, random.number(0, 4));
      const auto places = axis_order(l, axis);
      REQUIRE(places.has_value());
      CHECK(places->high_registers.empty());
      CHECK(l.is_surjective());
      CHECK(l.free_bits(HardwareDim::reg) == 0);
      CHECK(l.bits(HardwareDim::lane) == 5);
    }
  }
}

}  // namespace tilewright::test
