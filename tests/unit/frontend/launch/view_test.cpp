// Views on the host: a view never reaches outside of its buffer.
#include "tilewright/view.h"

#include <doctest/doctest.h>

#include "tests/messages.h"
#include "tilewright/tilewright.h"

using namespace tilewright;

namespace {
using tilewright::test::error_of;
using tilewright::test::has;
template <class T, int R>
std::array<std::int64_t, R> strides(const View<T, R>& v) {
  return detail::ViewAccess<T, R>::strides(v);
}
}  // namespace

TEST_CASE("view: strides of a row-major view") {
  Device device = Device::open("cpu");
  auto b = device.allocate<float>(24);
  CHECK(strides(view(b, {2, 3, 4})) == std::array<std::int64_t, 3>{12, 4, 1});
  CHECK(strides(view(b, {24})) == std::array<std::int64_t, 1>{1});
  CHECK(strides(view(b, {0, 5})) == std::array<std::int64_t, 2>{5, 1});
  const View<const float, 2> constant = view(b, {4, 6});
  CHECK(strides(constant) == std::array<std::int64_t, 2>{6, 1});
}

TEST_CASE("view: what reaches outside is refused, what just fits is not") {
  Device device = Device::open("cpu");
  auto b = device.allocate<float>(24);
  (void)view(b, {4, 6});
  (void)view(b, {4, 6}, {1, 4});
  (void)view(b, {1000, 6}, {0, 4});
  (void)view(b, {0, 1000});
  (void)view(b, {2, 0}, {1000, -1000});
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { (void)view(b, {5, 5}); });
  CHECK_MESSAGE(has(text, "view_test.cpp:"), text);
  CHECK_MESSAGE(has(text, (":" + std::to_string(line) + ":").c_str()), text);
  CHECK_MESSAGE(has(text, "error: view: extents {5, 5} with strides {5, 1} reach from element 0 to element 24 of a buffer of 24 elements"),
                text);
  CHECK(has(error_of([&] { (void)view(b, {4, 6}, {6, 2}); }), "to element 28 of"));
  CHECK(has(error_of([&] { (void)view(b, {4, 6}, {-6, 1}); }), "from element -18 to"));
  CHECK(has(error_of([&] { (void)view(b, {-1, 6}); }), "extent -1 of axis 0; it must not be negative"));
  CHECK(has(error_of([&] { (void)view(b, {2, -6}, {1, 1}); }), "extent -6 of axis 1"));
  CHECK(has(error_of([&] { (void)view(b, {std::int64_t{1} << 40, std::int64_t{1} << 40}); }), "more than 2^63 elements"));
  CHECK(has(error_of([&] { (void)view(b, {std::int64_t{1} << 62, 2}, {std::int64_t{1} << 62, 1}); }),
            "reach from element 0 to element 9223372036854775807"));
  Buffer<float> empty;
  CHECK(has(error_of([&] { (void)view(empty, {1}); }), "this buffer is empty"));
}

TEST_CASE("view: using a host view as if it were a parameter is an error") {
  Device device = Device::open("cpu");
  auto b = device.allocate<float>(16);
  const auto v = view(b, {4, 4});
  Kernel captured("captured", [&](Ptr<float>) { (void)v.load({0, 0}, {4, 4}); });
  CHECK(has(error_of([&] { captured({.grid = 1}, b); }), "load: this view is not a parameter of a kernel"));
  Kernel axes("axes", [](View<float, 2> p) { (void)p.extent(2); });
  CHECK(has(error_of([&] { axes({.grid = 1}, v); }), "extent: axis 2 of a view of rank 2; it must be -2 to 1"));
  CHECK(has(error_of([&] { axes({.grid = 1}, View<float, 2>()); }), "argument 1: the view is empty"));
}
