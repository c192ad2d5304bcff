// Checks requests lane by lane, after the fast path has handled the lanes that have nothing to report.
#include "runtime/emulator/races/checker.h"
#include "runtime/emulator/races/checker_fast.h"
#include "runtime/emulator/races/remote_accesses.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
RequestCheck::RequestCheck(const Accessor& by, const Request& request) : by_(by), request_(request) {
  const LaunchState& launch = *by.warp->worker->launch;
  has_fast_ = launch.fast_paths;
  if (!launch.check) return;
  if (request.space == Space::shared) shared_.emplace(by, *by.warp->block);
  if (request.space == Space::global && (request.one_range == nullptr || request.one_range->cells != nullptr)) global_.emplace(by);
}

void RequestCheck::read(int lane, int bytes) {
  const u64 address = request_.address[lane];
  if (shared_ && has_lane(request_.remote, lane)) {
    check_shared_read(by_, request_.owner(lane), lane, address, bytes);
    remember_remote(request_.owner(lane).remote_accesses, by_, lane);
  } else if (shared_)
    shared_->read(lane, address, bytes);
  else if (global_ && request_.range_of(lane).cells != nullptr &&
           !(has_fast_ && read_fast(*global_, lane, request_.range_of(lane), address, static_cast<u64>(bytes))))
    global_->read(lane, request_.range_of(lane), address, bytes);
}

void RequestCheck::write(int lane, int bytes, const std::byte* value) {
  const u64 address = request_.address[lane];
  if (shared_ && has_lane(request_.remote, lane)) {
    check_shared_write(by_, request_.owner(lane), lane, address, bytes, value);
    remember_remote(request_.owner(lane).remote_accesses, by_, lane);
  } else if (shared_)
    shared_->write(lane, address, bytes, value);
  else if (global_ && request_.range_of(lane).cells != nullptr &&
           !(has_fast_ && write_fast(*global_, lane, request_.range_of(lane), address, static_cast<u64>(bytes))))
    global_->write(lane, request_.range_of(lane), address, bytes, value);
}

void RequestCheck::read(int bytes) {
  if (!shared_ && !global_) return;
  Mask done = 0;
  if (has_fast_ && shared_) done = read_fast(*shared_, request_, bytes) ? kAllLanes : 0;
  if (has_fast_ && global_) done = read_fast(*global_, request_, bytes);
  for (const int lane : lanes_of(request_.mask & ~done)) read(lane, bytes);
}

bool RequestCheck::write_apart(int bytes, const std::byte* values) {
  if (!shared_ && !global_) return true;
  if (!has_fast_ || request_.shape == nullptr || !request_.shape->is_apart()) return false;
  const Mask done = shared_ ? write_fast(*shared_, request_, bytes) : write_fast(*global_, request_, bytes);
  for (const int lane : lanes_of(request_.mask & ~done)) write(lane, bytes, values != nullptr ? values + lane * bytes : nullptr);
  return true;
}

void RequestCheck::expect_unwritten(int bytes) {
  if (!global_) return;
  for (const int lane : lanes_of(request_.mask))
    if (request_.range_of(lane).cells != nullptr)
      global_->expect_unwritten(lane, request_.range_of(lane), request_.address[lane], static_cast<u64>(bytes));
}

}  // namespace tilewright::rt::emulator
