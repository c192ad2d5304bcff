// Looks shapes of requests up in the kernel's cache.
#include "runtime/emulator/memory/locate_fast.h"

#include <algorithm>

#include "runtime/emulator/state/kernel_cache.h"
#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

RequestShapes::Key key_of(const Instruction& i, const Places& places, int bytes) {
  return RequestShapes::key_of(i.index, static_cast<int>(places.space), bytes, places.address[0]);
}

}  // namespace

bool locate_fast(Warp& warp, const Instruction& i, Places& places, int bytes, Transactions& transactions) {
  const RequestShape* shape = warp.worker->kernel_cache->requests.find(key_of(i, places, bytes), places.address);
  if (shape == nullptr) return false;
  const s64 lowest = static_cast<s64>(places.address[0]) + shape->lowest,
            end = static_cast<s64>(places.address[0]) + shape->highest + bytes;
  if (lowest < 0) return false;
  std::byte* base = nullptr;
  if (places.space == Space::shared) {
    if (end > static_cast<s64>(warp.block->shared_bytes)) return false;
    places.block = warp.block;
    base = warp.block->shared.get();
  } else {
    const Range* range = global_range(*warp.worker, static_cast<u64>(lowest));
    if (range == nullptr || end > static_cast<s64>(range->end())) return false;
    places.one_range = range;
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    places.at[lane] = reinterpret_cast<std::byte*>(reinterpret_cast<u64>(base) + places.address[lane]);
  places.shape = shape;
  transactions = shape->transactions;
  return true;
}

void remember_shape(Warp& warp, const Instruction& i, Places& places, int bytes, Transactions transactions) {
  const auto& range = places.range;
  if (places.space == Space::global && std::all_of(range.begin(), range.end(), [&](const Range* other) { return other == range[0]; }))
    places.one_range = range[0];
  const RequestShape* const shape =
      warp.worker->kernel_cache->requests.remember(key_of(i, places, bytes), places.address, bytes, transactions);
  if (places.space == Space::shared || places.one_range != nullptr) places.shape = shape;
}

}  // namespace tilewright::rt::emulator
