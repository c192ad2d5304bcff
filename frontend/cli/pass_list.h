// Parses lists of passes on a command line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tileir/target/target_desc.h"

namespace tilewright::cli {

/// "a,b,default": names of passes; 'default' is the target's pipeline. Throws UsageError that suggests a name. The views live as long as
/// the program.
std::vector<std::string_view> parse_pass_list(std::string_view, const ir::TargetDesc&);

}  // namespace tilewright::cli
