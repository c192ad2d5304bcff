// Reductions on a GPU: random layouts along every axis, run on the emulator and compared bit for bit.
#include <doctest/doctest.h>

#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/unit/tileir/random_layouts.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;
using ir::test::RandomLayouts;

namespace {

using Body = std::function<std::vector<ValueId>(Builder&, const std::vector<ValueId>&)>;

Body by(OpKind k) {
  return [k](Builder& in, const std::vector<ValueId>& a) { return std::vector{in.binary(k, a[0], a[1])}; };
}

std::vector<Attr> attributes(int axis, bool commutative) {
  std::vector<Attr> attrs{{AttrName::axis, axis, {}, {}}};
  if (commutative) attrs.push_back({AttrName::commutative, 1, {}, {}});
  return attrs;
}

/// Programs that reduce tiles of one layout.
struct Reductions {
  explicit Reductions(const LinearLayout& l) : layout(l), p("reduce") {}

  ValueId input(Element e, bool small = false) {
    const Type t = tile(e, layout.log2_extents());
    const ValueId x = small ? p.small_input(t) : p.input(t);
    layouts.emplace(x, layout);
    return x;
  }
  void reduce(const std::vector<ValueId>& x, int axis, bool commutative, const Body& body) {
    for (ValueId y : combine(p.ir(), OpKind::reduce_, x, attributes(axis, commutative), body)) p.output(y);
  }
  Emitted check(int num_warps, const std::string& target = "sm_80") {
    fuzz::Program program = p.take();
    distribute(program.function, layouts);
    return check_on_emulator(program, num_warps, target);
  }

  LinearLayout layout;
  SequenceBuilder p;
  std::map<ValueId, LinearLayout> layouts;
};

/// x -> a x + b, first the earlier one, then the later one: changes with the order.
std::vector<ValueId> compose(Builder& in, const std::vector<ValueId>& a) {
  return {in.binary(OpKind::mul_, a[0], a[2]), in.binary(OpKind::add_, in.binary(OpKind::mul_, a[1], a[2]), a[3])};
}
/// The later one where it is set.
std::vector<ValueId> last_set(Builder& in, const std::vector<ValueId>& a) {
  return {in.binary(OpKind::bit_or_, a[0], a[2]), in.select(a[2], a[3], a[1])};
}

}  // namespace

TEST_CASE("nvptx reduce: sums, extremes, bits and combinations that keep an order, in random layouts") {
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 25; ++i) {
    const int log2_warps = random.number(0, 3);
    const std::vector<int> extents = random.extents(1, 10);
    const int axis = random.number(0, static_cast<int>(extents.size()) - 1);
    Reductions r(random.any(extents, log2_warps));
    r.reduce({r.input(Element::f32)}, axis, true, by(OpKind::add_));
    r.reduce({r.input(Element::f32)}, axis, false, by(OpKind::add_));
    r.reduce({r.input(Element::i32)}, axis, true, by(OpKind::maximum_));
    r.reduce({r.input(Element::i8)}, axis, true, by(OpKind::minimum_));
    r.reduce({r.input(Element::boolean)}, axis, true, by(OpKind::bit_or_));
    r.reduce({r.input(Element::i64)}, axis, true, by(OpKind::add_));
    r.reduce({r.input(Element::i32), r.input(Element::i32)}, axis, false, compose);
    r.reduce({r.input(Element::boolean), r.input(Element::f64)}, axis, false, last_set);
    r.check(1 << log2_warps, random.chance(50) ? "sm_80" : "sm_75");
  }
}

TEST_CASE("nvptx reduce: a row over four warps takes five shuffles, one store, one barrier and one load") {
  Reductions r(blocked_layout({10}, 2, std::array{0}, 2));
  r.reduce({r.input(Element::f32)}, 0, true, by(OpKind::add_));
  const auto [ptx, inner_barriers] = r.check(4);
  CHECK(count(ptx, "shfl.sync.bfly.b32") == 5);
  CHECK(count(ptx, "st.shared.b32") == 1);
  CHECK(count(ptx, "ld.shared.v4.b32") == 1);
  CHECK(count(ptx, "ld.shared") == 1);
  CHECK(inner_barriers == 1);
  CHECK(count(ptx, "add.rn.f32") + count(ptx, "add.f32") == 7 + 5 + 3);
}

TEST_CASE("nvptx reduce: within a warp nothing goes through shared memory") {
  Reductions r(blocked_layout({6, 5}, 2, std::array{1, 0}, 2));
  r.reduce({r.input(Element::f32)}, 1, true, by(OpKind::maximum_));
  const auto [ptx, inner_barriers] = r.check(4);
  CHECK(count(ptx, "shared") == 0);
  CHECK(inner_barriers == 0);
}

TEST_CASE("nvptx reduce: integers of a warp take one instruction from sm_80 on") {
  for (const bool has_redux : {true, false}) {
    Reductions r(blocked_layout({5}, 0, std::array{0}, 0));
    r.reduce({r.input(Element::i32)}, 0, true, by(OpKind::add_));
    r.reduce({r.input(Element::u8)}, 0, true, by(OpKind::maximum_));
    r.reduce({r.input(Element::boolean)}, 0, true, by(OpKind::bit_and_));
    const std::string ptx = r.check(1, has_redux ? "sm_80" : "sm_75").ptx;
    CHECK(count(ptx, "redux.sync") == (has_redux ? 3 : 0));
    CHECK(count(ptx, "shfl.sync") == (has_redux ? 0 : 15));
  }
}

TEST_CASE("nvptx reduce: several tiles meet at one barrier") {
  Reductions r(blocked_layout({10}, 2, std::array{0}, 2));
  r.reduce({r.input(Element::f32), r.input(Element::i32)}, 0, false, [](Builder& in, const std::vector<ValueId>& a) {
    const ValueId later_wins = in.binary(OpKind::gt_, a[2], a[0]);
    return std::vector{in.select(later_wins, a[2], a[0]), in.select(later_wins, a[3], a[1])};
  });
  CHECK(r.check(4).inner_barriers == 1);
}

}  // namespace tilewright::test
