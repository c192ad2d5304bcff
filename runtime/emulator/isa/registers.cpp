// setmaxnreg (PTX ISA): warps return registers to their block's pool, and wait for registers that they request from it.
#include "runtime/emulator/isa/registers.h"

#include <algorithm>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/warpgroup.h"

namespace tilewright::rt::emulator {
namespace {

struct RegisterOptions {
  u32 count = 0;  // registers of a thread
  bool increases = false;
};

void change_registers(Warp& warp, const Instruction& i, Mask) {
  if (!is_whole_group(warp, i)) return;
  const auto [wanted, increases] = i.options<RegisterOptions>();
  const u32 before = warp.most_registers;
  const bool is_mistaken = before != 0 && (increases ? wanted < before : wanted > before);
  if (is_mistaken)
    report(warp, i, DiagnosticKind::bad_operand, 0, [&, wanted = wanted, increases = increases] {
      return fmt::format("{} to {} registers, after {}", increases ? "an increase" : "a decrease", wanted, before);
    });
  // If the number of registers at the start is unknown, so is the number in the pool.
  if (!is_mistaken && warp.kernel->entry_registers != 0) {
    if (increases && wanted - before > warp.block->free_registers) {
      warp.entry().wait = Wait::registers;
      warp.entry().wait_id = wanted - before;
      return;
    }
    if (increases)
      warp.block->free_registers -= wanted - before;
    else
      return_registers(warp, wanted);
  }
  warp.most_registers = wanted;
}

}  // namespace

void return_registers(Warp& warp, u32 kept) {
  warp.block->free_registers += warp.most_registers - std::min(kept, warp.most_registers);
  for (Warp& other : warp.block->warps)
    for (SimtStackEntry& entry : other.stack)
      if (entry.wait == Wait::registers) entry.wait = Wait::none;
}

void decode_setmaxnreg(Decoder& d) {
  d.out.category = Category::barrier;
  const int direction = d.take_one({"dec", "inc"}, "'.inc' or '.dec' is missing");
  if (!d.take("sync") || !d.take("aligned")) d.fail("'.sync.aligned' is missing");
  d.expect_type(Type::u32);
  d.expect_operands(1);
  const u64 count = d.constant(d.operand(0));
  if (count < 24 || count > 256 || count % 8 != 0) d.fail(fmt::format("{} registers: expected a multiple of 8 from 24 to 256", count));
  d.options<RegisterOptions>() = {static_cast<u32>(count), direction == 1};
  d.out.kind = Kind::waiting;
  d.out.is_aligned = true;
  d.out.execute = change_registers;
}

}  // namespace tilewright::rt::emulator
