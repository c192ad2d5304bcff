// Looks for ptxas on the PATH and where CUDA installs it.
#include "tests/unit/backend/ptx_assembler.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/compile.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::testing {

namespace {

std::string find_ptxas() {
  if (std::system("command -v ptxas > /dev/null 2>&1") == 0) return "ptxas";
  const std::string installed = "/usr/local/cuda/bin/ptxas";
  if (std::filesystem::exists(installed)) return installed;
  MESSAGE("ptxas was not found: PTX is checked as text only");
  return {};
}

}  // namespace

std::string ptxas_complaints(const std::string& ptx, const std::string& target) {
  static const std::string ptxas = find_ptxas();
  if (ptxas.empty()) return {};
  const std::string path = (std::filesystem::temp_directory_path() / ("tilewright_test_" + std::to_string(::getpid()) + ".ptx")).string();
  std::ofstream(path) << ptx;
  std::string said;
  FILE* pipe = ::popen((ptxas + " -arch=" + target + " " + path + " -o /dev/null 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char line[512];
  while (std::fgets(line, sizeof line, pipe)) said += line;
  const int status = ::pclose(pipe);
  std::filesystem::remove(path);
  return status == 0 ? "" : said.empty() ? "ptxas failed" : said;
}

int count(std::string_view text, std::string_view piece) {
  int n = 0;
  for (std::size_t at = text.find(piece); at != std::string_view::npos; at = text.find(piece, at + 1)) ++n;
  return n;
}

std::string checked_ptx(const CompiledKernel& k) {
  const std::string ptx(reinterpret_cast<const char*>(k.image.data()), k.image.size());
  INFO(ptx);
  CHECK(count(ptx, "call") == 0);
  CHECK(count(ptx, ".func") == 0);
  CHECK(count(ptx, ".local") == 0);
  CHECK(ptxas_complaints(ptx, k.target) == "");
  return ptx;
}

CompiledKernel compile_for(ir::Function f, const std::string& target, int num_warps, bool check) {
  CompileOptions options;
  options.target = target;
  options.num_warps = num_warps;
  options.check = check;
  return compile(std::move(f), options, {.keep_text = true, .dump = {}});
}

CompiledKernel compile_for(std::string_view tile, const std::string& target, int num_warps, bool check) {
  return compile_for(ir::parse(std::string(tile), "test.tile").functions.at(0), target, num_warps, check);
}

}  // namespace tilewright::backend::testing
