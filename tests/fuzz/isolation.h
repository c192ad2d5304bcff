// Runs a check in a child process, so that a crash or an endless loop of machine code is an ordinary result.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tilewright::fuzz {

/// The result of `check`, or the signal or the exit code (of a sanitizer) that ended it, or a text that it took longer than `seconds`.
std::optional<std::string> isolated(const std::function<std::optional<std::string>()>& check, unsigned seconds = 60);

}  // namespace tilewright::fuzz
