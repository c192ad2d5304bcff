// Prints kernels.
#include "passes/fusion/cover/cover_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "passes/fusion/plan/outputs_text.h"
#include "passes/fusion/tiles/footprint.h"

namespace tilewright::passes::fusion {

namespace {

std::string indented(const std::string& lines) {
  std::string all = "  ";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    all += lines[i];
    if (lines[i] == '\n' && i + 1 < lines.size()) all += "  ";
  }
  return all;
}

std::string tensors_read(const std::vector<KernelOutput>& outputs) {
  std::set<std::string> names;
  for (Expr e : loads_of(outputs)) names.insert(e->tensor->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string cover_text(const std::vector<CoveredKernel>& kernels) {
  std::string all;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const LoopPlan& plan = kernels[i].plan;
    all += fmt::format(
        "kernel {} of {}: {}\n", i + 1, kernels.size(),
        plan.loop ? fmt::format("loop over {}, {} pass{}", plan.loop->name, plan.passes, plan.passes == 1 ? "" : "es") : "no loop");
    all += indented(outputs_text(plan.outputs));
    all += fmt::format("  reads {}\n", tensors_read(plan.outputs));
    all += indented(kernels[i].estimate) + "\n";
  }
  return all;
}

}  // namespace tilewright::passes::fusion
