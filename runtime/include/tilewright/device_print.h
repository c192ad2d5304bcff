// The handler of the lines of device_print.
#pragma once
#include <functional>
#include <string_view>

namespace tilewright {

/// Called with each line, without its end, from any thread, one at a time. An exception it throws comes out of the launch, or of
/// the call that waited for it. It must neither launch kernels that print nor call on_device_print.
using PrintHandler = std::function<void(std::string_view line)>;

/// Sends the lines that kernels print to `handler`; an empty one restores standard output.
void on_device_print(PrintHandler handler);

}  // namespace tilewright
