// Collects the rows of all families of kernels.
#include "frontend/cli/bench/rows/kernel_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "frontend/cli/files/errors.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli::bench {

Reference exactly(Reference r) {
  r.exact = true;
  return r;
}

Reference whole(std::string tensor, std::int64_t n, std::function<void(const Values&, std::span<double> to)> compute) {
  const auto known = std::make_shared<std::vector<double>>();
  return {.tensor = std::move(tensor),
          .columns = n,
          .operations_a_row = static_cast<double>(n),
          .row = [=](const Values& v, std::int64_t, std::span<double> to) {
            if (known->empty()) {
              known->resize(to.size());
              compute(v, *known);
            }
            std::copy(known->begin(), known->end(), to.begin());
          }};
}

const KernelRows& kernel_rows() {
  static const KernelRows rows = [] {
    KernelRows all;
    for (auto* add : {add_products, add_rows, add_attention, add_gradients, add_elements, add_whole_arrays, add_indexed, add_transforms})
      add(all);
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
  throw UsageError(fmt::format("there is no kernel '{}'{}; 'tilewright bench --list' lists them; a kernel of a file is FILE.tile", name,
                               ir::suggestion(name, names)));
}

}  // namespace tilewright::cli::bench
