// Tests the mutator: its mutants of each kind of instruction, and similar instructions that it must leave alone.
#include "tests/mutants/mutator.h"

#include <doctest/doctest.h>

#include <cstring>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/ptx/parser.h"
#include "tests/mutants/equivalent.h"
#include "tests/mutants/subject.h"

namespace tilewright::test {
namespace {

using namespace rt::emulator;

std::string module_of(const std::string& body) {
  return ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
         "  .reg .pred %p<8>;\n  .reg .b32 %r<8>;\n  .reg .b64 %rd<8>;\n  .shared .align 16 .b8 tile[256];\n" +
         body + "  ret;\n}\n";
}

/// "kind: before -> after", one a line.
std::string mutants_in(const std::string& body) {
  const Module module = parse_module(module_of(body), "test.ptx");
  std::string text;
  for (const Mutant& mutant : mutants_of(module, "k"))
    text += std::string(name_of(mutant.weakening)) + ": " + mutant.before + " -> " + mutant.after + "\n";
  return text;
}

}  // namespace

TEST_CASE("mutator: barriers, fences and groups go, waits leave one group more open") {
  CHECK(mutants_in("bar.sync 0;") == "barrier removed: bar.sync 0; -> \n");
  CHECK(mutants_in("barrier.cluster.arrive.release.aligned;") ==
        "barrier removed: barrier.cluster.arrive.release.aligned; -> \n"
        "order relaxed: barrier.cluster.arrive.release.aligned; -> barrier.cluster.arrive.relaxed.aligned;\n");
  CHECK(mutants_in("bar.warp.sync -1;") == "warp barrier removed: bar.warp.sync -1; -> \n");
  CHECK(mutants_in("membar.gl;\nfence.proxy.async;\nwgmma.fence.sync.aligned;") ==
        "fence removed: membar.gl; -> \nscope narrowed: membar.gl; -> membar.cta;\nfence removed: fence.proxy.async; -> \nfence removed: "
        "wgmma.fence.sync.aligned; -> \n");
  CHECK(mutants_in("cp.async.commit_group;\ncp.async.wait_group 2;\ncp.async.wait_all;\ncp.async.bulk.wait_group.read\t0;") ==
        "commit removed: cp.async.commit_group; -> \n"
        "wait weakened: cp.async.wait_group 2; -> cp.async.wait_group 3;\n"
        "wait weakened: cp.async.wait_all; -> \n"
        "wait weakened: cp.async.bulk.wait_group.read 0; -> cp.async.bulk.wait_group.read 1;\n");
}

TEST_CASE("mutator: barriers in memory count wrong, hear of less, and are not waited for") {
  CHECK(mutants_in("@%p1 mbarrier.init.shared.b64 [tile], 64;") ==
        "barrier removed: @%p1 mbarrier.init.shared.b64 [tile], 64; -> \n"
        "arrivals miscounted: @%p1 mbarrier.init.shared.b64 [tile], 64; -> @%p1 mbarrier.init.shared.b64 [tile], 63;\n"
        "arrivals miscounted: @%p1 mbarrier.init.shared.b64 [tile], 64; -> @%p1 mbarrier.init.shared.b64 [tile], 65;\n"
        "guard removed: @%p1 mbarrier.init.shared.b64 [tile], 64; -> mbarrier.init.shared.b64 [tile], 64;\n");
  CHECK(mutants_in("@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096;") ==
        "arrival removed: @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096; -> \n"
        "expected bytes miscounted: @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096; -> "
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 2048;\n"
        "expected bytes miscounted: @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096; -> "
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 8192;\n"
        "guard removed: @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096; -> "
        "mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096;\n"
        "order relaxed: @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [tile], 4096; -> "
        "@%p1 mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 _, [tile], 4096;\n");
  CHECK(mutants_in("mbarrier.arrive.expect_tx.shared.b64 %rd1, [tile], %r1;")
            .find("{ .reg .b32 %tw_mutant; shr.u32 %tw_mutant, %r1, 1; mbarrier.arrive.expect_tx.shared.b64 %rd1, [tile], %tw_mutant; }") !=
        std::string::npos);
  CHECK(mutants_in("mbarrier.try_wait.parity.shared.b64 %p2, [tile], %r1;") ==
        "phase not awaited: mbarrier.try_wait.parity.shared.b64 %p2, [tile], %r1; -> setp.eq.u32 %p2, 0, 0;\n"
        "phase mistaken: mbarrier.try_wait.parity.shared.b64 %p2, [tile], %r1; -> "
        "{ .reg .b32 %tw_mutant; xor.b32 %tw_mutant, %r1, 1; mbarrier.try_wait.parity.shared.b64 %p2, [tile], %tw_mutant; }\n"
        "order relaxed: mbarrier.try_wait.parity.shared.b64 %p2, [tile], %r1; -> "
        "mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p2, [tile], %r1;\n");
}

TEST_CASE("mutator: the barrier of a cluster goes as a whole too, and its wait cannot be relaxed") {
  CHECK(mutants_in("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.acquire.aligned;") ==
        "barrier removed: barrier.cluster.arrive.aligned; -> \n"
        "barrier removed: barrier.cluster.arrive.aligned; barrier.cluster.wait.acquire.aligned; -> \n"
        "barrier removed: barrier.cluster.wait.acquire.aligned; -> \n");
}

TEST_CASE("mutator: guards and sizes of accesses go, and only comparisons that guard accesses shift") {
  CHECK(mutants_in("setp.lt.s32 %p1, %r1, %r2;\nsetp.ge.u32 %p2, %r1, %r2;\nsetp.gt.s32 %p3, %r1, 0;\n"
                   "and.pred %p4, %p1, %p2;\n@!%p4 st.shared.u32 [tile], %r1;\n@%p3 bra L;\nL:\n") ==
        "bound shifted: setp.lt.s32 %p1, %r1, %r2; -> setp.le.s32 %p1, %r1, %r2;\n"
        "bound shifted: setp.ge.u32 %p2, %r1, %r2; -> setp.gt.u32 %p2, %r1, %r2;\n"
        "guard removed: @!%p4 st.shared.u32 [tile], %r1; -> st.shared.u32 [tile], %r1;\n");
  CHECK(mutants_in("cp.async.cg.shared.global [tile], [%rd1], 16, %r1;") ==
        "guard removed: cp.async.cg.shared.global [tile], [%rd1], 16, %r1; -> cp.async.cg.shared.global [tile], [%rd1], 16;\n");
  // A guard may be a branch past all that it guards.
  CHECK(mutants_in("@%p1 bra L;\nadd.u32 %r1, %r2, %r3;\nst.shared.u32 [tile], %r1;\nL:\n") == "guard removed: @%p1 bra L; -> \n");
  CHECK(mutants_in("@%p1 bra L;\nadd.u32 %r1, %r2, %r3;\nL:\nst.shared.u32 [tile], %r1;\n@%p1 bra L;\n") == "");
  CHECK(mutants_in("@%p1 bra L;\nst.shared.u32 [tile], %r1;\nM:\n@%p2 bra M;\nL:\n") == "");
  CHECK(mutants_in("ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [tile];\nadd.u32 %r1, %r2, %r3;") == "");
}

TEST_CASE("mutator: members of collectives and orders of atomics are weakened") {
  CHECK(mutants_in("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;\nredux.sync.add.s32 %r1, %r2, %r3;") ==
        "mask narrowed: shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1; -> shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, 2147483647;\n"
        "mask narrowed: redux.sync.add.s32 %r1, %r2, %r3; -> "
        "{ .reg .b32 %tw_mutant; and.b32 %tw_mutant, %r3, 2147483647; redux.sync.add.s32 %r1, %r2, %tw_mutant; }\n");
  CHECK(mutants_in("atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;\nld.acquire.gpu.global.u32 %r1, [%rd1];") ==
        "order relaxed: atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1; -> atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;\n"
        "scope narrowed: atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1; -> atom.acq_rel.cta.global.add.u32 %r1, [%rd1], 1;\n"
        "order relaxed: ld.acquire.gpu.global.u32 %r1, [%rd1]; -> ld.relaxed.gpu.global.u32 %r1, [%rd1];\n"
        "scope narrowed: ld.acquire.gpu.global.u32 %r1, [%rd1]; -> ld.acquire.cta.global.u32 %r1, [%rd1];\n");
  CHECK(mutants_in("atom.add.u32 %r1, [%rd1], 1;\nred.relaxed.cta.global.add.u32 [%rd1], 1;\natom.shared.add.u32 %r1, [tile], 1;") ==
        "scope narrowed: atom.add.u32 %r1, [%rd1], 1; -> atom.cta.add.u32 %r1, [%rd1], 1;\n");
  CHECK(mutants_in("elect.sync %r1|%p1, -1;") ==
        "guard removed: elect.sync %r1|%p1, -1; -> elect.sync %r1|%p1, -1; setp.eq.u32 %p1, 0, 0;\n"
        "mask narrowed: elect.sync %r1|%p1, -1; -> elect.sync %r1|%p1, 2147483647;\n");
  CHECK(mutants_in(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd1], 128, [%rd2], %r1;") ==
        "mask narrowed: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%rd1], 128, [%rd2], "
        "%r1; -> { .reg .b16 %tw_mutant; and.b16 %tw_mutant, %r1, 1; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [tile], [%rd1], 128, [%rd2], %tw_mutant; }\n");
  CHECK(mutants_in("@%p1 cp.async.bulk.commit_group;") == "commit removed: @%p1 cp.async.bulk.commit_group; -> \n");
}

TEST_CASE("mutator: a mutant's text has the instructions of the others at their lines") {
  const Module module =
      parse_module(module_of("setp.lt.s32 %p1, %r1,\n  %r2;\n@%p1 st.shared.u32 [tile], %r1;\nbar.sync 0;\n"), "test.ptx");
  const std::vector<Mutant> mutants = mutants_of(module, "k");
  REQUIRE(mutants.size() == 3);
  for (const Mutant& mutant : mutants) {
    const Module mutated = parse_module(mutated_text(module, mutant), "mutant.ptx");
    CHECK(mutated.functions[0].instructions.back().line == module.functions[0].instructions.back().line);
  }
  CHECK_THROWS_WITH(mutants_of(module, "other"), "no kernel is named 'other'");
}

TEST_CASE("subject: mutants are found, wrong, equivalent or not reached") {
  const auto program = LoadedModule::load(module_of(R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd1, %rd2;
    setp.lt.u32 %p1, %r1, 60;
    setp.lt.u32 %p2, %r1, 64;
    xor.b32 %r2, %r1, 33;
    shl.b32 %r3, %r1, 2;
    shl.b32 %r4, %r2, 2;
    mov.u32 %r5, tile;
    add.u32 %r3, %r5, %r3;
    add.u32 %r4, %r5, %r4;
    @%p2 st.shared.u32 [%r3], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r4];
    @%p1 st.global.u32 [%rd2], %r6;
    bar.sync 0;
  )"));
  Memory memory;
  const u64 out = memory.allocate(256);
  std::memset(reinterpret_cast<void*>(out), 0, 256);
  LaunchParams params;
  params.block = {64, 1, 1};
  params.params = std::as_bytes(std::span(&out, 1));
  Subject subject(*program, "k");
  CHECK(subject.add({*program, "k", memory, params}).empty());
  std::vector<Fate> fates;
  for (const Mutant& mutant : mutants_of(subject.module(), "k")) fates.push_back(subject.judge(mutant).fate);
  // Two bounds, a guard that holds everywhere, a barrier that orders, a guard that matters, a barrier that does not.
  CHECK(fates == std::vector{Fate::wrong, Fate::not_reached, Fate::not_reached, Fate::found, Fate::wrong, Fate::survived});
}

TEST_CASE("subject: what is wrong with the kernel itself is reported") {
  const auto program = LoadedModule::load(module_of("ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1+256], 1;\n"));
  Memory memory;
  const u64 out = memory.allocate(256);
  LaunchParams params;
  params.params = std::as_bytes(std::span(&out, 1));
  Subject subject(*program, "k");
  const std::vector<std::string> reports = subject.add({*program, "k", memory, params});
  REQUIRE(reports.size() == 5);  // one a schedule
  CHECK(reports[0].find("access out of bounds in 'k'") == 0);
}

TEST_CASE("equivalent: patterns match all of an instruction, whatever its registers") {
  const Equivalent known{"k", Weakening::guard_removed, R"(@%p st\.shared\.b32 .*)", ".*sum.*", 1, ""};
  const Mutant mutant{Weakening::guard_removed, 0, 1, "@%p10 st.shared.b32 [%r13 + 0], %f57;", "", "", 0, 0};
  CHECK(without_numbers(mutant.before) == "@%p st.shared.b32 [%r + 0], %f;");
  CHECK(describes(known, "k", mutant, "auto s = tw::sum(x, 0);"));
  CHECK(!describes(known, "kk", mutant, "auto s = tw::sum(x, 0);"));
  CHECK(!describes(known, "k", mutant, "auto s = tw::max(x, 0);"));
}

}  // namespace tilewright::test
