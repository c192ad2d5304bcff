// A maximum is one of the values that it is chosen from, to the bit, also if these are sums: differences from it are never below 0.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "frontend/cli/execution/execution.h"
#include "frontend/cli/execution/graph_execution.h"
#include "frontend/graph/compile.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::cli {
namespace {

struct Form {
  const char* name;
  std::vector<std::string> lines;  // of y; T: the element type, S: the shape
};

const std::string kA = "%a = input : T S", kB = "%b = input : T S", kC = "%c = input : T S", kNumber = "%k = constant {data = [0.3]} : T";

const std::vector<Form> kForms = {
    {"a b - c c", {kA, kB, kC, "%p = mul %a, %b : T S", "%q = mul %c, %c : T S", "%y = sub %p, %q : T S"}},
    {"a + b + c", {kA, kB, kC, "%p = add %a, %b : T S", "%y = add %p, %c : T S"}},
    {"a b + c", {kA, kB, kC, "%p = mul %a, %b : T S", "%y = add %p, %c : T S"}},
    {"0.3 (a - b + c)", {kA, kB, kC, kNumber, "%p = sub %a, %b : T S", "%q = add %p, %c : T S", "%y = mul %q, %k : T S"}},
    {"0.3 a + b c", {kA, kB, kC, kNumber, "%p = mul %a, %k : T S", "%q = mul %b, %c : T S", "%y = add %p, %q : T S"}},
    {"-0.3 (a b + c)",
     {kA, kB, kC, "%k = constant {data = [-0.3]} : T", "%p = mul %a, %b : T S", "%q = add %p, %c : T S", "%y = mul %q, %k : T S"}},
    {"0.3 a b", {kA, kB, kNumber, "%p = mul %a, %b : T S", "%y = mul %p, %k : T S"}},
    {"a b - mean",
     {kA, kB, "%p = mul %a, %b : T S", "%s = reduce %p {kind = sum, axes = [1], keep_dims} : T[R, 1]", "%n = constant {data = [N]} : T",
      "%m = div %s, %n : T[R, 1]", "%y = sub %p, %m : T S"}},
    {"0.3 x w + bias",
     {"%x = input : T[R, 16]", "%w = input : T[16, N]", "%bias = input : T[N]", kNumber,
      "%p = einsum %x, %w {text = \"ik,kj->ij\", precision = ieee} : T S", "%q = mul %p, %k : T S", "%y = add %q, %bias : T S"}},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// y, its distance from its extreme along an axis, and the sum of their roots.
std::shared_ptr<graph::Graph> distances(const Form& form, const std::string& type, const std::string& kind, int axis, int rows,
                                        int columns) {
  std::string text = "graph {\n";
  for (const std::string& line : form.lines) text += "  " + line + "\n";
  text += fmt::format("  %extreme = reduce %y {{kind = {}, axes = [{}], keep_dims}} : T{}\n", kind, axis, axis == 0 ? "[1, N]" : "[R, 1]");
  text += fmt::format("  %distance = sub {} : T S\n", kind == "max" ? "%extreme, %y" : "%y, %extreme");
  text += fmt::format("  %root = sqrt %distance : T S\n  %sum = reduce %root {{kind = sum, axes = [{}]}} : T[{}]\n", axis,
                      axis == 0 ? "N" : "R");
  text += "  output \"distance\" %distance\n  output \"sum\" %sum\n}\n";
  text = replaced(replaced(text, " T S", " T[R, N]"), "[N]", fmt::format("[{}]", columns));
  text = replaced(replaced(text, "R, ", fmt::format("{}, ", rows)), ", N]", fmt::format(", {}]", columns));
  text = replaced(text, "[R]", fmt::format("[{}]", rows));
  return std::make_shared<graph::Graph>(
      graph::parse(replaced(replaced(text, ": T[", ": " + type + "["), ": T\n", ": " + type + "\n"), "test"));
}

void check_distances(const std::string& device_name) {
  struct Case {
    int axis, rows, columns;
  };
  const std::shared_ptr<rt::Device> device = open_named_device(device_name);
  for (const Form& form : kForms)
    for (const char* type : {"f32", "f64", "f16"})
      for (const char* kind : {"max", "min"})
        for (const Case& c : {Case{1, 20, 200}, Case{0, 150, 30}, Case{1, 2, 9000}}) {
          INFO(fmt::format("{} of {} in {}, {} x {} along axis {}", kind, form.name, type, c.rows, c.columns, c.axis));
          const auto g = distances(form, type, kind, c.axis, c.rows, c.columns);
          Files files;
          const GraphArguments arguments = parse_graph_arguments(*g, {}, 3, files);
          GraphExecution execution(*g, detail::compile_graph(g, device, device->target(), {}, Here()), device, arguments);
          execution.launch();
          const std::vector<GraphResult> results = execution.results();
          std::size_t below = 0, at = 0;
          for (std::size_t i = 0; i < results[0].size(); ++i) {
            const long double d = results[0].number(i);
            below += !(d >= 0), at += d == 0;
          }
          CHECK(below == 0);
          CHECK(at >= static_cast<std::size_t>(c.axis == 0 ? c.columns : c.rows));
          for (std::size_t i = 0; i < results[1].size(); ++i) CHECK(std::isfinite(results[1].number(i)));
        }
}

TEST_CASE("graph_extremes: no value is beyond its maximum or minimum, on the host") { check_distances("cpu"); }
TEST_CASE("graph_extremes: no value is beyond its maximum or minimum, on a GPU") { check_distances("emulator:sm_80"); }

}  // namespace
}  // namespace tilewright::cli
