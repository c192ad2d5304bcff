// Parses lists of passes on a command line.
#include "frontend/cli/arguments/pass_list.h"

#include <fmt/format.h>

#include "frontend/cli/files/errors.h"
#include "passes/pass_manager.h"
#include "passes/pass_table.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {
std::string_view name_of(const passes::PassInfo& p) { return p.name; }

[[noreturn]] void refuse(std::string_view name) {
  std::string all;
  for (const passes::PassInfo& p : passes::all_passes()) all += fmt::format(" {}", p.name);
  throw UsageError(fmt::format("--passes: there is no pass '{}'{}; there are: default{}", name,
                               ir::suggestion(name, passes::all_passes(), name_of), all));
}
}  // namespace

std::vector<std::string_view> parse_pass_list(std::string_view list, const std::function<std::vector<std::string_view>()>& pipeline) {
  std::vector<std::string_view> names;
  while (true) {
    const auto comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (name == "default") {
      for (const std::string_view n : pipeline()) names.push_back(n);
    } else if (const passes::PassInfo* pass = passes::find_pass(name)) {
      names.push_back(pass->name);
    } else {
      refuse(name);
    }
    if (comma == list.npos) return names;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace tilewright::cli
