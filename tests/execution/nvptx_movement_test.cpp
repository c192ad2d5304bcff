// Elements that move between threads of a GPU: conversions and flips between random layouts, run on the emulator.
#include <doctest/doctest.h>

#include <array>

#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/unit/tileir/random_layouts.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/op_kind.h"

namespace tilewright::test {

using namespace ir;
using ir::test::RandomLayouts;

namespace {

Emitted check_conversion(Element e, const LinearLayout& from, const LinearLayout& to, int num_warps) {
  SequenceBuilder p("convert");
  const ValueId x = p.input(tile(e, from.log2_extents()));
  const ValueId y = p.ir().function().result(p.ir().create(OpKind::convert_layout_, std::span(&x, 1)));
  p.output(y);
  fuzz::Program program = p.take();
  distribute(program.function, {{x, from}, {y, to}});
  return check_on_emulator(program, num_warps);
}

}  // namespace

TEST_CASE("nvptx convert_layout: of 1,000 random pairs of layouts, with elements of every size, each element arrives") {
  constexpr Element kElements[] = {Element::f32, Element::i8, Element::boolean, Element::bf16, Element::i64, Element::f64, Element::u16};
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 100; ++i) {
    const int log2_warps = random.number(0, 3);
    SequenceBuilder p("convert");
    std::map<ValueId, LinearLayout> layouts;
    for (int k = 0; k < 10; ++k) {
      const std::vector<int> extents = random.extents(0, 10);
      const ValueId x = p.input(tile(kElements[random.number(0, 6)], extents));
      const ValueId y = p.ir().function().result(p.ir().create(OpKind::convert_layout_, std::span(&x, 1)));
      layouts.emplace(x, random.any(extents, log2_warps));
      layouts.emplace(y, random.any(extents, log2_warps));
      p.output(y);
    }
    fuzz::Program program = p.take();
    distribute(program.function, layouts);
    check_on_emulator(program, 1 << log2_warps);
  }
}

TEST_CASE("nvptx flip: random layouts along every axis") {
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 30; ++i) {
    const int log2_warps = random.number(0, 3);
    const std::vector<int> extents = random.extents(0, 10);
    const LinearLayout layout = random.any(extents, log2_warps);
    SequenceBuilder p("flip");
    std::map<ValueId, LinearLayout> layouts;
    for (int axis = 0; axis < static_cast<int>(extents.size()); ++axis) {
      const ValueId x = p.input(tile(axis % 2 ? Element::i16 : Element::f32, extents));
      layouts.emplace(x, layout);
      p.output(p.ir().function().result(p.ir().create(OpKind::flip_, std::span(&x, 1), {{AttrName::axis, axis, {}, {}}})));
    }
    fuzz::Program program = p.take();
    distribute(program.function, layouts);
    check_on_emulator(program, 1 << log2_warps);
  }
}

TEST_CASE("nvptx convert_layout: registers are renamed, exchanged between lanes, or go through shared memory") {
  const auto layout = [](std::vector<std::uint32_t> registers, std::vector<std::uint32_t> lanes) {
    LinearLayout l({7});
    l.set_bases(HardwareDim::reg, std::move(registers));
    l.set_bases(HardwareDim::lane, std::move(lanes));
    return l;
  };
  const LinearLayout a = layout({1, 2}, {4, 8, 16, 32, 64}), other_registers = layout({2, 1}, {4, 8, 16, 32, 64}),
                     other_lanes = layout({1, 2}, {8, 4, 16, 32, 64}), transposed = layout({4, 2}, {1, 8, 16, 32, 64}),
                     far_away = layout({32, 64}, {1, 2, 4, 8, 16});
  const auto shuffles = [&](Element e, const LinearLayout& to) {
    const auto [ptx, inner_barriers] = check_conversion(e, a, to, 1);
    CHECK(count(ptx, "shared.") == 0);
    return count(ptx, "shfl.sync");
  };
  CHECK(shuffles(Element::f32, a) == 0);
  CHECK(shuffles(Element::f32, other_registers) == 0);
  CHECK(shuffles(Element::f32, other_lanes) == 4);
  CHECK(shuffles(Element::f32, transposed) == 2);  // half of the elements stay
  CHECK(shuffles(Element::i64, transposed) == 4);
  CHECK(shuffles(Element::i16, other_lanes) == 2);  // two in a word
  CHECK(shuffles(Element::i8, other_lanes) == 1);
  CHECK(shuffles(Element::boolean, other_lanes) == 1);
  CHECK(shuffles(Element::f32, far_away) == 4);
}

TEST_CASE("nvptx convert_layout: a transposition goes through shared memory in vectors") {
  const LinearLayout rows = blocked_layout({6, 6}, 2, std::array{1, 0}, 2), columns = blocked_layout({6, 6}, 2, std::array{0, 1}, 2);
  const auto [ptx, inner_barriers] = check_conversion(Element::f32, rows, columns, 4);
  CHECK(inner_barriers == 1);
  CHECK(count(ptx, "shfl") == 0);
  CHECK(count(ptx, "st.shared") + count(ptx, "ld.shared") <= 40);  // 32 elements a thread each way, one way in fours
}

TEST_CASE("nvptx convert_layout: tiles that do not fit into shared memory go piece by piece") {
  RandomLayouts random(std::random_device{}());
  for (const std::vector<int>& extents : {std::vector{14}, {7, 7}}) {
    check_conversion(Element::i64, random.any(extents, 2), random.any(extents, 2), 4);
    check_conversion(Element::i64, random.blocked(extents, 2), random.blocked(extents, 2), 4);
  }
}

}  // namespace tilewright::test
