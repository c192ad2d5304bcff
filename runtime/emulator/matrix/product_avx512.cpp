// A vector holds 16 lanes of an accumulator register: 4 rows by 4 columns.
#include "runtime/emulator/matrix/product_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <array>

#define TW_AVX512 __attribute__((target("avx512f,avx512bw")))

namespace tilewright::rt::emulator {
namespace {

// --- elements of 16 bits to numbers ---

// With an explicit full mask, because GCC 12 warns about its own header for the unmasked intrinsics.
constexpr __mmask16 kAll = 0xffff;
struct F16 {
  TW_AVX512 static __m512 numbers(__m256i elements) { return _mm512_maskz_cvtph_ps(kAll, elements); }
};
struct Bf16 {
  TW_AVX512 static __m512 numbers(__m256i elements) {
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, elements), 16));
  }
};

TW_AVX512 inline __m128i load(MatrixLines lines, std::size_t line) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(lines[line]));
}
TW_AVX512 inline __m256i load_two(MatrixLines lines, std::size_t first) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load(lines, first)), load(lines, first + 1), 1);
}
TW_AVX512 inline __m512i load_four(MatrixLines lines, std::size_t first) {
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(load_two(lines, first)), load_two(lines, first + 2), 1);
}

template <class Format>
TW_AVX512 inline void store_numbers(__m512i elements, float* first, float* second) {
  _mm512_store_ps(first, Format::numbers(_mm512_maskz_extracti64x4_epi64(0xff, elements, 0)));
  _mm512_store_ps(second, Format::numbers(_mm512_maskz_extracti64x4_epi64(0xff, elements, 1)));
}

// Four lines, reordered: first the first halves of all lines, then the second halves.
template <class Format>
TW_AVX512 void rows(MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) {
  const __m512i halves = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
#pragma GCC unroll 2
  for (std::size_t first = 0; first < 8; first += 4)
    store_numbers<Format>(_mm512_maskz_permutexvar_epi64(0xff, halves, load_four(lines, first)), &a(row + first, k),
                          &a(row + first, k + RowsOfA::kSteps));
}

// The positions of the elements of eight rows in four lines of 8 rows.
constexpr auto kPositionsAcross = [] {
  std::array<u16, 32> positions{};
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<u16>(i % 4 * 8 + i / 4);
  return positions;
}();

template <class Format>
TW_AVX512 void rows_across(MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) {
  const __m512i positions = _mm512_loadu_si512(kPositionsAcross.data());
#pragma GCC unroll 2
  for (std::size_t first = 0; first < 8; first += 4)
    store_numbers<Format>(_mm512_maskz_permutexvar_epi16(~__mmask32{0}, positions, load_four(lines, first)), &a(row, k + first),
                          &a(row + 4, k + first));
}

// The positions of the elements of four steps along k; columns 0, 2, 4, 6 come first, then 1, 3, 5, 7.
template <std::size_t kColumnStep, std::size_t kStep>
constexpr auto kPositions = [] {
  std::array<u16, 32> positions{};
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<u16>(i / kColumns * kStep + (i % 4 * 2 + i % kColumns / 4) * kColumnStep);
  return positions;
}();

template <class Format>
TW_AVX512 void columns(MatrixLines lines, ColumnsOfB* b) {
  const __m512i low = load_four(lines, 0), high = load_four(lines, 4);
  const __m512i positions = _mm512_loadu_si512(kPositions<8, 1>.data());
  store_numbers<Format>(_mm512_permutex2var_epi16(low, positions, high), b[0].at[0], b[0].at[2]);
  store_numbers<Format>(_mm512_permutex2var_epi16(low, _mm512_add_epi16(positions, _mm512_set1_epi16(4)), high), b[1].at[0], b[1].at[2]);
}

template <class Format>
TW_AVX512 void columns_across(MatrixLines lines, ColumnsOfB* b) {
  const __m512i positions = _mm512_loadu_si512(kPositions<1, 8>.data());
#pragma GCC unroll 2
  for (std::size_t half = 0; half < 2; ++half)
    store_numbers<Format>(_mm512_maskz_permutexvar_epi16(~__mmask32{0}, positions, load_four(lines, 4 * half)), b[half].at[0],
                          b[half].at[2]);
}

template <class Format>
constexpr ProductSteps::Unpack kUnpack = {rows<Format>, rows_across<Format>, columns<Format>, columns_across<Format>};

// --- multiply-adds ---

constexpr std::size_t kHalfBytes = 64;

template <std::size_t kBlocks>
struct Sums {
  __m512 at[kBlocks][kBlockRegisters][2];
};

/// Adds the products of one of the four steps along k that start at `a` and `b`.
template <int kStep, std::size_t kBlocks>
[[gnu::always_inline]] TW_AVX512 inline void add_step(const float (*a)[RowsOfA::kSteps], const ColumnsOfB* b, std::size_t apart,
                                                      Sums<kBlocks>& sums) {
  constexpr int kEach = kStep * 0x55;
  __m512 factors[kBlockRegisters];  // each of four rows, for the four lanes of a row
#pragma GCC unroll 4
  for (std::size_t rows = 0; rows < kBlockRegisters; ++rows)
    factors[rows] = _mm512_maskz_permute_ps(kAll, _mm512_load_ps(a[4 * rows]), kEach);
#pragma GCC unroll 2
  for (std::size_t block = 0; block < kBlocks; ++block)
#pragma GCC unroll 2
    for (std::size_t odd = 0; odd < 2; ++odd) {
      const __m512 columns = _mm512_maskz_broadcast_f32x4(kAll, _mm_load_ps(b[block * apart].at[kStep] + 4 * odd));
#pragma GCC unroll 4
      for (std::size_t rows = 0; rows < kBlockRegisters; ++rows) {
        __m512& sum = sums.at[block][rows / 2 * 2 + odd][rows % 2];
        sum = _mm512_fmadd_ps(factors[rows], columns, sum);
      }
    }
}

/// NaNs are rare: one comparison checks two vectors for them.
template <std::size_t kBlocks>
[[gnu::always_inline]] TW_AVX512 inline bool has_nan(const Sums<kBlocks>& sums) {
  __mmask16 any = 0;
#pragma GCC unroll 2
  for (std::size_t block = 0; block < kBlocks; ++block)
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kBlockRegisters; ++r)
      any = static_cast<__mmask16>(any | _mm512_cmp_ps_mask(sums.at[block][r][0], sums.at[block][r][1], _CMP_UNORD_Q));
  return any != 0;
}

/// For 8 or 16 columns at a time: more columns mean less waiting in a chain of additions. With 24, not all sums would stay in registers.
template <std::size_t kBlocks>
TW_AVX512 void multiply_add_blocks(std::span<const Product> products, std::size_t first, std::size_t depth, std::byte* registers,
                                   const s32* before, const s32* after) {
  const std::size_t apart = depth / ColumnsOfB::kSteps;
  Sums<kBlocks> sums;
#pragma GCC unroll 2
  for (std::size_t block = 0; block < kBlocks; ++block)
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kBlockRegisters; ++r)
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half)
        sums.at[block][r][half] = before == nullptr
                                      ? _mm512_setzero_ps()
                                      : _mm512_loadu_ps(registers + before[(first + block) * kBlockRegisters + r] + half * kHalfBytes);
  for (const Product& product : products) {
    const ColumnsOfB* b = product.b + first * apart;
    for (std::size_t four = 0; four < apart; ++four, ++b) {
      const auto* const a = product.a->at[four];
      add_step<0>(a, b, apart, sums);
      add_step<1>(a, b, apart, sums);
      add_step<2>(a, b, apart, sums);
      add_step<3>(a, b, apart, sums);
    }
  }
  const bool any_nan = has_nan(sums);
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff));
#pragma GCC unroll 2
  for (std::size_t block = 0; block < kBlocks; ++block)
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kBlockRegisters; ++r)
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half) {
        __m512 sum = sums.at[block][r][half];
        if (any_nan) [[unlikely]]
          sum = _mm512_mask_mov_ps(sum, _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q), nan);
        _mm512_storeu_ps(registers + after[(first + block) * kBlockRegisters + r] + half * kHalfBytes, sum);
      }
}

TW_AVX512 void multiply_add_by_avx512(std::span<const Product> products, std::size_t blocks, std::size_t depth, std::byte* registers,
                                      const s32* before, const s32* after) {
  std::size_t block = 0;
  for (; block + 2 <= blocks; block += 2) multiply_add_blocks<2>(products, block, depth, registers, before, after);
  if (block < blocks) multiply_add_blocks<1>(products, block, depth, registers, before, after);
}

template <class Format>
TW_AVX512 void multiply_fragments_by_avx512(std::byte* registers, const s32* a, const s32* b, std::size_t depth, const s32* before,
                                            const s32* after) {
  RowsOfA of_a;
  ColumnsOfB of_b[kMostDepth / ColumnsOfB::kSteps];
  for (std::size_t k = 0; k < depth; k += kStepsInRegister, a += 2, ++b) {
    rows<Format>(lines_in_register(registers + a[0]), 0, k, of_a);
    rows<Format>(lines_in_register(registers + a[1]), kRows / 2, k, of_a);
    columns<Format>(lines_in_register(registers + *b), of_b + k / ColumnsOfB::kSteps);
  }
  const Product product = {&of_a, of_b};
  multiply_add_blocks<1>({&product, 1}, 0, depth, registers, before, after);
}

}  // namespace

ProductSteps steps_by_avx512() {
  return {kUnpack<F16>, kUnpack<Bf16>, multiply_add_by_avx512, multiply_fragments_by_avx512<F16>, multiply_fragments_by_avx512<Bf16>};
}

}  // namespace tilewright::rt::emulator
#endif
