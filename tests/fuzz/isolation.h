// Runs a check in a child process, so that a crash or an endless loop of machine code is an ordinary result.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tilewright::fuzz {

/// What `check` returns; or which signal ended it; or that it took longer than `seconds`.
std::optional<std::string> isolated(const std::function<std::optional<std::string>()>& check, unsigned seconds = 60);

}  // namespace tilewright::fuzz
