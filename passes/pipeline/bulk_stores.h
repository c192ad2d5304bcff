// Stores that the unit for bulk copies can do: of what an asynchronous product has summed, to a box of a tensor.
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "passes/pass.h"
#include "passes/pipeline/tensor_box.h"
#include "tileir/layout/linear_layout.h"

namespace tilewright::passes {

/// The reduction by which a bulk store may do what the op does: none for a store, add for a relaxed atomic_add without uses of its result.
/// No value for other ops.
std::optional<ir::Reduction> reduction_of(const Function&, OpId);

/// Whether the op stores a large tile that is computed from sums of asynchronous products element by element, in the body, and the target
/// has bulk stores. Requires: a traced or distributed function.
bool stores_sums(const Function&, OpId, const PassContext&);

struct StoredBox {
  TensorBox box;
  ir::LinearLayout buffer;  // the layout of a buffer from which a bulk store writes the box
};

/// The box that the op writes, or the reason why no bulk store can: the tile is none, or an op of the function may access the memory of the
/// tensor, or order it with other programs. Requires: stores_sums.
std::variant<StoredBox, std::string> find_stored_box(const Function&, OpId, const AxisInfoAnalysis&);

}  // namespace tilewright::passes
