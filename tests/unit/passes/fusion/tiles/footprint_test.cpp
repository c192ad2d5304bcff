// What kernels have with their tiles, and how tiles are halved.
#include "passes/fusion/tiles/footprint.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace tilewright::passes::fusion {
namespace {

// y[m, n] = sum over k of x[m, k] w[k, n], in tiles of 16 x 64 that contract 32 positions at once.
struct Fixture {
  ExprPool pool;
  ExprBuilder b{pool};
  Axis k = pool.axis("k", 1000), m = pool.axis("m", 100), n = pool.axis("n", 640);

  Tensor tensor(const char* name, Axis rows, Axis columns) {
    TensorInfo info;
    info.name = name;
    info.element = ir::Element::f32;
    info.shape = {rows->extent, columns->extent};
    info.strides = {columns->extent, 1};
    return pool.add_tensor(std::move(info));
  }
  Expr x = b.load(tensor("x", m, k), {b.index(m), b.index(k)}), w = b.load(tensor("w", k, n), {b.index(k), b.index(n)});
  LoopPlan plan{b, {{"y", b.reduce(graph::Combine::sum, {k}, b.product({x, w})), tensor("y", m, n), {b.index(m), b.index(n)}}}, k};
  TileSizes tiles = [&] {
    TileSizes sizes;
    sizes.grid = {{m, 16}, {n, 64}};
    sizes.loop = 32;
    return sizes;
  }();
};

TEST_CASE_FIXTURE(Fixture, "footprint: what a kernel reads, and its programs") {
  const std::vector<Expr> loads = loads_of(plan.outputs);
  CHECK(loads.size() == 2);
  CHECK(std::count(loads.begin(), loads.end(), x) == 1);
  const Footprint footprint(plan, tiles);
  CHECK(footprint.programs() == 7 * 10);
  CHECK(footprint.most_programs() == 7 * 10);
  CHECK(footprint.evaluations({m, k}) == 100 * 1000 * 10);
  CHECK(footprint.elements({m, k}) == 16 * 1000);
  CHECK(footprint.positions({m, k}) == 16 * 32);
}

TEST_CASE_FIXTURE(Fixture, "footprint: the loop and its state") {
  const Footprint footprint(plan, tiles);
  CHECK(footprint.tiles_of_loop() == 1000.0 / 32);
  CHECK(footprint.steps_of_loop() == 1000.0 / 32);
  CHECK(!footprint.has_one_tile());
  CHECK(footprint.loop_bytes() == 1000 * 4 * (16 + 64));
  CHECK(footprint.state_bytes() == 16 * 64 * 4);
  CHECK(footprint.accumulator_words() == 16 * 64);
  CHECK(footprint.largest_accumulator() == 16 * 64);
  CHECK(footprint.most_bytes_of_states() == 100 * 640 * 4);
}

TEST_CASE_FIXTURE(Fixture, "footprint: answers are for the tiles as they are") {
  const Footprint footprint(plan, tiles);
  tiles.grid[m] = 4;
  tiles.loop = 1024;
  CHECK(footprint.programs() == 25 * 10);
  CHECK(footprint.has_one_tile());
}

TEST_CASE_FIXTURE(Fixture, "footprint: rows that must not matter count as a typical number") {
  const Footprint footprint(plan, tiles, {m});
  CHECK(footprint.programs() == 64 * 10);
  CHECK(footprint.most_programs() == 64 * 10);
  CHECK(footprint.extent(AxisSet{m, n}) == 1024 * 640);
}

TEST_CASE_FIXTURE(Fixture, "tile sizes: the largest tile is halved first, and the loop's before one of the grid") {
  REQUIRE(halve_largest(tiles, {.least = 16, .has_loop = true}));
  CHECK(tiles.grid[n] == 32);
  REQUIRE(halve_largest(tiles, {.least = 16, .has_loop = true}));
  CHECK(tiles.loop == 16);
  CHECK(tiles.grid[n] == 32);
  const AxisSet rows{m};
  CHECK(!halve_largest(tiles, {.least = 16, .has_loop = true, .within = &rows}));
  CHECK(halve_largest(tiles, {.within = &rows}));
  CHECK(tiles.grid[m] == 8);
}

TEST_CASE_FIXTURE(Fixture, "tile sizes: tiles are halved until they fit, or until none may be halved") {
  const Footprint footprint(plan, tiles);
  CHECK(halve_until(tiles, {.least = 4}, [&] { return footprint.programs() >= 300; }));
  CHECK(footprint.programs() == 13 * 40);
  CHECK(!halve_until(tiles, {.least = 4}, [&] { return footprint.programs() >= 1e6; }));
  CHECK(tiles.grid[m] == 4);
  CHECK(tiles.grid[n] == 4);
  int steps = 0;
  while (halve_all(tiles)) ++steps;
  CHECK(steps == 5);
  CHECK(tiles.loop == 1);
}

}  // namespace
}  // namespace tilewright::passes::fusion
