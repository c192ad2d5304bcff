// Positions that sums visit, the same for an axis and for the axes that it is made of.
//
// Two graphs may say one sum in different ways: sum(concat(concat(x, b), d)) is sum(concat(x, b, d)) and sum(x) + sum(b) + sum(d), and
// sum(concat(x[:10], x[10:])) is sum(x). At a small instance, a sum visits only some positions of an axis, of which the last one represents
// all others. So both sides visit the same elements only if the axis of x is cut at 10, and that of concat(x, b) where x ends. Where an axis
// is a range of another one (concat, slice, pad), the cuts of either are cuts of the other, and so are the ends of the range:
//
//   concat(x: [64], b: [16]) + d: [24]      x: none      concat(x, b): 64      all: 64, 80
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "passes/fusion/check/sample.h"

namespace tilewright::passes::fusion {

class AxisCuts {
 public:
  /// Finds the cuts of the axes of all nodes that are analysed. Keeps the reference to the sample.
  AxisCuts(const graph::Graph&, const AxisAnalysis&, const Sample&);

  /// The visited positions of an axis with these atoms: those of each range between cuts.
  std::vector<SampledPosition> positions(const AtomList&) const;

 private:
  /// Positions 0 to `extent` of an axis are the positions from `begin` on of another one.
  struct Range {
    const Atom* part;
    const Atom* whole;
    std::int64_t begin, extent;
  };
  void add_range(const AtomList& part, const AtomList& whole, const Dim& begin);
  void add_cut(const Atom*, std::int64_t at);
  void propagate();

  const Sample& sample_;
  std::vector<Range> ranges_;
  std::map<const Atom*, std::set<std::int64_t>> cuts_;
  std::vector<std::pair<const Atom*, std::int64_t>> new_;  // cuts that other axes do not have yet
};

}  // namespace tilewright::passes::fusion
