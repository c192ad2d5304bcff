// Counts additions and changes of references.
#include "passes/fusion/report/error_bound.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/expr/products.h"

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

double quotient(std::int64_t extent, std::int64_t size) { return std::ceil(static_cast<double>(extent) / static_cast<double>(size)); }

// How often an extent holds so many positions, and more. It grows with extents that are symbols.
std::string count_text(const Dim& extent, std::int64_t size, const Dim& more) {
  const std::string count = size == 1 ? extent.text() : fmt::format("{} / {}", extent.text(), size);
  if (!extent.is_constant()) return more == Dim(0) ? fmt::format("({})", count) : fmt::format("({} + {})", count, more.text());
  const Dim all = more + static_cast<std::int64_t>(quotient(extent.value(), size));
  return all.is_constant() ? all.text() : fmt::format("({})", all.text());
}

// Additions beside those to the sum so far: within a tile and between parts.
Dim other_additions(const SumBound& b) { return b.beside + (b.parts > 1 ? b.parts : 0); }

// Whether an accumulator of a reduction is a matrix product along the loop.
bool has_product(const ExprBuilder& exprs, const LoopPlan& plan, const Reduction& r) {
  return std::ranges::any_of(r.terms, [&](const AccumulatorTerm& t) {
    return is_product(exprs.factors(plan.accumulators[static_cast<std::size_t>(t.accumulator)].body), {plan.loop});
  });
}

}  // namespace

double SumBound::additions(std::int64_t n) const { return quotient(n, per_addition) + estimated_extent(other_additions(*this)); }
double SumBound::reference_changes(std::int64_t n) const { return moves ? quotient(n, per_step) + (parts > 1 ? 1 : 0) : 0; }

std::vector<SumBound> sum_bounds(const ExprBuilder& exprs, const LoopPlan& plan, const TileSizes& sizes, std::int64_t parts) {
  std::vector<SumBound> bounds;
  for (const Reduction& r : plan.reductions) {
    if (r.value->combine != graph::Combine::sum || !ir::is_float(r.value->element)) continue;
    SumBound b;
    b.reduction = r.value;
    b.extent = plan.loop->extent;
    const std::int64_t tile = b.extent.is_constant() ? std::min(sizes.loop, b.extent.value()) : sizes.loop;
    b.per_step = sizes.loop * parts;
    Dim of_position = 1;  // terms of a position of the loop's axis
    for (Axis a : r.value->bound.without({plan.loop})) of_position *= a->extent;
    const bool is_one_by_one = has_product(exprs, plan, r), is_sum_of_positions = is_one_by_one && of_position == Dim(1);
    b.per_addition = is_one_by_one ? parts : b.per_step;
    // A part of a product may have a tile more than an equal share of the loop.
    b.beside = !is_sum_of_positions ? of_position * tile : parts > 1 ? Dim(tile) : Dim(0);
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
    own.terms = fmt::format("{} u {}", count_text(b.extent, b.per_addition, other_additions(b)), terms);
    if (b.moves) own.moves = fmt::format(" + {} (u + e) ", count_text(b.extent, b.per_step, b.parts > 1 ? 1 : 0));
    // Unfused, the terms are stored, which rounds each of them once more, and the reference does not change.
    own.rest = fmt::format("; unfused {} u sum|terms|; u = 2^{:.0f}{}", count_text(b.extent, b.per_addition, other_additions(b) + 1),
                           std::log2(b.unit), b.moves ? fmt::format(", e = 2^{:.0f}", std::log2(b.exp_error)) : "");
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
