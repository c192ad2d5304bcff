// Element types: loads and stores, casts, common types of operands, constants.
#include <bit>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::load, tw::store;

template <class T>
void copy(tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 n, int block) {
  auto i = tw::program_id(0) * block + arange(0, block);
  store(y + i, load(x + i, i < n), i < n);
}

template <class T>
void check_copy(tw::Device& device) {
  const tw::Kernel kernel("copy", copy<T>);
  for (int n : {1, 63, 1000}) {
    const std::vector<T> x = random_bits<T>(n, 1);
    const auto in = device.upload(x);
    auto out = device.allocate<T>(n + 3);
    out.fill(T(1));
    kernel({.grid = tw::cdiv(n, 128)}, in, out, n, 128);
    std::vector<T> want = x;
    want.insert(want.end(), 3, T(1));
    check_same("copy", out.download(), want);
  }
}

template <class From>
void casts(tw::Ptr<const From> x, tw::Ptr<bool> b, tw::Ptr<std::int8_t> i8, tw::Ptr<std::int16_t> i16, tw::Ptr<std::int32_t> i32,
           tw::Ptr<std::int64_t> i64, tw::Ptr<std::uint8_t> u8, tw::Ptr<std::uint16_t> u16, tw::Ptr<std::uint32_t> u32,
           tw::Ptr<std::uint64_t> u64, tw::Ptr<tw::f16> f16, tw::Ptr<tw::bf16> bf16, tw::Ptr<float> f32, tw::Ptr<double> f64,
           tw::Ptr<tw::f8e4m3> e4m3, tw::Ptr<tw::f8e5m2> e5m2, int block) {
  auto i = tw::program_id(0) * block + arange(0, block);
  auto v = load(x + i);
  store(b + i, v.template to<bool>());
  store(i8 + i, v.template to<std::int8_t>());
  store(i16 + i, v.template to<std::int16_t>());
  store(i32 + i, tw::cast<std::int32_t>(v));
  store(i64 + i, tw::cast<std::int64_t>(v));
  store(u8 + i, tw::cast<std::uint8_t>(v));
  store(u16 + i, tw::cast<std::uint16_t>(v));
  store(u32 + i, tw::cast<std::uint32_t>(v));
  store(u64 + i, tw::cast<std::uint64_t>(v));
  store(f16 + i, tw::cast<tw::f16>(v));
  store(bf16 + i, tw::cast<tw::bf16>(v));
  store(f32 + i, tw::cast<float>(v));
  store(f64 + i, tw::cast<double>(v));
  store(e4m3 + i, tw::cast<tw::f8e4m3>(v));
  store(e5m2 + i, tw::cast<tw::f8e5m2>(v));
}

/// A 64-bit integer as a double that rounds to any float as the integer does: to odd.
template <std::integral I>
double odd_double(I v) {
  if constexpr (sizeof(I) < 8) {
    return static_cast<double>(v);
  } else {
    const bool negative = v < 0;
    std::uint64_t m = negative ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
    const int extra = 64 - 53 - std::countl_zero(m);
    if (m != 0 && extra > 0) {
      const bool sticky = m & ((std::uint64_t{1} << extra) - 1);
      m = (m >> extra | sticky) << extra;
    }
    return negative ? -static_cast<double>(m) : static_cast<double>(m);
  }
}

template <class To, class From>
To converted(From v) {
  if constexpr (std::same_as<To, bool>) {
    return as_double(v) != 0;
  } else if constexpr (std::integral<To> && std::integral<From>) {
    return static_cast<To>(v);
  } else if constexpr (std::integral<To>) {
    const double x = std::trunc(as_double(v));
    if (x != x) return 0;
    if (x < static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= std::ldexp(1.0, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else if constexpr (std::integral<From>) {
    if constexpr (std::is_arithmetic_v<To>)
      return static_cast<To>(v);
    else
      return To(odd_double(v));
  } else {
    return static_cast<To>(as_double(v));
  }
}

template <class From>
std::vector<From> interesting() {
  std::vector<From> v = random_bits<From>(400, 5);
  if constexpr (std::same_as<From, bool>) {
  } else if constexpr (std::integral<From>) {
    using L = std::numeric_limits<From>;
    for (From x : {From(0), From(1), From(-1), L::min(), L::max(), From(L::max() - 1), From(127), From(128), From(200)}) v.push_back(x);
    if constexpr (sizeof(From) == 8)
      for (int shift : {0, 1, 2, 20, 30, 40})
        for (std::int64_t low : {-1, 0, 1}) {
          v.push_back(From((std::int64_t{1} << 62 >> shift) + (std::int64_t{1} << 54 >> shift) + low));  // a tie of bf16
          v.push_back(From((std::int64_t{1} << 62 >> shift) + (std::int64_t{1} << 38 >> shift) + low));  // of f32
          v.push_back(From((std::int64_t{1} << 62 >> shift) + (std::int64_t{3} << 38 >> shift) + low));
        }
  } else {
    for (double x : {0.0,
                     -0.0,
                     0.5,
                     -0.5,
                     1.5,
                     -1.5,
                     127.5,
                     128.0,
                     -128.9,
                     -129.0,
                     255.9,
                     256.0,
                     448.0,
                     464.0,
                     465.0,
                     480.0,
                     57344.0,
                     61439.0,
                     61440.0,
                     65504.0,
                     65519.0,
                     65520.0,
                     2147483647.0,
                     2147483648.0,
                     -2147483648.0,
                     -2147483649.0,
                     4294967295.0,
                     4294967296.0,
                     9223372036854775807.0,
                     -9223372036854775808.0,
                     18446744073709551615.0,
                     1e30,
                     -1e30,
                     3.4e38,
                     3.5e38,
                     1e300,
                     -1e300,
                     1e-5,
                     6e-8,
                     2.9e-8,
                     3e-8,
                     1e-40,
                     1e-45,
                     7e-46,
                     1e-310,
                     0.0009765625,
                     0.001953125,
                     0.00146484375})
      v.push_back(From(x));
    for (double x : {double(INFINITY), -double(INFINITY), double(NAN)}) v.push_back(From(x));
    // Numbers of the size that integers have, and of small floats.
    for (From x : numbers<From>(200, 6, 100)) v.push_back(x);
    for (From x : numbers<From>(100, 7, 1e-3)) v.push_back(x);
  }
  v.resize(512);
  return v;
}

template <class From>
void check_casts(tw::Device& device) {
  INFO("from type ", typeid(From).name());
  const std::vector<From> x = interesting<From>();
  auto out = [&]<class To>(To) { return device.allocate<To>(x.size()); };
  auto b = out(false);
  auto i8 = out(std::int8_t());
  auto i16 = out(std::int16_t());
  auto i32 = out(std::int32_t());
  auto i64 = out(std::int64_t());
  auto u8 = out(std::uint8_t());
  auto u16 = out(std::uint16_t());
  auto u32 = out(std::uint32_t());
  auto u64 = out(std::uint64_t());
  auto f16 = out(tw::f16());
  auto bf16 = out(tw::bf16());
  auto f32 = out(float());
  auto f64 = out(double());
  auto e4m3 = out(tw::f8e4m3());
  auto e5m2 = out(tw::f8e5m2());
  const tw::Kernel kernel("casts", casts<From>);
  kernel({.grid = x.size() / 128}, device.upload(x), b, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, e4m3, e5m2, 128);
  auto check = [&]<class To>(const char* what, const tw::Buffer<To>& got) {
    std::vector<To> want;
    for (From v : x) want.push_back(converted<To>(v));
    check_same(what, got.download(), want);
  };
  check("bool", b);
  check("i8", i8);
  check("i16", i16);
  check("i32", i32);
  check("i64", i64);
  check("u8", u8);
  check("u16", u16);
  check("u32", u32);
  check("u64", u64);
  check("f16", f16);
  check("bf16", bf16);
  check("f32", f32);
  check("f64", f64);
  check("f8e4m3", e4m3);
  check("f8e5m2", e5m2);
}

}  // namespace

TEST_CASE("elements: every type goes through memory bit by bit") {
  on_every_device([](tw::Device& device) {
    check_copy<bool>(device);
    check_copy<std::int8_t>(device);
    check_copy<std::int16_t>(device);
    check_copy<std::int32_t>(device);
    check_copy<std::int64_t>(device);
    check_copy<std::uint8_t>(device);
    check_copy<std::uint16_t>(device);
    check_copy<std::uint32_t>(device);
    check_copy<std::uint64_t>(device);
    check_copy<tw::f16>(device);
    check_copy<tw::bf16>(device);
    check_copy<float>(device);
    check_copy<double>(device);
    check_copy<tw::f8e4m3>(device);
    check_copy<tw::f8e5m2>(device);
  });
}

TEST_CASE("elements: casts between all types") {
  on_every_device([](tw::Device& device) {
    check_casts<bool>(device);
    check_casts<std::int8_t>(device);
    check_casts<std::int16_t>(device);
    check_casts<std::int32_t>(device);
    check_casts<std::int64_t>(device);
    check_casts<std::uint8_t>(device);
    check_casts<std::uint16_t>(device);
    check_casts<std::uint32_t>(device);
    check_casts<std::uint64_t>(device);
    check_casts<tw::f16>(device);
    check_casts<tw::bf16>(device);
    check_casts<float>(device);
    check_casts<double>(device);
    check_casts<tw::f8e4m3>(device);
    check_casts<tw::f8e5m2>(device);
  });
}

TEST_CASE("elements: different types of one kind meet in the wider") {
  on_every_device([](tw::Device& device) {
    const auto h = numbers<tw::f16>(64, 1);
    const auto b = numbers<tw::bf16>(64, 2);
    const auto f = numbers<float>(64, 3);
    const auto d = numbers<double>(64, 4);
    const auto i8 = numbers<std::int8_t>(64, 5, 40);
    const auto u8 = numbers<std::uint8_t>(64, 6, 80);
    const auto i32 = numbers<std::int32_t>(64, 7, 1e8);
    auto out = device.allocate<float>(4 * 64);
    auto wide = device.allocate<double>(64);
    auto whole = device.allocate<std::int32_t>(3 * 64);
    const tw::Kernel kernel(
        "widen", [](tw::Ptr<const tw::f16> h, tw::Ptr<const tw::bf16> b, tw::Ptr<const float> f, tw::Ptr<const double> d,
                    tw::Ptr<const std::int8_t> i8, tw::Ptr<const std::uint8_t> u8, tw::Ptr<const std::int32_t> i32, tw::Ptr<float> out,
                    tw::Ptr<double> wide, tw::Ptr<std::int32_t> whole) {
          auto i = arange(0, 64);
          auto th = load(h + i);
          auto tb = load(b + i);
          auto tf = load(f + i);
          tw::F32 meet = th * tb;
          meet += th;
          store(out + i, meet);
          store(out + 64 + i, tb - th);
          store(out + 128 + i, th + tf);
          store(out + 192 + i, tw::where(th < tb, th, tb));
          tw::F64 sum = tf * load(d + i) + th;
          store(wide + i, sum);
          tw::I32 sums = load(i8 + i) + load(i32 + i);
          store(whole + i, sums);
          store(whole + 64 + i, load(u8 + i) * load(i32 + i));
          tw::I16 narrow = load(u8 + i) - load(i8 + i).to<std::int16_t>();
          store(whole + 128 + i, tw::maximum(narrow, load(i32 + i)));
        });
    kernel({.grid = 1}, device.upload(h), device.upload(b), device.upload(f), device.upload(d), device.upload(i8), device.upload(u8),
           device.upload(i32), out, wide, whole);
    std::vector<double> want, want_wide;
    std::vector<std::int32_t> want_whole;
    for (int i = 0; i < 64; ++i) want.push_back(as_double(h[i]) * as_double(b[i]) + as_double(h[i]));
    for (int i = 0; i < 64; ++i) want.push_back(as_double(b[i]) - as_double(h[i]));
    for (int i = 0; i < 64; ++i) want.push_back(as_double(h[i]) + f[i]);
    for (int i = 0; i < 64; ++i) want.push_back(std::min(as_double(h[i]), as_double(b[i])));
    for (int i = 0; i < 64; ++i) want_wide.push_back(f[i] * d[i] + as_double(h[i]));
    for (int i = 0; i < 64; ++i) want_whole.push_back(i8[i] + i32[i]);
    for (int i = 0; i < 64; ++i) want_whole.push_back(static_cast<std::int32_t>(std::uint32_t(u8[i]) * std::uint32_t(i32[i])));
    for (int i = 0; i < 64; ++i) want_whole.push_back(std::max(u8[i] - i8[i], i32[i]));
    check_close("f32", out.download(), want, 1e-6, 1e-6);
    check_close("f64", wide.download(), want_wide, 1e-15, 1e-15);
    check_same("i32", whole.download(), want_whole);
  });
}

TEST_CASE("elements: constants take the tile's type, and are refused where they do not fit") {
  on_every_device([](tw::Device& device) {
    auto out = device.allocate<float>(8);
    auto bytes = device.allocate<std::uint8_t>(4);
    const tw::Kernel kernel("constants", [](tw::Ptr<float> out, tw::Ptr<std::uint8_t> bytes) {
      tw::F32 x = 0;
      x = x + 1;
      store(out, x);
      store(out + 1, x * 0.1);
      store(out + 2, -tw::inf);
      store(out + 3, tw::nan);
      tw::F16 h = 1.0f / 3;
      store(out + 4, h.to<float>());
      store(out + 5, tw::full<float>({}, 16777217.0));
      store(out + 6, (tw::full<tw::f8e5m2>({}, tw::inf)).to<float>());
      store(out + 7, 2 * x - 0.5);
      tw::U8 b = 255;
      store(bytes, b);
      store(bytes + 1, b + 1);
      store(bytes + 2, (b & 0x0f).to<std::uint8_t>());
      store(bytes + 3, 7);
    });
    kernel({.grid = 1}, out, bytes);
    check_close("constants", out.download(), {1, 0.1f, -INFINITY, NAN, static_cast<float>(tw::f16(1.0f / 3)), 16777216, INFINITY, 1.5}, 0);
    check_same("bytes", bytes.download(), std::vector<std::uint8_t>{255, 0, 15, 7});
    auto refused = [&](auto f) {
      const tw::Kernel wrong("wrong", f);
      return message_of([&] { wrong({.grid = 1}, out); });
    };
    const std::string here = "elements.cpp:";
    CHECK(has(refused([](tw::Ptr<float>) { tw::I8 x = 300; }), here));
    CHECK(has(refused([](tw::Ptr<float>) { tw::zeros<std::uint8_t>({4}) + -1; }), here));
    CHECK(has(refused([](tw::Ptr<float>) { tw::zeros<tw::f16>({4}) + 1e6; }), here));
    CHECK(has(refused([](tw::Ptr<float>) { tw::F32 x = 16777217; }), here));
    CHECK(has(refused([](tw::Ptr<float>) { tw::F32 x = 1e39; }), here));
    CHECK(has(refused([](tw::Ptr<float>) { tw::full<tw::f8e4m3>({4}, tw::inf); }), here));
    CHECK(has(refused([](tw::Ptr<float>) { (void)(arange(0, 4) < (std::int64_t{1} << 40)); }), here));
    CHECK(has(refused([](tw::Ptr<float>) {
                tw::I32 x;
                x = x + 1;
              }),
              here));
  });
}
