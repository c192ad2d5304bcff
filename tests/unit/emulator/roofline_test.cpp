// The roofline estimate of time: each part compared with numbers computed by hand, the limiting part, and the number of resident blocks.
#include "runtime/emulator/cost/roofline.h"

#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

/// Counters of a kernel with one instruction of each category that is named.
KernelCounters counters_of(const std::vector<std::pair<Category, Count>>& rows, u64 blocks) {
  KernelCounters counters;
  auto infos = std::make_shared<std::vector<InstructionInfo>>();
  for (const auto& [category, count] : rows) {
    counters.instructions.push_back(count);
    infos->push_back({category, 1, {}});
  }
  counters.infos = infos;
  counters.launches = 1;
  counters.blocks = blocks;
  counters.threads = 128;
  counters.registers = 32;
  return counters;
}

const Gpu& h100() { return known_gpus()[1]; }

double part(const Estimate& e, std::string_view name) {
  for (const auto& [part, microseconds] : e.parts)
    if (part == name) return microseconds;
  return -1;
}

}  // namespace

TEST_CASE("estimate: a copy is bound by DRAM, with the sectors that it touches") {
  const u64 sectors = 1 << 20;
  const Estimate e =
      estimate(counters_of({{Category::load_global, {.executed = sectors / 8, .requests = sectors / 8, .units = sectors / 2}},
                            {Category::store_global, {.executed = sectors / 8, .requests = sectors / 8, .units = sectors / 2}}},
                           132 * 64),
               h100());
  CHECK(e.bound == "DRAM");
  CHECK(part(e, "DRAM") == doctest::Approx(sectors * 32 / (3352 * 0.9 * 1000)));
  CHECK(e.microseconds == doctest::Approx(2.5 + part(e, "DRAM")));
  CHECK(e.idle == doctest::Approx(0));
}

TEST_CASE("estimate: arithmetic is shared by the multiprocessors, and the last round of blocks counts whole") {
  const auto of = [](u64 blocks) { return estimate(counters_of({{Category::special, {.executed = 1000 * blocks}}}, blocks), h100()); };
  CHECK(of(132).bound == "special functions");
  CHECK(part(of(132), "special functions") == doctest::Approx(2000 / 1830.0));
  CHECK(part(of(1), "special functions") == doctest::Approx(2000 / 1830.0));
  CHECK(part(of(133), "special functions") == doctest::Approx(4000 / 1830.0));
  CHECK(of(133).idle == doctest::Approx(1 - 133 / 264.0));
}

TEST_CASE("estimate: registers, shared memory, threads and blocks limit what a multiprocessor holds") {
  KernelCounters counters = counters_of({{Category::float32, {.executed = 1}}}, 1);
  CHECK(estimate(counters, h100()).resident_blocks == 16);
  CHECK(estimate(counters, h100(), 64).resident_blocks == 8);
  CHECK(estimate(counters, h100(), 65).resident_blocks == 7);
  counters.shared_bytes = 75 << 10;
  CHECK(estimate(counters, h100()).resident_blocks == 3);
  CHECK(estimate(counters, known_gpus()[0]).resident_blocks == 2);
  counters.shared_bytes = 227 << 10;
  CHECK(estimate(counters, known_gpus()[0]).resident_blocks == 0);
  CHECK(estimates_text(counters).find("A100 SXM: 2.5 us, an estimate") != std::string::npos);
  CHECK(estimates_text(counters).find("a block does not fit") != std::string::npos);
  counters.threads = 32;
  counters.shared_bytes = 0;
  CHECK(estimate(counters, h100()).resident_blocks == 32);
}

TEST_CASE("estimate: products of a launch on tensor cores are counted from its instructions") {
  Bench bench(ptx_file("tensor_matmul.ptx"));
  Array<u16> a(bench.memory, 128 * 32), b(bench.memory, 32 * 128);
  Array<float> c(bench.memory, 128 * 128);
  Params params;
  CHECK(bench.run("tensor_matmul", {1, 1, 1}, {128, 1, 1},
                  params.add(a.address()).add(b.address()).add(c.address()).add(u32{128}).add(u32{128}).add(u32{32})));
  const KernelCounters& counters = bench.counters.of("tensor_matmul");
  CHECK(counters.matrix_products() == 128 * 128 * 32);
  CHECK(counters.threads == 128);
  CHECK(counters.shared_bytes == 49152);
  CHECK(counters.registers > 64);
  CHECK(part(estimate(counters, h100()), "tensor cores") == doctest::Approx(128 * 128 * 32 / 2048.0 / 1830));
  CHECK(report_text(counters).find("H100 SXM: ") != std::string::npos);
}

}  // namespace tilewright::rt::emulator
