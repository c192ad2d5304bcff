// Wisdom: the configurations that were measured to be the best, which are kept between runs in the wisdom file (TILEWRIGHT_WISDOM, else a
// file in the user's cache folder); and the seal.
#pragma once
#include <string>

#include "tilewright/here.h"

namespace tilewright {

namespace wisdom {

/// Writes everything that this process knows, from its wisdom file, measurements and imports, to a wisdom file. An entry that the file
/// already has stays if it is newer. Throws Error if the file cannot be written.
void export_to(const std::string& path, Here at = Here::current());

/// Adds the contents of a wisdom file to what this process knows; of two entries for the same problem, the newer one stays. Entries of
/// another device, driver or version of Tilewright are never used. The process's own wisdom file is not changed. Throws Error if the file
/// cannot be read or is not a wisdom file of this version; damaged lines are ignored, with a notice in the log.
void import_from(const std::string& path, Here at = Here::current());

}  // namespace wisdom

/// From now on this process neither measures nor compiles: a launch, compile() or Graph::compile() that needs to is an Error at its line.
/// Kernels that were compiled before, or are in a cache, are launched as before.
void seal();

}  // namespace tilewright
