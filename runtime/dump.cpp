// Writes the stages of a compilation as files.
#include "runtime/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "runtime/environment.h"

namespace tilewright::detail {

namespace {
constexpr std::size_t kMostNameBytes = 128;  // file systems take names of 255 bytes; the hash tells kernels apart
}  // namespace

DumpFolder::DumpFolder(const std::string& dir, const std::string& kernel, std::uint64_t hash, const Location& where)
    : where_(where), path_(fmt::format("{}/{}-{:016x}", dir, std::string_view(kernel).substr(0, kMostNameBytes), hash)) {
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

void DumpFolder::write(const std::string& stage, const std::string& text) {
  if (stage.find(rt::environment_dump_stage()) == stage.npos) {
    left_out_ += stage + "\n";
    return;
  }
  has_files_ = true;
  write_file(fmt::format("{}.{}", stage, extension_of(stage)), text);
}

void DumpFolder::write_file(const std::string& name, const std::string& text) const {
  const std::string file = fmt::format("{}/{}", path_, name);
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(where_, fmt::format("TILEWRIGHT_DUMP: cannot write the file '{}'", file));
}

DumpFolder::~DumpFolder() {
  if (has_files_ || left_out_.empty()) return;
  try {
    write_file("stages.txt", fmt::format("TILEWRIGHT_DUMP_STAGE is '{}', and no stage here has this in its name. The stages:\n{}",
                                         rt::environment_dump_stage(), left_out_));
  } catch (const Error&) {
    // The list is help only, and a destructor must not throw.
  }
}

}  // namespace tilewright::detail
