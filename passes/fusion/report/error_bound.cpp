// Counts additions and changes of references.
#include "passes/fusion/report/error_bound.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "passes/fusion/expr/extents.h"

namespace tilewright::passes::fusion {

namespace {

constexpr double kUnit32 = 0x1p-24, kUnit64 = 0x1p-53;
// The error of exp on GPUs, which is the larger one: two units in the last place.
constexpr double kExpError32 = 0x1p-22, kExpError64 = 0x1p-51;

bool moves_by_exponent(const LoopPlan& plan, const Reduction& r) {
  const std::vector<UpdateStep>& steps = plan.states[static_cast<std::size_t>(r.pass - 1)].steps;
  return std::any_of(steps.begin(), steps.end(), [&](const UpdateStep& s) {
    return s.kind == UpdateStep::Kind::accumulate && (s.moves_by_exponent || s.moves_by_shifts) &&
           std::any_of(r.terms.begin(), r.terms.end(), [&](const AccumulatorTerm& t) { return t.accumulator == s.index; });
  });
}

// The number of steps of the loop, and more. It grows with extents that are symbols.
std::string count_text(const SumBound& b, const Dim& more) {
  const std::string steps = b.per_step == 1 ? b.extent.text() : fmt::format("{} / {}", b.extent.text(), b.per_step);
  if (!b.extent.is_constant()) return more == Dim(0) ? fmt::format("({})", steps) : fmt::format("({} + {})", steps, more.text());
  const Dim all = more + static_cast<std::int64_t>(b.steps(b.extent.value()));
  return all.is_constant() ? all.text() : fmt::format("({})", all.text());
}

// Additions within a tile and between parts.
Dim additions_of_step(const SumBound& b) { return b.of_tile + (b.parts > 1 ? b.parts : 0); }

}  // namespace

double SumBound::steps(std::int64_t n) const { return std::ceil(static_cast<double>(n) / static_cast<double>(per_step)); }
double SumBound::additions(std::int64_t n) const { return steps(n) + estimated_extent(additions_of_step(*this)); }
double SumBound::reference_changes(std::int64_t n) const { return moves ? steps(n) + (parts > 1 ? 1 : 0) : 0; }

std::vector<SumBound> sum_bounds(const LoopPlan& plan, const TileSizes& sizes, std::int64_t parts) {
  std::vector<SumBound> bounds;
  for (const Reduction& r : plan.reductions) {
    if (r.value->combine != graph::Combine::sum || !ir::is_float(r.value->element)) continue;
    SumBound b;
    b.reduction = r.value;
    b.extent = plan.loop->extent;
    const std::int64_t tile = b.extent.is_constant() ? std::min(sizes.loop, b.extent.value()) : sizes.loop;
    b.per_step = sizes.loop * parts;
    b.of_tile = tile;
    for (Axis a : r.value->bound.without({plan.loop})) b.of_tile *= a->extent;
    b.parts = parts;
    b.parts_of_sum = static_cast<int>(r.terms.size());
    b.moves = moves_by_exponent(plan, r);
    b.unit = r.value->element == ir::Element::f64 ? kUnit64 : kUnit32;
    b.exp_error = r.value->element == ir::Element::f64 ? kExpError64 : kExpError32;
    bounds.push_back(b);
  }
  return bounds;
}

std::string error_text(const LoopPlan& plan, const std::vector<SumBound>& bounds) {
  struct Line {
    std::vector<std::string> sums;
    std::string terms, moves, rest;
  };
  std::vector<Line> lines;
  for (const SumBound& b : bounds) {
    const auto at =
        std::find_if(plan.reductions.begin(), plan.reductions.end(), [&](const Reduction& r) { return r.value == b.reduction; });
    Line own;
    own.sums = {fmt::format("r{}", at - plan.reductions.begin())};
    // If a sum is divided into several accumulators, the terms of each one with its factor.
    const char* const terms = b.parts_of_sum > 1 ? "sum|c_i terms_i|" : "sum|terms|";
    own.terms = fmt::format("{} u {}", count_text(b, additions_of_step(b)), terms);
    if (b.moves) own.moves = fmt::format(" + {} (u + e) ", count_text(b, b.parts > 1 ? 1 : 0));
    // Unfused, the terms are stored, which rounds each of them once more, and the reference does not change.
    own.rest = fmt::format("; unfused {} u sum|terms|; u = 2^{:.0f}{}", count_text(b, additions_of_step(b) + 1), std::log2(b.unit),
                           b.moves ? fmt::format(", e = 2^{:.0f}", std::log2(b.exp_error)) : "");
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& l) {
      return std::tie(l.terms, l.moves, l.rest) == std::tie(own.terms, own.moves, own.rest);
    });
    if (same == lines.end())
      lines.push_back(std::move(own));
    else
      same->sums.push_back(own.sums[0]);
  }
  std::string all;
  for (const Line& l : lines) {
    const std::string names = fmt::format("{}", fmt::join(l.sums, ", "));
    const std::string moves = l.moves.empty() ? "" : fmt::format("{}|{}|", l.moves, l.sums.size() == 1 ? names : "sum");
    all += fmt::format("|error of {}| <= {}{}{}\n", names, l.terms, moves, l.rest);
  }
  return all;
}

}  // namespace tilewright::passes::fusion
