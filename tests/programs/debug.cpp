// Prints, assertions and hints as users write them: their output in checked mode, and that results stay the same.
#include <algorithm>
#include <mutex>

#include "tests/programs/programs.h"

using programs::has;
using programs::message_of;
using programs::on_every_device;

namespace {

/// The lines that a launch prints, at the latest when the device is waited for.
std::vector<std::string> printed(const tw::Device& device, const std::function<void()>& launch) {
  std::vector<std::string> lines;
  tw::on_device_print([&](std::string_view line) { lines.emplace_back(line); });
  launch();
  device.synchronize();
  tw::on_device_print({});
  return lines;
}
/// The rest of a line after its file name.
std::string after_file(const std::string& line) { return line.substr(line.find(".cpp:") + 5); }

void prints(tw::I32 n) {
  auto lanes = tw::arange(0, 4);
  tw::device_print("n = {}, lanes = {}", n, lanes);
  for (auto i : tw::range(0, 3)) {
    tw::device_print("i = {}", i);
    tw::when(i == 1, [&] { tw::device_print("squares {}", lanes * lanes * i); });
  }
}

TEST_CASE("device_print: lines name the place and the program, in program order") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("prints", prints);
    const auto lines = printed(device, [&] { kernel({.grid = {1}, .device = device}, 7); });
    REQUIRE(lines.size() == 5);
    CHECK(has(lines[0], "debug.cpp:"));
    CHECK(has(lines[0], ": program (0, 0, 0): n = 7, lanes = [0, 1, 2, 3]"));
    CHECK(has(lines[1], ": program (0, 0, 0): i = 0"));
    CHECK(has(lines[2], "i = 1"));
    CHECK(has(lines[3], "squares [0, 1, 4, 9]"));
    CHECK(has(lines[4], "i = 2"));
    CHECK(after_file(lines[1]).substr(0, 3) == after_file(lines[4]).substr(0, 3));
  });
}

TEST_CASE("device_print: every program's line comes whole, every element type by its value") {
  on_every_device([](tw::Device& device) {
    tw::Kernel many("many", [](tw::I32 n) {
      auto pid = tw::program_id(0);
      tw::device_print("{} of {}: {}", pid, n, tw::arange(0, 8) + pid);
    });
    auto lines = printed(device, [&] { many({.grid = {200}, .device = device}, 200); });
    REQUIRE(lines.size() == 200);
    for (int i = 0; i < 200; ++i) {
      const std::string want = "program (" + std::to_string(i) + ", 0, 0): " + std::to_string(i) + " of 200: [" + std::to_string(i) + ", ";
      CHECK(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return has(line, want); }) == 1);
    }

    tw::Kernel types("types", [](tw::Ptr<const float> p, tw::F64 d, tw::U8 u) {
      auto x = tw::load(p + tw::arange(0, 2));
      tw::device_print("{} {} {} {} {:.2f} {:x} {} {{}}", x, x.to<tw::f16>(), x.to<tw::f8e4m3>(), x > 1.0f, d, u, tw::nan + x);
      tw::device_print("no values");
    });
    auto buffer = device.upload(std::vector<float>{0.5f, 1.75f});
    lines = printed(device, [&] { types({.grid = 1}, buffer, 1.0 / 3, std::uint8_t{254}); });
    REQUIRE(lines.size() == 2);
    CHECK(has(lines[0], ": [0.5, 1.75] [0.5, 1.75] [0.5, 1.75] [false, true] 0.33 fe [nan, nan] {}"));
    CHECK(has(lines[1], ": no values"));
  });
}

TEST_CASE("device_print: prints what a value is then, though its memory is written later") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("then", [](tw::Ptr<std::int32_t> p) {
      auto at = p + tw::arange(0, 4);
      auto x = tw::load(at);
      tw::device_print("before {}", x);
      tw::store(at, x + 10);
      tw::device_print("after {}", tw::load(at));
      auto sum = x;
      for (auto i : tw::range(0, 2)) {
        sum += i + 1;
        tw::device_print("sum {}", sum);
      }
      tw::store(at, sum);
    });
    auto buffer = device.upload(std::vector<std::int32_t>{1, 2, 3, 4});
    const auto lines = printed(device, [&] { kernel({.grid = 1}, buffer); });
    REQUIRE(lines.size() == 4);
    CHECK(has(lines[0], "before [1, 2, 3, 4]"));
    CHECK(has(lines[1], "after [11, 12, 13, 14]"));
    CHECK(has(lines[2], "sum [2, 3, 4, 5]"));
    CHECK(has(lines[3], "sum [4, 5, 6, 7]"));
    CHECK(buffer.download() == std::vector<std::int32_t>{4, 5, 6, 7});
  });
}

void asserts(tw::Ptr<const std::int32_t> p, tw::Ptr<std::int32_t> out, tw::I32 n, int BLOCK) {
  auto at = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto mask = at < n;
  auto x = tw::load(p + at, mask, -1);
  tw::device_assert(x >= 0, "values are positive", mask);
  tw::store(out + at, x * 2, mask);
}

TEST_CASE("device_assert: fails the launch in checked mode only, the rest runs on, and so does the next launch") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("asserts", asserts);
    std::vector<std::int32_t> values(1000, 1);
    auto good = device.upload(values);
    values[700] = values[701] = values[900] = -5;
    auto bad = device.upload(values), out = device.allocate<std::int32_t>(1000);
    kernel({.grid = 4, .check = true}, good, out, 1000, 256);
    const std::string text = message_of([&] { kernel({.grid = 4, .check = true}, bad, out, 1000, 256); });
    CHECK(has(text, "debug.cpp:"));
    CHECK(has(text, "error: device_assert: values are positive (program (2, 0, 0), element [188]; 2 of 256 elements fail)"));
    CHECK(has(text, "note: launched here; 3 elements in all failed"));
    CHECK(out.download()[999] == 2);
    kernel({.grid = 4}, bad, out, 1000, 256);
    CHECK(out.download()[700] == -10);
    kernel({.grid = 4, .check = true}, good, out, 1000, 256);
    CHECK(out.download()[700] == 2);
  });
}

TEST_CASE("device_assert: of scalars, in loops and branches") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("scalars", [](tw::I32 n, tw::I32 limit) {
      for (auto i : tw::range(0, n)) tw::when(i % 2 == 1, [&] { tw::device_assert(i < limit, "odd ones are below the limit"); });
    });
    kernel({.grid = {2, 3}, .device = device, .check = true}, 9, 9);
    const std::string text = message_of([&] { kernel({.grid = {2, 3}, .device = device, .check = true}, 9, 5); });
    CHECK(has(text, "device_assert: odd ones are below the limit (program (0, 0, 0))"));
    CHECK(has(text, "12 elements in all"));
  });
}

/// Copies with every kind of hint; the offsets come from memory, so that the hints are all that is known of them.
void hinted(tw::Ptr<const std::int32_t> offsets, tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 n) {
  tw::assume(n % 16 == 0);
  auto lanes = tw::arange(0, 64);
  auto at = tw::max_contiguous(tw::multiple_of(tw::load(offsets + lanes), 16), 16);
  auto mask = lanes < n;
  tw::store(tw::multiple_of(out, 64) + lanes, tw::load(in + at, mask), mask);
}

TEST_CASE("hints: right ones are silent and change nothing, wrong ones are reported in checked mode") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("hinted", hinted);
    const auto input = programs::numbers<float>(256, 1);
    auto in = device.upload(input), out = device.allocate<float>(64 + 16);
    std::vector<std::int32_t> at(64);
    std::vector<float> want(64);
    for (int i = 0; i < 64; ++i) at[i] = (3 - i / 16) * 48 + i % 16, want[i] = input[at[i]];
    auto offsets = device.upload(at);
    for (const bool check : {false, true}) {
      out.fill(0);
      kernel({.grid = 1, .check = check}, offsets, in, out, 64);
      auto got = out.download();
      got.resize(64);
      CHECK(got == want);
    }
    const tw::Launch checked{.grid = 1, .check = true};
    CHECK(
        has(message_of([&] { kernel(checked, offsets, in, out, 40); }), "error: assume: the condition does not hold (program (0, 0, 0))"));
    CHECK(has(message_of([&] { kernel(checked, offsets, in, out + 1, 64); }), "is not a multiple of 64 (program (0, 0, 0))"));
    at[32] += 4;
    auto shifted = device.upload(at);
    CHECK(has(message_of([&] { kernel(checked, shifted, in, out, 64); }),
              "error: multiple_of: 52 is not a multiple of 16 (program (0, 0, 0), element [32]"));
    at[32] -= 4;
    std::reverse(at.begin() + 16, at.begin() + 32);
    auto reversed = device.upload(at);
    const std::string text = message_of([&] { kernel(checked, reversed, in, out, 64); });
    CHECK(has(text, "multiple_of: 111 is not a multiple of 16 (program (0, 0, 0), element [16]"));
    std::vector<std::int32_t> gaps(64);
    for (int i = 0; i < 64; ++i) gaps[i] = i < 8 ? i : 16 * i % 256;
    auto gapped = device.upload(gaps);
    CHECK(has(message_of([&] { kernel(checked, gapped, in, out, 64); }), "max_contiguous: 128 follows 7 within a run of 16"));
    kernel(checked, offsets, in, out, 64);
  });
}

TEST_CASE("hints: of pointers, of values that a loop carries, and in its body") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("carried", [](tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 step, tw::I32 n) {
      auto lanes = tw::arange(0, 16);
      auto from = in + lanes;
      auto sum = tw::zeros<float>({16});
      for (auto i : tw::range(0, n)) {
        from = tw::max_contiguous(tw::multiple_of(from, 64), 16);
        tw::assume(step % 16 == 0);
        sum = tw::fma(tw::load(from), i.to<float>(), sum);
        from += step;
      }
      tw::store(out + lanes, sum);
    });
    const auto input = programs::numbers<float>(16 * 9, 2);
    auto in = device.upload(input), out = device.allocate<float>(16);
    std::vector<float> want(16);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 16; ++j) want[j] = std::fma(input[i * 32 + j], static_cast<float>(i), want[j]);
    for (const bool check : {false, true}) {
      out.fill(0);
      kernel({.grid = 1, .check = check}, in, out, 32, 4);
      CHECK(out.download() == want);
    }
    if (!programs::is_gpu(device))
      CHECK(has(message_of([&] { kernel({.grid = 1, .check = true}, in, out, 20, 4); }), "is not a multiple of 64"));
  });
}

TEST_CASE("gather: an index out of range is reported in checked mode, and taken modulo the extent elsewhere") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("gathers", [](tw::Ptr<const std::int32_t> index, tw::Ptr<std::int32_t> out) {
      auto lanes = tw::arange(0, 8);
      tw::store(out + lanes, tw::gather(lanes * 10, tw::load(index + lanes), 0));
    });
    auto index = device.upload(std::vector<std::int32_t>{7, 6, 5, 9, 3, -1, 1, 0}), out = device.allocate<std::int32_t>(8);
    kernel({.grid = 1}, index, out);
    CHECK(out.download() == std::vector<std::int32_t>{70, 60, 50, 10, 30, 70, 10, 0});
    CHECK(has(message_of([&] { kernel({.grid = 1, .check = true}, index, out); }),
              "error: gather: index 9 is outside of 0 to 7 (program (0, 0, 0), element [3]; 2 of 8 elements fail)"));
  });
}

TEST_CASE("inline_ptx: GPUs run it, the fallback runs on the cpu, without one the launch says what to add") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("ptx", [](tw::Ptr<const float> in, tw::Ptr<float> out) {
      auto lanes = tw::arange(0, 16);
      auto x = tw::load(in + lanes);
      auto y = tw::inline_ptx<float>("ex2.approx.f32 $0, $1;", "=f,f", x, [](const tw::F32& v) { return tw::exp2(v); });
      auto z = tw::inline_ptx<std::int32_t>("mad.lo.s32 $0, $1, $2, 1;", "=r,r,r", lanes, lanes, [](auto a, auto b) { return a * b + 1; });
      tw::store(out + lanes, y + z.to<float>());
    });
    auto in = device.upload(std::vector<float>(16, 3.0f)), out = device.allocate<float>(16);
    kernel({.grid = 1}, in, out);
    for (int i = 0; i < 16; ++i) CHECK(out.download()[i] == 8.0f + static_cast<float>(i * i + 1));

    tw::Kernel bare("bare", [](tw::Ptr<float> out) { tw::store(out, tw::inline_ptx<float>("mov.f32 $0, 0f3F800000;", "=f")); });
    const std::string text = message_of([&] { bare({.grid = 1}, out); });
    if (programs::is_gpu(device)) {
      CHECK(text.empty());
      CHECK(out.download()[0] == 1);
      return;
    }
    CHECK(has(text, "debug.cpp:"));
    CHECK(has(text, "inline_ptx: this target does not run PTX; add what to compute instead"));
  });
}

TEST_CASE("fast functions: within the documented bounds") {
  on_every_device([](tw::Device& device) {
    tw::Kernel kernel("fast", [](tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 n) {
      auto lanes = tw::arange(0, 1024);
      auto mask = lanes < n;
      auto x = tw::load(in + lanes, mask);
      auto write = [&](int k, const tw::F32& y) { tw::store(out + k * n + lanes, y, mask); };
      write(0, tw::fast::exp(x)), write(1, tw::fast::log(tw::abs(x))), write(2, tw::fast::sin(x)), write(3, tw::fast::cos(x));
      write(4, tw::fast::tanh(x)), write(5, tw::fast::div(x, 3.0f)), write(6, tw::fast::div(x, tw::full_like(x, 7.0f) * n.to<float>()));
      write(7, tw::fast::exp(-tw::abs(x).to<tw::f16>()).to<float>());
    });
    const int n = 1000;
    const auto input = programs::numbers<float>(n, 3, 5);
    auto in = device.upload(input), out = device.allocate<float>(8 * n);
    kernel({.grid = 1}, in, out, n);
    const auto all = out.download();
    const bool on_gpu = programs::is_gpu(device);
    // Tests arguments up to `most` in size.
    const auto check = [&](const std::string& what, int k, auto f, double relative, double absolute, float most = 100) {
      std::vector<double> want;
      std::vector<float> got;
      for (int i = 0; i < n; ++i) {
        const float x = input[static_cast<std::size_t>(i)];
        if (std::fabs(x) > most) continue;
        want.push_back(f(static_cast<double>(x)));
        got.push_back(all[static_cast<std::size_t>(k * n + i)]);
      }
      programs::check_close(what, got, want, relative, absolute);
    };
    // On GPUs x / 2^24 of the result more, of arguments up to 16; absolute near 1; 2^-20.5 within 2 pi, else 2^-14.7; 2^-11.
    check("exp", 0, [](double x) { return std::exp(x); }, on_gpu ? 2.2e-6 : 7.2e-7, 0);
    check("log", 1, [](double x) { return std::log(std::fabs(x)); }, 4.8e-7, on_gpu ? 2.4e-7 : 0);
    for (const auto& [most, absolute] : {std::pair{6.28f, 6.8e-7}, {100.0f, 3.8e-5}}) {
      check("sin", 2, [](double x) { return std::sin(x); }, 0, on_gpu ? absolute : 3e-7, most);
      check("cos", 3, [](double x) { return std::cos(x); }, 0, on_gpu ? absolute : 3e-7, most);
    }
    check("tanh", 4, [](double x) { return std::tanh(x); }, 0, on_gpu ? 4.9e-4 : 3e-7);
    check("div", 5, [](double x) { return x / 3; }, 2.4e-7, 0);
    check("div by a row", 6, [](double x) { return x / 7000; }, 2.4e-7, 0);
    check(
        "exp of f16", 7,
        [](double x) { return std::exp(-std::fabs(static_cast<double>(static_cast<float>(tw::f16(static_cast<float>(x)))))); }, 5e-4, 6e-8);
  });
}

float e2m1(int nibble) {
  const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return (nibble & 8 ? -1.0f : 1.0f) * magnitudes[nibble & 7];
}

TEST_CASE("dot_scaled: e2m1 by fp8 with a scale for each 32 elements, against plain C++") {
  on_every_device([](tw::Device& device) {
    constexpr int M = 16, N = 32, K = 64;
    tw::Kernel kernel("scaled", [](tw::Ptr<const std::uint8_t> a, tw::Ptr<const std::uint8_t> as, tw::Ptr<const tw::f8e4m3> b,
                                   tw::Ptr<const std::uint8_t> bs, tw::Ptr<float> out) {
      auto m = tw::column(tw::arange(0, M)), n = tw::row(tw::arange(0, N));
      auto av = tw::load(a + m * (K / 2) + tw::row(tw::arange(0, K / 2)));
      auto bv = tw::load(b + tw::column(tw::arange(0, K)) * N + n);
      auto asv = tw::load(as + m * 2 + tw::row(tw::arange(0, 2)));
      auto bsv = tw::load(bs + tw::column(tw::arange(0, N)) * 2 + tw::row(tw::arange(0, 2)));
      auto c = tw::dot_scaled(av, asv, bv, bsv);
      tw::store(out + m * N + n, tw::dot_scaled(av, asv, bv, bsv, c));
    });
    std::vector<std::uint8_t> a(M * K / 2), as(M * 2), bs(N * 2);
    std::vector<tw::f8e4m3> b;
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(i * 37 + 11);
    for (std::size_t i = 0; i < as.size(); ++i) as[i] = static_cast<std::uint8_t>(120 + i % 13);
    for (std::size_t i = 0; i < bs.size(); ++i) bs[i] = static_cast<std::uint8_t>(131 - i % 11);
    for (int i = 0; i < K * N; ++i) b.emplace_back(static_cast<float>(i % 29 - 14) * 0.25f);
    std::vector<float> want(M * N);
    for (int twice = 0; twice < 2; ++twice)
      for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
          for (int k = 0; k < K; ++k) {
            const int byte = a[i * K / 2 + k / 2];
            const float x = e2m1(k % 2 ? byte >> 4 : byte & 15) * std::ldexp(1.0f, as[i * 2 + k / 32] - 127);
            const float y = static_cast<float>(b[k * N + j]) * std::ldexp(1.0f, bs[j * 2 + k / 32] - 127);
            want[i * N + j] = std::fma(x, y, want[i * N + j]);
          }
    auto da = device.upload(a), das = device.upload(as), dbs = device.upload(bs);
    auto db = device.upload(b);
    auto out = device.allocate<float>(M * N);
    kernel({.grid = 1}, da, das, db, dbs, out);
    programs::check_same("dot_scaled", out.download(), want);
  });
}

}  // namespace
