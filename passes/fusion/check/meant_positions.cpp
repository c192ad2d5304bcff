// Cuts the represented positions where a relation changes, and takes those apart that are related to known indices.
#include "passes/fusion/check/meant_positions.h"

#include <algorithm>
#include <set>

#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

// The last position of an axis that is not visited alone.
std::int64_t last_position(std::int64_t extent, std::span<const std::int64_t> named) {
  std::int64_t last = extent - 1;
  while (std::binary_search(named.begin(), named.end(), last)) --last;
  return last;
}

}  // namespace

MeantPositions::MeantPositions(std::span<const std::int64_t> distances, std::span<const std::int64_t> extents)
    : extents_(extents.begin(), extents.end()) {
  std::set<std::int64_t> once{0}, twice;
  for (std::int64_t d : distances) once.insert(d), once.insert(-d);
  for (std::int64_t a : once)
    for (std::int64_t b : once) twice.insert(a + b);
  const std::set<std::int64_t>& all = twice.size() > kMostRelatedDistances ? once : twice;
  related_.assign(all.begin(), all.end());
}

bool MeantPositions::is_of_related(std::int64_t extent) const { return std::ranges::find(extents_, extent) != extents_.end(); }

std::int64_t MeantPositions::coordinate(std::int64_t extent, std::int64_t position, std::int64_t first,
                                        std::span<const std::int64_t> named) const {
  if (!is_of_related(extent)) return position;
  const std::int64_t last = last_position(extent, named);
  const bool is_alone = position < first || position > last || std::binary_search(named.begin(), named.end(), position);
  return is_alone ? position : coordinate_of(last, std::min(last - position, kMostMeant));
}

std::vector<SampledPosition> MeantPositions::divided(const SampledPosition& s, const Coordinates& others, std::int64_t first,
                                                     std::span<const std::int64_t> named) const {
  const auto is_last_of = [&](std::int64_t extent) { return last_position(extent, named) == s.position; };
  const auto is_here = [&](std::int64_t o) { return position_of(o) == s.position; };
  if (std::ranges::none_of(extents_, is_last_of) && std::ranges::none_of(others, is_here)) return {s};

  const std::int64_t end = s.position + 1;
  std::int64_t begin = end - s.weight;
  for (auto name = std::lower_bound(named.begin(), named.end(), end); name != named.begin() && *(name - 1) >= begin; --name) --begin;
  const auto is_represented = [&](std::int64_t p) { return p >= begin && p < end && !std::binary_search(named.begin(), named.end(), p); };
  std::set<std::int64_t> cuts{begin, end}, taken;
  const auto cut = [&](std::int64_t p) {
    for (std::int64_t d : related_)
      if (p + d > begin && p + d < end) cuts.insert(p + d);
  };
  for (std::int64_t p = 0; p <= first; ++p) cut(p);
  for (std::int64_t p : extents_) cut(p);
  for (std::int64_t p : named) cut(p), cut(p + 1);
  cut(begin), cut(end);
  for (std::int64_t o : others)
    for (std::int64_t d : related_)
      if (is_represented(actual_position(o) + d)) taken.insert(actual_position(o) + d);

  std::vector<SampledPosition> all;
  const auto visit = [&](std::int64_t actual, std::int64_t weight) {
    all.push_back({coordinate_of(s.position, std::min(s.position - actual, kMostMeant)), weight});
  };
  for (std::int64_t p : taken) visit(p, 1);
  for (auto to = std::next(cuts.begin()); to != cuts.end(); ++to) {
    const std::int64_t from = *std::prev(to);
    if (!is_represented(from)) continue;
    const std::int64_t count = *to - from - std::distance(taken.lower_bound(from), taken.lower_bound(*to));
    if (count == 0) continue;
    // Any position of the class that is not visited yet. One far from the ends is right for chains of more than two comparisons, too.
    std::int64_t chosen = *to - 1 - std::min((*to - from) / 2, kMostMeant / 2);
    while (chosen >= from && taken.contains(chosen)) --chosen;
    if (chosen < from)
      for (chosen = *to - 1; taken.contains(chosen);) --chosen;
    visit(chosen, count);
  }
  return all;
}

}  // namespace tilewright::passes::fusion
