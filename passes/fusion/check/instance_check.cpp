// Draws instances and compares elements.
#include "passes/fusion/check/instance_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "passes/fusion/check/graph_values.h"
#include "passes/fusion/check/plan_values.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;

enum class Outcome : std::uint8_t { equal, different, unknown };

// Both numbers know the bound of their errors.
Outcome compare(const Number& written, const Number& derived) {
  if (!written.is_known() || !derived.is_known()) return Outcome::unknown;
  if (written.is_finite() != derived.is_finite()) return Outcome::different;
  if (!written.is_finite()) return Outcome::equal;
  const long double size = std::max(std::fabs(written.value), std::fabs(derived.value));
  const long double bound = 4 * (written.error + derived.error);
  // A result of near-total cancellation is not meaningful.
  constexpr long double kMostRelative = 1e-5L;
  if (bound > kMostRelative * size && size > 0) return Outcome::unknown;
  return std::fabs(written.value - derived.value) <= bound + 0x1p-58L * size ? Outcome::equal : Outcome::different;
}

// The approximate number of elements in an instance with three positions along each axis.
double elements_of(const graph::Graph& g, const AxisAnalysis& axes) {
  double all = 0;
  for (NodeId n : axes.nodes()) {
    std::size_t atoms = 0;
    for (const AtomList& axis : axes.atoms(n)) atoms += axis.size();
    if (g.node(n).op == graph::Op::einsum && !axes.is_stored(n)) {
      atoms = 0;
      for (const auto& [label, own] : axes.labels(n)) atoms += AxisAnalysis::flat(own).size();
    }
    all += std::pow(3.0, static_cast<double>(atoms));
  }
  return all;
}

// Calls body for the elements of a node that are compared.
void for_each_element(const AxisAnalysis& axes, const Sample& sample, NodeId n, const std::function<bool(const Coordinates&)>& body) {
  const TensorAtoms atoms = axes.atoms(n);
  std::vector<std::vector<SampledPosition>> visited;
  for (const AtomList& axis : atoms) visited.push_back(sample.positions(axis));
  Coordinates position(atoms.size());
  const auto visit = [&](const auto& self, std::size_t axis) -> bool {
    if (axis == atoms.size()) return body(position);
    for (const SampledPosition& s : visited[axis]) {
      position[axis] = s.position;
      if (!self(self, axis + 1)) return false;
    }
    return true;
  };
  visit(visit, 0);
}

std::string number_text(const Number& n) { return fmt::format("{:.6g}", static_cast<double>(n.value)); }

}  // namespace

InstanceCheck::InstanceCheck(const graph::Graph& g) : g_(g) {
  constexpr std::uint64_t kSeed = 1;
  for (const Draw draw : {Draw::generic, Draw::special})
    if (std::optional<Sample> sample = Sample::make(g, draw, kSeed)) samples_.push_back(std::move(*sample));
}

// make_derived(sample) returns a function from a result's number and position to its element, and from there computed().
template <class MakeDerived>
ProofResult InstanceCheck::compare(const AxisAnalysis& axes, const std::vector<NodeId>& nodes, MakeDerived&& make_derived) {
  ProofResult result;
  const auto refute = [&](std::string why) {
    result.exact = false;
    result.is_refuted = true;
    result.text = std::move(why);
  };
  constexpr double kMostElements = 4000;
  const int most = elements_of(g_, axes) > kMostElements ? 2 : 3;
  for (Sample& sample : samples_) {
    sample.set_most_positions(most);
    GraphValues written(g_, axes, sample);
    auto derived = make_derived(sample);
    const std::size_t before = compared_;
    for (std::size_t i = 0; i < nodes.size() && !result.is_refuted; ++i)
      for_each_element(axes, sample, nodes[i], [&](const Coordinates& position) {
        const Number want = written.value(nodes[i], position), got = derived.element(i, position);
        const Outcome outcome = fusion::compare(want, got);
        ++(outcome == Outcome::equal ? compared_ : skipped_);
        if (outcome != Outcome::different) return true;
        const graph::Node& n = g_.node(nodes[i]);
        refute(fmt::format("an element of the value at {}:{} is {} as written and {} in the kernels", n.where.file, n.where.line,
                           number_text(want), number_text(got)));
        return false;
      });
    steps_ += written.size() + derived.computed().size();
    if (const std::optional<std::string>& mistake = derived.computed().mistake(); mistake && !result.is_refuted) refute(*mistake);
    if (result.is_refuted) return result;
    if (compared_ > before) ++result.rounds;
  }
  return result;
}

ProofResult InstanceCheck::run(const AxisAnalysis& axes, const ExprPool& pool, std::span<const CheckedResult> results,
                               std::span<const LoopPlan* const> kernels) {
  struct Stored {
    PlanValues values;
    std::span<const CheckedResult> results;
    Number element(std::size_t i, const Coordinates& at) { return values.element(results[i].tensor, at); }
    const PlanValues& computed() const { return values; }
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
  };
  std::vector<NodeId> nodes;
  for (const CheckedValue& v : values) nodes.push_back(v.node);
  return compare(axes, nodes, [&](const Sample& s) { return Translated{PlanValues(g_, axes, pool, {}, s), values}; });
}

std::string InstanceCheck::text() const {
  if (samples_.empty()) return "no small instance of the graph was found to compare the kernels with";
  std::string text =
      fmt::format("the kernels and the graph as written agree at {} elements of {} small instances", compared_, samples_.size());
  if (skipped_ > 0) text += fmt::format("; at {} elements rounding leaves the comparison open", skipped_);
  return text;
}

}  // namespace tilewright::passes::fusion
