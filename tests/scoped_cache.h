// A disk cache for one test: a fresh folder that TILEWRIGHT_CACHE names as long as the object lives.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tests {

class ScopedCache {
 public:
  /// `limit`: TILEWRIGHT_CACHE_LIMIT; empty for the default.
  explicit ScopedCache(const std::string& limit = "") {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright-cache-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::filesystem::filesystem_error("mkdtemp", std::error_code(errno, std::generic_category()));
    base_ = name;
    const char* before = getenv("TILEWRIGHT_CACHE");
    before_ = before ? before : "off";
    setenv("TILEWRIGHT_CACHE", folder().c_str(), 1);
    if (!limit.empty()) setenv("TILEWRIGHT_CACHE_LIMIT", limit.c_str(), 1);
  }
  ~ScopedCache() {
    setenv("TILEWRIGHT_CACHE", before_.c_str(), 1);
    unsetenv("TILEWRIGHT_CACHE_LIMIT");
    std::error_code ignored;
    std::filesystem::remove_all(base_, ignored);
  }
  ScopedCache(const ScopedCache&) = delete;
  ScopedCache& operator=(const ScopedCache&) = delete;

  std::filesystem::path folder() const { return base_ / "cache"; }
  std::filesystem::path code_folder() const { return folder() / "code"; }
  /// The files of entries.
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(code_folder()))
      for (const auto& file : std::filesystem::directory_iterator(code_folder()))
        if (file.path().filename().string().size() == 32) found.push_back(file.path());
    return found;
  }

 private:
  std::filesystem::path base_;
  std::string before_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace tests
