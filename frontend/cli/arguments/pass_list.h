// Parses lists of passes on a command line.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cli {

/// Parses "a,b,default", names of passes; 'default' stands for the passes of `pipeline`. Throws UsageError that suggests a name. The views
/// are valid as long as the program runs.
std::vector<std::string_view> parse_pass_list(std::string_view, const std::function<std::vector<std::string_view>()>& pipeline);

}  // namespace tilewright::cli
