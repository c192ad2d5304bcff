// The schedule of a pipelined loop: for which tile each op of the body works in an iteration, and in which order.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "passes/pipeline/pipelined_loads.h"

namespace tilewright::passes {

/// An op of stage s works for tile t in iteration t - (last_stage - s): ops of the last stage work for the iteration's own tile, ops of an
/// earlier stage for a later tile. In an iteration, ops are sorted by their order; ops of equal order stay in program order.
///
/// Example: three slots; %p is computed again for the tile that is copied.
///   %p = add_ptr %x, %i            {stage = 0, order = 0}
///   %v = load %p                   {stage = 0, order = 0}      copied to its slot two iterations ahead
///   %s = add %acc, %v              {stage = 2, order = 1}
struct LoopSchedule {
  struct Entry {
    int stage = 0, order = 0;
  };
  int slots = 0;              // slots of each buffer
  int spare = 0;              // iterations by which a slot keeps its tile after the iteration that reads it
  int last_stage = 0;         // the stage of the iteration's own tile
  int wait_order = 0;         // an iteration waits for its copies, which is also a barrier, before the ops of this order
  int copy_order = 0;         // where a group of copies is committed
  std::map<OpId, Entry> ops;  // all ops of the loop's body except its terminator

  const Entry& of(OpId id) const { return ops.at(id); }
};

/// The schedule that pipeline_loops expands:
///   1. A tile is copied as many iterations ahead as the slots allow: slots - 1, into the slot that the iteration before has read. Asynchronous
///      products that go on in the next iteration still read that slot: then with a spare one, slots - 2.
///   2. In a loop that only multiplies, the first slice of K is read one iteration ahead as well. Then a tile is copied `slots` iterations
///      ahead, into the slot that this iteration has read.
///   3. Copies begin behind the first asynchronous product of a loop, and before all other ops in other loops.
///   4. Indices from which addresses are computed are loaded one iteration before the copy.
LoopSchedule schedule_loop(const Function&, OpId loop, const PipelinedLoads&, int slots, int spare = 0);

/// The errors of the schedule, one line for each; empty if it is correct:
///   a value is used in an earlier stage than its own, or in its own before its order;
///   a value that is neither copied nor computed again for each tile is kept for more than one iteration;
///   a slot is written before all threads have read it, or read before its copies are there.
std::vector<std::string> schedule_errors(const Function&, OpId loop, const PipelinedLoads&, const LoopSchedule&);

/// One line for each op: "%v = load %p : f32[128] {stage = 0, order = 1}", after a line for the whole loop.
std::string print_schedule(const Function&, OpId loop, const LoopSchedule&);

/// The schedules of the loops that pipeline_loops expands.
std::string print_schedules(const Function&, const PassContext&);

}  // namespace tilewright::passes
