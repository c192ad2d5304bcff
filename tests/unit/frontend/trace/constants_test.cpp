// Compile-time constants: the types that are allowed, and when two values are equal.
#include "tilewright/constants.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace tilewright;
using detail::Constant;

namespace {

enum class Mode : std::uint8_t { plain, relu };
struct Tiles {
  int bm = 64, bn = 64;
  bool even = false;
  float alpha = 1;
  Mode mode = Mode::plain;
};
struct Nested {
  Tiles tiles;
  std::array<int, 3> order{};
  char c = 0;
};
struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct Seventeen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
class Own {
 public:
  explicit Own(int k, int ignored = 0) : k_(k), ignored_(ignored) {}
  friend bool operator==(const Own& a, const Own& b) { return a.k_ == b.k_; }
  int k() const { return k_; }

 private:
  int k_;
  [[maybe_unused]] int ignored_;
};
class NoKey {
 public:
  explicit NoKey(int k) : k_(k) {}
  int k_;
};
struct Empty {};

template <class T>
detail::KernelKey key(const T& value) {
  detail::KernelKey k;
  detail::add_constant(k, value);
  return k;
}

}  // namespace

template <>
struct std::hash<Own> {
  std::size_t operator()(const Own& o) const { return static_cast<std::size_t>(o.k() % 2); }
};

TEST_CASE("constants: what may be one") {
  const auto lambda = [](int x) { return x; };
  int captured = 0;
  const auto capturing = [captured](int x) { return x + captured; };
  static_assert(Constant<int> && Constant<bool> && Constant<double> && Constant<Mode> && Constant<f16> && Constant<f8e4m3>);
  static_assert(Constant<Tiles> && Constant<Nested> && Constant<Own> && Constant<std::array<Tiles, 2>> && Constant<Empty> &&
                Constant<std::string>);
  static_assert(Constant<decltype(lambda)>);
  static_assert(Constant<Sixteen> && !Constant<Seventeen>);
  static_assert(!Constant<std::vector<int>> && !Constant<NoKey> && !Constant<decltype(capturing)>);
  static_assert(detail::field_count<Tiles>() == 5 && detail::field_count<Nested>() == 3 && detail::field_count<Empty>() == 0);
  CHECK(key(lambda) == key(lambda));
}

TEST_CASE("constants: every field counts") {
  CHECK(key(Tiles{}) == key(Tiles{}));
  CHECK_FALSE(key(Tiles{}) == key(Tiles{.bm = 32}));
  CHECK_FALSE(key(Tiles{}) == key(Tiles{.bn = 32}));
  CHECK_FALSE(key(Tiles{}) == key(Tiles{.even = true}));
  CHECK_FALSE(key(Tiles{}) == key(Tiles{.alpha = 2}));
  CHECK_FALSE(key(Tiles{}) == key(Tiles{.mode = Mode::relu}));
  CHECK_FALSE(key(Nested{}) == key(Nested{.tiles = {.bn = 1}}));
  CHECK_FALSE(key(Nested{}) == key(Nested{{}, {0, 0, 1}, 0}));
}

TEST_CASE("constants: padding does not count") {
  alignas(Tiles) unsigned char low[sizeof(Tiles)], high[sizeof(Tiles)];
  std::fill(std::begin(low), std::end(low), static_cast<unsigned char>(0));
  std::fill(std::begin(high), std::end(high), static_cast<unsigned char>(0xff));
  const auto* a = new (low) Tiles{1, 2, true, 3, Mode::relu};
  const auto* b = new (high) Tiles{1, 2, true, 3, Mode::relu};
  CHECK(key(*a) == key(*b));
}

TEST_CASE("constants: floats are compared by bits") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(key(nan) == key(nan));
  CHECK_FALSE(key(0.0) == key(-0.0));
  CHECK(key(f16(NAN)) == key(f16(NAN)));
  CHECK_FALSE(key(f16(0.0f)) == key(f16(-0.0f)));
  CHECK_FALSE(key(1.0f) == key(1.5f));
}

TEST_CASE("constants: own types are compared by their ==") {
  CHECK(key(Own(1, 5)) == key(Own(1, 6)));
  CHECK_FALSE(key(Own(1)) == key(Own(3)));  // the same hash
  CHECK_FALSE(key(std::string("a")) == key(std::string("b")));
}
