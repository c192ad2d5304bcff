// wgmma: products of every shape family against sums in double, from registers and from shared memory in all layouts.
// tests/ptx/emulator/wgmma.ptx has the rules of accesses to operands, and setmaxnreg.ptx those of register counts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/emulator/matrix/elements.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr u64 kSharedBytes = 96 << 10, kOffsetOfB = 48 << 10;

/// Layout of an operand in shared memory: rows of so many bytes, as tensor copies write them, along k or along m or n.
struct Layout {
  int row_bytes;  // 128, 64, 32; 16: without a swizzle
  bool along_k;
};

struct Case {
  int n, steps;
  Type d, a, b;
  Layout layout_a, layout_b;
  bool from_registers = false;

  int k() const { return 256 / operand_bits(a); }
};

/// The byte offset of an element in its operand, by its row (of m or n) and its k. Swizzles are those of tensor maps: the number of a
/// 128-byte line is XORed to the number of a 16-byte chunk in it.
u64 offset_of(const Layout& layout, int rows, int depth, int row, int k, int bytes) {
  if (layout.row_bytes == 16) {
    // 8 rows of 16 bytes are contiguous; such blocks follow each other along m or n, then along k.
    const int inner = layout.along_k ? k * bytes : row * bytes, outer = layout.along_k ? row : k;
    const int outers = layout.along_k ? rows : depth;
    return static_cast<u64>(inner / 16 * (outers * 16) + outer * 16 + inner % 16);
  }
  const int inner = (layout.along_k ? k : row) * bytes, outer = layout.along_k ? row : k, outers = layout.along_k ? rows : depth;
  const u64 line =
      static_cast<u64>(inner / layout.row_bytes * outers * layout.row_bytes + outer * layout.row_bytes + inner % layout.row_bytes);
  const u64 pieces = static_cast<u64>(layout.row_bytes / 16);
  return line ^ (line / 128 % pieces * 16);
}

/// The descriptor of one step, which starts at this k.
u64 descriptor(const Layout& layout, u64 base, int rows, int depth, int k, int bytes) {
  const u64 r = static_cast<u64>(layout.row_bytes), all_rows = static_cast<u64>(rows), all_k = static_cast<u64>(depth);
  u64 start = base, leading = 16, stride = 8 * r;
  if (layout.along_k) {
    const u64 inner = static_cast<u64>(k * bytes);
    start += inner / r * all_rows * r + inner % r;
    if (r == 16) leading = all_rows * 16;
  } else {
    start += static_cast<u64>(k) * r;
    leading = r == 16 ? 8 * r : all_k * r;
    if (r == 16) stride = all_k * 16;
  }
  const u64 swizzle = r == 16 ? 0 : r == 128 ? 1 : r == 64 ? 2 : 3;
  return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | swizzle << 62;
}

std::string registers(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}%f{}", i > 0 ? ", " : "", first + i);
  return text + "}";
}

int accumulators(const Case& c) { return c.d == Type::f16 ? c.n / 4 : c.n / 2; }

/// Copies an image to shared memory, loads what registers hold, multiplies, and stores the accumulators.
std::string kernel_of(const Case& c, const std::string& modifiers = "") {
  std::string text = R"(.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry k(.param .u64 image, .param .u64 registers, .param .u64 sums, .param .u64 descriptors)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .b32 %f<300>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r3, memory;
  ld.param.u64 %d1, [image];
  shl.b32 %r1, %r0, 4;
COPY:
  cvt.u64.u32 %d2, %r1;
  add.u64 %d2, %d1, %d2;
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d2];
  add.u32 %r2, %r3, %r1;
  st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};
  add.u32 %r1, %r1, 2048;
)";
  text += fmt::format("  setp.lt.u32 %p1, %r1, {};\n  @%p1 bra COPY;\n  fence.proxy.async.shared::cta;\n  bar.sync 0;\n", kSharedBytes);
  text += fmt::format("  ld.param.u64 %d3, [sums];\n  mad.wide.u32 %d3, %r0, {}, %d3;\n", 4 * accumulators(c));
  for (int i = 0; i < accumulators(c); ++i) text += fmt::format("  ld.global.b32 %f{}, [%d3+{}];\n", i, 4 * i);
  text += fmt::format("  ld.param.u64 %d4, [registers];\n  mad.wide.u32 %d4, %r0, {}, %d4;\n", 16 * c.steps);
  if (c.from_registers)
    for (int i = 0; i < 4 * c.steps; ++i) text += fmt::format("  ld.global.b32 %f{}, [%d4+{}];\n", 260 + i, 4 * i);
  text += "  ld.param.u64 %d5, [descriptors];\n  wgmma.fence.sync.aligned;\n";
  const bool is_integer = c.d == Type::s32, has_layouts = c.a == Type::f16 || c.a == Type::bf16;
  for (int step = 0; step < c.steps; ++step) {
    text += fmt::format("  ld.global.v2.b64 {{%d6, %d7}}, [%d5+{}];\n", 16 * step);
    text += fmt::format("  wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}{} {}, {}, %d7, 1", c.n, c.k(), name_of(c.d), name_of(c.a),
                        name_of(c.b), modifiers, registers(0, accumulators(c)), c.from_registers ? registers(260 + 4 * step, 4) : "%d6");
    if (!is_integer) text += ", 1, -1";
    if (has_layouts && !c.from_registers) text += fmt::format(", {}", c.layout_a.along_k ? 0 : 1);
    if (has_layouts) text += fmt::format(", {}", c.layout_b.along_k ? 0 : 1);
    text += ";\n";
  }
  text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  for (int i = 0; i < accumulators(c); ++i) text += fmt::format("  st.global.b32 [%d3+{}], %f{};\n", 4 * i, i);
  return text + "  ret;\n}\n";
}

u64 bits_of(double value, Type type) {
  switch (type) {
    case Type::s8:
    case Type::u8: return static_cast<u8>(static_cast<int>(value));
    case Type::s32: return static_cast<u32>(static_cast<s32>(value));
    case Type::e4m3:
    case Type::e5m2: {
      for (u64 bits = 0; bits < 256; ++bits)
        if (number_of(bits, type) == value) return bits;
      throw std::logic_error("no such number");
    }
    case Type::bf16: return bits_of_sum(value, Type::f32, false) >> 16;
    case Type::tf32: return bits_of_sum(value, Type::f32, false);
    default: return bits_of_sum(value, type, false);
  }
}

struct Matrix {
  int rows, columns;
  std::vector<double> values;
  Matrix(int m, int n, u64 seed, bool is_unsigned) : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {
    std::mt19937_64 random(seed);
    for (double& value : values) value = static_cast<double>(random() % 9) - (is_unsigned ? 0 : 4);
  }
  double at(int row, int column) const { return values[static_cast<std::size_t>(row * columns + column)]; }
};

void put(std::vector<u8>& image, u64 address, u64 bits, int bytes) {
  if (address + static_cast<u64>(bytes) > image.size()) throw std::logic_error("the image is too small");
  std::memcpy(image.data() + address, &bits, static_cast<std::size_t>(bytes));
}

/// Row and column of element e of a lane of the warpgroup.
std::pair<int, int> accumulated(int thread, int e) {
  return {thread / 32 * 16 + thread % 32 / 4 + 8 * (e / 2 % 2), 8 * (e / 4) + 2 * (thread % 4) + e % 2};
}

void check_case(const Case& c) {
  const int depth = c.steps * c.k(), bytes = operand_bits(c.a) / 8;
  INFO("n " << c.n << ", " << name_of(c.d) << " " << name_of(c.a) << " " << name_of(c.b) << ", rows of " << c.layout_a.row_bytes << " and "
            << c.layout_b.row_bytes << " bytes, along k: " << c.layout_a.along_k << c.layout_b.along_k << ", registers "
            << c.from_registers);
  const Matrix a(64, depth, 1, c.a == Type::u8), b(c.n, depth, 2, c.b == Type::u8), s(64, c.n, 3, false);
  std::vector<u8> image(kSharedBytes, 0xff);
  for (int k = 0; k < depth; ++k) {
    for (int row = 0; row < 64 && !c.from_registers; ++row)
      put(image, offset_of(c.layout_a, 64, depth, row, k, bytes), bits_of(a.at(row, k), c.a), bytes);
    for (int row = 0; row < c.n; ++row)
      put(image, kOffsetOfB + offset_of(c.layout_b, c.n, depth, row, k, bytes), bits_of(b.at(row, k), c.b), bytes);
  }
  // Element e of register r of a: row l / 4 + 8 (r % 2), k in pieces of 4 bytes from lane to lane and of 16 from register to register.
  std::vector<u8> fragments(static_cast<std::size_t>(128 * 16 * c.steps));
  for (int thread = 0; thread < 128; ++thread)
    for (int step = 0; step < c.steps; ++step)
      for (int r = 0; r < 4; ++r)
        for (int e = 0; e < 4 / bytes; ++e) {
          const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * (r % 2), k = step * c.k() + (thread % 4 + 4 * (r / 2)) * (4 / bytes) + e;
          put(fragments, static_cast<u64>(((thread * c.steps + step) * 4 + r) * 4 + e * bytes), bits_of(a.at(row, k), c.a), bytes);
        }
  const int sum_bytes = c.d == Type::f16 ? 2 : 4;
  std::vector<u8> sums(static_cast<std::size_t>(128 * c.n / 2 * sum_bytes));
  for (int thread = 0; thread < 128; ++thread)
    for (int e = 0; e < c.n / 2; ++e) {
      const auto [row, column] = accumulated(thread, e);
      put(sums, static_cast<u64>((thread * c.n / 2 + e) * sum_bytes), bits_of(s.at(row, column), c.d), sum_bytes);
    }
  std::vector<u64> descriptors;
  for (int step = 0; step < c.steps; ++step) {
    descriptors.push_back(descriptor(c.layout_a, 0, 64, depth, step * c.k(), bytes));
    descriptors.push_back(descriptor(c.layout_b, kOffsetOfB, c.n, depth, step * c.k(), bytes));
  }

  Bench bench(kernel_of(c));
  Array<u8> d_image(bench.memory, image), d_fragments(bench.memory, fragments), d_sums(bench.memory, sums);
  Array<u64> d_descriptors(bench.memory, descriptors);
  Params params;
  params.add(d_image.address()).add(d_fragments.address()).add(d_sums.address()).add(d_descriptors.address());
  const bool good = bench.run("k", {1, 1, 1}, {128, 1, 1}, params, kSharedBytes);
  INFO(bench.found());
  REQUIRE(good);
  const auto result = d_sums.values();
  const double sign = c.d == Type::s32 ? 1 : -1;
  int wrong = 0;
  for (int thread = 0; thread < 128; ++thread)
    for (int e = 0; e < c.n / 2; ++e) {
      const auto [row, column] = accumulated(thread, e);
      double wanted = s.at(row, column);
      for (int k = 0; k < depth; ++k) wanted += sign * a.at(row, k) * b.at(column, k);
      u64 bits = 0;
      std::memcpy(&bits, result.data() + (thread * c.n / 2 + e) * sum_bytes, static_cast<std::size_t>(sum_bytes));
      wrong += !(number_of(bits, c.d) == wanted);
    }
  CHECK(wrong == 0);
}

const Layout kAlongK{128, true};

}  // namespace

TEST_CASE("emulator wgmma: layouts of shared memory along k, with all swizzles") {
  for (const int row_bytes : {16, 32, 64, 128})
    for (const int other : {16, 128}) {
      check_case({64, 2, Type::f32, Type::f16, Type::f16, {row_bytes, true}, {other, true}});
      check_case({64, 2, Type::f32, Type::f16, Type::f16, {other, true}, {row_bytes, true}});
    }
  check_case({32, 8, Type::f32, Type::bf16, Type::bf16, {128, true}, {64, true}});
}

TEST_CASE("emulator wgmma: transposed layouts of shared memory, with all swizzles") {
  for (const int row_bytes : {16, 32, 64, 128}) {
    check_case({64, 2, Type::f32, Type::f16, Type::f16, {row_bytes, false}, kAlongK});
    check_case({128, 2, Type::f32, Type::bf16, Type::bf16, kAlongK, {row_bytes, false}});
    check_case({64, 3, Type::f32, Type::f16, Type::f16, {row_bytes, false}, {row_bytes, false}});
    check_case({64, 2, Type::f16, Type::f16, Type::f16, {128, false}, {row_bytes, false}, true});
  }
}

TEST_CASE("emulator wgmma: shapes and types") {
  for (const int n : {8, 24, 72, 128, 200, 256}) {
    check_case({n, 2, Type::f32, Type::f16, Type::f16, kAlongK, kAlongK});
    check_case({n, 1, Type::f16, Type::f16, Type::f16, kAlongK, kAlongK, true});
    check_case({n, 2, Type::f32, Type::bf16, Type::bf16, kAlongK, kAlongK, true});
    check_case({n, 2, Type::f32, Type::tf32, Type::tf32, kAlongK, kAlongK});
  }
  for (const bool from_registers : {false, true}) {
    check_case({64, 2, Type::f32, Type::tf32, Type::tf32, kAlongK, kAlongK, from_registers});
    for (const Type d : {Type::f32, Type::f16})
      for (const auto& [a, b] :
           {std::pair{Type::e4m3, Type::e4m3}, {Type::e4m3, Type::e5m2}, {Type::e5m2, Type::e4m3}, {Type::e5m2, Type::e5m2}})
        check_case({64, 2, d, a, b, kAlongK, kAlongK, from_registers});
    for (const auto& [a, b] : {std::pair{Type::s8, Type::s8}, {Type::s8, Type::u8}, {Type::u8, Type::s8}, {Type::u8, Type::u8}})
      check_case({96, 2, Type::s32, a, b, kAlongK, kAlongK, from_registers});
  }
}

}  // namespace tilewright::rt::emulator
