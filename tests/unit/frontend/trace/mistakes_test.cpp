// User mistakes: each gives an Error with the user's line, the value found and the value expected.
#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>

#include "tests/unit/frontend/traced.h"

namespace tw = tilewright;

// A mistake and its check stand on one line:
// clang-format off

namespace {

tw::I32 kept;  // names a value of an earlier trace

template <class F>
void expect_mistake(int line, const char* code, const std::string& expected, F body) {
  INFO(std::string(code));
  std::string what;
  try {
    traced::trace(body);
  } catch (const tw::Error& e) {
    what = e.what();
    CHECK(e.where().line == line);
    CHECK(e.where().file.find("mistakes_test.cpp") != std::string::npos);
  }
  INFO("what(): " << what);
  CHECK(what.find(": error: " + expected) != std::string::npos);
}

#define MISTAKE(EXPECTED, ...)                                                                                                     \
  expect_mistake(__LINE__, #__VA_ARGS__, EXPECTED,                                                                                 \
                 []([[maybe_unused]] tw::Ptr<const float> in, [[maybe_unused]] tw::Ptr<float> out, [[maybe_unused]] tw::I32 n,     \
                    [[maybe_unused]] tw::F32 f, [[maybe_unused]] tw::Bool b, [[maybe_unused]] tw::I8 c, [[maybe_unused]] tw::U8 u, \
                    [[maybe_unused]] tw::I64 j, [[maybe_unused]] tw::Tile<tw::f8e4m3> e4) { __VA_ARGS__; })

tw::I32 lanes(int count, tw::Here at = tw::Here::current()) { return tw::arange(0, count, at); }

}  // namespace

TEST_CASE("mistakes: shapes do not broadcast") {
  MISTAKE("operator+: 'a' is [64] and 'b' is [32]; extents must be equal or 1, aligned from the right, but 64 and 32 differ", lanes(64) + lanes(32));
  MISTAKE("operator*: 'a' is [4, 1] and 'b' is [8, 4]", tw::column(lanes(4)) * tw::zeros<int>({8, 4}));
  MISTAKE("operator<: 'a' is [2] and 'b' is [4]", (void)(lanes(2) < lanes(4)));
  MISTAKE("operator&&: 'a' is [2] and 'b' is [4]", (lanes(2) < 1) && (lanes(4) < 1));
  MISTAKE("operator+: 'a' is [64] and 'b' is [32]", auto x = lanes(64); x += lanes(32));
  MISTAKE("operator+: 'pointer' is [64] and 'offset' is [32]", in + lanes(64) + lanes(32));
  MISTAKE("operator-: 'pointer' is [64] and 'offset' is [32]", in + lanes(64) - lanes(32));
  MISTAKE("operator+: 'pointer' is [64] and 'offset' is [32]", auto p = in + lanes(64); p += lanes(32));
  MISTAKE("maximum: 'a' is [64] and 'b' is [32]", tw::maximum(lanes(64), lanes(32)));
  MISTAKE("pow: 'a' is [2] and 'b' is [4]", tw::pow(tw::zeros<float>({2}), tw::zeros<float>({4})));
  MISTAKE("fma: 'a' is [2] and 'c' is [4]", tw::fma(tw::zeros<float>({2}), f, tw::zeros<float>({4})));
  MISTAKE("clamp: 'x' is [2] and 'hi' is [4]", tw::clamp(lanes(2), 0, lanes(4)));
  MISTAKE("where: 'condition' is [2] and 'a' is [4]", tw::where(lanes(2) < 1, lanes(4), 0));
  MISTAKE("where: 'a' is [2] and 'b' is [4]", tw::where(b, lanes(2), lanes(4)));
  MISTAKE("operator+: a tile of shape [65536, 65536] is too large: at most 2^20 = 1048576 elements", tw::column(lanes(65536)) + tw::row(lanes(65536)));
}

TEST_CASE("mistakes: creation") {
  MISTAKE("arange: 100 elements; the number must be a power of two", tw::arange(0, 100));
  MISTAKE("arange: from 4 to 4; the end must be above the start", tw::arange(4, 4));
  MISTAKE("arange: from 8 to 0; the end must be above the start", tw::arange(8, 0));
  MISTAKE("zeros: extent 100 of shape [100] must be a power of two", tw::zeros<float>({100}));
  MISTAKE("zeros: extent -4 of shape [4, -4] must be positive", tw::zeros<float>({4, -4}));
  MISTAKE("ones: extent 0 of shape [0] must be positive", tw::ones<float>({0}));
  MISTAKE("zeros: a tile of shape [2048, 1024] is too large: at most 2^20 = 1048576 elements", tw::zeros<float>({2048, 1024}));
  MISTAKE("zeros: extent 4294967296 of shape [4294967296] is too large", tw::zeros<float>({std::int64_t{1} << 32}));
  MISTAKE("full: shape [1, 1, 1, 1, 1, 1] has 6 axes; a tile has at most 5", tw::full<float>({1, 1, 1, 1, 1, 1}, 0));
  MISTAKE("full: 'value' is [64] and does not broadcast to [32]", tw::full<int>({32}, lanes(64)));
  MISTAKE("full_like: 'value' is [64] and does not broadcast to the shape of 't', which is a scalar", tw::full_like(n, lanes(64)));
  MISTAKE("program_id: axis is 3; it must be 0, 1 or 2", tw::program_id(3));
  MISTAKE("num_programs: axis is -1; it must be 0, 1 or 2", tw::num_programs(-1));
}

TEST_CASE("mistakes: constants that do not fit") {
  MISTAKE("where: constant 16777217 is not exact in f32: write it as a float to have it rounded", tw::where(b, 16777217, 0.5f));
  MISTAKE("operator+: constant 300 does not fit i8 (-128 to 127)", c + 300);
  MISTAKE("operator+: constant -129 does not fit i8 (-128 to 127)", c + -129);
  MISTAKE("operator<: constant -1 does not fit u8 (0 to 255)", (void)(u < -1));
  MISTAKE("operator*: constant 4294967296 does not fit i32", n * (std::int64_t{1} << 32));
  MISTAKE("operator+: constant 18446744073709551615 does not fit i64", j + ~std::uint64_t{0});
  MISTAKE("operator*: constant 16777217 is not exact in f32: write it as a float to have it rounded", f * 16777217);
  MISTAKE("operator+: constant 2049 is not exact in f16", f.to<tw::f16>() + 2049);
  MISTAKE("operator*: constant 1e+39 overflows f32", f * 1e39);
  MISTAKE("operator*: constant 70000 overflows f16, whose greatest value is 65504", f.to<tw::f16>() * 70000.0f);
  MISTAKE("operator*: constant 70000 overflows f16", f.to<tw::f16>() * 70000);
  MISTAKE("where: f8e4m3 has no infinity", tw::where(b, e4, tw::inf));
  MISTAKE("full: f8e4m3 has no infinity", tw::full<tw::f8e4m3>({4}, -tw::inf));
  MISTAKE("full: constant 500 overflows f8e4m3, whose greatest value is 448", tw::full<tw::f8e4m3>({4}, 500.0));
  MISTAKE("constant: constant 256 does not fit u8", tw::U8 x = 256);
  MISTAKE("store: constant 16777217 is not exact in f32", tw::store(out, 16777217));
  MISTAKE("load: constant 1e+300 overflows f32", tw::load(in, b, 1e300));
}

TEST_CASE("mistakes: axes and shapes") {
  MISTAKE("sum: axis 2 is out of range: 't' is [4, 8], so it must be from -2 to 1", tw::sum(tw::zeros<float>({4, 8}), 2));
  MISTAKE("max: axis -3 is out of range: 't' is [4, 8]", tw::max(tw::zeros<float>({4, 8}), -3));
  MISTAKE("sum: axis 0 of 't', which is a scalar and has no axes", tw::sum(f, 0));
  MISTAKE("max: 't' is a scalar, and max reduces an axis of a tile; of two values, use maximum", tw::max(f, 0));
  MISTAKE("min: 't' is a scalar, and min reduces an axis of a tile; of two values, use minimum", tw::min(f));
  MISTAKE("argmax: axis 1 is out of range", tw::argmax(lanes(4), 1));
  MISTAKE("softmax: axis 1 is out of range", tw::softmax(tw::zeros<float>({4}), 1));
  MISTAKE("log_softmax: axis 0 of 't', which is a scalar", tw::log_softmax(f, 0));
  MISTAKE("column: 't' is [2, 2]; it must have one axis", tw::column(tw::zeros<float>({2, 2})));
  MISTAKE("row: 't' is a scalar; it must have one axis", tw::row(f));
  MISTAKE("transpose: 't' is [4]; it must have two axes or more", tw::transpose(lanes(4)));
  MISTAKE("expand_dims: axis 3 is out of range: 't' is [4], so it must be from -2 to 1", tw::expand_dims(lanes(4), 3));
  MISTAKE("expand_dims: 't' is [1, 1, 1, 1, 1]; a tile has at most 5 axes", tw::expand_dims(tw::zeros<float>({1, 1, 1, 1, 1}), 0));
  MISTAKE("squeeze: extent 4 of axis 0 of 't', which is [4], must be 1", tw::squeeze(lanes(4), 0));
  MISTAKE("broadcast_to: 't' is [4] and does not broadcast to [8]", tw::broadcast_to(lanes(4), {8}));
  MISTAKE("broadcast_to: 't' is [4, 1] and does not broadcast to [4]", tw::broadcast_to(tw::column(lanes(4)), {4}));
  MISTAKE("reshape: 't' is [4] with 4 elements; shape [2, 4] has 8", tw::reshape(lanes(4), {2, 4}));
  MISTAKE("permute: 't' is [2, 2]; axes [0] must name each of its 2 axes once", tw::permute(tw::zeros<float>({2, 2}), {0}));
  MISTAKE("permute: axes [0, -2] name axis 0 twice", tw::permute(tw::zeros<float>({2, 2}), {0, -2}));
  MISTAKE("roll: axis 1 is out of range: 't' is [4], so it must be from -1 to 0", tw::roll(lanes(4), 1, 1));
  MISTAKE("roll: 't' is a scalar and has no axes", tw::roll(f, 1));
  MISTAKE("roll: 'shift' is [4]; it must be a scalar", tw::roll(lanes(4), lanes(4), 0));
  MISTAKE("flip: axis 1 is out of range: 't' is [4], so it must be from -1 to 0", tw::flip(lanes(4), 1));
  MISTAKE("flip: axis 0 of 't', which is a scalar and has no axes", tw::flip(f, 0));
  MISTAKE("join: 'a' is [4] and 'b' is [8]; extents must be equal or 1, aligned from the right, but 4 and 8 differ", tw::join(lanes(4), lanes(8)));
  MISTAKE("join: 'a' is [1, 1, 1, 1, 1]; with one axis more it would have over 5", auto t = tw::zeros<float>({1, 1, 1, 1, 1}); tw::join(t, t));
  MISTAKE("split: 't' is [4]; its last axis must have extent 2", tw::split(lanes(4)));
  MISTAKE("split: 't' is a scalar; its last axis must have extent 2", tw::split(f));
  MISTAKE("interleave: 'a' is [2] and 'b' is [4]", tw::interleave(lanes(2), lanes(4)));
  MISTAKE("interleave: a tile of shape [2097152] is too large", tw::interleave(tw::zeros<float>({1 << 20}), f));
  MISTAKE("cat: 'b' is [8]; its shape must be [4] as that of 'a'", tw::cat(lanes(4), lanes(8), 0));
  MISTAKE("cat: axis 1 is out of range: 'a' is [4], so it must be from -1 to 0", tw::cat(lanes(4), lanes(4), 1));
  MISTAKE("cat: axis 0 of 'a', which is a scalar and has no axes", tw::cat(f, f, 0));
  MISTAKE("extent: axis 1 is out of range: 't' is [4]", (void)lanes(4).extent(1));
}

TEST_CASE("mistakes: loads, stores and dot") {
  MISTAKE("load: 'mask' is [64] and does not broadcast to the shape of 'pointer', which is a scalar", tw::load(in, lanes(64) < n));
  MISTAKE("load: 'mask' is [64] and does not broadcast to the shape of 'pointer', which is [32]", tw::load(in + lanes(32), lanes(64) < n));
  MISTAKE("load: 'other' is [64] and does not broadcast", tw::load(in + lanes(32), b, tw::zeros<float>({64})));
  MISTAKE("store: 'value' is [64] and does not broadcast to the shape of 'pointer', which is a scalar", tw::store(out, tw::zeros<float>({64})));
  MISTAKE("store: 'mask' is [2, 1] and does not broadcast to the shape of 'pointer', which is [4]", tw::store(out + lanes(4), 0, tw::zeros<bool>({2, 1})));
  MISTAKE("load: cache = 6; it must be an enumerator of Cache, 0 to 5", tw::load(in, {}, {}, {.cache = static_cast<tw::Cache>(6)}));
  MISTAKE("load: evict = 3; it must be an enumerator of Evict, 0 to 2", tw::load(in, {}, {}, {.evict = static_cast<tw::Evict>(3)}));
  MISTAKE("dot: precision = 5; it must be an enumerator of Precision, 0 to 4", tw::dot(tw::zeros<float>({16, 16}), tw::zeros<float>({16, 16}), {}, static_cast<tw::Precision>(5)));
  MISTAKE("dot: 'a' is [4]; it must be [M, K], or [batch, M, K]", tw::dot(tw::zeros<float>({4}), tw::zeros<float>({4, 4})));
  MISTAKE("dot: 'b' is [2, 4, 4] and 'a' is [4, 4]; they must have the same number of axes", tw::dot(tw::zeros<float>({4, 4}), tw::zeros<float>({2, 4, 4})));
  MISTAKE("dot: 'b' is [64, 16]; its first extent must equal K = 32 of 'a'", tw::dot(tw::zeros<float>({16, 32}), tw::zeros<float>({64, 16})));
  MISTAKE("dot: 'acc' is f32[16, 32]; it must be f32[16, 16]", tw::dot(tw::zeros<float>({16, 32}), tw::zeros<float>({32, 16}), tw::zeros<float>({16, 32})));
  MISTAKE("bitcast: 'x' is u8, 8 bits wide", u.bitcast<bool>());
}

TEST_CASE("mistakes: empty handles and handles of elsewhere") {
  MISTAKE("operator+: 'a' is empty: a tile must be assigned before it is used", tw::F32 x; x + 1);
  MISTAKE("operator+: 'b' is empty", tw::F32 x; f + x);
  MISTAKE("exp: 'x' is empty", tw::F32 x; tw::exp(x));
  MISTAKE("load: 'pointer' is empty", tw::Ptr<const float> p; tw::load(p));
  MISTAKE("load: 'mask' is empty", tw::Bool m; tw::load(in, m));
  MISTAKE("load: 'pointer' is empty", tw::Ptr<float> p; tw::Ptr<const float> q = p; tw::load(q));
  MISTAKE("store: 'value' is empty", tw::F32 x; tw::store(out, x));
  MISTAKE("extent: 't' is empty", tw::F32 x; (void)x.extent(0));
  MISTAKE("when: 'condition' is empty", tw::Bool m; tw::when(m, [] {}));
  MISTAKE("range: 'hi' is empty", tw::I32 x; for (auto i : tw::range(0, x)) (void)i);
  traced::trace([](tw::I32 n) { kept = n; });
  MISTAKE("operator+: 'a' belongs to another trace: a tile lives only while the kernel that made it is traced", kept + 1);
  MISTAKE("operator+: 'b' belongs to another trace", n + kept);
  kept = tw::I32();
}

TEST_CASE("mistakes: tiles outside of a kernel") {
  const auto what_of = [](auto body) -> std::string {
    try {
      body();
    } catch (const tw::Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(what_of([] { tw::arange(0, 4); }).find("arange: no kernel is being traced here") != std::string::npos);
  CHECK(what_of([] { tw::F32 x = 1; }).find("constant: no kernel is being traced here") != std::string::npos);
  tw::F32 a, b;
  const std::string what = what_of([&] { a + b; });
  CHECK(what.find("mistakes_test.cpp:" + std::to_string(__LINE__ - 1)) != std::string::npos);
}

TEST_CASE("mistakes: leaving a loop early") {
  MISTAKE("the body of this loop was left by break, return or goto", for (auto i : tw::range(0, n)) { (void)i; break; });
  MISTAKE("the body of this loop was left by break, return or goto", for (auto i : tw::range(0, n)) { (void)i; return; });
  MISTAKE("the body of this loop was left early", try { for (auto i : tw::range(0, n)) { (void)i; throw 3; } } catch (int) {} );
  MISTAKE("the body of this loop was left early", try { for (auto i : tw::range(0, n)) { (void)i; throw 3; } } catch (int) {} n + 1);
  MISTAKE("the body of this loop was left by break", [&] { for (auto i : tw::range(0, n)) return tw::F32(i.to<float>()); return f; }());
  MISTAKE("the body of this when was left early", try { tw::when(b, [] { throw 3; }); } catch (int) {} n + 1);
  MISTAKE("the body of this loop_while was left early", try { tw::loop_while([&] { return b; }, [] { throw 3; }); } catch (int) {} n + 1);
  MISTAKE("the body of this combine function was left early", try { tw::reduce(lanes(4), 0, [](tw::I32 x, tw::I32) { return throw 3, x; }); } catch (int) {} n + 1);
}

TEST_CASE("mistakes: the outer of two loops is left through the inner one") {
  expect_mistake(__LINE__ + 2, "", "the body of this loop was left by break", [](tw::I32 n) {
    for (auto i : tw::range(0, n))
      for (auto j : tw::range(0, i)) { (void)j; return; }
  });
}

TEST_CASE("mistakes: a loop that changes a shape names the line that made the value") {
  expect_mistake(__LINE__ + 3, "", "a loop cannot change the shape of a variable: this tile is [64], and the variable that it is assigned to is a scalar", [](tw::I32 n) {
    tw::I32 x = 0;
    for (auto i : tw::range(0, n)) {
      x = x + lanes(64) + i;
    }
  });
  expect_mistake(__LINE__ + 2, "", "a loop_while cannot change the shape of a variable", [](tw::I32 n) {
    tw::loop_while([&] { return n < 9; }, [&] {
      n = n * 0 + lanes(4);
    });
  });
  expect_mistake(__LINE__ + 2, "", "the branches of a when must agree on the shape of a variable: this tile is [4], and after the other branch the variable is a scalar", [](tw::I32 n) {
    tw::when(n > 0, [&] {
      n = n + lanes(4);
    });
  });
}

TEST_CASE("mistakes: values of a loop or a branch used outside of it") {
  expect_mistake(__LINE__ + 3, "", "operator+: 'a' was made inside of a loop and is used outside of it; give the variable a value before the loop", [](tw::I32 n) {
    tw::I32 last;
    for (auto i : tw::range(0, n)) last = i;
    last + 1;
  });
  MISTAKE("operator+: 'a' got its first value in only one branch of a when", tw::I32 x; tw::when(b, [&] { x = n; }); x + 1);
  MISTAKE("operator+: 'a' got its first value in only one branch of a when", tw::I32 x; tw::when(b, [&] { x = n * 2; }); x + 1);
  MISTAKE("operator+: 'a' got its first value in only one branch of a when", tw::I32 x; tw::when(b, [] {}, [&] { x = n; }); x + 1);
  MISTAKE("operator+: 'a' is empty", tw::I32 x = n; tw::when(b, [&] { x = tw::I32(); }); x + 1);
  MISTAKE("operator+: 'a' is empty", tw::I32 x; tw::when(b, [&] { x = n; }, [&] { x + 1; }));
  MISTAKE("operator+: 'a' was made inside of a loop_while and is used outside of it", tw::I32 x; tw::loop_while([&] { return b; }, [&] { x = n + 1; }); x + 1);
  MISTAKE("operator+: 'a' was made inside of a combine function", std::optional<tw::I32> x; tw::reduce(lanes(4), 0, [&](tw::I32 p, tw::I32 q) { x = p; return q; }); *x + 1);
}

TEST_CASE("mistakes: a variable that is destroyed or emptied in a loop that uses it") {
  MISTAKE("a variable that the body of this loop uses is destroyed in it", std::vector<tw::I32> v{1}; for (auto i : tw::range(0, n)) { std::vector<tw::I32> next{v[0] + i}; v = std::move(next); });
  MISTAKE("a variable that the body of this loop uses becomes empty in it", tw::I32 x = 1; for (auto i : tw::range(0, n)) { x + i; x = tw::I32(); });
}

TEST_CASE("mistakes: control") {
  MISTAKE("when: 'condition' is [4]; it must be a scalar", tw::when(lanes(4) < n, [] {}));
  MISTAKE("loop_while: 'condition' is [4]; it must be a scalar", tw::loop_while([&] { return lanes(4) < n; }, [] {}));
  MISTAKE("range: 'step' is 0; it must be positive or negative", for (auto i : tw::range(0, n, 0)) (void)i);
  MISTAKE("range: 'hi' is [4]; it must be a scalar", for (auto i : tw::range(0, lanes(4))) (void)i);
  MISTAKE("range: constant 3000000000 does not fit i32", for (auto i : tw::range(0, 3000000000u)) (void)i);
  MISTAKE("range: num_stages is 9; it must be from 1 to 8", for (auto i : tw::range(0, n, 1, {.num_stages = 9})) (void)i);
  MISTAKE("when: a loop inside of this one was begun and never ended", std::optional<tw::Range<int>> r; tw::when(b, [&] { r.emplace(tw::detail::input(0, tw::Here::current()), tw::detail::input(n, tw::Here::current()), tw::detail::input(1, tw::Here::current()), tw::RangeOptions()); (void)r->begin(); }));
  MISTAKE("range: unroll is 0; it must be at least 1", for (auto i : tw::range(0, n, 1, {.unroll = 0})) (void)i);
  MISTAKE("reduce: the combine function gives [4]; it takes and gives scalars", tw::reduce(lanes(4), 0, [](tw::I32 p, tw::I32 q) { return p + q + lanes(4); }));
  MISTAKE("reduce: the combine function assigns to a variable outside of it", tw::reduce(lanes(4), 0, [&](tw::I32 p, tw::I32 q) { n = p; return p + q; }));
  MISTAKE("reduce: axis 1 is out of range", tw::reduce(lanes(4), 1, [](tw::I32 p, tw::I32 q) { return p + q; }));
  MISTAKE("store: a combine function only computes with its elements; it cannot load, store, reduce, branch or loop", tw::reduce(lanes(4), 0, [&](tw::I32 p, tw::I32 q) { tw::store(out, 1); return p + q; }));
}

TEST_CASE("mistakes: 64-bit counters of philox before others") {
  MISTAKE("philox: 'c0' has 64 bits, and its high word is 'c1', which is given as well; cast it to 32 bits, or give its two words", tw::philox(1, j, 0));
  MISTAKE("philox: 'c1' has 64 bits, and its high word is 'c2', which is given as well", tw::philox(1, n, j, n));
  MISTAKE("philox: 'c3' has 64 bits, and there is no counter after it for its high word", tw::philox(1, n, n, n, j));
  MISTAKE("philox: 'c0' has 64 bits, and its high word is 'c1'", tw::philox(1, std::int64_t{1} << 32, 0));
}
