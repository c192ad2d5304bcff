// Copies of memory that launches write.
#include "frontend/tuning/saved_memory.h"

#include <algorithm>
#include <new>

#include "tilewright/error.h"

namespace tilewright::tuning {

namespace {

bool holds(const rt::Region& r, std::uint64_t begin, std::uint64_t end) { return r.begin <= begin && end <= r.end(); }

/// The number of the buffer that has this memory, preferring the owner to buffers that wrap it; 0 if there is none.
std::uint64_t holder_of(std::uint64_t begin, std::uint64_t end, const std::vector<rt::Region>& regions) {
  const rt::Region* best = nullptr;
  for (const rt::Region& r : regions)
    if (holds(r, begin, end) && (!best || (r.owned && !best->owned))) best = &r;
  return best ? best->id : 0;
}

}  // namespace

SavedMemory::~SavedMemory() {
  for (const Copy& c : copies_) c.device->release(c.address, c.range.end - c.range.begin);
}

void SavedMemory::save(rt::Device& device, Range range, rt::Stream& stream) {
  std::vector<Range> missing{range};
  for (const Copy& c : copies_) {
    if (c.device != &device) continue;
    std::vector<Range> rest;
    for (const Range& m : missing) {
      if (m.begin < c.range.begin) rest.push_back({m.begin, std::min(m.end, c.range.begin)});
      if (c.range.end < m.end) rest.push_back({std::max(m.begin, c.range.end), m.end});
    }
    missing = std::move(rest);
  }
  const std::vector<rt::Region> regions = device.memory().snapshot();
  for (const Range& m : missing) {
    if (m.begin >= m.end) continue;
    copies_.reserve(copies_.size() + 1);
    Copy copy{&device, m, 0, holder_of(m.begin, m.end, regions)};
    try {
      copy.address = device.allocate(m.end - m.begin);
    } catch (const std::bad_alloc&) {
      throw NoMemoryForCopy();
    }
    copies_.push_back(copy);
    device.copy(copy.address, m.begin, m.end - m.begin, stream);
  }
}

void SavedMemory::before_write(rt::Device& device, std::uint64_t begin, std::uint64_t end, rt::Stream& stream, const Here& at) {
  if (!follow_writes_ || begin >= end) return;
  bool is_old = false, is_new = false;
  for (const rt::Region& r : device.memory().snapshot()) {
    if (!holds(r, begin, end)) continue;
    (r.id < first_new_region_ ? is_old : is_new) = true;
    if (r.id >= first_new_region_ && r.owned) return;
  }
  if (is_new && !is_old)
    throw Error(detail::location_of(at),
                "tune: this writes memory that was wrapped since the measured call began: whether it can be put back between measurements "
                "is not known; wrap it before",
                {{detail::location_of(this->at()), "the call is measured here"}});
  save(device, {begin, end}, stream);
}

void SavedMemory::restore() {
  std::erase_if(copies_, [&](const Copy& c) {
    const std::vector<rt::Region> live = c.device->memory().snapshot();
    const bool is_gone = c.region != 0 && std::none_of(live.begin(), live.end(), [&](const rt::Region& r) { return r.id == c.region; });
    if (is_gone) c.device->release(c.address, c.range.end - c.range.begin);
    return is_gone;
  });
  for (const Copy& c : copies_) {
    // The writes that were followed may have been on any stream.
    if (follow_writes_) c.device->synchronize();
    c.device->copy(c.range.begin, c.address, c.range.end - c.range.begin, stream_of(c));
  }
  if (follow_writes_)
    for (const Copy& c : copies_) stream_of(c).synchronize();
  first_new_region_ = device_.memory().next_id();
}

}  // namespace tilewright::tuning
