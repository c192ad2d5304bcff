// Options that several launching commands share: the device, values of parameters, files for results, a limit.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::cli {

enum class Interpreter { is_no_device, is_device };

/// Adds --device.
void add_device_option(CLI::App&, std::string& device, const std::string& about, Interpreter);
/// Adds --arg NAME=VALUE, which may be given several times.
void add_argument_option(CLI::App&, std::vector<std::string>& arguments, const std::string& about);
/// Adds --out NAME=FILE.npy, which may be given several times.
void add_output_option(CLI::App&, std::vector<std::string>& outputs, const std::string& about);
/// Adds --limit.
void add_limit_option(CLI::App&, std::optional<std::uint64_t>& limit);

}  // namespace tilewright::cli
