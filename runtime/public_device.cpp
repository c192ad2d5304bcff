// Implements the public Device, Stream and Event.
#include "runtime/active_call.h"
#include "runtime/device.h"
#include "runtime/device_failure.h"
#include "runtime/devices.h"
#include "tilewright/device.h"
#include "tilewright/executor.h"

namespace tilewright {

using rt::ActiveCall;

Device Device::open(Here at) {
  const ActiveCall call(at);
  return Device(rt::open_best_device(at));
}
Device Device::open(std::string_view name, Here at) {
  const ActiveCall call(at);
  return Device(rt::open_device(name, at));
}
Device open_device(Executor executor, std::string_view name, Here at) {
  const ActiveCall call(at);
  return Device(rt::open_device(name, std::move(executor), at));
}
std::vector<DeviceInfo> Device::list() {
  const ActiveCall call(Here{});
  return rt::list_devices();
}

const std::string& Device::name() const { return device_->name(); }
std::string Device::description() const { return device_->description(); }
std::vector<KernelReport> Device::take_reports() const {
  const ActiveCall call(Here{});
  return rt::take_kernel_reports(device_->name());
}
std::size_t Device::free_memory() const {
  const ActiveCall call(Here{});
  return device_->free_memory();
}

void Device::synchronize(Here at) const {
  const ActiveCall call(at);
  rt::at_line(at, [&] { device_->synchronize(); });
}
Stream Device::stream(Here at) const {
  const ActiveCall call(at);
  return rt::at_line(at, [&] { return Stream(device_, device_->create_stream()); });
}
Stream Device::wrap_stream(void* native, Here at) const {
  const ActiveCall call(at);
  return Stream(device_, device_->wrap_stream(native, at));
}

rt::Stream& Stream::existing(const Here& at) const {
  if (!stream_) throw Error(detail::location_of(at), "this stream is none: a stream comes from Device::stream()");
  return *stream_;
}

void Stream::synchronize(Here at) const {
  const ActiveCall call(at);
  rt::at_line(at, [&] { existing(at).synchronize(); });
}
Event Stream::record(Here at) const {
  const ActiveCall call(at);
  return rt::at_line(at, [&] { return Event(existing(at).record()); });
}
void* Stream::native() const { return stream_ ? stream_->native() : nullptr; }

void Stream::wait(const Event& event, Here at) const {
  const ActiveCall call(at);
  rt::Stream& stream = existing(at);
  if (!event.event_) throw Error(detail::location_of(at), "wait: this event is none: an event comes from Stream::record()");
  if (&event.event_->device() != device_.get())
    throw Error(detail::location_of(at),
                "wait: the event is of device '" + event.event_->device().name() + "', the stream of device '" + device_->name() + "'");
  rt::at_line(at, [&] { stream.wait(*event.event_); });
}

double Event::elapsed_ms(const Event& later, Here at) const {
  const ActiveCall call(at);
  if (!event_ || !later.event_)
    throw Error(detail::location_of(at), "elapsed_ms: this event is none: an event comes from Stream::record()");
  if (&event_->device() != &later.event_->device())
    throw Error(detail::location_of(at),
                "elapsed_ms: the events are of two devices, '" + event_->device().name() + "' and '" + later.event_->device().name() + "'");
  return rt::at_line(at, [&] { return event_->elapsed_ms(*later.event_); });
}

}  // namespace tilewright
