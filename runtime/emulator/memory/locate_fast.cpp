// Looks up the shapes of requests in the kernel's cache.
#include "runtime/emulator/memory/locate_fast.h"

#include <algorithm>

#include "runtime/emulator/memory/global_ranges.h"
#include "runtime/emulator/state/block.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/per_kernel_cache.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

RequestShapes::Key key_of(const Instruction& i, const Request& request, int bytes) {
  return RequestShapes::key_of(i.index, static_cast<int>(request.space), bytes, request.address[0]);
}

}  // namespace

bool locate_fast(Warp& warp, const Instruction& i, Request& request, int bytes, Transactions& transactions) {
  const RequestShape* shape = warp.worker->kernel_cache->requests.find(key_of(i, request, bytes), request.address);
  if (shape == nullptr) return false;
  const s64 lowest = static_cast<s64>(request.address[0]) + shape->lowest,
            end = static_cast<s64>(request.address[0]) + shape->highest + bytes;
  if (lowest < 0) return false;
  std::byte* base = nullptr;
  if (request.space == Space::shared) {
    if (end > static_cast<s64>(warp.block->shared_bytes)) return false;
    request.block = warp.block;
    base = warp.block->shared.get();
  } else {
    const Range* range = global_range(*warp.worker, static_cast<u64>(lowest));
    if (range == nullptr || end > static_cast<s64>(range->end())) return false;
    request.one_range = range;
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    request.at[lane] = reinterpret_cast<std::byte*>(reinterpret_cast<u64>(base) + request.address[lane]);
  request.shape = shape;
  transactions = shape->transactions;
  return true;
}

void remember_shape(Warp& warp, const Instruction& i, Request& request, int bytes, Transactions transactions) {
  const auto& range = request.range;
  if (request.space == Space::global && std::all_of(range.begin(), range.end(), [&](const Range* other) { return other == range[0]; }))
    request.one_range = range[0];
  const RequestShape* const shape =
      warp.worker->kernel_cache->requests.remember(key_of(i, request, bytes), request.address, bytes, transactions);
  if (request.space == Space::shared || request.one_range != nullptr) request.shape = shape;
}

}  // namespace tilewright::rt::emulator
