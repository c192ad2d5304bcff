// The wisdom file: read without a lock, written by read, merge and rename under a lock, so that writers lose nothing of each other.
#pragma once
#include <string>
#include <vector>

#include "runtime/wisdom/wisdom_text.h"

namespace tilewright::rt {

/// TILEWRIGHT_WISDOM, else `wisdom` in the user's cache folder; empty if there shall be none.
std::string wisdom_path();

/// What could not be read, and why, for people; empty if all was.
struct WisdomFile {
  std::vector<WisdomEntry> entries;
  std::string notice;
  bool is_missing = false;  // then the notice says so
  bool is_newer = false;    // of a later format
  bool is_damaged = false;  // no wisdom file, or lines of it are none
};
WisdomFile read_wisdom(const std::string& path);

/// Merges entries into the file, whose folder is made if it is missing. A file of a later format stays as it is; one that is none is kept
/// as PATH.damaged. Returns why nothing was written; empty if it was.
std::string add_to_wisdom(const std::string& path, const std::vector<WisdomEntry>&);

}  // namespace tilewright::rt
