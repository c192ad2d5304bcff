// PTX that nvcc compiled from CUDA C++, with CUDA's headers and CUB: the values are right and there are no diagnostics.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "runtime/emulator/simd/small_float.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

Bench bench_of(const std::string& name) { return Bench(ptx_file("nvcc/" + name + ".ptx"), name + ".ptx"); }

void run(Bench& bench, const std::string& kernel, u32 blocks, u32 threads, const Params& params) {
  const bool good = bench.run(kernel, {blocks, 1, 1}, {threads, 1, 1}, params);
  INFO(kernel << ": " << bench.found());
  CHECK(good);
}

std::vector<int> small_integers(std::size_t count, int range, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<int> values(count);
  for (int& value : values) value = static_cast<int>(random() % static_cast<u64>(range));
  return values;
}

template <class T>
std::vector<T> uniform(std::size_t count, double least, double most, u64 seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> distribution(least, most);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(distribution(random));
  return values;
}

/// Within so many units of T's precision, relative to a magnitude of at least `scale`.
template <class T>
bool near(T value, double wanted, double units, double scale = 0) {
  const double epsilon = std::numeric_limits<T>::epsilon();
  return std::abs(static_cast<double>(value) - wanted) <= units * epsilon * std::max(std::abs(wanted), scale);
}

u32 half_pair(float a, float b) {
  return static_cast<u32>(round_to(a, kF16, Rounding::nearest_even)) | static_cast<u32>(round_to(b, kF16, Rounding::nearest_even)) << 16;
}

u64 reversed(u64 value, int bits) {
  u64 result = 0;
  for (int k = 0; k < bits; ++k) result |= (value >> k & 1) << (bits - 1 - k);
  return result;
}

/// f of each byte or half of two words, in its place.
template <class F>
u32 by_parts(u32 a, u32 b, int bits, F f) {
  u32 result = 0;
  const u32 ones = (1u << bits) - 1;
  for (int shift = 0; shift < 32; shift += bits)
    result |= (static_cast<u32>(f(static_cast<int>(a >> shift & ones), static_cast<int>(b >> shift & ones))) & ones) << shift;
  return result;
}

/// The result of the kernel "bits", computed from the definitions of CUDA's functions.
u64 bits_by_hand(u32 a, u32 b) {
  const auto sa = static_cast<s32>(a), sb = static_cast<s32>(b);
  const auto count = [](auto value) { return static_cast<u32>(value); };
  u64 r =
      count(std::popcount(a)) + 3 * count(std::countl_zero(b)) + 5 * (a == 0 ? 0 : count(std::countr_zero(a)) + 1) + 7 * reversed(b, 32);
  const u64 both = static_cast<u64>(b) << 32 | a;
  u32 permuted = 0;
  for (int k = 0; k < 4; ++k) permuted |= static_cast<u32>(both >> (8 * (0x6053 >> (4 * k) & 7)) & 255) << (8 * k);
  r ^= static_cast<u64>(permuted) << 7;
  const u32 left = static_cast<u32>((both << (a & 31)) >> 32), right = static_cast<u32>(both >> std::min(b & 63, 32u));
  r += left ^ right;
  const u64 high = static_cast<u64>(static_cast<unsigned __int128>(r * a) * (static_cast<u64>(b) << 20) >> 64);
  r ^= high + static_cast<u64>(static_cast<s64>(static_cast<s32>(static_cast<s64>(sa) * sb >> 32)));
  u32 signed_dot = 17, dot = 3;
  for (int shift = 0; shift < 32; shift += 8) {
    signed_dot += static_cast<u32>(static_cast<s8>(a >> shift) * static_cast<s8>(b >> shift));
    dot += (a >> shift & 255) * (b >> shift & 255);
  }
  const u32 far = static_cast<u32>(std::abs(static_cast<s64>(a) - static_cast<s64>(b))) + 9;
  const u32 signed_far = static_cast<u32>(std::abs(static_cast<s64>(sa) - static_cast<s64>(sb))) + 1;
  r += signed_dot + dot + far + signed_far;
  r ^= static_cast<u64>(by_parts(a, b, 8, [](int p, int q) { return p + q; })) +
       by_parts(a, b, 8, [](int p, int q) { return std::abs(p - q); }) +
       by_parts(a, b, 16, [](int p, int q) { return std::max<s16>(static_cast<s16>(p), static_cast<s16>(q)); }) +
       by_parts(a, b, 8, [](int p, int q) { return p > q ? 255 : 0; }) + by_parts(a, b, 16, [](int p, int q) { return (p + q + 1) / 2; });
  r += count(std::popcount(r)) + static_cast<u64>(std::countl_zero(r)) * 1000 + reversed(r, 64) % 1009;
  const auto quotient = static_cast<u64>(static_cast<s64>(static_cast<s32>(static_cast<s64>(sa) / (sb | 1))));
  return r + (static_cast<u64>(a / (b | 1) + a % (b | 1)) + quotient + r / (u64{b} | 1) + r % (u64{a} | 1));
}

}  // namespace

TEST_CASE("emulator nvcc: functions, recursion, pointers and virtual functions") {
  Bench bench = bench_of("functions");
  const auto x = uniform<float>(64, -2, 2, 1);
  Array<float> in(bench.memory, x), out(bench.memory, 64);
  Params params;
  run(bench, "calls", 1, 64, params.add(in.address()).add(out.address()));
  for (std::size_t t = 0; t < 64; ++t) {
    const double table = t % 2 ? static_cast<double>(x[t]) - 2 - 3 : static_cast<double>(x[t]) * 2 + 3;
    CHECK(near(out.values()[t], static_cast<double>(x[t]) * (1.0 + x[t]) + 3.0 * static_cast<double>(t) + table, 4, 16));
  }

  const auto v = small_integers(64, 100, 2);
  Array<int> values(bench.memory, v), sums(bench.memory, 64);
  Params more;
  run(bench, "recursion", 1, 64, more.add(values.address()).add(64).add(sums.address()));
  int tree = 0;
  const std::size_t leaf = 4;
  for (std::size_t i = 0; i < 64; ++i) tree += static_cast<int>((i / 16 + 1) * (i / leaf % 4 + 1)) * v[i];
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
  for (std::size_t t = 0; t < 64; ++t) CHECK(sums.values()[t] == fibonacci[t % 10] + tree);

  Array<int> sizes(bench.memory, 64);
  Params last;
  run(bench, "shapes", 1, 64, last.add(sizes.address()));
  for (int t = 0; t < 64; ++t) CHECK(sizes.values()[static_cast<std::size_t>(t)] == (t % 3 ? t + 5 : t * 7));
}

TEST_CASE("emulator nvcc: printf and assert") {
  Bench bench = bench_of("functions");
  std::string printed;
  bench.launch_params.printed = &printed;
  Params params;
  run(bench, "prints", 1, 32, params.add(2).add(1.5f));
  CHECK(printed == "thread 0 of 32:  0.00 text 123456789abc\nthread 1 of 32:  1.50 text 123456789abc\n");
  Params wrong;
  CHECK_FALSE(bench.run("prints", {1, 1, 1}, {32, 1, 1}, wrong.add(4).add(1.5f)));
  CHECK(bench.found().find("assertion 'n < 4' failed at functions.cu:") != std::string::npos);
}

TEST_CASE("emulator nvcc: cooperative groups of grids, tiles and lanes") {
  Bench bench = bench_of("cooperative");
  constexpr int kThreads = 12 * 64;
  Array<int> a(bench.memory, kThreads), b(bench.memory, kThreads);
  Params params;
  params.add(a.address()).add(b.address()).add(kThreads);
  bench.launch_params.cooperative = true;
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    bench.launch_params.order = order;
    run(bench, "grid_sync", 12, 64, params);
    for (int i = 0; i < kThreads; ++i) CHECK(a.values()[static_cast<std::size_t>(i)] == (kThreads - 1 - i + kThreads / 2) % kThreads * 3);
  }
  bench.launch_params.cooperative = false;

  const auto x = small_integers(64, 50, 3);
  Array<int> in(bench.memory, x), out(bench.memory, 256);
  Params tiles;
  run(bench, "tiles", 1, 64, tiles.add(in.address()).add(out.address()).add(64));
  for (std::size_t t = 0; t < 64; ++t) {
    int sum = 0, most = 0, before = 0, some = 0, rank = 0;
    for (std::size_t i = t / 8 * 8; i < t / 8 * 8 + 8; ++i) {
      sum += x[i];
      most = std::max(most, x[i]);
      before += i < t ? x[i] : 0;
    }
    for (std::size_t i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) {
      some += x[i] % 3 == 0;
      rank += i < t && x[i] % 3 == 0;
    }
    CHECK(out.values()[4 * t] == sum + 1000 * static_cast<int>(t / 8));
    CHECK(out.values()[4 * t + 1] == most);
    CHECK(out.values()[4 * t + 2] == before);
    CHECK(out.values()[4 * t + 3] == (x[t] % 3 == 0 ? some * 100 + rank : -1));
  }

  std::vector<int> y = small_integers(500, 20, 4);
  for (int& value : y) value -= 10;
  Array<int> all(bench.memory, y), kept(bench.memory, 500), count(bench.memory, 1);
  Params compact;
  run(bench, "compact", 4, 128, compact.add(all.address()).add(kept.address()).add(count.address()).add(500));
  std::erase_if(y, [](int value) { return value <= 0; });
  REQUIRE(static_cast<std::size_t>(count.values()[0]) == y.size());
  std::vector<int> found = kept.values();
  found.resize(y.size());
  std::sort(found.begin(), found.end());
  std::sort(y.begin(), y.end());
  CHECK(found == y);
}

TEST_CASE("emulator nvcc: CUB's block algorithms") {
  Bench bench = bench_of("cub_blocks");
  const auto x = uniform<double>(384, -1, 1, 5);
  Array<double> in(bench.memory, x), sums(bench.memory, 3);
  Params params;
  run(bench, "reduce", 3, 128, params.add(in.address()).add(sums.address()));
  for (std::size_t block = 0; block < 3; ++block) {
    double sum = 0;
    for (std::size_t i = 0; i < 128; ++i) sum += x[128 * block + i];
    CHECK(near(sums.values()[block], sum, 100, 1));
  }

  const auto v = small_integers(512, 1000, 6);
  Array<int> numbers(bench.memory, v), scanned(bench.memory, 512);
  Params scan;
  run(bench, "scan", 1, 128, scan.add(numbers.address()).add(scanned.address()));
  int total = 0, before = 0;
  for (int value : v) total += value;
  for (std::size_t i = 0; i < 512; before += v[i++]) CHECK(scanned.values()[i] == before + total);

  const auto keys = uniform<float>(256, -1000, 1000, 7);
  std::vector<int> indices(256);
  for (int i = 0; i < 256; ++i) indices[static_cast<std::size_t>(i)] = i;
  Array<float> unsorted(bench.memory, keys), sorted(bench.memory, 256);
  Array<int> payload(bench.memory, indices), moved(bench.memory, 256);
  Params sort;
  run(bench, "sort", 1, 64, sort.add(unsorted.address()).add(payload.address()).add(sorted.address()).add(moved.address()));
  const auto after = sorted.values();
  CHECK(std::is_sorted(after.begin(), after.end()));
  for (std::size_t i = 0; i < 256; ++i) CHECK(after[i] == keys[static_cast<std::size_t>(moved.values()[i])]);

  std::vector<u8> bytes(512);
  std::array<u32, 64> wanted{};
  for (std::size_t i = 0; i < 512; ++i) ++wanted[bytes[i] = static_cast<u8>(v[i] % 64)];
  Array<u8> items(bench.memory, bytes);
  Array<u32> bins(bench.memory, 64);
  Params histogram;
  run(bench, "histogram", 1, 128, histogram.add(items.address()).add(bins.address()));
  CHECK(std::equal(wanted.begin(), wanted.end(), bins.values().begin()));
}

TEST_CASE("emulator nvcc: votes, matches and shuffles") {
  Bench bench = bench_of("warps");
  const auto x = small_integers(32, 40, 8);
  Array<int> in(bench.memory, x);
  Array<u32> out(bench.memory, 32);
  Params params;
  run(bench, "votes", 1, 32, params.add(in.address()).add(out.address()));
  u32 above = 0, any = 0, odd = 0, all_bits = 0, sum = 0;
  int most = -1;
  for (std::size_t t = 0; t < 32; ++t) {
    above |= static_cast<u32>(x[t] > 10) << t;
    any |= x[t] == 3;
    odd += static_cast<u32>(x[t] & 1);
    all_bits ^= static_cast<u32>(x[t]);
    sum += static_cast<u32>(x[t]);
    most = std::max(most, x[t]);
  }
  for (std::size_t t = 0; t < 32; ++t) {
    u32 match = 0;
    for (std::size_t i = 0; i < 32; ++i) match |= static_cast<u32>((x[i] & 7) == (x[t] & 7)) << i;
    u32 wanted = above ^ (1u << 31) ^ (any << 30);
    wanted += match;
    wanted ^= 0xffffffffu + 1;
    wanted += (sum ^ static_cast<u32>(most)) ^ all_bits;
    if (x[t] & 1) wanted += odd;
    CHECK(out.values()[t] == wanted);
  }

  const auto d = uniform<double>(32, -5, 5, 9);
  Array<double> doubles(bench.memory, d), shuffled(bench.memory, 32);
  Params shuffles;
  run(bench, "shuffles", 1, 32, shuffles.add(doubles.address()).add(shuffled.address()));
  for (std::size_t t = 0; t < 32; ++t) {
    const double up = t % 16 >= 3 ? d[t - 3] : d[t], down = t + 5 < 32 ? d[t + 5] : d[t], at = d[t / 8 * 8 + t * 7 % 8];
    CHECK(near(shuffled.values()[t], d[t] + 2 * up + 4 * down + 8 * at + 16 * d[t ^ 21], 8, 50));
  }
}

TEST_CASE("emulator nvcc: bits, wide products and divisions") {
  Bench bench = bench_of("warps");
  const auto x = integers<u32>(256, 20), y = integers<u32>(256, 21);
  Array<u32> a(bench.memory, x), b(bench.memory, y);
  Array<u64> out(bench.memory, 256);
  Params params;
  run(bench, "bits", 1, 256, params.add(a.address()).add(b.address()).add(out.address()));
  for (std::size_t t = 0; t < 256; ++t) CHECK(out.values()[t] == bits_by_hand(x[t], y[t]));
}

TEST_CASE("emulator nvcc: jump tables and transposes") {
  Bench bench = bench_of("warps");
  std::vector<int> x = small_integers(128, 100000, 10);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -x[i];
  Array<int> in(bench.memory, x), out(bench.memory, 128);
  Params params;
  run(bench, "jump", 1, 128, params.add(in.address()).add(out.address()));
  for (std::size_t t = 0; t < 128; ++t) {
    const int v = x[t];
    const int wanted[] = {v * 3,  v ^ 77,  v / 7, std::popcount(static_cast<u32>(v)), v * 8, std::countl_zero(static_cast<u32>(v)),
                          v % 11, v - 1000};
    CHECK(out.values()[t] == ((v & 15) < 8 ? wanted[v & 15] : -v));
  }

  const auto matrix = uniform<float>(64 * 64, -1, 1, 11);
  Array<float> from(bench.memory, matrix), to(bench.memory, 64 * 64);
  Params transpose;
  transpose.add(from.address()).add(to.address()).add(64);
  const bool good = bench.run("transpose", {2, 2, 1}, {32, 8, 1}, transpose);
  INFO(bench.found());
  CHECK(good);
  const float weights[] = {1, -2, 3.5f, 0.25f, -1e10f, 7, 8, 9};
  for (std::size_t r = 0; r < 64; ++r)
    for (std::size_t c = 0; c < 64; ++c) CHECK(to.values()[r * 64 + c] == matrix[c * 64 + r] * weights[r % 32 / 8 + (r & 4)]);
  CHECK(*reinterpret_cast<const int*>(bench.loaded->variable("counter").address) == 44);
  // The padding is what it is for.
  for (const auto& count :
       {bench.counters.of("transpose").of(Category::load_shared), bench.counters.of("transpose").of(Category::store_shared)})
    CHECK(count.units == count.ideal);
}

TEST_CASE("emulator nvcc: functions of math.h and their slow paths") {
  Bench bench = bench_of("math");
  std::vector<float> x = uniform<float>(120, -10, 10, 12);
  for (float big : {1e6f, -3.7e8f, 1.5e-20f, -2e30f, 40.0f, 88.5f, -100.0f, 0.3f}) x.push_back(big);
  Array<float> in(bench.memory, x), out(bench.memory, 16 * x.size());
  Params params;
  run(bench, "floats", 4, 32, params.add(in.address()).add(out.address()).add(static_cast<u32>(x.size())));
  const auto got = out.values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i], a = std::abs(v);
    const double wanted[] = {std::sin(v),
                             std::cos(v),
                             std::tan(v),
                             std::exp(v),
                             std::log(a),
                             std::pow(a, static_cast<double>(1.7f)),
                             std::erf(v),
                             std::tanh(v),
                             std::atan2(v, 2.5),
                             std::fmod(v, static_cast<double>(0.7f)),
                             std::cbrt(v),
                             std::lgamma(a + 0.5),
                             1 / std::sqrt(a),
                             std::asinh(v),
                             1 / v,
                             std::sqrt(a) + std::floor(v) + std::nearbyint(v) + std::trunc(v)};
    for (std::size_t k = 0; k < 16; ++k) {
      INFO("function " << k << " of " << x[i]);
      const float rounded = static_cast<float>(wanted[k]);
      // lgamma is the only one here with a root nearby, and so with an absolute bound (CUDA C++ Programming Guide, table of errors).
      if (std::isinf(rounded) || std::abs(rounded) < 1e-37f)
        CHECK((got[16 * i + k] == rounded || std::abs(got[16 * i + k] - rounded) < 1e-37f));
      else
        CHECK(near(got[16 * i + k], wanted[k], 6, k == 11 ? 1 : 0));
    }
  }

  const std::vector<double> y(x.begin(), x.end());
  Array<double> doubles(bench.memory, y), results(bench.memory, 12 * y.size());
  Params wide;
  run(bench, "doubles", 4, 32, wide.add(doubles.address()).add(results.address()).add(static_cast<u32>(y.size())));
  const auto exact = results.values();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double v = y[i], a = std::abs(v);
    const double wanted[] = {std::sin(v),       std::cos(v),  std::exp(v),  std::log(a),
                             std::pow(a, 1.7),  std::erfc(v), std::tanh(v), std::atan(v),
                             std::fmod(v, 0.7), std::sqrt(a), 1 / v,        v / 3.7 + 1 / std::sqrt(a) + std::ldexp(v, 3)};
    for (std::size_t k = 0; k < 12; ++k) {
      INFO("function " << k << " of " << y[i]);
      CHECK((exact[12 * i + k] == wanted[k] || near(exact[12 * i + k], wanted[k], 8)));
    }
  }
}

TEST_CASE("emulator nvcc: pairs of halves and of bfloats") {
  Bench bench = bench_of("halves");
  const auto fa = uniform<float>(128, -3, 3, 13), fb = uniform<float>(128, 0.5, 3, 14);
  const auto half = [](double value) { return f16_to_f32(static_cast<u16>(round_to(value, kF16, Rounding::nearest_even))); };
  const auto bfloat = [](double value) { return bf16_to_f32(static_cast<u16>(round_to(value, kBf16, Rounding::nearest_even))); };
  std::vector<u32> a, b;
  for (std::size_t i = 0; i < 128; i += 2) {
    a.push_back(half_pair(fa[i], fa[i + 1]));
    b.push_back(half_pair(fb[i], fb[i + 1]));
  }
  Array<u32> x(bench.memory, a), y(bench.memory, b), out(bench.memory, 8 * 64);
  Params params;
  run(bench, "halves", 1, 64, params.add(x.address()).add(y.address()).add(out.address()));
  for (std::size_t i = 0; i < 128; ++i) {
    const double p = half(fa[i]), q = half(fb[i]);
    const double wanted[] = {half(p * q + 0.5), half(p + q), half(p * half(p - q)), std::max(p, q),
                             half(std::exp(p)), half(1 / q), half(p / q),           p > q ? 1.0 : 0.0};
    for (std::size_t k = 0; k < 8; ++k) {
      const double got = f16_to_f32(static_cast<u16>(out.values()[i / 2 * 8 + k] >> (i % 2 * 16)));
      INFO("function " << k << " of " << p << " and " << q);
      CHECK(std::abs(got - wanted[k]) <= (k == 4 || k == 5 || k == 6 ? std::abs(wanted[k]) / 1024 : 0));
    }
  }

  a.clear(), b.clear();
  const auto bits = [](float value) { return static_cast<u32>(round_to(value, kBf16, Rounding::nearest_even)); };
  for (std::size_t i = 0; i < 128; i += 2) {
    a.push_back(bits(fa[i]) | bits(fa[i + 1]) << 16);
    b.push_back(bits(fb[i]) | bits(fb[i + 1]) << 16);
  }
  Array<u32> bx(bench.memory, a), by(bench.memory, b), bout(bench.memory, 4 * 64);
  Params brain;
  run(bench, "bfloats", 1, 64, brain.add(bx.address()).add(by.address()).add(bout.address()));
  for (std::size_t i = 0; i < 128; ++i) {
    const double p = bfloat(fa[i]), q = bfloat(fb[i]);
    const std::size_t low = i / 2 * 2;
    const double last = i % 2 == 0 ? bfloat(static_cast<double>(bfloat(fa[low])) * static_cast<double>(bfloat(fb[low + 1])))
                                   : bfloat(fa[low]) < bfloat(fb[low]);
    const double wanted[] = {bfloat(p * q + q), bfloat(p + q), std::min(p, -q), last};
    for (std::size_t k = 0; k < 4; ++k) CHECK(bf16_to_f32(static_cast<u16>(bout.values()[i / 2 * 4 + k] >> (i % 2 * 16))) == wanted[k]);
  }
}

TEST_CASE("emulator nvcc: a pipeline of libcu++ with roles") {
  constexpr int kSteps = 7;
  const std::vector<int> x = small_integers(kSteps * 64, 1000, 21);
  for (const AsyncOrder async_order : {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random}) {
    Bench bench = bench_of("roles");
    bench.launch_params.async_order = async_order;
    const Array<int> in(bench.memory, x);
    Array<int> out(bench.memory, 64);
    Params params;
    run(bench, "roles", 1, 128, params.add(in.address()).add(out.address()).add(kSteps));
    // Threads of a warp leave the pipeline together by match.sync, which formally orders no memory ahead of mbarrier.inval.
    REQUIRE(bench.diagnostics.remarks().size() == 1);
    CHECK(bench.diagnostics.remarks().front().kind == DiagnosticKind::race);
    for (std::size_t i = 0; i < 64; ++i) {
      int sum = 0;
      for (std::size_t s = 0; s < kSteps; ++s) sum += x[s * 64 + 63 - i];
      CHECK(out.values()[i] == sum);
    }
  }
}

TEST_CASE("emulator nvcc: a pipeline of asynchronous copies, and matrices of wmma") {
  Bench bench = bench_of("copies");
  const auto x = uniform<float>(7 * 256, -1, 1, 15);
  Array<float> in(bench.memory, x), out(bench.memory, 256);
  Params params;
  run(bench, "pipeline", 1, 64, params.add(in.address()).add(out.address()).add(7));
  for (std::size_t t = 0; t < 64; ++t)
    for (std::size_t e = 0; e < 4; ++e) {
      double sum = 0;
      for (std::size_t s = 0; s < 7; ++s) sum += x[256 * s + 4 * (63 - t) + e];
      CHECK(near(out.values()[4 * t + e], sum, 8, 1));
    }

  const auto half = [](float value) { return static_cast<u16>(round_to(value, kF16, Rounding::nearest_even)); };
  std::vector<u16> a, b;
  for (float value : uniform<float>(4096, -1, 1, 16)) a.push_back(half(value));
  for (float value : uniform<float>(4096, -1, 1, 17)) b.push_back(half(value));
  const auto c = uniform<float>(4096, -1, 1, 18);
  Array<u16> da(bench.memory, a), db(bench.memory, b);
  Array<float> dc(bench.memory, c), dd(bench.memory, 4096);
  Params matmul;
  run(bench, "wmma_matmul", 4, 128, matmul.add(da.address()).add(db.address()).add(dc.address()).add(dd.address()));
  const auto d = dd.values();
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < 64; ++column) {
      double sum = c[row * 64 + column];
      for (std::size_t k = 0; k < 64; ++k)
        sum += static_cast<double>(f16_to_f32(a[row * 64 + k])) * static_cast<double>(f16_to_f32(b[column * 64 + k]));
      CHECK(near(d[row * 64 + column], 2 * sum, 20, 2));  // 64 sums that round
    }
}

TEST_CASE("emulator nvcc: atomics of all kinds, and messages by release and acquire") {
  Bench bench = bench_of("atomics");
  const auto x = small_integers(96, 1000, 19);
  Array<int> in(bench.memory, x), i(bench.memory, std::vector<int>{0, 0, 500, 500, -1, 0, 0});
  Array<u32> u(bench.memory, 3);
  Array<u64> l(bench.memory, 3);
  Array<float> f(bench.memory, 1);
  Array<double> d(bench.memory, 1);
  Array<u32> h(bench.memory, 1);
  Params params;
  params.add(in.address()).add(i.address()).add(u.address()).add(l.address()).add(f.address()).add(d.address()).add(h.address());
  run(bench, "atomics", 1, 96, params);
  int sum = 0, least = 500, most = 500, cleared = -1, set = 0, flipped = 0;
  u64 repeated = 0;
  u32 down = 0;
  for (int v : x) {
    sum += v;
    least = std::min(least, v);
    most = std::max(most, v);
    cleared &= ~(1 << (v & 31));
    set |= 1 << (v & 31);
    flipped ^= v;
    repeated = repeated * 3 + 1;
    down = down == 0 || down > 11 ? 11 : down - 1;
  }
  CHECK(i.values() == std::vector<int>{sum, -sum, least, most, cleared, set, flipped});
  CHECK(u.values() == std::vector<u32>{96 % 10, down, 192});
  CHECK(l.values() == std::vector<u64>{u64{96} << 33, static_cast<u64>(*std::max_element(x.begin(), x.end())) << 8, repeated});
  CHECK(f.values()[0] == 48);
  CHECK(d.values()[0] == 24);
  CHECK(h.values()[0] == half_pair(96, 192));
  // One of them is atomicAdd_block.
  CHECK(!bench.run("atomics", {3, 1, 1}, {32, 1, 1}, params));
  CHECK(bench.found().find("because one of them is atomic to its own block alone") != std::string::npos);

  for (const Order order : {Order::forward, Order::backward}) {
    bench.launch_params.order = order;
    Array<int> data(bench.memory, 64), flag(bench.memory, 1), out(bench.memory, 128);
    Params message;
    run(bench, "message", 3, 64, message.add(data.address()).add(flag.address()).add(out.address()));
    for (int t = 0; t < 128; ++t) CHECK(out.values()[static_cast<std::size_t>(t)] == 3 * (t % 64) + 1);
    Array<int> next(bench.memory, 1), serving(bench.memory, 1), value(bench.memory, 1);
    Params ticket;
    run(bench, "ticket", 12, 64, ticket.add(next.address()).add(serving.address()).add(value.address()));
    CHECK(value.values()[0] == (1 << 12) - 1);
  }
}

TEST_CASE("emulator nvcc: bulk copies with barriers, and blocks of a cluster that count in each other's memory") {
  const auto x = uniform<float>(5 * 512, -1, 1, 22);
  std::vector<u8> bytes(3000);
  std::array<u32, 256> wanted{};
  std::mt19937_64 random(23);
  for (u8& byte : bytes) ++wanted[byte = static_cast<u8>(random())];
  for (const AsyncOrder order : {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random}) {
    Bench bench = bench_of("hopper");
    bench.launch_params.async_order = order;
    Array<float> in(bench.memory, x), out(bench.memory, 512);
    Params params;
    run(bench, "bulk", 1, 128, params.add(in.address()).add(out.address()).add(5));
    const auto sums = out.values();
    for (std::size_t i = 0; i < 512; ++i) {
      double sum = 0;
      for (std::size_t step = 0; step < 5; ++step) sum += x[512 * step + i];
      CHECK(near(sums[i], sum, 8, 1));
    }
    Array<u8> items(bench.memory, bytes);
    Array<u32> bins(bench.memory, 256);
    Params histogram;
    run(bench, "spread_histogram", 4, 96, histogram.add(items.address()).add(bins.address()).add(3000));
    CHECK(std::equal(wanted.begin(), wanted.end(), bins.values().begin()));
  }
}

}  // namespace tilewright::rt::emulator
