// Shows that the runner can fail: for each property of a check, a text that violates it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "check.h"
#include "fusion_steps.h"
#include "text_test.h"
#include "tileir/text/parser.h"
#include "update.h"

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// The lines of the checks that fail; "CHECK-NEXT: x" and so on, lines counted from 1.
std::vector<int> failing(const std::vector<std::string>& lines, const std::string& text) {
  std::vector<Check> checks;
  for (const std::string& l : lines) {
    const std::string name = l.substr(0, l.find(':'));
    const CheckKind kind = name == "CHECK"        ? CheckKind::plain
                           : name == "CHECK-NEXT" ? CheckKind::next
                           : name == "CHECK-NOT"  ? CheckKind::not_
                           : name == "CHECK-DAG"  ? CheckKind::dag
                                                  : CheckKind::label;
    checks.push_back({kind, l.substr(l.find(':') + 2), static_cast<int>(checks.size()) + 1});
  }
  std::vector<int> at;
  for (const Failure& f : run_checks(checks, text)) at.push_back(f.line);
  return at;
}

using Lines = std::vector<int>;

bool holds(const std::string& contents) { return run_text_test(contents, "t.tile").failures.empty(); }
/// The messages of all failures, each with its line.
std::string failures(const std::string& contents) {
  std::string all;
  for (const Failure& f : run_text_test(contents, "t.tile").failures) all += std::to_string(f.line) + ": " + f.message + "\n";
  return all;
}

const std::string kKernel = "kernel @f(%n: i32) {\n  %0 = add %n, %n : i32\n}\n";

}  // namespace

TEST_CASE("check: plain ones match in order") {
  CHECK(failing({"CHECK: a", "CHECK: b"}, "a\nb\n") == Lines{});
  CHECK(failing({"CHECK: b", "CHECK: a"}, "a\nb\n") == Lines{2});
  CHECK(failing({"CHECK: a", "CHECK: a"}, "a\n") == Lines{2});
  CHECK(failing({"CHECK: a  b"}, "a \t b\n") == Lines{});
  CHECK(failing({"CHECK: a.c"}, "abc\n") == Lines{1});
}

TEST_CASE("check: NEXT means the very next line") {
  CHECK(failing({"CHECK: a", "CHECK-NEXT: b"}, "a\nb\n") == Lines{});
  CHECK(failing({"CHECK: a", "CHECK-NEXT: b"}, "a\n\nb\n") == Lines{2});
  CHECK(failing({"CHECK: a", "CHECK-NEXT: b"}, "a b\n") == Lines{2});
}

TEST_CASE("check: NOT holds between its neighbours only") {
  CHECK(failing({"CHECK: a", "CHECK-NOT: x", "CHECK: b"}, "x a\nb x\n") == Lines{});
  CHECK(failing({"CHECK: a", "CHECK-NOT: x", "CHECK: b"}, "a\nx\nb\n") == Lines{2});
  CHECK(failing({"CHECK: a", "CHECK-NOT: x"}, "a\nb\nx\n") == Lines{2});
  CHECK(failing({"CHECK-NOT: x", "CHECK: a"}, "x\na\n") == Lines{1});
}

TEST_CASE("check: DAG matches in any order, each somewhere else") {
  CHECK(failing({"CHECK-DAG: a", "CHECK-DAG: b", "CHECK: c"}, "b\na\nc\n") == Lines{});
  CHECK(failing({"CHECK-DAG: a", "CHECK-DAG: a"}, "a\n") == Lines{2});
  CHECK(failing({"CHECK-DAG: a", "CHECK-DAG: c", "CHECK: b"}, "a\nb\nc\n") == Lines{3});
  CHECK(failing({"CHECK-DAG: {{x*}}", "CHECK-DAG: q"}, "a\n") == Lines{2});
}

TEST_CASE("check: LABEL keeps failures and matches within their part") {
  const std::vector<std::string> checks = {"CHECK-LABEL: f", "CHECK: a", "CHECK-LABEL: g", "CHECK: b"};
  CHECK(failing(checks, "f\na\ng\nb\n") == Lines{});
  CHECK(failing(checks, "f\ng\na\nb\n") == Lines{2});
  CHECK(failing(checks, "f\nb\ng\na\n") == Lines{2, 4});
  CHECK(failing(checks, "f\na\n") == Lines{3});
}

TEST_CASE("check: regular expressions and captures") {
  CHECK(failing({"CHECK: {{[0-9]+}} b"}, "12 b\n") == Lines{});
  CHECK(failing({"CHECK: {{^}}b"}, "ab\n") == Lines{1});
  CHECK(failing({"CHECK: x{{a{2}}}y"}, "xaay\n") == Lines{});
  CHECK(failing({"CHECK: %[[X:[0-9]+]] =", "CHECK: use %[[X]]"}, "%12 =\nuse %12\n") == Lines{});
  CHECK(failing({"CHECK: %[[X:[0-9]+]] =", "CHECK: use %[[X]]{{$}}"}, "%1 =\nuse %12\n") == Lines{2});
  CHECK(failing({"CHECK: [[X:[a-z]]] [[X]]"}, "a b\n") == Lines{1});
  CHECK(failing({"CHECK: [[X:[a-z]]] [[X]]"}, "a b b\n") == Lines{});
  CHECK(failing({"CHECK: f32[[[N:[0-9]+]]]", "CHECK: i32[[[N]]]"}, "f32[64]\ni32[64]\n") == Lines{});
  CHECK(failing({"CHECK: lane = [[1, 0], [[[X:[0-9]+]], 4]]"}, "lane = [[1, 0], [2, 4]]\n") == Lines{});
  CHECK(failing({"CHECK: lane = [[1, 0], [2, 4]]"}, "lane = [[1, 0], [2, 5]]\n") == Lines{1});
  CHECK(failing({"CHECK: {{(a)(b)}}[[X:c]]", "CHECK: [[X]]"}, "abc\nc\n") == Lines{});
  CHECK(failing({"CHECK: a", "CHECK: [[X]]"}, "a\nb\n") == Lines{2});
  CHECK(failing({"CHECK: a", "CHECK: {{(}}"}, "a\n(\n") == Lines{2});
  CHECK(failing({"CHECK: {{a"}, "{{a\n") == Lines{1});
}

TEST_CASE("text_test: checks are of the output") {
  CHECK(holds(kKernel + "// CHECK: %0 = add %n, %n : i32\n"));
  CHECK(failures(kKernel + "// CHECK: sub\n").find("4: CHECK not found: sub") == 0);
  CHECK(failures(kKernel + "// CHECK:\n").find("4: a CHECK without a pattern") == 0);
  CHECK(holds("// prints: itself\n" + kKernel));
  CHECK(failures("// prints: itself\nkernel @f(%n: i32) {\n  %x = add %n, %n : i32\n}\n") ==
        "3: this is printed as:   %0 = add %n, %n : i32\n");
}

TEST_CASE("text_test: errors must be expected, and expected ones must be there") {
  const std::string bad = "kernel @f(%n: i32) {\n  %0 = exp %n : i32";
  CHECK(failures(bad + "\n}\n").find("2: unexpected error: exp: 'x' is i32") == 0);
  CHECK(holds(bad + "  // error: exp: 'x' is i32\n}\n"));
  CHECK(failures(bad + "  // error: something else\n}\n").find("2: no error here says: something else") == 0);
  CHECK_FALSE(holds(bad + "\n}  // error: exp: 'x' is i32\n"));
  CHECK(holds("kernel @f(%n: i32) {\n  // error: exp: 'x' is i32\n\n  %0 = exp %n : i32\n}\n"));
  CHECK_FALSE(holds(bad + "  // error: exp: 'x' is i32\n}\n// note: 'x' defined here\n"));
  CHECK(failures(kKernel + "// error: nothing\n").find("no error here says: nothing") != std::string::npos);
}

TEST_CASE("text_test: directives that are wrong are failures") {
  CHECK(failures("// pases: cse\n" + kKernel) == "1: unknown directive 'pases'\n");
  CHECK(failures("// CHECK-SOME: cse\n" + kKernel) == "1: unknown directive 'CHECK-SOME'\n");
  CHECK(failures("// target: z80\n" + kKernel).find("1: unknown target 'z80'") == 0);
  CHECK(failures("// analysis: astrology\n" + kKernel).find("1: unknown analysis 'astrology'") == 0);
  CHECK(failures("// passes: cse\n" + kKernel).find("1: passes or an analysis without a CHECK") == 0);
  CHECK(failures("// passes: no_such_pass\n" + kKernel + "// CHECK: add\n").find("no_such_pass") != std::string::npos);
  CHECK(failures("// only a comment\n") == "1: there is no kernel\n");
}

TEST_CASE("text_test: cases are apart, and lines count through the file") {
  const std::string two = kKernel + "// -----\nkernel @g() {\n}\n// CHECK: nothing\n";
  CHECK(failures(two).find("7: CHECK not found: nothing") == 0);
}

TEST_CASE("check: a name stands for a whole word") {
  CHECK(failing({"CHECK: %[[X:\\w+]] =", "CHECK: use %[[X]]"}, "%1 = a\nuse %12\n") == Lines{2});
  CHECK(failing({"CHECK: %[[X:\\w+]] =", "CHECK: use %[[X]]"}, "%1 = a\nuse %1\n") == Lines{});
  CHECK(failing({"CHECK: %[[X:[0-9]]], %[[X]]"}, "%1, %12\n") == Lines{1});
}

TEST_CASE("text_test: ops are counted in the output") {
  CHECK(holds("// ops: add = 1, sub = 0\n" + kKernel));
  CHECK(failures("// ops: add = 0\n" + kKernel) == "1: add = 0: the output has 1\n");
  CHECK(failures("// ops: ad = 0\n" + kKernel) == "1: unknown op 'ad'\n");
  CHECK(failures("// ops: add 1\n" + kKernel) == "1: 'add 1': expected OP = COUNT\n");
}

TEST_CASE("text_test: passes that change nothing") {
  const std::string same = "// prints: unchanged\nkernel @f(%n: i32, %p: ptr<i32>) {\n  %sum = add %n, %n : i32\n  store %p, %sum\n}\n";
  CHECK(holds("// passes: cse\n" + same));
  const std::string twice =
      "// prints: unchanged\nkernel @f(%n: i32, %p: ptr<i32>) {\n  %a = add %n, %n : i32\n  %b = add %n, %n : i32\n"
      "  %c = mul %a, %b : i32\n  store %p, %c\n}\n";
  CHECK(failures("// passes: cse\n" + twice).find("1: the passes change @f:\n--- @f\n+++ @f\n@@") == 0);
}

TEST_CASE("text_test: an analysis names values as the case does") {
  const std::string kernel = "kernel @f(%n: i32) {\n  %sum = add %n, %n : i32\n}\n";
  CHECK(holds("// analysis: axis_info\n" + kernel + "// CHECK: %sum: divisibility = 1\n"));
}

TEST_CASE("text_test: an update replaces the checks of failing cases only, and makes them hold") {
  const std::string good = kKernel + "// CHECK: add\n";
  CHECK(run_text_test(good, "t.tile").updated == good);
  const std::string sums = "kernel @f(%n: i32, %p: ptr<i32>) {\n  %0 = add %n, %n : i32\n  %1 = add %0, %n : i32\n  store %p, %1\n}\n";
  const std::string updated =
      run_text_test(good + "// -----\n// A comment.\n// ops: add = 1\n" + sums + "// CHECK-NOT: mul\n// CHECK: add %n, %p\n", "t.tile")
          .updated;
  CHECK(updated ==
        good + "// -----\n// A comment.\n// ops: add = 2\n" + sums +
            "// CHECK-NOT: mul\n// CHECK: %[[ADD:\\w+]] = add %n, %n : i32\n// CHECK: %[[ADD_2:\\w+]] = add %[[ADD]], %n : i32\n");
  CHECK(holds(updated));
  // A CHECK-NOT that does not hold stays for the author to decide.
  CHECK(run_text_test(sums + "// CHECK: add\n// CHECK-NOT: store\n", "t.tile").updated ==
        sums + "// CHECK: %[[ADD:\\w+]] = add %n, %n : i32\n// CHECK: %[[ADD_2:\\w+]] = add %[[ADD]], %n : i32\n// CHECK-NOT: store\n");
}

TEST_CASE("text_test: the difference of an update has context, and hunks where it is far apart") {
  CHECK(unified_diff("f", "a\nb\n", "a\nb\n") == "");
  CHECK(unified_diff("f", "a\nb\nc", "a\nx\nc") == "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
  const std::string middle = "1\n2\n3\n4\n5\n6\n7\n8\n";
  CHECK(unified_diff("f", "a\n" + middle + "b", "x\n" + middle + "y") ==
        "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+x\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+y\n");
}

TEST_CASE("text_test: a graph is checked after the step that it names") {
  const std::string graph = "graph {\n  %x = input : f32[4]\n  %y = exp %x : f32[4]\n  output \"y\" %y\n}\n";
  const auto failures_of_graph = [](const std::string& contents) {
    std::string all;
    for (const Failure& f : run_text_test(contents, "t.graph").failures) all += std::to_string(f.line) + ": " + f.message + "\n";
    return all;
  };
  CHECK(failures_of_graph("// step: expressions\n" + graph + "// CHECK: f32 y[x0] = exp(x[x0])\n") == "");
  CHECK(failures_of_graph("// step: expressions\n" + graph + "// CHECK: log\n").find("7: CHECK not found: log") == 0);
  CHECK(failures_of_graph(graph + "// CHECK: exp\n") == "1: a graph needs a step\n");
  CHECK(failures_of_graph("// step: plan\n" + graph) == "1: a step without a CHECK\n");
  CHECK(
      failures_of_graph("// step: dance\n" + graph + "// CHECK: exp\n").find("1: unknown step 'dance'; expected one of names, segments,") ==
      0);
  CHECK(failures_of_graph("// step: plan\n// options: speed = 3\n" + graph + "// CHECK: exp\n")
            .find("2: 'speed = 3': expected reassociate") == 0);
  CHECK(failures_of_graph("// step: plan\ngraph {\n  %y = exp %x : f32[4]\n}\n// CHECK: exp\n") ==
        "3: unexpected error: '%x' is not defined\n");
  CHECK(failures("// step: plan\n" + kKernel + "// CHECK: add\n") == "1: a step is of a graph, in a .graph file\n");
}

/// Each step has several texts, which are what a reader opens to understand it.
TEST_CASE("text tests: each step from a graph to its kernels has texts, in a folder of its name") {
  constexpr int kFewest = 4;
  for (const std::string_view step : fusion_steps()) {
    CAPTURE(step);
    int texts = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TW_TEST_FILES "/graphs/") + std::string(step))) {
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      CHECK_MESSAGE(text.find("// step: " + std::string(step) + "\n") != std::string::npos, entry.path() << " is of another step");
      CHECK_MESSAGE(text.starts_with("// "), entry.path() << " does not say what it shows");
      ++texts;
    }
    CHECK(texts >= kFewest);
  }
}

TEST_CASE("text tests: every op of the table occurs in roundtrip") {
  std::set<ir::OpKind> seen;
  for (const auto& entry : std::filesystem::directory_iterator(TW_TEST_FILES "/roundtrip")) {
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const ir::Function& f : ir::parse(text, entry.path().string()).functions) f.walk([&](ir::OpId id) { seen.insert(f.kind(id)); });
  }
  for (ir::OpKind k : ir::all_ops()) CHECK_MESSAGE(seen.contains(k), "no test of " << text(k));
}
