// Implements the three schedules of asynchronous work.
#include "runtime/emulator/async/schedule.h"

#include "runtime/emulator/simd/random.h"

namespace tilewright::rt::emulator {
namespace {

void finish_at(Cluster& cluster, std::size_t k) {
  AsyncOperation operation = std::move(cluster.operations[k]);
  cluster.operations.erase(cluster.operations.begin() + static_cast<std::ptrdiff_t>(k));
  finish(operation);
}

}  // namespace

void finish(AsyncOperation& operation) {
  if (operation.read) operation.read();
  operation.write();
}

bool toss(Worker& worker) { return next_random(worker.random) % 2 == 0; }

void begin(AsyncOperation operation) {
  if (is_done_at_once(*operation.warp->worker))
    finish(operation);
  else
    operation.warp->block->cluster->operations.push_back(std::move(operation));
}

bool finish_one(Cluster& cluster, Worker& worker) {
  if (cluster.operations.empty()) return false;
  const std::size_t last = cluster.operations.size() - 1;
  // The youngest operation first: nothing orders them, and programs that wrongly rely on an order expect the opposite one.
  finish_at(cluster, worker.launch->async_order == AsyncOrder::random ? next_random(worker.random) % (last + 1) : last);
  return true;
}

void finish_some(Cluster& cluster, Worker& worker) {
  if (worker.launch->async_order == AsyncOrder::random && next_random(worker.random) % 4 == 0 && finish_one(cluster, worker))
    ++worker.changes;
}

}  // namespace tilewright::rt::emulator
