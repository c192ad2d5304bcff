// A folder for files that other processes read.
#pragma once
#include <string>

namespace tilewright::cli::bench {

/// The folder and its contents are removed when this object is destroyed.
class TemporaryFolder {
 public:
  /// Throws Failure if the folder cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tilewright::cli::bench
