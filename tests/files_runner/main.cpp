// Runs every .tile and .graph file below tests/files as a subcase, or only those named on the command line, or below folders named there.
// With TILEWRIGHT_UPDATE=1 in the environment, failing CHECK lines are rewritten for the current output instead, and the change is printed as
// a unified diff. Read the diff: an update also accepts wrong output.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "text_test.h"
#include "update.h"

namespace {

using tilewright::test::Failure;

/// The files to run; main fills it before doctest starts.
std::vector<std::string>& files() {
  static std::vector<std::string> all;
  return all;
}

void find_files(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (const auto extension = entry.path().extension(); extension == ".tile" || extension == ".graph")
      found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  files().insert(files().end(), found.begin(), found.end());
}

void run_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE_MESSAGE(in, "cannot read " << file);
  const std::string contents{std::istreambuf_iterator<char>(in), {}};
  const tilewright::test::TextTestResult result = tilewright::test::run_text_test(contents, file);
  const char* update = std::getenv("TILEWRIGHT_UPDATE");
  if (update && std::string_view(update) == "1" && result.updated != contents) {
    std::ofstream(file, std::ios::binary) << result.updated;
    std::fputs(tilewright::test::unified_diff(file, contents, result.updated).c_str(), stdout);
    return;
  }
  for (const Failure& f : result.failures) ADD_FAIL_CHECK_AT(file.c_str(), f.line, f.message);
}

}  // namespace

TEST_CASE("text tests: every file holds what it says") {
  REQUIRE_FALSE(files().empty());
  for (const std::string& file : files()) {
    SUBCASE(file.c_str()) { run_file(file); }
  }
}

int main(int argc, char** argv) {
  bool runs_all = true;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    runs_all = false;
    if (std::filesystem::is_directory(argv[i]))
      find_files(argv[i]);
    else
      files().push_back(argv[i]);
  }
  if (runs_all) find_files(TW_TEST_FILES);
  doctest::Context context(argc, argv);
  return context.run();
}
