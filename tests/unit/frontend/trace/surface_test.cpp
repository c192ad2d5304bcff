// Uses each name of the public tracing interface once and checks its type. The test is that this file compiles.
#include <doctest/doctest.h>

#include "tilewright/ops.h"

namespace tw = tilewright;

namespace {

template <class Want, class Got>
void is(const Got&) {
  static_assert(std::is_same_v<Want, Got>);
}

static_assert(std::is_same_v<tw::I32, tw::Tile<std::int32_t>> && std::is_same_v<tw::Ptr<float>, tw::Tile<float*>>);
static_assert(!std::is_convertible_v<tw::Bool, bool> && !std::is_constructible_v<bool, tw::Bool>);
static_assert(!std::is_convertible_v<float, tw::f16> && std::is_constructible_v<tw::f16, float> && !std::is_convertible_v<tw::f16, float>);
static_assert(float(tw::f16(1.5f)) == 1.5f && float(tw::bf16(1.00390625f)) == 1.0f && float(tw::f8e4m3(500.0f)) != 500.0f);

[[maybe_unused]] void values(tw::Bool b, tw::I8 i8, tw::I16 i16, tw::I32 i32, tw::I64 i64, tw::U8 u8, tw::U16 u16, tw::U32 u32, tw::U64 u64,
                             tw::F16 f16, tw::BF16 bf16, tw::F32 f32, tw::F64 f64, tw::Tile<tw::f8e4m3> e4, tw::Tile<tw::f8e5m2> e5,
                             tw::Ptr<float> p) {
  is<tw::F32>(f32 * 2), is<tw::F32>(2 * f32), is<tw::F32>(f32 + 0.5), is<tw::F32>(1.0f - f32), is<tw::F16>(f16 * 0.5f);
  is<tw::F16>(f16 + 1), is<tw::BF16>(bf16 / 3), is<tw::F64>(f64 * 2.0f), is<tw::F32>(f32 + tw::inf), is<tw::F16>(f16 - -tw::inf);
  is<tw::F32>(f32 * tw::nan), is<tw::I8>(i8 + 1), is<tw::I64>(i64 * 3), is<tw::U32>(u32 & 0xffu), is<tw::U8>(u8 << 3),
      is<tw::Bool>(b && true);
  is<tw::F32>(f32 + tw::f16(1)), is<tw::U64>(7 * u64), is<tw::U16>(u16 % 5), is<tw::I16>(i16 >> 2);
  is<tw::I32>(i8 + i32), is<tw::I64>(i32 + i64), is<tw::I32>(u16 + i32), is<tw::I64>(u32 + i64), is<tw::U64>(u8 ^ u64),
      is<tw::F32>(f16 * f32);
  is<tw::F64>(f32 / f64), is<tw::F32>(f16 + bf16), is<tw::F32>(bf16 + f16), is<tw::Bool>(f16 == bf16), is<tw::Bool>(bf16 != f16);
  is<tw::Bool>(bf16 < f16), is<tw::Bool>(i8 == i32), is<tw::Bool>(i64 >= i32), is<tw::F32>(tw::maximum(bf16, f16));
  is<tw::I32>(-i32), is<tw::I32>(~i32), is<tw::Bool>(!b), is<tw::Bool>((i32 < 3 && 2 <= i32) || !(i32 > 1)), is<tw::Bool>(b == b);
  is<tw::Bool>(b & b), is<tw::Bool>(b | b), is<tw::Bool>(b ^ true), is<tw::Bool>(i32 == 0), is<tw::Bool>(0 != i32);
  i32 += i8, i32 -= 1, i32 *= 2, i32 /= 3, i32 %= 4, i32 &= 5, i32 |= 6, i32 ^= 7, i32 <<= 1, i32 >>= 1, f32 += f16, f32 *= 0.5, b &= b,
      b |= true;
  is<tw::F16>(f32.to<tw::f16>()), is<tw::I8>(f32.to<std::int8_t>()), is<tw::U32>(f32.bitcast<std::uint32_t>());
  is<tw::Tile<tw::f8e4m3>>(f16.to<tw::f8e4m3>()), is<tw::F32>(e4.to<float>()), is<tw::F16>(e5.to<tw::f16>()), is<tw::I32>(b.to<int>());
  int extent = f32.extent(-1) + f32.rank() + static_cast<int>(f32.shape().size());
  is<tw::F32>(tw::zeros<float>(f32.shape()) * extent);
  is<tw::Ptr<float>>(p + i32), is<tw::Ptr<float>>(i64 + p), is<tw::Ptr<float>>(p - 4), is<tw::Ptr<float>>(p + u8);
  p += i32, p -= 1;
  tw::Ptr<const float> q = p;
  is<tw::F32>(tw::load(q));
  is<tw::Ptr<const float>>(tw::where(b, q, q + 1));
  tw::F32 zero = 0;
  zero = 1.5f;
  is<tw::F16>(tw::cast<tw::f16>(zero));
}

[[maybe_unused]] void create_and_shape(tw::F32 x, tw::Ptr<float> p, int n) {
  const std::size_t wide = 64;
  is<tw::I32>(tw::program_id(0)), is<tw::I32>(tw::num_programs(2)), is<tw::I32>(tw::arange(0, n));
  is<tw::F32>(tw::full<float>({}, 0)), is<tw::F32>(tw::full<float>({n, 4}, -tw::inf)), is<tw::I8>(tw::full<std::int8_t>({wide}, 1));
  is<tw::F16>(tw::zeros<tw::f16>({n, n})), is<tw::Bool>(tw::ones<bool>({n})), is<tw::F32>(tw::zeros_like(x)),
      is<tw::F32>(tw::full_like(x, 3));
  is<tw::F32>(tw::column(x)), is<tw::F32>(tw::row(x)), is<tw::F32>(tw::expand_dims(x, -1)), is<tw::F32>(tw::squeeze(x, 0));
  is<tw::F32>(tw::broadcast_to(x, {n, n})), is<tw::F32>(tw::reshape(x, {2, n})), is<tw::F32>(tw::permute(x, {1, 0, 2}));
  is<tw::F32>(tw::flip(x, 0)), is<tw::F32>(tw::join(x, x)), is<tw::Ptr<float>>(tw::flip(p + tw::arange(0, n), -1));
  auto [even, odd] = tw::split(x);
  is<tw::F32>(even), is<tw::F32>(tw::interleave(even, odd)), is<tw::F32>(tw::cat(even, odd, 0));
  is<tw::F32>(tw::transpose(x)), is<tw::F32>(tw::ravel(x)), is<tw::Ptr<float>>(tw::column(p + tw::arange(0, n)));
}

[[maybe_unused]] void element_wise(tw::F32 x, tw::F16 h, tw::I32 i, tw::U32 u, tw::Bool b) {
  for (auto& y : {tw::abs(x),         tw::ceil(x),
                  tw::floor(x),       tw::round(x),
                  tw::rint(x),        tw::trunc(x),
                  tw::sqrt(x),        tw::rsqrt(x),
                  tw::exp(x),         tw::exp2(x),
                  tw::log(x),         tw::log2(x),
                  tw::sin(x),         tw::cos(x),
                  tw::tan(x),         tw::tanh(x),
                  tw::exp10(x),       tw::expm1(x),
                  tw::log10(x),       tw::log1p(x),
                  tw::asin(x),        tw::acos(x),
                  tw::atan(x),        tw::atan2(x, 1),
                  tw::sinh(x),        tw::cosh(x),
                  tw::cbrt(x),        tw::hypot(2, x),
                  tw::erf(x),         tw::sigmoid(x),
                  tw::pow(x, 2),      tw::pow(2.0, x),
                  tw::fma(x, x, x),   tw::fma(x, 2.0f, 1),
                  tw::fma(2, 3, x),   tw::fma(h, x, h),
                  tw::clamp(x, 0, 1), tw::minimum(x, 0.0f),
                  tw::maximum(0, x),  tw::fmin(x, x),
                  tw::fmax(x, h),     tw::copysign(x, -1.0),
                  tw::div_rn(x, 3),   tw::where(b, x, -tw::inf),
                  tw::where(b, 0, x), tw::where(b, h, x),
                  tw::silu(x),        tw::gelu(x),
                  tw::gelu_tanh(x),   tw::relu(x),
                  tw::softmax(x, -1), tw::log_softmax(x, 0)})
    is<tw::F32>(y);
  is<tw::Bool>(tw::isnan(x)), is<tw::Bool>(tw::isinf(h)), is<tw::U32>(tw::umulhi(u, u)), is<tw::U32>(tw::umulhi(u, 0xcccccccdu));
  is<tw::I32>(tw::popcount(u)), is<tw::I32>(tw::clz(u)), is<tw::I32>(tw::ffs(i)), is<tw::I32>(tw::abs(i)), is<tw::I32>(tw::minimum(i, 5));
  is<tw::U32>(tw::reverse_bits(u));
  is<tw::I32>(tw::where(b, -1, 2)), is<tw::F32>(tw::where(b, 1.0f, 0)), is<tw::F64>(tw::where(b, 1, 0.5)),
      is<tw::Bool>(tw::where(b, true, false));
  is<tw::U64>(tw::where(b, 0u, std::size_t{1})), is<tw::F32>(tw::where(b, -tw::inf, tw::nan)),
      is<tw::F16>(tw::where(b, tw::f16(1), tw::inf));
  is<tw::F32>(tw::roll(x, 1, 0)), is<tw::F32>(tw::roll(x, i)), is<tw::I32>(tw::roll(i, -1, -1));
  is<tw::I32>(tw::clamp(i, 0, 9)), is<tw::Bool>(tw::where(b, b, false)), is<tw::I32>(tw::cdiv(i, 8)), is<tw::I32>(tw::next_power_of_two(i));
}

[[maybe_unused]] void reductions(tw::F32 x, tw::I32 i, tw::Bool b) {
  is<tw::F32>(tw::sum(x)), is<tw::F32>(tw::sum(x, 0)), is<tw::F32>(tw::sum(x, -1, true)), is<tw::F32>(tw::prod(x, 1)),
      is<tw::F32>(tw::max(x));
  is<tw::F32>(tw::min(x, 0)), is<tw::I32>(tw::argmax(x, 0)), is<tw::I32>(tw::argmin(x)), is<tw::Bool>(tw::any(b)),
      is<tw::Bool>(tw::all(b, 0));
  is<tw::I32>(tw::xor_sum(i, 0)), is<tw::F32>(tw::reduce(x, 0, [](auto a, auto c) { return a + c; }));
  is<tw::F32>(tw::reduce(x, 0, [](tw::F32 a, tw::F32 c) { return tw::maximum(a, c); }));
  auto best = [](auto a, auto c) {
    auto [av, ai] = a;
    auto [cv, ci] = c;
    auto left = av > cv || (av == cv && ai < ci);
    return std::tuple{tw::where(left, av, cv), tw::where(left, ai, ci)};
  };
  auto [value, index] = tw::reduce(std::tuple{x, i}, 0, best);
  is<tw::F32>(value), is<tw::I32>(index);
  auto triple = tw::reduce(std::tuple{x, x, i}, 0, [](auto a, auto) { return a; });
  is<tw::I32>(std::get<2>(triple));
}

[[maybe_unused]] void dots(tw::F16 h, tw::BF16 g, tw::F32 f, tw::F64 d, tw::I8 c, tw::Tile<tw::f8e4m3> e4, tw::Tile<tw::f8e5m2> e5,
                           tw::F32 acc) {
  is<tw::F32>(tw::dot(h, h)), is<tw::F32>(tw::dot(g, g, acc)), is<tw::F32>(tw::dot(f, f, acc, tw::Precision::tf32x3)),
      is<tw::F64>(tw::dot(d, d));
  is<tw::F32>(tw::dot(f, f, {}, tw::Precision::ieee)), is<tw::I32>(tw::dot(c, c)), is<tw::F32>(tw::dot(e4, e4)),
      is<tw::F32>(tw::dot(e5, e5));
  (void)tw::Precision::standard, (void)tw::Precision::tf32, (void)tw::Precision::bf16x3;
}

[[maybe_unused]] void memory(tw::Ptr<const float> in, tw::Ptr<float> out, tw::Bool mask, tw::F32 v, tw::I32 i) {
  is<tw::F32>(tw::load(in)), is<tw::F32>(tw::load(in + i, mask)), is<tw::F32>(tw::load(in, mask, 0)),
      is<tw::F32>(tw::load(in, mask, -tw::inf));
  is<tw::F32>(tw::load(in, {}, {}, {.is_volatile = true})), is<tw::F32>(tw::load(in, mask, v, {.cache = {}, .evict = {}}));
  tw::store(out, v), tw::store(out + i, 1, mask), tw::store(out, v, {}, {.evict = {}});
}

[[maybe_unused]] void control(tw::Ptr<float> p, tw::I32 n, tw::I64 m, tw::F32 x) {
  for (auto i : tw::range(0, n)) is<tw::I32>(i);
  for (auto i : tw::range(0, n, 32, {.num_stages = 3, .unroll = 2})) x += i.to<float>();
  for (auto i : tw::range(0, m)) is<tw::I64>(i);
  for (auto i : tw::range(n, 64, 2, {.unroll = 4})) is<tw::I32>(i);
  for (auto i : tw::range(tw::program_id(0), n, tw::num_programs(0))) is<tw::I32>(i);
  auto [pm, pn] = tw::grouped_order(n, tw::cdiv(n, 64), 8, 8);
  tw::when(pm == 0, [&] { x = x + 1; });
  tw::when(pn == 0 && n > 1, [&] { x = tw::zeros_like(x); }, [&] { tw::store(p, x); });
  tw::loop_while([&] { return n > 1; }, [&] { n = n / 2; });
}

[[maybe_unused]] void random(tw::I32 i) {
  is<std::array<tw::U32, 4>>(tw::philox(std::uint64_t(42), i, 0u, 1, i));
  auto words = tw::philox(42, i);
  is<tw::U32>(words[3]), is<tw::F32>(tw::rand(7, i)), is<tw::F32>(tw::randn(i, i)), is<tw::U32>(tw::randint(1, i));
}

template <class A, class B>
concept Adds = requires(A a, B b) { a + b; };
template <class A>
concept IsCondition = requires(A a) { a ? 1 : 0; };

}  // namespace

TEST_CASE("surface: what does not meet does not compile") {
  CHECK_FALSE(Adds<tw::I32, float>);
  CHECK_FALSE(Adds<tw::I32, tw::F32>);
  CHECK_FALSE(Adds<tw::I32, tw::U32>);
  CHECK_FALSE(Adds<tw::Ptr<float>, tw::F32>);
  CHECK_FALSE(Adds<tw::Bool, tw::Bool>);
  CHECK_FALSE(Adds<tw::Tile<tw::f8e4m3>, tw::Tile<tw::f8e4m3>>);
  CHECK(Adds<tw::I32, int>);
  CHECK(Adds<tw::Ptr<float>, tw::I32>);
  CHECK_FALSE(IsCondition<tw::Bool>);
  CHECK_FALSE(std::is_convertible_v<tw::Ptr<const float>, tw::Ptr<float>>);
  CHECK(std::is_convertible_v<tw::Ptr<float>, tw::Ptr<const float>>);
}
