// Writes the stages of a compilation as files.
#include "frontend/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "runtime/environment.h"

namespace tilewright::detail {

DumpFolder::DumpFolder(const std::string& dir, const std::string& kernel, std::uint64_t hash, const Location& where)
    : where_(where), path_(fmt::format("{}/{}-{:016x}", dir, kernel, hash)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) throw Error(where_, fmt::format("TILEWRIGHT_DUMP: cannot make the folder '{}': {}", path_, error.message()));
}

void DumpFolder::write(const std::string& stage, const std::string& text) const {
  if (stage.find(rt::environment_dump_stage()) == stage.npos) return;
  const char* extension = stage == "llvm" ? "ll" : stage == "assembly" ? "s" : stage == "ptx" ? "ptx" : "tile";
  const std::string file = fmt::format("{}/{}.{}", path_, stage, extension);
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(where_, fmt::format("TILEWRIGHT_DUMP: cannot write the file '{}'", file));
}

}  // namespace tilewright::detail
