// Adds these options to a command.
#include "frontend/cli/arguments/launch_options.h"

namespace tilewright::cli {

void add_device_option(CLI::App& command, std::string& device, const std::string& about, Interpreter interpreter) {
  const std::string names = "cpu|cpu:x86-64|cpu:x86-64-v3|cpu:x86-64-v4|cuda:N|emulator:sm_XX";
  command.add_option("--device", device, about)->type_name(interpreter == Interpreter::is_device ? names + "|interpreter" : names);
}

void add_argument_option(CLI::App& command, std::vector<std::string>& arguments, const std::string& about) {
  command.add_option("--arg", arguments, about)->type_name("NAME=VALUE")->allow_extra_args(false);
}

void add_output_option(CLI::App& command, std::vector<std::string>& outputs, const std::string& about) {
  command.add_option("--out", outputs, about)->type_name("NAME=FILE.npy")->allow_extra_args(false);
}

void add_limit_option(CLI::App& command, std::optional<std::uint64_t>& limit) {
  command.add_option("--limit", limit, "On emulators: end a launch after N warp instructions, 0 for no limit")->type_name("N");
}

}  // namespace tilewright::cli
