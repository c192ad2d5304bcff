// Compares two alternatives in words.
#include "passes/fusion/cover/alternative.h"

#include "passes/fusion/plan/loop_label.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::passes::fusion {

std::vector<Expr> sorted_values(const ExprMap& stored) {
  std::vector<Expr> values;
  for (const auto& [value, load] : stored) values.push_back(value);
  std::sort(values.begin(), values.end(), [](Expr a, Expr c) { return a->key < c->key; });
  return values;
}

std::string comparison(const Alternative& chosen, const Alternative& other) {
  std::string text = fmt::format("strategy: {}\nnext best: ", chosen.strategy);
  text += other.plan->loop ? fmt::format("a loop over {}", loop_label(*other.plan)) : "no loop";
  if (other.plan->passes > 1) text += fmt::format(" with {} passes", other.plan->passes);
  if (other.stored.size() != chosen.stored.size())
    text += fmt::format(" that stores {} value{} first", other.stored.empty() ? "no" : std::to_string(other.stored.size()),
                        other.stored.size() == 1 ? "" : "s");
  text += fmt::format(" ({})", other.strategy);
  if (!other.cost.fits) return text + ", which does not fit on chip";
  const double ratio = other.seconds() / chosen.seconds();
  // sort() requires a greater advantage from alternatives that store values.
  return text + fmt::format(", {:.2f} times as long{}", ratio, ratio < 1 ? ", which is too little to store values for" : "");
}

}  // namespace tilewright::passes::fusion
