// Sets the handler for lines of device_print.
#pragma once
#include <functional>
#include <string_view>

namespace tilewright {

/// Called with each line, without its end, from any thread, but for one line at a time. Its exceptions are thrown by the launch, or by the
/// call that waits for it. It must neither launch kernels that print nor call on_device_print.
using PrintHandler = std::function<void(std::string_view line)>;

/// Sends the lines that kernels print to `handler`; an empty one restores standard output.
void on_device_print(PrintHandler handler);

}  // namespace tilewright
