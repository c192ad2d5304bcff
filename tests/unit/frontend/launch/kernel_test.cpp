// Kernels as users see them: errors of launches, reasons for a new specialization, and results.
#include "tilewright/kernel.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <thread>

#include "tests/messages.h"
#include "tileir/diagnostics.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

using tilewright::test::has;

struct Failure {
  std::string text;
  int line = 0;
};
template <class F>
Failure failure_of(F&& f) {
  try {
    f();
  } catch (const tw::Error& e) {
    return {e.what(), e.where().line};
  }
  return {"no error", 0};
}
// On one line with the launch that must fail.
#define CHECK_REFUSED(launch, piece)                       \
  do {                                                     \
    const Failure failure = failure_of([&] { launch; });   \
    CHECK_MESSAGE(has(failure.text, piece), failure.text); \
    CHECK_MESSAGE(failure.line == __LINE__, failure.text); \
  } while (false)

void add(tw::Ptr<const float> x, tw::Ptr<const float> y, tw::Ptr<float> z, tw::I32 n, int BLOCK) {
  auto i = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto mask = i < n;
  tw::store(z + i, tw::load(x + i, mask) + tw::load(y + i, mask), mask);
}

void set(tw::Ptr<int> p, tw::I32 value) { tw::store(p, value); }

template <class T>
void fill(const tw::Ptr<T>& p, T value, int count) noexcept {
  tw::store(p + tw::arange(0, count), value);
}

std::vector<float> iota(int n, float first) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

struct Config {
  int block = 16;
  bool twice = false;
};

}  // namespace

TEST_CASE("kernel: options out of range are refused at the launch's line") {
  tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(4));
  tw::Kernel k("set", set);
  CHECK_REFUSED(k({.grid = 0}, p, 1), "launch of 'set': the grid has 0 programs along axis 0; there must be at least 1");
  CHECK_REFUSED(k({.grid = {1, -2}}, p, 1), "the grid has -2 programs along axis 1");
  CHECK_REFUSED(k({.grid = {1, 1, 1, 1}}, p, 1), "the grid has 4 extents; it must have 1 to 3");
  CHECK_REFUSED(k({.grid = std::int64_t{1} << 31}, p, 1),
                "the grid has 2147483648 programs along axis 0; there must be at most 2147483647 on every device");
  CHECK_REFUSED(k({.grid = ~std::uint64_t{0}}, p, 1), "there must be at least 1");
  CHECK_REFUSED(k({.grid = 1, .num_warps = 3}, p, 1), "num_warps is 3; it must be 1, 2, 4, 8, 16 or 32");
  CHECK_REFUSED(k({.grid = 1, .num_warps = 64}, p, 1), "num_warps is 64");
  CHECK_REFUSED(k({.grid = 1, .num_warps = 0}, p, 1), "num_warps is 0");
  CHECK_REFUSED(k({.grid = 1, .num_stages = 0}, p, 1), "num_stages is 0; it must be 1 to 8");
  CHECK_REFUSED(k({.grid = 1, .num_stages = 9}, p, 1), "num_stages is 9");
  CHECK_REFUSED(k({.grid = 1, .stream = tw::Stream()}, p, 1), "the stream is none");
  CHECK_REFUSED((void)k.compile("cpu", {.num_warps = 5}, p, 1), "num_warps is 5");
}

TEST_CASE("kernel: one device, said once") {
  tw::Device cpu = tw::Device::open("cpu"), base = tw::Device::open("cpu:x86-64");
  auto p = cpu.upload(std::vector<int>(4));
  auto q = base.upload(std::vector<int>(4));
  int raw = 0;
  tw::Kernel k("set", set);
  tw::Kernel two("two", [](tw::Ptr<int> a, tw::Ptr<int> b) { tw::store(a, tw::load(b)); });
  CHECK_REFUSED(k({.grid = 1}, &raw, 1), "no buffer and no stream says on which device; name it in Launch::device");
  CHECK_REFUSED(two({.grid = 1}, p, q), "argument 2: its buffer is on device 'cpu:x86-64', but that of argument 1 is on device 'cpu'");
  CHECK_REFUSED(k({.grid = 1, .stream = base.stream()}, p, 1), "the buffers are on device 'cpu', but the stream is 'cpu:x86-64'");
  CHECK_REFUSED(k({.grid = 1, .device = base}, p, 1), "the buffers are on device 'cpu', but Launch::device is 'cpu:x86-64'");
  CHECK_REFUSED(k({.grid = 1, .stream = cpu.stream(), .device = base}, &raw, 1), "the stream is on device 'cpu', but");
}

TEST_CASE("kernel: bad pointers are refused at the launch's line") {
  tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(4));
  tw::Kernel k("set", set);
  CHECK_REFUSED(k({.grid = 1}, p + 5, 1), "buffer + 5: the buffer has 4 elements, and the offset must be 0 to 4");
  CHECK_REFUSED(k({.grid = 1}, p + -1, 1), "buffer + -1");
  auto moved = std::move(p);
  CHECK_REFUSED(k({.grid = 1}, p, 1), "this buffer is empty");
  int* odd = reinterpret_cast<int*>(reinterpret_cast<char*>(moved.data()) + 2);
  CHECK_REFUSED(k({.grid = 1, .device = device}, odd, 1), "is not aligned to 4 bytes");
  CHECK_REFUSED((void)k.compile("cpu", {}, tw::pointer<int>(2), 1),
                "kernel 'set': argument 1: an alignment of 2 bytes; it must be a power of two and at least 4");
  CHECK_REFUSED((void)k.compile("cpu", {}, tw::pointer<int>(24), 1), "an alignment of 24 bytes");
  CHECK_REFUSED((void)k.compile("cpu", {}, tw::pointer<int>(), tw::scalar<int>(0)), "argument 2: a multiple of 0");
}

TEST_CASE("kernel: results arrive, whatever the size") {
  tw::Device device = tw::Device::open("cpu");
  tw::Kernel kernel("add", add);
  for (int n : {1, 1000, 1024, 19231}) {
    auto x = device.upload(iota(n, 0)), y = device.upload(iota(n, 10)), z = device.upload(std::vector<float>(n, -1));
    kernel({.grid = tw::cdiv(n, 256)}, x, y, z, n, 256);
    std::vector<float> want(n);
    for (int i = 0; i < n; ++i) want[i] = static_cast<float>(2 * i + 10);
    CHECK(z.download() == want);
  }
}

TEST_CASE("kernel: every kind of argument and parameter") {
  tw::Device device = tw::Device::open("cpu");
  auto out = device.upload(std::vector<double>(8));
  tw::Kernel kinds("kinds", [](const tw::Ptr<double>& p, tw::I64 wide, tw::F64 f, tw::Bool b, tw::F16 h, tw::U8 u, Config c,
                               const std::array<int, 2>& a) {
    tw::store(p, wide.to<double>());
    tw::store(p + 1, f);
    tw::store(p + 2, b.to<double>());
    tw::store(p + 3, h.to<double>());
    tw::store(p + 4, u.to<double>());
    tw::store(p + 5, c.twice ? 2.0 * c.block : c.block);
    tw::store(p + 6, a[1]);
  });
  kinds({.grid = 1}, out, -5, 0.5f, true, tw::f16(1.5f), std::uint8_t{200}, {.block = 8, .twice = true}, {3, 4});
  CHECK(out.download() == std::vector<double>{-5, 0.5, 1, 1.5, 200, 16, 4, 0});

  auto floats = device.upload(std::vector<float>(8));
  tw::Kernel filled("fill", fill<float>);
  filled({.grid = 1}, floats + 2, 3.0f, 4);
  CHECK(floats.download() == std::vector<float>{0, 0, 3, 3, 3, 3, 0, 0});

  std::vector<int> mine(1);
  tw::Kernel<void(tw::Ptr<int>, tw::I32)> member("set", set);
  member({.grid = 1, .stream = device.stream()}, mine.data(), 7);
  CHECK(mine[0] == 7);

  tw::Kernel optional("optional", [](tw::Ptr<int> p, tw::Ptr<int> unused, bool use) { tw::store(p, use ? tw::load(unused) : tw::I32(9)); });
  optional({.grid = 1, .device = device}, mine.data(), nullptr, false);
  CHECK(mine[0] == 9);
}

TEST_CASE("kernel: a new class of an argument or a new constant is traced once, a new value is not") {
  tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(64));
  int traces = 0;
  tw::Kernel k("counted", [&](tw::Ptr<int> q, tw::I32 n, tw::F32, int c) {
    ++traces;
    tw::store(q, n + c);
  });
  const auto traced = [&](auto&& launch) {
    const int before = traces;
    launch();
    return traces - before;
  };
  CHECK(traced([&] { k({.grid = 1}, p, 1, 1.0f, 5); }) == 1);
  CHECK(traced([&] { k({.grid = 3}, p, 7, 2.0f, 5); }) == 0);
  CHECK(traced([&] { k({.grid = 1}, p, 16, 1.0f, 5); }) == 1);
  CHECK(traced([&] { k({.grid = 1}, p, -32, 1.0f, 5); }) == 0);
  CHECK(traced([&] { k({.grid = 1}, p, 1, 1.0f, 6); }) == 1);
  CHECK(traced([&] { k({.grid = 1}, p + 1, 1, 1.0f, 5); }) == 1);
  CHECK(traced([&] { k({.grid = 1}, p + 3, 1, 1.0f, 5); }) == 0);
  CHECK(traced([&] { k({.grid = 1}, p + 4, 1, 1.0f, 5); }) == 0);
  CHECK(traced([&] { k({.grid = 1, .num_warps = 8}, p, 1, 1.0f, 5); }) == 1);
  CHECK(traced([&] { k({.grid = 1, .contract = false}, p, 1, 1.0f, 5); }) == 1);
  const auto copy = k;
  CHECK(traced([&] { copy({.grid = 1}, p, 1, 1.0f, 5); }) == 0);
  CHECK(traced([&] { (void)k.compile("cpu", {}, p, 1, 1.0f, 5); }) == 1);
}

TEST_CASE("kernel: many threads, one specialization, compiled once") {
  tw::Device device = tw::Device::open("cpu");
  std::atomic<int> traces{0};
  tw::Kernel k("shared", [&](tw::Ptr<int> p, tw::I32 v) {
    ++traces;
    tw::store(p, v);
  });
  std::vector<int> good(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      auto p = device.upload(std::vector<int>(1));
      for (int i = 0; i < 50; ++i) {
        const int value = 16 * (static_cast<int>(t) * 100 + i) + 1;
        k({.grid = 1}, p, value);
        good[t] += p.download()[0] == value;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(good == std::vector<int>(6, 50));
  CHECK(traces == 1);
}

TEST_CASE("kernel: views know their extents and strides") {
  tw::Device device = tw::Device::open("cpu");
  auto in = device.upload(iota(15, 0)), out = device.upload(std::vector<float>(16, -1));
  tw::Kernel transpose("transpose", [](tw::View<const float, 2> from, tw::View<float, 2> to) {
    to.store({0, 0}, tw::transpose(from.load({0, 0}, {4, 8}, 100)));
  });
  transpose({.grid = 1}, tw::view(in, {3, 5}), tw::view(out, {5, 3}));
  CHECK(out.download() == std::vector<float>{0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14, -1});
  transpose({.grid = 1}, tw::view(in, {3, 5}), tw::view(out, {5, 3}, {1, 5}));
  CHECK(out.download() == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, -1});

  auto sizes = device.upload(std::vector<std::int64_t>(4));
  tw::Kernel facts("facts", [](tw::Ptr<std::int64_t> p, tw::View<const float, 2> v) {
    tw::store(p, v.extent(0));
    tw::store(p + 1, v.extent(-1));
    tw::store(p + 2, v.stride(0));
    tw::store(p + 3, v.stride(1));
  });
  facts({.grid = 1}, sizes, tw::view(in, {2, 5}, {7, 1}));
  CHECK(sizes.download() == std::vector<std::int64_t>{2, 5, 7, 1});
  facts({.grid = 1}, sizes, tw::view(in, {2, 5}, {1, 2}));
  CHECK(sizes.download() == std::vector<std::int64_t>{2, 5, 1, 2});
}

TEST_CASE("kernel: the addresses of a view's elements at tiles of indices") {
  tw::Device device = tw::Device::open("cpu");
  auto in = device.upload(iota(15, 0)), out = device.upload(std::vector<float>(16, -1));
  tw::Kernel turn("turn", [](tw::View<const float, 2> from, tw::View<float, 2> to) {
    const auto i = tw::column(tw::arange(0, 4)), j = tw::row(tw::arange(0, 8));
    const std::array<tw::I32, 2> flipped{2 - i, 4 - j};
    tw::store(to.pointer({j, i}), tw::load(from.pointer(flipped), i < 3 && j < 5), i < 3 && j < 5);
    tw::store(to.pointer({4, 2}), 50);
  });
  turn({.grid = 1}, tw::view(in, {3, 5}), tw::view(out, {5, 3}, {3, 1}));
  CHECK(out.download() == std::vector<float>{14, 9, 4, 13, 8, 3, 12, 7, 2, 11, 6, 1, 10, 5, 50, -1});
}

TEST_CASE("kernel: an error in the body names the body's line, and is not remembered") {
  tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(64));
  const int line = __LINE__ + 1;
  tw::Kernel k("ranges", [](tw::Ptr<int> q, int n) { tw::store(q + tw::arange(0, n), 1); });
  const Failure first = failure_of([&] { k({.grid = 1}, p, 100); }), again = failure_of([&] { k({.grid = 1}, p, 100); });
  CHECK_MESSAGE(has(first.text, "100"), first.text);
  CHECK(first.line == line);
  CHECK(again.text == first.text);
  k({.grid = 1}, p, 64);
  CHECK(p.download() == std::vector<int>(64, 1));
}

TEST_CASE("kernel: checked mode reports the kernel's line and the launch's, and the process goes on") {
  for (const char* name : {"cpu", "emulator:sm_75"}) {
    tw::Device device = tw::Device::open(name);
    auto x = device.upload(iota(1000, 0));
    auto z = device.upload(std::vector<float>(1024));
    const int body = __LINE__ + 2;
    tw::Kernel k("copy", [](tw::Ptr<const float> from, tw::Ptr<float> to) {
      auto v = tw::load(from + tw::arange(0, 1024));
      tw::store(to + tw::arange(0, 1024), v);
    });
    const int launched = __LINE__ + 1;
    const Failure failure = failure_of([&] { k({.grid = 1, .check = true}, x, z); });
    CHECK_MESSAGE(failure.line == body, failure.text);
    CHECK_MESSAGE(has(failure.text, "load of 4 bytes at index 1000 of a buffer of 1000 float elements (the first element past its end)"),
                  failure.text);
    CHECK_MESSAGE(has(failure.text, "kernel_test.cpp:" + std::to_string(launched) + ":"), failure.text);
    CHECK(z.download()[999] == 999);
    auto enough = device.upload(iota(1024, 0));
    k({.grid = 1, .check = true}, enough, z);
    CHECK(z.download() == iota(1024, 0));
  }
}

TEST_CASE("kernel: launching inside of a kernel is an error") {
  tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(1));
  tw::Kernel inner("inner", set);
  const int line = __LINE__ + 1;
  tw::Kernel outer("outer", [&](tw::Ptr<int>) { inner({.grid = 1}, p, 1); });
  const Failure failure = failure_of([&] { outer({.grid = 1}, p); });
  CHECK(has(failure.text, "launch of 'inner': a kernel cannot be launched or compiled inside of a kernel"));
  CHECK(failure.line == line);
}

TEST_CASE("kernel: the log says once that there are many specializations") {
  tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(1));
  std::vector<std::string> notices;
  tw::set_log_sink([&](tw::LogLevel, std::string_view text) { notices.emplace_back(text); });
  tw::Kernel k("many", [](tw::Ptr<int> q, int c) { tw::store(q, c); });
  for (int i = 0; i < 32; ++i) k({.grid = 1}, p, i);
  CHECK(notices.empty());
  for (int i = 0; i < 40; ++i) k({.grid = 1}, p, i);
  tw::set_log_sink({});
  REQUIRE(notices.size() == 1);
  CHECK(has(notices[0], "kernel 'many' has been compiled for more than 32 values"));
}

TEST_CASE("kernel: the log says which tile is too large for the threads of a GPU") {
  std::vector<std::string> notices;
  tw::set_log_sink([&](tw::LogLevel, std::string_view text) { notices.emplace_back(text); });
  int line = 0;
  tw::Kernel k("large", [&](tw::Ptr<const float> x, tw::Ptr<float> y, int n) {
    auto at = tw::arange(0, n);
    line = __LINE__ + 1;
    auto v = tw::load(x + at);
    tw::store(y + at, v * tw::sum(v * v, 0));
  });
  const auto compile = [&](int n, int warps) {
    k.compile("sm_80", {.num_warps = warps}, tw::pointer<const float>(), tw::pointer<float>(), n);
  };
  compile(4096, 4);
  CHECK(notices.empty());
  compile(65536, 4);
  tw::set_log_sink({});
  REQUIRE(notices.size() == 1);
  CHECK(has(notices[0], "kernel 'large' for sm_80: " __FILE__ ":" + std::to_string(line) + ": a thread would hold about"));
  CHECK(has(notices[0], "for f32[65536]; it has 255; with 32 warps it would hold fewer"));
}

TEST_CASE("kernel: the log says how many stages of a loop shared memory can hold") {
  std::vector<std::string> notices;
  tw::set_log_sink([&](tw::LogLevel, std::string_view text) { notices.emplace_back(text); });
  int line = 0;
  tw::Kernel k("product", [&](tw::Ptr<const tw::f16> a, tw::Ptr<const tw::f16> b, tw::Ptr<float> c, tw::I32 n) {
    auto i = tw::column(tw::arange(0, 128)), j = tw::row(tw::arange(0, 128));
    auto sum = tw::zeros<float>({128, 128});
    line = __LINE__ + 1;
    for (auto at : tw::range(0, n, 64)) {
      auto l = at + tw::arange(0, 64);
      sum = tw::dot(tw::load(a + i * n + tw::row(l)), tw::load(b + tw::column(l) * n + j), sum);
    }
    tw::store(c + i * 128 + j, sum);
  });
  const auto compile = [&](const char* target, int stages) {
    k.compile(target, {.num_stages = stages}, tw::pointer<const tw::f16>(), tw::pointer<const tw::f16>(), tw::pointer<float>(),
              tw::scalar<int>(16));
  };
  compile("sm_86", 3);  // 32 KiB a stage
  CHECK(notices.empty());
  compile("sm_86", 8);
  tw::set_log_sink({});
  REQUIRE(notices.size() == 1);
  CHECK_MESSAGE(
      has(notices[0], "kernel 'product' for sm_86: " __FILE__ ":" + std::to_string(line) +
                          ": for: 3 of 8 stages are used: a stage of f16[128, 64] and f16[64, 128] takes 32768 bytes of shared memory"),
      notices[0]);
}

TEST_CASE("kernel: compile needs no device and shows what it made") {
  tw::Kernel k("add", add);
  const tw::Compiled c =
      k.compile("cpu", {}, tw::pointer<const float>(), tw::pointer<float>(), tw::pointer<float>(4), tw::scalar<int>(16), 64);
  CHECK(has(c.tile_ir(), "store"));
  CHECK_FALSE(c.llvm_ir().empty());
  CHECK_FALSE(c.assembly().empty());
  CHECK(c.ptx().empty());
  REQUIRE_FALSE(c.timings().empty());
  CHECK(c.timings()[0].phase == "trace");
  CHECK(c.resources().spill_bytes == -1);
  tw::Kernel viewed("viewed", [](tw::View<float, 2> v) { v.store({0, 0}, tw::zeros<float>({8, 8})); });
  CHECK(has(viewed.compile("cpu:x86-64", {}, tw::view(tw::pointer<float>(), {64, 64})).tile_ir(), "store"));
  CHECK_REFUSED((void)k.compile("abacus", {}, nullptr, nullptr, nullptr, 1, 64), "abacus");
}

TEST_CASE("kernel: compile makes PTX for every GPU with none at hand") {
  tw::Kernel k("add", add);
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
    const tw::Compiled c = k.compile(target, {.num_warps = 2}, tw::pointer<const float>(), tw::pointer<float>(), tw::pointer<float>(),
                                     tw::scalar<int>(16), 256);
    CHECK(has(c.ptx(), std::string("\n.target ") + target));
    CHECK(has(c.ptx(), ".entry add("));
    CHECK(c.assembly() == c.ptx());
    CHECK(has(c.tile_ir(), "f32[256] #"));
    CHECK(has(c.llvm_ir(), "nvptx64"));
    CHECK(c.timings()[0].phase == "trace");
    setenv("TILEWRIGHT_PTXAS", "/nonexistent", 1);  // the test must not depend on an installed ptxas
    CHECK(c.resources().num_warps == 2);
    CHECK(c.resources().shared_bytes == 0);
    CHECK(c.resources().registers == -1);
    unsetenv("TILEWRIGHT_PTXAS");
  }
}

TEST_CASE("kernel: a compiler bug reaches every launch that waits for it, and the kernel works afterwards") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    const tw::Device device = tw::Device::open(name);
    auto p = device.upload(std::vector<int>(1));
    std::atomic<bool> planted{true};
    tw::Kernel k("planted", [&](tw::Ptr<int> to, tw::I32 value) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      for (auto i : tw::range(0, value)) {
        TW_CHECK(!planted, "planted");
        tw::store(to, i + 1);
      }
    });
    std::atomic<int> bugs{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        try {
          k({.grid = 1}, p, 5);
        } catch (const tw::CompilerBug& bug) {
          bugs += has(bug.what(), ": planted (!planted)");
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(bugs == 4);
    CHECK_THROWS_AS(k.compile("sm_80", {}, p, 5), tw::CompilerBug);
    planted = false;
    k({.grid = 1}, p, 5);
    CHECK(p.download()[0] == 5);
  }
}

TEST_CASE("kernel: specializations are bounded, and the least recently used one is compiled again") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    const tw::Device device = tw::Device::open(name);
    auto p = device.upload(std::vector<int>(1));
    int traces = 0;
    tw::Kernel k("bounded", [&](tw::Ptr<int> to, tw::I32 value, int constant) {
      ++traces;
      tw::store(to, value + constant);
    });
    const auto launch = [&](int constant) {
      k({.grid = 1}, p, 10, constant);
      CHECK(p.download()[0] == 10 + constant);
      return traces;
    };
    k.set_max_specializations(2);
    CHECK(launch(1) == 1);
    CHECK(launch(2) == 2);
    CHECK(launch(1) == 2);
    CHECK(launch(3) == 3);  // evicts 2
    CHECK(launch(1) == 3);
    CHECK(launch(2) == 4);  // evicts 3
    CHECK(launch(1) == 4);
    for (int constant = 10; constant < 20; ++constant) launch(constant);
    CHECK_REFUSED(k.set_max_specializations(0), "set_max_specializations of 'bounded': 0 specializations; there must be at least 1");
  }
}

TEST_CASE("kernel: one rule for grids on every device") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    const tw::Device device = tw::Device::open(name);
    auto p = device.upload(std::vector<int>(1));
    tw::Kernel k("set", set);
    CHECK_REFUSED(k({.grid = {1, 65536}}, p, 1),
                  "launch of 'set': the grid has 65536 programs along axis 1; there must be at most 65535 on every device");
    CHECK_REFUSED(k({.grid = {1, 1, 70000}}, p, 1),
                  "launch of 'set': the grid has 70000 programs along axis 2; there must be at most 65535 on every device");
    CHECK_REFUSED(k({.grid = {1 << 20, 1 << 20, 1 << 20}}, p, 1),
                  "the grid has 1048576 programs along axis 1; there must be at most 65535 on every device");
  }
  (void)tw::Kernel("set", set).compile("cpu", {.grid = {2147483647, 65535, 65535}}, tw::pointer<int>(), 1);
}

TEST_CASE("kernel: TILEWRIGHT_DUMP into a folder that cannot be made is an error of the launch") {
  tw::Kernel k("set", set);
  const tw::Device device = tw::Device::open("cpu");
  auto p = device.upload(std::vector<int>(1));
  setenv("TILEWRIGHT_DUMP", "/dev/null/dump", 1);
  CHECK_REFUSED(k({.grid = 1}, p, 1), "TILEWRIGHT_DUMP: cannot make the folder '/dev/null/dump/set-");
  unsetenv("TILEWRIGHT_DUMP");
  k({.grid = 1}, p, 1);
}

TEST_CASE("kernel: TILEWRIGHT_DUMP leaves every stage") {
  const std::string dir = "/tmp/tilewright-dump-" + std::to_string(getpid());
  setenv("TILEWRIGHT_DUMP", dir.c_str(), 1);
  tw::Kernel k("a dump!", set);
  (void)k.compile("cpu", {}, tw::pointer<int>(), 3);
  setenv("TILEWRIGHT_DUMP_STAGE", "traced", 1);
  tw::Kernel traced("traced", set);
  (void)traced.compile("cpu", {}, tw::pointer<int>(), 3);
  setenv("TILEWRIGHT_DUMP_STAGE", "nosuch", 1);
  tw::Kernel none("none", set);
  (void)none.compile("cpu", {}, tw::pointer<int>(), 3);
  unsetenv("TILEWRIGHT_DUMP_STAGE");
  unsetenv("TILEWRIGHT_DUMP");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::filesystem::remove_all(dir);
  const auto some = [&](const char* piece) {
    return std::any_of(files.begin(), files.end(), [&](const std::string& f) { return has(f, piece); });
  };
  CHECK(some("/a_dump_-"));
  CHECK(some(".tile"));
  CHECK(some("llvm.ll"));
  CHECK(some("assembly.s"));
  CHECK(std::count_if(files.begin(), files.end(), [](const std::string& f) { return has(f, "/traced-"); }) == 1);
}
