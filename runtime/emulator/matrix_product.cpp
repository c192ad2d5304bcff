// The order of elements in lines, and loops of multiply-adds for what the processor has.
#include "runtime/emulator/matrix_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/emulator/matrix_elements.h"
#include "runtime/emulator/small_float.h"

namespace tilewright::rt::emulator {
namespace {

// --- elements to numbers ---

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

constexpr std::size_t kLines = CoreMatrix::kLines;

using Convert = void (*)(const std::byte* lines, double* to, std::size_t row_step);

template <class Element, auto F>
void each(const std::byte* lines, double* to, std::size_t row_step) {
  constexpr std::size_t kDepth = 4 * std::max<std::size_t>(sizeof(Element), 4) / sizeof(Element);
  for (std::size_t line = 0; line < kLines; ++line) {
    std::array<Element, kDepth> elements;
    std::memcpy(elements.data(), lines + line * sizeof elements, sizeof elements);
    for (std::size_t e = 0; e < kDepth; ++e) to[line * row_step + e] = F(elements[e]);
  }
}

#if defined(__x86_64__)
// With a mask of all, because GCC 12 warns of its own header where there is none.
__attribute__((target("avx512f"))) inline __m512d to_doubles(__m256 floats) { return _mm512_maskz_cvtps_pd(0xff, floats); }
__attribute__((target("avx512f"))) inline __m256 to_floats(__m512d doubles) { return _mm512_maskz_cvtpd_ps(0xff, doubles); }

__attribute__((target("avx512f,f16c"))) void f16_by_avx512(const std::byte* lines, double* to, std::size_t row_step) {
  for (std::size_t line = 0; line < kLines; ++line)
    _mm512_storeu_pd(to + line * row_step, to_doubles(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(lines) + line))));
}
__attribute__((target("avx,f16c"))) void f16_by_avx(const std::byte* lines, double* to, std::size_t row_step) {
  for (std::size_t line = 0; line < kLines; ++line) {
    const __m256 floats = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(lines) + line));
    _mm256_storeu_pd(to + line * row_step, _mm256_cvtps_pd(_mm256_castps256_ps128(floats)));
    _mm256_storeu_pd(to + line * row_step + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(floats, 1)));
  }
}
__attribute__((target("avx2"))) void bf16_by_avx2(const std::byte* lines, double* to, std::size_t row_step) {
  each<u16, from_bf16>(lines, to, row_step);
}
#endif

// --- sums ---

using Sum = void (*)(const RowsOfA&, const ColumnsOfB&, std::size_t rows, std::size_t depth, ProductSums&);

void sum_by_two(const RowsOfA& a, const ColumnsOfB& b, std::size_t rows, std::size_t depth, ProductSums& sums) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::array<double, kColumns> sum{};
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t c = 0; c < kColumns; ++c) sum[c] += a.at[row][k] * b.at[k][c];
    std::copy(sum.begin(), sum.end(), sums.at[row]);
  }
}

// --- accumulators ---

// Four lanes at a time, a row of the sums: all registers are read before any is written, because they may be the same.
using Add = void (*)(const ProductSums&, std::size_t registers, const std::byte* const* before, std::byte* const* after);

constexpr std::size_t kLineLanes = 4, kMostRegisters = kRows * kColumns / kLanes;

void add_by_one(const ProductSums& sums, std::size_t registers, const std::byte* const* before, std::byte* const* after) {
  for (std::size_t line = 0; line < kLines; ++line) {
    float values[kMostRegisters][kLineLanes] = {};
    for (std::size_t r = 0; r < registers && before != nullptr; ++r)
      std::memcpy(values[r], before[r] + line * sizeof values[r], sizeof values[r]);
    for (std::size_t r = 0; r < registers; ++r) {
      const double* const sum = sums.at[line + r / 2 * kLines] + r % 2 * kLineLanes;
      for (std::size_t l = 0; l < kLineLanes; ++l) values[r][l] = canonical(static_cast<float>(sum[l] + static_cast<double>(values[r][l])));
      std::memcpy(after[r] + line * sizeof values[r], values[r], sizeof values[r]);
    }
  }
}

#if defined(__x86_64__)
// Eight rows at a time: each is a chain of additions, which have to overlap.
__attribute__((target("avx512f"))) void sum_by_avx512(const RowsOfA& a, const ColumnsOfB& b, std::size_t rows, std::size_t depth,
                                                      ProductSums& sums) {
  for (std::size_t first = 0; first < rows; first += 8) {
    __m512d sum[8];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < 8; ++r) sum[r] = _mm512_setzero_pd();
    for (std::size_t k = 0; k < depth; ++k) {
      const __m512d factors = _mm512_load_pd(b.at[k]);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < 8; ++r) sum[r] = _mm512_fmadd_pd(_mm512_set1_pd(a.at[first + r][k]), factors, sum[r]);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < 8; ++r) _mm512_store_pd(sums.at[first + r], sum[r]);
  }
}
__attribute__((target("avx2,fma"))) void sum_by_avx2(const RowsOfA& a, const ColumnsOfB& b, std::size_t rows, std::size_t depth,
                                                     ProductSums& sums) {
  for (std::size_t first = 0; first < rows; first += 4) {
    __m256d low[4], high[4];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) low[r] = high[r] = _mm256_setzero_pd();
    for (std::size_t k = 0; k < depth; ++k) {
      const __m256d low_factors = _mm256_load_pd(b.at[k]), high_factors = _mm256_load_pd(b.at[k] + 4);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < 4; ++r) {
        const __m256d factor = _mm256_set1_pd(a.at[first + r][k]);
        low[r] = _mm256_fmadd_pd(factor, low_factors, low[r]);
        high[r] = _mm256_fmadd_pd(factor, high_factors, high[r]);
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
      _mm256_store_pd(sums.at[first + r], low[r]);
      _mm256_store_pd(sums.at[first + r] + 4, high[r]);
    }
  }
}

__attribute__((target("avx"))) void add_by_avx(const ProductSums& sums, std::size_t registers, const std::byte* const* before,
                                               std::byte* const* after) {
  const __m128 nan = _mm_castsi128_ps(_mm_set1_epi32(0x7fffffff));
  for (std::size_t line = 0; line < kLines; ++line) {
    __m128 addends[kMostRegisters];
    for (std::size_t r = 0; r < registers; ++r)
      addends[r] = before == nullptr ? _mm_setzero_ps() : _mm_loadu_ps(reinterpret_cast<const float*>(before[r]) + kLineLanes * line);
    for (std::size_t r = 0; r < registers; ++r) {
      const __m256d sum = _mm256_load_pd(sums.at[line + r / 2 * kLines] + r % 2 * kLineLanes);
      const __m128 rounded = _mm256_cvtpd_ps(_mm256_add_pd(sum, _mm256_cvtps_pd(addends[r])));
      _mm_storeu_ps(reinterpret_cast<float*>(after[r]) + kLineLanes * line, _mm_blendv_ps(rounded, nan, _mm_cmpunord_ps(rounded, rounded)));
    }
  }
}

// Two registers at a time.
template <std::size_t kPairs>
__attribute__((target("avx512f"))) void add_pairs(const ProductSums& sums, const std::byte* const* before, std::byte* const* after) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  for (std::size_t line = 0; line < kLines; ++line) {
    const std::size_t at = kLineLanes * sizeof(float) * line;
    __m256 addends[kPairs];
#pragma GCC unroll 2
    for (std::size_t p = 0; p < kPairs; ++p)
      addends[p] = before == nullptr ? _mm256_setzero_ps()
                                     : _mm256_loadu2_m128(reinterpret_cast<const float*>(before[2 * p + 1] + at),
                                                          reinterpret_cast<const float*>(before[2 * p] + at));
#pragma GCC unroll 2
    for (std::size_t p = 0; p < kPairs; ++p) {
      const __m256 rounded = to_floats(_mm512_add_pd(_mm512_load_pd(sums.at[line + p * kLines]), to_doubles(addends[p])));
      const __m256 values = _mm256_blendv_ps(rounded, nan, _mm256_cmp_ps(rounded, rounded, _CMP_UNORD_Q));
      _mm256_storeu2_m128(reinterpret_cast<float*>(after[2 * p + 1] + at), reinterpret_cast<float*>(after[2 * p] + at), values);
    }
  }
}
void add_by_avx512(const ProductSums& sums, std::size_t registers, const std::byte* const* before, std::byte* const* after) {
  registers == 4 ? add_pairs<2>(sums, before, after) : add_pairs<1>(sums, before, after);
}
#endif

/// What this processor does each step by.
struct Steps {
  Convert f16 = each<u16, from_f16>, bf16 = each<u16, from_bf16>;
  Sum sum = sum_by_two;
  Add add = add_by_one;
};

const Steps& steps() {
  static const Steps chosen = [] {
    Steps best;
#if defined(__x86_64__)
    const bool has_avx512 = __builtin_cpu_supports("avx512f");
    if (__builtin_cpu_supports("avx2")) best.bf16 = bf16_by_avx2;
    if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c")) best.f16 = has_avx512 ? f16_by_avx512 : f16_by_avx;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best.sum = has_avx512 ? sum_by_avx512 : sum_by_avx2;
    if (__builtin_cpu_supports("avx")) best.add = has_avx512 ? add_by_avx512 : add_by_avx;
#endif
    return best;
  }();
  return chosen;
}

Convert converter_of(Type type) {
  switch (type) {
    case Type::f64: return each<u64, from_f64>;
    case Type::tf32: return each<u32, from_tf32>;
    case Type::f16: return steps().f16;
    case Type::bf16: return steps().bf16;
    case Type::e4m3: return each<u8, from_table<kE4m3>>;
    case Type::e5m2: return each<u8, from_table<kE5m2>>;
    case Type::s8: return each<u8, from_s8>;
    default: return each<u8, from_u8>;
  }
}

/// With its lines in the order that columns have in ColumnsOfB.
CoreMatrix in_order_of_columns(const std::byte* lines) {
  CoreMatrix ordered;
  for (std::size_t line = 0; line < kLines; ++line)
    std::memcpy(ordered.line(place_of(line)), lines + line * CoreMatrix::kLineBytes, CoreMatrix::kLineBytes);
  return ordered;
}

}  // namespace

Unpacker::Unpacker(Type type)
    : convert_(converter_of(type)),
      elements_(type == Type::f64 ? 4 : CoreMatrix::kLineBytes * 8 / static_cast<std::size_t>(operand_bits(type))) {}

void Unpacker::rows(const std::byte* lines, std::size_t row, std::size_t k, RowsOfA& a) const {
  convert_(lines, &a.at[row][k], kMostDepth);
}

void Unpacker::rows_across(const CoreMatrix& lines, std::size_t row, std::size_t k, RowsOfA& a) const {
  rows(transposed(lines).at, row, k, a);
}

void Unpacker::columns(const std::byte* lines, std::size_t k, ColumnsOfB& b) const {
  if (elements_ == 8) return convert_(transposed(in_order_of_columns(lines)).at, b.at[k], kColumns);
  double numbers[kLines][CoreMatrix::kLineBytes];
  convert_(lines, numbers[0], CoreMatrix::kLineBytes);
  for (std::size_t e = 0; e < elements_; ++e)
    for (std::size_t column = 0; column < kColumns; ++column) b.at[k + e][place_of(column)] = numbers[column][e];
}

void Unpacker::columns_across(const CoreMatrix& lines, std::size_t k, ColumnsOfB& b) const {
  using Line [[gnu::vector_size(16)]] = u16;
  CoreMatrix ordered;
  for (std::size_t line = 0; line < kLines; ++line) {
    Line elements;
    std::memcpy(&elements, lines.line(line), sizeof elements);
    // Even elements, then odd ones: in steps that are an instruction each.
    elements = __builtin_shufflevector(elements, elements, 0, 2, 1, 3, 4, 5, 6, 7);
    elements = __builtin_shufflevector(elements, elements, 0, 1, 2, 3, 4, 6, 5, 7);
    elements = __builtin_shufflevector(elements, elements, 0, 1, 4, 5, 2, 3, 6, 7);
    std::memcpy(ordered.line(line), &elements, sizeof elements);
  }
  convert_(ordered.at, b.at[k], kColumns);
}

void sum_products(const RowsOfA& a, const ColumnsOfB& b, std::size_t rows, std::size_t depth, bool is_exact, ProductSums& sums) {
  (is_exact ? steps().sum : sum_by_two)(a, b, rows, depth, sums);
}

void add_sums(const ProductSums& sums, std::size_t registers, const std::byte* const* before, std::byte* const* after) {
  steps().add(sums, registers, before, after);
}

}  // namespace tilewright::rt::emulator
