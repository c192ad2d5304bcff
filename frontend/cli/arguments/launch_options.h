// Options that several commands with launches have: the device, values of parameters, files of results, a limit.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::cli {

enum class Interpreter { is_no_device, is_device };

/// --device.
void add_device_option(CLI::App&, std::string& device, const std::string& about, Interpreter);
/// --arg NAME=VALUE, as often as it is given.
void add_argument_option(CLI::App&, std::vector<std::string>& arguments, const std::string& about);
/// --out NAME=FILE.npy, as often as it is given.
void add_output_option(CLI::App&, std::vector<std::string>& outputs, const std::string& about);
/// --limit.
void add_limit_option(CLI::App&, std::optional<std::uint64_t>& limit);

}  // namespace tilewright::cli
