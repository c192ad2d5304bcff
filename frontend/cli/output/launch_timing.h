// Times launches for the reports of commands.
#pragma once
#include <functional>
#include <string>

namespace tilewright::cli {

/// The time of one call in milliseconds.
double timed(const std::function<void()>& launch);

/// "0.0123 ms, the median of 21 launches; the first took 0.4567 ms". Calls `restore`, which is not timed, before each launch.
std::string timing_text(const std::function<void()>& restore, const std::function<void()>& launch, double first_ms);

}  // namespace tilewright::cli
