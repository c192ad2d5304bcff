// User mistakes end to end: the error of a launch names the user's line, nothing runs, and the same kernel works afterwards.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/messages.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

// A mistake and its check stand on one line:
// clang-format off

namespace {

using tilewright::test::has;

std::vector<float> counted() {
  std::vector<float> v(64);
  for (int i = 0; i < 64; ++i) v[i] = static_cast<float>(i);
  return v;
}

using Body = std::function<void(tw::Ptr<const float>, tw::Ptr<float>, tw::Ptr<int>, tw::I32, tw::F32, tw::Bool, tw::I8, tw::U8, tw::I64, tw::F16)>;

/// Launches a kernel that goes wrong where `wrong` is 1, and then the same kernel where it does not.
struct Bench {
  tw::Device device;
  tw::Buffer<float> in = device.upload(counted()), out = device.upload(counted());
  tw::Buffer<int> ints = device.upload(std::vector<int>(64, 7));
  tw::Kernel<void(tw::Ptr<const float>, tw::Ptr<float>, tw::Ptr<int>, tw::I32, tw::F32, tw::Bool, tw::I8, tw::U8, tw::I64, tw::F16, int)> kernel;

  explicit Bench(Body body, const char* device = "cpu")
      : device(tw::Device::open(device)), kernel("bench", [body](tw::Ptr<const float> from, tw::Ptr<float> to, tw::Ptr<int> pi, tw::I32 n, tw::F32 f, tw::Bool b, tw::I8 c, tw::U8 u, tw::I64 j, tw::F16 h, int wrong) {
          auto lane = tw::arange(0, 64);
          tw::store(to + lane, tw::load(from + lane) * 2);
          if (wrong != 0) body(from, to, pi, n, f, b, c, u, j, h);
        }) {}
  void launch(int wrong, bool check = false) {
    kernel({.grid = check ? 1 : 2, .check = check}, in, out, ints, 5, 2.5f, true, std::int8_t{3}, std::uint8_t{4}, 6, tw::f16(1.0f), wrong);
  }
};

void expect_error(int line, const char* code, const std::string& expected, const std::function<void()>& act) {
  INFO(std::string(code));
  std::string what;
  try {
    act();
  } catch (const tw::Error& e) {
    what = e.what();
    CHECK(e.where().line == line);
    CHECK(has(e.where().file, "launch_mistakes_test.cpp"));
    CHECK(what.rfind(e.where().file + ":" + std::to_string(line) + ":", 0) == 0);
  }
  INFO("what(): " << what);
  CHECK(has(what, ": error: " + expected));
}

void expect_mistake(int line, const char* code, const std::string& expected, const Body& body) {
  Bench bench(body);
  expect_error(line, code, expected, [&] { bench.launch(1); });
  CHECK(bench.out.download() == counted());
  CHECK(bench.ints.download() == std::vector<int>(64, 7));
  bench.launch(0);
  CHECK(bench.out.download()[63] == 126);
}

// Leaves user code that must run, and checks that the launch after it still works.
void expect_refused(int line, const char* code, const std::string& expected, const std::function<void(Bench&)>& act) {
  Bench bench([](auto&&...) {});
  expect_error(line, code, expected, [&] { act(bench); });
  bench.in = bench.device.upload(counted());
  bench.out = bench.device.upload(counted());
  bench.launch(0);
  CHECK(bench.out.download()[63] == 126);
}

#define PARAMETERS                                                                                                                    \
  [[maybe_unused]] tw::Ptr<const float> in, [[maybe_unused]] tw::Ptr<float> out, [[maybe_unused]] tw::Ptr<int> pi,                    \
      [[maybe_unused]] tw::I32 n, [[maybe_unused]] tw::F32 f, [[maybe_unused]] tw::Bool b, [[maybe_unused]] tw::I8 c,                 \
      [[maybe_unused]] tw::U8 u, [[maybe_unused]] tw::I64 j, [[maybe_unused]] tw::F16 h
#define MISTAKE(EXPECTED, ...) expect_mistake(__LINE__, #__VA_ARGS__, EXPECTED, [](PARAMETERS) { __VA_ARGS__; })
#define REFUSED(EXPECTED, ...) expect_refused(__LINE__, #__VA_ARGS__, EXPECTED, []([[maybe_unused]] Bench& bench) { __VA_ARGS__; })
/// An access that checked mode reports at its line.
#define OUTSIDE(EXPECTED, ...) expect_outside(__LINE__, #__VA_ARGS__, EXPECTED, [](PARAMETERS) { __VA_ARGS__; })
/// There is no mistake, or none that can be detected: it must run.
#define FINE(...) Bench([](PARAMETERS) { __VA_ARGS__; }).launch(1)

void expect_outside(int line, const char* code, const std::string& expected, const Body& body) {
  for (const char* device : {"cpu", "emulator:sm_80"}) {
    INFO(std::string(device));
    Bench bench(body, device);
    expect_error(line, code, expected, [&] { bench.launch(1, true); });
    bench.launch(0, true);
    CHECK(bench.out.download()[63] == 126);
  }
}

tw::I32 lanes(int count, tw::Here at = tw::Here::current()) { return tw::arange(0, count, at); }

void set(tw::Ptr<int> p, tw::I32 value) { tw::store(p, value); }

struct State {
  tw::F32 sum;
  tw::I32 count;
};

}  // namespace

TEST_CASE("launch mistakes: shapes") {
  MISTAKE("fmin: 'a' is [8] and 'b' is [16]", tw::fmin(tw::zeros<float>({8}), tw::zeros<float>({16})));
  MISTAKE("umulhi: 'a' is [8] and 'b' is [16]", tw::umulhi(tw::zeros<unsigned>({8}), tw::zeros<unsigned>({16})));
  MISTAKE("operator<<: 'a' is [8] and 'b' is [16]", auto x = lanes(8); x <<= lanes(16));
  MISTAKE("operator|: 'a' is [8] and 'b' is [4]", (void)(tw::zeros<bool>({8}) | tw::zeros<bool>({4})));
  MISTAKE("operator+: 'a' is [8] and 'b' is [4]", tw::zeros<tw::f16>({8}) + tw::zeros<tw::bf16>({4}));
  MISTAKE("operator+: 'a' is [2, 2, 2] and 'b' is [4, 2]", tw::zeros<int>({2, 2, 2}) + tw::zeros<int>({4, 2}));
  MISTAKE("cdiv: 'a' is [8] and 'b' is [4]", tw::cdiv(lanes(8), lanes(4)));
  MISTAKE("grouped_order: 'pid' is [8] and 'tiles_m' is [4]", tw::grouped_order(lanes(8), lanes(4), 3, 2));
  MISTAKE("store: 'value' is [4, 8] and does not broadcast to the shape of 'pointer', which is [4, 1]", tw::store(out + tw::column(lanes(4)), tw::zeros<float>({4, 8})));
  MISTAKE("load: 'mask' is [4, 1] and does not broadcast to the shape of 'pointer', which is [4]", tw::load(in + lanes(4), tw::column(lanes(4)) < 3));
  MISTAKE("arange: the result i32[2097152] has 2^21 elements; a tile has at most 2^20", tw::arange(0, 1 << 21));
  MISTAKE("arange: from -9223372036854775808 to 9223372036854775807; the elements must fit i32", tw::arange(INT64_MIN, INT64_MAX));
  MISTAKE("reshape: 't' is [8] with 8 elements; a scalar has 1", tw::reshape(lanes(8), {}));
  MISTAKE("reshape: extent -1 of shape [-1, 2] must be positive", tw::reshape(lanes(8), {-1, 2}));
  MISTAKE("permute: axis 3 is out of range: 't' is [2, 4, 8], so it must be from -3 to 2", tw::permute(tw::zeros<int>({2, 4, 8}), {0, 1, 3}));
  MISTAKE("xor_sum: axis 9223372036854775807 is out of range", tw::xor_sum(lanes(8), INT64_MAX));
  MISTAKE("dot: 'b' is [4, 32, 16]; its batch extent must be 2 as that of 'a'", tw::dot(tw::zeros<float>({2, 16, 32}), tw::zeros<float>({4, 32, 16})));
  MISTAKE("dot: 'acc' is empty", tw::dot(tw::zeros<float>({16, 32}), tw::zeros<float>({32, 16}), tw::F32()));
  MISTAKE("dot: a tile of shape [2048, 2048] is too large", tw::dot(tw::zeros<float>({2048, 512}), tw::zeros<float>({512, 2048})));
}

TEST_CASE("launch mistakes: constants") {
  MISTAKE("operator-: constant 300 does not fit i8 (-128 to 127)", 300 - c);
  MISTAKE("operator+: constant -1 does not fit u8 (0 to 255)", -1 + u);
  MISTAKE("operator*: constant 65520 overflows f16, whose greatest value is 65504", h * 65520.0f);
  MISTAKE("operator<: constant 3000000000 does not fit i32", (void)(n < 3000000000u));
  MISTAKE("operator*: constant 200 does not fit i8", c *= 200);
  MISTAKE("clamp: constant -1 does not fit u8", tw::clamp(u, -1, 5));
  MISTAKE("fma: constant 1000000 overflows f16", tw::fma(h, 1e6, h));
  MISTAKE("constant: constant 1000000 overflows f16", tw::F16 x = 1e6);
  MISTAKE("full: constant 1000000 overflows f8e5m2", tw::full<tw::f8e5m2>({4}, 1e6));
  MISTAKE("store: constant 1099511627776 does not fit i32", tw::store(pi, std::int64_t{1} << 40));
  FINE(h * 65519.0f; tw::full<tw::f8e5m2>({4}, -tw::inf); tw::full<tw::f8e4m3>({4}, tw::nan));
}

TEST_CASE("launch mistakes: bodies that are left early") {
  MISTAKE("the body of this loop was left by break, return or goto", for (auto i : tw::range(0, n)) { tw::store(out + i, f); goto end; } end: tw::store(out, f));
  MISTAKE("the body of this loop was left by break", for (auto i : tw::range(0, n)) { for (auto k : tw::range(0, i)) tw::store(out + k, f); break; });
  MISTAKE("the body of this loop was left by break", tw::when(b, [&] { for (auto k : tw::range(0, n)) { (void)k; return; } }));
  MISTAKE("the body of this loop was left early", try { for (auto i : tw::range(0, n)) { (void)i; break; } } catch (const tw::Error&) {} tw::store(out, f));
  MISTAKE("the body of this when was left early", try { tw::when(b, [] {}, [] { throw 3; }); } catch (int) {} tw::store(out, f));
  MISTAKE("the body of this loop was left by break", auto r = tw::range(0, 4); auto it = r.begin(); (void)*it);
  MISTAKE("range: this range is already being looped over", auto r = tw::range(0, 4); auto it = r.begin(); (void)it; (void)r.begin());
  MISTAKE("operator+: 'a' was made inside of a loop", auto r = tw::range(0, 4); auto it = r.begin(); ++it; ++it; *it + 1);
  FINE(for (auto i : tw::range(0, n)) { try { throw 1; } catch (int) { (void)i; } continue; });
}

namespace {
/// An exception that is not a std::exception: only its type is known.
struct Mine {
  int value;
};

/// Launches a kernel whose body throws Mine{value}; it must reach the caller as it is, and the same kernel works afterwards.
void expect_mine(int value, const Body& body) {
  Bench bench(body);
  int seen = 0;
  try {
    bench.launch(1);
  } catch (const Mine& mine) {
    seen = mine.value;
  }
  CHECK(seen == value);
  CHECK(bench.out.download() == counted());
  bench.launch(0);
  CHECK(bench.out.download()[63] == 126);
}
}  // namespace

TEST_CASE("launch mistakes: a user's exception keeps its type, and the kernel works after it") {
  using I = tw::I32;
  expect_mine(1, [](PARAMETERS) { throw Mine{1}; });
  expect_mine(2, [](PARAMETERS) { for (auto i : tw::range(0, n)) { (void)i; throw Mine{2}; } });
  expect_mine(3, [](PARAMETERS) { for (auto i : tw::range(0, n)) for (auto k : tw::range(0, i)) { (void)k; throw Mine{3}; } });
  expect_mine(4, [](PARAMETERS) { tw::when(b, [] { throw Mine{4}; }); });
  expect_mine(5, [](PARAMETERS) { tw::when(b, [] {}, [] { throw Mine{5}; }); });
  expect_mine(6, [](PARAMETERS) { tw::loop_while([]() -> tw::Bool { throw Mine{6}; }, [] {}); });
  expect_mine(7, [](PARAMETERS) { tw::loop_while([&] { return b; }, [] { throw Mine{7}; }); });
  expect_mine(8, [](PARAMETERS) { tw::reduce(lanes(8), 0, [](I x, I) { return throw Mine{8}, x; }); });
  expect_mine(9, [](PARAMETERS) { tw::scan(lanes(8), 0, [](I x, I) { return throw Mine{9}, x; }); });
  expect_mine(10, [](PARAMETERS) { try { for (auto i : tw::range(0, n)) { (void)i; throw 3; } } catch (int) { throw Mine{10}; } });
  Bench bench([](PARAMETERS) { for (auto i : tw::range(0, n)) { (void)i; (void)std::vector<int>().at(3); } });
  CHECK_THROWS_AS(bench.launch(1), std::out_of_range);
}

TEST_CASE("launch mistakes: variables of loops and branches") {
  MISTAKE("a loop cannot change the shape of a variable: this tile is [8], and the variable that it is assigned to is a scalar", State s{f, n}; for (auto i : tw::range(0, n)) { (void)i; s.sum = s.sum + tw::zeros<float>({8}); });
  MISTAKE("a loop cannot change the shape of a variable: this tile is a scalar, and the variable that it is assigned to is [8]", auto p = out + lanes(8); for (auto i : tw::range(0, n)) p = out + i);
  MISTAKE("store: 'value' was made inside of a loop", std::vector<tw::F32> v; for (auto i : tw::range(0, n)) v.push_back(i.to<float>()); tw::store(out, v[0]));
  MISTAKE("store: 'value' was made inside of a loop", std::map<int, tw::F32> m; for (auto i : tw::range(0, n)) m[0] = i.to<float>(); tw::store(out, m[0]));
  MISTAKE("store: 'value' was made inside of a loop", for (auto i : tw::range(0, n)) { tw::F32 x; for (auto k : tw::range(0, i)) x = k.to<float>(); tw::store(out, x); });
  MISTAKE("operator+: 'a' is empty", tw::I32 x; for (auto i : tw::range(0, n)) x += i);
  MISTAKE("the branches of a when must agree on the shape of a variable: this tile is [4], and after the other branch the variable is [8]", tw::F32 x = f; tw::when(b, [&] { x = tw::zeros<float>({4}); }, [&] { x = tw::zeros<float>({8}); }));
  MISTAKE("store: 'value' got its first value in only one branch of a when", for (auto i : tw::range(0, n)) { tw::F32 x; tw::when(i > 0, [&] { x = f; }); tw::store(out, x); });
  MISTAKE("a loop_while cannot change the shape of a variable", tw::F32 x = f; tw::loop_while([&] { x = tw::zeros<float>({4}); return n < 2; }, [&] { n += 1; }));
  MISTAKE("when: 'condition' is [1]; it must be a scalar", tw::when(tw::zeros<bool>({1}), [] {}));
  MISTAKE("loop_while: 'condition' is empty", tw::loop_while([] { return tw::Bool(); }, [] {}));
  MISTAKE("range: 'step' is 0", for (auto i : tw::range(0, 10, std::int64_t{0})) (void)i);
  MISTAKE("range: constant 18446744073709551615 does not fit i64", for (auto i : tw::range(j, ~std::uint64_t{0})) (void)i);
}

TEST_CASE("launch mistakes: combine functions") {
  MISTAKE("when: a combine function only computes with its elements", tw::reduce(lanes(8), 0, [](tw::I32 x, tw::I32 y) { tw::when(x < y, [&] { x = y; }); return x; }));
  MISTAKE("range: a combine function only computes", tw::reduce(lanes(8), 0, [](tw::I32 x, tw::I32 y) { for (auto i : tw::range(0, 3)) x += y + i; return x; }));
  MISTAKE("loop_while: a combine function only computes", tw::reduce(lanes(8), 0, [](tw::I32 x, tw::I32 y) { tw::loop_while([&] { return x < y; }, [&] { x += 1; }); return x; }));
  MISTAKE("load: a combine function only computes", tw::reduce(lanes(8), 0, [&](tw::I32 x, tw::I32 y) { return x + y + tw::load(pi); }));
  MISTAKE("store: a combine function only computes", tw::reduce(lanes(8), 0, [&](tw::I32 x, tw::I32 y) { tw::store(pi, x); return x + y; }));
  MISTAKE("reduce: a combine function only computes", auto t = lanes(4); tw::reduce(lanes(8), 0, [&](tw::I32 x, tw::I32 y) { return x + y + tw::reduce(t, 0, [](tw::I32 p, tw::I32 q) { return p + q; }); }));
  MISTAKE("reduce: i32[4] in the region of 'reduce', which works on scalars", auto t = lanes(4); tw::reduce(lanes(8), 0, [&](tw::I32 x, tw::I32 y) { return x + y + tw::sum(t); }));
  MISTAKE("reduce: the combine function gives [8]; it takes and gives scalars", auto t = lanes(8); tw::reduce(t, 0, [&](tw::I32 x, tw::I32 y) { return x + y + t; }));
  MISTAKE("reduce: 'get<0>(t)' is [8] and 'get<1>(t)' is [4]", tw::reduce(std::tuple{lanes(8), lanes(4)}, 0, [](std::tuple<tw::I32, tw::I32> x, std::tuple<tw::I32, tw::I32>) { return x; }));
  MISTAKE("reduce: 'get<1>(t)' is empty", tw::reduce(std::tuple{lanes(8), tw::I32()}, 0, [](std::tuple<tw::I32, tw::I32> x, std::tuple<tw::I32, tw::I32>) { return x; }));
  FINE(tw::store(pi, tw::reduce(lanes(8), 0, [&](tw::I32 x, tw::I32 y) { return x + y + n; })));
}

TEST_CASE("launch mistakes: a combine function's error notes the reduction") {
  const int reduced = __LINE__ + 2;
  Bench bench([](PARAMETERS) {
    tw::reduce(lanes(8), 0, [&](tw::I32 x, tw::I32 y) {
      tw::store(pi, x);
      return x + y;
    });
  });
  try {
    bench.launch(1);
    FAIL("nothing was thrown");
  } catch (const tw::Error& e) {
    CHECK(e.where().line == reduced + 1);
    const std::string what = e.what(), note = what.substr(what.find('\n') + 1);
    CHECK(has(note, "note: it combines the elements of this reduction"));
    // For a call over several lines, compilers report different lines.
    CHECK((has(note, ".cpp:" + std::to_string(reduced) + ":") || has(note, ".cpp:" + std::to_string(reduced + 3) + ":")));
  }
}

TEST_CASE("launch mistakes: handles and threads") {
  static tw::I32 kept;
  const auto keep = [] { Bench([](PARAMETERS) { kept = tw::load(pi); }).launch(1); };
  keep();
  MISTAKE("operator+: 'a' belongs to another trace", for (auto i : tw::range(0, n)) kept += i);
  keep();
  REFUSED("operator+: no kernel is being traced here", (void)bench; kept + 1);
  kept = {};
  REFUSED("range: no kernel is being traced here", for (auto i : tw::range(0, 10)) (void)i);
  REFUSED("program_id: no kernel is being traced here", tw::program_id(0));
  REFUSED("load: no kernel is being traced here", tw::load(tw::Ptr<float>()));
  MISTAKE("operator+: no kernel is being traced here", std::exception_ptr thrown; std::thread([&] { try { n + 1; } catch (...) { thrown = std::current_exception(); } }).join(); std::rethrow_exception(thrown));
  MISTAKE("store: 'value' belongs to another trace", std::vector<tw::I32> copies; std::thread([&] { copies.push_back(n); }).join(); tw::store(pi, copies[0]));
}

TEST_CASE("launch mistakes: handles may be destroyed in another thread") {
  Bench bench([](PARAMETERS) {
    auto sum = n;
    std::thread([mine = n] { (void)mine; }).join();
    auto gone = std::make_unique<tw::I32>(n);
    std::thread([&] { gone.reset(); }).join();
    for (auto i : tw::range(0, 3)) sum += i;
    tw::when(b, [&] { sum += 1; });
    tw::store(pi, sum);
  });
  bench.launch(1);
  CHECK(bench.ints.download()[0] == 9);
}

TEST_CASE("launch mistakes: kernels without a function, and what they are launched on") {
  REFUSED("launch of 'null': the kernel has no function", tw::Kernel<void(tw::Ptr<int>)> k("null", nullptr); k({.grid = 1}, bench.ints));
  REFUSED("launch of 'null': the kernel has no function", tw::Kernel k("null", static_cast<void (*)(tw::Ptr<int>)>(nullptr)); k({.grid = 1}, bench.ints));
  REFUSED("compile of 'null': the kernel has no function", tw::Kernel<void(tw::Ptr<int>)> k("null", nullptr); (void)k.compile("cpu", {}, tw::pointer<int>()));
  REFUSED("this kernel has been moved from", tw::Kernel k("set", set); auto other = std::move(k); k({.grid = 1}, bench.ints, 1));
  REFUSED("kernel 'set': argument 1: this buffer is empty", tw::Kernel k("set", set); k({.grid = 1}, tw::Buffer<int>() + 1, 1));
  REFUSED("kernel 'set': argument 2: 3000000000 does not fit this parameter: it must be -2147483648 to 2147483647", tw::Kernel k("set", set); k({.grid = 1}, bench.ints, 3000000000u));
  REFUSED("launch of 'set': the stream is none", tw::Kernel k("set", set); auto s = bench.device.stream(); auto t = std::move(s); k({.grid = 1, .stream = s}, bench.ints, 1));
  REFUSED("launch of 'none': no buffer and no stream says on which device", tw::Kernel k("none", [] {}); k({.grid = 1}));
  REFUSED("buffer + 9223372036854775807: the buffer has 64 elements", tw::Kernel k("set", set); k({.grid = 1}, bench.ints + INT64_MAX, 1));
}

TEST_CASE("launch mistakes: compilation for other targets") {
  REFUSED("compile of 'set': target 'sm_12': it is not a target; there are cpu, cpu:x86-64, cpu:x86-64-v3, cpu:x86-64-v4, sm_75", tw::Kernel k("set", set); (void)k.compile("sm_12", {}, tw::pointer<int>(), 1));
  REFUSED("compile of 'set': target 'sm_90b': it is not a target", tw::Kernel k("set", set); (void)k.compile("sm_90b", {}, tw::pointer<int>(), 1));
  REFUSED("compile of 'set': num_warps is 5; it must be 1, 2, 4, 8, 16 or 32", tw::Kernel k("set", set); (void)k.compile("sm_80", {.num_warps = 5}, tw::pointer<int>(), 1));
  REFUSED("compile of 'set': target '': it is not a target; there are cpu", tw::Kernel k("set", set); (void)k.compile("", {}, tw::pointer<int>(), 1));
  REFUSED("compile of 'set': target 'cuda:0': it is not a target", tw::Kernel k("set", set); (void)k.compile("cuda:0", {}, tw::pointer<int>(), 1));
  REFUSED("compile of 'set': the grid has 0 programs along axis 0", tw::Kernel k("set", set); (void)k.compile("cpu", {.grid = 0}, tw::pointer<int>(), 1));
  REFUSED("kernel 'set': argument 1: an alignment of -16 bytes", tw::Kernel k("set", set); (void)k.compile("cpu", {}, tw::pointer<int>(-16), 1));
  REFUSED("kernel 'set': argument 2: a multiple of -16", tw::Kernel k("set", set); (void)k.compile("cpu", {}, tw::pointer<int>(), tw::scalar<int>(-16)));
  REFUSED("kernel 'float': argument 1: a multiple of 2 that is not an integer", tw::Kernel k("float", [](tw::F32) {}); (void)k.compile("cpu", {}, tw::scalar<float>(2)));
}

TEST_CASE("launch mistakes: views") {
  REFUSED("view: extents {8, 8} with strides {9, 1} reach from element 0 to element 70 of a buffer of 64 elements", (void)tw::view(bench.in, {8, 8}, {9, 1}));
  REFUSED("view: extents {8, 8} with strides {-8, 1} reach from element -56 to element 7", (void)tw::view(bench.in, {8, 8}, {-8, 1}));
  REFUSED("view: extents {1099511627776, 1099511627776} have more than 2^63 elements", (void)tw::view(bench.in, {std::int64_t{1} << 40, std::int64_t{1} << 40}));
  REFUSED("view: extent -8 of axis 0; it must not be negative", (void)tw::view(bench.in, {-8, 8}));
  const auto copy = [](tw::View<const float, 2> from, tw::View<float, 2> to) { to.store({0, 0}, from.load({0, 0}, {8, 8})); };
  static const tw::Kernel k("copy", copy);
  REFUSED("view: extents {8, 8} with strides {8, 1} reach from element 0 to element 63 of a buffer of 4 elements", auto v = tw::view(bench.in, {8, 8}); bench.in = bench.device.allocate<float>(4); k({.grid = 1}, v, tw::view(bench.out, {8, 8})));
  REFUSED("this buffer is empty", auto v = tw::view(bench.in, {8, 8}); auto moved = std::move(bench.in); k({.grid = 1}, v, tw::view(bench.out, {8, 8})));
  REFUSED("kernel 'copy': argument 2: the view is empty", k({.grid = 1}, tw::view(bench.in, {8, 8}), tw::View<float, 2>()));
  REFUSED("load: this view is not a parameter of a kernel", auto v = tw::view(bench.in, {8, 8}); (void)v.load({0, 0}, {8, 8}));
  REFUSED("kernel 'copy': argument 1: the view is empty", (void)k.compile("cpu", {}, tw::view(tw::pointer<const float>(0), {8, 8}), tw::view(tw::pointer<float>(), {8, 8})));
  REFUSED("view: extent -8 of axis 0", (void)k.compile("cpu", {}, tw::view(tw::pointer<const float>(), {-8, 8}), tw::view(tw::pointer<float>(), {8, 8})));
  Bench bench([](auto&&...) {});
  k({.grid = 1}, tw::view(bench.in, {8, 8}), tw::view(bench.out, {8, 8}, {1, 8}));
  CHECK(bench.out.download()[1] == 8);
}

TEST_CASE("launch mistakes: loads and stores of views") {
  const auto in_kernel = [](auto body) { return [body](Bench& b) { tw::Kernel("views", body)({.grid = 1}, tw::view(b.in, {8, 8}), tw::view(b.out, {8, 8})); }; };
#define OF_VIEWS(EXPECTED, ...) expect_refused(__LINE__, #__VA_ARGS__, EXPECTED, in_kernel([]([[maybe_unused]] tw::View<const float, 2> v, [[maybe_unused]] tw::View<float, 2> o) { __VA_ARGS__; }))
  OF_VIEWS("view load: the view has 2 axes and the tile is [4]", (void)v.load({0, 0}, {4}));
  OF_VIEWS("view load: the view has 2 axes and the tile is a scalar", (void)v.load({0, 0}, {}));
  OF_VIEWS("view load: extent 3 of shape [4, 3] must be a power of two", (void)v.load({0, 0}, {4, 3}));
  OF_VIEWS("view load: a tile of shape [4096, 4096] is too large", (void)v.load({0, 0}, {4096, 4096}));
  OF_VIEWS("view load: the offset of axis 1 is [4]; it must be a scalar", (void)v.load({0, lanes(4)}, {4, 4}));
  OF_VIEWS("view load: 'offset' is empty", (void)v.load({tw::I32(), 0}, {4, 4}));
  OF_VIEWS("view load: constant 1e+300 overflows f32", (void)v.load({0, 0}, {4, 4}, 1e300));
  OF_VIEWS("view load: 'other' is [8] and does not broadcast", (void)v.load({0, 0}, {4, 4}, tw::zeros<float>({8})));
  OF_VIEWS("view store: the view has 2 axes and the tile is [4]", o.store({0, 0}, tw::zeros<float>({4})));
  OF_VIEWS("view store: 'tile' is empty", o.store({0, 0}, tw::F32()));
  OF_VIEWS("view pointer: 'index' is empty", (void)v.pointer({tw::I32(), 0}));
  OF_VIEWS("view pointer: 'pointer' is [4] and 'index' is [8]", (void)v.pointer({lanes(4), lanes(8)}));
  OF_VIEWS("extent: axis 2 of a view of rank 2; it must be -2 to 1", (void)v.extent(2));
  OF_VIEWS("stride: axis -3 of a view of rank 2", (void)v.stride(-3));
#undef OF_VIEWS
}

TEST_CASE("launch mistakes: buffers and devices") {
  REFUSED("download: the host side has 3 elements, the buffer 64", std::vector<float> v(3); bench.in.download(std::span(v)));
  REFUSED("upload: the host side has 5 elements, the buffer 4", auto x = bench.device.upload(std::vector<bool>(4)); x.upload(std::vector<bool>(5)));
  REFUSED("allocate: the number of elements is -1", (void)bench.device.allocate<float>(-1));
  REFUSED("allocate: out of memory", (void)bench.device.allocate<double>(INT64_MAX));
  REFUSED("wrap: 9223372036854775807 elements of float reach past the end of all addresses", float x = 0; (void)bench.device.wrap(&x, INT64_MAX));
  REFUSED("wrap: 4611686018427387903 elements of float reach past the end of all addresses", float x = 0; (void)bench.device.wrap(&x, INT64_MAX / 2));
  REFUSED("this buffer is empty", auto moved = std::move(bench.in); bench.in.fill(1));
  REFUSED("no device 'cpu:0': the levels of 'cpu' are", (void)bench; (void)tw::Device::open("cpu:0"));
  REFUSED("no device 'cuda:-1'", (void)bench; (void)tw::Device::open("cuda:-1"));
}

TEST_CASE("launch mistakes: checked mode measures from the buffer that the address was computed from") {
  OUTSIDE("store of 4 bytes at index 64 of a buffer of 64 float elements (the first element past its end)", tw::store(out + lanes(128), f));
  OUTSIDE("store of 4 bytes at index 5000 of a buffer of 64 float elements (4936 elements past its end)", tw::store(out + 5000, f));
  OUTSIDE("load of 4 bytes at index -5000 of a buffer of 64 float elements (5000 elements before its beginning)", tw::store(out, tw::load(in - 5000)));
  OUTSIDE("store of 4 bytes at index 5000 of a buffer of 64 int elements", tw::when(n > 0, [&] { tw::store(pi + 5000, n); }));
  OUTSIDE("store of 4 bytes at index 6400 of a buffer of 64 float elements", auto p = out; for (auto i : tw::range(0, 2)) { tw::store(p, i.to<float>()); p += 6400; });
  OUTSIDE("store of 4 bytes at index 700 of a buffer of 64 int elements", auto p = pi; tw::loop_while([&] { return n > 3; }, [&] { n -= 1; p += 700; tw::store(p, n); }));
  OUTSIDE("load of 4 bytes at index 6000000000 of a buffer of 64 float elements", tw::store(out, tw::load(in + j * 1000000000)));
  OUTSIDE("store of 4 bytes at index 6400 of a buffer of 64 float elements", auto p = out; tw::when(b, [&] { p += 6400; }); tw::store(tw::where(b, p, out), f));
}

TEST_CASE("launch mistakes: checked mode and null pointers") {
  static const tw::Kernel k("copy", [](tw::Ptr<const int> from, tw::Ptr<int> to, tw::I32 at) { tw::store(to, tw::load(from + at, at >= 0)); });
  for (const char* device : {"cpu", "emulator:sm_80"}) {
    Bench bench([](auto&&...) {}, device);
    k({.grid = 1}, nullptr, bench.ints, -1);  // never dereferenced
    CHECK(bench.ints.download()[0] == 0);
    for (int at : {5, 1 << 30}) {
      try {
        k({.grid = 1, .check = true}, nullptr, bench.ints, at);
        FAIL("nothing was thrown");
      } catch (const tw::Error& e) {
        CHECK(e.where().line == __LINE__ - 10);
        CHECK(has(e.what(), std::to_string(std::int64_t{4} * at) + " bytes from a null pointer"));
        CHECK(has(e.what(), ".cpp:" + std::to_string(__LINE__ - 5) + ":"));
        CHECK(has(e.what(), "note: launched here"));
      }
    }
  }
}

TEST_CASE("launch mistakes: one thread's error reaches those that wait for it, and the next specialization works") {
  Bench bench([](auto&&...) {});
  std::atomic<int> traces{0}, errors{0}, good{0};
  const int line = __LINE__ + 4;
  tw::Kernel k("slow", [&](tw::Ptr<int> p, int n) {
    ++traces;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    tw::store(p + tw::arange(0, n), 1);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto p = bench.device.upload(std::vector<int>(64));
      try {
        k({.grid = 1}, p, 63);
      } catch (const tw::Error& e) {
        errors += e.where().line == line;
      }
      k({.grid = 1}, p, 64);
      good += p.download() == std::vector<int>(64, 1);
    });
  for (std::thread& t : threads) t.join();
  CHECK(errors == 4);
  CHECK(good == 4);
  CHECK(traces < 8);
}

TEST_CASE("launch mistakes: arithmetic without a defined value does not end the process") {
  FINE(tw::store(pi, n / 0); tw::store(pi, n % 0));
  FINE(tw::store(pi, n / (n - n)); tw::store(pi, n % (n - n)));
  FINE(tw::I32 zero = 0; tw::store(pi, zero / zero));
  FINE(tw::I32 least = INT32_MIN; tw::store(pi, least / -1); tw::store(pi, least % -1));
  FINE(tw::store(pi, (n - n + INT32_MIN) / (n - n - 1)); tw::store(pi, (n - n + INT32_MIN) % (n - n - 1)));
  FINE(tw::store(pi, ((j - j + INT64_MIN) / (j - j - 1)).to<int>()));
  FINE(auto m = lanes(64) < 3; tw::store(pi + lanes(64), lanes(64) / tw::load(pi + lanes(64), m), m));
  FINE(tw::store(pi, tw::cdiv(n, n - n)); tw::store(pi, n << 40); tw::store(pi, n >> -1));
  FINE(for (auto i : tw::range(0, n, n - n)) tw::store(pi, i); for (auto i : tw::range(n, 0, n - n)) tw::store(pi, i));
  FINE(tw::store(pi, (f * 1e30f * 1e30f).to<int>()); tw::store(pi, tw::next_power_of_two(n - 100)));
}
