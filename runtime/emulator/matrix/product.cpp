// Matrix products by scalar code, and the choice of the fastest implementation for the processor.
#include "runtime/emulator/matrix/product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/emulator/matrix/product_avx512.h"
#include "runtime/emulator/simd/small_float.h"

namespace tilewright::rt::emulator {
namespace {

// --- elements to numbers ---

template <FloatFormat kFormat>
float from_table(u8 bits) {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> made;
    for (u64 b = 0; b < made.size(); ++b) made[b] = static_cast<float>(widen(b, kFormat));
    return made;
  }();
  return table[bits];
}

// The hardware reads only the upper 19 bits.
float from_tf32(u32 bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
float from_s8(u8 bits) { return static_cast<s8>(bits); }
float from_u8(u8 bits) { return bits; }

/// Calls put(line, e, number) for all elements.
template <class Element, auto F, class Put>
void each(MatrixLines lines, Put put) {
  constexpr std::size_t kElements = CoreMatrix::kLineBytes / sizeof(Element);
  for (std::size_t line = 0; line < CoreMatrix::kLines; ++line)
    for (std::size_t e = 0; e < kElements; ++e) {
      Element element;
      std::memcpy(&element, lines[line] + e * sizeof(Element), sizeof element);
      put(line, e, F(element));
    }
}

template <class Element, auto F>
constexpr ProductSteps::Unpack kScalars = {
    [](MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) {
      each<Element, F>(lines, [&](std::size_t line, std::size_t e, float x) { a(row + line, k + e) = x; });
    },
    [](MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) {
      each<Element, F>(lines, [&](std::size_t line, std::size_t e, float x) { a(row + e, k + line) = x; });
    },
    [](MatrixLines lines, ColumnsOfB* b) {
      each<Element, F>(lines, [&](std::size_t line, std::size_t e, float x) { step_of(b, e)[position_of(line)] = x; });
    },
    [](MatrixLines lines, ColumnsOfB* b) {
      each<Element, F>(lines, [&](std::size_t line, std::size_t e, float x) { step_of(b, line)[position_of(e)] = x; });
    },
};

// --- multiply-adds ---

constexpr std::size_t kQuads = kLanes / 4;  // groups of lanes that share a row

[[gnu::always_inline]] inline void multiply_add_in_scalars(std::span<const Product> products, std::size_t blocks, std::size_t depth,
                                                           std::byte* registers, const s32* before, const s32* after) {
  const std::size_t steps = depth / ColumnsOfB::kSteps;
  for (std::size_t block = 0; block < blocks; ++block) {
    float sums[kBlockRegisters][kQuads][4] = {};
    for (std::size_t r = 0; r < kBlockRegisters && before != nullptr; ++r) std::memcpy(sums[r], registers + before[r], sizeof sums[r]);
    for (const auto& [a, b] : products)
      for (std::size_t k = 0; k < depth; ++k) {
        const float* const step = step_of(b + block * steps, k);
        for (std::size_t r = 0; r < kBlockRegisters; ++r)
          for (std::size_t quad = 0; quad < kQuads; ++quad)
            for (std::size_t l = 0; l < 4; ++l)
              sums[r][quad][l] = std::fma((*a)(r / 2 * kQuads + quad, k), step[r % 2 * 4 + l], sums[r][quad][l]);
      }
    for (std::size_t r = 0; r < kBlockRegisters; ++r) {
      for (auto& quad : sums[r])
        for (float& sum : quad) sum = canonical(sum);
      std::memcpy(registers + after[r], sums[r], sizeof sums[r]);
    }
    if (before != nullptr) before += kBlockRegisters;
    after += kBlockRegisters;
  }
}

// If the processor has no fused multiply-add, the C library computes it, slowly.
void multiply_add_by_library(std::span<const Product> products, std::size_t blocks, std::size_t depth, std::byte* registers,
                             const s32* before, const s32* after) {
  multiply_add_in_scalars(products, blocks, depth, registers, before, after);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_add_by_avx2(std::span<const Product> products, std::size_t blocks, std::size_t depth,
                                                              std::byte* registers, const s32* before, const s32* after) {
  multiply_add_in_scalars(products, blocks, depth, registers, before, after);
}
#endif

template <auto F>
void multiply_fragments_in_steps(std::byte* registers, const s32* a, const s32* b, std::size_t depth, const s32* before, const s32* after) {
  RowsOfA rows;
  ColumnsOfB columns[kMostDepth / ColumnsOfB::kSteps];
  for (std::size_t k = 0; k < depth; k += kStepsInRegister, a += 2, ++b) {
    kScalars<u16, F>.rows(lines_in_register(registers + a[0]), 0, k, rows);
    kScalars<u16, F>.rows(lines_in_register(registers + a[1]), kRows / 2, k, rows);
    kScalars<u16, F>.columns(lines_in_register(registers + *b), columns + k / ColumnsOfB::kSteps);
  }
  const Product product = {&rows, columns};
  multiply_add({&product, 1}, 1, depth, registers, before, after);
}

const ProductSteps& steps() {
  static const ProductSteps chosen = [] {
    ProductSteps best{kScalars<u16, f16_to_f32>, kScalars<u16, bf16_to_f32>, multiply_add_by_library,
                      multiply_fragments_in_steps<f16_to_f32>, multiply_fragments_in_steps<bf16_to_f32>};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best.multiply_add = multiply_add_by_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) best = steps_by_avx512();
#endif
    return best;
  }();
  return chosen;
}

ProductSteps::Unpack unpack_of(Type type) {
  switch (type) {
    case Type::f16: return steps().f16;
    case Type::bf16: return steps().bf16;
    case Type::tf32: return kScalars<u32, from_tf32>;
    case Type::e4m3: return kScalars<u8, from_table<kE4m3>>;
    case Type::e5m2: return kScalars<u8, from_table<kE5m2>>;
    case Type::s8: return kScalars<u8, from_s8>;
    default: return kScalars<u8, from_u8>;
  }
}

}  // namespace

Unpacker::Unpacker(Type type) : unpack_(unpack_of(type)) {}

void multiply_add(std::span<const Product> products, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
                  const s32* after) {
  steps().multiply_add(products, blocks, depth, registers, before, after);
}

void multiply_add_briefly(const Product& product, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
                          const s32* after) {
  constexpr int kBits = 13;
  constexpr float kLeast = 0x1p-100f;  // of the greatest term; 0 otherwise, but for what was in the register
  for (std::size_t block = 0; block < blocks; ++block) {
    float sums[kBlockRegisters][kQuads][4] = {};
    for (std::size_t r = 0; r < kBlockRegisters && before != nullptr; ++r) std::memcpy(sums[r], registers + before[r], sizeof sums[r]);
    const ColumnsOfB* const columns = product.b + block * (depth / ColumnsOfB::kSteps);
    for (std::size_t r = 0; r < kBlockRegisters; ++r)
      for (std::size_t quad = 0; quad < kQuads; ++quad)
        for (std::size_t l = 0; l < 4; ++l) {
          float terms[kMostDepth + 1], greatest = 0, sum = 0;
          for (std::size_t k = 0; k < depth; ++k) terms[k] = (*product.a)(r / 2 * kQuads + quad, k) * step_of(columns, k)[r % 2 * 4 + l];
          terms[depth] = sums[r][quad][l];
          for (std::size_t k = 0; k <= depth; ++k) {
            greatest = std::max(greatest, std::abs(terms[k]));
            sum += terms[k];
          }
          // Infinities and NaN stay what they are; a NaN is not greater than 0.
          if (std::isfinite(sum) && greatest >= kLeast) {
            const int unit = std::ilogb(greatest) - kBits;
            const float per_unit = std::ldexp(1.0f, -unit);
            s32 units = 0;
            for (std::size_t k = 0; k <= depth; ++k) units += static_cast<s32>(terms[k] * per_unit);
            sum = std::ldexp(static_cast<float>(units), unit);
          }
          sums[r][quad][l] = canonical(sum);
        }
    for (std::size_t r = 0; r < kBlockRegisters; ++r) std::memcpy(registers + after[r], sums[r], sizeof sums[r]);
    if (before != nullptr) before += kBlockRegisters;
    after += kBlockRegisters;
  }
}

ProductSteps::Fragments multiply_fragments(Type type) { return type == Type::bf16 ? steps().bf16_fragments : steps().f16_fragments; }

}  // namespace tilewright::rt::emulator
