// A folder for files that other processes read.
#pragma once
#include <string>

namespace tilewright::cli::bench {

/// Removed with all that is in it when this object dies.
class TemporaryFolder {
 public:
  /// Throws Failure.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tilewright::cli::bench
