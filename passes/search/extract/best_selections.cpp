// Inserts selections in the order of their cost.
#include "passes/search/extract/best_selections.h"

#include <algorithm>

namespace tilewright::passes::search {
namespace {

constexpr double kSame = 1e-9;  // relative

}  // namespace

std::optional<double> BestSelections::add(const Selection& selection) {
  const std::optional<double> cost = costs_.of(selection);
  if (cost) add(selection, *cost, costs_.needed());
  return cost;
}

BestSelections::Kernels BestSelections::kernels_of(const Selection& selection, const std::vector<int>& needed) const {
  Kernels kernels;
  for (int c : needed) {
    const auto at = static_cast<std::size_t>(c);
    const ExtractionNode& n = problem_.classes[at][static_cast<std::size_t>(selection[at])];
    if (n.is_kernel) kernels.push_back(n.cost);
  }
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

bool BestSelections::are_alike(const Kernels& a, const Kernels& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return y - x <= kSame * y && x - y <= kSame * y; });
}

void BestSelections::exclude(const Selection& selection) {
  costs_.of(selection);
  excluded_ = kernels_of(selection, costs_.needed());
}

void BestSelections::add(const Selection& selection, double cost, const std::vector<int>& needed) {
  if (cost >= below_ || (entries_.size() == count_ && cost >= entries_.back().cost)) return;
  Kernels kernels = kernels_of(selection, needed);
  if (excluded_ && are_alike(kernels, *excluded_)) return;
  const auto same = std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernels& k) { return are_alike(k, kernels); });
  if (same != kernels_.end()) {
    const auto at = same - kernels_.begin();
    if (entries_[static_cast<std::size_t>(at)].cost <= cost) return;
    entries_.erase(entries_.begin() + at);
    kernels_.erase(same);
  }
  Entry entry{cost, Selection(selection.size(), -1)};
  for (int c : needed) entry.selection[static_cast<std::size_t>(c)] = selection[static_cast<std::size_t>(c)];
  const auto position = std::upper_bound(entries_.begin(), entries_.end(), cost, [](double c, const Entry& e) { return c < e.cost; });
  kernels_.insert(kernels_.begin() + (position - entries_.begin()), std::move(kernels));
  entries_.insert(position, std::move(entry));
  if (entries_.size() <= count_) return;
  entries_.pop_back();
  kernels_.pop_back();
}

}  // namespace tilewright::passes::search
