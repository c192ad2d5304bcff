// Asynchronous work of a cluster, and the schedule that chooses when it is done.
#pragma once
#include <utility>
#include <vector>

#include "runtime/emulator/state/async_operations.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/warp.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

/// Heads or tails.
bool toss(Worker&);
/// Whether the schedule wants work that begins now to be done now.
inline bool is_done_at_once(Worker& worker) {
  const AsyncOrder order = worker.launch->async_order;
  return order == AsyncOrder::random ? toss(worker) : order == AsyncOrder::eager;
}
/// Work has begun: it is done now, or when the schedule says.
void begin(AsyncOperation);
/// No warp can go on: one operation is done now. False if there is none.
bool finish_one(Cluster&, Worker&);
/// A warp has had its turn: the random schedule may do some work.
void finish_some(Cluster&, Worker&);
/// Completes an operation.
void finish(AsyncOperation&);
/// Does all work that `which` holds for, oldest first.
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
