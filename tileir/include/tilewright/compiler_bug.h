// The exception of a bug in the compiler itself.
#pragma once
#include <stdexcept>
#include <string>

#include "tilewright/error.h"

namespace tilewright {

/// A check of the compiler that failed: a bug of this library and not a mistake of the program that uses it, so it does not derive from
/// Error. what() says which check failed, in which pass and kernel, and the path of a file with the tile IR that reproduces it. The library
/// remains usable: the next launch of the kernel compiles it again. Only a failure that cannot be unwound, such as a fatal error of LLVM,
/// prints this text and ends the process.
class CompilerBug : public std::logic_error {
 public:
  CompilerBug(Location where, const std::string& what, std::string reproducer)
      : std::logic_error(what), where_(std::move(where)), reproducer_(std::move(reproducer)) {}
  /// The failed check, in the source of this library.
  const Location& where() const { return where_; }
  /// The file with the tile IR; empty if there is none.
  const std::string& reproducer() const { return reproducer_; }

 private:
  Location where_;
  std::string reproducer_;
};

}  // namespace tilewright
