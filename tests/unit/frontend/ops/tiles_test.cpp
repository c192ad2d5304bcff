// Tracing of scans, sorts, gather and histogram, and their errors.
#include <doctest/doctest.h>

#include "tests/unit/frontend/traced.h"
#include "tileir/op_kind.h"

namespace tw = tilewright;

namespace {

template <class L>
std::string message(const L& body) {
  try {
    traced::trace(body);
  } catch (const tw::Error& e) {
    CHECK(std::string(e.what()).find("tiles_test.cpp:" + std::to_string(e.where().line) + ":") != std::string::npos);
    return std::to_string(e.where().line) + " " + e.what();
  }
  return "no error";
}

/// Expects an error at this line that says so, then so many notes of this file.
template <class L>
void expect(int line, const std::string& text, int notes, const L& body) {
  const std::string got = message(body);
  INFO(got);
  CHECK(got.starts_with(std::to_string(line) + " "));
  CHECK(got.find("error: " + text) != std::string::npos);
  int count = 0;
  for (std::size_t at = got.find(": note: "); at != std::string::npos; at = got.find(": note: ", at + 1)) ++count;
  CHECK(count == notes);
}

auto plus = [](auto a, auto b) { return a + b; };

}  // namespace

TEST_CASE("tiles: 16-bit floats are scanned in f32, others as they are") {
  const auto count = [](const tw::ir::Function& f, tw::ir::OpKind k, tw::ir::Element e) {
    int n = 0;
    f.walk([&](tw::ir::OpId id) { n += f.kind(id) == k && f.type(f.result(id)).element() == e; });
    return n;
  };
  const auto half =
      traced::trace([](tw::Ptr<tw::f16> p) { tw::store(p + tw::arange(0, 8), tw::cumsum(tw::load(p + tw::arange(0, 8)), 0)); });
  CHECK(count(half, tw::ir::OpKind::scan_, tw::ir::Element::f32) == 1);
  const auto byte =
      traced::trace([](tw::Ptr<std::int8_t> p) { tw::store(p + tw::arange(0, 8), tw::cumsum(tw::load(p + tw::arange(0, 8)), 0)); });
  CHECK(count(byte, tw::ir::OpKind::scan_, tw::ir::Element::i8) == 1);
  CHECK(count(byte, tw::ir::OpKind::cast_, tw::ir::Element::i32) == 0);
}

TEST_CASE("tiles: scans, sorts and picks mean what they say") {
  std::vector<int> out(16);
  const auto run = [&](auto body) {
    traced::run([&](tw::Ptr<int> p) { tw::store(p + tw::arange(0, 4), body(5 - tw::arange(0, 4) * 3 % 4)); }, out);  // 5 2 3 4
    return std::vector<int>(out.begin(), out.begin() + 4);
  };
  using V = std::vector<int>;
  CHECK(run([](tw::I32 t) { return tw::cumsum(t, 0); }) == V{5, 7, 10, 14});
  CHECK(run([](tw::I32 t) { return tw::cumprod(t, -1, true); }) == V{120, 24, 12, 4});
  CHECK(run([](tw::I32 t) { return tw::cummax(t, 0); }) == V{5, 5, 5, 5});
  CHECK(run([](tw::I32 t) { return tw::cummin(t, 0, true); }) == V{2, 2, 3, 4});
  CHECK(run([](tw::I32 t) { return tw::scan(t, 0, [](tw::I32 a, tw::I32 b) { return 10 * a + b; }); }) == V{5, 52, 523, 5234});
  CHECK(run([](tw::I32 t) {
          return std::get<1>(
              tw::scan(std::tuple{t, t}, 0, [](auto a, auto b) { return std::tuple{std::get<0>(b), std::get<0>(a)}; }, true));
        }) == V{2, 3, 4, 4});
  CHECK(run([](tw::I32 t) { return tw::sort(t); }) == V{2, 3, 4, 5});
  CHECK(run([](tw::I32 t) { return tw::sort(t, true); }) == V{5, 4, 3, 2});
  CHECK(run([](tw::I32 t) { return tw::sort(t / 4, t, true).second; }) == V{5, 4, 2, 3});
  CHECK(run([](tw::I32 t) { return tw::argsort(t); }) == V{1, 2, 3, 0});
  CHECK(run([](tw::I32 t) { return tw::argsort(t / 4, true); }) == V{0, 3, 1, 2});
  CHECK(run([](tw::I32 t) {
          auto [top, at] = tw::topk(t, 2);
          return tw::ravel(tw::join(top, at));
        }) == V{5, 0, 4, 3});
  CHECK(run([](tw::I32 t) { return tw::gather(t, t - 2, 0); }) == V{4, 5, 2, 3});
  CHECK(run([](tw::I32 t) { return tw::histogram(t, 4); }) == V{0, 0, 1, 1});
  CHECK(run([](tw::I32 t) { return tw::histogram(t / 4, 4, t > 4); }) == V{0, 1, 0, 0});
  CHECK(run([](tw::I32 t) { return tw::histogram(t, 4, false); }) == V{0, 0, 0, 0});
  CHECK(run([](tw::I32) { return tw::histogram(tw::I32(2), 4); }) == V{0, 0, 1, 0});
}

// A mistake and its check stand on one line:
// clang-format off
TEST_CASE("tiles: mistakes in scans") {
  expect(__LINE__, "cumsum: axis 1 is out of range: 't' is [8], so it must be from -1 to 0", 1, [](tw::I32) { tw::cumsum(tw::arange(0, 8), 1); });
  expect(__LINE__, "cummax: axis 0 of 't', which is a scalar and has no axes", 0, [](tw::I32 n) { tw::cummax(n, 0, true); });
  expect(__LINE__, "scan: axis -2 is out of range: 't' is [8]", 1, [](tw::I32) { tw::scan(tw::arange(0, 8), -2, plus); });
  expect(__LINE__, "scan: 'get<0>(t)' is [8] and 'get<1>(t)' is [4]", 1, [](tw::I32) { tw::scan(std::tuple{tw::arange(0, 8), tw::arange(0, 4)}, 0, [](auto a, auto) { return a; }); });
  expect(__LINE__, "scan: the combine function gives [4]; it takes and gives scalars", 1, [](tw::I32) { auto t = tw::arange(0, 4); tw::scan(t, 0, [&](tw::I32 a, tw::I32 b) { return a + b + t; }); });
  expect(__LINE__, "scan: the combine function assigns to a variable outside of it; it may only return the combined elements", 0, [](tw::I32 n) { tw::scan(tw::arange(0, 4), 0, [&](tw::I32 a, tw::I32 b) { n = a; return b; }); });
  expect(__LINE__, "operator+: 'a' was made inside of a combine function", 2, [](tw::I32) { tw::I32 x; tw::scan(tw::arange(0, 4), 0, [&](tw::I32 a, tw::I32 b) { x = a; return b; }); x + 1; });
  expect(__LINE__, "the body of this combine function was left early", 0, [](tw::I32) { try { tw::scan(tw::arange(0, 4), 0, [](tw::I32 x, tw::I32) { return throw 3, x; }); } catch (int) {} });
  expect(__LINE__, "scan: 't' is empty", 0, [](tw::I32) { tw::I32 t; tw::scan(t, 0, plus); });
  expect(__LINE__, "cumsum: a combine function only computes with its elements; it cannot load, store, reduce, branch or loop", 1, [](tw::I32) { auto t = tw::arange(0, 4); tw::scan(t, 0, [&](tw::I32 a, tw::I32) { tw::cumsum(t, 0); return a; }); });
  expect(__LINE__, "store: a combine function only computes with its elements", 1, [](tw::Ptr<int> p) { tw::scan(tw::arange(0, 4), 0, [&](tw::I32 a, tw::I32) { tw::store(p, a); return a; }); });
}

TEST_CASE("tiles: mistakes in sorts") {
  expect(__LINE__, "sort: 't' is a scalar; it must have an axis to sort along", 0, [](tw::I32 n) { tw::sort(n); });
  expect(__LINE__, "sort: 'keys' is a scalar", 0, [](tw::I32 n) { tw::sort(n, n); });
  expect(__LINE__, "argsort: 't' is a scalar", 0, [](tw::I32 n) { tw::argsort(n); });
  expect(__LINE__, "sort: 'values' is [4]; its shape must be [8] as that of 'keys'", 1, [](tw::I32) { tw::sort(tw::arange(0, 8), tw::arange(0, 4), true); });
  expect(__LINE__, "sort: 'values' is a scalar; its shape must be [8] as that of 'keys'", 0, [](tw::I32 n) { tw::sort(tw::arange(0, 8), n); });
  expect(__LINE__, "topk: k is 3; it must be a power of two from 1 to 8, since 't' is [8]", 1, [](tw::I32) { tw::topk(tw::arange(0, 8), 3); });
  expect(__LINE__, "topk: k is 16; it must be a power of two from 1 to 8, since 't' is [2, 8]", 1, [](tw::I32) { tw::topk(tw::zeros<float>({2, 8}), 16); });
  expect(__LINE__, "topk: k is 0; it must be a power of two from 1 to 8", 1, [](tw::I32) { tw::topk(tw::arange(0, 8), 0); });
  expect(__LINE__, "topk: 't' is a scalar", 0, [](tw::F32 x) { tw::topk(x, 1); });
  expect(__LINE__, "sort: a combine function only computes with its elements", 1, [](tw::I32) { auto t = tw::arange(0, 4); tw::reduce(t, 0, [&](tw::I32 a, tw::I32) { tw::sort(t); return a; }); });
}

TEST_CASE("tiles: mistakes in gather and histogram") {
  expect(__LINE__, "gather: axis 1 is out of range: 't' is [8]", 1, [](tw::I32) { tw::gather(tw::arange(0, 8), tw::arange(0, 8), 1); });
  expect(__LINE__, "gather: axis 0 of 't', which is a scalar and has no axes", 0, [](tw::I32 n) { tw::gather(n, n, 0); });
  expect(__LINE__, "gather: 'index' is [8]; it must have rank 2 as 't' has, which is [4, 8]", 1, [](tw::I32) { tw::gather(tw::zeros<float>({4, 8}), tw::arange(0, 8), 0); });
  expect(__LINE__, "gather: 'index' is [2, 4]; extent 4 of axis 1 must be 8 as that of 't', which is [4, 8]", 1, [](tw::I32) { tw::gather(tw::zeros<float>({4, 8}), tw::zeros<int>({2, 4}), 0); });
  expect(__LINE__, "gather: 'index' is [4, 1]; extent 1 of axis 1 must be 8", 1, [](tw::I32) { tw::gather(tw::zeros<bool>({4, 8}), tw::zeros<std::uint8_t>({4, 1}), -2); });
  expect(__LINE__, "histogram: 100 bins; the number must be a power of two from 1 to 2^20 = 1048576", 0, [](tw::I32) { tw::histogram(tw::arange(0, 8), 100); });
  expect(__LINE__, "histogram: 2097152 bins; the number must be a power of two", 0, [](tw::I32) { tw::histogram(tw::arange(0, 8), 1 << 21); });
  expect(__LINE__, "histogram: 0 bins", 0, [](tw::I32) { tw::histogram(tw::arange(0, 8), 0); });
  expect(__LINE__, "histogram: -4 bins", 0, [](tw::I32) { tw::histogram(tw::arange(0, 8), -4); });
  expect(__LINE__, "histogram: 'mask' is [4] and does not broadcast to the shape of 't', which is [8]", 1, [](tw::I32) { tw::histogram(tw::arange(0, 8), 4, tw::arange(0, 4) < 2); });
}
// clang-format on
