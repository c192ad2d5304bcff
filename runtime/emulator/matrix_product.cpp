// One loop for each way in which elements lie in registers, and one of multiply-adds for what the processor has.
#include "runtime/emulator/matrix_product.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/emulator/small_float.h"

namespace tilewright::rt::emulator {
namespace {

/// Where an element goes: steps of a row and of k in an array of numbers.
struct Target {
  double* to;
  int row_step, k_step;
  bool two_rows;
};

// Lanes and their elements follow each other as rows do: each register has 8 of these, of four lanes.
template <class Element>
void gather(const Warp& warp, const s32* slots, int registers, const Target& target,
            void (*convert)(const Element* from, double* to, int count)) {
  constexpr int kRegister = std::max<int>(sizeof(Element), 4), kDepth = 4 * kRegister / static_cast<int>(sizeof(Element));
  for (int r = 0; r < registers; ++r) {
    std::array<Element, std::size_t{8} * kDepth> elements;
    std::memcpy(elements.data(), warp.registers + slots[r], sizeof elements);
    std::array<double, elements.size()> numbers;
    convert(elements.data(), numbers.data(), static_cast<int>(elements.size()));
    double* const to =
        target.to + (target.two_rows ? 8 * (r % 2) : 0) * target.row_step + kDepth * (target.two_rows ? r / 2 : r) * target.k_step;
    for (int row = 0; row < 8; ++row)
      for (int k = 0; k < kDepth; ++k) to[row * target.row_step + k * target.k_step] = numbers[static_cast<std::size_t>(kDepth * row + k)];
  }
}

/// The conversion of each element by itself.
template <class Element, auto F>
void each(const Element* from, double* to, int count) {
  for (int e = 0; e < count; ++e) to[e] = F(from[e]);
}

template <FloatFormat kFormat>
double from_table(u8 bits) {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> made;
    for (u64 b = 0; b < made.size(); ++b) made[b] = widen(b, kFormat);
    return made;
  }();
  return table[bits];
}

double from_f64(u64 bits) { return std::bit_cast<double>(bits); }
// The hardware reads the upper 19 bits.
double from_tf32(u32 bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
double from_f16(u16 bits) { return f16_to_f32(bits); }
double from_bf16(u16 bits) { return bf16_to_f32(bits); }
double from_s8(u8 bits) { return static_cast<s8>(bits); }
double from_u8(u8 bits) { return bits; }

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void halves(const u16* from, double* to, int count) {
  for (int e = 0; e < count; e += 4)
    _mm256_storeu_pd(to + e, _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + e)))));
}
bool has_halves() { return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c"); }
#else
constexpr auto halves = each<u16, from_f16>;
bool has_halves() { return false; }
#endif

void gather(const Warp& warp, const s32* slots, int registers, Type type, const Target& target) {
  static const auto convert_f16 = has_halves() ? halves : each<u16, from_f16>;
  switch (type) {
    case Type::f64: return gather<u64>(warp, slots, registers, target, each<u64, from_f64>);
    case Type::tf32: return gather<u32>(warp, slots, registers, target, each<u32, from_tf32>);
    case Type::f16: return gather<u16>(warp, slots, registers, target, convert_f16);
    case Type::bf16: return gather<u16>(warp, slots, registers, target, each<u16, from_bf16>);
    case Type::e4m3: return gather<u8>(warp, slots, registers, target, each<u8, from_table<kE4m3>>);
    case Type::e5m2: return gather<u8>(warp, slots, registers, target, each<u8, from_table<kE5m2>>);
    case Type::s8: return gather<u8>(warp, slots, registers, target, each<u8, from_s8>);
    default: return gather<u8>(warp, slots, registers, target, each<u8, from_u8>);
  }
}

#define TW_SUM_PRODUCTS(MULTIPLY_ADD)                                                       \
  for (int row = 0; row < rows; ++row) {                                                    \
    std::array<double, kColumns> sum{};                                                     \
    const double* const a = operands.a[static_cast<std::size_t>(row)].data();               \
    for (int k = 0; k < depth; ++k) {                                                       \
      const double* const b = operands.b[static_cast<std::size_t>(k)].data();               \
      for (std::size_t column = 0; column < kColumns; ++column) sum[column] = MULTIPLY_ADD; \
    }                                                                                       \
    sums[static_cast<std::size_t>(row)] = sum;                                              \
  }

void by_two(const ProductOperands& operands, int rows, int depth, ProductSums& sums) { TW_SUM_PRODUCTS(sum[column] + a[k] * b[column]) }

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void by_avx512(const ProductOperands& operands, int rows, int depth, ProductSums& sums) {
  TW_SUM_PRODUCTS(__builtin_fma(a[k], b[column], sum[column]))
}
__attribute__((target("avx2,fma"))) void by_avx2(const ProductOperands& operands, int rows, int depth, ProductSums& sums) {
  TW_SUM_PRODUCTS(__builtin_fma(a[k], b[column], sum[column]))
}
#endif
#undef TW_SUM_PRODUCTS

using Sum = void (*)(const ProductOperands&, int rows, int depth, ProductSums&);

Sum fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return by_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return by_avx2;
#endif
  return by_two;
}

}  // namespace

void gather_a(const Warp& warp, const s32* slots, int registers, Type type, bool two_rows, ProductOperands& operands) {
  gather(warp, slots, registers, type, {operands.a[0].data(), kMostDepth, 1, two_rows});
}

void gather_b(const Warp& warp, const s32* slots, int registers, Type type, ProductOperands& operands) {
  gather(warp, slots, registers, type, {operands.b[0].data(), 1, kColumns, false});
}

void sum_products(const ProductOperands& operands, int rows, int depth, bool is_exact, ProductSums& sums) {
  static const Sum fused = fastest();
  (is_exact ? fused : by_two)(operands, rows, depth, sums);
}

}  // namespace tilewright::rt::emulator
