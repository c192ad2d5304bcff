// Bytes and operations by extents.
#include "passes/search/extract/node_cost.h"

#include <algorithm>

#include "passes/search/thresholds.h"
#include "tileir/graph/typical_extent.h"

namespace tilewright::passes::search {
namespace {

std::int64_t typical(const DimBounds& b) {
  const std::int64_t step = b.multiple_of, least = (b.min + step - 1) / step * step;
  return std::max(std::min(graph::kTypicalExtent, b.max) / step * step, least);
}

}  // namespace

NodeCost::NodeCost(const graph::Graph& written, const GraphTerms& all, const ir::TargetDesc& target)
    : all_(all), facts_(ir::machine_facts(target)), processors_(target.processors), is_gpu_(target.is_gpu()) {
  const SymbolTable& table = *written.symbols();
  for (std::uint32_t i = 0; i < table.size(); ++i) symbols_.push_back(typical(table[i].bounds));
}

double NodeCost::extent(Extent e) const { return extent(all_.dim(e)); }

double NodeCost::extent(const Dim& d) const {
  return static_cast<double>(d.is_constant() ? d.value() : d.evaluate(symbols_).value_or(graph::kTypicalExtent));
}

double NodeCost::elements(const Ref& r) const {
  double count = 1;
  for (int s = 0; s < r.labels.size(); ++s) count *= extent(all_.terms.extent(r.term, s));
  return count;
}

double NodeCost::seconds_of_reader(const Ref& r) const {
  return facts_.launch_seconds + elements(r) * ir::bytes(all_.terms.element(r)) / facts_.memory_bytes;
}

NodeSeconds NodeCost::product(const Node& n) const {
  const LabelSet a = n.in[0].labels.set(), b = n.in[1].labels.set();
  double all = 1, result = 1;
  for (Label l = 0; l < kMaxLabels; ++l) {
    if (!contains(a | b, l)) continue;
    const double length = extent(all_.terms.extent(n.in[contains(a, l) ? 0 : 1], l));
    all *= length;
    if (contains(n.kept, l)) result *= length;
  }
  if (!sums_an_axis(n)) return {all / (facts_.flops * processors_), false};
  const int factor = ir::bytes(all_.terms.element(n.in[0]));
  const double bytes = (elements(n.in[0]) + elements(n.in[1])) * factor + result * ir::bytes(n.element);
  // No instruction for matrices multiplies f32 exactly on a GPU.
  const bool has_rows_and_columns = (a & ~b & n.kept) != 0 && (b & ~a & n.kept) != 0;
  const bool is_matrix = has_rows_and_columns && !(is_gpu_ && precision_of(n.attribute) == graph::ProductPrecision::ieee);
  const double rate = (is_matrix ? facts_.matrix_flops(factor) : facts_.flops) * processors_;
  return {facts_.launch_seconds + std::max(bytes / facts_.memory_bytes, 2 * all / rate), true};
}

NodeSeconds NodeCost::seconds(const Node& n, bool is_known) const {
  double read = 0, result = 1;
  for (int i = 0; i < operands_of(n); ++i) read += elements(n.in[static_cast<std::size_t>(i)]);
  LabelSet counted = 0;
  for (int i = 0; i < operands_of(n); ++i) {
    const Ref& x = n.in[static_cast<std::size_t>(i)];
    for (Label l : x.labels)
      if (contains(n.kept & ~counted, l)) result *= extent(all_.terms.extent(x, l));
    counted |= x.labels.set();
  }
  if (is_known && result <= kMostGrowthOfKnown * read) return {};
  switch (n.op) {
    case Op::product: return product(n);
    case Op::sum:
    case Op::reduce: {
      if (read <= result) return {};  // the extents are 1
      const double bytes = read * ir::bytes(n.element);
      return {facts_.launch_seconds + std::max(bytes / facts_.memory_bytes, read / (facts_.flops * processors_)), true};
    }
    case Op::add:
    case Op::function: return {result / (facts_.flops * processors_), false};
    case Op::view: {
      const View& view = all_.views[static_cast<std::size_t>(n.attribute)];
      if (view.op != graph::Op::window) return {};
      return {result * extent(view.lengths[0]) / (facts_.flops * processors_), false};
    }
    case Op::variable:
    case Op::cat:
    case Op::part0:
    case Op::part1: break;
  }
  return {};
}

}  // namespace tilewright::passes::search
