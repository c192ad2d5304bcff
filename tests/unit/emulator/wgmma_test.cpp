// wgmma: products of every shape family against sums in double, from registers and from shared memory in all layouts, and the checks
// of who may touch what when.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/emulator/matrix/elements.h"
#include "tests/unit/emulator/harness.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

constexpr u64 kSharedBytes = 96 << 10, kOffsetOfB = 48 << 10;

/// How an operand lies in shared memory: rows of so many bytes as tensor maps write them, which run along k or along m or n.
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

/// Where the element in a row (of m or n) and at a k lies from the start of its operand, by what tensor maps document of their swizzles:
/// 16-byte pieces of a 128-byte line change places by the number of the line.
u64 place_of(const Layout& layout, int rows, int depth, int row, int k, int bytes) {
  if (layout.row_bytes == 16) {
    // 8 rows of 16 bytes lie together; such blocks follow each other along m or n, then along k.
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
      put(image, place_of(c.layout_a, 64, depth, row, k, bytes), bits_of(a.at(row, k), c.a), bytes);
    for (int row = 0; row < c.n; ++row)
      put(image, kOffsetOfB + place_of(c.layout_b, c.n, depth, row, k, bytes), bits_of(b.at(row, k), c.b), bytes);
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

/// A small kernel of one warpgroup: `body` stands after shared memory is filled; descriptors of 128-byte rows are in %d6 and %d7.
std::string checked(const std::string& body, const std::string& fill = "fence.proxy.async.shared::cta;",
                    const std::string& target = "sm_90a") {
  return ".version 8.4\n.target " + target + R"(
.address_size 64
.shared .align 1024 .b8 memory[16384];
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .b32 %f<32>;
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, memory;
  mad.lo.u32 %r2, %r0, 128, %r1;
  mov.u32 %r3, 0;
FILL:
  add.u32 %r4, %r2, %r3;
  st.shared.b32 [%r4], 0;
  add.u32 %r3, %r3, 4;
  setp.lt.u32 %p1, %r3, 128;
  @%p1 bra FILL;
  )" + fill +
         R"(
  bar.sync 0;
  cvt.u64.u32 %d6, %r1;
  shr.u64 %d6, %d6, 4;
  or.b64 %d6, %d6, 0x4000004000010000;
  add.u64 %d7, %d6, 512;
  mov.b32 %f0, 0;
  mov.b32 %f1, 0;
  mov.b32 %f2, 0;
  mov.b32 %f3, 0;
)" + body +
         "\nret;\n}\n";
}

const std::string kFence = "wgmma.fence.sync.aligned;\n", kCommit = "wgmma.commit_group.sync.aligned;\n",
                  kWait = "wgmma.wait_group.sync.aligned 0;\n", kStore = "st.global.b32 [%d1], %f0;\n",
                  kProduct = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d6, %d7, 1, 1, 1, 0, 0;\n";

/// All that is found in a kernel; empty if nothing is.
std::string found_in(const std::string& text, u32 threads = 128) {
  Bench bench(text);
  Array<u32> out(bench.memory, 1);
  Params params;
  bench.run("k", {1, 1, 1}, {threads, 1, 1}, params.add(out.address()));
  return bench.found();
}

std::string error_of(const std::string& text) {
  try {
    LoadedModule::load(text, "t.ptx");
  } catch (const Error& error) {
    const std::string what = error.what();
    return what.substr(what.find("error: "));
  }
  return "no error";
}

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

TEST_CASE("emulator wgmma: without its predicate the product does not accumulate") {
  const std::string text = checked(R"(
    mov.b32 %f0, 0x40a00000;
    mov.b32 %f4, 0x40a00000;
    setp.lt.u32 %p2, %r0, 0;
  )" + kFence + "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d6, %d7, %p2, 1, 1, 0, 0;\n" +
                                   kCommit + kWait + kStore);
  Bench bench(text);
  Array<u32> out(bench.memory, 1, 7);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {128, 1, 1}, params.add(out.address())));
  CHECK(out.values()[0] == 0);
}

TEST_CASE("emulator wgmma: registers are left alone until a wait") {
  CHECK(found_in(checked(kFence + kProduct + kCommit + kWait + kStore)) == "");
  // Copies are the register itself, and more products of one shape follow each other.
  CHECK(found_in(checked(kFence + kProduct + "mov.b32 %f4, %f0;\nmov.b32 %f0, %f4;\n" + kProduct + kCommit + kWait + kStore)) == "");
  CHECK(found_in(checked(kFence + kProduct + kCommit + kProduct + kCommit + "wgmma.wait_group.sync.aligned 1;\n" + kWait + kStore)) == "");
  for (const std::string& early :
       std::vector<std::string>{kStore, "add.f32 %f1, %f1, %f2;\n", "mov.b32 %f2, 0;\n", "mov.b32 %f4, %f0; st.global.b32 [%d1], %f4;\n"}) {
    CHECK(contains(found_in(checked(kFence + kProduct + kCommit + early + kWait)), "missing wait"));
    CHECK(contains(found_in(checked(kFence + kProduct + early + kCommit + kWait)), "still works on a register of this instruction"));
  }
  CHECK(contains(found_in(checked(kFence + kProduct + kCommit + kProduct + kCommit + "wgmma.wait_group.sync.aligned 1;\n" + kStore)),
                 "missing wait"));
  // What is not committed is not waited for.
  CHECK(contains(found_in(checked(kFence + kProduct + kWait + kStore)), "missing wait"));
  const std::string from_registers =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%f4, %f5, %f6, %f7}, %d7, 1, 1, 1, 0;\n";
  // Once something else is put into a copy, it is one no longer: while wgmma works or not.
  const std::string copy = "mov.b32 %f4, %f0;\n", back = "mov.b32 %f0, %f4;\n";
  for (const char* const other : {"mov.b32 %f4, 0;\n", "mov.b32 %f4, %f8;\n", "add.f32 %f4, %f8, %f8;\n"}) {
    CAPTURE(other);
    CHECK(contains(found_in(checked(kFence + kProduct + kCommit + copy + kWait + other + kFence + kProduct + back + kCommit + kWait)),
                   "still works on a register of this instruction"));
    CHECK(contains(found_in(checked(kFence + kProduct + copy + other + back + kCommit + kWait)), "still works on a register"));
  }
  const std::string fill = "mov.b32 %f4, 0; mov.b32 %f5, 0; mov.b32 %f6, 0; mov.b32 %f7, 0;\n";
  CHECK(found_in(checked(fill + kFence + from_registers + from_registers + kCommit + kWait + fill)) == "");
  CHECK(contains(found_in(checked(fill + kFence + from_registers + kCommit + fill + kWait)), "missing wait"));
}

TEST_CASE("emulator wgmma: a fence orders registers ahead of products") {
  CHECK(contains(found_in(checked(kProduct + kCommit + kWait + kStore)), "no wgmma.fence comes before the first wgmma"));
  const std::string again = kFence + kProduct + kCommit + kWait + "mov.b32 %f0, 0;\n";
  CHECK(contains(found_in(checked(again + kProduct + kCommit + kWait)),
                 "no wgmma.fence orders this after the access to its register at line"));
  CHECK(found_in(checked(again + kFence + kProduct + kCommit + kWait)) == "");
  const std::string wider =
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %d6, %d7, 0, 1, 1, 0, 0;\n";
  CHECK(contains(found_in(checked(kFence + kProduct + wider + kCommit + kWait)), "still in use by a wgmma of another shape"));
  CHECK(found_in(checked(kFence + kProduct + kCommit + kWait + wider + kCommit + kWait)) == "");
}

TEST_CASE("emulator wgmma: shared memory is read through the asynchronous proxy, until the wait") {
  CHECK(contains(found_in(checked(kFence + kProduct + kCommit + kWait, "")), "race"));
  const std::string overwrite = "st.shared.b32 [%r2], 1;\n";
  CHECK(contains(found_in(checked(kFence + kProduct + kCommit + "bar.sync 0;\n" + overwrite + kWait)), "race"));
  CHECK(found_in(checked(kFence + kProduct + kCommit + kWait + "bar.sync 0;\n" + overwrite)) == "");
  // A warp of the group that waits knows that the group's product is done, and tells others.
  CHECK(found_in(checked(kFence + kProduct + kCommit + kWait +
                         "setp.ge.u32 %p2, %r0, 32;\n@%p2 bar.arrive 1, 128;\n@%p2 ret;\nbar.sync 1, 128;\n" + overwrite)) == "");
  CHECK(contains(found_in(checked("shl.b64 %d7, %d7, 4;\n" + kFence + kProduct + kCommit + kWait)), "out of bounds"));
  CHECK(contains(found_in(checked("or.b64 %d7, %d7, 0x2000000000000;\n" + kFence + kProduct + kCommit + kWait)),
                 "base offset 1: only 0 is known here"));
  CHECK(contains(found_in(checked("mad.wide.u32 %d7, %r0, 64, %d7;\n" + kFence + kProduct + kCommit + kWait)), "the matrix descriptor is"));
}

TEST_CASE("emulator wgmma: warpgroups that multiply by the same b one after the other each find what is there then") {
  for (const bool overwrites : {false, true}) {
    CAPTURE(overwrites);
    // All halves are 1. Between the product of the first warpgroup and that of the second, b may become 2.
    const std::string text =
        R"(.version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 memory[16384];
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .b32 %f<4>;
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  mad.wide.u32 %d1, %r0, 4, %d1;
  mov.u32 %r1, memory;
  mad.lo.u32 %r2, %r0, 16, %r1;
  mov.u32 %r3, 0;
FILL:
  add.u32 %r4, %r2, %r3;
  mov.b32 %r7, 0x3c003c00;
  st.shared.v4.b32 [%r4], {%r7, %r7, %r7, %r7};
  add.u32 %r3, %r3, 4096;
  setp.lt.u32 %p1, %r3, 16384;
  @%p1 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  cvt.u64.u32 %d6, %r1;
  shr.u64 %d6, %d6, 4;
  or.b64 %d6, %d6, 0x4000004000010000;
  add.u64 %d7, %d6, 512;
  mov.b32 %f0, 0;
  mov.b32 %f1, 0;
  mov.b32 %f2, 0;
  mov.b32 %f3, 0;
  shr.u32 %r5, %r0, 7;
  mov.u32 %r6, 0;
TURN:
  setp.ne.u32 %p2, %r5, %r6;
  @%p2 bra PASS;
)" + kFence +
        kProduct + kCommit + kWait +
        R"(
PASS:
  bar.sync 0;
)" +
        (overwrites ? "mov.b32 %r7, 0x40004000;\nsetp.lt.u32 %p1, %r0, 64;\n@%p1 st.shared.v4.b32 [%r2+8192], {%r7, %r7, %r7, %r7};\n"
                      "fence.proxy.async.shared::cta;\n"
                    : "") +
        R"(
  bar.sync 0;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, 2;
  @%p3 bra TURN;
  st.global.b32 [%d1], %f0;
  ret;
}
)";
    Bench bench(text);
    Array<float> out(bench.memory, 256);
    Params params;
    CHECK(bench.run("k", {1, 1, 1}, {256, 1, 1}, params.add(out.address())));
    CHECK(bench.found() == "");
    CHECK(out.values()[0] == 16);
    CHECK(out.values()[128] == (overwrites ? 32 : 16));
  }
}

TEST_CASE("emulator wgmma: four warps do the same") {
  CHECK(contains(found_in(checked(kFence + kProduct + kCommit + kWait), 64), "this one has no warpgroup of four"));
  const std::string some = "setp.ge.u32 %p2, %r0, 96;\n@%p2 bra SKIP;\n" + kFence + kProduct + kCommit + kWait + "SKIP:\n";
  CHECK(contains(found_in(checked(some)), "for warps of its warpgroup that have not committed their wgmma"));
  CHECK(contains(found_in(checked("setp.ge.u32 %p2, %r0, 96;\n" + kFence + "@%p2 bra OTHER;\n" + kProduct + kProduct +
                                  "bra DONE;\nOTHER:\n" + kProduct + "DONE:\n" + kCommit + kWait)),
                 "the warps of the warpgroup commit different wgmma"));
}

TEST_CASE("emulator wgmma: setmaxnreg goes up after inc and down after dec") {
  CHECK(found_in(checked("setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 232;")) == "");
  CHECK(contains(found_in(checked("setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.dec.sync.aligned.u32 48;")),
                 "a decrease to 48 registers, after 40"));
  CHECK(contains(found_in(checked("setmaxnreg.inc.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 32;")),
                 "an increase to 32 registers, after 40"));
  CHECK(error_of(checked("setmaxnreg.inc.sync.aligned.u32 36;")) ==
        "error: 'setmaxnreg.inc.sync.aligned.u32': 36 registers: expected a multiple of 8 from 24 to 256");
}

TEST_CASE("emulator wgmma: setmaxnreg.inc waits for the registers that other warps give back") {
  // The first of two warpgroups gives some back or ends, the second one asks for more.
  const auto found = [](const std::string& limit, const std::string& first, u32 asked) {
    std::string text = hopper_module_of(".param .u64 out", fmt::format(R"(
      mov.u32 %r0, %tid.x;
      setp.ge.u32 %p2, %r0, 128;
      @%p2 bra CONSUME;
      {}
      bra DONE;
    CONSUME:
      setmaxnreg.inc.sync.aligned.u32 {};
      bar.sync 0;
    DONE:)",
                                                                       first, asked));
    text.insert(text.find("\n{"), "\n" + limit);
    return found_in(text, 256);
  };
  const auto keep = [](u32 count) { return fmt::format("setmaxnreg.dec.sync.aligned.u32 {};\nbar.sync 0;", count); };
  CHECK(found(".maxnreg 168", keep(104), 232) == "");
  CHECK(contains(found(".maxnreg 168", keep(112), 232), "for 64 more registers a thread, of which the block's pool has 32"));
  CHECK(found(".maxntid 256\n.minnctapersm 1", keep(240), 256) == "");
  CHECK(
      contains(found(".reqntid 256\n.minnctapersm 2", keep(120), 144), "for 16 more registers a thread, of which the block's pool has 0"));
  // Nothing says how many there are to begin with.
  CHECK(found("", keep(112), 232) == "");
  CHECK(found(".maxnreg 128", "ret;", 232) == "");
}

TEST_CASE("emulator wgmma: what is no product is refused") {
  const auto refused = [](const std::string& opcode, const std::string& operands) {
    return error_of(checked(opcode + " " + operands + ";"));
  };
  CHECK(error_of(checked(kProduct, "", "sm_90")) ==
        "error: 'wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16': this needs the target sm_90a, not sm_90");
  for (const char* shape : {"m64n12k16.f32.f16.f16", "m64n264k16.f32.f16.f16", "m32n8k16.f32.f16.f16", "m64n8k8.f32.f16.f16",
                            "m64n8k16.f16.bf16.bf16", "m64n40k32.s32.s8.s8"})
    CHECK(contains(refused(fmt::format("wgmma.mma_async.sync.aligned.{}", shape), "{%f0}, %d6, %d7, 1, 1, 1, 0, 0"),
                   "no product of this shape and these types"));
  CHECK(contains(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "{%f0, %f1, %f2, %f3}, %d6, %d7, 1, 2, 1, 0, 0"),
                 "a scale has to be 1 or -1"));
  CHECK(contains(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "{%f0, %f1, %f2}, %d6, %d7, 1, 1, 1, 0, 0"),
                 "3 accumulators, not 4"));
  CHECK(contains(refused("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", "{%f0, %f1, %f2, %f3}, %d6, %d7, 1, 1, 1, 0, 0"),
                 "8 operands, not 6"));
}

}  // namespace tilewright::rt::emulator
