// Draws instances and compares elements.
#include "passes/fusion/check/instance_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "passes/fusion/check/graph_values.h"
#include "passes/fusion/check/plan_values.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;

constexpr std::uint64_t kSeed = 1;
constexpr long double kBelowRange = 1e-1000L;

enum class Outcome : std::uint8_t { equal, different, unknown };

// Both numbers know the bound of their errors.
Outcome compare(const Number& written, const Number& derived) {
  if (!written.is_known() || !derived.is_known()) return Outcome::unknown;
  if (written.is_finite() != derived.is_finite()) return Outcome::different;
  if (!written.is_finite()) return Outcome::equal;
  const long double size = std::max(std::fabs(written.value), std::fabs(derived.value));
  const long double bound = 4 * (written.error + derived.error);
  // Both are below the range of the check's exponentials, and may differ there.
  if (size == 0 && bound > 0 && bound < kBelowRange) return Outcome::unknown;
  // After many steps, the bound may be far above the error. Numbers that agree in more digits than by chance are equal then; a difference
  // proves nothing: a result of near-total cancellation is not meaningful.
  if (bound > kMostRelativeError * size && size > 0)
    return std::fabs(written.value - derived.value) <= kEqualNotByChance * size ? Outcome::equal : Outcome::unknown;
  return std::fabs(written.value - derived.value) <= bound + 0x1p-58L * size ? Outcome::equal : Outcome::different;
}

// The approximate number of elements in an instance with three positions along each axis, besides those that the graph names.
double elements_of(const graph::Graph& g, const AxisAnalysis& axes, const Sample& sample) {
  double all = 0;
  for (NodeId n : axes.nodes()) {
    std::size_t atoms = 0;
    for (const AtomList& axis : axes.atoms(n)) atoms += axis.size();
    if (g.node(n).op == graph::Op::einsum && !axes.is_stored(n)) {
      atoms = 0;
      for (const auto& [label, own] : axes.labels(n)) atoms += graph::flat(own).size();
    }
    all += std::pow(3.0 + static_cast<double>(sample.named().size()), static_cast<double>(atoms));
  }
  return all;
}

// Calls body for the elements of a node that are compared, until it returns false. An axis that reshapes divide into many parts has two
// positions along each part. If that gives more than kMostComparedElements elements, some of them are taken, from all parts alike.
void for_each_element(const AxisAnalysis& axes, const Sample& sample, NodeId n, const std::function<bool(const Coordinates&)>& body) {
  constexpr std::uint64_t kPrime = 1'000'003;
  std::vector<std::vector<SampledPosition>> visited;
  std::uint64_t all = 1;
  for (const AtomList& axis : axes.atoms(n)) all *= visited.emplace_back(sample.positions(axis)).size();
  Coordinates position(visited.size());
  for (std::uint64_t i = 0; i < std::min(all, kMostComparedElements); ++i) {
    std::uint64_t rest = all <= kMostComparedElements ? i : i * kPrime % all;
    for (std::size_t axis = visited.size(); axis-- > 0;) {
      position[axis] = visited[axis][rest % visited[axis].size()].position;
      rest /= visited[axis].size();
    }
    if (!body(position)) return;
  }
}

std::string number_text(const Number& n) { return fmt::format("{:.6g}", static_cast<double>(n.value)); }

}  // namespace

InstanceCheck::InstanceCheck(const graph::Graph& g) : g_(g) {
  for (const Draw draw : {Draw::generic, Draw::special})
    if (std::optional<Sample> sample = Sample::make(g, draw, kSeed)) samples_.push_back(std::move(*sample));
}

// make_derived(sample) returns a function from a result's number and position to its element, and from there computed().
template <class MakeDerived>
ProofResult InstanceCheck::compare(const AxisAnalysis& axes, const std::vector<NodeId>& nodes, MakeDerived&& make_derived) {
  ProofResult result;
  std::vector<bool> is_compared(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) is_compared[i] = graph::is_empty(g_.node(nodes[i]).shape);
  for (Sample& sample : samples_)
    if (!result.is_refuted) compare_at(sample, axes, nodes, make_derived, is_compared, result);
  if (result.is_refuted) return result;
  const bool is_complete = std::find(is_compared.begin(), is_compared.end(), false) == is_compared.end();
  if (!is_complete && !samples_.empty() && !small_) small_ = Sample::make(g_, Draw::small, kSeed);
  if (!is_complete && small_) compare_at(*small_, axes, nodes, make_derived, is_compared, result);
  for (std::size_t i = 0; i < nodes.size() && !result.is_refuted; ++i) {
    if (is_compared[i]) continue;
    const graph::Node& n = g_.node(nodes[i]);
    const char* why = samples_.empty() ? "there is no small instance of the graph" : "rounding leaves all of them open";
    result.left_open.push_back(
        fmt::format("no element of the value at {}:{} was compared with the graph as written: {}", n.where.file, n.where.line, why));
  }
  return result;
}

template <class MakeDerived>
void InstanceCheck::compare_at(Sample& sample, const AxisAnalysis& axes, const std::vector<NodeId>& nodes, MakeDerived& make_derived,
                               std::vector<bool>& is_compared, ProofResult& result) {
  const auto refute = [&](std::string why) {
    result.exact = false;
    result.is_refuted = true;
    result.text = std::move(why);
  };
  sample.set_most_positions(3);
  if (elements_of(g_, axes, sample) > kMostElementsOfInstance) sample.set_most_positions(2);
  auto derived = make_derived(sample);
  GraphValues written(g_, axes, sample, derived.cuts());
  const std::size_t before = compared_;
  for (std::size_t i = 0; i < nodes.size() && !result.is_refuted; ++i)
    for_each_element(axes, sample, nodes[i], [&](const Coordinates& position) {
      const Number want = written.value(nodes[i], position), got = derived.element(i, position);
      const Outcome outcome = fusion::compare(want, got);
      ++(outcome == Outcome::equal ? compared_ : skipped_);
      if (outcome == Outcome::equal) is_compared[i] = true;
      if (outcome != Outcome::different) return true;
      const graph::Node& n = g_.node(nodes[i]);
      refute(fmt::format("an element of the value at {}:{} is {} as written and {} in the kernels", n.where.file, n.where.line,
                         number_text(want), number_text(got)));
      return false;
    });
  steps_ += written.size() + derived.computed().size();
  if (const std::optional<std::string> mistake = derived.computed().mistake(); mistake && !result.is_refuted) refute(*mistake);
  if (compared_ > before && !result.is_refuted) ++result.rounds;
}

ProofResult InstanceCheck::run(const AxisAnalysis& axes, const ExprPool& pool, std::span<const CheckedResult> results,
                               std::span<const LoopPlan* const> kernels) {
  struct Stored {
    PlanValues values;
    std::span<const CheckedResult> results;
    Number element(std::size_t i, const Coordinates& at) { return values.element(results[i].tensor, at); }
    const PlanValues& computed() const { return values; }
    static const AxisCuts* cuts() { return nullptr; }
  };
  std::vector<NodeId> nodes;
  for (const CheckedResult& r : results) nodes.push_back(r.node);
  return compare(axes, nodes, [&](const Sample& s) { return Stored{PlanValues(g_, axes, pool, kernels, s), results}; });
}

ProofResult InstanceCheck::run(const AxisAnalysis& axes, const ExprPool& pool, std::span<const CheckedValue> values) {
  struct Translated {
    PlanValues plans;
    std::span<const CheckedValue> values;
    Number element(std::size_t i, const Coordinates& at) {
      const auto point = plans.point_of(values[i].index, at);
      return point ? plans.value(values[i].value, *point) : Number::unknown();
    }
    const PlanValues& computed() const { return plans; }
    static const AxisCuts* cuts() { return nullptr; }
  };
  std::vector<NodeId> nodes;
  for (const CheckedValue& v : values) nodes.push_back(v.node);
  return compare(axes, nodes, [&](const Sample& s) { return Translated{PlanValues(g_, axes, pool, {}, s), values}; });
}

ProofResult InstanceCheck::run(const AxisAnalysis& axes, std::span<const RewrittenValue> values) {
  struct Rewritten {
    std::unique_ptr<AxisCuts> axis_cuts;
    GraphValues graph;
    std::span<const RewrittenValue> values;
    Number element(std::size_t i, const Coordinates& at) { return graph.value(values[i].rewritten, at); }
    const Rewritten& computed() const { return *this; }
    const AxisCuts* cuts() const { return axis_cuts.get(); }
    std::size_t size() const { return graph.size(); }
    static std::optional<std::string> mistake() { return std::nullopt; }
  };
  std::vector<NodeId> nodes;
  for (const RewrittenValue& v : values) nodes.push_back(v.written);
  return compare(axes, nodes, [&](const Sample& s) {
    auto cuts = std::make_unique<AxisCuts>(g_, axes, s);
    const AxisCuts* own = cuts.get();
    return Rewritten{std::move(cuts), GraphValues(g_, axes, s, own), values};
  });
}

std::string InstanceCheck::text() const {
  if (compared_ == 0) return "the kernels were not compared with the graph as written";
  std::string text = fmt::format("the kernels and the graph as written agree at {} elements of {} small instances", compared_,
                                 samples_.size() + (small_ ? 1 : 0));
  if (skipped_ > 0) text += fmt::format("; at {} elements rounding leaves the comparison open", skipped_);
  return text;
}

}  // namespace tilewright::passes::fusion
