// Prints formulas of outputs.
#include "passes/fusion/plan/outputs_text.h"

#include <fmt/format.h>

#include "passes/fusion/expr/expr_text.h"

namespace tilewright::passes::fusion {

std::string outputs_text(const std::vector<KernelOutput>& outputs) {
  std::string all;
  for (const KernelOutput& o : outputs) {
    std::string index;
    for (Expr i : o.index) index += (index.empty() ? "" : ", ") + text(i);
    all +=
        fmt::format("{} {}{} = {}\n", ir::text(o.tensor->element), o.name, index.empty() ? "" : fmt::format("[{}]", index), text(o.value));
  }
  return all;
}

}  // namespace tilewright::passes::fusion
