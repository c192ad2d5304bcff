// Decodes branches and ends of threads, which the scheduler executes.
#include <fmt/format.h>

#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {

void decode_branch(Decoder& d) {
  d.out.kind = Kind::branch;
  d.take("uni");
  d.expect_operands(1);
  d.out.target = d.label(d.operand(0));
}

void decode_indexed(Decoder& d) {
  d.out.kind = Kind::indexed;
  if (!d.take("idx")) d.fail("'.idx' is missing");
  d.take("uni");
  d.expect_operands(2);
  d.source(0, d.operand(0), 4);
  const auto found = d.function().branch_targets.find(d.operand(1).name);
  if (found == d.function().branch_targets.end()) d.fail(fmt::format("'{}' is not a list of branch targets", d.operand(1).name));
  for (u32 target : found->second) d.extra_target(d.instruction(target));
}

void decode_exit(Decoder& d) {
  d.out.kind = Kind::exit;
  d.expect_operands(0);
}

void decode_trap(Decoder& d) {
  d.out.kind = Kind::trap;
  d.expect_operands(0);
}

}  // namespace tilewright::rt::emulator
