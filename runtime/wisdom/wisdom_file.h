// The wisdom file: readers take no lock; writers read, merge and rename under a lock, so that they do not lose each other's entries.
#pragma once
#include <string>
#include <vector>

#include "runtime/wisdom/wisdom_text.h"

namespace tilewright::rt {

/// TILEWRIGHT_WISDOM, else `wisdom` in the user's cache folder; empty if there is no wisdom file.
std::string wisdom_path();

/// What could not be read, and why, as text for people; empty if everything was read.
struct WisdomFile {
  std::vector<WisdomEntry> entries;
  std::string notice;
  bool is_missing = false;  // then the notice says this
  bool is_newer = false;    // it has a later format
  bool is_damaged = false;  // it is not a wisdom file, or some of its lines are invalid
};
WisdomFile read_wisdom(const std::string& path);

/// Merges entries into the file, and makes its folder if it does not exist. A file of a later format stays unchanged; a file that is not a
/// wisdom file is kept as PATH.damaged. Returns why nothing was written; empty if it was.
std::string add_to_wisdom(const std::string& path, const std::vector<WisdomEntry>&);

}  // namespace tilewright::rt
