// Streams and events: handles to queues of a device's work, and to points in these queues.
#pragma once
#include <memory>

#include "tilewright/here.h"

namespace tilewright {

namespace rt {
class Device;
class Event;
class Stream;
}  // namespace rt

/// A point in a stream's work. A default-constructed event is empty; using it is an error.
class Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<rt::Event> event) : event_(std::move(event)) {}
  /// Milliseconds from this event to a later one of the same device; waits for both.
  double elapsed_ms(const Event& later, Here at = Here::current()) const;

 private:
  friend class Stream;
  std::shared_ptr<rt::Event> event_;
};

/// A queue of work that is executed in order. A default-constructed stream is empty; using it is an error.
class Stream {
 public:
  Stream() = default;
  Stream(std::shared_ptr<rt::Device> device, std::shared_ptr<rt::Stream> stream) : device_(std::move(device)), stream_(std::move(stream)) {}
  /// Waits for all work of this stream.
  void synchronize(Here at = Here::current()) const;
  /// Records an event: the point at which all work submitted so far is done.
  Event record(Here at = Here::current()) const;
  /// Later work of this stream waits for the event.
  void wait(const Event&, Here at = Here::current()) const;
  /// The driver's own stream (a CUstream); null if there is none, and for CUDA's default stream.
  void* native() const;

  // For use by the library only: null if the stream is empty.
  const std::shared_ptr<rt::Device>& device() const { return device_; }
  const std::shared_ptr<rt::Stream>& handle() const { return stream_; }

 private:
  rt::Stream& existing(const Here&) const;
  std::shared_ptr<rt::Device> device_;
  std::shared_ptr<rt::Stream> stream_;
};

/// A stream, or none.
class StreamRef {
 public:
  StreamRef() = default;
  StreamRef(const Stream& stream) : stream_(stream), given_(true) {}
  bool given() const { return given_; }
  const Stream& stream() const { return stream_; }

 private:
  Stream stream_;
  bool given_ = false;
};

}  // namespace tilewright
