// The PTX lint on PTX written by hand: its counts, and each problem that it must report.
#include "runtime/ptx_lint.h"
#include "tests/messages.h"

#include <doctest/doctest.h>

namespace tilewright::rt {
namespace {

/// A kernel of these statements, with a few registers.
std::string kernel(const std::string& body, const std::string& before = "") {
  return ".version 8.0\n.target sm_80, debug  // as LLVM writes it\n.address_size 64\n" + before +
         ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u32 k_param_1\n)\n.reqntid 128, 1, 1\n{\n"
         "\t.reg .pred \t%p<3>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<4>, %SP;\n" +
         body + "\n\tret;\n}\n";
}

std::vector<std::string> problems(const std::string& body, const std::string& before = "") {
  return read_ptx(kernel(body, before)).problems;
}

/// The only problem, or all of them.
std::string problem(const std::string& body, const std::string& before = "") {
  std::string all;
  for (const std::string& p : problems(body, before)) all += (all.empty() ? "" : "; ") + p;
  return all;
}

using tilewright::test::has;

TEST_CASE("ptx_lint: counts what a kernel does, by width") {
  const PtxFacts f = read_ptx(kernel(R"(
	.loc	1 12 3
	ld.param.u64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	ld.global.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	// begin inline asm
	{ .reg .pred keep; setp.ne.b32 keep, %r1, 0; @keep ld.global.L1::evict_last.v2.b64 {%rd1, %rd2}, [%rd1 + 16]; }
	// end inline asm
	ld.global.nc.u8 %r2, [%rd1];  @%p1 st.global.v2.b16 [%rd1], {%r1, %r2};
	st.shared.v4.b32 [%r1], {%r1, %r2, %r3, %r4};
	bar.sync 	0;
	ld.shared::cta.b64 %rd2, [%r1];
	shfl.sync.bfly.b32 %r1|%p2, %r1, 16, 31, -1;
$L__BB0_1:
	atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;
	red.shared.add.u32 [%r1], 1;
	/* a comment; of two
	   lines { */
	add.rn.f32 %f1, %f2, %f3;
	@!%p1 bra 	$L__BB0_1;)"));
  CHECK(f.problems.empty());
  CHECK(f.version == "8.0");
  CHECK(f.target == "sm_80");
  CHECK(f.entries == std::vector<std::string>{"k"});
  CHECK(f.instructions == 16);
  CHECK(f.global_loads == PtxFacts::Widths{{16, 2}, {1, 1}});
  CHECK(f.global_stores == PtxFacts::Widths{{4, 1}});
  CHECK(f.shared_loads == PtxFacts::Widths{{8, 1}});
  CHECK(f.shared_stores == PtxFacts::Widths{{16, 1}});
  CHECK(f.barriers == 1);
  CHECK(f.shuffles == 1);
  CHECK(f.branches == 1);
  CHECK(f.atomics == 2);
  CHECK(f.ordered_atomics == 1);
  CHECK(text(f.global_loads) == "2 x 16, 1 x 1 bytes");
  CHECK(text(PtxFacts::Widths{}) == "none");
}

TEST_CASE("ptx_lint: finds functions and variables that are elsewhere, and calls") {
  CHECK(has(problem("", ".extern .func (.param .b32 r) __nv_expf (.param .b32 x);\n"),
            "line 4: the function '__nv_expf' is defined nowhere"));
  CHECK(has(problem("", ".extern .global .u32 counter;\n"), "the variable 'counter' is defined nowhere"));
  CHECK(problem("", ".extern .shared .align 16 .b8 memory[];\n").empty());
  const std::string declared = ".extern .func (.param .b32 r) __nv_expf (.param .b32 x);\n";
  CHECK(has(problem("call.uni (%r1), __nv_expf, (%r2);", declared), "a call: 'call.uni (%r1), __nv_expf, (%r2)'"));
  CHECK(has(problem("call.uni (%r1), __nv_expf, (%r2);"), "unknown name '__nv_expf'"));
}

TEST_CASE("ptx_lint: finds local memory") {
  CHECK(has(problem(".local .align 8 .b8 \t__local_depot0[16];"), "local memory: "));
  CHECK(read_ptx(kernel("ld.local.u32 %r1, [%SP];")).local_loads == PtxFacts::Widths{{4, 1}});
}

TEST_CASE("ptx_lint: finds atomics whose order or scope was dropped") {
  CHECK(has(problem("atom.global.add.u32 %r1, [%rd1], 1;"), "an atomic without its order or its scope"));
  CHECK(has(problem("red.relaxed.global.add.u32 [%rd1], 1;"), "an atomic without its order or its scope"));
  CHECK(has(problem("atom.gpu.add.f32 %f1, [%rd1], %f2;"), "an atomic without its order or its scope"));
  CHECK(problem("red.relaxed.gpu.global.add.u32 [%rd1], 1;").empty());
  CHECK(problem("atom.shared.add.u32 %r1, [%r2], 1;").empty());
}

TEST_CASE("ptx_lint: finds float arithmetic that the assembler may contract") {
  for (const char* op : {"add.f32", "mul.ftz.f32", "sub.f16x2", "mul.bf16", "add.f64"})
    CHECK(has(problem(std::string(op) + " %r1, %r2, %r3;"), "may be contracted"));
  for (const char* op : {"add.rn.f32", "mul.rn.ftz.f32", "add.s32", "mul.wide.u32", "fma.rn.f32", "add.rz.f64"})
    CHECK(problem(std::string(op) + " %r1, %r2, %r3;").empty());
}

TEST_CASE("ptx_lint: finds what the assembler miscompiles") {
  for (const char* operands : {"0, 8", "24, 8", "8, 16", "16, 16"})
    CHECK(has(problem("bfe.s32 %r1, %r2, " + std::string(operands) + ";"), "as if it were signed"));
  for (const char* op : {"bfe.s32 %r1, %r2, 4, 8;", "bfe.s32 %r1, %r2, 0, 24;", "bfe.u32 %r1, %r2, 8, 8;", "bfe.s32 %r1, %r2, %r3, %r4;"})
    CHECK(problem(op).empty());
}

TEST_CASE("ptx_lint: finds barriers and shuffles that not every thread reaches") {
  CHECK(has(problem("@%p1 bar.sync 0;"), "a barrier under a predicate"));
  CHECK(has(problem("@%p1 shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;"), "a shuffle under a predicate"));
  CHECK(problem("bar.warp.sync -1;").empty());
}

TEST_CASE("ptx_lint: finds registers and labels that nothing declares") {
  CHECK(problem("mov.u32 %r9, %r8;") == "line 14: there is no register '%r9'");
  CHECK(problem("mov.u32 %r08x, 1;") == "line 14: there is no register '%r08x'");
  CHECK(problem("{ .reg .b32 %t; mov.u32 %t, 1; }").empty());
  CHECK(has(problem("{ .reg .b32 %t; } mov.u32 %t, 1;"), "there is no register '%t'"));
  CHECK(problem("mov.u32 %r1, %laneid; mov.u64 %rd1, %clock64; mov.u32 %r1, %ctaid.z;").empty());
  CHECK(has(problem("bra $L__BB0_7;"), "unknown name '$L__BB0_7'"));
}

TEST_CASE("ptx_lint: finds what is not PTX for a GPU that there is") {
  const auto all = [](const char* text) {
    std::string s;
    for (const std::string& p : read_ptx(text).problems) s += p + '\n';
    return s;
  };
  CHECK(has(all(""), "a PTX text starts with '.version'"));
  CHECK(all(".version 8.0\n.address_size 64\n") == "line 1: there is no .target\nline 1: there is no kernel\n");
  CHECK(has(all(".version 8.0\n.target sm_99\n.address_size 64\n.entry k() { ret; }"), "there is no target 'sm_99'"));
  CHECK(has(all(".version 8.0\n.target sm_80\n.address_size 32\n.entry k() { ret; }"), "only '.address_size 64' is supported"));
  CHECK(has(all(".version 8.0\n.target sm_80\n.entry k() { ret; "), "line 3: "));
  CHECK(has(all(".version 8.0\n.target sm_80\n.entry k() { ret }"), "line 3: "));
  CHECK(has(all(".version 8.0\n.target sm_80\n.entry k() { ret; } }"), "line 3: "));
  CHECK(has(all("kernel @add() {\n}\n"), "a PTX text starts with '.version', not 'kernel'"));
  CHECK(all(".version 8.0\n.target sm_75\n.entry k() { ret; }\n\t.section\t.debug_loc\t{\n.b8 1\n}\n\t.file\t1 \"a b.tile\"\n").empty());
  CHECK(all(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }").empty());
}

}  // namespace
}  // namespace tilewright::rt
