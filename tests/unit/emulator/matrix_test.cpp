// mma: products of every type against exact sums. tests/ptx/emulator/matrix.ptx has ldmatrix, stmatrix, movmatrix and errors.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "runtime/emulator/simd/small_float.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

/// An operand's elements as the PTX manual lists them: element i of lane l has this row (or k) and column.
struct Fragment {
  int elements, bits;  // elements of a lane; bits of an element
  std::function<std::pair<int, int>(int lane, int i)> place;
};

/// Packs a matrix into the registers of all lanes: word [register][lane].
template <class F>
std::vector<u32> pack(const Fragment& fragment, F bits_at) {
  const int words = fragment.elements * fragment.bits / 32;
  std::vector<u32> packed(static_cast<std::size_t>(words) * 32, 0);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < fragment.elements; ++i) {
      const auto [row, column] = fragment.place(lane, i);
      const u64 bits = bits_at(row, column);
      for (int part = 0; part < std::max(fragment.bits / 32, 1); ++part) {
        const int at = i * fragment.bits + 32 * part;
        packed[static_cast<std::size_t>(at / 32 * 32 + lane)] |= static_cast<u32>(bits >> (32 * part)) << (at % 32);
      }
    }
  return packed;
}

struct Product {
  std::string instruction;
  int m, k;
  Fragment a, b, c;  // c is d's too
  std::function<u64(double)> to_bits, c_to_bits;
  std::function<double(u64)> from_bits;
};

/// Runs the product of small integers, which every type holds, and compares it with the exact one.
void check_product(const Product& p) {
  CAPTURE(p.instruction);
  const auto a = [](int row, int k) { return static_cast<double>((row * 5 + k * 3) % 7 - 3); };
  const auto b = [](int k, int column) { return static_cast<double>((k * 2 + column * 11) % 5 - 2); };
  const auto c = [](int row, int column) { return static_cast<double>((row + column) % 9 - 4); };
  const auto packed_a = pack(p.a, [&](int row, int k) { return p.to_bits(a(row, k)); });
  const auto packed_b = pack(p.b, [&](int k, int column) { return p.to_bits(b(k, column)); });
  const auto packed_c = pack(p.c, [&](int row, int column) { return p.c_to_bits(c(row, column)); });

  // Registers of 64 bits are loaded as two words of 32.
  const bool wide = p.a.bits == 64;
  int next = 0;
  std::string body = "mov.u32 %r30, %laneid;\nmul.wide.u32 %d30, %r30, 4;\n";
  const auto load = [&](const char* param, std::size_t words) {
    body += fmt::format("ld.param.u64 %d29, [{}];\nadd.u64 %d29, %d29, %d30;\n", param);
    std::string list;
    for (std::size_t w = 0; w < words; ++w) {
      body += fmt::format("ld.global.u32 %r{}, [%d29+{}];\n", wide ? 20 + w % 2 : static_cast<std::size_t>(next), 128 * w);
      if (wide && w % 2 == 1) body += fmt::format("mov.b64 %d{}, {{%r20, %r21}};\n", next);
      if (!wide || w % 2 == 1) list += fmt::format("{}%{}{}", list.empty() ? "" : ", ", wide ? "d" : "r", next++);
    }
    return "{" + list + "}";
  };
  const std::string list_a = load("a", packed_a.size() / 32), list_b = load("b", packed_b.size() / 32),
                    list_c = load("c", packed_c.size() / 32);
  body += fmt::format("{} {}, {}, {}, {};\nld.param.u64 %d29, [d];\nadd.u64 %d29, %d29, %d30;\n", p.instruction, list_c, list_a, list_b,
                      list_c);
  const int c_registers = static_cast<int>(packed_c.size()) / 32 / (wide ? 2 : 1);
  for (int r = 0; r < c_registers; ++r) {
    const int reg = next - c_registers + r;
    if (wide)
      body += fmt::format("mov.b64 {{%r20, %r21}}, %d{};\nst.global.u32 [%d29+{}], %r20;\nst.global.u32 [%d29+{}], %r21;\n", reg, 256 * r,
                          256 * r + 128);
    else
      body += fmt::format("st.global.u32 [%d29+{}], %r{};\n", 128 * r, reg);
  }
  Bench bench(module_of(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d", body));
  const Array<u32> device_a(bench.memory, packed_a), device_b(bench.memory, packed_b), device_c(bench.memory, packed_c);
  Array<u32> device_d(bench.memory, packed_c.size());
  Params params;
  params.add(device_a.address()).add(device_b.address()).add(device_c.address()).add(device_d.address());
  REQUIRE(bench.run("k", {1, 1, 1}, {32, 1, 1}, params));
  const auto d = device_d.values();
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < p.c.elements; ++i) {
      const auto [row, column] = p.c.place(lane, i);
      double exact = c(row, column);
      for (int k = 0; k < p.k; ++k) exact += a(row, k) * b(k, column);
      const int at = i * p.c.bits;
      u64 bits = d[static_cast<std::size_t>(at / 32 * 32 + lane)];
      if (p.c.bits == 64) bits |= static_cast<u64>(d[static_cast<std::size_t>((at / 32 + 1) * 32 + lane)]) << 32;
      if (p.c.bits == 16) bits = (bits >> (at % 32)) & 0xffff;
      REQUIRE(p.from_bits(bits) == exact);
    }
}

u64 f32_bits(double x) { return std::bit_cast<u32>(static_cast<float>(x)); }
double f32_value(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
u64 s32_bits(double x) { return static_cast<u32>(static_cast<s32>(x)); }
double s32_value(u64 bits) { return static_cast<s32>(bits); }
u64 f64_bits(double x) { return std::bit_cast<u64>(x); }
double f64_value(u64 bits) { return std::bit_cast<double>(bits); }
std::function<u64(double)> rounding_to(const FloatFormat& format) {
  return [format](double x) { return round_to(x, format, Rounding::nearest_even); };
}

// m16n8: c0, c1 in row l / 4, c2, c3 eight rows below.
Fragment accumulator(int bits) {
  return {4, bits, [](int lane, int i) { return std::pair(lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)); }};
}

}  // namespace

TEST_CASE("emulator matrices: products of every type have their elements where PTX says") {
  const auto half_a = [](int lane, int i) { return std::pair(lane / 4 + (i % 4 < 2 ? 0 : 8), lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)); };
  const auto half_b = [](int lane, int i) { return std::pair(lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4); };
  const auto byte_a = [](int lane, int i) { return std::pair(lane / 4 + (i % 8 < 4 ? 0 : 8), lane % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16)); };
  const auto byte_b = [](int lane, int i) { return std::pair(lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane / 4); };
  const auto f16_value = [](u64 bits) { return widen(bits, kF16); };
  check_product({"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                 16,
                 16,
                 {8, 16, half_a},
                 {4, 16, half_b},
                 accumulator(32),
                 rounding_to(kF16),
                 f32_bits,
                 f32_value});
  check_product({"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                 16,
                 8,
                 {4, 16, half_a},
                 {2, 16, half_b},
                 accumulator(32),
                 rounding_to(kF16),
                 f32_bits,
                 f32_value});
  check_product({"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
                 16,
                 16,
                 {8, 16, half_a},
                 {4, 16, half_b},
                 accumulator(16),
                 rounding_to(kF16),
                 rounding_to(kF16),
                 f16_value});
  check_product({"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                 16,
                 16,
                 {8, 16, half_a},
                 {4, 16, half_b},
                 accumulator(32),
                 rounding_to(kBf16),
                 f32_bits,
                 f32_value});
  check_product({"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
                 16,
                 32,
                 {16, 8, byte_a},
                 {8, 8, byte_b},
                 accumulator(32),
                 rounding_to(kE4m3),
                 f32_bits,
                 f32_value});
  const auto s8_bits = [](double x) { return u64{static_cast<u8>(static_cast<s8>(x))}; };
  check_product({"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
                 16,
                 32,
                 {16, 8, byte_a},
                 {8, 8, byte_b},
                 accumulator(32),
                 s8_bits,
                 s32_bits,
                 s32_value});
  check_product({"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
                 16,
                 16,
                 {8, 8, byte_a},
                 {4, 8, byte_b},
                 accumulator(32),
                 s8_bits,
                 s32_bits,
                 s32_value});
  const auto nibble_bits = [](double x) { return u64{static_cast<u32>(static_cast<s32>(x)) & 15}; };
  const auto nibble_a = [](int lane, int i) { return std::pair(lane / 4 + i / 8 % 2 * 8, lane % 4 * 8 + i % 8 + i / 16 * 32); };
  const auto nibble_b = [](int lane, int i) { return std::pair(lane % 4 * 8 + i % 8 + i / 8 * 32, lane / 4); };
  const Fragment eight_rows{2, 32, [](int lane, int i) { return std::pair(lane / 4, lane % 4 * 2 + i); }};
  check_product({"mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32",
                 8,
                 32,
                 {8, 4, nibble_a},
                 {8, 4, nibble_b},
                 eight_rows,
                 nibble_bits,
                 s32_bits,
                 s32_value});
  check_product({"mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32",
                 16,
                 32,
                 {16, 4, nibble_a},
                 {8, 4, nibble_b},
                 accumulator(32),
                 nibble_bits,
                 s32_bits,
                 s32_value});
  check_product({"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
                 16,
                 64,
                 {32, 4, nibble_a},
                 {16, 4, nibble_b},
                 accumulator(32),
                 nibble_bits,
                 s32_bits,
                 s32_value});
  const auto word_a = [](int lane, int i) { return std::pair(lane / 4 + (i % 2 == 0 ? 0 : 8), lane % 4 + (i < 2 ? 0 : 4)); };
  const auto word_b = [](int lane, int i) { return std::pair(lane % 4 + 4 * i, lane / 4); };
  check_product({"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                 16,
                 8,
                 {4, 32, word_a},
                 {2, 32, word_b},
                 accumulator(32),
                 f32_bits,
                 f32_bits,
                 f32_value});
  const Fragment small_sum{2, 64, [](int lane, int i) { return std::pair(lane / 4, lane % 4 * 2 + i); }};
  check_product({"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
                 8,
                 4,
                 {1, 64, word_a},
                 {1, 64, word_b},
                 small_sum,
                 f64_bits,
                 f64_bits,
                 f64_value});
}

}  // namespace tilewright::rt::emulator
