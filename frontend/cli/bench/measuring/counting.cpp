// Reads the emulator's counters.
#include "frontend/cli/bench/measuring/counting.h"

#include "runtime/emulator/cost/roofline.h"
#include "runtime/emulator/driver/emulated_driver.h"

namespace tilewright::cli::bench {

using namespace rt::emulator;

Counted take_counted(const std::string& device) {
  const std::string target = device.substr(device.find(':') + 1);
  const auto kernels = take_report(emulated_ordinal(target == "sm_90" ? "sm_90a" : target)).counters.kernels;
  Counted sum;
  for (const Gpu& gpu : known_gpus()) sum.estimates.push_back({std::string(gpu.name), "", 0});
  for (const auto& [name, k] : kernels) {
    sum.programs += k.blocks;
    sum.instructions += k.total().executed;
    sum.matrix_products += k.matrix_products();
    for (int i = 0; i < kCategories; ++i) {
      const auto category = static_cast<Category>(i);
      const Count count = k.of(category);
      if (traffic_of(category) == Traffic::sectors) sum.sectors += count.units, sum.least_sectors += count.ideal;
      if (traffic_of(category) == Traffic::wavefronts) sum.wavefronts += count.units, sum.least_wavefronts += count.ideal;
    }
    for (std::size_t i = 0; i < known_gpus().size(); ++i) {
      const auto e = estimate(k, known_gpus()[i]);
      Counted::Estimate& to = sum.estimates[i];
      to.microseconds += e.microseconds;
      if (to.bound.find(e.bound) == to.bound.npos) to.bound += (to.bound.empty() ? "" : ", ") + std::string(e.bound);
    }
  }
  return sum;
}

}  // namespace tilewright::cli::bench
