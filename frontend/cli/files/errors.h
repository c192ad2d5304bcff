// The two exceptions of commands. The program turns them into exit codes.
#pragma once
#include <stdexcept>

namespace tilewright::cli {

/// The command line is wrong: exit code 2. what() is the message without a prefix.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command failed, for instance because of the contents of a file: exit code 1. A tilewright::Error also gives 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tilewright::cli
