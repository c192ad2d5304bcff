// wmma: products of all shapes and types against sums in double, layouts, strides, and wrong uses.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>

#include "runtime/emulator/matrix/elements.h"
#include "tests/unit/emulator/harness.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

struct Case {
  int m, n, k;
  Type a, b, sum;
  int a_registers, b_registers, sum_registers;
  const char* suffix;  // suffix for the types of mma
};

std::string registers(const std::string& prefix, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i > 0 ? ", " : "", prefix, first + i);
  return text + "}";
}

/// a by rows, b by columns, c by rows, d by columns, each with a stride of its own.
std::string kernel_of(const Case& c, int padding) {
  const std::string shape = fmt::format("m{}n{}k{}", c.m, c.n, c.k);
  const auto prefix = [](Type type) { return type == Type::f64 ? "d" : "r"; };
  const std::string a = registers(prefix(c.a), 10, c.a_registers), b = registers(prefix(c.a), 20, c.b_registers),
                    s = registers(prefix(c.sum), 40, c.sum_registers), d = registers(prefix(c.sum), 50, c.sum_registers);
  std::string body =
      ".reg .b32 %r<64>;\n.reg .b64 %d<64>;\nld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nld.param.u64 %d3, [c];\n"
      "ld.param.u64 %d4, [d];\n";
  body += fmt::format("wmma.load.a.sync.aligned.row.{}.global.{} {}, [%d1], {};\n", shape, name_of(c.a), a, c.k + padding);
  body += fmt::format("wmma.load.b.sync.aligned.col.{}.global.{} {}, [%d2], {};\n", shape, name_of(c.b), b, c.k + padding);
  body += fmt::format("wmma.load.c.sync.aligned.row.{}.global.{} {}, [%d3], {};\n", shape, name_of(c.sum), s, c.n + padding);
  body += fmt::format("wmma.mma.sync.aligned.row.col.{}.{} {}, {}, {}, {};\n", shape, c.suffix, d, a, b, s);
  body += fmt::format("wmma.store.d.sync.aligned.col.{}.global.{} [%d4], {}, {};\n", shape, name_of(c.sum), d, c.m + padding);
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 "
         "d)\n{\n" +
         body + "ret;\n}\n";
}

/// A small number that every type holds.
u64 element(Type type, std::mt19937_64& random) {
  const int value = static_cast<int>(random() % 9) - (type == Type::u8 ? 0 : 4);
  if (type == Type::s8 || type == Type::u8) return static_cast<u8>(value);
  if (type == Type::s32) return static_cast<u32>(value);
  return bits_of_sum(value, type == Type::tf32 || type == Type::bf16 ? Type::f32 : type, false) >> (type == Type::bf16 ? 16 : 0);
}

std::vector<u8> matrix(Type type, int elements, u64 seed) {
  std::mt19937_64 random(seed);
  const auto bytes = static_cast<std::size_t>(operand_bits(type) / 8);
  std::vector<u8> values(static_cast<std::size_t>(elements) * bytes);
  for (std::size_t at = 0; at < values.size(); at += bytes) {
    const u64 bits = element(type, random);
    std::memcpy(values.data() + at, &bits, bytes);
  }
  return values;
}

double at(const std::vector<u8>& values, Type type, int index) {
  const auto bytes = static_cast<std::size_t>(operand_bits(type) / 8);
  u64 bits = 0;
  std::memcpy(&bits, values.data() + static_cast<std::size_t>(index) * bytes, bytes);
  return number_of(bits, type);
}

}  // namespace

TEST_CASE("emulator wmma: products of all shapes and types") {
  std::vector<Case> cases = {
      {16, 16, 8, Type::tf32, Type::tf32, Type::f32, 4, 4, 8, "f32.tf32.tf32.f32"},
      {8, 8, 4, Type::f64, Type::f64, Type::f64, 1, 1, 2, "f64.f64.f64.f64"},
  };
  for (const auto& [m, n] : {std::pair{16, 16}, {32, 8}, {8, 32}}) {
    cases.push_back({m, n, 16, Type::f16, Type::f16, Type::f32, 8, 8, 8, "f32.f32"});
    cases.push_back({m, n, 16, Type::f16, Type::f16, Type::f16, 8, 8, 4, "f16.f16"});
    cases.push_back({m, n, 16, Type::bf16, Type::bf16, Type::f32, m / 4, n / 4, 8, "f32.bf16.bf16.f32"});
    cases.push_back({m, n, 16, Type::s8, Type::s8, Type::s32, m / 8, n / 8, 8, "s32.s8.s8.s32"});
    cases.push_back({m, n, 16, Type::u8, Type::u8, Type::s32, m / 8, n / 8, 8, "s32.u8.u8.s32.satfinite"});
  }
  for (const Case& c : cases)
    for (const int padding : {0, 8}) {
      INFO(c.m << " by " << c.n << " by " << c.k << ", " << c.suffix);
      const auto a = matrix(c.a, c.m * (c.k + padding), 1), b = matrix(c.b, c.n * (c.k + padding), 2),
                 s = matrix(c.sum, c.m * (c.n + padding), 3);
      Bench bench(kernel_of(c, padding));
      Array<u8> da(bench.memory, a), db(bench.memory, b), dc(bench.memory, s),
          dd(bench.memory, static_cast<std::size_t>(c.n * (c.m + padding) * operand_bits(c.sum) / 8));
      Params params;
      const bool good =
          bench.run("k", {1, 1, 1}, {32, 1, 1}, params.add(da.address()).add(db.address()).add(dc.address()).add(dd.address()));
      INFO(bench.found());
      REQUIRE(good);
      const auto d = dd.values();
      for (int row = 0; row < c.m; ++row)
        for (int column = 0; column < c.n; ++column) {
          double sum = at(s, c.sum, row * (c.n + padding) + column);
          for (int k = 0; k < c.k; ++k) sum += at(a, c.a, row * (c.k + padding) + k) * at(b, c.b, column * (c.k + padding) + k);
          CHECK(at(d, c.sum, column * (c.m + padding) + row) == sum);
        }
    }
}

TEST_CASE("emulator wmma: an address that differs between lanes is found, and unknown shapes are refused") {
  Bench bench(module_of(".param .u64 p", R"(
    .reg .b32 %f<8>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %laneid;
    mad.wide.u32 %d1, %r1, 32, %d1;
    wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%d1];
  )"));
  Array<u8> memory(bench.memory, 4096);
  Params params;
  CHECK_FALSE(bench.run("k", {1, 1, 1}, {32, 1, 1}, params.add(memory.address())));
  CHECK(bench.has_found(DiagnosticKind::bad_operand));
  const auto error_of = [](const std::string& body) -> std::string {
    try {
      LoadedModule::load(module_of("", body), "t.ptx");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(error_of("wmma.load.a.sync.aligned.row.m8n8k16.f16 {%r0, %r1}, [%d1];") ==
        "t.ptx:11: error: 'wmma.load.a.sync.aligned.row.m8n8k16.f16': no fragment of this shape and type");
  CHECK(error_of("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0, %r1}, [%d1];") ==
        "t.ptx:11: error: 'wmma.load.a.sync.aligned.row.m16n16k16.f16': 2 registers, not 8");
}

}  // namespace tilewright::rt::emulator
