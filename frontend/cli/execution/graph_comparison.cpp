// Computes the two witnesses, the second one only if it is needed.
#include "frontend/cli/execution/graph_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tileir/type.h"

namespace tilewright::cli {

namespace {

constexpr double kTimesAsWritten = 4;  // the errors of two orders of the same sums differ

/// A value that is not finite as written is not finite in a plan either; whether it is infinite or NaN may differ.
bool are_alike(double seen, double expected) {
  if (std::isnan(seen) || std::isnan(expected)) return !std::isfinite(seen) && !std::isfinite(expected);
  return seen == expected;
}

/// long double: squares of all finite doubles are finite there, and no square of a number is 0.
struct Distance {
  long double difference = 0, size = 0;  // ||seen - expected||, ||expected||
  double relative() const { return static_cast<double>(difference == 0 ? 0 : size > 0 ? difference / size : HUGE_VALL); }
};

/// Over all elements. Infinite if an element is not finite in one of the two and differs in the other, unless it is as in `typed`.
Distance distance(const GraphResult& seen, const GraphResult& expected, const GraphResult* typed, double least_size) {
  Distance d;
  const std::size_t count = expected.bytes.size() / static_cast<std::size_t>(ir::bytes(expected.element));
  for (std::size_t i = 0; i < count; ++i) {
    const long double s = seen.number(i), e = expected.number(i);
    if (std::isfinite(s) && std::isfinite(e)) {
      d.difference += (s - e) * (s - e);
      d.size += e * e;
    } else if (!are_alike(seen.number(i), expected.number(i)) && !(typed && are_alike(seen.number(i), typed->number(i)))) {
      d.difference = HUGE_VALL;
    }
  }
  const long double least = least_size;
  return {std::sqrt(d.difference), std::sqrt(std::max(d.size, least * least * static_cast<long double>(count)))};
}

}  // namespace

std::string ComparedResult::text() const {
  if (!typed) return fmt::format("{}: relative error {:.3g} from the graph in double precision", name, error);
  return fmt::format(
      "{}: relative error {:.3g} from the graph in double precision, {:.3g} from the graph in its own types; these two differ by {:.3g}",
      name, error, typed->error, typed->lost);
}

std::vector<ComparedResult> compare_with_graph(const graph::Graph& g, const GraphArguments& arguments,
                                               const std::vector<GraphResult>& results, double tolerance, double least_size) {
  const std::vector<GraphResult> exact = interpret_graph(g, arguments, graph::Rounding::double_precision);
  std::vector<GraphResult> typed;
  std::vector<ComparedResult> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ComparedResult& r = all.emplace_back();
    r.name = results[i].name;
    r.error = distance(results[i], exact[i], nullptr, least_size).relative();
    r.is_right = r.error <= tolerance;
    if (r.is_right) continue;
    if (typed.empty()) typed = interpret_graph(g, arguments, graph::Rounding::as_typed);
    r.typed = {distance(results[i], typed[i], nullptr, least_size).relative(),
               distance(typed[i], exact[i], nullptr, least_size).relative()};
    const Distance own = distance(results[i], exact[i], &typed[i], least_size), lost = distance(typed[i], exact[i], &typed[i], least_size);
    r.is_right = r.typed->error <= tolerance || own.relative() <= tolerance || own.difference <= kTimesAsWritten * lost.difference;
  }
  return all;
}

}  // namespace tilewright::cli
