// Collects the rows of all families of kernels.
#include "frontend/cli/bench/kernel_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/cli/command.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli::bench {

const std::vector<ir::Element> kFloatTypes = {ir::Element::f32, ir::Element::f16, ir::Element::bf16, ir::Element::f64};

const KernelRows& kernel_rows() {
  static const KernelRows rows = [] {
    KernelRows all;
    for (auto* add : {add_products, add_rows, add_attention, add_elements}) add(all);
    return all;
  }();
  return rows;
}

const KernelRow& find_kernel(const std::string& name) {
  std::vector<std::string> names;
  for (const KernelRow& row : kernel_rows()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw UsageError(
      fmt::format("there is no kernel '{}'{}; there are: {}, or a FILE.tile", name, ir::suggestion(name, names), fmt::join(names, ", ")));
}

}  // namespace tilewright::cli::bench
