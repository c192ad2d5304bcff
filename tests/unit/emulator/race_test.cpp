// The emulator's race checks: kernels of nvcc and mutants of them, granules, and launches that follow each other or are not checked.
// tests/ptx/emulator/race.ptx has the rest.
#include <doctest/doctest.h>

#include <sstream>

#include "runtime/emulator/program/program.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

/// Runs each kernel of block_kernels.ptx and checks its values; false if they are wrong.
bool run_kernels(Bench& bench, Order order) {
  bench.launch_params.order = order;
  bool right = true;
  const auto expect = [&](bool good) { right &= good; };
  Memory& memory = bench.memory;
  const u32 n = 1000;
  std::vector<float> a(n), b(n);
  for (u32 i = 0; i < n; ++i) a[i] = 0.5f * static_cast<float>(i), b[i] = 0.25f * static_cast<float>(i);
  const Array<float> device_a(memory, a), device_b(memory, b);
  {
    Array<float> c(memory, n);
    Params params;
    bench.run("vector_add", {8, 1, 1}, {128, 1, 1}, params.add(device_a.address()).add(device_b.address()).add(c.address()).add(n));
    for (u32 i = 0; i < n; ++i) expect(c.values()[i] == a[i] + b[i]);
  }
  {
    Array<float> sum(memory, 1), partial(memory, 16), last(memory, 1);
    Params params, more;
    bench.run("block_sum", {3, 1, 1}, {256, 1, 1}, params.add(device_a.address()).add(sum.address()).add(n));
    bench.run("last_block_sum", {5, 1, 1}, {256, 1, 1}, more.add(device_a.address()).add(partial.address()).add(last.address()).add(n));
    expect(sum.values()[0] == 249750);
    expect(last.values()[0] == 249750);
  }
  {
    const u32 m = 32;
    std::vector<float> x(m * m), y(m * m);
    for (u32 i = 0; i < m * m; ++i) x[i] = static_cast<float>(i * 7 % 13), y[i] = static_cast<float>(i * 5 % 11);
    const Array<float> device_x(memory, x), device_y(memory, y);
    Array<float> z(memory, m * m);
    Params params;
    bench.run("tiled_matmul", {2, 2, 1}, {16, 16, 1}, params.add(device_x.address()).add(device_y.address()).add(z.address()).add(m));
    const auto values = z.values();
    for (u32 i = 0; i < m; ++i)
      for (u32 j = 0; j < m; ++j) {
        float sum = 0;
        for (u32 k = 0; k < m; ++k) sum += x[i * m + k] * y[k * m + j];
        expect(values[i * m + j] == sum);
      }
  }
  {
    std::vector<s32> in(200), out(200);
    s32 sum = 0;
    for (u32 i = 0; i < 200; ++i) in[i] = static_cast<s32>(i % 17) - 3, out[i] = sum += in[i];
    const Array<s32> device_in(memory, in);
    Array<s32> device_out(memory, 200);
    Params params;
    bench.run("scan", {1, 1, 1}, {256, 1, 1}, params.add(device_in.address()).add(device_out.address()).add(u32{200}), 1024);
    expect(device_out.values() == out);
  }
  {
    std::vector<u8> in(5000);
    std::vector<u32> bins(256);
    for (u32 i = 0; i < 5000; ++i) in[i] = static_cast<u8>(i * i % 251), ++bins[in[i]];
    const Array<u8> device_in(memory, in);
    Array<u32> device_bins(memory, 256, 0);
    Params params;
    bench.run("histogram", {4, 1, 1}, {128, 1, 1}, params.add(device_in.address()).add(device_bins.address()).add(u32{5000}));
    expect(device_bins.values() == bins);
  }
  {
    Array<s32> lock(memory, 1, 0), counter(memory, 1, 0);
    Params params;
    bench.run("spin_lock", {3, 1, 1}, {64, 1, 1}, params.add(lock.address()).add(counter.address()));
    expect(counter.values()[0] == 192);
  }
  {
    Array<s32> count(memory, 1, 0), data(memory, 20, 0), out(memory, 20, 0);
    Params params;
    bench.run("grid_barrier", {20, 1, 1}, {32, 1, 1}, params.add(count.address()).add(data.address()).add(out.address()));
    expect(out.values() == std::vector<s32>(20, 570));
  }
  return right;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("emulator races: kernels of nvcc are right and clean in every order") {
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    Bench bench(ptx_file("block_kernels.ptx"), "block_kernels.ptx");
    CHECK(run_kernels(bench, order));
    CHECK(bench.found() == "");
  }
}

TEST_CASE("emulator races: every barrier and fence of those kernels that matters is missed when it is gone") {
  const auto lines = lines_of(ptx_file("block_kernels.ptx"));
  int barriers = 0, fences = 0;
  std::string kernel;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto at = lines[i].find(".entry "); at != std::string::npos) kernel = lines[i].substr(at + 7, lines[i].find('(') - at - 7);
    const bool is_barrier = lines[i].find("bar.sync") != std::string::npos, is_fence = lines[i].find("membar") != std::string::npos;
    if (!is_barrier && !is_fence) continue;
    // All that the lock protects is volatile: without fences it is in order too.
    if (kernel == "spin_lock") continue;
    auto mutant = lines;
    mutant[i].clear();
    Bench bench(joined(mutant), "block_kernels.ptx");
    run_kernels(bench, Order::forward);
    CAPTURE(i + 1);
    CAPTURE(kernel);
    const bool caught = bench.has_found(DiagnosticKind::race) || bench.has_found(DiagnosticKind::uninitialized);
    CHECK(caught);
    CHECK(contains(bench.found(), "block_kernels.cu:"));
    (is_barrier ? barriers : fences) += 1;
  }
  CHECK(barriers == 10);
  CHECK(fences == 4);
}

TEST_CASE("emulator races: memory is told apart as finely as the narrowest access that reaches it") {
  const auto granules = [](const std::string& body) {
    const auto program = LoadedModule::load(hopper_module_of("", ".shared .align 16 .b8 tile[64];\n" + body));
    return std::pair(program->kernels()[0]->shared_granule, program->kernels()[0]->global_granule);
  };
  const std::string quads = "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%d0];\nst.shared.v4.u32 [%d1], {%r0, %r1, %r2, %r3};\n";
  using Pair = std::pair<int, int>;
  CHECK(granules(quads) == Pair(16, 16));
  CHECK(granules(quads + "st.global.u8 [%d0], %h0;") == Pair(16, 1));
  CHECK(granules(quads + "ld.shared.v2.u16 {%h0, %h1}, [%d0];") == Pair(4, 16));
  CHECK(granules(quads + "ld.u16 %h0, [%d0];") == Pair(2, 2));
  CHECK(granules(quads + "red.global.add.u64 [%d0], %d2;") == Pair(16, 8));
  CHECK(granules(quads + "cp.async.ca.shared.global [%d1], [%d0], 8;") == Pair(8, 8));
  CHECK(granules(quads + "cp.async.cg.shared.global [%d1], [%d0], 16;\ncp.async.commit_group;\ncp.async.wait_all;") == Pair(16, 16));
  CHECK(granules(quads + "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%d1];\nbar.sync 0;") == Pair(16, 16));
  CHECK(granules(quads + "mbarrier.init.shared.b64 [%d1], 1;").first == 8);
  CHECK(granules(quads + "ld.param.u8 %h0, [%d0];\nst.local.u8 [%d0], %h0;") == Pair(16, 16));
}

TEST_CASE("emulator races: granules lie where accesses do, wherever an allocation begins") {
  Bench bench(module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    mov.u32 %r0, %ctaid.x;
    mul.wide.u32 %d2, %r0, 16;
    add.u64 %d1, %d1, %d2;
    st.global.v4.u32 [%d1], {%r0, %r0, %r0, %r0};
  )"));
  alignas(16) std::array<u32, 65> words{};
  bench.memory.adopt(reinterpret_cast<u64>(&words[1]), 256);
  Params params;
  CHECK(bench.run("k", {15, 1, 1}, {1, 1, 1}, params.add(reinterpret_cast<u64>(&words[4]))));
  CHECK(bench.found() == "");
  CHECK(words[63] == 14);
  bench.memory.forget(reinterpret_cast<u64>(&words[1]));
}

TEST_CASE("emulator races: launches are in order, and blocks may write different bytes of a word") {
  Bench bench(module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    mov.u32 %r0, %ctaid.x;
    cvt.u64.u32 %d2, %r0;
    add.u64 %d1, %d1, %d2;
    ld.global.u8 %h1, [%d1];
    add.u16 %h1, %h1, 1;
    st.global.u8 [%d1], %h1;
  )"));
  Array<u8> memory(bench.memory, 16, 0);
  Params params;
  params.add(memory.address());
  CHECK(bench.run("k", {16, 1, 1}, {1, 1, 1}, params));
  CHECK(bench.run("k", {16, 1, 1}, {1, 1, 1}, params));
  CHECK(memory.values() == std::vector<u8>(16, 2));
}

TEST_CASE("emulator races: a read that is non-coherent may read what an earlier launch wrote") {
  Bench bench(module_of(".param .u64 to", "ld.param.u64 %d1, [to];\nld.global.nc.u32 %r1, [%d1];") +
              ".visible .entry write(.param .u64 to)\n{\n.reg .b64 %d1;\nld.param.u64 %d1, [to];\nst.global.u32 [%d1], 7;\nret;\n}\n");
  Array<u32> to(bench.memory, 1, 0);
  Params params;
  params.add(to.address());
  CHECK(bench.run("write", {1, 1, 1}, {32, 1, 1}, params));
  CHECK(bench.run("k", {1, 1, 1}, {32, 1, 1}, params));
  CHECK(bench.found() == "");
}

TEST_CASE("emulator races: a launch stops at its first finding where it is told to") {
  const std::string text = module_of(".param .u64 out", R"(
    ld.param.u64 %d0, [out];
    mov.u32 %r0, 1;
    st.global.u32 [%d0], %r0;
  )");
  const auto executed = [&](bool stops) {
    Bench bench(text);
    Array<u32> out(bench.memory, 0);
    bench.launch_params.workers = 1;
    bench.launch_params.stop_at_diagnostic = stops;
    Params params;
    CHECK(!bench.run("k", {100, 1, 1}, {32, 1, 1}, params.add(out.address())));
    CHECK(bench.has_found(DiagnosticKind::out_of_bounds));
    return bench.counters.of("k").total().executed;
  };
  CHECK(executed(false) >= 300);
  CHECK(executed(true) < 10);
}

TEST_CASE("emulator races: checks that are off find nothing and cost no memory") {
  Bench bench(module_of(".param .u64 p", "ld.param.u64 %d1, [p];\nmov.u32 %r0, %ctaid.x;\nst.global.u32 [%d1], %r0;"));
  bench.launch_params.check = false;
  Array<u32> memory(bench.memory, 1, 0);
  Params params;
  CHECK(bench.run("k", {50, 1, 1}, {1, 1, 1}, params.add(memory.address())));
  CHECK(bench.memory.find(memory.address()).cells == nullptr);
}

}  // namespace tilewright::rt::emulator
