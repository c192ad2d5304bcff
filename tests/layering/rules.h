// The rules on what may include and name what, checked on the text of one source file at a time.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace tilewright::layering {

/// The sources by path from the repository's root: "tileir/ir.h" -> its text.
using Sources = std::map<std::string, std::string>;

/// The violations of all rules, one per line: "path:line: text". Empty if there are none.
std::vector<std::string> violations(const Sources&);

}  // namespace tilewright::layering
