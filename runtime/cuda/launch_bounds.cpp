// Implements the bounds check of one launch on a CUDA device.
#include "runtime/cuda/launch_bounds.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "backend/nvptx_abi.h"
#include "runtime/device_failure.h"

namespace tilewright::rt::cuda {

namespace {

using backend::NvptxBadAccesses;
using backend::NvptxBounds;
using backend::NvptxInterval;

template <class T>
void append(std::vector<std::uint64_t>& words, const T& value) {
  words.resize(words.size() + sizeof(T) / sizeof(std::uint64_t));
  std::memcpy(words.data() + words.size() - sizeof(T) / sizeof(std::uint64_t), &value, sizeof(T));
}

}  // namespace

LaunchBounds::LaunchBounds(Context& context, DeviceMemory& memory, std::vector<Region> live, const Launch& launch)
    : context_(context), memory_(memory), launch_(launch), check_(std::move(live), *launch.sites) {
  const OutsideCapture outside(context_.driver());
  const std::vector<BoundsCheck::Interval> intervals = check_.intervals(launch_.arguments);
  const std::size_t found = sizeof(NvptxBounds) + launch_.sites->size() * sizeof(NvptxBadAccesses);
  const std::size_t bytes = found + intervals.size() * sizeof(NvptxInterval);
  try {
    table_ = at_line(launch_.where, [&] { return memory_.allocate(bytes); });
  } catch (const std::bad_alloc&) {
    throw DeviceError(detail::location_of(launch_.where),
                      fmt::format("launch: out of memory: kernel '{}' needs {} bytes on device '{}' for what is out of bounds",
                                  launch_.kernel, bytes, context_.device_name()));
  }
  append(words_, NvptxBounds{table_ + found, intervals.size()});
  for (std::size_t site = 0; site < launch_.sites->size(); ++site) append(words_, NvptxBadAccesses{~std::uint64_t{0}, 0});
  for (const BoundsCheck::Interval& i : intervals) append(words_, NvptxInterval{i.begin, i.end - i.begin});
  try {
    TW_CUDA_CALL(context_, launch_.where, cuMemcpyHtoDAsync, table_, words_.data(), bytes, launch_.stream);
  } catch (...) {
    memory_.release(table_);
    throw;
  }
}

LaunchBounds::~LaunchBounds() { memory_.release(table_); }

void LaunchBounds::finish() {
  const OutsideCapture outside(context_.driver());
  std::vector<NvptxBadAccesses> found(launch_.sites->size());
  TW_CUDA_CALL(context_, launch_.where, cuMemcpyDtoHAsync, found.data(), table_ + sizeof(NvptxBounds),
               found.size() * sizeof(NvptxBadAccesses), launch_.stream);
  TW_CUDA_CALL(context_, launch_.where, cuStreamSynchronize, launch_.stream);
  for (std::size_t site = 0; site < found.size(); ++site)
    if (found[site].count > 0)
      check_.add(static_cast<std::int32_t>(site), found[site].lowest_address, static_cast<std::int64_t>(found[site].count));
  check_.report(launch_.arguments, launch_.where);
}

}  // namespace tilewright::rt::cuda
