// The formulas of results that are derived together, and the outputs of kernels that are made of them.
#pragma once
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/sequence/sequence_context.h"
#include "passes/fusion/translate/axes.h"
#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

struct Formulas {
  /// memory: the values that are read from memory. Keeps the reference.
  Formulas(const SequenceContext& c, const std::vector<graph::NodeId>& computed, std::set<graph::NodeId> memory)
      : axes(c.graph, computed, std::move(memory)),
        exprs(pool, c.options.fuse && !c.options.reassociate ? Rewriting::none : Rewriting::normal_form),
        translator(c.graph, axes, c.zero_signs, exprs,
                   {c.moves_rounding(), [&c](graph::NodeId n) { return c.buffers.name_of(n); }, !c.options.batch_invariant}) {}
  Formulas(const Formulas&) = delete;
  Formulas& operator=(const Formulas&) = delete;

  /// Adds a kernel's output: a node's value, written to this tensor.
  void add(graph::NodeId n, std::string name, const BoundValue& v, Tensor written) { add(n, {std::move(name), v.value, written, v.index}); }
  void add(graph::NodeId n, KernelOutput output) {
    results.push_back({n, output.tensor});
    outputs.push_back(std::move(output));
  }
  /// Adds the outputs that together are a node's value in one tensor.
  void add(graph::NodeId n, std::vector<KernelOutput> pieces) {
    results.push_back({n, pieces[0].tensor});
    std::move(pieces.begin(), pieces.end(), std::back_inserter(outputs));
  }

  const AxisAnalysis axes;
  ExprPool pool;
  ExprBuilder exprs;
  GraphToExprs translator;
  std::vector<KernelOutput> outputs;
  std::vector<KernelOutput> wholes;    // the outputs with whole concatenations in place of pieces; empty if they are not compared
  std::vector<CheckedResult> results;  // the nodes whose values the outputs are
};

}  // namespace tilewright::passes::fusion
