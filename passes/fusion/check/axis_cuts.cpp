// Finds ranges op by op, and passes cuts on until no axis has a new one.
#include "passes/fusion/check/axis_cuts.h"

#include <utility>

#include "passes/fusion/thresholds.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

using graph::Node;
using graph::NodeId;
using graph::Op;

AxisCuts::AxisCuts(const graph::Graph& g, const AxisAnalysis& axes, const Sample& sample) : sample_(sample) {
  for (NodeId id : axes.nodes()) {
    const Node& n = g.node(id);
    if (axes.is_stored(id) || (n.op != Op::concat && n.op != Op::slice && n.op != Op::pad)) continue;
    const auto along = static_cast<std::size_t>(n.axes[0]);
    const AtomList own = axes.atoms(id)[along];
    Dim begin = n.op == Op::concat ? Dim(0) : n.lengths[0];
    for (std::size_t i = 0; i < (n.op == Op::concat ? n.operands.size() : 1); ++i) {
      const Dim& extent = g.node(n.operands[i]).shape[along];
      if (!(extent == Dim(0)) && !graph::is_empty(n.shape)) {
        const AtomList operand = axes.operand_atoms(id, i)[along];
        if (n.op != Op::slice)
          add_range(operand, own, begin);
        else if (n.lengths[2] == Dim(1))
          add_range(own, operand, begin);
      }
      begin = begin + extent;
    }
  }
  propagate();
}

void AxisCuts::add_range(const AtomList& part, const AtomList& whole, const Dim& begin) {
  if (part.size() > 1 || whole.size() != 1) return;
  const std::int64_t first = sample_.value(begin), extent = part.empty() ? 1 : sample_.value(part[0]->extent);
  if (!part.empty()) ranges_.push_back({part[0], whole[0], first, extent});
  add_cut(whole[0], first);
  add_cut(whole[0], first + extent);
}

void AxisCuts::add_cut(const Atom* a, std::int64_t at) {
  std::set<std::int64_t>& own = cuts_[a];
  if (at <= 0 || at >= sample_.value(a->extent) || own.size() >= kMostCutsOfAxis) return;
  if (own.insert(at).second) new_.emplace_back(a, at);
}

void AxisCuts::propagate() {
  std::multimap<const Atom*, const Range*> of_part, of_whole;
  for (const Range& r : ranges_) {
    of_part.emplace(r.part, &r);
    of_whole.emplace(r.whole, &r);
  }
  while (!new_.empty()) {
    const auto [atom, at] = new_.back();
    new_.pop_back();
    for (auto [r, end] = of_part.equal_range(atom); r != end; ++r) add_cut(r->second->whole, at + r->second->begin);
    for (auto [r, end] = of_whole.equal_range(atom); r != end; ++r) add_cut(r->second->part, at - r->second->begin);
  }
}

std::vector<SampledPosition> AxisCuts::positions(const AtomList& given) const {
  std::vector<SampledPosition> all{{0, 1}};
  for (Atom* atom : graph::flat(given)) {
    const std::int64_t extent = sample_.value(atom->extent);
    std::vector<SampledPosition> own;
    std::int64_t begin = 0;
    const auto add_until = [&](std::int64_t end) {
      for (const SampledPosition& p : sample_.positions(end - begin)) own.push_back({begin + p.position, p.weight});
      begin = end;
    };
    if (const auto cuts = cuts_.find(atom); cuts != cuts_.end())
      for (std::int64_t at : cuts->second) add_until(at);
    add_until(extent);
    all = positions_of_parts(all, own, extent);
  }
  return all;
}

}  // namespace tilewright::passes::fusion
