// device_print, device_assert and inline_ptx as PTX, and reading reports from memory.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backend/nvptx_abi.h"
#include "tests/unit/backend/ptx_assembler.h"

namespace tilewright::backend {

using testing::checked_ptx;
using testing::compile_for;
using testing::count;

namespace {

constexpr const char* kPrint = R"(kernel @k(%n: i32, %p: ptr<f64>) {
  %i = arange {lo = 0, hi = 64} : i32[64]
  %b = broadcast %n : i32[64]
  %m = lt %i, %b : i1[64]
  device_print %n, %i, %m {text = "n {} i {} m {}"}
  device_print %p {text = "{}"}
})";
constexpr const char* kAssert = R"(kernel @k(%n: i32, %p: ptr<i32>) {
  %i = arange {lo = 0, hi = 256} : i32[256]
  %b = broadcast %n : i32[256]
  %m = lt %i, %b : i1[256]
  %x = sub %b, %i : i32[256]
  %z = constant {value = 0} : i32[256]
  %c = ge %x, %z : i1[256]
  device_assert %c, %m {text = "not negative"}
})";

}  // namespace

TEST_CASE("nvptx reports: a kernel that prints takes the buffer as its last parameter and has a site for each print") {
  for (const int warps : {1, 4}) {
    const CompiledKernel k = compile_for(kPrint, "sm_80", warps);
    const std::string ptx = checked_ptx(k);
    CHECK(k.params.size() == 2);
    CHECK(count(ptx, ".param .u64 k_param_2") == 1);
    REQUIRE(k.reports.size() == 2);
    CHECK(k.reports[0].is_print);
    CHECK(k.reports[0].text == "n {} i {} m {}");
    CHECK(k.reports[0].operands.size() == 3);
    CHECK(k.reports[1].operands == std::vector{ir::Type::pointer(ir::Element::f64, false)});
    // One reservation a print: 16 + 8 + 256 + 64 bytes are 86 words, 16 + 8 are 6.
    CHECK(count(ptx, "atom.relaxed.gpu.global.add.u64") == 2);
    CHECK(report_offset(k.reports[0].operands, 3) == 344);
    CHECK(report_offset(k.reports[1].operands, 1) == 24);
  }
}

TEST_CASE("nvptx reports: an assertion asks all threads whether it fails somewhere, and is gone where it is not checked") {
  const CompiledKernel checked = compile_for(kAssert, "sm_80", 4, true);
  const std::string ptx = checked_ptx(checked);
  REQUIRE(checked.reports.size() == 1);
  CHECK(!checked.reports[0].is_print);
  CHECK(checked.reports[0].operands.size() == 2);
  CHECK(count(ptx, "bar.red") == 1);
  CHECK(count(checked_ptx(compile_for(kAssert, "sm_80", 1, true)), "vote.sync.any") == 1);
  const CompiledKernel plain = compile_for(kAssert, "sm_80");
  CHECK(plain.reports.empty());
  CHECK(count(checked_ptx(plain), "k_param_2") == 0);
}

TEST_CASE("nvptx reports: records are read in order up to the first one that did not fit") {
  const std::int64_t shape[] = {2};
  const std::vector<ReportSite> sites{{{}, true, "{}", {}, {ir::Type(ir::Element::boolean, shape), ir::Type(ir::Element::i64)}},
                                      {{}, true, "", {}, {}}};
  std::vector<std::uint32_t> words{0, 7, 8, 9, 0x0100, 0, 5, 6, 1, 1, 2, 3, kReportEnd, 77, 77, 77};
  struct Seen {
    std::int32_t site, x;
    std::size_t operands;
  };
  std::vector<Seen> seen;
  const auto listen = [](void* context, const std::int32_t* program, const void* const* operands, std::int32_t site) {
    auto& all = *static_cast<std::vector<Seen>*>(context);
    all.push_back({site, program[0], 0});
    if (site != 0) return;
    CHECK(static_cast<const unsigned char*>(operands[0])[0] == 0);
    CHECK(static_cast<const unsigned char*>(operands[0])[1] == 1);
    std::int64_t number = 0;
    std::memcpy(&number, operands[1], 8);
    CHECK(number == (std::int64_t{6} << 32 | 5));
  };
  read_reports({16, 1, 40}, words, sites, listen, &seen);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].site == 0);
  CHECK(seen[0].x == 7);
  CHECK(seen[1].site == 1);
  seen.clear();
  read_reports({16, 0, 8}, words, sites, listen, &seen);
  CHECK(seen.size() == 1);
}

TEST_CASE("nvptx inline PTX: the text stands once for each register, without the operand that other targets take") {
  const char* tile = R"(kernel @k(%p: ptr<f32>) {
  %i = arange {lo = 0, hi = 256} : i32[256]
  %q = broadcast %p : ptr<f32>[256]
  %a = add_ptr %q, %i : ptr<f32>[256]
  %x = load %a : f32[256]
  %y = mul %x, %x : f32[256]
  %r = inline_ptx %x, %x, %y {text = "{ .reg .f32 t; mul.rn.f32 t, $1, $2; tanh.approx.f32 $0, t; }", constraints = "=f,f,f", has_fallback} : f32[256]
  store %a, %r
})";
  const std::string ptx = checked_ptx(compile_for(tile, "sm_80", 4));
  CHECK(count(ptx, "tanh.approx.f32") == 2);
  CHECK(count(ptx, "mul.rn.f32") == 2);
}

TEST_CASE("nvptx inline PTX: text whose constraints do not fit its types is the user's mistake") {
  const char* tile = R"(kernel @k(%p: ptr<i8>) {
  %x = load %p : i8
  %r = inline_ptx %x, %x {text = "mov.b32 $0, $1;", constraints = "=r,r", has_fallback} : i8
  store %p, %r
})";
  CHECK_THROWS_WITH(
      compile_for(tile, "sm_80", 4),
      doctest::Contains("3:8: error: inline_ptx: the result is i8, which no register holds; cast it to 16 or more bits first"));
}

}  // namespace tilewright::backend
