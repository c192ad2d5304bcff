// Matrix fragments and asynchronous copies of the emulator: products of every type against sums in double, and waits that are missing.
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
  int elements, bits;  // of a lane; of an element
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

// The kernel of a double-buffered copy: each thread brings one word a step from global memory and adds its neighbour's.
std::string pipeline(const std::string& wait, const std::string& barrier) {
  return module_of(".param .u64 in, .param .u64 out", fmt::format(R"(
    .shared .align 16 .b8 tile[1024];
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d1, [in];
    mad.wide.u32 %d1, %r0, 4, %d1;
    mov.u32 %r1, tile;
    mad.lo.u32 %r2, %r0, 4, %r1;
    xor.b32 %r3, %r0, 33;
    mad.lo.u32 %r3, %r3, 4, %r1;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
    cp.async.ca.shared.global [%r2], [%d1], 4;
    cp.async.commit_group;
    LOOP:
    add.u64 %d1, %d1, 256;
    and.b32 %r6, %r5, 1;
    shl.b32 %r6, %r6, 9;
    xor.b32 %r7, %r6, 512;
    add.u32 %r8, %r2, %r7;
    setp.lt.u32 %p1, %r5, 7;
    @%p1 cp.async.ca.shared.global [%r8], [%d1], 4;
    cp.async.commit_group;
    {}
    {}
    add.u32 %r9, %r3, %r6;
    ld.shared.u32 %r10, [%r9];
    add.u32 %r4, %r4, %r10;
    bar.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 8;
    @%p2 bra LOOP;
    ld.param.u64 %d2, [out];
    mad.wide.u32 %d2, %r0, 4, %d2;
    st.global.u32 [%d2], %r4;
  )",
                                                                  wait, barrier));
}

std::string run_pipeline(const std::string& wait, const std::string& barrier, bool& right) {
  Bench bench(pipeline(wait, barrier));
  std::vector<u32> in(8 * 64), expected(64, 0);
  for (u32 i = 0; i < in.size(); ++i) in[i] = i * i;
  for (u32 t = 0; t < 64; ++t)
    for (u32 step = 0; step < 8; ++step) expected[t] += in[step * 64 + (t ^ 33)];
  const Array<u32> device_in(bench.memory, in);
  Array<u32> out(bench.memory, 64);
  Params params;
  bench.run("k", {1, 1, 1}, {64, 1, 1}, params.add(device_in.address()).add(out.address()));
  right = out.values() == expected;
  return bench.found();
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

TEST_CASE("emulator matrices: ldmatrix and stmatrix, plain and transposed, are each other's inverse") {
  Bench bench(module_of(".param .u64 out", R"(
    .shared .align 16 .b8 tile[1024];
    mov.u32 %r0, %laneid;
    mov.u32 %r1, tile;
    mad.lo.u32 %r2, %r0, 16, %r1;
    mul.lo.u32 %r3, %r0, 0x00040004;
    add.u32 %r3, %r3, 0x00010000;
    add.u32 %r4, %r3, 0x00020002;
    st.shared.v2.b32 [%r2], {%r3, %r4};
    add.u32 %r3, %r3, 0x01000100;
    add.u32 %r4, %r4, 0x01000100;
    st.shared.v2.b32 [%r2+8], {%r3, %r4};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r2];
    ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 %r9, [%r2];
    stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r2+512], {%r5, %r6, %r7, %r8};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r10, [%r2+512];
    movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r5;
    ld.param.u64 %d1, [out];
    mad.wide.u32 %d1, %r0, 16, %d1;
    st.global.v4.b32 [%d1], {%r5, %r9, %r10, %r11};
  )"));
  Array<u32> out(bench.memory, 128);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {32, 1, 1}, params.add(out.address())));
  CHECK(bench.found() == "");
  const auto values = out.values();
  const auto element = [](u32 row, u32 column) { return 4 * row + column % 4 + (column < 4 ? 0 : 0x100); };
  for (u32 lane = 0; lane < 32; ++lane) {
    const u32 row = lane / 4, column = lane % 4 * 2;
    CHECK(values[4 * lane] == (element(row, column) | element(row, column + 1) << 16));
    const u32 transposed = element(column, row) | element(column + 1, row) << 16;
    for (u32 k = 1; k < 4; ++k) CHECK(values[4 * lane + k] == transposed);
  }
}

TEST_CASE("emulator matrices: elements of 4 bits with and without a sign, and sums that saturate") {
  const auto products = [](const std::string& types, const std::string& saturates) {
    Bench bench(module_of(".param .u64 d", "mov.u32 %r3, 0xffffffff;\nmov.u32 %r4, 0x7fffffff;\nmma.sync.aligned.m8n8k32.row.col" +
                                               saturates + ".s32." + types + R"(.s32 {%r1, %r2}, {%r3}, {%r3}, {%r4, %r4};
    mov.u32 %r30, %laneid;
    ld.param.u64 %d1, [d];
    mad.wide.u32 %d2, %r30, 4, %d1;
    st.global.u32 [%d2], %r2;)"));
    Array<s32> out(bench.memory, 32);
    Params params;
    REQUIRE(bench.run("k", {1, 1, 1}, {32, 1, 1}, params.add(out.address())));
    return out.values().back();
  };
  CHECK(products("u4.s4", "") == 0x7fffffff - 32 * 15);
  CHECK(products("s4.u4", "") == 0x7fffffff - 32 * 15);
  CHECK(products("s4.s4", "") == std::numeric_limits<s32>::min() + 31);
  CHECK(products("s4.s4", ".satfinite") == 0x7fffffff);
}

TEST_CASE("emulator matrices: products of shapes that do not exist are refused, and lanes that are missing are found") {
  CHECK_THROWS_WITH(
      Bench(module_of("", "mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4}, {%r5}, {%r0, %r1, %r2, %r3};")),
      "test.ptx:11: error: 'mma.sync.aligned.m16n8k4.row.col.f32.f16.f16.f32': no product of this shape and these types");
  Bench bench(module_of("", "mov.u32 %r0, 0; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;"));
  bench.run("k", {1, 1, 1}, {16, 1, 1}, Params());
  CHECK(bench.has_found(DiagnosticKind::absent_lanes));
}

TEST_CASE("emulator copies: a pipeline of cp.async is right and clean, and no wait or barrier of it may be missing") {
  bool right = false;
  CHECK(run_pipeline("cp.async.wait_group 1;", "bar.sync 0;", right) == "");
  CHECK(right);
  const std::string late = run_pipeline("cp.async.wait_group 2;", "bar.sync 0;", right);
  CHECK(contains(late, "is not ordered after the write by an asynchronous copy of warp"));
  CHECK_FALSE(right);
  CHECK(run_pipeline("", "bar.sync 0;", right) != "");
  CHECK(contains(run_pipeline("cp.async.wait_group 1;", "", right), "race"));
  CHECK(run_pipeline("cp.async.wait_all;", "bar.sync 0;", right) == "");
  CHECK(right);
}

TEST_CASE("emulator copies: what is not copied is filled with zeros, and not read either") {
  Bench bench(module_of(".param .u64 in, .param .u64 out", R"(
    .shared .align 16 .b8 tile[48];
    ld.param.u64 %d1, [in];
    mov.u64 %d2, tile;
    mov.u32 %r1, 6;
    setp.eq.u32 %p1, %r1, 6;
    cp.async.cg.shared.global [%d2], [%d1], 16, %r1;
    cp.async.cg.shared.global [%d2+16], [%d1+4096], 16, 0;
    cp.async.cg.shared.global.L2::128B [%d2+32], [%d1+4096], 16, %p1;
    cp.async.wait_all;
    ld.param.u64 %d3, [out];
    ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%d2];
    st.global.v4.b32 [%d3], {%r2, %r3, %r4, %r5};
    ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%d2+16];
    st.global.v4.b32 [%d3+16], {%r2, %r3, %r4, %r5};
    ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%d2+32];
    st.global.v4.b32 [%d3+32], {%r2, %r3, %r4, %r5};
  )"));
  const Array<u32> in(bench.memory, std::vector<u32>{0x11111111, 0x22222222, 0x33333333, 0x44444444});
  Array<u32> out(bench.memory, 12, 5);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(in.address()).add(out.address())));
  CHECK(bench.found() == "");
  CHECK(out.values() == std::vector<u32>{0x11111111, 0x2222, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

}  // namespace tilewright::rt::emulator
