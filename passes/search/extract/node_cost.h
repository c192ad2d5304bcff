// Estimates the time of single nodes, by which an extraction compares formulas.
//
// The costs of nodes are added, although a kernel is more than its nodes. So these costs are only good enough to propose graphs:
//
//   a product that sums      a kernel: launch + bytes or operations, whichever takes longer
//   a sum, a maximum         a kernel that reads its operand
//   element by element       operations only, since it becomes part of another kernel
//   sums of windows          operations only
//   parts, other views, cats nothing
//   what is known            nothing, unless it takes more than twice the memory of what it is made of
#pragma once
#include "passes/search/graph/graph_terms.h"
#include "tileir/target/machine_facts.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::search {

struct NodeSeconds {
  double seconds = 0;
  bool is_kernel = false;  // not computed inside of another kernel
};

class NodeCost {
 public:
  /// Symbols have a typical value: 1024, or the nearest that their bounds allow.
  NodeCost(const graph::Graph& written, const GraphTerms&, const ir::TargetDesc&);
  NodeSeconds seconds(const Node&, bool is_known) const;
  /// The time that is added if a kernel of its own reads an operand.
  double seconds_of_reader(const Ref&) const;

 private:
  double extent(Extent) const;
  double extent(const Dim&) const;
  double elements(const Ref&) const;
  NodeSeconds product(const Node&) const;

  const GraphTerms& all_;
  ir::MachineFacts facts_;
  double processors_;
  bool is_gpu_;
  std::vector<std::int64_t> symbols_;
};

}  // namespace tilewright::passes::search
