// Makes the folder with mkdtemp, and removes it.
#include "frontend/cli/bench/runs/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "frontend/cli/files/errors.h"

namespace tilewright::cli::bench {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() : path_((fs::temp_directory_path() / "tilewright-bench-XXXXXX").string()) {
  if (!mkdtemp(path_.data())) throw Failure(fmt::format("cannot make the folder '{}': {}", path_, std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tilewright::cli::bench
