// Interprets matrix products.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

#include "tileir/builder.h"
#include "tileir/interpreter/state.h"
#include "tileir/target/dot_order.h"

namespace tilewright::ir {

namespace {

/// x, or a zero of its sign if x is subnormal.
float without_subnormals(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

/// a * b + sum of factors of bf16, rounded once; results below the least normal number are zeros.
float multiply_add_normal(float a, float b, float sum) {
  const float result = std::fma(a, b, sum);
  // Near the least normal number, rounding in f32 has less digits than that of numbers which are not subnormal. The sum of f64 is exact
  // enough to tell whether it would round up to the least normal number with all digits; the product is exact.
  const double exact = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(sum);
  const bool rounds_up = std::fabs(result) == FLT_MIN && std::fabs(exact) < FLT_MIN * (1 - 0x1p-25);
  return rounds_up ? std::copysign(0.0f, result) : without_subnormals(result);
}

/// sum + a b for one element, in the order of adds_bf16_blocks. The rows of b are `step` elements apart.
float add_bf16_blocks(float sum, const double* a, const double* b, std::int64_t k, std::int64_t step) {
  const auto normal = [](double x) { return without_subnormals(static_cast<float>(x)); };
  for (std::int64_t block = 0; block < k; block += kBf16Block) {
    float parts[2] = {0, 0};
    for (std::int64_t j = block; j < block + kBf16Block; ++j)
      parts[j % 2] = multiply_add_normal(normal(a[j]), normal(b[j * step]), parts[j % 2]);
    sum = without_subnormals(without_subnormals(sum) + without_subnormals(parts[0] + parts[1]));
  }
  return sum;
}

}  // namespace

/// acc + a b; the sum starts with acc and goes over ascending k. Floats: one fused multiply-add per step, in the type of acc, after an
/// exact conversion of a and b (here every precision is the most exact one), but for blocks of bf16 (target/dot_order.h). i8: wrapping
/// 32-bit sums.
void Interpreter::run_dot(OpId id) { multiply(id, words(f_.operand(id, 0)), words(f_.operand(id, 1))); }

void Interpreter::multiply(OpId id, const Words& a, const Words& b) {
  const Type &ta = type(f_.operand(id, 0)), &tb = type(f_.operand(id, 1));
  const int rank = ta.rank();
  const std::int64_t batches = rank == 3 ? ta.extent(0) : 1, m = ta.extent(rank - 2), k = ta.extent(rank - 1), n = tb.extent(rank - 1);
  auto& out = result(id);
  const auto& acc = words(f_.operand(id, 2));
  std::copy(acc.begin(), acc.end(), out.begin());
  const Element from = ta.element(), to = type(f_.result(id)).element();
  std::vector<double> fa, fb;  // exact for every element type that dot takes
  if (is_float(from)) {
    for (std::uint64_t w : a) fa.push_back(float_value(from, w));
    for (std::uint64_t w : b) fb.push_back(float_value(from, w));
  }
  const bool in_blocks = adds_bf16_blocks(f_, id, options_.reduction);
  for (std::int64_t i = 0; i < batches * m * n; ++i) {
    const std::int64_t row = i / n * k, column = i / (m * n) * k * n + i % n;
    if (in_blocks) {
      const float sum = std::bit_cast<float>(static_cast<std::uint32_t>(out[i]));
      out[i] = std::bit_cast<std::uint32_t>(add_bf16_blocks(sum, &fa[row], &fb[column], k, n));
    } else if (to == Element::f32) {
      float sum = std::bit_cast<float>(static_cast<std::uint32_t>(out[i]));
      for (std::int64_t j = 0; j < k; ++j) sum = std::fma(static_cast<float>(fa[row + j]), static_cast<float>(fb[column + j * n]), sum);
      out[i] = std::bit_cast<std::uint32_t>(sum);
    } else if (to == Element::f64) {
      double sum = std::bit_cast<double>(out[i]);
      for (std::int64_t j = 0; j < k; ++j) sum = std::fma(fa[row + j], fb[column + j * n], sum);
      out[i] = std::bit_cast<std::uint64_t>(sum);
    } else {
      std::uint64_t sum = out[i];
      for (std::int64_t j = 0; j < k; ++j)
        sum += static_cast<std::uint64_t>(integer_value(from, a[row + j]) * integer_value(from, b[column + j * n]));
      out[i] = static_cast<std::uint32_t>(sum);
    }
  }
}

namespace {
constexpr std::int64_t kScaleBlock = 32;  // elements of K that share a scale

/// OCP Microscaling Formats (MX) 1.0, section 5.3.3: one sign, two exponent and one mantissa bit.
float e2m1(unsigned nibble) {
  constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return (nibble & 8 ? -1.0f : 1.0f) * kMagnitudes[nibble & 7];
}
/// Section 5.4.1: a power of two, or NaN.
float e8m0(std::uint64_t s) { return s == 255 ? std::nanf("") : std::ldexp(1.0f, static_cast<int>(s) - 127); }

/// Element k of row i of an operand. `step` is the distance between neighbours along K, `row_step` that between rows. A packed operand has
/// two elements in each byte.
struct Scaled {
  const std::vector<std::uint64_t>&words, &scales;
  Element element;
  std::int64_t row_step, step, k_extent;
  float at(std::int64_t row, std::int64_t k) const {
    const bool packed = element == Element::u8;
    const std::uint64_t w = words[row * row_step + (packed ? k / 2 : k) * step];
    const float v = packed ? e2m1(static_cast<unsigned>(k % 2 ? w >> 4 : w & 15)) : static_cast<float>(float_value(element, w));
    return v * e8m0(scales[row * (k_extent / kScaleBlock) + k / kScaleBlock]);
  }
};
}  // namespace

/// Scales the operands in f32, then adds up products as run_dot does.
void Interpreter::run_dot_scaled(OpId id) {
  const auto& x = f_.op(id).operands;
  const Type &ta = type(x[0]), &tb = type(x[2]), &t = type(x[4]);
  const std::int64_t n = t.extent(1), k_extent = type(x[1]).extent(1) * kScaleBlock;
  const Scaled a{words(x[0]), words(x[1]), ta.element(), ta.extent(1), 1, k_extent};
  const Scaled b{words(x[2]), words(x[3]), tb.element(), 1, n, k_extent};
  auto& out = result(id);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    float sum = std::bit_cast<float>(static_cast<std::uint32_t>(words(x[4])[i]));
    for (std::int64_t k = 0; k < k_extent; ++k) sum = std::fma(a.at(i / n, k), b.at(i % n, k), sum);
    out[i] = std::bit_cast<std::uint32_t>(sum);
  }
}

}  // namespace tilewright::ir
