// Printed layouts, and the printed movement between two layouts.
#include "tileir/layout/layout_print.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tests/unit/tileir/random_layouts.h"
#include "tileir/layout/element_coordinates.h"
#include "tileir/layout/movement.h"

namespace tilewright::ir {
namespace {

using test::RandomLayouts;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

LinearLayout parse(std::string_view text, std::vector<int> log2_extents) {
  std::string error;
  const auto l = parse_layout(text, std::move(log2_extents), error);
  REQUIRE(error == "");
  return *l;
}
LinearLayout small() { return parse("{register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [[2, 0]]}", {2, 2}); }

TEST_CASE("layout picture: a grid of places, neighbours in one cell") {
  CHECK(draw(small()) ==
        "       0           2\n"
        "    0  w0 l0 r0-1  w0 l1 r0-1\n"
        "    1  w0 l2 r0-1  w0 l3 r0-1\n"
        "    2  w1 l0 r0-1  w1 l1 r0-1\n"
        "    3  w1 l2 r0-1  w1 l3 r0-1\n");
  CHECK(draw(parse("{offset = [[1, 0], [0, 1]]}", {1, 1})) ==
        "       0  1\n"
        "    0  0  2\n"
        "    1  1  3\n");
}

TEST_CASE("layout picture: leading axes one grid after the other; a row without a number; a scalar; what nobody holds") {
  CHECK(draw(parse("{lane = [[0, 0, 1], [0, 1, 0]], warp = [[1, 0, 0]]}", {1, 1, 1})) ==
        "[0, :, :]\n"
        "       0      1\n"
        "    0  w0 l0  w0 l1\n"
        "    1  w0 l2  w0 l3\n"
        "[1, :, :]\n"
        "       0      1\n"
        "    0  w1 l0  w1 l1\n"
        "    1  w1 l2  w1 l3\n");
  CHECK(draw(parse("{lane = [[1]]}", {1})) == "       0   1\n       l0  l1\n");
  CHECK(draw(parse("{lane = [[], []]}", {})) == "       0\n       l0\n");
  CHECK(draw(parse("{lane = [[1]]}", {2})) == "       0   1   2   3\n       l0  l1  -   -\n");
}

TEST_CASE("layout picture: warps have colours only when asked") {
  CHECK_FALSE(contains(draw(small()), "\033"));
  const std::string coloured = draw(small(), true);
  CHECK(count(coloured, "\033[48;5;153;30m") == 4);  // the colour of warp 0
  CHECK(count(coloured, "\033[0m") == 8);
}

TEST_CASE("layout picture: every element is where the picture says") {
  RandomLayouts random(11);
  for (int i = 0; i < 100; ++i) {
    const LinearLayout l = random.any(random.extents(0, 9), random.number(0, 2));
    CAPTURE(text(l));
    const ElementCoordinates places(l);
    const std::uint32_t run = 1u << places.log2_run();
    for (std::uint32_t e = 0; e < 1u << l.log2_elements(); ++e) {
      const auto first = places(e / run * run);
      REQUIRE(first);
      const HardwareCoordinate& p = *first;
      CHECK(l(p[0] + e % run, p[1], p[2]) == e);
      CHECK((p[1] & l.free_bits(HardwareDim::lane)) == 0);
    }
  }
}

TEST_CASE("layout in words: sizes, neighbours, copies") {
  CHECK(describe(small(), Element::f16) ==
        "f16[4, 4]: 2 warps of 4 lanes, 2 elements a thread\n" + text(small()) + "\n2 elements in a row a thread (4 bytes)\n");
  const std::string slice = describe(small().without_axis(1), Element::f32);
  CHECK(contains(slice, "each element is held 4 times; copies by register bit 0; lane bit 0\n"));
  CHECK(contains(describe(parse("{lane = [[1]]}", {2}), Element::i8), "only one element in 2 is held\n"));
  CHECK(contains(describe(parse("{offset = [[1], [2]]}", {2}), Element::f64), "f64[4] in 32 bytes of shared memory\n"));
}

TEST_CASE("layout svg: a cell for each run, well-formed") {
  const Picture pictures[] = {{"a < b & \"c\"", small()}, {"memory", parse("{offset = [[0, 1], [1, 0], [0, 2], [2, 0]]}", {2, 2})}};
  const std::string svg = draw_svg(pictures, Element::f32);
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(contains(svg, ">a &lt; b &amp; &quot;c&quot;</text>"));
  CHECK(count(svg, "<rect ") == 1 + 8 + 8);
  CHECK(count(svg, "<text ") == count(svg, "</text>"));
  CHECK(count(svg, ">w1 l2 r0-1</text>") == 1);
  CHECK(count(svg, "hsl(210,") == 4);
  CHECK(count(svg, ">14-15</text>") == 1);
}

TEST_CASE("movement: how far elements go") {
  const LinearLayout l = parse("{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0]], warp = [[0, 4]]}", {2, 3});
  const auto to = [&](std::string_view text) { return movement(l, parse(text, {2, 3})); };
  CHECK(movement(l, l) == Movement::none);
  CHECK(to("{register = [[0, 2], [0, 1]], lane = [[1, 0], [2, 0]], warp = [[0, 4]]}") == Movement::registers);
  CHECK(to("{register = [[0, 1], [1, 0]], lane = [[0, 2], [2, 0]], warp = [[0, 4]]}") == Movement::intra_warp);
  CHECK(to("{register = [[0, 1], [0, 4]], lane = [[1, 0], [2, 0]], warp = [[0, 2]]}") == Movement::intra_block);
  CHECK(movement(replicated_layout({2, 3}, 1, 2), l) == Movement::intra_thread);
  CHECK(movement(replicated_layout({2, 3}, 1, 2), replicated_layout({2, 3}, 1, 2)) == Movement::none);
  // A lane that holds copies keeps its own.
  const LinearLayout copies = l.without_axis(1);
  CHECK(movement(copies, copies.without_free_registers()) == Movement::registers);
  CHECK(movement(copies.without_free_registers(), copies) == Movement::registers);
}

TEST_CASE("conversion in words: shared memory where elements leave their warp, with what a row-major order would cost") {
  const LinearLayout rows = blocked_layout({6, 6}, 2, std::array{1, 0}, 2), columns = blocked_layout({6, 6}, 2, std::array{0, 1}, 2);
  const Conversion c = plan_conversion(rows, columns, Element::f32);
  REQUIRE(c.shared);
  CHECK(c.shared->is_injective());
  CHECK(c.text ==
        "elements change warps\n"
        "through shared memory:\n"
        "  stores: 32 of 4 bytes a thread, 1 wavefront each (at least 1)\n"
        "  loads:  8 of 16 bytes a thread, 4 wavefronts each (at least 4)\n"
        "in row-major order it would be:\n"
        "  stores: 8 of 16 bytes a thread, 4 wavefronts each (at least 4)\n"
        "  loads:  32 of 4 bytes a thread, 16 wavefronts each (at least 1)\n");
  const Conversion same = plan_conversion(rows, rows, Element::f32);
  CHECK(same.text == "no element moves\n");
  CHECK_FALSE(same.shared);
}

}  // namespace
}  // namespace tilewright::ir
