// Linear layouts: each operation, checked element by element against its definition.
#include "tileir/layout/linear_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "tests/unit/tileir/random_layouts.h"

namespace tilewright::ir {
namespace {

using test::RandomLayouts;
using Coordinates = std::vector<std::uint32_t>;

/// Calls `law` with random layouts of one seed that stays and one that is new.
template <class Law>
void for_random(int times, Law law) {
  for (const std::uint32_t seed : {5u, static_cast<std::uint32_t>(std::random_device()())}) {
    CAPTURE(seed);
    RandomLayouts random(seed);
    for (int i = 0; i < times; ++i) {
      const LinearLayout l = random.any(random.extents(0, 10), random.number(0, 2));
      CAPTURE(text(l));
      law(l, random);
    }
  }
}

/// Calls `see(place, coordinates)` for every register of every thread.
template <class See>
void for_places(const LinearLayout& l, See see) {
  for (std::uint32_t warp = 0; warp < l.size(HardwareDim::warp); ++warp)
    for (std::uint32_t lane = 0; lane < l.size(HardwareDim::lane); ++lane)
      for (std::uint32_t reg = 0; reg < l.size(HardwareDim::reg); ++reg)
        see(std::array{reg, lane, warp}, l.coordinates(l(reg, lane, warp)));
}
bool same_sizes(const LinearLayout& a, const LinearLayout& b) {
  for (int d = 0; d < kHardwareDims; ++d)
    if (a.bits(HardwareDim(d)) != b.bits(HardwareDim(d))) return false;
  return true;
}
/// `after` holds at each place what `expected` makes of the coordinates there before.
template <class Expected>
bool holds(const LinearLayout& before, const LinearLayout& after, Expected expected) {
  bool all = same_sizes(before, after);
  if (all)
    for_places(before,
               [&](const auto& p, const Coordinates& c) { all = all && after.coordinates(after(p[0], p[1], p[2])) == expected(c); });
  return all;
}

/// f32[8, 16]: four of a row a thread.
LinearLayout example() {
  LinearLayout l({3, 4});
  l.set_bases(HardwareDim::reg, {1, 2});
  l.set_bases(HardwareDim::lane, {4, 8, 16, 32, 64});
  return l;
}

TEST_CASE("linear_layout: the example of the header") {
  const LinearLayout l = example();
  for_places(l, [](const auto& p, const Coordinates& c) { CHECK(c == Coordinates{p[1] / 4, 4 * (p[1] % 4) + p[0]}); });
  CHECK(l.is_injective());
  CHECK(l.is_surjective());
  CHECK(l.log2_contiguity() == 2);
  CHECK(l.axis_mask(0) == 0x70);
  CHECK(l.axis_mask(1) == 0x0f);
  CHECK(text(l) == "{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]]}");
}

TEST_CASE("linear_layout: coordinates and flat index are inverses, row-major") {
  const LinearLayout l({1, 0, 2});
  CHECK(l.coordinates(6) == Coordinates{1, 0, 2});
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(l.flat(l.coordinates(i)) == i);
  CHECK(LinearLayout().coordinates(0).empty());
  CHECK(log2_extents(Type(Element::f32, std::array<std::int64_t, 2>{8, 1})) == std::vector<int>{3, 0});
}

TEST_CASE("linear_layout: the matrix maps what the layout maps") {
  for_random(50, [](const LinearLayout& l, RandomLayouts&) {
    const F2Matrix m = l.matrix();
    const int lane = l.bits(HardwareDim::reg), warp = lane + l.bits(HardwareDim::lane);
    for_places(l, [&](const auto& p, const Coordinates& c) { CHECK(m(p[0] | p[1] << lane | p[2] << warp) == l.flat(c)); });
  });
}

TEST_CASE("linear_layout: injective, surjective and free bits are what a census of the places says") {
  for_random(100, [](const LinearLayout& l, RandomLayouts&) {
    std::map<std::uint32_t, int> all, stored;
    for_places(l, [&](const auto& p, const Coordinates& c) {
      ++all[l.flat(c)];
      if ((p[0] & l.free_bits(HardwareDim::reg)) == 0 && (p[1] & l.free_bits(HardwareDim::lane)) == 0 &&
          (p[2] & l.free_bits(HardwareDim::warp)) == 0)
        ++stored[l.flat(c)];
    });
    const auto once = [](const auto& census) { return std::all_of(census.begin(), census.end(), [](auto& e) { return e.second == 1; }); };
    CHECK(l.is_surjective() == (all.size() == std::size_t{1} << l.log2_elements()));
    CHECK(l.is_injective() == once(all));
    // Where free bits are 0 each element is stored, and once.
    CHECK(once(stored));
    CHECK(stored.size() == all.size());
  });
}

TEST_CASE("linear_layout: contiguity is the longest run of neighbours that every thread holds in order") {
  for_random(100, [](const LinearLayout& l, RandomLayouts&) {
    const auto runs_of = [&](int k) {
      bool runs = k <= l.bits(HardwareDim::reg) && k <= l.log2_elements();
      for_places(l, [&](const auto& p, const Coordinates& c) {
        const std::uint32_t low = (1u << k) - 1;
        runs = runs && (l.flat(c) & low) == (p[0] & low) && l.flat(c) - (p[0] & low) == l(p[0] & ~low, p[1], p[2]);
      });
      return runs;
    };
    int longest = 0;
    while (runs_of(longest + 1)) ++longest;
    CHECK(l.log2_contiguity() == longest);
  });
}

TEST_CASE("linear_layout: reshape keeps flat indices") {
  for_random(30, [](const LinearLayout& l, RandomLayouts& random) {
    std::vector<int> extents(3);
    for (int i = 0; i < l.log2_elements(); ++i) ++extents[static_cast<std::size_t>(random.number(0, 2))];
    const LinearLayout r = l.reshaped(extents);
    CHECK(r.log2_extents() == extents);
    CHECK(holds(l, r, [&](const Coordinates& c) { return r.coordinates(l.flat(c)); }));
    CHECK(r.reshaped(l.log2_extents()) == l);
  });
}

TEST_CASE("linear_layout: permute moves axes, and back") {
  for_random(30, [](const LinearLayout& l, RandomLayouts& random) {
    std::vector<std::int64_t> axes(static_cast<std::size_t>(l.rank())), back(axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t i = axes.size(); i > 1; --i)
      std::swap(axes[i - 1], axes[static_cast<std::size_t>(random.number(0, static_cast<int>(i) - 1))]);
    for (std::size_t i = 0; i < axes.size(); ++i) back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
    const LinearLayout p = l.permuted(axes);
    CHECK(holds(l, p, [&](const Coordinates& c) {
      Coordinates moved;
      for (const std::int64_t a : axes) moved.push_back(c[static_cast<std::size_t>(a)]);
      return moved;
    }));
    CHECK(p.permuted(back) == l);
  });
}

TEST_CASE("linear_layout: an operand of a broadcast is held where its elements are repeated to") {
  for_random(30, [](const LinearLayout& l, RandomLayouts& random) {
    std::vector<int> extents = l.log2_extents();
    for (int& e : extents)
      if (random.chance(50)) e = 0;
    CHECK(holds(l, l.narrowed(extents), [&](Coordinates c) {
      for (std::size_t a = 0; a < c.size(); ++a)
        if (extents[a] == 0) c[a] = 0;
      return c;
    }));
    CHECK(holds(l, l.narrowed({}), [](const Coordinates&) { return Coordinates(); }));
  });
}

TEST_CASE("linear_layout: without an axis the other coordinates stay") {
  for_random(30, [](const LinearLayout& l, RandomLayouts& random) {
    const int axis = random.number(0, l.rank() - 1);
    const LinearLayout s = l.without_axis(axis);
    CHECK(s.is_surjective());
    CHECK(holds(l, s, [&](Coordinates c) {
      c.erase(c.begin() + axis);
      return c;
    }));
  });
}

TEST_CASE("linear_layout: without free registers a thread holds the same elements, none twice") {
  for_random(50, [](const LinearLayout& l, RandomLayouts&) {
    const LinearLayout w = l.without_free_registers();
    CHECK(w.free_bits(HardwareDim::reg) == 0);
    CHECK(w.bases(HardwareDim::lane) == l.bases(HardwareDim::lane));
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> before, after;  // of a lane: the elements' sum, once each
    for (const auto* pair : {&l, &w})
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint32_t r = 0; r < pair->size(HardwareDim::reg); ++r) ++(pair == &l ? before : after)[{lane, (*pair)(r, lane, 0)}];
    CHECK(before.size() == after.size());
    for (const auto& [element, times] : after) CHECK((times == 1 && before.count(element) == 1));
  });
}

TEST_CASE("linear_layout: a direct sum puts the outer layout above the inner one, and is divided by either") {
  RandomLayouts random(8);
  for (int i = 0; i < 60; ++i) {
    const std::vector<int> inner_extents = {random.number(0, 3), random.number(0, 3)},
                           outer_extents = {random.number(0, 3), random.number(0, 3)};
    const LinearLayout inner = random.mixed(inner_extents, 1), outer = random.mixed(outer_extents, 0), both = inner * outer;
    CAPTURE(text(inner));
    CAPTURE(text(outer));
    for (const HardwareDim d : {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp})
      for (std::uint32_t x = 0; x < both.size(d); ++x) {
        const Coordinates low = inner.coordinates(inner.apply(d, x & (inner.size(d) - 1)));
        const Coordinates high = outer.coordinates(outer.apply(d, x >> inner.bits(d)));
        CHECK(both.coordinates(both.apply(d, x)) ==
              Coordinates{low[0] + (high[0] << inner_extents[0]), low[1] + (high[1] << inner_extents[1])});
      }
    CHECK(both.divided_by(inner) == outer);
    const LinearLayout third = random.mixed({1, 1}, 1);
    CHECK((inner * outer) * third == inner * (outer * third));
  }
}

TEST_CASE("linear_layout: what is not a direct sum cannot be divided") {
  LinearLayout pair({0, 1});
  pair.add_basis(HardwareDim::reg, 1);
  CHECK(example().divided_by(pair));
  CHECK_FALSE(example().permuted(std::array<std::int64_t, 2>{1, 0}).divided_by(pair));  // another first basis
  CHECK_FALSE(pair.divided_by(example()));                                              // larger
  LinearLayout twisted = example();
  twisted.set_bases(HardwareDim::lane, {4, 8, 16, 32, 65});
  CHECK_FALSE(twisted.divided_by(pair));  // a lane that touches the inner coordinates
}

TEST_CASE("linear_layout: a sublayout has the bases of its dimensions") {
  const LinearLayout s = example().sublayout(std::array{HardwareDim::lane});
  CHECK(s.bases(HardwareDim::lane) == example().bases(HardwareDim::lane));
  CHECK(s.bits(HardwareDim::reg) == 0);
  CHECK(s.log2_extents() == example().log2_extents());
}

/// The place that a conversion of `to` reads: the hardware coordinates of `from`, side by side.
template <class See>
void for_conversion(const F2Matrix& m, const LinearLayout& from, const LinearLayout& to, See see) {
  const int lane = to.bits(HardwareDim::reg), warp = lane + to.bits(HardwareDim::lane);
  const int from_lane = from.bits(HardwareDim::reg), from_warp = from_lane + from.bits(HardwareDim::lane);
  for_places(to, [&](const auto& p, const Coordinates& c) {
    const std::uint32_t place = m(p[0] | p[1] << lane | p[2] << warp);
    see(p,
        std::array{place & (from.size(HardwareDim::reg) - 1), place >> from_lane & (from.size(HardwareDim::lane) - 1), place >> from_warp},
        to.flat(c), place);
  });
}

TEST_CASE("linear_layout: a conversion reads the same element, from registers and lanes that are not copies") {
  for_random(50, [](const LinearLayout& from, RandomLayouts& random) {
    const LinearLayout to = random.any(from.log2_extents(), random.number(0, 2));
    const F2Matrix m = conversion(from, to);
    const std::uint32_t copies = from.matrix().dependent_columns();
    for_conversion(m, from, to, [&](const auto&, const auto& source, std::uint32_t element, std::uint32_t place) {
      CHECK(from(source[0], source[1], source[2]) == element);
      CHECK((place & copies) == 0);
    });
    CHECK(compose(from.matrix(), m) == to.matrix());
  });
}

TEST_CASE("linear_layout: the nearest conversion reads the same element, and its own registers where they hold it") {
  for_random(50, [](const LinearLayout& from, RandomLayouts& random) {
    const LinearLayout to = random.any(from.log2_extents(), from.bits(HardwareDim::warp));
    const F2Matrix m = nearest_conversion(from, to);
    for_conversion(m, from, to, [&](const auto&, const auto& source, std::uint32_t element, std::uint32_t) {
      CHECK(from(source[0], source[1], source[2]) == element);
    });
    const auto stays = [](const LinearLayout& a, const LinearLayout& b) {
      bool all = true;
      for_conversion(nearest_conversion(a, b), a, b, [&](const auto& p, const auto& source, std::uint32_t, std::uint32_t) {
        all = all && p[1] == source[1] && p[2] == source[2];
      });
      return all;
    };
    CHECK(stays(from, from));
    CHECK(stays(replicated_layout(from.log2_extents(), from.bits(HardwareDim::warp)), from));
    CHECK(stays(from, from.without_free_registers()));
    const LinearLayout column = from.narrowed(std::vector<int>(static_cast<std::size_t>(from.rank())));
    CHECK(stays(column, column.without_free_registers()));
  });
}

TEST_CASE("layout text: reads what it prints") {
  for_random(50, [](const LinearLayout& l, RandomLayouts&) {
    std::string error;
    CHECK(parse_layout(text(l), l.log2_extents(), error) == l);
  });
  LinearLayout shared({2, 1});
  shared.set_bases(HardwareDim::offset, {1, 2, 5});
  CHECK(text(shared) == "{offset = [[0, 1], [1, 0], [2, 1]]}");
  std::string error;
  CHECK(parse_layout(" { offset = [ [0,1], [1,0],\n[2,1] ] } ", {2, 1}, error) == shared);
  CHECK(parse_layout("{}", {}, error) == LinearLayout());
}

TEST_CASE("layout text: says what is wrong") {
  const auto wrong = [](std::string_view text) {
    std::string error;
    CHECK_FALSE(parse_layout(text, {2, 3}, error));
    return error;
  };
  CHECK(wrong("") == "the end where '{' was expected");
  CHECK(wrong("{lane = []") == "the end where ',' was expected");
  CHECK(wrong("{lane = []} x") == "'x' where the end of the layout was expected");
  CHECK(wrong("{lanes = []}") == "'lanes' is none of register, lane, warp, block, offset (did you mean 'lane'?)");
  CHECK(wrong("{lane = [], lane = []}") == "'lane' stands there twice");
  CHECK(wrong("{lane = [[1]]}") == "a basis of lane has 1 coordinate; the tile has 2 axes");
  CHECK(wrong("{lane = [[4, 0]]}") == "axis 0 has extent 4; a basis of lane says 4");
  CHECK(wrong("{lane = [[99999999999, 0]]}") == "axis 0 has extent 4; a basis of lane says 99999999999");
  CHECK(wrong("{lane = [[a, 0]]}") == "'a, 0]]}' where a coordinate was expected");
  CHECK(wrong("{lane = [[-1, 0]]}") == "'-1, 0]]}' where a coordinate was expected");
  std::string many = "{lane = [";
  for (int i = 0; i < 33; ++i) many += i == 0 ? "[0, 0]" : ", [0, 0]";
  CHECK(wrong(many + "]}") == "a layout has at most 32 bases");
}

}  // namespace
}  // namespace tilewright::ir
