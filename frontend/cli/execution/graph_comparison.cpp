// Judges the elements of results by witnesses, which are computed as long as an element needs another one.
#include "frontend/cli/execution/graph_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tileir/graph/perturbation.h"
#include "tileir/type.h"

namespace tilewright::cli {

namespace {

constexpr int kPerturbedRuns = 16;
/// An element may differ this many times as far as the runs do: the rounding errors of a plan are not among those that were drawn, and functions
/// may have errors of some units in the last place.
constexpr double kTimesAsMoved = 8;

/// A value that is not finite as written is not finite in a plan either; whether it is infinite or NaN may differ.
bool are_alike(long double seen, long double expected) {
  if (std::isnan(seen) || std::isnan(expected)) return !std::isfinite(seen) && !std::isfinite(expected);
  return seen == expected;
}

/// Whether the element is the witness's, up to the tolerance.
bool is_near(const GraphResult& seen, const GraphResult& witness, std::size_t i, double tolerance) {
  const long double s = seen.number(i), w = witness.number(i);
  if (!ir::is_float(seen.element)) return s == w;
  if (!std::isfinite(s) || !std::isfinite(w)) return are_alike(s, w);
  return std::fabs(s - w) <= tolerance * std::fabs(w) + (tolerance > 0 ? graph::spacing_of(seen.element).least : 0);
}

/// long double: squares of all finite doubles are finite there, and no square of a number is 0.
double relative_error(const GraphResult& seen, const GraphResult& expected) {
  long double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const long double s = seen.number(i), e = expected.number(i);
    if (std::isfinite(s) && std::isfinite(e))
      difference += (s - e) * (s - e), size += e * e;
    else if (!are_alike(s, e))
      difference = HUGE_VALL;
  }
  return static_cast<double>(difference == 0 ? 0 : size > 0 ? std::sqrt(difference) / std::sqrt(size) : HUGE_VALL);
}

/// An element that differs from the graph in double precision.
struct Different {
  std::size_t at;
  long double spread = 0;  // the greatest difference of a perturbed run from the graph in double precision
};

/// One output, with the elements for which no witness was found so far.
class Judgement {
 public:
  Judgement(const GraphResult& seen, const GraphResult& exact, double tolerance) : seen_(seen), exact_(exact), tolerance_(tolerance) {
    for (std::size_t i = 0; i < exact.size(); ++i)
      if (!is_near(seen, exact, i, tolerance)) different_.push_back({i});
    beyond_ = different_.size();
  }

  bool is_open() const { return !different_.empty(); }

  void hear_typed(const GraphResult& typed) {
    std::erase_if(different_, [&](const Different& d) { return is_near(seen_, typed, d.at, tolerance_); });
  }

  void hear_perturbed(const GraphResult& perturbed) {
    std::erase_if(different_, [&](Different& d) {
      const long double s = seen_.number(d.at), e = exact_.number(d.at), p = perturbed.number(d.at);
      // What is not finite because finite numbers overflowed may also be finite.
      if (!std::isfinite(s) || !std::isfinite(e)) return std::isfinite(s) ? std::isfinite(p) : are_alike(s, p);
      if (std::isfinite(p)) d.spread = std::max(d.spread, std::fabs(p - e));
      // The result itself is rounded once, also where nothing before it is.
      const long double unit = ir::is_float(seen_.element) ? tolerance_ + graph::spacing_of(seen_.element).unit : 0;
      return std::fabs(s - e) <= may_move(d) + unit * std::fabs(e);
    });
  }

  ComparedResult result() const {
    ComparedResult r;
    r.name = seen_.name, r.elements = exact_.size(), r.error = relative_error(seen_, exact_);
    r.moved = beyond_ - different_.size(), r.wrong = different_.size();
    if (different_.empty()) return r;
    const auto excess = [&](const Different& d) {
      const long double difference = std::fabs(seen_.number(d.at) - exact_.number(d.at));
      return std::isfinite(difference) ? difference - may_move(d) : HUGE_VALL;
    };
    const Different& worst = *std::ranges::max_element(different_, {}, excess);
    r.worst = {{}, text_of(seen_, worst.at), text_of(exact_, worst.at), static_cast<double>(may_move(worst))};
    std::size_t left = worst.at;
    for (std::size_t k = exact_.shape.size(); k-- > 0; left /= static_cast<std::size_t>(exact_.shape[k]))
      r.worst->index.insert(r.worst->index.begin(), static_cast<std::int64_t>(left % static_cast<std::size_t>(exact_.shape[k])));
    return r;
  }

 private:
  static long double may_move(const Different& d) { return static_cast<long double>(kTimesAsMoved) * d.spread; }
  static std::string text_of(const GraphResult& r, std::size_t i) {
    return ir::is_float(r.element) ? fmt::format("{:.9g}", static_cast<double>(r.number(i))) : fmt::format("{:.0f}", r.number(i));
  }

  const GraphResult& seen_;
  const GraphResult& exact_;
  double tolerance_;
  std::vector<Different> different_;
  std::size_t beyond_ = 0;
};

}  // namespace

std::string ComparedResult::text() const {
  std::string text = fmt::format("{}: relative error {:.3g} from the graph in double precision", name, error);
  if (moved != 0)
    text += fmt::format("; {} of {} elements {} beyond the tolerance, but no further than rounding may move {}", moved, elements,
                        moved == 1 ? "is" : "are", moved == 1 ? "it" : "them");
  if (worst)
    text += fmt::format("; {} of {} elements {} wrong: element [{}] is {} and should be {}, which rounding may move by {:.3g}", wrong,
                        elements, wrong == 1 ? "is" : "are", fmt::join(worst->index, ", "), worst->seen, worst->expected, worst->may_move);
  return text;
}

std::vector<ComparedResult> compare_with_graph(const graph::Graph& g, const GraphArguments& arguments,
                                               const std::vector<GraphResult>& results, double tolerance, bool multiplies_in_tf32) {
  const std::vector<GraphResult> exact = interpret_graph(g, arguments, graph::Rounding::double_precision);
  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < results.size(); ++i) judgements.emplace_back(results[i], exact[i], tolerance);
  const auto is_open = [&] { return tolerance > 0 && std::ranges::any_of(judgements, &Judgement::is_open); };
  const auto hear = [&](const std::vector<GraphResult>& witness, void (Judgement::*hears)(const GraphResult&)) {
    for (std::size_t i = 0; i < judgements.size(); ++i) (judgements[i].*hears)(witness[i]);
  };
  if (is_open()) hear(interpret_graph(g, arguments, graph::Rounding::as_typed), &Judgement::hear_typed);
  for (std::uint64_t seed = 1; seed <= kPerturbedRuns && is_open(); ++seed)
    hear(interpret_graph(g, arguments, graph::Perturbation{seed, multiplies_in_tf32}), &Judgement::hear_perturbed);
  std::vector<ComparedResult> all;
  for (const Judgement& j : judgements) all.push_back(j.result());
  return all;
}

}  // namespace tilewright::cli
