// Emits scatter_add: t plus updates at positions that are data.
//
// In order: each program owns some columns of the result and, on GPUs, a range of its rows. It copies t there, and walks all updates in
// order, skipping those of other rows. Each element belongs to one program, so its sum has the order of the updates.
//
//   result[row, columns] = t[row, columns]                        for the program's rows
//   result[index[u], columns] += updates[u, columns]              for each u whose index[u] is one of them
//
// Atomic: the result already contains t; the updates are distributed over programs, which add them by atomics.
#pragma once
#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// The formulas of a scatter_add over unique axes.
struct Scatter {
  Tensor result = nullptr;
  Axis row = nullptr;
  std::vector<Axis> columns;      // the other axes of the result
  std::vector<Axis> positions;    // the axes of the index
  std::vector<Expr> own;          // the index of an element of the result: row and columns
  std::vector<Expr> destination;  // as above, with the index's value as the row
  Expr start, target, update;     // start: t at `own`; target: the index at a position; update: the update at a position and columns
};

Scatter scatter_of(const graph::Graph&, graph::NodeId, GraphToExprs&, ExprBuilder&);

/// Whether the element has atomics that give the same bits in every order (or any order is allowed), and they are faster on the target.
bool adds_by_atomics(ir::Element, bool deterministic, const ir::TargetDesc&);

EmittedKernel emit_scatter_in_order(const std::string& name, ExprBuilder&, const Scatter&, const ir::TargetDesc&, TileSizes&);
EmittedKernel emit_scatter_atomic(const std::string& name, ExprBuilder&, const Scatter&, TileSizes&);

}  // namespace tilewright::passes::fusion
