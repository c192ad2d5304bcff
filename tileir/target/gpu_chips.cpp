// The table of chips, and target names that carry facts of a device.
#include "tileir/target/gpu_chips.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tileir/target/target_desc.h"

namespace tilewright::ir {

namespace {

/// CUDA C++ Programming Guide, "Compute Capabilities", technical specifications per compute capability.
constexpr GpuChip kChips[] = {
    {"sm_75", 75, "sm_75", 75, 64, 32, 40, 1590, 320},      {"sm_80", 80, "sm_80", 80, 163, 64, 108, 1410, 2039},
    {"sm_86", 86, "sm_86", 86, 99, 48, 84, 1740, 696},      {"sm_89", 89, "sm_89", 89, 99, 48, 142, 2490, 864},
    {"sm_90", 90, "sm_90", 90, 227, 64, 132, 1980, 3352},   {"sm_90a", 90, "sm_90a", 90, 227, 64, 132, 1980, 3352},
    {"sm_100", 100, "sm_90", 90, 227, 64, 148, 1965, 8000}, {"sm_120", 120, "sm_90", 90, 99, 48, 170, 2407, 1792},
};

struct FactName {
  std::string_view name;
  int GpuFacts::* fact;
};
constexpr FactName kFactNames[] = {
    {"shared", &GpuFacts::shared_bytes},   {"warps", &GpuFacts::warps_per_sm}, {"registers", &GpuFacts::registers_per_sm},
    {"processors", &GpuFacts::processors}, {"clock", &GpuFacts::clock_mhz},    {"memory", &GpuFacts::memory_gbs}};

GpuFacts facts_of(const GpuChip& chip) {
  return {.shared_bytes = chip.shared_kib << 10,
          .warps_per_sm = chip.warps_per_sm,
          .registers_per_sm = TargetDesc().registers_per_sm,
          .processors = chip.multiprocessors,
          .clock_mhz = chip.clock_mhz,
          .memory_gbs = chip.memory_gbs};
}

}  // namespace

std::span<const GpuChip> gpu_chips() { return kChips; }

const GpuChip* gpu_chip(std::string_view target) {
  const std::string_view name = target.substr(0, target.find('+'));
  const auto* found = std::find_if(std::begin(kChips), std::end(kChips), [&](const GpuChip& chip) { return chip.target == name; });
  return found == std::end(kChips) ? nullptr : found;
}

int chip_capability(const TargetDesc& target) {
  const GpuChip* const chip = gpu_chip(target.name);
  return chip ? chip->capability : target.sm;
}

const GpuChip& chip_for(int capability) {
  const GpuChip* best = kChips;
  for (const GpuChip& chip : kChips)
    // If two rows have the same capability, the later one has more instructions.
    if (chip.capability <= capability) best = &chip;
  // PTX of sm_90a runs only on devices of capability 9.0.
  return best->capability == 90 && capability != 90 ? *gpu_chip("sm_90") : *best;
}

std::string target_name(const GpuChip& chip, const GpuFacts& facts) {
  const GpuFacts own = facts_of(chip);
  std::string name(chip.target);
  for (const FactName& f : kFactNames)
    if (facts.*f.fact > 0 && facts.*f.fact != own.*f.fact)
      name += fmt::format("{}{}={}", name.size() == chip.target.size() ? '+' : ',', f.name, facts.*f.fact);
  return name;
}

bool read_facts(std::string_view target, GpuFacts& facts) {
  const GpuChip* const chip = gpu_chip(target);
  if (!chip) return false;
  facts = facts_of(*chip);
  if (chip->target.size() == target.size()) return true;
  std::string_view rest = target.substr(chip->target.size() + 1);
  while (true) {
    const std::string_view one = rest.substr(0, rest.find(','));
    const std::size_t equals = std::min(one.find('='), one.size());
    const auto* f = std::find_if(std::begin(kFactNames), std::end(kFactNames),
                                 [&](const FactName& known) { return known.name == one.substr(0, equals); });
    const std::string_view number = one.substr(std::min(equals + 1, one.size()));
    int value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (f == std::end(kFactNames) || error != std::errc() || end != number.data() + number.size() || value <= 0) return false;
    facts.*f->fact = value;
    if (one.size() == rest.size()) return true;
    rest.remove_prefix(one.size() + 1);
  }
}

std::optional<TargetDesc> describe_gpu(std::string_view target) {
  const GpuChip* const chip = gpu_chip(target);
  GpuFacts facts;
  if (!chip || !read_facts(target, facts)) return std::nullopt;
  TargetDesc d;
  d.name = chip->target;
  d.kind = TargetDesc::Kind::nvptx;
  d.vector_bits = 128;
  d.has_fma = true;
  d.has_f16_conversion = true;
  d.has_masked_memory = true;
  d.sm = chip->code_capability;
  d.has_wgmma = chip->code == "sm_90a";
  d.shared_bytes = facts.shared_bytes;
  d.registers_per_sm = facts.registers_per_sm;
  d.warps_per_sm = facts.warps_per_sm;
  d.processors = facts.processors;
  d.clock_mhz = facts.clock_mhz;
  d.memory_gbs = facts.memory_gbs;
  return d;
}

}  // namespace tilewright::ir
