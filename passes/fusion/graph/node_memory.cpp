// Looks at the op of a node, and at its operands.
#include "passes/fusion/graph/node_memory.h"

namespace tilewright::passes::fusion {

using graph::Node;
using graph::Op;

bool has_own_memory(const Node& n) { return n.op == Op::input || (n.op == Op::constant && n.data->bits.size() > 1); }

bool has_own_kernels(Op op) { return op == Op::scatter_add || op == Op::call; }

bool is_in_memory(const Node& n) { return n.op == Op::input || n.op == Op::scalar || (n.op == Op::constant && n.data->bits.size() > 1); }

}  // namespace tilewright::passes::fusion
