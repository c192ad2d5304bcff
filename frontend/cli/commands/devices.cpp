// tilewright devices: lists the devices of this machine, and why some of them cannot be used.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/cli/commands/command.h"
#include "runtime/devices.h"

namespace tilewright::cli {

namespace {

struct Options {};

void execute(const Options&, Session& session) {
  std::vector<DeviceInfo> devices = rt::list_devices();
  devices.push_back({"interpreter", "the reference meaning of tile IR, for 'tilewright run' only", true, ""});
  std::size_t width = 0;
  for (const DeviceInfo& d : devices) width = std::max(width, d.name.size());
  std::string out;
  for (const DeviceInfo& d : devices)
    out += fmt::format("{:{}}  {}\n", d.name, width, d.usable ? d.description : fmt::format("not usable: {}", d.reason));
  session.files.write("-", out);
}

}  // namespace

void add_devices(CLI::App& root, Session& session) {
  add_command(root, session, "devices", "List the devices of this machine, and why others cannot be used", "Example:\n  tilewright devices",
              std::make_shared<Options>(), execute);
}

}  // namespace tilewright::cli
