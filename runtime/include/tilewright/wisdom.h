// Wisdom: which configurations were measured to be the best, kept from run to run in the wisdom file (TILEWRIGHT_WISDOM, else in the user's
// cache folder); and the seal.
#pragma once
#include <string>

#include "tilewright/here.h"

namespace tilewright {

namespace wisdom {

/// Writes what this process knows, of its wisdom file, measurements and imports, into a wisdom file. What the file holds already stays,
/// where it is newer. Throws Error if it cannot be written.
void export_to(const std::string& path, Here at = Here::current());

/// Adds what a wisdom file holds to what this process knows; of two entries for the same, the newer stays. Entries of another device,
/// driver or version of Tilewright are never used. The process's own wisdom file stays as it is. Throws Error if the file cannot be read or
/// is no wisdom file of this version; damaged lines are ignored, with a notice in the log.
void import_from(const std::string& path, Here at = Here::current());

}  // namespace wisdom

/// From now on this process measures and compiles nothing: a launch, compile() or Graph::compile() that would is an Error at its line.
/// What was compiled before, or comes from a cache, is launched as before.
void seal();

}  // namespace tilewright
