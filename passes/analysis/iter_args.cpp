// Collects the operands, arguments and results that belong to one loop-carried value.
#include "passes/analysis/iter_args.h"

#include "tileir/op_kind.h"

namespace tilewright::passes {

std::vector<std::vector<ValueId>> loop_carried_values(const ir::Function& f, ir::OpId id) {
  const ir::OpData& op = f.op(id);
  const auto args = [&](int i) -> const std::vector<ValueId>& { return f.block(op.regions[static_cast<std::size_t>(i)]).args; };
  const auto end = [&](int i) -> const std::vector<ValueId>& {
    return f.op(f.terminator(op.regions[static_cast<std::size_t>(i)])).operands;
  };
  std::vector<std::vector<ValueId>> variables;
  switch (op.kind) {
    case OpKind::for_:
      for (std::size_t k = 0; k < op.results.size(); ++k)
        variables.push_back({op.operands[k + 3], args(0)[k + 1], end(0)[k], op.results[k]});
      break;
    case OpKind::if_:
      for (std::size_t k = 0; k < op.results.size(); ++k) variables.push_back({end(0)[k], end(1)[k], op.results[k]});
      break;
    case OpKind::while_:
      for (std::size_t k = 0; k < op.operands.size(); ++k) variables.push_back({op.operands[k], args(0)[k], end(1)[k]});
      for (std::size_t k = 0; k < op.results.size(); ++k) variables.push_back({end(0)[k + 1], args(1)[k], op.results[k]});
      break;
    default: break;
  }
  return variables;
}

}  // namespace tilewright::passes
