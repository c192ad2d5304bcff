// Operators and functions that users declare for tiles, tensors and types of their own: the overloads that refuse operands which nothing takes
// are a worse match. The test is that this file compiles.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace own {
namespace {

// A handle converts to it.
struct Dual {
  tw::F32 value, slope;
  Dual(const tw::F32& v) : value(v), slope(0) {}
  Dual(const tw::F32& v, const tw::F32& s) : value(v), slope(s) {}
  friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator*(const Dual& a, const Dual& b) { return {a.value * b.value, a.value * b.slope + b.value * a.slope}; }
};

// Operators are members, friends and templates.
struct Pair {
  tw::F32 x, y;
  template <class U>
  Pair operator*(const U& u) const {
    return {x * u, y * u};
  }
  friend Pair operator+(const Pair& a, const tw::F32& s) { return {a.x + s, a.y + s}; }
};
template <class U>
Pair operator-(const U& u, const Pair& p) {
  return {u - p.x, u - p.y};
}

struct Weight : tw::Tensor<float> {
  Weight(const tw::Tensor<float>& t) : tw::Tensor<float>(t) {}
};

struct Mask {};
int sum(const tw::F32&, Mask) { return 1; }
template <class T>
int exp(Mask, const T&) {
  return 2;
}

template <class T>
std::ostream& operator<<(std::ostream& to, const tw::Tile<T>&) {
  return to;
}

template <class Want, class Got>
void is(const Got&) {
  static_assert(std::is_same_v<Want, Got>);
}

[[maybe_unused]] void use(const tw::F32& x, const tw::Tensor<float>& t, const Dual& d, const Pair& p, const Weight& w, std::ostream& to) {
  is<Dual>(x + d), is<Dual>(d * x), is<Pair>(p * x), is<Pair>(p * 2.0f), is<Pair>(p + x), is<Pair>(x - p);
  is<tw::Tensor<float>>(w + t), is<tw::Tensor<float>>(t * w), is<tw::Tensor<float>>(w - 1), is<tw::Tensor<bool>>(w < w);
  is<int>(sum(x, Mask())), is<int>(exp(Mask(), x));
  to << x;
}

[[maybe_unused]] void use_unqualified(const tw::F32& x, std::vector<int>& numbers) {
  using namespace tilewright;
  using std::clamp, std::exp, std::max, std::sort;
  sort(numbers.begin(), numbers.end());
  is<double>(exp(1.0)), is<int>(max(1, 2)), is<int>(clamp(3, 1, 4)), is<tw::F32>(exp(x)), is<tw::F32>(max(x)), is<tw::F32>(clamp(x, 0, 1));
}

// A requires-expression finds no such operators and functions.
template <class A, class B>
concept Meet = requires(A a, B b) { a + b; } || requires(A a, B b) { a < b; } || requires(A a, B b) { a += b; };
template <class... A>
concept Summable = requires(A... a) { tw::sum(a...); };
template <class A>
concept Printed = requires(std::ostream& to, A a) { to << a; };
static_assert(Meet<tw::F32, int> && Meet<tw::Tensor<float>, tw::Dim> && !Meet<tw::F32, std::string> && !Meet<const char*, tw::Tensor<int>>);
static_assert(!Meet<tw::F32, tw::Tensor<float>> && !Meet<tw::F32, Mask> && !Meet<std::nullptr_t, tw::I32> && !Meet<tw::Dim, std::string>);
static_assert(Summable<tw::F32, int> && Summable<tw::Tensor<int>> && !Summable<tw::F32, float> && !Summable<std::string> && !Summable<>);
static_assert(Printed<tw::F32> && !Printed<tw::Tensor<float>>);

}  // namespace
}  // namespace own
