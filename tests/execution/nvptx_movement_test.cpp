// Elements that change threads on a GPU: conversions and flips between random layouts, run on the emulator.
#include <doctest/doctest.h>

#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tests/unit/tileir/random_layouts.h"
#include "tileir/layout/layout_builders.h"

namespace tilewright::test {

using namespace ir;
using ir::test::RandomLayouts;

namespace {

Emitted check_conversion(Element e, const LinearLayout& from, const LinearLayout& to, int num_warps) {
  ProgramBuilder p("convert");
  const ValueId x = p.input(tile(e, from.log2_extents()));
  const ValueId y = p.ir().function().result(p.ir().create(OpKind::convert_layout_, std::span(&x, 1)));
  p.output(y);
  fuzz::Program program = p.take();
  distribute(program.function, {{x, from}, {y, to}});
  return check_on_emulator(program, num_warps);
}

}  // namespace

TEST_CASE("nvptx convert_layout: random layouts of every size of element") {
  constexpr Element kElements[] = {Element::f32, Element::i8, Element::boolean, Element::bf16, Element::i64, Element::f64, Element::u16};
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 60; ++i) {
    const int log2_warps = random.number(0, 3);
    const std::vector<int> extents = random.extents(0, 11);
    const LinearLayout from = random.any(extents, log2_warps), to = random.any(extents, log2_warps);
    check_conversion(kElements[random.number(0, 6)], from, to, 1 << log2_warps);
  }
}

TEST_CASE("nvptx flip: random layouts along every axis") {
  RandomLayouts random(std::random_device{}());
  for (int i = 0; i < 30; ++i) {
    const int log2_warps = random.number(0, 3);
    const std::vector<int> extents = random.extents(0, 10);
    const LinearLayout layout = random.any(extents, log2_warps);
    ProgramBuilder p("flip");
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

}  // namespace tilewright::test
