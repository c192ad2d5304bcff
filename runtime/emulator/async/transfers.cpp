// The three schedules of asynchronous work.
#include "runtime/emulator/async/transfers.h"

#include "runtime/emulator/simd/random.h"

namespace tilewright::rt::emulator {
namespace {

void finish_at(Cluster& cluster, std::size_t k) {
  Transfer transfer = std::move(cluster.transfers[k]);
  cluster.transfers.erase(cluster.transfers.begin() + static_cast<std::ptrdiff_t>(k));
  finish(transfer);
}

}  // namespace

void finish(Transfer& transfer) {
  if (transfer.read) transfer.read();
  transfer.write();
}

bool toss(Worker& worker) { return next_random(worker.random) % 2 == 0; }

void begin(Transfer transfer) {
  if (is_done_at_once(*transfer.warp->worker))
    finish(transfer);
  else
    transfer.warp->block->cluster->transfers.push_back(std::move(transfer));
}

bool finish_one(Cluster& cluster, Worker& worker) {
  if (cluster.transfers.empty()) return false;
  const std::size_t last = cluster.transfers.size() - 1;
  // The youngest first: nothing orders them, and programs that rely on an order expect the other one.
  finish_at(cluster, worker.launch->async_order == AsyncOrder::random ? next_random(worker.random) % (last + 1) : last);
  return true;
}

void finish_some(Cluster& cluster, Worker& worker) {
  if (worker.launch->async_order == AsyncOrder::random && next_random(worker.random) % 4 == 0 && finish_one(cluster, worker))
    ++worker.changes;
}

}  // namespace tilewright::rt::emulator
