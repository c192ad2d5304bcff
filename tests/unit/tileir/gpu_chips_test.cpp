// The table of chips, and the names of targets.
#include "tileir/target/gpu_chips.h"

#include <doctest/doctest.h>

#include "tileir/target/mma_layouts.h"
#include "tileir/target/target_desc.h"

namespace tilewright::ir {

TEST_CASE("gpu_chips: the name of a target holds the facts that differ from its chip's") {
  const GpuChip& chip = *gpu_chip("sm_120");
  CHECK(target_name(chip, {}) == "sm_120");
  CHECK(target_name(chip, {.shared_bytes = 99 << 10, .warps_per_sm = 48, .registers_per_sm = 65536, .processors = 170}) == "sm_120");
  const std::string name = target_name(chip, {.warps_per_sm = 32, .processors = 84});
  CHECK(name == "sm_120+warps=32,processors=84");
  CHECK(gpu_chip(name) == &chip);
  GpuFacts facts;
  REQUIRE(read_facts(name, facts));
  CHECK(facts.shared_bytes == 99 << 10);
  CHECK(facts.warps_per_sm == 32);
  CHECK(facts.registers_per_sm == 65536);
  CHECK(facts.processors == 84);
  CHECK(facts.clock_mhz == 2407);
  CHECK(facts.memory_gbs == 1792);
  CHECK(gpu_chip("sm_70") == nullptr);
  CHECK(gpu_chip("cpu") == nullptr);
  for (const char* wrong : {"sm_120+", "sm_120+warps", "sm_120+warps=", "sm_120+warps=x", "sm_120+warps=0", "sm_120+speed=3",
                            "sm_120+warps=4,", "sm_120+warps=4x", "sm_1+warps=4", "sm_120+warps=-4"}) {
    CAPTURE(wrong);
    CHECK_FALSE(read_facts(wrong, facts));
  }
}

TEST_CASE("gpu_chips: the description of a target has the facts that its name gives") {
  const std::optional<TargetDesc> own = describe_gpu("sm_90a"), device = describe_gpu("sm_90a+processors=114,shared=65536");
  REQUIRE(own);
  REQUIRE(device);
  CHECK(own->is_gpu());
  CHECK(own->processors == 132);
  CHECK(own->shared_bytes == 227 << 10);
  CHECK(own->has_wgmma);
  CHECK(device->name == "sm_90a");
  CHECK(device->processors == 114);
  CHECK(device->shared_bytes == 65536);
  CHECK(device->memory_gbs == own->memory_gbs);
  CHECK_FALSE(describe_gpu("sm_120")->has_wgmma);
  CHECK_FALSE(describe_gpu("sm_90a+speed=3"));
  CHECK_FALSE(describe_gpu("avx512"));
}

TEST_CASE("gpu_chips: a device has the code of its own capability, or of the newest older one") {
  CHECK(chip_for(75).target == "sm_75");
  CHECK(chip_for(87).target == "sm_86");
  CHECK(chip_for(90).target == "sm_90a");
  CHECK(chip_for(91).target == "sm_90");
  CHECK(chip_for(103).target == "sm_100");
  CHECK(chip_for(110).target == "sm_100");
  CHECK(chip_for(121).target == "sm_120");
  for (const GpuChip& chip : gpu_chips()) {
    CHECK(chip_for(chip.capability).capability == chip.capability);
    CHECK(chip.code_capability <= chip.capability);
    CHECK(gpu_chip(chip.code)->code == chip.code);
  }
}

TEST_CASE("gpu_chips: products of 8-bit floats are instructions of the chips that execute them as such") {
  for (const GpuChip& chip : gpu_chips()) {
    TargetDesc target;
    target.kind = TargetDesc::Kind::nvptx;
    target.name = chip.target;
    target.sm = chip.code_capability;
    CAPTURE(chip.target);
    bool any_fp8 = false, any_f16 = false;
    for (const MatrixInstruction& i : mma_instructions()) {
      if (!has_instruction(target, i)) continue;
      any_fp8 |= is_fp8(i.factors);
      any_f16 |= i.factors == Element::f16;
    }
    CHECK(any_f16);
    CHECK(any_fp8 == (chip.target == "sm_89" || chip.target == "sm_120"));
  }
}

}  // namespace tilewright::ir
