// Writes the stages of a compilation as files.
#include "runtime/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "runtime/environment.h"

namespace tilewright::detail {

DumpFolder::DumpFolder(const std::string& dir, const std::string& kernel, std::uint64_t hash, const Location& where)
    : where_(where), path_(fmt::format("{}/{}-{:016x}", dir, kernel, hash)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) throw Error(where_, fmt::format("TILEWRIGHT_DUMP: cannot make the folder '{}': {}", path_, error.message()));
}

namespace {

std::string_view extension_of(std::string_view stage) {
  constexpr std::pair<std::string_view, std::string_view> kExtensions[] = {{"llvm", "ll"},        {"assembly", "s"},  {"ptx", "ptx"},
                                                                           {"formulas", "graph"}, {"explain", "txt"}, {"picture", "svg"}};
  for (const auto& [name, extension] : kExtensions)
    if (name == stage) return extension;
  return "tile";  // the IR after a pass
}

}  // namespace

void DumpFolder::write(const std::string& stage, const std::string& text) const {
  if (stage.find(rt::environment_dump_stage()) == stage.npos) return;
  const std::string file = fmt::format("{}/{}.{}", path_, stage, extension_of(stage));
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(where_, fmt::format("TILEWRIGHT_DUMP: cannot write the file '{}'", file));
}

}  // namespace tilewright::detail
