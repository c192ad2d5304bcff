// Runs a check in a process of its own, so that a crash or an endless loop of machine code is a result like any other.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tilewright::fuzz {

/// What `check` returns; or which signal ended it; or that it took longer than `seconds`.
std::optional<std::string> isolated(const std::function<std::optional<std::string>()>& check, unsigned seconds = 60);

}  // namespace tilewright::fuzz
