// Asynchronous work of a cluster, and the schedule that chooses when it is executed.
#pragma once
#include <utility>
#include <vector>

#include "runtime/emulator/state/async_operations.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/warp.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

/// A random bit.
bool toss(Worker&);
/// Whether the schedule wants work that begins now to be executed immediately.
inline bool is_done_at_once(Worker& worker) {
  const AsyncOrder order = worker.launch->async_order;
  return order == AsyncOrder::random ? toss(worker) : order == AsyncOrder::eager;
}
/// Begins work: it is executed now, or when the schedule says.
void begin(AsyncOperation);
/// Called when no warp can continue: executes one operation. Returns false if there is none.
bool finish_one(Cluster&, Worker&);
/// Called after a warp's turn: the random schedule may execute some work.
void finish_some(Cluster&, Worker&);
/// Completes an operation.
void finish(AsyncOperation&);
/// Executes all work for which `which` holds, oldest first.
template <class F>
void finish_all(Cluster& cluster, F which);

template <class F>
void finish_all(Cluster& cluster, F which) {
  std::vector<AsyncOperation> due;
  std::erase_if(cluster.operations, [&](AsyncOperation& operation) {
    if (!which(operation)) return false;
    due.push_back(std::move(operation));
    return true;
  });
  for (AsyncOperation& operation : due) finish(operation);
}

}  // namespace tilewright::rt::emulator
