// TILEWRIGHT_DUMP: what a compiled graph leaves.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tileir/graph/text/graph_text.h"
#include "tilewright/graph.h"

namespace {

namespace tw = tilewright;

/// The files of the folder's plans by name.
std::map<std::string, std::string> plan_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().parent_path().filename().string().rfind("plan-", 0) != 0) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()].assign(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

TEST_CASE("plan dump: TILEWRIGHT_DUMP leaves the graph with the user's lines, the report and the picture") {
  const std::string folder = "/tmp/tilewright-plan-dump-" + std::to_string(getpid());
  tw::Graph graph;
  const tw::Dim n = graph.dim("n");
  const auto x = graph.input<float>("x", {n, 16});
  graph.output("y", tw::softmax(x, -1).name("weights"));
  const int line = __LINE__ - 1;
  setenv("TILEWRIGHT_DUMP", folder.c_str(), 1);
  const tw::Plan plan = graph.compile("sm_80");
  setenv("TILEWRIGHT_DUMP_STAGE", "traced", 1);
  (void)graph.compile("sm_90a");
  unsetenv("TILEWRIGHT_DUMP_STAGE");
  unsetenv("TILEWRIGHT_DUMP");
  const auto files = plan_files(folder);
  std::filesystem::remove_all(folder);

  REQUIRE(files.size() == 4);
  CHECK(files.at("stages.txt") ==
        "TILEWRIGHT_DUMP_STAGE is 'traced', and no stage here has this in its name. The stages:\nformulas\nexplain\npicture\n");
  const std::string text = files.at("formulas.graph");
  CHECK(text.find("plan_dump_test.cpp\":" + std::to_string(line) + ":") != std::string::npos);
  const tw::graph::Graph read = tw::graph::parse(text, "formulas.graph");
  CHECK(tw::graph::print(read, {.locations = true}) == text);
  CHECK(read.outputs().at(0).name == "y");
  CHECK(files.at("explain.txt") == plan.explain());
  CHECK(files.at("picture.svg") == plan.explain_svg());
}

TEST_CASE("plan dump: a folder that cannot be made is an error of the line that compiles") {
  tw::Graph graph;
  graph.output("y", graph.input<float>("x", {4}) + 1.0f);
  setenv("TILEWRIGHT_DUMP", "/dev/null/dump", 1);
  std::string text;
  try {
    (void)graph.compile("cpu");
  } catch (const tw::Error& e) {
    text = e.what();
  }
  unsetenv("TILEWRIGHT_DUMP");
  CHECK(text.find("plan_dump_test.cpp") != std::string::npos);
  CHECK(text.find("TILEWRIGHT_DUMP: cannot make the folder '/dev/null/dump/plan-") != std::string::npos);
  CHECK_NOTHROW((void)graph.compile("cpu"));
}

}  // namespace
