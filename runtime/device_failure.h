// Failures of devices, for code that does not know the user's line.
#pragma once
#include <string>

#include "tilewright/here.h"

namespace tilewright::rt {

/// Thrown by functions of rt::Device, rt::Stream and rt::Event that do not know the user's line; at_line() adds it.
class UnplacedDeviceError : public DeviceError {
 public:
  explicit UnplacedDeviceError(const std::string& message) : DeviceError(Location{}, message), message_(message) {}
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

/// Throws DeviceError at `where`, or UnplacedDeviceError if `where` has no line.
[[noreturn]] inline void throw_device_error(const Here& where, const std::string& message) {
  if (where.line() == 0) throw UnplacedDeviceError(message);
  throw DeviceError(detail::location_of(where), message);
}

/// As above, for a program that needs more of a resource than the device has. Requires: a line.
[[noreturn]] inline void throw_lack_of_resources(const Here& where, const std::string& message) {
  throw lacking_resources(DeviceError(detail::location_of(where), message));
}

/// Calls f(), and adds the user's line to its failures.
template <class F>
decltype(auto) at_line(const Here& at, F&& f) {
  try {
    return f();
  } catch (const UnplacedDeviceError& e) {
    throw DeviceError(detail::location_of(at), e.message());
  }
}

}  // namespace tilewright::rt
