// The rates of machines that time estimates divide by.
#include "tileir/target/machine_facts.h"

#include <doctest/doctest.h>

#include "tileir/target/gpu_chips.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

namespace {

TargetDesc gpu(const GpuChip& chip) {
  TargetDesc t;
  t.kind = TargetDesc::Kind::nvptx;
  t.name = chip.target;
  t.sm = chip.code_capability;
  return t;
}

}  // namespace

TEST_CASE("machine_facts: each chip has rates, and narrower factors are not slower") {
  for (const GpuChip& chip : gpu_chips()) {
    CAPTURE(chip.target);
    const MachineFacts f = machine_facts(gpu(chip));
    CHECK(f.hertz > 1e9);
    CHECK(f.hertz <= chip.clock_mhz * 1e6);
    // A copy does not move more than the memory does.
    CHECK(f.memory_bytes <= chip.memory_gbs * 1e9 * 1.01);
    CHECK(f.memory_bytes >= chip.memory_gbs * 1e9 * 0.8);
    CHECK(f.matrix_flops(8) > 0);
    CHECK(f.matrix_flops(4) >= f.matrix_flops(8));
    CHECK(f.matrix_flops(2) >= f.matrix_flops(4));
    CHECK(f.matrix_flops(1) >= f.matrix_flops(2));
  }
}

TEST_CASE("machine_facts: a device's own clock and memory change what depends on them, and nothing else") {
  TargetDesc t = gpu(*gpu_chip("sm_90a"));
  const MachineFacts chip = machine_facts(t);
  t.clock_mhz = 990;
  t.memory_gbs = 4800;
  const MachineFacts device = machine_facts(t);
  CHECK(device.matrix_flops_16 == doctest::Approx(chip.matrix_flops_16 / 2));
  CHECK(device.exponentials == doctest::Approx(chip.exponentials / 2));
  CHECK(device.memory_bytes == doctest::Approx(chip.memory_bytes * 4800 / 3352));
  CHECK(device.launch_seconds == chip.launch_seconds);
  CHECK(device.accumulator_bytes == chip.accumulator_bytes);
}

TEST_CASE("machine_facts: of two kinds of work the longer one counts, and a part of the shorter one") {
  CHECK(overlapped_seconds(4, 0) == 4);
  CHECK(overlapped_seconds(0, 4) == 4);
  CHECK(overlapped_seconds(4, 2) == overlapped_seconds(2, 4));
  CHECK(overlapped_seconds(4, 2) > 4);
  CHECK(overlapped_seconds(4, 2) < 6);
}

}  // namespace tilewright::ir
