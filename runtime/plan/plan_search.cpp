// The search as text.
#include "runtime/plan/plan_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/amount_text.h"
#include "runtime/plan/node_names.h"
#include "tileir/text/plural.h"

namespace tilewright::detail {

namespace {

using passes::fusion::time_text;

constexpr std::size_t kMostNotDone = 4;

/// The calls, each line of the program once: "matmul (model.cpp:41), matmul (model.cpp:42)".
std::string calls_text(const std::vector<CoveredNode>& calls) {
  std::vector<std::string> texts;
  for (const CoveredNode& c : calls)
    if (std::string text = fmt::format("{} ({})", c.name, short_text(c.where)); std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

std::string search_text(const PlanSearch& search) {
  const SearchReport& r = search.report;
  // Most graphs are fine as they are, which needs no words.
  if (!search.is_on || (search.rewrites.empty() && search.not_done.empty() && r.complete && !r.measured)) return "";
  const char* const source = r.measured ? "measured" : "estimates";
  std::string text = search.rewrites.empty() ? "rewritten: nothing\n"
                                             : fmt::format("rewritten: about {} instead of {} ({})\n", time_text(r.seconds_after),
                                                           time_text(r.seconds_before), source);
  for (const Rewrite& w : search.rewrites) {
    text += fmt::format("  {}: {}  ->  {}; saves about {}\n", w.rule, w.before, w.after, time_text(w.saved_seconds));
    text += fmt::format("     {}\n", calls_text(w.covers));
  }
  for (std::size_t i = 0; i < std::min(search.not_done.size(), kMostNotDone); ++i)
    text += fmt::format("  not done: {}\n", search.not_done[i]);
  if (r.regions == 0 && !search.not_done.empty()) return text + "\n";
  return text + fmt::format("  searched {}: {}, {}, {}; {} estimated{}\n\n", ir::plural(r.regions, "region"), ir::plural(r.nodes, "node"),
                            r.complete ? "complete" : "at a limit", r.optimal ? "optimal" : "perhaps not optimal",
                            ir::plural(r.candidates, "other graph"), r.measured ? ", the best ones measured" : "");
}

std::string unchanged_text(const PlanSearch& search) {
  std::string text;
  for (std::size_t i = 0; i < std::min(search.unchanged.size(), kMostNotDone); ++i)
    text += fmt::format("not rewritten: {}\n", search.unchanged[i]);
  if (search.unchanged.size() > kMostNotDone)
    text += fmt::format("not rewritten: {}\n", ir::plural(search.unchanged.size() - kMostNotDone, "other part"));
  return text;
}

}  // namespace tilewright::detail
