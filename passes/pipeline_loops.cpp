// Pipelines loops: tiles that a loop loads into shared memory are copied asynchronously, several iterations before they are used.
//
//   for i = lo to hi step s                         b = alloc_buffer of S slots
//     p = f(i); x = load p, m                       copy f(lo) to slot 0; commit; ... copy f(lo + (S - 2) s) to slot S - 2; commit
//     b = alloc_buffer; buffer_store b, x     ->    for i = lo to hi step s (slot = 0)
//     use(b)                                          async_wait {pending = S - 2}
//                                                     if i < limit: copy f(i + (S - 1) s) to the slot before this one; commit
//                                                     use(slot of b); slot += 1, of S slots
//
// The wait is the only barrier of an iteration: the slot that is written was read in the iteration before, which every thread has finished.
// S is the number of stages. Slot numbers count bytes of the smallest slot, so that a slot's address is a sum.
//
//   1. find_pipelined_loads: which loads are copied, and under which masks (passes/pipeline/pipelined_loads.h). If the order of iterations
//      is free and masks along K are all-true before the last one, the last one is executed first and the loop needs no such mask.
//   2. schedule_loop: the stage and the order of each op (passes/pipeline/loop_schedule.h).
//   3. emit_prologue, expand: the form above, following the schedule. Carried values that addresses need are carried a second time, for the
//      iteration whose tile is copied, and the indices from which addresses are computed are loaded one iteration before the copy
//      (passes/pipeline/tile_addresses.h). Tiles that cp.async cannot copy go through registers: they are loaded at the start of the
//      iteration (at its end, if a thread has too few registers to hold them that long) and stored to the slot at its end. In a loop that
//      only multiplies, the fragments of the first slice of K have an earlier stage than the products: they are also read one iteration
//      ahead:
//
//        copy tiles 0 ... S - 1; wait; read slice 0 of slot 0
//        loop: read slice 1, multiply slice 0, ... read the last slice
//              async_wait {pending = S - 2}; multiply the last slice
//              copy the tile S iterations ahead to this slot; read slice 0 of the next slot
//        async_wait {pending = 0}
//
//      The last iteration reads a slot without a tile: the prologue writes zeros to slots whose tile does not exist. The wait after the
//      loop is for these zeros.
//
// In a loop of asynchronous products the copies begin behind the first of them. If nothing else reads their sums, the products go on in the next
// iteration: then a slot is written one iteration later, and there is a spare one (passes/place_mma_waits.cpp).
//
// Loads that may read what the loop stores, loops with atomics, and loops whose step is not a positive constant are not pipelined. Remarks
// tell the reason. Input, output: distributed. Numerics: if the last iteration comes first, products are added in another order. See
// tests/files/passes/pipeline_loops/.
#include "passes/canonicalize/rules.h"
#include "passes/pass.h"
#include "passes/pipeline/loop_expander.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

std::string print_schedules(const Function& f, const PassContext& context) {
  Function copy = f;  // a copy, since finding loads reduces masks
  Rewriter rw(copy);
  std::string out;
  for (OpId loop : counted_loops(copy))
    if (const std::optional<LoopPlan> plan = plan_loop(rw, context, loop)) out += print_schedule(copy, loop, plan->schedule);
  return out;
}

bool pipeline_loops(Function& f, const PassContext& context) {
  Rewriter rw(f);
  for (OpId loop : counted_loops(f))
    if (std::optional<LoopPlan> plan = plan_loop(rw, context, loop)) expand_loop(rw, loop, *std::move(plan));
  // Removes carried values that only addresses needed.
  if (rw.changed()) canonical::remove_dead(rw);
  return rw.changed();
}

}  // namespace tilewright::passes
