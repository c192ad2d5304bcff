// Branches and ends of threads. The scheduler executes them; here they are only decoded.
#include <fmt/format.h>

#include "runtime/emulator/families.h"

namespace tilewright::rt::emulator {

void decode_branch(Decoder& d) {
  d.out.kind = Kind::branch;
  d.take("uni");
  d.expect_operands(1);
  if (d.operand(0).kind != OperandKind::label) d.fail("expected a label");
  d.out.target = d.operand(0).index;
}

void decode_indexed(Decoder& d) {
  d.out.kind = Kind::indexed;
  if (!d.take("idx")) d.fail("'.idx' is missing");
  d.take("uni");
  d.expect_operands(2);
  d.source(0, d.operand(0), 4);
  const auto found = d.function().branch_targets.find(d.operand(1).name);
  if (found == d.function().branch_targets.end()) d.fail(fmt::format("'{}' is no list of branch targets", d.operand(1).name));
  for (u32 target : found->second) d.extra_target(target);
}

void decode_exit(Decoder& d) {
  d.out.kind = Kind::exit;
  d.take("uni");
  d.expect_operands(0);
}

void decode_trap(Decoder& d) {
  d.out.kind = Kind::trap;
  d.expect_operands(0);
}

void decode_call(Decoder& d) {
  d.take("uni");
  for (std::size_t k = 0; k < d.operands(); ++k) {
    const Operand& operand = d.operand(k);
    if (operand.kind != OperandKind::symbol) continue;
    for (const Function& function : d.module().functions)
      if (function.name == operand.name && !function.is_defined) d.fail(fmt::format("'{}' is not defined", operand.name));
  }
  d.fail("calls of functions are not supported: compile with all functions inlined");
}

}  // namespace tilewright::rt::emulator
