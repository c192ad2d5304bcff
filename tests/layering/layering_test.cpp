// Checks the sources of this repository against the architecture's rules, and shows for each rule that it finds a violation.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/layering/rules.h"

namespace tilewright::layering {
namespace {

Sources repository() {
  namespace fs = std::filesystem;
  const fs::path root = TW_SOURCE_ROOT;
  Sources sources;
  for (const char* folder : {"tileir", "passes", "backend", "runtime", "frontend", "examples", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".def") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      sources.emplace(fs::relative(entry.path(), root).generic_string(), std::string(std::istreambuf_iterator<char>(in), {}));
    }
  return sources;
}

/// A small repository that keeps all rules, with one file more.
Sources with(const std::string& path, const std::string& text) {
  Sources sources = {
      {"tileir/ir.h", "// IR.\n#include <vector>\n"},
      {"tileir/include/tilewright/error.h", "// Errors.\n#include <string>\n"},
      {"tileir/ops.def", "// Ops.\n"},
      {"passes/passes.def", "// Passes.\n"},
      {"passes/pass.h", "// Passes.\n#include \"tileir/ir.h\"\n"},
      {"backend/compile.h", "// Compilation.\n#include \"tileir/ir.h\"\n"},
      {"backend/emit.h", "// Emission.\n#include <llvm/IR/Module.h>\n"},
      {"passes/fusion/options.h", "// Options.\n"},
      {"passes/fusion/plan/loop_plan.h", "// Plans.\n"},
      {"passes/fusion/tiles/tile_sizes.h", "// Tiles.\n"},
      {"runtime/emulator/state/warp.h", "// Warps.\n"},
      {"runtime/emulator/async/cluster.h", "// Clusters.\n#include \"runtime/emulator/state/warp.h\"\n"},
      {"frontend/launch/request.h", "// Requests.\n#include \"backend/compile.h\"\n"},
      {"runtime/launch.cpp", "// Launch.\n#include \"backend/compile.h\"\n#include \"tilewright/error.h\"\n"},
  };
  sources[path] = text;
  return sources;
}

std::string only_violation(const std::string& path, const std::string& text) {
  const auto found = violations(with(path, text));
  REQUIRE_MESSAGE(found.size() == 1, "violations: " << found.size());
  return found[0];
}

TEST_CASE("layering: the repository keeps the rules") {
  const Sources sources = repository();
  REQUIRE(sources.size() > 20);
  for (const std::string& line : violations(sources)) FAIL_CHECK(line);
}

TEST_CASE("layering: sources that keep the rules pass") {
  CHECK(violations(with("runtime/host/loader.cpp", "// Loads.\n#include <llvm/ADT/Twine.h>\n#include \"backend/emit.h\"\n")).empty());
  CHECK(violations(
            with("passes/cse.cpp", "// getenv, printf and <llvm/x.h> in a comment are fine: /* exit( */\nconst char* s = \"printf\";\n"))
            .empty());
  CHECK(violations(with("passes/passes.def", "// Table.\n" + std::string(1000, '\n'))).empty());
}

TEST_CASE("layering: an include against the direction is caught") {
  CHECK(only_violation("tileir/a.cpp", "// A.\n#include \"passes/pass.h\"\n") ==
        "tileir/a.cpp:2: tileir stands below passes and does not include it");
  CHECK(only_violation("passes/a.cpp", "// A.\n#include \"backend/compile.h\"\n").find("passes stands below backend") != std::string::npos);
  CHECK(only_violation("frontend/trace/trace.cpp", "// A.\n#include \"passes/pass.h\"\n").find("tracing includes tileir only") !=
        std::string::npos);
}

TEST_CASE("layering: a folder of the emulator includes only folders below it") {
  const auto caught = [](const std::string& path, const std::string& include) {
    return only_violation(path, "// A.\n#include \"" + include + "\"\n").find("stands below or beside") != std::string::npos;
  };
  CHECK(caught("runtime/emulator/simd/a.cpp", "runtime/emulator/state/warp.h"));
  CHECK(caught("runtime/emulator/isa/a.cpp", "runtime/emulator/async/cluster.h"));
  CHECK(only_violation("runtime/emulator/unknown/a.cpp", "// A.\n#include \"runtime/emulator/state/warp.h\"\n")
            .find("'unknown' stands on no floor of the emulator") != std::string::npos);
  CHECK(violations(with("runtime/emulator/machine/a.cpp", "// A.\n#include \"runtime/emulator/async/cluster.h\"\n")).empty());
}

TEST_CASE("layering: a folder of the front end includes only folders below it") {
  const auto found_in = [](const std::string& path) { return violations(with(path, "// A.\n#include \"frontend/launch/request.h\"\n")); };
  for (const char* below : {"frontend/trace/a.cpp", "frontend/ops/a.cpp"}) {
    REQUIRE(found_in(below).size() == 1);
    CHECK(found_in(below)[0].find("stands below or beside launch/") != std::string::npos);
  }
  REQUIRE(found_in("frontend/loose.cpp").size() == 1);
  CHECK(found_in("frontend/loose.cpp")[0].find("'loose.cpp' stands on no floor of the front end") != std::string::npos);
  for (const char* above : {"frontend/launch/a.cpp", "frontend/graph/a.cpp", "frontend/kernels/a.cpp", "frontend/cli/a.cpp"})
    CHECK(found_in(above).empty());
}

TEST_CASE("layering: floors hold for folders inside of a folder that stands on one") {
  Sources sources = with("frontend/cli/bench/rows/b.cpp", "// B.\n#include \"frontend/cli/bench/peers/a.h\"\n");
  sources["frontend/cli/bench/peers/a.h"] = "// A.\n#include \"frontend/cli/bench/rows/a.h\"\n";
  sources["frontend/cli/bench/rows/a.h"] = "// A.\n#include \"frontend/cli/files/a.h\"\n";
  sources["frontend/cli/files/a.h"] = "// A.\n#include \"frontend/cli/commands/a.h\"\n";
  sources["frontend/cli/commands/a.h"] = "// A.\n";
  const auto found = violations(sources);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "frontend/cli/bench/rows/b.cpp:2: the benchmark's rows/ stands below or beside peers/ and does not include it");
  CHECK(found[1].find("the command line's files/ stands below or beside commands/") != std::string::npos);
}

TEST_CASE("layering: a folder of fusion includes only folders below it, and the files beside them") {
  const auto caught = [](const std::string& path, const std::string& include) {
    return only_violation(path, "// A.\n#include \"" + include + "\"\n").find("stands below or beside") != std::string::npos;
  };
  CHECK(caught("passes/fusion/expr/a.cpp", "passes/fusion/plan/loop_plan.h"));
  CHECK(caught("passes/fusion/a.cpp", "passes/fusion/plan/loop_plan.h"));
  CHECK(caught("passes/fusion/check/a.cpp", "passes/fusion/tiles/tile_sizes.h"));
  CHECK(only_violation("passes/fusion/unknown/a.cpp", "// A.\n#include \"passes/fusion/plan/loop_plan.h\"\n")
            .find("'unknown' stands on no floor of fusion") != std::string::npos);
  CHECK(violations(with("passes/fusion/check/a.cpp", "// A.\n#include \"passes/fusion/plan/loop_plan.h\"\n")).empty());
  CHECK(violations(with("passes/fusion/expr/a.cpp", "// A.\n#include \"passes/fusion/options.h\"\n")).empty());
}

TEST_CASE("layering: steps in the head notes of fusion are named like its functions") {
  const auto note = [](const std::string& step) {
    return "// A.\n//\n//   1. " + step + "\n#pragma once\nint walk(int);\nint update();\n";
  };
  const std::string path = "passes/fusion/check/a.h";
  CHECK(only_violation(path, note("stroll: goes on.")) ==
        "passes/fusion/check/a.h:3: the head note has a step 'stroll', and fusion has no function of that name");
  CHECK(only_violation(path, note("walk, Plan::take: go on.")).find("a step 'take'") != std::string::npos);
  CHECK(violations(with(path, note("walk, Plan::update: go on."))).empty());
  CHECK(violations(with(path, note("Products are flat: x / y = x y^-1."))).empty());
}

TEST_CASE("layering: fusion is included by the front end alone, and includes no passes") {
  CHECK(only_violation("backend/a.cpp", "// A.\n#include \"passes/fusion/options.h\"\n").find("only plans and the front end") !=
        std::string::npos);
  CHECK(only_violation("passes/a.cpp", "// A.\n#include \"passes/fusion/options.h\"\n").find("only plans and the front end") !=
        std::string::npos);
  CHECK(only_violation("passes/fusion/emit/a.cpp", "// A.\n#include \"passes/pass.h\"\n").find("library of its own") != std::string::npos);
  CHECK(violations(with("frontend/graph/a.cpp", "// A.\n#include \"passes/fusion/options.h\"\n")).empty());
}

TEST_CASE("layering: the search is included by the front end alone, includes no passes, and its steps are named like its functions") {
  Sources sources = with("passes/search/egraph.h", "// E-graph.\n#include \"tileir/ir.h\"\n");
  CHECK(violations(sources).empty());
  sources["passes/fusion/plan/a.cpp"] = "// A.\n#include \"passes/search/egraph.h\"\n";
  const auto found = violations(sources);
  REQUIRE(found.size() == 2);
  CHECK(found[0].find("fusion is a library of its own") != std::string::npos);
  CHECK(found[1].find("only the front end includes the search") != std::string::npos);
  CHECK(only_violation("passes/search/a.cpp", "// A.\n#include \"passes/pass.h\"\n").find("the search is a library of its own") !=
        std::string::npos);
  CHECK(only_violation("passes/search/a.h", "// A.\n//\n//   1. seek: goes on.\n")
            .find("a step 'seek', and the search has no function of that name") != std::string::npos);
}

TEST_CASE("layering: the emulator includes nothing of the compiler and the runtime") {
  CHECK(only_violation("runtime/emulator/a.cpp", "// A.\n#include \"backend/compile.h\"\n").find("library of its own") !=
        std::string::npos);
  CHECK(only_violation("runtime/emulator/isa/a.cpp", "// A.\n#include \"tileir/ir.h\"\n").find("library of its own") != std::string::npos);
  CHECK(violations(with("runtime/emulator/a.cpp", "// A.\n#include \"tilewright/error.h\"\n")).empty());
}

TEST_CASE("layering: a table in a header is caught") {
  CHECK(only_violation("tileir/a.h", "// A.\n#include \"tileir/ops.def\"\n").find("compiled again for each change") != std::string::npos);
  CHECK(only_violation("passes/a.h", "// A.\n#include \"passes/passes.def\"\n").find("compiled again for each change") !=
        std::string::npos);
  CHECK(violations(with("tileir/a.h", "// A.\n#include \"tileir/op_names.def\"\n")).empty());
}

TEST_CASE("layering: LLVM outside of its two folders is caught, named or brought in") {
  CHECK(only_violation("passes/a.cpp", "// A.\n#include <llvm/ADT/Twine.h>\n").find("LLVM is known to") != std::string::npos);
  CHECK(only_violation("runtime/jit.cpp", "// A.\n#include \"backend/emit.h\"\n") == "runtime/jit.cpp:2: 'backend/emit.h' brings in LLVM");
}

TEST_CASE("layering: the command line is the top: it may print and include every layer, and no layer includes it or its parser") {
  Sources sources =
      with("frontend/cli/commands/run.cpp",
           "// Run.\n#include <CLI/CLI.hpp>\n#include \"frontend/cli/commands/run.h\"\n#include \"tileir/ir.h\"\nint x = puts(\"\");\n");
  sources["frontend/cli/commands/run.h"] = "// Run.\n#include \"backend/compile.h\"\n";
  CHECK(violations(sources).empty());
  sources["frontend/launch/kernel.cpp"] = "// Kernel.\n#include \"frontend/cli/commands/run.h\"\n";
  const auto found = violations(sources);
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("the front end's launch/ stands below or beside cli/") != std::string::npos);
  CHECK(only_violation("runtime/a.cpp", "// A.\n#include <CLI/CLI.hpp>\n").find("CLI11 is known to frontend/cli/ only") !=
        std::string::npos);
}

TEST_CASE("layering: a public header that includes anything else than public ones is caught") {
  CHECK(only_violation("tileir/include/tilewright/a.h", "// A.\n#include \"tileir/ir.h\"\n").find("public headers, not") !=
        std::string::npos);
  CHECK(only_violation("tileir/include/tilewright/a.h", "// A.\n#include <fmt/format.h>\n").find("standard library, not") !=
        std::string::npos);
  CHECK(violations(with("tileir/include/tilewright/a.h", "// A.\n#include <string>\n#include \"tilewright/error.h\"\n")).empty());
}

TEST_CASE("layering: circles of units are caught, but declared ones") {
  Sources sources = with("passes/a.h", "// A.\n");
  sources["passes/a.cpp"] = "// A.\n#include \"passes/a.h\"\n#include \"passes/b.h\"\n";
  sources["passes/b.h"] = "// B.\n";
  sources["passes/b.cpp"] = "// B.\n#include \"passes/b.h\"\n#include \"passes/c.h\"\n";
  sources["passes/c.h"] = "// C.\n";
  CHECK(violations(sources).empty());
  sources["passes/c.h"] = "// C.\n#include \"passes/a.h\"\n";
  const std::vector<std::string> found = violations(sources);
  REQUIRE(found.size() == 3);
  CHECK(found[0].find("passes/a.cpp:3: the unit passes/b includes passes/a, directly or through others: a circle of units") == 0);
  CHECK(found[1].find("passes/b.cpp:3:") == 0);
  CHECK(found[2].find("passes/c.h:2:") == 0);

  sources = with("tileir/op_info.h", "// Rows.\n");
  sources["tileir/op_kind.h"] = "// Kinds.\n#include \"tileir/op_info.h\"\n";
  sources["tileir/op_info.cpp"] = "// Rows.\n#include \"tileir/op_kind.h\"\n";
  CHECK(violations(sources).empty());
  sources["tileir/op_info.cpp"] = "// Rows.\n";
  REQUIRE(violations(sources).size() == 1);
  CHECK(violations(sources)[0].find("no circle needs the declared arrow from tileir/op_kind to tileir/op_info") != std::string::npos);
}

TEST_CASE("layering: words that belong in one place are caught elsewhere") {
  CHECK(only_violation("runtime/a.cpp", "// A.\nauto x = std::getenv(name);\n").find("reads the environment") != std::string::npos);
  CHECK(violations(with("runtime/environment.cpp", "// E.\nauto x = std::getenv(name);\n")).empty());
  CHECK(only_violation("passes/a.cpp", "// A.\nvoid f() { std::exit(1); }\n").find("neither prints nor exits") != std::string::npos);
  CHECK(only_violation("passes/a.cpp", "// A.\n\n/* x\n*/ void f() { std::printf(\"\"); }\n").starts_with("passes/a.cpp:4:"));
}

TEST_CASE("layering: names, lengths and headers of files are checked") {
  CHECK(only_violation("passes/utils.h", "// A.\n").find("named for what it holds") != std::string::npos);
  CHECK(only_violation("passes/a.cpp", "// A.\n" + std::string(600, '\n')).find("more than 600 lines") != std::string::npos);
  CHECK(only_violation("passes/a.cpp", "#include <vector>\n").find("first line") != std::string::npos);
  CHECK(only_violation("passes/a.cpp", "// A.\n#include \"pass.h\"\n").find("not a file from the repository's root") != std::string::npos);
  CHECK(only_violation("examples/a.cpp", "// A.\n#include \"tileir/ir.h\"\n").find("an example includes") != std::string::npos);
}

}  // namespace
}  // namespace tilewright::layering
