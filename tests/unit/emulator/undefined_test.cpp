// Undefined values: registers that no instruction has written and shuffles from lanes that do not take part.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr const char* kBegin = R"(
    .shared .align 16 .b8 tile[1024];
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d1, [p];
    mad.wide.u32 %d2, %r0, 4, %d1;
    shl.b32 %r29, %r0, 2;
    mov.u32 %r30, tile;
    add.u32 %r30, %r30, %r29;
)";

/// What a block of 64 threads finds in which thread t has the address of word t of an array in %d2, of shared memory in %r30.
std::string findings_of(const std::string& body, u32 threads = 64) {
  Bench bench(module_of(".param .u64 p", kBegin + body));
  Array<u32> out(bench.memory, 64, 0);
  Params params;
  bench.run("k", {1, 1, 1}, {threads, 1, 1}, params.add(out.address()));
  std::string found = bench.found();
  for (const Diagnostic& diagnostic : bench.diagnostics.list()) CHECK(diagnostic.kind == DiagnosticKind::undefined_value);
  return found;
}

}  // namespace

TEST_CASE("emulator undefined values: a register that was never written reaches global memory") {
  const std::string found = findings_of("add.u32 %r2, %r1, 1;\nmul.lo.u32 %r3, %r2, %r0;\nst.global.u32 [%d2], %r3;");
  CHECK(contains(found, "use of an undefined value in 'k'"));
  CHECK(contains(found, "the value depends on register '%r1', which no instruction has written"));
}

TEST_CASE("emulator undefined values: an address, a branch and an index") {
  CHECK(contains(findings_of("add.u64 %d3, %d2, %d4;\nld.global.u32 %r1, [%d1];\nprefetch.global.L1 [%d3];"),
                 "the address depends on register '%d4'"));
  CHECK(contains(findings_of("setp.eq.u32 %p1, %r5, 0;\n@%p1 bra END;\nst.global.u32 [%d2], %r0;\nEND:\nret;"),
                 "the branch depends on register '%r5'"));
  CHECK(contains(findings_of("setp.eq.u32 %p1, %r5, 0;\n@%p1 st.global.u32 [%d2], %r0;"),
                 "whether the instruction is executed depends on register '%r5'"));
}

TEST_CASE("emulator undefined values: written on one way only") {
  const std::string body = R"(
    setp.lt.u32 %p1, %r0, 40;
    @%p1 mov.u32 %r1, 7;
    setp.lt.u32 %p2, %r0, LIMIT;
    @%p2 st.global.u32 [%d2], %r1;)";
  const auto with = [&](const std::string& limit) { return std::string(body).replace(body.find("LIMIT"), 5, limit); };
  CHECK(findings_of(with("40")) == "");
  CHECK(contains(findings_of(with("41")), "warp 1, lane 8"));
}

TEST_CASE("emulator undefined values: copies, selections and parts that nobody looks at are no uses") {
  CHECK(findings_of("mov.u32 %r2, %r1;\nadd.u32 %r3, %r2, %r1;\nst.global.u32 [%d2], %r0;") == "");
  CHECK(findings_of("setp.lt.u32 %p1, %r0, 99;\nselp.b32 %r2, %r0, %r1, %p1;\nst.global.u32 [%d2], %r2;") == "");
  CHECK(findings_of("and.b32 %r2, %r1, 0;\nst.global.u32 [%d2], %r2;") == "");
  CHECK(findings_of("setp.lt.u32 %p1, %r0, 99;\nor.pred %p2, %p3, %p1;\n@%p2 st.global.u32 [%d2], %r0;") == "");
  CHECK(contains(findings_of("setp.gt.u32 %p1, %r0, 99;\nor.pred %p2, %p3, %p1;\n@%p2 st.global.u32 [%d2], %r0;"), "'%p3'"));
  CHECK(findings_of("cvt.u16.u32 %h1, %r0;\nmov.b32 %r2, {%h1, %h2};\nmov.b32 {%h3, %h4}, %r2;\nst.global.u16 [%d2], %h3;") == "");
}

TEST_CASE("emulator undefined values: through shared memory") {
  CHECK(contains(findings_of("st.shared.u32 [%r30], %r1;\nld.shared.u32 %r2, [%r30];\nst.global.u32 [%d2], %r2;"), "register '%r1'"));
  CHECK(findings_of("st.shared.u32 [%r30], %r1;\nld.shared.u32 %r2, [%r30];\nst.global.u32 [%d2], %r0;") == "");
  CHECK(findings_of("st.shared.u32 [%r30], %r1;\nst.shared.u32 [%r30], %r0;\nld.shared.u32 %r2, [%r30];\nst.global.u32 [%d2], %r2;") == "");
  CHECK(findings_of("st.shared.u32 [%r30], %r1;\ncp.async.ca.shared.global [%r30], [%d2], 4;\ncp.async.wait_all;\n"
                    "ld.shared.u32 %r2, [%r30];\nst.global.u32 [%d2], %r2;") == "");
}

TEST_CASE("emulator undefined values: a shuffle from a lane that does not execute it") {
  const std::string half = R"(
    and.b32 %r1, %r0, 31;
    setp.ge.u32 %p1, %r1, 16;
    @%p1 bra END;
    shfl.sync.down.b32 %r2, %r0, 8, 31, 0xffff;
    USE
    END:
    ret;)";
  const auto with = [&](const std::string& use) { return std::string(half).replace(half.find("USE"), 3, use); };
  const std::string found = findings_of(with("st.global.u32 [%d2], %r2;"));
  CHECK(contains(found, "what the shfl.sync at line"));
  CHECK(contains(found, "takes from a lane that does not execute it or is not in its member mask"));
  CHECK(contains(found, "warp 0, lane 8"));
  // The lower half of these has the values of lanes that take part.
  CHECK(findings_of(with("setp.lt.u32 %p2, %r1, 8;\n@%p2 st.global.u32 [%d2], %r2;")) == "");
  // A tree of which only the first lane is used.
  CHECK(findings_of(with("add.u32 %r3, %r2, %r0;\nshfl.sync.down.b32 %r4, %r3, 4, 31, 0xffff;\nadd.u32 %r5, %r3, %r4;\n"
                         "setp.lt.u32 %p2, %r1, 4;\n@%p2 st.global.u32 [%d2], %r5;")) == "");
}

TEST_CASE("emulator undefined values: a shuffle from a lane outside of the member mask") {
  const std::string found = findings_of(R"(
    and.b32 %r1, %r0, 16;
    setp.eq.u32 %p1, %r1, 0;
    selp.b32 %r3, 0xffff, 0xffff0000, %p1;
    shfl.sync.bfly.b32 %r2, %r0, 16, 31, %r3;
    st.global.u32 [%d2], %r2;)");
  CHECK(contains(found, "is not in its member mask"));
  CHECK(findings_of("shfl.sync.bfly.b32 %r2, %r0, 16, 31, -1;\nst.global.u32 [%d2], %r2;") == "");
}

TEST_CASE("emulator undefined values: nothing is looked for where accesses are not checked") {
  Bench bench(module_of(".param .u64 p", std::string(kBegin) + "st.global.u32 [%d2], %r1;"));
  bench.launch_params.check = false;
  Array<u32> out(bench.memory, 64, 0);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {64, 1, 1}, params.add(out.address())));
}

TEST_CASE("emulator findings: what is inlined is found at the line of the file that inlines it") {
  const std::string text = R"(.version 8.3
.target sm_80
.address_size 64
.file 1 "kernel.cu"
.file 2 "warp.h"
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  .loc 1 20 3
  ld.param.u64 %d1, [p];
  .loc 1 21 5
  .loc 1 7 9, function_name info, inlined_at 1 21 5
  .loc 2 100 1, function_name info, inlined_at 1 7 9
  .loc 2 90 2, function_name info, inlined_at 2 100 1
  st.global.u32 [%d1], %r1;
  .loc 1 22 5
  st.global.u32 [%d1], %r2;
  ret;
}
)";
  Bench bench(text);
  Array<u32> out(bench.memory, 1, 0);
  Params params;
  bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address()));
  const std::vector<Diagnostic> found = bench.diagnostics.list();
  REQUIRE(found.size() == 2);
  CHECK(found[0].source.file == "kernel.cu");
  CHECK(found[0].source.line == 7);
  CHECK(found[0].inlined.file == "warp.h");
  CHECK(found[0].inlined.line == 90);
  CHECK(contains(to_string(found[0]), "\nwarp.h:90: note: the instruction is of a function that is inlined there"));
  CHECK(found[1].source.line == 22);
  CHECK(found[1].inlined.line == 0);
}

}  // namespace tilewright::rt::emulator
