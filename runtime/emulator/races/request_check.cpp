// Checks requests lane by lane, after the fast path has taken the lanes that have nothing to report.
#include "runtime/emulator/races/checker.h"
#include "runtime/emulator/races/checker_fast.h"
#include "runtime/emulator/races/remote_accesses.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

/// Calls f(lane) for each lane of a mask.
template <class F>
void each_lane(Mask mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

}  // namespace

RequestCheck::RequestCheck(const Accessor& by, const Places& places) : by_(by), places_(places) {
  const Launch& launch = *by.warp->worker->launch;
  has_fast_ = launch.fast_paths;
  if (!launch.check) return;
  if (places.space == Space::shared) shared_.emplace(by, *by.warp->block);
  if (places.space == Space::global && (places.one_range == nullptr || places.one_range->cells != nullptr)) global_.emplace(by);
}

void RequestCheck::read(int lane, int bytes) {
  const u64 address = places_.address[static_cast<std::size_t>(lane)];
  if (shared_ && has_lane(places_.remote, lane)) {
    check_shared_read(by_, places_.owner(lane), lane, address, bytes);
    remember_remote(places_.owner(lane).remote_accesses, by_, lane);
  } else if (shared_)
    shared_->read(lane, address, bytes);
  else if (global_ && places_.range_of(lane).cells != nullptr &&
           !(has_fast_ && read_fast(*global_, lane, places_.range_of(lane), address, static_cast<u64>(bytes))))
    global_->read(lane, places_.range_of(lane), address, bytes);
}

void RequestCheck::write(int lane, int bytes, const std::byte* value) {
  const u64 address = places_.address[static_cast<std::size_t>(lane)];
  if (shared_ && has_lane(places_.remote, lane)) {
    check_shared_write(by_, places_.owner(lane), lane, address, bytes, value);
    remember_remote(places_.owner(lane).remote_accesses, by_, lane);
  } else if (shared_)
    shared_->write(lane, address, bytes, value);
  else if (global_ && places_.range_of(lane).cells != nullptr &&
           !(has_fast_ && write_fast(*global_, lane, places_.range_of(lane), address, static_cast<u64>(bytes))))
    global_->write(lane, places_.range_of(lane), address, bytes, value);
}

void RequestCheck::read(int bytes) {
  if (!shared_ && !global_) return;
  Mask done = 0;
  if (has_fast_ && shared_) done = read_fast(*shared_, places_, bytes) ? kAllLanes : 0;
  if (has_fast_ && global_) done = read_fast(*global_, places_, bytes);
  each_lane(places_.mask & ~done, [&](int lane) { read(lane, bytes); });
}

bool RequestCheck::write_apart(int bytes, const std::byte* values) {
  if (!shared_ && !global_) return true;
  if (!has_fast_ || places_.shape == nullptr || !places_.shape->is_apart()) return false;
  const Mask done = shared_ ? write_fast(*shared_, places_, bytes) : write_fast(*global_, places_, bytes);
  each_lane(places_.mask & ~done, [&](int lane) { write(lane, bytes, values != nullptr ? values + lane * bytes : nullptr); });
  return true;
}

void RequestCheck::expect_unwritten(int bytes) {
  if (!global_ || (has_fast_ && expect_unwritten_fast(*global_, places_, bytes))) return;
  each_lane(places_.mask, [&](int lane) {
    if (places_.range_of(lane).cells != nullptr)
      global_->expect_unwritten(lane, places_.range_of(lane), places_.address[static_cast<std::size_t>(lane)], static_cast<u64>(bytes));
  });
}

}  // namespace tilewright::rt::emulator
