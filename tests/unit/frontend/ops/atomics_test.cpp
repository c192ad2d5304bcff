// Tracing of atomics: ops, orders and scopes; their results in the interpreter; and errors.
#include <doctest/doctest.h>

#include <optional>

#include "tests/messages.h"
#include "tests/unit/frontend/traced.h"
#include "tilewright/ops/atomic.h"

namespace tw = tilewright;

namespace {

using tilewright::test::has;

template <class F>
std::optional<tw::Error> mistake(const F& body) {
  try {
    traced::trace(body);
  } catch (const tw::Error& e) {
    return e;
  }
  return std::nullopt;
}

template <class F>
void expect(int line, const std::string& message, const F& body) {
  const auto error = mistake(body);
  REQUIRE_MESSAGE(error.has_value(), message);
  INFO(error->what());
  CHECK(error->where().line == line);
  CHECK(has(error->what(), ": error: " + message));
}

}  // namespace

TEST_CASE("atomics: orders and scopes are named in the IR, the defaults left out") {
  const auto text = tw::ir::print(traced::trace([](tw::Ptr<int> p) {
    tw::atomic_add(p, 1);
    tw::atomic_max(p, 1, {}, {.order = tw::Order::relaxed});
    tw::atomic_min(p, 1, {}, {.order = tw::Order::acquire, .scope = tw::Scope::block});
    tw::atomic_and(p, 1, {}, {.order = tw::Order::release, .scope = tw::Scope::system});
    tw::atomic_or(p, 1, true, {.order = tw::Order::acq_rel, .scope = tw::Scope::device});
    tw::atomic_xor(p, 1);
    tw::atomic_exchange(p, 1, {}, {.scope = tw::Scope::block});
    tw::atomic_cas(p, 1, 2, {.order = tw::Order::acquire});
    tw::atomic_cas(p, 3, 4, false, {.order = tw::Order::release});
    tw::atomic_cas(p, 5, 6, {}, {.order = tw::Order::relaxed});
    tw::atomic_cas(p, 7, 8, true);
  }));
  INFO(text);
  for (const char* line : {"atomic_add %p0, %0 : i32", "{order = relaxed} : i32", "{order = acquire, scope = block} : i32",
                           "{order = release, scope = system} : i32", "atomic_exchange %p0, %", "{scope = block} : i32",
                           "atomic_cas %p0, %", "{order = acquire} : i32"})
    CHECK_MESSAGE(has(text, line), line);
}

TEST_CASE("atomics: compare-and-exchange takes a mask, with options or without") {
  std::vector<int> x{1, 2, 3, 4}, old(4, -1);
  traced::run(
      [](tw::Ptr<int> p, tw::Ptr<int> out) {
        auto i = tw::arange(0, 4);
        tw::store(out + i, tw::atomic_cas(p + i, i + 1, 9, i != 2));
        tw::atomic_cas(p + i, 9, 10, i == 3, {.order = tw::Order::relaxed});
        tw::atomic_cas(p + i, 9, 11, {}, {.scope = tw::Scope::block});
        tw::atomic_cas(p + i, 11, 12, false);
      },
      x, old);
  CHECK(x == std::vector<int>{11, 11, 3, 10});
  CHECK(old == std::vector<int>{1, 2, 0, 4});
}

TEST_CASE("atomics: each returns what was there, 0 where the mask is false") {
  std::vector<int> x{10, 20, 30, 40}, old(4, -1);
  traced::run(
      [](tw::Ptr<int> p, tw::Ptr<int> out) {
        auto i = tw::arange(0, 4);
        tw::store(out + i, tw::atomic_add(p + i, i, i > 0));
      },
      x, old);
  CHECK(x == std::vector<int>{10, 21, 32, 43});
  CHECK(old == std::vector<int>{0, 20, 30, 40});
  traced::run(
      [](tw::Ptr<int> p, tw::Ptr<int> out) {
        auto i = tw::arange(0, 4);
        tw::store(out + i, tw::atomic_exchange(p + i / 2, i));  // the lanes that meet see each other
      },
      x, old);
  CHECK(x == std::vector<int>{1, 3, 32, 43});
  CHECK(old == std::vector<int>{10, 0, 21, 2});
}

// Each mistake stands on one line:
// clang-format off
TEST_CASE("atomics: mistakes") {
  expect(__LINE__, "atomic_add: 'pointer' is ptr<i8>; expected pointers to i32, i64, u32, u64, f16, bf16, f32 or f64", [](tw::Ptr<std::int8_t> p) { tw::atomic_add(p, 1); });
  expect(__LINE__, "atomic_add: 'pointer' is ptr<u16>[4]; expected pointers to i32", [](tw::Ptr<std::uint16_t> p) { tw::atomic_add(p + tw::arange(0, 4), 1); });
  expect(__LINE__, "atomic_max: 'pointer' is ptr<f16>; expected pointers to i32, i64, u32, u64, f32 or f64", [](tw::Ptr<tw::f16> p) { tw::atomic_max(p, 1); });
  expect(__LINE__, "atomic_xor: 'pointer' is ptr<i16>; expected pointers to i32, i64, u32 or u64", [](tw::Ptr<std::int16_t> p) { tw::atomic_xor(p, 1); });
  expect(__LINE__, "atomic_cas: 'pointer' is ptr<bf16>; expected pointers to i32", [](tw::Ptr<tw::bf16> p) { tw::atomic_cas(p, 0, 1); });
  expect(__LINE__, "atomic_add: 'value' is [8] and does not broadcast to the shape of 'pointer', which is a scalar", [](tw::Ptr<int> p) { tw::atomic_add(p, tw::arange(0, 8)); });
  expect(__LINE__, "atomic_min: 'mask' is [8] and does not broadcast to the shape of 'pointer', which is [4]", [](tw::Ptr<int> p) { tw::atomic_min(p + tw::arange(0, 4), 1, tw::arange(0, 8) < 3, {.order = tw::Order::release}); });
  expect(__LINE__, "atomic_cas: 'desired' is [8] and does not broadcast to the shape of 'pointer', which is [4]", [](tw::Ptr<int> p) { tw::atomic_cas(p + tw::arange(0, 4), 1, tw::arange(0, 8), {.order = tw::Order::acquire}); });
  expect(__LINE__, "atomic_cas: 'mask' is [8] and does not broadcast to the shape of 'pointer', which is [4]", [](tw::Ptr<int> p) { tw::atomic_cas(p + tw::arange(0, 4), 1, 2, tw::arange(0, 8) < 3); });
  expect(__LINE__, "atomic_add: order = 4; it must be an enumerator of Order, 0 to 3", [](tw::Ptr<int> p) { tw::atomic_add(p, 1, {}, {.order = static_cast<tw::Order>(4)}); });
  expect(__LINE__, "atomic_cas: scope = -1; it must be an enumerator of Scope, 0 to 2", [](tw::Ptr<int> p) { tw::atomic_cas(p, 0, 1, {.scope = static_cast<tw::Scope>(-1)}); });
  expect(__LINE__, "atomic_add: constant 3000000000 does not fit i32", [](tw::Ptr<int> p) { tw::atomic_add(p, 3000000000); });
  expect(__LINE__, "atomic_exchange: 'value' ", [](tw::Ptr<int> p) { tw::I32 empty; tw::atomic_exchange(p, empty); });
  expect(__LINE__, "atomic_add: a combine function only computes with its elements", [](tw::Ptr<int> p) { tw::reduce(tw::arange(0, 8), 0, [&](tw::I32 a, tw::I32 b) { return a + tw::atomic_add(p, b); }); });
}
// clang-format on
